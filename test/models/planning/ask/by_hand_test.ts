/**
 * The question of 2 TB, computed by hand: bytes, rows of a step, what fits, what links take, dollars. Nothing here asks the
 * planner for a formula: sums are written out, the popularity law is added up rank by rank, prices are those of the book's rows.
 */

import "../../../native_library.ts";
import { defaultPriceBook } from "../../../../models/costs/default_prices.ts";
import { pricesAsOf } from "../../../../models/costs/price_book.ts";
import { ask } from "../../../../models/planning/ask/ask.ts";
import {
  deviceCapacities,
  planFileText,
  planOfQuestion,
  tableOfRows,
} from "../../../../models/planning/ask/question.ts";
import { parsePlan } from "../../../../models/planning/load.ts";
import { renderAsk } from "../../../../reports/ask/page.ts";
import { billLines, owningOf } from "../../../../reports/ask/words.ts";
import { assert, assertAlmostEquals, assertEquals } from "../../../assert.ts";

const SKEW = 0.9;
const [BATCH, LOOKUPS, WORKERS] = [4096, 26, 8];
const [WEIGHTS, SLOTS] = [64 * 4, 64 * 4];
const ROWS = Math.floor(2e12 / (WEIGHTS + SLOTS));

/** Sums f over all ranks: one by one up to a million, then by trapezoids between ranks a hundredth of a decade apart. */
function overRanks(f: (rank: number) => number): number {
  const exact = 1_000_000;
  let sum = 0;
  for (let rank = 1; rank <= exact; rank++) sum += f(rank);
  let from = exact + 0.5;
  while (from < ROWS + 0.5) {
    const to = Math.min(ROWS + 0.5, from * 1.02);
    sum += (to - from) * (f(from) + 4 * f((from + to) / 2) + f(to)) / 6;
    from = to;
  }
  return sum;
}

const ALL = overRanks((rank) => rank ** -SKEW);
/** Different rows among so many lookups. */
const different = (lookups: number) => overRanks((rank) => -Math.expm1(-lookups * rank ** -SKEW / ALL));

const near = (found: number, expected: number, share: number, what: string) =>
  assert(Math.abs(found / expected - 1) <= share, `${what}: ${found}, by hand ${expected}`);

const book = defaultPriceBook();
const plan = planOfQuestion(
  {
    name: "by hand",
    tables: {
      rows: tableOfRows({ rows: "2TB", dim: 64, optimizer: "adagrad", lookups: LOOKUPS, profile: { s: SKEW } }),
    },
    target: { samplesPerSecond: 500_000 },
    among: ["dram", "nvme"],
    batch: BATCH,
    workers: WORKERS,
    computeMs: 10,
    trainers: "AWS p4d.24xlarge",
    workersPerHost: 8,
    prices: "2026-11",
    providers: [],
  },
  pricesAsOf(book, "2026-11"),
  await deviceCapacities(),
);
const text = planFileText(plan, { about: "a test", schema: "./plan.schema.json" });
const asked = await ask({ ...parsePlan(text, { file: "t.jsonc", directory: "." }), directory: "." }, book, {
  turns: false,
});
const dram = asked.ways.find(({ name }) => name === "DRAM")?.plan;
const nvme = asked.ways.find(({ name }) => name === "DRAM + SSD")?.plan;
assert(dram !== undefined && nvme !== undefined);

Deno.test("by hand: 2 TB are 3.9e9 rows of 512 bytes; with 35 bytes beside each they fit one server of 3 TiB, not of 2", () => {
  assertEquals(ROWS, 3_906_250_000);
  assertEquals(dram.placed[0]?.table.rows, ROWS);
  const bytes = ROWS * (512 + 35.125);
  near(dram.usedBytes[0] ?? 0, bytes, 1e-3, "bytes");
  assertEquals([dram.hosts, dram.machine.name], [1, "server with 32 x 96 GB DDR5"]);
  assert(32 * 96 * 2 ** 30 * 0.9 > bytes && 32 * 64 * 2 ** 30 * 0.9 < bytes, "what fits");
});

