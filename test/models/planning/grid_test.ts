/**
 * The same machines and tables, written once as a plan file and once as a simulation file, in the words of each: what the
 * planner says of a step is within 10 % of what virtual time says. The planner has curves and placements of its own, the
 * simulation its own demand; both know accesses, links and waits by the function that knows what a step costs.
 */

import "../../native_library.ts";
import { assert, assertEquals } from "../../assert.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { loadMedia, mediaCapacity } from "../../../models/media/media.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import type { Plan } from "../../../models/planning/plan_types.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import { simulateCase } from "../../../models/simulation/simulate_case.ts";
import type { Mode, Simulation } from "../../../models/simulation/simulation.ts";

const CASES = 240;
/** Pages that weights of an interleaving deal out in turn: shares of the planner are parts of so many. */
const WEIGHTS = 20;
/** Steps that are counted. */
const STEPS = 8;

interface Medium {
  readonly tier: string;
  readonly media: string;
  readonly mode: Mode;
}
const DDR4: Medium = { tier: "DRAM", media: "ddr4-2666-6ch", mode: "dram" };
const DDR5: Medium = { tier: "DRAM", media: "ddr5-4800-8ch", mode: "dram" };
const CXL4: Medium = { tier: "CXL", media: "cxl-type3-ddr4", mode: "cxl" };
const CXL5: Medium = { tier: "CXL", media: "cxl-type3-ddr5", mode: "cxl" };
const PMEM: Medium = { tier: "PMEM", media: "optane-100-6x256", mode: "fsdax" };
const NVME: Medium = { tier: "SSD", media: "nvme-tlc", mode: "ssd" };
const HBM: Medium = { tier: "HBM", media: "hbm3-h100", mode: "hbm" };
/** DRAM of the host, behind the GPU's link. */
const HOST: Medium = { tier: "DRAM", media: "ddr5-over-pcie5", mode: "dram" };
const XEON_MAX: Medium = { tier: "HBM", media: "hbm2e-xeon-max", mode: "hbm" };

/** What holds the rows, fastest first: DeepRec's DRAM, PMEM_LIBPMEM, DRAM_PMEM, DRAM_SSDHASH, HBM and HBM_DRAM, and over CXL memory. */
const HOLDS: readonly (readonly Medium[])[] = [
  [DDR4],
  [DDR5],
  [PMEM],
  [CXL5],
  [DDR4, PMEM],
  [DDR4, CXL4],
  [DDR5, CXL5],
  [DDR5, NVME],
  [DDR5, CXL4, NVME],
  [HBM],
  [HBM, HOST],
  [XEON_MAX, DDR5],
  [XEON_MAX, DDR5, NVME],
];

/** Draws from lists by a linear congruential generator; the same on every machine. */
function picker(seed: number): <T>(...values: readonly T[]) => T {
  let state = Math.imul(seed, 7919) + 17 >>> 0;
  return <T>(...values: readonly T[]): T => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return values[Math.floor(state / 2 ** 32 * values.length)] as T;
  };
}

/** A question in nobody's words. */
function drawn(seed: number) {
  const pick = picker(seed);
  const workers = pick(1, 2, 4, 8, 16, 32);
  return {
    holds: pick(...HOLDS),
    workers,
    hosts: workers === 1 ? 1 : pick(1, 1, 2, 3, 4),
    tables: pick(1, 1, 2, 4),
    rows: pick(1e6, 1e7, 1e8, 1e9),
    dim: pick(8, 16, 64, 128),
    slots: pick(0, 1, 2),
    lookups: pick(1, 4, 26),
    s: pick(0, 0.6, 0.9, 1.05, 1.2),
    batch: pick(256, 1024, 4096),
    dense: pick(0, 1, 10),
    cores: pick(4, 16, 48),
    network: pick(3.125e9, 12.5e9),
    /** Shares of the rows that the tiers but the last have room for. */
    shares: [pick(0.01, 0.05, 0.2, 0.5), 0.3],
    allReduce: pick(0, 0, 20_000_000),
  };
}
type Question = ReturnType<typeof drawn>;

/** As many of a medium as hold so many bytes. */
async function devicesOf(media: string, bytes: number): Promise<number> {
  const one = mediaCapacity(await loadMedia(media));
  assert(one !== undefined, media);
  return Math.ceil(bytes / one);
}

