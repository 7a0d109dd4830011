/** Configurations of runs that name their machines are priced on them, as simulations and plans are. */

import "../native_library.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { pricesAsOf } from "../../models/costs/price_book.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { cost as costSection } from "../../reports/html/cost.ts";
import { summarise } from "../../reports/summary/summary.ts";
import type { CaseSummary } from "../../reports/summary/summary_types.ts";
import { whatIfBase } from "../../reports/what_if/base.ts";
import { whatIf } from "../../reports/what_if/what_if.ts";
import { parseScenario } from "../../scenarios/load.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** A run whose configurations name these machines; `cxl` is a case on CXL memory. */
function resultOf(machines: Readonly<Record<string, unknown>>, cost: Readonly<Record<string, unknown>> = {}): Result {
  const plain = fixtureResult({ configurations: ["dram", "fsdax"] });
  const cxl = plain.samples.filter(({ configuration }) => configuration === "fsdax").map((one) => ({
    ...one,
    id: one.id.replace("fsdax", "cxl"),
    case: "cxl",
    configuration: "cxl",
    tiers: one.tiers.map((tier) => tier.emulates === undefined ? tier : { ...tier, emulates: "cxl-type3-ddr5" }),
  }));
  const { scenario } = plain.run;
  const configurations = Object.fromEntries(
    ["dram", "fsdax", "cxl"].map((name) => [
      name,
      { ...scenario.configurations[name], ...(name in machines ? { machine: machines[name] } : {}) },
    ]),
  );
  const changed = { ...scenario, configurations, cost: { ...scenario.cost, prices: "2026-11", ...cost } };
  return {
    ...plain,
    samples: [...plain.samples, ...cxl],
    qualities: [],
    quality: undefined,
    run: { ...plain.run, scenario: changed as never },
  };
}

function caseOf(result: Result, name: string): CaseSummary {
  const found = summarise(result).cases.find((one) => one.name === name);
  assert(found !== undefined);
  return found;
}

const DRAM = { components: { dram: { size: "64 GB", count: 16 } } };

Deno.test("a run's case is priced on the parts that its configuration names, by hand, with watts and payback", () => {
  const { cost, costMissing } = caseOf(resultOf({ dram: DRAM }), "dram");
  assertEquals(costMissing, undefined);
  assert(cost !== undefined);
  // 500 GB of rows and their index fit one server of 16 x 64 GB, which is what a search may not have found.
  assert(cost.need.dramBytes < 16 * 64e9 * 0.9 && cost.need.dramBytes > 5e11);
  assertEquals([cost.offer.machines, cost.offer.instance.name], [1, "server with 16 × 64 GB DDR5"]);
  // 10.9 $/GB of modules, 8,800 $ of server and network, 6 years at 8 %; 400 W and 5.5 W a module, PUE 1.54, 0.09 $/kWh.
  const [purchase, watts] = [16 * 64 * 10.9 + 8800, 400 + 16 * 5.5];
  const power = watts / 1000 * 1.54 * 0.09;
  const hour = purchase * 0.08 / (1 - 1.08 ** -6) / 8760 + power;
  assertAlmostEquals(cost.offer.pricePerHour, hour, 1e-9);
  assertAlmostEquals(cost.owning?.purchase ?? NaN, purchase, 1e-6);
  assertAlmostEquals(cost.owning?.watts ?? NaN, watts, 1e-9);
  const against = cost.owning?.payback?.against;
  assert(against !== undefined && against.instance.bought === undefined);
  assert(
    against.machines * (against.instance.dramGib ?? 0) * 2 ** 30 * 0.9 >= cost.need.dramBytes,
    "the rent holds it, too",
  );
  assertAlmostEquals(cost.owning?.payback?.months ?? NaN, purchase / ((against.pricePerHour - power) * 730), 1e-9);
});

Deno.test("of parts that are too few there are as many machines as the model takes; a row of the book likewise", () => {
  const small = { components: { dram: { size: "64 GB", count: 4 } } };
  const { cost } = caseOf(resultOf({ dram: small }), "dram");
  assert(cost !== undefined);
  assertEquals(cost.offer.machines, Math.ceil(cost.need.dramBytes / (4 * 64e9 * 0.9)));
  assertAlmostEquals(cost.offer.pricePerHour, cost.offer.machines * cost.offer.instance.pricePerHour, 1e-9);
  const row = caseOf(resultOf({ fsdax: "Alibaba Cloud ecs.re6p.13xlarge" }), "fsdax").cost;
  const book = pricesAsOf(defaultPriceBook(), "2026-11").instances.find(({ name }) => name === "ecs.re6p.13xlarge");
  assertEquals(row?.offer.instance, book);
  const quoted = caseOf(resultOf({ dram: { pricePerHour: 2.5, date: "2026-10" } }), "dram").cost;
  assertEquals([quoted?.offer.machines, quoted?.offer.pricePerHour], [1, 2.5]);
  assertEquals(quoted?.owning, undefined);
});

Deno.test("parts of CXL memory have no price and say at most what one may be; on other memory no case is priced", () => {
  const parts = { components: { dram: { size: "64 GB", by: 2 }, cxl: { size: "256 GB" } } };
  const cxl = caseOf(resultOf({ dram: DRAM, cxl: parts }), "cxl");
  assertEquals(cxl.cost, undefined);
  assertStringIncludes(cxl.costMissing ?? "", "No public price of CXL memory");
  assert(
    /at most [\d.]+ \$\/GB-month .* against dram|as a gift it would not win/.test(cxl.costMissing ?? ""),
    cxl.costMissing,
  );
  for (const machine of [DRAM, "Alibaba Cloud ecs.re6p.13xlarge"]) {
    const { cost, costMissing } = caseOf(resultOf({ cxl: machine }), "cxl");
    assertEquals(cost, undefined);
    assert(/^no price/i.test(costMissing ?? ""), costMissing);
  }
  const none = caseOf(resultOf({ dram: "nobody's machine" }), "dram");
  assertStringIncludes(none.costMissing ?? "", 'has no machine "nobody\'s machine"');
});

Deno.test("page, Markdown and CSV show what is owned; a what-if of nothing gives the report's figures", () => {
  const summary = summarise(resultOf({ dram: DRAM }, { model: "owned" }));
  const page = `${costSection(summary)?.text}`;
  for (const text of [page, toMarkdown(summary)]) {
    assertStringIncludes(text, "server with 16 × 64 GB DDR5");
    assertStringIncludes(text, "20,000"); // 19,961.6 $ to three digits
  }
  const [head = "", first = ""] = toCsv(summary).split("\n");
  const at = head.split(",").indexOf("machines_watts");
  assert(at > 0 && first.includes("488"));
  const base = whatIfBase(summary, () => 0);
  assert(base !== undefined);
  for (const one of whatIf(base, {}).cases) {
    const same = summary.cases.find(({ name }) => name === one.name)?.cost;
    assertEquals(one.cost?.perMillion.value, same?.perMillion.value);
  }
});

Deno.test("a scenario's machine is checked as a simulation's and a plan's is", async () => {
  const text = (machine: string) =>
    `{ "version": 1, "name": "t", "configurations": { "dram": { "storage": "DRAM", "machine": ${machine} } } }`;
  const at = { file: "t.jsonc", directory: "." };
  assertEquals((await parseScenario(text(JSON.stringify(DRAM)), at)).configurations["dram"]?.machine, DRAM);
  await assertRejects(() => parseScenario(text('{ "pricePerHour": -1, "date": "2026" }'), at), Error, "machine");
});
