/**
 * What the first tier holds for a user's own keys: a trace, replayed exactly by the store's policy code.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { StepDemand } from "../../ffi/simulate.ts";
import { readTraceKeys } from "../workloads/trace/keys.ts";
import { replayOf, tierMisses, withMissRatio } from "./law_hits.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/** A trace that was read. */
interface Trace {
  readonly keys: BigInt64Array;
  readonly sha256: string;
}

/** Traces that were read before, by their paths. */
export type TraceCache = Map<string, Promise<Trace>>;

/** What a replayed trace was, and how far it is from the tables' laws. */
export interface TraceReplay {
  /** SHA-256 (hex) of its keys as little-endian 64-bit numbers; keys of further tables mixed with the table's name. */
  readonly sha256: string;
  /** Keys in it. */
  readonly keys: number;
  /** Keys of the first half, in whole steps, that only fill the first tier. */
  readonly uncounted: number;
  /** Mean of the distinct rows of a step of all workers. */
  readonly rows: number;
  /** Share of them that is not in the first tier. */
  readonly missRatio: number;
}

async function readTrace(path: string): Promise<Trace> {
  const { keys } = await readTraceKeys(path);
  const bytes = new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength);
  return { keys, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/**
 * A demand whose rows in the first of two tiers are those of the trace, replayed with the configuration's policy in steps of
 * all workers. Its first half fills the tier. Distinct rows stay those of the tables' laws, and tables keep the proportions of
 * their misses under LRU.
 *
 * @param demand The same under LRU, of the laws.
 * @throws {TraceError} The trace cannot be read.
 * @throws {RangeError} It has keys for fewer than two steps.
 */
export async function exactDemand(
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  traces: TraceCache,
): Promise<{ readonly demand: StepDemand; readonly trace: TraceReplay }> {
  const path = simulation.workload.trace ?? "";
  const read = traces.get(path) ?? readTrace(path);
  traces.set(path, read);
  const { keys, sha256 } = await read;
  const { capacity, batch } = replayOf(simulation, set, demand);
  const steps = Math.floor(keys.length / batch);
  if (steps < 2) {
    throw new RangeError(
      `Cannot replay "${path}": it has ${keys.length} keys, a step of all workers has ${batch}; ` +
        "give a trace of two steps or more, or smaller steps",
    );
  }
  const counted = keys.subarray(0, steps * batch), uncounted = Math.floor(steps / 2) * batch;
  const curve = { keys: counted, method: "exact", batch, uncounted } as const;
  const { missRatio, lookups } = tierMisses(set, curve, capacity);
  return {
    demand: withMissRatio(demand, missRatio),
    trace: {
      sha256,
      keys: counted.length,
      uncounted,
      rows: lookups * batch / (counted.length - uncounted),
      missRatio,
    },
  };
}
