// What a step costs by formula, against the engine's own steps in virtual time, on a grid of machines and workloads.

import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { simulate, simulateDemand } from "../../../ffi/simulate.ts";
import { stepCost } from "../../../ffi/step_cost.ts";
import { TierstoreError } from "../../../ffi/errors.ts";
import { demandOptions, engineOptions } from "../../../models/simulation/native_options.ts";
import { fillSimulation } from "../../../models/simulation/resolve.ts";
import type {
  ResolvedSimulatedConfiguration,
  SimulatedConfiguration,
  Simulation,
  Software,
} from "../../../models/simulation/simulation.ts";

const CASES = 240;

const DDR5 = { media: "ddr5-4800-8ch", size: "64 MiB" };
const CONFIGURATIONS: Readonly<Record<string, SimulatedConfiguration>> = {
  dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] },
  pmem: { mode: "fsdax", tiers: [{ media: "optane-100-6x256" }] },
  cxl: { mode: "cxl", tiers: [{ media: "cxl-type3-ddr5" }] },
  "dram and pmem": {
    mode: "fsdax",
    tiers: [{ media: "ddr4-2666-6ch", size: "64 MiB" }, { media: "optane-100-6x256" }],
  },
  "dram and kmem": {
    mode: "kmem-dax",
    tiers: [{ media: "ddr4-2666-6ch", size: "256 MiB" }, { media: "optane-100-6x256" }],
  },
  "dram and cxl": { mode: "cxl", tiers: [DDR5, { media: "cxl-type3-ddr4" }] },
  "dram and ssd": { mode: "ssd", tiers: [{ ...DDR5, size: "512 MiB" }, { media: "nvme-tlc" }] },
  pages: { mode: "cxl", placement: "pages", tiers: [DDR5, { media: "cxl-type3-ddr4" }] },
  "three tiers": {
    mode: "ssd",
    tiers: [DDR5, { media: "cxl-type3-ddr4", size: "512 MiB" }, { media: "nvme-tlc" }],
  },
};
const SOFTWARE: readonly Software[] = [
  {},
  {},
  { maintenance: "gap" },
  { lock: "20 ns", lockContention: 0.02 },
  { lock: "10 ns", lockMisses: true },
];

/** Draws from lists by a linear congruential generator (Knuth, MMIX's low half); the same on every machine. */
function picker(seed: number): <T>(...values: readonly T[]) => T {
  let state = seed;
  return <T>(...values: readonly T[]): T => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return values[Math.floor(state / 2 ** 32 * values.length)] as T;
  };
}

function drawn(seed: number): { simulation: Simulation; name: string; extras: [number, number, number] } {
  const pick = picker(seed * 7919 + 11);
  const name = pick(...Object.keys(CONFIGURATIONS));
  const servers = pick(0, 0, 0, 1, 2, 4);
  const overlap = {
    ahead: pick(0, 1, 1, 2),
    prefetch: pick(true, false, false, false),
    async: pick(true, false, false, false),
    microBatches: pick(1, 1, 4),
  };
  const simulation: Simulation = {
    kind: "simulation",
    name: "grid",
    // Nothing is prefetched for steps that do not come: that is felt in few steps.
    steps: overlap.prefetch ? 32 : 8,
    warmup: 6,
    seed,
    workload: {
      batch: pick(256, 1024, 4096),
      trains: pick(true, true, true, true, false),
      tables: [{
        name: "t",
        count: pick(1, 2, 8, 26),
        rows: pick(1e6, 1e7, 1e8),
        dim: pick(8, 16, 64, 128),
        lookups: pick(1, 1, 4),
        law: { s: pick(0, 0.8, 1.05, 1.2) },
        slots: pick(0, 1),
      }],
    },
    compute: {
      dense: pick("0 ms", "1 ms", "5 ms", "40 ms"),
      on: servers > 0 ? "accelerator" : pick("cores", "accelerator"),
      parse: pick("0 ms", "0.2 ms", "2 ms"),
      perKey: pick("0 ns", "20 ns"),
      perRow: pick("0 ns", "50 ns"),
      ...(pick(0, 0, 0, 1) === 1 ? { spread: 0.1, rest: "0.5 ms" } : {}),
      source: "drawn",
    },
    overlap,
    cluster: {
      workers: servers === 0 ? 1 : pick(1, 2, 4, 8, 16, 16, 64),
      workersPerHost: pick(1, 4, 8),
      servers,
      cores: pick(1, 4, 16, 48, 128),
      backgroundThreads: pick(1, 1, 4),
      stageThreads: pick(1, 2),
      network: { bandwidth: pick("25 Gbit/s", "100 Gbit/s") },
      allReduce: pick(0, 0, 10_000_000),
    },
    configurations: { [name]: { ...CONFIGURATIONS[name] as SimulatedConfiguration, software: pick(...SOFTWARE) } },
  };
  return { simulation, name, extras: [pick(0, 0, 0, 20), name === "pages" ? pick(0, 50) : 0, pick(0, 0, 0, 500)] };
}

