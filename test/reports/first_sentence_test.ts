/**
 * The first sentence of every page and plan that ships: the whole bill, trainers included, with a date; or why there is none.
 * Where the bill ends is a switch.
 */

import "../native_library.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { ask } from "../../models/planning/ask/ask.ts";
import { planInputs } from "../../models/planning/inputs.ts";
import { loadPlan } from "../../models/planning/load.ts";
import { plan } from "../../models/planning/planner.ts";
import { planRequest } from "../../models/planning/request.ts";
import { planText } from "../../models/planning/text.ts";
import { isSimulation, loadSimulation } from "../../models/simulation/load.ts";
import type { SimulationResult } from "../../models/simulation/record.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { renderAsk } from "../../reports/ask/page.ts";
import { renderReport } from "../../reports/html/render.ts";
import { renderSimulation } from "../../reports/simulation/page.ts";
import type { SummaryOptions } from "../../reports/summary/prices.ts";
import { loadScenario } from "../../scenarios/load.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertMatch } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const SCENARIOS = new URL("../../scenarios/", import.meta.url);
const files = (folder: URL): string[] =>
  [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".jsonc")).map(({ name }) =>
    new URL(name, folder).pathname
  ).sort();

const simulations: string[] = [];
const runs: string[] = [];
for (const file of files(SCENARIOS)) (await isSimulation(file) ? simulations : runs).push(file);
const plans = files(new URL("plans/", SCENARIOS));

/** The first sentence of a page's answer. */
function firstSentence(page: string): string {
  const found = /<p class="headline">([\s\S]*?)<\/p>/.exec(page) ??
    /<section id="answer">[\s\S]*?<li>([\s\S]*?)<\/li>/.exec(page);
  assert(found !== null, "the page has an answer");
  return (found[1] ?? "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ").trim();
}

const AMOUNT = /[\d.,]+ \$|cheaper|dearer|costs/;

Deno.test.each(simulations)(
  "the first sentence of the simulation %s has the whole bill, or there is none at all",
  async (file) => {
    const written = await loadSimulation(file);
    const result: SimulationResult = await runSimulation({
      ...written,
      steps: 1,
      warmup: 0,
      explain: [],
      published: [],
    });
    const first = firstSentence(renderSimulation(result));
    const priced = Object.values(written.configurations).some(({ machine }) => machine !== undefined);
    if (!priced) {
      assert(!AMOUNT.test(first), first);
      return;
    }
    assertMatch(
      first,
      /^[^:]+: \S+ costs (least, )?[\d.]+ \$ a million samples .*the whole bill, trainers included, at prices of \d{4}/,
    );
    const alone = firstSentence(renderSimulation(result, { boundary: "parameter-servers" }));
    assert(alone !== first && !alone.includes("the whole bill"), alone);
  },
);

Deno.test.each(runs)(
  "the first sentence of a run of %s has the whole bill, or says why there is no price",
  async (file) => {
    const { cost } = await loadScenario(file);
    const plain = fixtureResult({ configurations: ["dram", "fsdax", "kmem-dax", "memory-mode"] });
    // The figures are the fixture's, the question of cost is the file's.
    const result: Result = { ...plain, run: { ...plain.run, scenario: { ...plain.run.scenario, cost } as never } };
    const headline = (options: SummaryOptions = {}) => firstSentence(renderReport(result, options));
    const first = headline();
    assertMatch(first, /the whole bill/);
    assertMatch(first, /prices of \d{4}/);
    assert(!headline({ boundary: "parameter-servers" }).includes("on the whole bill"), "the boundary is a switch");
  },
);

Deno.test.each(plans)(
  "the first sentences of the plan %s and of its page have the whole bill, or say why not",
  async (file) => {
    const book = defaultPriceBook();
    const written = await loadPlan(file);
    const inputs = await planInputs(written);
    if (written.cost === undefined) {
      const why =
        "the machines that hold the tables alone; no price of what trains: cost.trainers does not say what it is";
      assert(planText(plan(planRequest(inputs, book))).includes(why));
      const page = renderAsk(await ask(written, book, { turns: false }), {
        plan: "",
        command: "tierbench ask",
        version: "0",
      });
      assertMatch(firstSentence(page), /^[\d.,]+ \$ a month, the machines that hold the tables alone/);
      return;
    }
    const bill = /^(best |leads) {4}[\d.,]+ \$ an hour, [\d.,]+ a month, the whole bill, with /m;
    assertMatch(planText(plan(planRequest(inputs, book))), bill);
    const alone = planText(plan(planRequest(inputs, book, { serversAlone: true })));
    assert(!bill.test(alone) && alone.includes("the machines that hold the tables alone"), alone);
    const asked = await ask(written, book, { turns: false });
    const page = renderAsk(asked, { plan: "", command: "tierbench ask", version: "0" });
    assertMatch(firstSentence(page), /^[\d.,]+ \$ a month, the whole bill, /);
  },
);
