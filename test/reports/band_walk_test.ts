/** A walk over every output that shows bands and intervals: none is without width, and one that is not there is not shown as one. */

import "../native_library.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { ask } from "../../models/planning/ask/ask.ts";
import { planInputs } from "../../models/planning/inputs.ts";
import { loadPlan } from "../../models/planning/load.ts";
import { plan, runnerUp } from "../../models/planning/planner.ts";
import { planRequest } from "../../models/planning/request.ts";
import { planText } from "../../models/planning/text.ts";
import { isSimulation, loadSimulation } from "../../models/simulation/load.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { askJson, askText } from "../../reports/ask/text.ts";
import { compareResults } from "../../reports/compare/compare.ts";
import { comparisonJson, comparisonMarkdown, renderComparison } from "../../reports/compare/text.ts";
import { toJson } from "../../reports/export/json.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { renderSimulation } from "../../reports/simulation/page.ts";
import { summariseSimulation } from "../../reports/simulation/summary.ts";
import { renderSimulationTerminal, simulationJson, simulationMarkdown } from "../../reports/simulation/text.ts";
import { intervalText } from "../../reports/text/format.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { assert, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** Simulations of media that nothing published could be compared with. */
const UNCALIBRATED: readonly string[] = ["hbm-cache.jsonc", "paper-hierarchicalkv.jsonc"];

const SCENARIOS = new URL("../../scenarios/", import.meta.url);
const simulations: string[] = [];
for (const { name } of Deno.readDirSync(SCENARIOS)) {
  const file = new URL(name, SCENARIOS).pathname;
  if (name.endsWith(".jsonc") && await isSimulation(file)) simulations.push(file);
}

/**
 * No bands: ranges in which a price was seen (one price is one price, with a date), what a single doubt does alone, which is
 * nothing where something else hides it, and the loss, which is the same to the bit however often a run is repeated.
 */
const NO_BANDS = new Set(["pricing", "doubts", "loss"]);

/** Fields of a value that may have bands. */
function fieldsOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([key]) => !NO_BANDS.has(key));
}

/** Paths of the bands in a value, `low` and `high` side by side, whose ends are one. */
function flatBands(value: unknown, at: string = "$"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { low, high } = value as { readonly low?: unknown; readonly high?: unknown };
  const flat = typeof low === "number" && typeof high === "number" && !(low < high);
  return [
    ...(flat ? [`${at}: ${low} to ${high}`] : []),
    ...fieldsOf(value).flatMap(([key, part]) => flatBands(part, `${at}.${key}`)),
  ];
}

/** How many bands a value has. */
function bandsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const { low, high } = value as { readonly low?: unknown; readonly high?: unknown };
  const own = typeof low === "number" && typeof high === "number" ? 1 : 0;
  return own + fieldsOf(value).reduce<number>((sum, [, part]) => sum + bandsIn(part), 0);
}

/** Ranges in a text whose ends are written alike: `90 %: 100 to 100 %`, `−0 to +0 %`. */
function flatRanges(text: string): string[] {
  return [...text.matchAll(/(?:90|95) %[^0-9−+]{0,12}([−+]?[\d.,]+)[^\d−+]{0,6} to ([−+]?[\d.,]+)/g)]
    .filter(([, low = "", high = ""]) =>
      low.replace(/^[−+]/, "") === high.replace(/^[−+]/, "") && (low === high || /^[−+]0$/.test(low))
    )
    .map(([range]) => range);
}

/** Nothing in an answer or its texts is a band without width. */
function checkOutput(name: string, answer: unknown, texts: readonly string[], least: number): void {
  assertEquals(flatBands(answer), [], name);
  for (const text of texts) assertEquals(flatRanges(text), [], name);
  assert(bandsIn(answer) >= least, `${name}: ${bandsIn(answer)} bands`);
}

Deno.test("the walk finds a band without width, as a value and as text", () => {
  assertEquals(flatBands({ a: [{ low: 1, high: 1 }, { low: 1, high: 2 }] }), ["$.a.0: 1 to 1"]);
  assertEquals(
    flatRanges("speed (90 %: 100 to 100 %), step (90 %: −0 to +0 %), cost (90 %: −2.0 to +2.0 %)").length,
    2,
  );
  assertEquals([bandsIn({ a: [{ low: 1, high: 1 }] }), simulations.length >= 3], [1, true]);
});

Deno.test.each(simulations)("no band of the simulation %s and its report is without width", async (file) => {
  const written = await loadSimulation(file);
  const result = await runSimulation({ ...written, steps: 1, warmup: 0, explain: [], published: [] });
  const summary = summariseSimulation(result);
  const json = JSON.parse(simulationJson(summary));
  const texts = [renderSimulationTerminal(summary, 400), simulationMarkdown(summary), renderSimulation(result)];
  // Memory Mode, CXL beyond what was measured and the memory of GPUs, of which nothing was, have reasons in their place.
  const bands = result.cases.map(({ band }) => band);
  for (const band of bands) assert(!("why" in band) || band.why.length > 20, JSON.stringify(band));
  const name = file.slice(file.lastIndexOf("/") + 1);
  checkOutput(file, [summary, json], texts, UNCALIBRATED.includes(name) ? 0 : 1);
  if (UNCALIBRATED.includes(name)) assert(bands.every((band) => "why" in band), `${name} has bands now`);
});

Deno.test("no band of a plan or of an answer to a question is without width", async () => {
  const file = await loadPlan(new URL("plans/retail.jsonc", SCENARIOS).pathname), book = defaultPriceBook();
  for (const computeMs of [file.computeMs, 1000]) {
    const request = planRequest(await planInputs({ ...file, computeMs, overlapped: true }), book);
    const answer = plan(request);
    // Bands are drawn when they are read.
    checkOutput("plan", [answer, runnerUp(answer, request)], [planText(answer)], 4);
  }
  const asked = await ask(file, book);
  checkOutput("ask", JSON.parse(askJson(asked, "USD")), [askText(asked, 400)], 4);
});

Deno.test("no interval of a run's report or of a comparison is without width", () => {
  for (const samples of [1, 2, 6]) {
    const result = fixtureResult({ samples, configurations: ["dram", "fsdax", "kmem-dax", "memory-mode"] });
    const summary = summarise(result), json = JSON.parse(toJson(summary));
    const least = samples === 1 ? 0 : 8;
    checkOutput(`run of ${samples}`, json, [toMarkdown(summary), renderTerminal(summary)], least);
    const compared = compareResults(result, result);
    const shown = [renderComparison(compared), comparisonMarkdown(compared)];
    checkOutput(`comparison of ${samples}`, JSON.parse(comparisonJson(compared)), shown, least);
  }
});

Deno.test("what every sample agrees on to the bit is said so, and not as an interval", () => {
  assertEquals(intervalText({ value: 0.5, low: 0.5, high: 0.5, samples: 3 }), "the same in all 3");
  assertEquals(intervalText({ value: 0.5, low: 0.4, high: 0.6, samples: 3 }), "0.400 to 0.600");
});
