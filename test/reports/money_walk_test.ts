/**
 * A walk over everything that ships: no output shows a figure of money without its price, and what has no price says why.
 */

import "../native_library.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { planWinText } from "../../models/planning/bill.ts";
import { planInputs } from "../../models/planning/inputs.ts";
import { loadPlan } from "../../models/planning/load.ts";
import { plan } from "../../models/planning/planner.ts";
import { planRequest } from "../../models/planning/request.ts";
import { planText } from "../../models/planning/text.ts";
import { isSimulation, loadSimulation } from "../../models/simulation/load.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { renderSimulation } from "../../reports/simulation/page.ts";
import { summariseSimulation } from "../../reports/simulation/summary.ts";
import { renderSimulationTerminal, simulationCsv, simulationMarkdown } from "../../reports/simulation/text.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { loadScenario } from "../../scenarios/load.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const SCENARIOS = new URL("../../scenarios/", import.meta.url);
const files = (folder: URL): string[] =>
  [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".jsonc")).map(({ name }) =>
    new URL(name, folder).pathname
  )
    .sort();

/** Amounts of money in a text: `3.80 $`, `12 EUR`. */
const AMOUNT = /[\d.,]+ (\$|EUR)/;
const REASON = /no price|no public price|not priced|price book has no/i;

const simulations: string[] = [];
const scenarios: string[] = [];
for (const file of files(SCENARIOS)) (await isSimulation(file) ? simulations : scenarios).push(file);

Deno.test("the walk meets simulations, scenarios and plans", () => {
  assert(simulations.length >= 3 && scenarios.length >= 8 && files(new URL("plans/", SCENARIOS)).length >= 1);
});

Deno.test.each(simulations)(
  "every case of the simulation %s has dated prices or says why it has none",
  async (file) => {
    const written = await loadSimulation(file);
    // Few steps: what is priced does not depend on how many.
    const result = await runSimulation({ ...written, steps: 1, warmup: 0, explain: [], published: [] });
    const summary = summariseSimulation(result);
    const texts = [renderSimulationTerminal(summary, 400), simulationMarkdown(summary), renderSimulation(result)];
    if (summary.money === undefined) {
      for (const text of texts) assert(!AMOUNT.test(text), `${file}: an amount, and no machine`);
      assert(summary.assumptions.some(([what, why]) => what === "money" && REASON.test(why)));
      return;
    }
    const lines = simulationCsv(summary).trim().split("\r\n");
    assert(lines[0]?.includes("not_priced_because"));
    for (const { cases } of summary.studies) {
      for (const { configuration, money } of cases) {
        assert(money !== undefined, `${configuration} has neither a price nor a reason`);
        if ("perHour" in money) {
          assert(money.perHour > 0 && money.perMillion > 0 && money.dates.length > 0, configuration);
          for (const date of money.dates) assertMatch(date, /^\d{4}(-\d{2})?( to \d{4}(-\d{2})?)?$/);
        } else assert(REASON.test(money.why), money.why);
        const memory = written.configurations[configuration]?.tiers.map(({ media }) => media).join() ?? "";
        if (memory.includes("cxl")) {
          assert(
            "why" in money,
            `${configuration} is on CXL memory, which has no public price`,
          );
        }
        if (memory.includes("optane") && "perHour" in money) {
          assert(
            money.ended.some((text) => text.includes("not sold new")),
          );
        }
      }
    }
    for (const sentence of summary.sentences.filter((text) => AMOUNT.test(text))) {
      assert(/at prices of \d{4}|at most [\d.]+ \$|\$\/GB, \d{4}/.test(sentence), sentence);
    }
    assert(!/NaN|undefined|Infinity/.test(texts[0] ?? ""), texts[0]);
  },
);

Deno.test.each(scenarios)(
  "every case of a run of the scenario %s has a price of its own kind, or a reason",
  async (file) => {
    const scenario = await loadScenario(file);
    const plain = fixtureResult({ configurations: ["dram", "fsdax", "kmem-dax", "memory-mode"] });
    const names = Object.keys(scenario.configurations);
    // The fixture's samples stand for a run: each configuration of the file, on the memory that it names.
    const samples = names.flatMap((name) => {
      const { storage = "DRAM", media, memory, pmem } = scenario.configurations[name] as {
        readonly storage?: string;
        readonly media?: string;
        readonly memory?: string;
        readonly pmem?: string;
      };
      const like = memory === "memory-mode"
        ? "memory-mode"
        : storage === "DRAM"
        ? "dram"
        : pmem === "memkind"
        ? "kmem-dax"
        : "fsdax";
      return plain.samples.filter(({ configuration }) => configuration === like).map((one) => ({
        ...one,
        id: one.id.replace(like, name),
        case: name,
        configuration: name,
        tiers: one.tiers.map((tier, i) => {
          const disk = /SSD|LEVELDB/.test(storage) && i === one.tiers.length - 1;
          if (disk) {
            const { emulates: _, ...rest } = tier;
            return { ...rest, type: "SSDHASH" };
          }
          return tier.emulates === undefined || media === undefined ? tier : { ...tier, emulates: media };
        }),
      }));
    });
    const result: Result = {
      ...plain,
      samples,
      qualities: [],
      quality: undefined,
      run: { ...plain.run, scenario: scenario as never },
    };
    const summary = summarise(result);
    for (const { name, holding, cost, costMissing, tiers } of summary.cases) {
      assertEquals(cost === undefined, costMissing !== undefined, name);
      if (tiers.some(({ emulates = "" }) => emulates.includes("cxl"))) {
        assert(
          cost === undefined,
          `${name}: CXL memory has a price`,
        );
      }
      if (cost === undefined) assert(REASON.test(costMissing ?? ""), costMissing);
      else {assertEquals(
          (cost.offer.instance.pmemGib ?? 0) > 0 && holding === "dram",
          false,
          `${name} is priced by PMEM`,
        );}
      if (cost !== undefined && holding !== "dram") {
        assert(
          (cost.offer.instance.pmemGib ?? 0) > 0,
          `${name} is ${holding}`,
        );
      }
    }
    const { headline, sentences } = summary.verdict;
    for (
      const text of [headline, ...sentences].filter((text) => /cheaper|dearer/.test(text) && / per sample /.test(text))
    ) {
      assert(/whole bill|parameter servers alone|neither|95 %/.test(text), text);
    }
    assert(!/NaN|undefined|Infinity/.test(renderTerminal(summary, 300) + toMarkdown(summary) + toCsv(summary)));
  },
);

Deno.test.each(files(new URL("plans/", SCENARIOS)))(
  "every machine of the plan %s has a dated price, or a reason",
  async (file) => {
    const request = planRequest(await planInputs(await loadPlan(file)), defaultPriceBook());
    for (const { name, priceDate, pricePerHour } of request.machines) {
      assert(pricePerHour > 0, name);
      assertMatch(priceDate, /^\d{4}/);
    }
    const answer = plan(request);
    for (const one of request.unpriced) {
      assert(
        REASON.test(`${one.why}; ${planWinText(one, request, answer)}`),
        one.why,
      );
    }
    assertMatch(planText(answer), /(the whole bill|no price of what trains)[\s\S]*at prices of \d{4}/);
  },
);
