/**
 * Fills the defaults of a simulation in. What a mode means for stores and rows is said here, once.
 *
 * @module
 */

import { resolve as resolvePath } from "node:path";
import { parseBytes } from "../../base/bytes.ts";
import {
  type Compute,
  FORMULA_POLICIES,
  type Mode,
  type ResolvedSimulatedConfiguration,
  type ResolvedSimulation,
  type ResolvedTable,
  type ResolvedTier,
  type SimulatedConfiguration,
  type SimulatedTable,
  type SimulatedTier,
  type Simulation,
} from "./simulation.ts";
import { RULES } from "../workloads/row_bytes.ts";
import { bytesPerSecond, seconds } from "./units.ts";

/** How rows of tiers below the first are written, and what they are rounded to: 256 B is Optane's media granule. */
const BELOW: Readonly<Record<Mode, { readonly store: "cached" | "nt"; readonly round: number }>> = {
  dram: { store: "cached", round: 1 },
  fsdax: { store: "nt", round: 256 },
  "kmem-dax": { store: "cached", round: 1 },
  "memory-mode": { store: "cached", round: 1 },
  cxl: { store: "cached", round: 1 },
  ssd: { store: "cached", round: 1 },
  hbm: { store: "cached", round: 1 },
};

/** Reads of one call that SSDHASH keeps on their way. */
const SSD_DEPTH = 128;

/** Optimizer states of a row: those as wide as the weights, and single numbers. */
function statesOf({ optimizer, slots = 1, scalars = 0 }: SimulatedTable): Pick<ResolvedTable, "slots" | "scalars"> {
  if (optimizer === undefined) return { slots, scalars };
  if (optimizer === "none") return { slots: 0, scalars: 0 };
  return { slots: RULES[optimizer].vectors, scalars: RULES[optimizer].scalars };
}

function resolveTable(table: SimulatedTable): ResolvedTable {
  const { law } = table;
  if (law === undefined) throw new TypeError(`Cannot use the table "${table.name}": expected a law, found none`);
  return {
    name: table.name,
    count: table.count ?? 1,
    rows: table.rows,
    dim: table.dim,
    dtype: table.dtype === "bf16" ? "bf16" : "f32",
    ...statesOf(table),
    overhead: table.overhead ?? 16,
    lookups: table.lookups ?? 1,
    law,
  };
}

/** A tier with every default of its mode; `index` of `tiers`, fastest first. */
export function resolveTier(tier: SimulatedTier, mode: Mode, index: number, tiers: number): ResolvedTier {
  // A single tier is what the mode speaks of; of several, those below the first.
  const below = index > 0 || tiers === 1 ? BELOW[mode] : BELOW.dram;
  const hops = tier.hops ?? 0;
  return {
    media: tier.media,
    size: tier.size === undefined ? 0 : parseBytes(tier.size),
    store: tier.store ?? below.store,
    round: tier.round ?? below.round,
    devices: tier.devices ?? 1,
    hops,
    remote: tier.remote ?? (hops > 0 ? 1 : 0),
    depth: tier.depth ?? (mode === "ssd" && index === tiers - 1 ? SSD_DEPTH : 1),
    perRead: seconds(tier.perRead ?? 0),
    perWrite: seconds(tier.perWrite ?? 0),
  };
}

function resolveConfiguration(written: SimulatedConfiguration): ResolvedSimulatedConfiguration {
  const { mode, tiers, pages = {}, migration, software = {}, checkpoint } = written;
  return {
    about: written.about ?? "",
    mode,
    tiers: tiers.map((tier, i) => resolveTier(tier, mode, i, tiers.length)),
    policy: written.policy ?? "lru",
    ...(written.ways === undefined ? {} : { ways: written.ways }),
    hits: written.hits ?? (FORMULA_POLICIES.has(written.policy ?? "lru") ? "analytic" : "sampled"),
    placement: written.placement ?? (mode === "memory-mode" ? "lines" : "rows"),
    ...(written.placement === "interleave" ? { weights: written.weights ?? tiers.map(() => 1) } : {}),
    pages: {
      bytes: parseBytes(pages.bytes ?? 4096),
      contiguous: pages.contiguous ?? false,
      fault: seconds(pages.fault ?? 0),
      trained: pages.trained ?? 100_000,
    },
    ...(migration === undefined ? {} : {
      migration: {
        scan: bytesPerSecond(migration.scan),
        perPage: seconds(migration.perPage),
        within: seconds(migration.within ?? 1),
      },
    }),
    software: {
      maintenance: software.maintenance ?? "critical",
      upkeep: seconds(software.upkeep ?? 0),
      track: seconds(software.track ?? 0),
      miss: seconds(software.miss ?? 0),
      rowsInFlight: software.rowsInFlight ?? 0,
      lock: seconds(software.lock ?? 0),
      lockMisses: software.lockMisses ?? false,
      lockContention: software.lockContention ?? 0,
    },
    checkpoint: {
      kind: checkpoint?.kind ?? "none",
      every: seconds(checkpoint?.every ?? "20 min"),
      bandwidth: bytesPerSecond(checkpoint?.bandwidth ?? "1 GB/s"),
      dense: parseBytes(checkpoint?.dense ?? 0),
    },
    ...(written.machine === undefined ? {} : { machine: written.machine }),
  };
}

