/**
 * What a step of a plan costs: the placement as a simulation, in its vocabulary and with its options, priced by the function
 * that knows the engine's rules (`ts_step_cost`).
 *
 * @module
 */

import type { StepDemand } from "../../ffi/simulate.ts";
import { stepCost } from "../../ffi/step_cost.ts";
import type { Media } from "../media/media.ts";
import { kernelExtras } from "../simulation/kernel_extras.ts";
import { engineOptionsOn, type StepExtras, type Stretch } from "../simulation/native_options.ts";
import { fillSimulation, resolveTier } from "../simulation/resolve.ts";
import type {
  Mode,
  RangedField,
  ResolvedSimulatedConfiguration,
  ResolvedSimulation,
} from "../simulation/simulation.ts";
import type { PlacedTable, PlanMachine, PlanStep, PlanStepModel, PlanTable } from "./plan_types.ts";

/** What a plan's step is made of, beside machines and placements. */
export interface StepSetting {
  /** Training samples a step, of one worker. */
  readonly batch: number;
  /** Workers that train together. */
  readonly workers: number;
  /** Seconds of a step that the dense layers take. */
  readonly computeSeconds: number;
  /** Whether embeddings move while the dense layers compute. */
  readonly overlapped: boolean;
  /** Whether rows are updated; else they are served. */
  readonly trains: boolean;
  /**
   * Core seconds without accesses to memory: of a key, of a row looked up, of one updated (default: as one looked up), of either for each other thread, of a message, of a key
   * told to the policy, of a row kept in order, of one brought up from a lower tier. Default 0.
   */
  readonly software: {
    readonly perKey?: number;
    readonly perRow: number;
    readonly perUpdate?: number;
    readonly perLock?: number;
    readonly perMessage?: number;
    readonly track?: number;
    readonly upkeep?: number;
    readonly miss?: number;
  };
  /** How exactly stated figures are known, as factors; others have the ranges of simulations. */
  readonly ranges?: Partial<Record<RangedField, number>>;
  /** Bytes of dense weights that workers exchange in a step. */
  readonly allReduceBytes: number;
  /** Media by the names that tiers use. */
  readonly media: ReadonlyMap<string, Media>;
}

/** How memory of a kind is set up. */
export const MODE_OF: Readonly<Record<Media["kind"], Mode>> = {
  dram: "dram",
  hbm: "hbm",
  link: "hbm",
  pmem: "fsdax",
  cxl: "cxl",
  ssd: "ssd",
};

/** A plan's placement as a simulation with one configuration, and the rows that it touches. */
export interface PlanSimulation {
  readonly simulation: ResolvedSimulation;
  readonly set: ResolvedSimulatedConfiguration;
  readonly demand: StepDemand;
  /** What the kernel adds to a step: pages that it moves. */
  readonly extras: StepExtras;
}

/**
 * What NUMA balancing looks at and takes: Linux scans 256 MB of a process a second (`scan_size_mb` over `scan_period_min_ms`,
 * their defaults); 2 us a page is an assumption, as in the shipped `cxl-expander`.
 */
const MIGRATION = { scan: "256 MB/s", perPage: "2 us" } as const;

/** Bandwidth of a network that nobody has stated: in no time of the plan. */
const UNKNOWN = { bandwidth: 1e14, latency: 0 };

/** One worker and one machine: the tables are in the memory of the machine that trains. */
function isOneHost(setting: StepSetting, hosts: number): boolean {
  return hosts === 1 && setting.workers === 1;
}

/** Whether the engine has what the plan asks for: with servers, embeddings do not move beside the dense layers. */
export function runsInVirtualTime(setting: StepSetting, hosts: number): boolean {
  return !setting.overlapped || isOneHost(setting, hosts);
}

function mediumOf(setting: StepSetting, name: string): Media {
  const medium = setting.media.get(name);
  if (medium === undefined) throw new RangeError(`Cannot price a step on "${name}": it is no medium of this plan`);
  return medium;
}

/**
 * A placement as a simulation.
 *
 * @param late Standard deviations by which rows of a step, and those of lower tiers, are above their expected numbers.
 */