Deno.test("by hand: a worker's 106,496 lookups are so many different rows, all workers' so many", () => {
  const table = dram.placed[0]?.table;
  near(table?.distinctPerWorker ?? 0, different(BATCH * LOOKUPS), 0.01, "rows of a worker");
  near(table?.distinctPerStep ?? 0, different(BATCH * LOOKUPS * WORKERS), 0.01, "rows of a step");
});

Deno.test("by hand: the server's link takes in keys, keys and gradients, the step no less than its links and dense layers", () => {
  const pulled = WORKERS * different(BATCH * LOOKUPS);
  const link = 12.5e9;
  near(dram.step.network, pulled * (8 + 8 + WEIGHTS) / link, 0.02, "link");
  // Pull, dense layers, push: one after the other. Memory and cores are beside and between them.
  const least = pulled * WEIGHTS / link + 0.010 + pulled * (8 + WEIGHTS) / link;
  assert(dram.stepSeconds.value >= least * 0.99, `${dram.stepSeconds.value} s, by hand at least ${least}`);
  assert(dram.stepSeconds.value <= least * 1.2, `${dram.stepSeconds.value} s, by hand ${least} and the rows in memory`);
  assertAlmostEquals(dram.samplesPerSecond.value, BATCH * WORKERS / dram.stepSeconds.value, 1);
  for (const [, of] of asked.simulated) assert(Math.abs(of?.apart ?? 1) < 0.1, "planner and virtual time");
});

Deno.test("by hand: drives leave DRAM full of the most popular rows, a record's 16 bytes for each row below", () => {
  // 16 modules of 64 GiB, nine tenths for tables: x rows with 35 bytes beside each, 16 for every other row.
  const memory = 16 * 64 * 2 ** 30 * 0.9;
  const inDram = (memory - ROWS * 16) / (512 + 35.125 - 16);
  near((nvme.placements[0]?.shares[0] ?? 0) * ROWS, inDram, 0.01, "rows in DRAM");
  // No cache misses less than one that holds the most popular rows.
  const popular =
    overRanks((rank) => rank <= inDram ? 0 : -Math.expm1(-BATCH * LOOKUPS * WORKERS * rank ** -SKEW / ALL)) /
    different(BATCH * LOOKUPS * WORKERS);
  const missed = 1 - (nvme.placed[0]?.answered[0] ?? 0);
  assert(missed >= popular * 0.98 && missed <= popular * 2, `${missed} missed, the best possible ${popular}`);
  // 900 thousand reads of 4 KiB a second each (PM9A3): the drives alone take so long.
  const drives = nvme.machine.tiers[1]?.devices ?? 0;
  const reads = missed * different(BATCH * LOOKUPS * WORKERS) / (drives * 900e3);
  assert(nvme.step.memory >= reads * 0.98, `${nvme.step.memory} s of memory, ${reads} s of reads`);
});