async function optionsOf(seed: number): Promise<{ options: Record<string, string>; name: string }> {
  const { simulation, name, extras: [faults, migrations, flushedRows] } = drawn(seed);
  const filled = fillSimulation(simulation, ".");
  const set = filled.configurations[name] as ResolvedSimulatedConfiguration;
  const demand = simulateDemand(demandOptions(filled, set, [1], 1));
  const dense = filled.compute.dense as number;
  const options = await engineOptions(filled, set, demand, dense, { faults, migrations, flushedRows });
  return { options: { ...options, fault_ps: "1000000", migrate_ps: "2000000" }, name };
}

Deno.test("stepCost() is within 10 % of the engine's steps on a grid of machines and workloads", async () => {
  const errors: { seed: number; name: string; error: number }[] = [];
  for (let seed = 0; seed < CASES; seed++) {
    const { options, name } = await optionsOf(seed);
    const { elapsedPs, stepPs } = simulate(options);
    errors.push({ seed, name, error: stepCost(options).stepPs / (elapsedPs / stepPs.length) - 1 });
  }
  errors.sort((a, b) => Math.abs(b.error) - Math.abs(a.error));
  const mean = errors.reduce((sum, { error }) => sum + Math.abs(error), 0) / errors.length;
  console.log(`${CASES} cases: mean ${(mean * 100).toFixed(2)} %, worst`, errors.slice(0, 3));
  assertEquals(errors.filter(({ error }) => !(Math.abs(error) <= 0.1)), []);
});

Deno.test("stepCost() moves the bytes that the engine moves, by tier, direction and network", async () => {
  for (const seed of [3, 9, 17, 24, 33, 41, 55, 68]) {
    const { options, name } = await optionsOf(seed);
    const { traffic, netBytes, stepPs } = simulate(options);
    const cost = stepCost(options);
    for (const { tier, op, bytes } of cost.traffic) {
      const counted = (traffic.find((one) => one.tier === tier && one.op === op)?.bytes ?? 0) / stepPs.length;
      // Counts of rows are whole numbers in the engine, a few of them in the smallest of these cases.
      assert(
        Math.abs(bytes - counted) <= 0.03 * counted + 20_000,
        `${seed} ${name} ${tier} ${op}: ${bytes} ${counted}`,
      );
    }
    const sent = netBytes / stepPs.length;
    assert(Math.abs(cost.netBytes - sent) <= 0.03 * sent, `${seed} ${name}: ${cost.netBytes} ${sent}`);
  }
});

Deno.test("stepCost() says what holds a step, and refuses what ts_simulate refuses", async () => {
  const { options } = await optionsOf(1);
  const { stepPs, spans, busy } = stepCost(options);
  assert(Object.values(spans).every((ps) => ps >= 0) && busy.length > 0);
  for (const on of new Set(busy.map((one) => one.on))) {
    const [held, places] = [busy.filter((one) => one.on === on), busy.find((one) => one.on === on)?.places ?? 1];
    assert(held.reduce((sum, { ps }) => sum + ps, 0) <= stepPs * places * 1.000_001, on);
  }
  assertThrows(() => stepCost({ ...options, tiers: "9" }), TierstoreError);
});
