/** Effects that no medium, cache or price may turn around, over every shipped simulation. */

import "../../native_library.ts";
import { type SimulatedCase, simulatedCases } from "../../../models/simulation/cases.ts";
import { bandOf } from "../../../models/simulation/band.ts";
import { denseSeconds } from "../../../models/simulation/dense_time.ts";
import { loadCalibration } from "../../../models/media/calibration/calibration.ts";
import { loadSimulation } from "../../../models/simulation/load.ts";
import { evaluateMedia, type MediaQuery } from "../../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../../../models/media/media.ts";
import { allDram, freeSoftware, smallCache } from "../../../models/simulation/null_models.ts";
import type { Stretch } from "../../../models/simulation/native_options.ts";
import { demandCache, simulateCase } from "../../../models/simulation/simulate_case.ts";
import type { ResolvedSimulation } from "../../../models/simulation/simulation.ts";
import { assert, assertEquals } from "../../assert.ts";

const SCENARIOS = new URL("../../../scenarios/", import.meta.url);

/** Every case of every shipped simulation, with few steps; 10^12 rows take no longer and show nothing else. */
async function shippedCases(): Promise<{ readonly file: string; readonly one: SimulatedCase }[]> {
  const found: { file: string; one: SimulatedCase }[] = [];
  for await (const { name: file } of Deno.readDir(SCENARIOS)) {
    if (!file.endsWith(".jsonc")) continue;
    const text = await Deno.readTextFile(new URL(file, SCENARIOS));
    if (!/"kind": "simulation"/.test(text)) continue;
    const simulation = await loadSimulation(new URL(file, SCENARIOS));
    const cases = await simulatedCases({ ...simulation, steps: 2, warmup: 2 });
    for (const one of cases) {
      const rows = Math.max(...one.simulation.workload.tables.map(({ rows }) => rows));
      if (rows < 1e11) found.push({ file, one });
    }
  }
  return found;
}

const known = demandCache();

async function speedOf({ simulation, set }: SimulatedCase, stretch: readonly Stretch[] = []): Promise<number> {
  return (await simulateCase(simulation, set, await denseSeconds(simulation), 2, known, stretch)).samplesPerSecond;
}

/** The case with its whole simulation changed. */
function changed(one: SimulatedCase, change: (simulation: ResolvedSimulation) => ResolvedSimulation): SimulatedCase {
  const simulation = change(one.simulation);
  return { ...one, simulation, set: simulation.configurations[one.configuration] ?? one.set };
}

Deno.test("in every shipped simulation a slower medium speeds nothing up, nor does a smaller cache or dearer software", async () => {
  const cases = await shippedCases();
  assert(cases.length > 30 && new Set(cases.map(({ file }) => file)).size >= 3, `${cases.length} cases`);
  for (const { file, one } of cases) {
    const speed = await speedOf(one);
    const where = `${file}, ${one.name}: ${speed} samples/s`;
    for (const [t, tier] of one.set.tiers.entries()) {
      for (const [read, write] of [[2, 1], [1, 2]] as const) {
        const stretch = one.set.tiers.map((_, i) => i === t ? { read, write } : { read: 1, write: 1 });
        const slower = await speedOf(one, stretch);
        assert(
          slower <= speed * (1 + 1e-9),
          `${where}, ${slower} with ${tier.media} reads ${read}, writes ${write} times`,
        );
      }
    }
    const small = await speedOf(changed(one, smallCache));
    // Rows that miss are drawn anew: a small cache's counts have another seed, which is worth a thousandth.
    assert(small <= speed * 1.001, `${where}, ${small} with a hundredth of the cache`);
    const free = await speedOf(changed(one, freeSoftware));
    assert(free >= speed * (1 - 1e-9), `${where}, ${free} with software that costs nothing`);
  }
});

Deno.test("no band of a shipped simulation is without width, and one that is not there has its reason", async () => {
  let banded = 0;
  for (const { file, one } of await shippedCases()) {
    const dense = await denseSeconds(one.simulation);
    const band = await bandOf(one, await simulateCase(one.simulation, one.set, dense, 2, known), dense);
    const where = `${file}, ${one.name}: ${JSON.stringify(band).slice(0, 200)}`;
    if ("why" in band) {
      assert(band.why.startsWith("not calibrated"), where);
      continue;
    }
    assert(band.low < 0.99 && band.high > 1.01 && band.low > 0.1 && band.high < 10, where);
    assert(band.doubts?.some(({ of }) => of === "the engine"), where);
    banded++;
  }
  assert(banded > 20, `${banded} bands`);
});

Deno.test("in every shipped simulation DRAM in place of PMEM changes every answer that names PMEM", async () => {
  let compared = 0;
  for (const { file, one } of await shippedCases()) {
    const kinds = await Promise.all(one.set.tiers.map(async ({ media }) => (await loadMedia(media)).kind));
    if (!kinds.includes("pmem")) continue;
    const dense = await denseSeconds(one.simulation);
    const real = await simulateCase(one.simulation, one.set, dense, 2, known);
    const [speed, dram] = [real.samplesPerSecond, await speedOf(changed(one, allDram))];
    const where = `${file}, ${one.name}: ${speed} samples/s, ${dram} with DRAM`;
    assert(dram > speed, where);
    // Where requests wait for each other at a lock, the medium is all but hidden behind it, and the parts say so.
    const waited = real.simulated.parts.filter(({ on }) => on.startsWith("lock")).reduce((sum, { ps }) => sum + ps, 0);
    assert(dram > speed * 1.0005 || waited > 0.05 * real.simulated.elapsedPs, where);
    compared++;
  }
  assert(compared > 20, `${compared} cases with PMEM`);
});