Deno.test("by hand: dollars of modules, drives, server, network, power and trainers", () => {
  // The book as of 2026-11: 12.5 $/GB in modules of 96 GB, 10.9 in those of 64; 0.36 $/GB of drives of 30 TB; 8,000 $ and 800 $.
  const recovery = 0.08 / (1 - 1.08 ** -6);
  const hour = (purchase: number, watts: number) => purchase * recovery / 8760 + watts / 1000 * 1.54 * 0.09;
  const owned = hour(32 * 96 * 12.5 + 8800, 400 + 32 * 5.5);
  assertAlmostEquals(dram.pricePerHour, owned, 1e-9);
  assertAlmostEquals(dram.billPerHour, owned + 14.75, 1e-9);
  const drives = nvme.machine.tiers[1]?.devices ?? 0;
  assertAlmostEquals(
    nvme.pricePerHour / nvme.hosts,
    hour(16 * 64 * 10.9 + drives * 30_000 * 0.36 + 8800, 400 + 16 * 5.5 + drives * 16.5),
    1e-9,
  );
  assertAlmostEquals(
    dram.dollarsPerMillionSamples.value,
    (owned + 14.75) / 3600 * 1e6 / dram.samplesPerSecond.value,
    1e-12,
  );
  // 400 W and 5.5 W a module; the rent of three machines of the book, less 1.54 x 0.09 $/kWh, pays the purchase in months of 730 hours.
  const rent = pricesAsOf(book, "2026-11").instances.find(({ name }) => name === "ecs.re6p.13xlarge")?.pricePerHour ??
    NaN;
  assertEquals([asked.rented?.hosts, asked.rented?.machine.name], [3, "Alibaba Cloud ecs.re6p.13xlarge"]);
  const own = owningOf(dram, true, asked);
  assertAlmostEquals(own.watts ?? NaN, 400 + 32 * 5.5, 1e-9);
  assertAlmostEquals(own.purchase ?? NaN, 32 * 96 * 12.5 + 8800, 1e-6);
  const power = (400 + 32 * 5.5) / 1000 * 1.54 * 0.09;
  assertAlmostEquals(own.paybackMonths ?? NaN, (32 * 96 * 12.5 + 8800) / ((3 * rent - power) * 730), 1e-9);
  // Each row that is missed comes up, and one of 512 B goes down for it.
  const missed = (1 - (nvme.placed[0]?.answered[0] ?? 0)) * different(BATCH * LOOKUPS * WORKERS);
  near(
    owningOf(nvme, true, asked).driveWritesPerDay ?? NaN,
    missed * 512 / nvme.stepSeconds.value * 86_400 / (drives * 30e12),
    0.02,
    "drive writes a day",
  );
  for (const plan of [dram, nvme]) {
    const lines = billLines(plan, asked.answer);
    assertAlmostEquals(lines.reduce((sum, { perHour }) => sum + perHour, 0), plan.billPerHour, 1e-9);
  }
});

Deno.test("by hand: the page of the answer shows these figures, to three digits", () => {
  const page = renderAsk(asked, { plan: text, command: "tierbench ask plan.jsonc", version: "0" });
  const shown = page.replaceAll(/<[^>]*>/g, " ").replaceAll("&#39;", "'").replaceAll(/\s+/g, " ");
  const recovery = 0.08 / (1 - 1.08 ** -6);
  const owned = (32 * 96 * 12.5 + 8800) * recovery / 8760 + (400 + 32 * 5.5) / 1000 * 1.54 * 0.09;
  const pulled = WORKERS * different(BATCH * LOOKUPS);
  const units: Readonly<Record<string, number>> = {
    k: 1e3,
    M: 1e6,
    G: 1e9,
    MB: 1e6,
    GB: 1e9,
    TB: 1e12,
    ms: 1e-3,
    "": 1,
  };
  /** The number that follows words on the page. */
  const after = (words: string): number => {
    const at = shown.indexOf(words);
    assert(at >= 0, `"${words}" is not on the page`);
    const found = /^\s*([\d,.]+) ?(k|MB|M|GB|TB|G|ms)?\b/.exec(shown.slice(at + words.length));
    assert(found !== null, `no number after "${words}"`);
    return Number(found[1]?.replaceAll(",", "")) * (units[found[2] ?? ""] ?? NaN);
  };
  near(after("Answer "), (owned + 14.75) * 730, 5e-3, "the whole bill of a month");
  near(after("bytes of rows "), 2e12, 5e-3, "bytes of rows");
  near(after("index and policy "), ROWS * 35.125, 5e-3, "index and policy");
  near(after("keys of a worker's step "), BATCH * LOOKUPS, 5e-3, "keys");
  near(after("different rows of them "), different(BATCH * LOOKUPS), 0.01, "rows of a worker");
  near(after("different rows of all workers "), different(BATCH * LOOKUPS * WORKERS), 0.01, "rows of a step");
  near(after("rows over the network in a step "), pulled * 2 * WEIGHTS, 0.01, "bytes over the network");
  near(after("busiest link "), pulled * (8 + 8 + WEIGHTS) / 12.5e9, 0.02, "the busiest link");
  const perMillion = /and ([\d.]+) \$ a million samples/.exec(shown)?.[1];
  near(Number(perMillion), (owned + 14.75) / 3600 * 1e6 / dram.samplesPerSecond.value, 5e-3, "a million samples");
});