function resolveDense(dense: Compute["dense"], directory: string): ResolvedSimulation["compute"]["dense"] {
  if (typeof dense !== "object") return seconds(dense);
  return "result" in dense ? { ...dense, result: resolvePath(directory, dense.result) } : dense;
}

/**
 * The simulation with every default filled in.
 *
 * @param written A valid simulation; its profiles are laws already.
 * @param directory What relative paths in it start from.
 */
export function fillSimulation(written: Simulation | ResolvedSimulation, directory: string): ResolvedSimulation {
  const { workload, compute, overlap = {}, cluster = {}, configurations } = written as Simulation;
  const { network } = cluster;
  const names = Object.keys(configurations);
  return {
    kind: "simulation",
    version: 1,
    name: written.name,
    about: written.about ?? "",
    seed: written.seed ?? 0,
    steps: written.steps ?? 64,
    warmup: written.warmup ?? 8,
    workload: {
      batch: workload.batch,
      trains: workload.trains ?? true,
      tables: workload.tables.map(resolveTable),
      ...(workload.cycle === undefined ? {} : { cycle: workload.cycle }),
      ...(workload.trace === undefined ? {} : { trace: resolvePath(directory, workload.trace) }),
    },
    compute: {
      dense: resolveDense(compute.dense, directory),
      on: compute.on ?? "cores",
      spread: compute.spread ?? 0,
      rest: seconds(compute.rest ?? 0),
      parse: seconds(compute.parse ?? 0),
      perKey: seconds(compute.perKey ?? 0),
      perRow: seconds(compute.perRow ?? 0),
      perUpdate: seconds(compute.perUpdate ?? 0),
      perLock: seconds(compute.perLock ?? 0),
      perMessage: seconds(compute.perMessage ?? 0),
      ...(compute.activations === undefined ? {} : { activations: compute.activations }),
      source: compute.source,
    },
    ranges: { ...written.ranges },
    overlap: {
      ahead: overlap.ahead ?? 1,
      prefetch: overlap.prefetch ?? false,
      async: overlap.async ?? false,
      microBatches: overlap.microBatches ?? 1,
    },
    cluster: {
      workers: cluster.workers ?? 1,
      workersPerHost: cluster.workersPerHost ?? 1,
      servers: cluster.servers ?? 0,
      cores: cluster.cores ?? 16,
      backgroundThreads: cluster.backgroundThreads ?? 1,
      stageThreads: cluster.stageThreads ?? 1,
      ...(network === undefined ? {} : {
        network: { bandwidth: bytesPerSecond(network.bandwidth), latency: seconds(network.latency ?? "10 us") },
      }),
      allReduce: parseBytes(cluster.allReduce ?? 0),
    },
    configurations: Object.fromEntries(
      Object.entries(configurations).map(([name, one]) => [name, resolveConfiguration(one as SimulatedConfiguration)]),
    ),
    ...(written.cost === undefined ? {} : { cost: written.cost }),
    ...(written.target === undefined ? {} : { target: written.target }),
    studies: (written.studies ?? [{ name: "all" }]).map((study) => ({
      name: study.name,
      configurations: [...study.configurations ?? names],
      vary: { ...study.vary },
      ...(study.baseline === undefined ? {} : { baseline: study.baseline }),
    })),
    explain: (written.explain ?? []).map(({ from, to, at = {} }) => ({ from, to, at })),
    published: written.published ?? [],
  };
}
