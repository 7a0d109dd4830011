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

Deno.test("reports hold simulated checkpoints against measured ones, and say which case set the rates", () => {
  const ROWS = 1000, ROW = 92, EVERY = 10;
  const made = (every: number, kind: CheckpointRecord["written"][number]["kind"]): CheckpointRecord => ({
    every,
    written: [1, 2, 3].map((i) => ({
      step: i * every,
      kind: i === 1 && kind === "delta" ? "full" : kind,
      waitedNs: 0,
      cutNs: 4e6,
      durableNs: every * 1e6,
      bytes: 26 * ROWS * 100,
      ...(kind === "in-place" ? { rows: 800 } : {}),
    })),
    restoreNs: 20e6,
    restoredBytes: 26 * ROWS * 100,
  });
  const kinds = { "dram": "full", "fsdax": "in-place" } as const;
  const base = fixtureResult({ configurations: Object.keys(kinds) });
  const { workload } = base.run.scenario;
  const samples = base.samples.flatMap((one) =>
    [EVERY, 2 * EVERY].map((every): SampleRecord => ({
      ...one,
      id: `${one.configuration}[${every}]#${one.sample}`,
      case: `${one.configuration} checkpoint.interval=${every}`,
      point: { "checkpoint.interval": every },
      batch: 4,
      dramBytes: 700 * ROW,
      trainer: { dense_parameters: "1000", wide_parameters: "200", deep_optimizer: "adagrad" },
      checkpoint: made(every, kinds[one.configuration as keyof typeof kinds]),
    }))
  );
  const result: Result = {
    ...base,
    samples,
    run: {
      ...base.run,
      data: { ...base.run.data, cardinalities: Array.from({ length: 26 }, () => ROWS), tableBytes: 26 * ROWS * ROW },
      scenario: {
        ...base.run.scenario,
        workload: {
          ...workload,
          data: {
            synthetic: "criteo-kaggle",
            scale: 1,
            rows: 1000,
            testRows: 0,
            skew: { s: 0, q: 0, rows: 0 },
            numerics: "log",
          },
        },
      },
    },
  };
  const of = (name: string) => summarise(result).cases.find((one) => one.name === name)?.checkpoints?.simulated;
  // Weights with one sum each, and the wide part's with two.
  const dense = 4 * (2 * 1000 + 3 * 200);
  const dump = 26 * ROWS * (ROW + 8) + dense;
  const [often, rarely] = [of("dram checkpoint.interval=10"), of("dram checkpoint.interval=20")];
  assertEquals([often?.setsRates, rarely?.setsRates], [false, true]);
  assertEquals([often?.bytes, rarely?.bytes], [3 * dump, 3 * dump]);
  // The rate is that of the longest interval, 20 ms a dump; so is the time of the other case, which was 10.
  assertAlmostEquals(often?.durable ?? 0, 0.02, 1e-12);
  assertAlmostEquals(rarely?.restore ?? 0, 0.02, 1e-12);
  assertAlmostEquals(often?.densePause ?? 0, dense / (dump / 0.02), 1e-12);
  const placed = of("fsdax checkpoint.interval=10");
  // 40 lookups of 1000 rows that are all alike, in each of 26 tables: more than DRAM holds.
  assert(26 * (1000 - 1000 * (1 - 1 / 1000) ** 40) > 700);
  assertAlmostEquals(placed?.rowsAgain ?? 0, 700, 1e-9);
  assertAlmostEquals(placed?.bytes ?? 0, 3 * (700 * ROW + dense), 1e-6);
  const summary = summarise(result);
  for (const text of [renderTerminal(summary, 400), toMarkdown(summary), renderReport(result)]) {
    for (const word of ["of another case", "set here", "dense weights as PMEM-OE, ms", "(+100 %)", "700 (−12"]) {
      assert(text.includes(word), `${word} in ${text.slice(0, 300)}`);
    }
  }
  // A law that says nothing of the data, or varies with the case, is left out.
  const varied = samples.map((one) => ({ ...one, point: { ...one.point, "workload.batch": 4 } }));
  assert(!toMarkdown(summarise({ ...result, samples: varied })).includes("PMEM-OE"));
});
