import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { randomNumbers } from "../../../base/random.ts";
import { evaluateMedia } from "../../../ffi/media.ts";
import { loadMedia } from "../../../models/media/media.ts";
import { fitMedium } from "../../../models/host/fit_medium.ts";
import {
  drivePoints,
  memoryPoints,
  orderInterval,
  type SweepPoint,
  type SweptPoint,
} from "../../../models/host/sweep.ts";
import { calibrate, CalibrationError, type CalibrationProgress, runSimulation } from "../../../mod.ts";

const SIZES = { bytes: [64, 256, 1024, 4096], rounds: 9, seconds: 0 };

/** What a model says to the points, with noise of some percent, nine rounds of it. */
function synthetic(points: readonly SweepPoint[], options: Record<string, string>, noise: number): SweptPoint[] {
  const random = randomNumbers(7);
  const asked = points.map(({ query }) => query.ask === "latency-at" ? { ...query, load: 5e9 } : query);
  const answers = evaluateMedia({ medium: "truth", ...options }, asked);
  return points.map((point, i) => ({
    ...point,
    query: asked[i] ?? point.query,
    values: Array.from({ length: 9 }, () => (answers[i] ?? NaN) * (1 + noise * (2 * random() - 1))),
  }));
}

Deno.test("fitMedium() finds the numbers of the model that a sweep was made by, within their intervals and noise", () => {
  const truth = {
    read_latency_ns: "120",
    read_next_latency_ns: "20",
    read_in_flight: "4",
    read_bandwidth: "20e9",
    write_nt_latency_ns: "90",
    write_nt_next_latency_ns: "25",
    write_nt_in_flight: "7",
    write_nt_bandwidth: "12e9",
    write_cached_latency_ns: "120",
    write_cached_next_latency_ns: "60",
    write_cached_in_flight: "5",
    write_cached_bandwidth: "9e9",
    sharpness: "4",
    duplex: "0.9",
  };
  const points = memoryPoints(16, "cached-store", SIZES).filter(({ query }) => query.operation !== "flushed-store");
  const { parameters, figures, answers } = fitMedium(synthetic(points, truth, 0.03), false);
  for (const key of ["read_latency_ns", "read_bandwidth", "write_nt_bandwidth", "write_cached_bandwidth"] as const) {
    const { value = NaN, low = NaN, high = NaN } = parameters[key] ?? {};
    assert(Math.abs(value / Number(truth[key]) - 1) < 0.1, `${key}: ${value}, made with ${truth[key]}`);
    assert(low < value && value < high, `${key}: ${low} ${value} ${high}`);
  }
  // Time of one line, and of a further one, is what lines in flight and latency are seen by.
  const time = (of: (key: string) => number, op: string) => of(`${op}_next_latency_ns`) / of(`${op}_in_flight`);
  for (const op of ["read", "write_nt", "write_cached"]) {
    const found = time((key) => parameters[key]?.value ?? NaN, op);
    const made = time((key) => Number(truth[key as keyof typeof truth]), op);
    assert(Math.abs(found / made - 1) < 0.15, `${op}: ${found} ns a further line, made with ${made}`);
  }
  assertEquals(answers.length, points.length);
  for (const [kind, { factor, points: count }] of Object.entries(figures)) {
    assert(factor > 1 && factor < 1.25 && count > 0, `${kind}: ${factor}`);
  }
});

Deno.test("fitMedium() of a drive: its requests under way are threads of the model", () => {
  const truth = {
    line: "4096",
    granule: "4096",
    in_flight: "1",
    read_latency_ns: "80000",
    read_next_latency_ns: "2000",
    read_bandwidth: "5e9",
    read_overhead_bytes: "3000",
    write_cached_latency_ns: "20000",
    write_cached_next_latency_ns: "1500",
    write_cached_bandwidth: "2e9",
    write_cached_overhead_bytes: "8000",
  };
  const swept = synthetic(drivePoints(SIZES, [1, 4, 16, 64, 256]), truth, 0.03);
  const { parameters, figures } = fitMedium(swept, true);
  assert(Math.abs((parameters["read_bandwidth"]?.value ?? NaN) / 5e9 - 1) < 0.15);
  assert(Math.abs((parameters["write_cached_bandwidth"]?.value ?? NaN) / 2e9 - 1) < 0.15);
  assertEquals(figures.read?.threads, [1, 256]);
  assert((figures.read?.factor ?? NaN) < 1.3);
});

