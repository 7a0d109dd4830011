import { renderReport } from "../../reports/report.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { summarise } from "../../reports/summary/summary.ts";
import type { CheckpointRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const checkpoint: CheckpointRecord = {
  every: 10,
  written: [
    { step: 10, kind: "full", waitedNs: 0, cutNs: 1e6, durableNs: 20e6, bytes: 6 << 20 },
    { step: 20, kind: "delta", waitedNs: 2e6, cutNs: 1e6, durableNs: 10e6, bytes: 1 << 20 },
    { step: 30, kind: "delta", waitedNs: 4e6, cutNs: 1e6, durableNs: 10e6, bytes: 1 << 20 },
  ],
  restoreNs: 40e6,
  restoredBytes: 8 << 20,
};

/** Every case twice: without checkpoints, and with them in steps that take 5/4 of the time. */
function withCheckpoints(result: Result): Result {
  const at = (sample: SampleRecord, interval: string | number): SampleRecord => ({
    ...sample,
    id: `${sample.configuration}[${interval}]#${sample.sample}`,
    case: `${sample.configuration} checkpoint.interval=${interval}`,
    point: { ...sample.point, "checkpoint.interval": interval },
  });
  const slow = ({ stepNs, ...sample }: SampleRecord) => ({
    ...sample,
    stepNs: stepNs.map((ns) => ns * 1.25),
    checkpoint,
  });
  const samples = result.samples.flatMap((one) => [at(one, "none"), slow(at(one, 10))]);
  return { ...result, samples };
}

Deno.test("reports show what checkpoints cost against the same case without", () => {
  const plain = fixtureResult();
  const result = withCheckpoints(plain);
  const summary = summarise(result);
  const [without, cost] = ["none", "10"].map((interval) =>
    summary.cases.find(({ name }) => name === `dram checkpoint.interval=${interval}`)?.checkpoints
  );
  assertEquals(without, undefined);
  assert(cost !== undefined);
  assertAlmostEquals(cost.relative?.value ?? 0, 0.8, 1e-12);
  assertEquals(cost.without, "dram checkpoint.interval=none");
  assertEquals([cost.count, cost.bytes, cost.restoredBytes], [3, 8 << 20, 8 << 20]);
  assertAlmostEquals(cost.deltaShare ?? 0, 1 / 6, 1e-12);
  for (const [estimate, seconds] of [[cost.still, 0.003], [cost.durable, 0.01], [cost.restore, 0.04]] as const) {
    assertAlmostEquals(estimate.value, seconds, 1e-12);
  }
  const [head = "", ...lines] = toCsv(summary).split("\n");
  const line = lines.find((one) => one.includes("dram checkpoint.interval=10"))?.split(",") ?? [];
  const cell = (name: string) => Number(line[head.split(",").indexOf(name)]);
  assertEquals(["checkpoints_a_sample", "checkpoint_bytes_a_sample"].map(cell), [3, 8 << 20]);
  assertAlmostEquals(cell("checkpoints_ratio_to_without"), 0.8, 1e-6);
  for (const text of [renderTerminal(summary, 200), toMarkdown(summary), renderReport(result)]) {
    for (const word of ["until durable, ms", "17 %", "8 MiB"]) {
      assert(text.includes(word), `${word} in ${text.slice(0, 300)}`);
    }
  }
  for (const text of [renderTerminal(summarise(plain)), toMarkdown(summarise(plain)), renderReport(plain)]) {
    assert(!text.includes("until durable"));
  }
});

Deno.test("speed with checkpoints has nothing to stand against where no case is without", () => {
  const { samples, ...result } = withCheckpoints(fixtureResult());
  const only = summarise({ ...result, samples: samples.filter((one) => one.checkpoint !== undefined) });
  assert(only.cases.every(({ checkpoints }) => checkpoints !== undefined && checkpoints.relative === undefined));
});

Deno.test("reports compare going on from points in place with reloading a dump, and say what a crash leaves", () => {
  const point: CheckpointRecord = {
    every: 10,
    written: [10, 20, 30].map((step) => ({
      step,
      kind: "in-place",
      waitedNs: 0,
      cutNs: 1e6,
      durableNs: 5e6,
      bytes: 1 << 18,
      rows: step === 10 ? 5000 : step * 10,
    })),
    restoreNs: 10e6,
    restoredBytes: 4 << 20,
  };
  const { samples, ...plain } = withCheckpoints(fixtureResult());
  const dump: CheckpointRecord = {
    ...checkpoint,
    written: checkpoint.written.map((one) => ({ ...one, kind: "full" })),
  };
  const result = {
    ...plain,
    samples: samples.map((one) =>
      one.checkpoint === undefined ? one : { ...one, checkpoint: one.configuration === "dram" ? dump : point }
    ),
  };
  const { cases } = summarise(result);
  const of = (name: string) => cases.find((one) => one.name === name);
  const placed = cases.find(({ configuration, checkpoints }) => configuration !== "dram" && checkpoints !== undefined);
  assertEquals(placed?.checkpoints?.dump, "dram checkpoint.interval=10");
  assertAlmostEquals(placed?.checkpoints?.toDump?.value ?? 0, 0.25, 1e-12);
  assertEquals(placed?.checkpoints?.rowsAgain, 250);
  assertEquals(of("dram checkpoint.interval=10")?.checkpoints?.toDump, undefined);
  assertEquals(
    ["dram checkpoint.interval=none", "dram checkpoint.interval=10", placed?.name ?? ""].map((name) =>
      of(name)?.durability
    ),
    ["nothing", "a dump every 10 steps", "in place every 10 steps"],
  );
  const summary = summarise(result);
  for (const text of [renderTerminal(summary, 300), toMarkdown(summary), renderReport(result)]) {
    for (const word of ["in place every 10 steps", "rows put down again", "reloading a dump", "after a crash"]) {
      assert(text.includes(word), `${word} in ${text.slice(0, 300)}`);
    }
  }
});