export function planSimulation(
  setting: StepSetting,
  machine: PlanMachine,
  hosts: number,
  placed: readonly PlacedTable[],
  late: number = 0,
): PlanSimulation {
  const one = isOneHost(setting, hosts);
  const used = machine.tiers.map((_, k) => placed.reduce((sum, { bytes }) => sum + (bytes[k] ?? 0), 0));
  const kinds = machine.tiers.map(({ medium }) => mediumOf(setting, medium).kind);
  const last = MODE_OF[kinds.at(-1) ?? "dram"];
  const [by] = placed.map(({ kind }) => kind);
  // Where the kernel places pages the store sees one memory, and has no policy.
  const byKernel = by === "interleaved" || by === "kernel tiering";
  const filled = fillSimulation({
    kind: "simulation",
    name: `plan-${machine.name}`,
    workload: {
      batch: setting.batch,
      trains: setting.trains,
      tables: placed.map(({ table }) => ({
        name: table.name,
        count: alike(table, placed),
        rows: table.rows / alike(table, placed),
        dim: table.weightBytes / 4,
        slots: 0,
        overhead: table.rowBytes - table.weightBytes,
        lookups: table.lookups / alike(table, placed),
        law: { s: 0 },
      })),
    },
    compute: {
      dense: !runsInVirtualTime(setting, hosts) ? 0 : setting.computeSeconds,
      on: "accelerator",
      perKey: setting.software.perKey ?? 0,
      perRow: setting.software.perRow,
      perUpdate: setting.software.perUpdate ?? setting.software.perRow,
      perLock: setting.software.perLock ?? 0,
      perMessage: setting.software.perMessage ?? 0,
      source: "the plan",
    },
    ranges: {
      ...setting.ranges,
      // What nobody has stated takes no time and has no range.
      ...(machine.networkBytesPerSecond === undefined ? { "cluster.network.bandwidth": 1 } : {}),
    },
    overlap: { async: setting.overlapped && one },
    cluster: {
      workers: setting.workers,
      servers: one ? 0 : hosts,
      cores: machine.cores,
      backgroundThreads: Math.max(1, Math.floor(machine.cores / 4)),
      network: machine.networkBytesPerSecond === undefined ? UNKNOWN : { bandwidth: machine.networkBytesPerSecond },
      allReduce: setting.allReduceBytes,
    },
    configurations: {
      plan: {
        mode: last,
        ...(by === "interleaved" ? { placement: "interleave", weights: placed[0]?.answered ?? [] } : {}),
        ...(by === "kernel tiering" ? { placement: "pages", migration: MIGRATION } : {}),
        software: {
          track: byKernel ? 0 : setting.software.track ?? 0,
          upkeep: byKernel ? 0 : setting.software.upkeep ?? 0,
          miss: byKernel ? 0 : setting.software.miss ?? 0,
        },
        tiers: machine.tiers.map(({ medium }, k) => ({ media: medium, size: Math.ceil(used[k] ?? 0) })),
      },
    },
  }, ".");
  const resolved = filled.configurations["plan"] as ResolvedSimulatedConfiguration;
  const tiers = machine.tiers.map(({ medium, devices }, k) =>
    resolveTier({ media: medium, size: Math.ceil(used[k] ?? 0), devices }, MODE_OF[kinds[k] ?? "dram"], k, kinds.length)
  );
  const set = { ...resolved, tiers };
  const demand = demandOf(setting, placed, late);
  const still = { simulation: filled, set, demand, extras: { faults: 0, migrations: 0, flushedRows: 0 } };
  if (set.migration === undefined) return still;
  // What comes by the clock needs the length of a step, which it changes little.
  const { stepPs } = stepCost(planOptions(setting, still, placed));
  return { ...still, extras: { ...still.extras, ...kernelExtras(filled, set, demand, stepPs * 1e-12) } };
}

/** Tables of a step that the engine takes (native/simulator/engine.h). */
const MOST_TABLES = 1024;