Deno.test("a bandwidth that the cores never reach is not made up: four times the best rate at most", () => {
  const truth = { read_latency_ns: "100", read_in_flight: "4", read_bandwidth: "1e15" };
  const points = memoryPoints(2, "cached-store", SIZES).filter(({ query, kind }) =>
    query.operation === "load" && kind !== "mixed"
  );
  const swept = synthetic(points, truth, 0.01);
  const best = Math.max(...swept.flatMap(({ kind, values }) => kind === "read" ? values : []));
  const { value = NaN, how } = fitMedium(swept, false).parameters["read_bandwidth"] ?? {};
  assert(value <= 4.1 * best, `${value} of ${best}`);
  assert(how === "fitted" || how?.startsWith("at least"));
});

Deno.test("orderInterval() leaves out what lies outside 90 %, and of few values nothing", () => {
  assertEquals(orderInterval([9, 1, 2, 3, 4, 5, 6, 7, 8]), [2, 8]);
  assertEquals(orderInterval([3, 1, 2]), [1, 3]);
});

Deno.test("calibrate(): a quick one writes a file that loads, simulates, and is not written over", async () => {
  const out = await Deno.makeTempDir();
  try {
    const asked: string[] = [];
    const options = {
      out,
      quick: true,
      bytes: 2 ** 24,
      nodes: [0],
      onProgress: ({ part }: CalibrationProgress) => asked.push(part),
    };
    const [one] = await calibrate(options);
    assert(one !== undefined && asked.length > 100 && asked.every((name) => name === "node0"));
    const medium = await loadMedia(one.path);
    assertEquals([medium.name, medium.kind, medium.measured?.virtual], ["node0", "dram", one.virtual]);
    assertEquals(medium.measured?.date.length, 10);
    assert((medium.measured?.machine["cpu"] ?? "") !== "" && (medium.measured?.points ?? []).length === one.points);
    const { capacity, ...measured } = medium.parameters;
    assert((capacity?.value ?? 0) > 2 ** 24, "what the node holds");
    for (const [key, { value, low = NaN, high = NaN }] of Object.entries(measured)) {
      assert(value > 0 && low < high && low <= value && value <= high, `${key}: ${low} ${value} ${high}`);
    }
    for (const figures of Object.values(medium.measured?.figures ?? {})) assert(figures.factor > 1);
    const { cases } = await runSimulation({
      kind: "simulation",
      name: "tiny",
      steps: 4,
      workload: { batch: 256, tables: [{ name: "ids", rows: 1e6, dim: 64, lookups: 1, law: { s: 1.05 } }] },
      compute: { dense: "10 us", source: "an example" },
      cluster: { cores: 1 },
      configurations: { here: { mode: "dram", tiers: [{ media: one.path, size: "1 GiB" }] } },
    });
    assert((cases[0]?.samplesPerSecond ?? 0) > 0);
    assertEquals(cases[0]?.tiers[0]?.media, "node0");
    // What the engine asks was asked by the sweep, in the same way.
    const questions = cases[0]?.questions ?? [];
    assert(
      questions.length > 0 && questions.every(({ ahead, figures }) => ahead && figures > 0),
      JSON.stringify(questions),
    );
    await assertRejects(() => calibrate(options), CalibrationError, "it is there, with an earlier calibration");
    await assertRejects(() => calibrate({ ...options, nodes: [77] }), CalibrationError, "nodes with memory: 0");
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