async function planned(question: Question): Promise<Plan> {
  const { holds, hosts, tables, rows, dim, slots, workers, shares } = question;
  // Rows in PMEM take whole 256 bytes.
  const row = dim * 4 * (1 + slots);
  const held = tables * rows * (holds.at(-1) === PMEM ? Math.ceil(row / 256) * 256 : row) / hosts;
  const beside = tables * rows / hosts * (holds.at(-1) === NVME ? 16 : 36);
  // The last tier holds a host's part and no more, so that fewer hosts would not do.
  const tiers = await Promise.all(holds.map(async (one, k) => {
    const last = k === holds.length - 1;
    const size = Math.ceil((last ? 1.02 * held : held * (shares[k] ?? 0)) + (k === 0 ? beside : 0));
    return {
      name: one.tier,
      medium: one.media,
      size,
      devices: await devicesOf(one.media, 1.1 * size + beside),
      ...(one === NVME ? { records: true } : {}),
    };
  }));
  const file = {
    kind: "plan",
    name: "grid",
    target: { samplesPerSecond: 1 },
    tables: {
      t: {
        rows,
        dim,
        optimizer: ["sgd", "adagrad", "adam"][slots],
        profile: { s: question.s },
        lookups: question.lookups,
        count: tables,
      },
    },
    batch: question.batch,
    workers,
    computeMs: question.dense,
    allReduce: question.allReduce,
    providers: [],
    usableShare: 1,
    maxHosts: hosts,
    machines: {
      m: {
        pricePerHour: 1,
        date: "2026",
        threads: question.cores,
        network: question.network,
        tiers,
      },
    },
  };
  const inputs = await planInputs(parsePlan(JSON.stringify(file), { file: "grid.jsonc", directory: Deno.cwd() }));
  const { best, losers } = plan(planRequest(inputs, defaultPriceBook()));
  assert(best !== undefined, losers[0]?.why);
  return best;
}

/** The question as a simulation, with the tables where the planner put them. */
function simulated(question: Question, { placed, placements, hosts, machine }: Plan): Simulation {
  const { holds, rows, dim, slots, tables, workers } = question;
  const rowBytes = dim * 4 * (1 + slots);
  const [first] = placed;
  assert(first !== undefined && placed.length === 1, "tables that are alike are placed alike");
  // In place all rows are in one tier; that is a machine of this tier alone.
  const home = first.kind === "in place" ? first.answered.findIndex((share) => share > 0.5) : undefined;
  const used = home === undefined ? holds : [holds[home] as Medium];
  const from = home ?? 0;
  const inTier = (k: number) =>
    Math.ceil(
      placements.reduce((sum, { shares }) => sum + (shares[k] ?? 0), 0) / placements.length *
        rows * rowBytes * tables / hosts,
    );
  const mode = used.at(-1)?.mode ?? "dram";
  return {
    kind: "simulation",
    name: "grid",
    steps: STEPS,
    warmup: 4,
    workload: {
      batch: question.batch,
      tables: [{
        name: "t",
        count: tables,
        rows,
        dim,
        slots,
        overhead: 0,
        lookups: question.lookups,
        law: { s: question.s },
      }],
    },
    compute: {
      dense: `${question.dense} ms`,
      on: "accelerator",
      perRow: "60 ns",
      perUpdate: "60 ns",
      source: "drawn",
    },
    cluster: {
      workers,
      servers: workers === 1 && hosts === 1 ? 0 : hosts,
      cores: question.cores,
      backgroundThreads: Math.max(1, Math.floor(question.cores / 4)),
      network: { bandwidth: question.network },
      allReduce: question.allReduce,
    },
    configurations: {
      [machine.name]: {
        mode,
        ...(first.kind === "interleaved"
          ? { placement: "interleave", weights: first.answered.map((share) => Math.round(share * WEIGHTS)) }
          : {}),
        tiers: used.map((one, k) => {
          const last = k === used.length - 1;
          const size = inTier(from + k);
          return {
            media: one.media,
            // The last tier's size is a limit here, no more.
            size: last || first.kind === "interleaved" ? machine.tiers[from + k]?.bytes ?? 0 : size,
            devices: machine.tiers[from + k]?.devices ?? 1,
          };
        }),
      },
    },
  };
}

Deno.test("planner and simulator are within 10 % on 240 questions, each written as a plan and as a simulation", async () => {
  const errors: { seed: number; holds: string; kind: string | undefined; error: number }[] = [];
  for (let seed = 0; seed < CASES; seed++) {
    const question = drawn(seed);
    const found = await planned(question);
    const simulation = await resolveSimulation(simulated(question, found));
    const [set] = Object.values(simulation.configurations);
    assert(set !== undefined);
    const { samplesPerSecond } = await simulateCase(simulation, set, question.dense / 1e3);
    errors.push({
      seed,
      holds: question.holds.map(({ media }) => media).join(", "),
      kind: found.placed[0]?.kind,
      error: found.samplesPerSecond.value / samplesPerSecond - 1,
    });
  }
  errors.sort((a, b) => Math.abs(b.error) - Math.abs(a.error));
  const mean = errors.reduce((sum, { error }) => sum + Math.abs(error), 0) / errors.length;
  console.log(`${CASES} questions: mean ${(mean * 100).toFixed(2)} %, worst`, errors.slice(0, 3));
  assertEquals(new Set(errors.map(({ holds }) => holds)).size, HOLDS.length);
  assertEquals(new Set(errors.map(({ kind }) => kind)), new Set(["cached", "in place", "interleaved"]));
  assertEquals(errors.filter(({ error }) => !(Math.abs(error) <= 0.1)), []);
});