/** Tables that a table of a plan stands for, as many as the engine takes: each is looked up by itself. */
function alike({ count = 1 }: PlanTable, placed: readonly PlacedTable[]): number {
  return Math.min(count, Math.max(1, Math.floor(MOST_TABLES / placed.length)));
}

/** Rows that a step touches and where they are. */
function demandOf(setting: StepSetting, placed: readonly PlacedTable[], late: number): StepDemand {
  const sum = (value: (one: PlacedTable) => number) => placed.reduce((total, one) => total + value(one), 0);
  const share = (spread: number, mean: number) => mean > 0 ? 1 + late * Math.sqrt(spread) / mean : 1;
  const more = share(sum(({ table }) => table.variancePerWorker), sum(({ table }) => table.distinctPerWorker));
  const below = sum(({ table, answered }) => table.distinctPerStep * (1 - (answered[0] ?? 0))) / setting.workers;
  const missed = share(below, below);
  return {
    tables: placed.flatMap(({ table, answered }) => {
      const tables = alike(table, placed);
      const all = table.distinctPerStep / tables;
      return Array(tables).fill({
        distinct: table.distinctPerWorker * more / tables,
        variance: table.variancePerWorker / tables,
        all,
        inTier: answered.map((part, k) => part * all * (k === 0 ? 1 : Math.min(missed, 1 / part))),
        seen: [],
      });
    }),
  };
}

/** Options of `ts_simulate` and `ts_step_cost` for a placement. */
export function planOptions(
  setting: StepSetting,
  { simulation, set, demand, extras }: PlanSimulation,
  placed: readonly PlacedTable[],
  stretch: readonly Stretch[] = [],
): Record<string, string> {
  const media = set.tiers.map((tier) => mediumOf(setting, tier.media));
  const dense = simulation.compute.dense as number;
  const options = engineOptionsOn(media, simulation, set, demand, dense, extras, stretch);
  const each = (value: (one: PlacedTable) => number) =>
    placed.flatMap((one) => Array(alike(one.table, placed)).fill(value(one))).join(",");
  return {
    ...options,
    "tables.row_bytes": each(({ table }) => table.rowBytes),
    "tables.in_place": each(({ kind }) => kind === "cached" ? 0 : 1),
  };
}

/** Bytes that a step reads or writes in a tier. */
function bytesOf(traffic: ReturnType<typeof stepCost>["traffic"], of: number, way: "read" | "write"): number {
  return traffic.reduce((sum, { tier, op, bytes }) => tier === of && op === way ? sum + bytes : sum, 0);
}

/** The step model of a plan, for the planner. */
export function planStepModel(setting: StepSetting): PlanStepModel {
  return (machine, hosts, placed, { late = 0, factors = [] } = {}): PlanStep => {
    const simulated = planSimulation(setting, machine, hosts, placed, late);
    const stretch = factors.map((factor) => ({ read: factor, write: factor }));
    const cost = stepCost(planOptions(setting, simulated, placed, stretch));
    const held = new Map<string, number>();
    for (const { on, kind, ps, places } of cost.busy) {
      if (kind === "dense" || kind === "all-reduce") continue;
      held.set(on, (held.get(on) ?? 0) + ps / places * 1e-12);
    }
    const most = (link: boolean) =>
      Math.max(0, ...[...held].filter(([on]) => on.includes("link") === link).map(([, seconds]) => seconds));
    const step = cost.stepPs * 1e-12;
    return {
      seconds: runsInVirtualTime(setting, hosts) ? step : Math.max(step, setting.computeSeconds),
      compute: setting.computeSeconds,
      memory: most(false),
      network: machine.networkBytesPerSecond === undefined ? 0 : most(true),
      networkBytes: cost.netBytes,
      tierBytes: machine.tiers.map((_, k) => ({
        read: bytesOf(cost.traffic, k, "read"),
        written: bytesOf(cost.traffic, k, "write"),
      })),
      recordBytes: cost.traffic.reduce(
        (sum, { tier, op, bytes }) => op === "write" && machine.tiers[tier]?.records === true ? sum + bytes : sum,
        0,
      ),
    };
  };
}
