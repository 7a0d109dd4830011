import { renderReport } from "../../reports/report.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { pageData } from "../../reports/html/page_data.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { clusterDollars, scaled } from "../../reports/summary/rank_words.ts";
import type { ClusterRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const machine = { cpu: "c", cpus: 2, memoryBytes: 1e9, kernel: "6.1" };
const SHARED = "Several ranks shared one machine";

/** The record of ranks of which each but the first was in messages a step this much longer than 1 ms. */
function clusterOf(ranks: number, steps: number, longerNs: number, hosts: number): ClusterRecord {
  return {
    ...{
      layout: "collocated",
      launcher: ranks === 1 ? "none" : "mpirun",
      library: "Open MPI v4",
      sharedMachine: hosts < ranks,
    },
    ranks: Array.from({ length: ranks }, (_, rank) => ({
      ...{
        rank,
        host: `n${rank % hosts}`,
        machine,
        trains: true,
        tiers: [],
        tableBytes: 1,
        stepsNs: 1,
        messages: steps,
      },
      ...{ sentBytes: 1024 * steps, receivedBytes: 1024 * steps },
      waitingNs: ranks === 1 || rank === 0 ? 0 : longerNs * steps,
      movingNs: ranks === 1 ? 0 : 1e6 * steps,
      messageNs: ranks === 1 ? 0 : (1e6 + (rank === 0 ? 0 : longerNs)) * steps,
    })),
  };
}

/** Every case over one rank, and over two that take 5/8 of the time. */
function overRanks(result: Result, hosts: number): Result {
  const at = (sample: SampleRecord, ranks: number, slower: number): SampleRecord => ({
    ...sample,
    id: `${sample.configuration}[${ranks}]#${sample.sample}`,
    case: `${sample.configuration} cluster.ranks=${ranks}`,
    point: { ...sample.point, "cluster.ranks": ranks },
    stepNs: sample.stepNs.map((ns) => ns * slower),
    cluster: clusterOf(ranks, sample.stepNs.length, 2e6, ranks === 1 ? 1 : hosts),
  });
  return { ...result, samples: result.samples.flatMap((one) => [at(one, 1, 1), at(one, 2, 5 / 8)]) };
}

Deno.test("reports show speed-up, efficiency, messages and dollars of ranks against the fewest", () => {
  const result = overRanks(fixtureResult(), 1);
  const summary = summarise(result);
  const [one, two] = [1, 2].map((ranks) => summary.cases.find(({ name }) => name === `dram cluster.ranks=${ranks}`));
  assert(one?.scaling !== undefined && two?.scaling !== undefined);
  assertEquals([one.scaling.speedUp, one.scaling.messages, one.scaling.fewest], [undefined, undefined, one.name]);
  assertAlmostEquals(two.scaling.speedUp?.value ?? 0, 1.6, 1e-12);
  assertAlmostEquals(two.scaling.efficiency?.value ?? 0, 0.8, 1e-12);
  assertAlmostEquals(two.scaling.messages?.value ?? 0, 2e-3, 1e-12);
  assertAlmostEquals(two.scaling.waiting?.value ?? 0, 1e-3, 1e-12); // of 1 and 3 ms: the second waited 2, the first nothing
  assertAlmostEquals(two.scaling.moving?.value ?? 0, 1e-3, 1e-12);
  assertEquals([two.scaling.fewest, two.scaling.sentBytes, two.scaling.hosts], [one.name, 2048, 1]);
  const line = pageData(summary).more.lines["scaling"]?.lines.find(({ name }) => name === "dram");
  assertEquals(line?.points.map(({ x }) => x), [1, 2]);
  assertAlmostEquals(line?.points[1]?.y ?? 0, 1.6, 1e-12);
  const times = pageData(summary).more.lines["messages"]?.lines.filter(({ name }) => name.startsWith("dram, "));
  assertEquals(times?.map(({ name, dashed, points }) => [name, dashed, points.map(({ x }) => x)]), [
    ["dram, moving", false, [2]],
    ["dram, waiting", true, [2]],
  ]);
  for (const { points } of times ?? []) assertAlmostEquals(points[0]?.y ?? 0, 1, 1e-9);
  const [head = "", ...lines] = toCsv(summary).split("\n");
  const cells = lines.find((text) => text.startsWith(two.name))?.split(",") ?? [];
  const cell = (name: string) => Number(cells[head.split(",").indexOf(name)]);
  assertEquals([cell("ranks"), cell("machines_of_ranks"), cell("sent_bytes_a_step")], [2, 1, 2048]);
  for (const text of [renderTerminal(summary, 200), toMarkdown(summary), renderReport(result)]) {
    for (const word of [SHARED, "2 KiB", "of it waiting, ms", "of it moving, ms"]) {
      assert(text.includes(word), `${word} in ${text}`);
    }
  }
});

Deno.test("cases over fewer ranks come first, in whatever order they were trained", () => {
  const result = overRanks(fixtureResult(), 1);
  const names = scaled(summarise({ ...result, samples: result.samples.toReversed() }).cases).map(({ name }) => name);
  assertEquals(names.map((name) => name.slice(-1)), names.map((name) => name.slice(-1)).toSorted());
  assert(names.length > 2);
});

Deno.test("ranks on machines of their own cost as many workers, and nothing is said of sharing", () => {
  const result = overRanks(fixtureResult(), 2);
  const summary = summarise(result);
  const dollars = (ranks: number) => {
    const one = summary.cases.find(({ name }) => name === `dram cluster.ranks=${ranks}`);
    return one?.scaling === undefined ? undefined : clusterDollars(one.scaling, one.throughput, summary);
  };
  const [one, two] = [dollars(1), dollars(2)];
  assert(one !== undefined && two !== undefined && one > 0);
  assertAlmostEquals(two / one, 2 / 1.6, 1e-9); // twice the machines, 1.6 times as fast
  assert(!renderReport(result).includes(SHARED));
});

Deno.test("ranks that train asynchronously show what their steps missed, who took them and an AUC of their own", () => {
  const result = overRanks(fixtureResult(), 1);
  const { quality } = result;
  assert(quality !== undefined);
  const samples = result.samples.map((sample): SampleRecord => {
    if (sample.point["cluster.ranks"] !== 2) return sample;
    const { ranks, ...cluster } = sample.cluster as ClusterRecord;
    const steps = sample.stepNs.length;
    return {
      ...sample,
      trainer: { ...sample.trainer, deterministic: "0" },
      digest: `${sample.id} differs`,
      cluster: {
        ...cluster,
        staleness: { bound: 3, missed: [steps - 4, 3, 1, 0] },
        ranks: ranks.map((one) => ({ ...one, steps: one.rank === 0 ? steps - 1 : 1, waitingNs: 0, movingNs: 0 })),
      },
    };
  });
  const own = { ...quality, id: "quality[cluster.ranks=2]", point: { "cluster.ranks": 2 }, auc: 0.6543 };
  const main = { ...quality, point: { "cluster.ranks": 1 } };
  const both: Result = {
    ...{ ...result, samples, quality: main },
    qualities: [main, { ...own, trainer: { deterministic: "0" } }],
  };
  const summary = summarise(both);
  const [one, two] = [1, 2].map((ranks) => summary.cases.find(({ name }) => name === `dram cluster.ranks=${ranks}`));
  const steps = samples[0]?.stepNs.length ?? 0;
  assertEquals([one?.scaling?.staleness, one?.scaling?.shares], [undefined, undefined]);
  assertEquals([one?.scaling?.auc, two?.scaling?.auc], [quality.auc, 0.6543]);
  assertEquals([two?.scaling?.staleness?.bound, two?.scaling?.staleness?.most], [3, 2]);
  assertAlmostEquals(two?.scaling?.staleness?.mean ?? NaN, 5 / steps, 1e-12);
  assertAlmostEquals(two?.scaling?.shares?.[1] ?? NaN, 1 / steps, 1e-12);
  for (const text of [renderTerminal(summary, 240), toMarkdown(summary), renderReport(both)]) {
    for (const word of ["0.6543", "missed updates", "steps by rank", "train asynchronously are between two of them"]) {
      assert(text.includes(word), `${word} in ${text}`);
    }
  }
  assert(!renderTerminal(summarise(result), 240).includes("missed updates"));
});

Deno.test("results of a version that did not divide time in messages say so", () => {
  const result = overRanks(fixtureResult(), 1);
  const older = (sample: SampleRecord): SampleRecord => {
    const cluster = sample.cluster as ClusterRecord;
    const ranks = cluster.ranks.map(({ waitingNs: _, movingNs: __, ...one }) => one as typeof cluster.ranks[number]);
    return { ...sample, cluster: { ...cluster, ranks } };
  };
  const text = renderReport({ ...result, samples: result.samples.map(older) });
  assert(text.includes("recorded by a version that did not divide it"), text);
  assert(!renderReport(result).includes("recorded by a version that did not divide it"));
});

Deno.test("a report without ranks has no section of them", () => {
  const text = renderReport(fixtureResult());
  assert(!text.includes('id="ranks"') && !text.includes('id="scaling"'));
});