/**
 * The only access of which a crowd gets less than one thread in what was published: non-temporal stores to Optane, whose
 * modules then move each line as a granule of its own. One module gives 24 threads that store 256 B 614 MiB/s, one thread
 * 2256 MiB/s (these two rows; FAST 2020), 27 % of what it can. Of six modules nothing is published beyond 32 threads, and
 * up to there no crowd gets less than one thread; four threads a module and more may come as low as that 27 %, and no lower.
 */
const CROWDS = { operation: "nt-store", kind: "pmem", one: "OS-RAND-pmem1-NTStore-15W-256B-1T" } as const;
const CROWD_OF = { threads: 24, row: "OS-RAND-pmem1-NTStore-15W-256B-24T" } as const;
/** The most threads that were published of six modules. */
const PUBLISHED_THREADS = 32;

Deno.test("what shipped simulations ask their media, 1 to 128 threads get no less of than one does; a crowd that stores to Optane, than was published", async () => {
  const asked = new Map<string, { readonly media: string; readonly query: MediaQuery }>();
  for (const { one } of await shippedCases()) {
    const { simulated } = await simulateCase(one.simulation, one.set, await denseSeconds(one.simulation), 2, known);
    for (const { tier, threads: _, depth, ahead: _ahead, region: _region, ...question } of simulated.questions) {
      const media = one.set.tiers[tier]?.media ?? "";
      const query = { ask: "bandwidth" as const, ...question, threads: depth };
      asked.set(JSON.stringify([media, query]), { media, query });
    }
  }
  assert(asked.size > 30, `${asked.size} questions`);
  const rows = new Map((await loadCalibration()).map((row) => [row.id, Number(row.value)]));
  const crowd = (rows.get(CROWD_OF.row) ?? NaN) / (rows.get(CROWDS.one) ?? NaN);
  assert(crowd > 0.25 && crowd < 0.3, `${crowd}`);
  const operations = new Set<string>();
  let below = 0;
  for (const { media, query } of asked.values()) {
    const medium = await loadMedia(media), options = mediaOptions(medium);
    const counts = Array.from({ length: 128 }, (_, i) => i + 1);
    const rates = evaluateMedia(options, counts.map((n) => ({ ...query, threads: n * query.threads })));
    const [one = NaN] = rates, [peak = NaN] = evaluateMedia(options, [{ ...query, ask: "peak" }]);
    const crowds = medium.kind === CROWDS.kind && query.operation === CROWDS.operation;
    const modules = Number(options["modules"] ?? 1);
    assert(!crowds || CROWD_OF.threads * modules >= 128, `${media}: more threads a module than was published`);
    operations.add(`${query.operation} of ${medium.kind}`);
    rates.forEach((rate, i) => {
      const exact = !crowds || i + 1 <= PUBLISHED_THREADS;
      const least = exact ? one : Math.min(one, peak * crowd);
      const where = `${media}, ${JSON.stringify(query)}: ${one} B/s, ${rate} with ${i + 1} times the threads`;
      assert(rate >= least * (1 - 1e-9), where);
      if (rate < one) below++;
    });
  }
  for (const asks of ["load of pmem", "nt-store of pmem", "cached-store of pmem", "load of dram"]) {
    assert(operations.has(asks), `${asks} is not among ${[...operations].join(", ")}`);
  }
  // An exception that nothing needs any more is to go.
  assert(below > 0, "no crowd gets less than one thread: the exception is not needed");
});

Deno.test("published figures of six Optane modules: no number of threads gets less than one, as the models are held to", async () => {
  const rows = await loadCalibration(), curves = new Map<string, Map<number, number>>();
  for (const { id, value } of rows) {
    const [, curve, threads] = /^((?:OS-RAND-pmem6|PB-A-256)-.*-(?:256|512|1024|4096)B)-(\d+)T$/.exec(id) ?? [];
    if (curve === undefined) continue;
    const own = curves.get(curve) ?? new Map();
    curves.set(curve, own.set(Number(threads), Number(value)));
  }
  const told = [...curves].filter(([, own]) => own.has(1) && own.size > 2);
  assert(told.length > 10, `${told.length} curves`);
  assertEquals(Math.max(...told.flatMap(([, own]) => [...own.keys()])), PUBLISHED_THREADS);
  for (const [curve, own] of told) {
    for (const [threads, rate] of own) assert(rate >= (own.get(1) ?? NaN), `${curve}: ${rate} with ${threads} threads`);
  }
});

Deno.test("what the paper's software costs moves PMem-OE: without it, and with that of its baseline cache", async () => {
  const simulation = await loadSimulation(new URL("paper-openembedding.jsonc", SCENARIOS));
  const all = await simulatedCases({ ...simulation, steps: 2, warmup: 2 });
  // The first three: then the law's skew is varied.
  const cases = all.filter(({ configuration }) => configuration === "pmem-oe").slice(0, 3);
  const workers = cases.map((one) => one.simulation.cluster.workers);
  assertEquals(workers, [4, 8, 16]);
  for (const one of cases) {
    const speed = await speedOf(one), at = one.simulation.cluster.workers;
    const free = await speedOf(changed(one, freeSoftware)) / speed;
    const { "ori-cache": ori } = one.simulation.configurations;
    assert(ori !== undefined);
    const dearer = await speedOf({ ...one, set: { ...one.set, software: ori.software } }) / speed;
    // With four GPUs all of it is hidden behind the dense layers.
    assert(at === 4 ? free >= 1 : free > 1.01, `${at} GPUs: ${free} without software`);
    assert(dearer < 0.95, `${at} GPUs: ${dearer} with the software of Ori-Cache`);
  }
});
