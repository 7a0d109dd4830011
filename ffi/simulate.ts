/**
 * Training steps in virtual time: what `native/simulator` makes of options, as values.
 *
 * @module
 */

import { message, readText } from "./errors.ts";
import { numberOf, parseLines, parsePairs, trafficOf } from "./facts.ts";
import { native } from "./library.ts";
import type { MediaOperation } from "./media.ts";
import { type NativeOptions, withConfig } from "./options.ts";

/** Rows a step of one table. */
interface TableDemand {
  /** Expected distinct rows of one worker's batch, and the variance of their number. */
  readonly distinct: number;
  readonly variance: number;
  /** Expected distinct rows of all workers' batches together. */
  readonly all: number;
  /** Of `all`, those that are in each tier. */
  readonly inTier: readonly number[];
  /** Distinct rows of all workers in so many steps, one for each number asked for. */
  readonly seen: readonly number[];
}

/** Shares of row accesses behind the DRAM cache of Memory Mode, by what the access found. */
interface MemoryModeShares {
  readonly readHit: number;
  readonly readClean: number;
  readonly readDirty: number;
  readonly writeHit: number;
  readonly writeClean: number;
  readonly writeDirty: number;
}

/** What a training step asks of the tiers. */
export interface StepDemand {
  readonly tables: readonly TableDemand[];
  /** With `cache_bytes` only. */
  readonly memoryMode?: MemoryModeShares;
}

/** Time on the way that made the last step end when it did. */
interface SimulatedPart {
  /** `parse`, `pull`, `lookup`, `dense`, `all-reduce`, `push`, `update`, `eviction`, `maintenance`, `faults`. */
  readonly kind: string;
  /** `work` of a core, `latency`, or the resource it was spent on. */
  readonly on: string;
  readonly ps: number;
}

/** How much of its time something was taken. */
interface SimulatedResource {
  readonly name: string;
  readonly places: number;
  readonly busyPs: number;
  readonly elapsedPs: number;
}

/** What moved in a tier in all counted steps. */
interface SimulatedTraffic {
  readonly tier: number;
  readonly op: "read" | "write";
  readonly bytes: number;
  readonly accesses: number;
}

/** A task of the last step. */
interface SimulatedTask {
  readonly kind: string;
  readonly actor: number;
  readonly startPs: number;
  readonly endPs: number;
}

/** A question to the medium of a tier: random accesses of one kind, each direction alone, at no load but its own. */
export interface SimulatedQuestion {
  /** Number of the tier. */
  readonly tier: number;
  /** How the medium is accessed. */
  readonly operation: MediaOperation;
  /** Bytes of an access. */
  readonly bytes: number;
  /** Threads that do such accesses at the same time. */
  readonly threads: number;
  /** Accesses that each keeps under way beyond what the media model gives it; 1 of memory. */
  readonly depth: number;
  /** NUMA hops. */
  readonly hops: number;
  /** Whether the hardware prefetchers are on. */
  readonly prefetch: boolean;
  /** Whether software asks for lines before it uses them; false: a plain loop, or accesses that cannot be asked for. */
  readonly ahead: boolean;
  /** Bytes that the accesses fall on. */
  readonly region: number;
  /** Whether they follow each other: what is gathered for a drive. */
  readonly sequential: boolean;
  /** Whether a fence follows each. */
  readonly fenced: boolean;
}

/** Steps in virtual time. */
export interface Simulated {
  /** Picoseconds of each counted step. */
  readonly stepPs: readonly number[];
  /** Of all counted steps. */
  readonly elapsedPs: number;
  /** Their sum is `elapsedPs`, exactly. */
  readonly parts: readonly SimulatedPart[];
  readonly resources: readonly SimulatedResource[];
  readonly traffic: readonly SimulatedTraffic[];
  /** Over the network, in all counted steps. */
  readonly netBytes: number;
  /** Everything that the media were asked. */
  readonly questions: readonly SimulatedQuestion[];
  readonly tasks: readonly SimulatedTask[];
}

/** Room for what the library writes, so that it need not be asked twice. */
const DEMAND_BYTES = 1 << 16;
const OUTCOME_BYTES = 1 << 19;

/** A `key=value ...` line whose values may hold spaces; keys may end in digits. */
function pairsAfter(line: string): Readonly<Record<string, string>> {
  return parsePairs(line.slice(line.indexOf(" ") + 1));
}

/**
 * Rows that a training step needs and where they are.
 *
 * @param options Those of `ts_simulate_demand`, see `native/include/tierstore.h`.
 * @throws {TierstoreError} `TS_EINVAL` for an option that is wrong, `TS_ENOMEM`.
 */
export function simulateDemand(options: NativeOptions): StepDemand {
  const text = withConfig(options, (config) =>
    readText(
      "simulate a step's demand",
      (out, cap, needed) => native().ts_simulate_demand(config, out, cap, needed, message.bytes, message.capacity),
      DEMAND_BYTES,
    ));
  const tables: TableDemand[] = [];
  let memoryMode: MemoryModeShares | undefined;
  for (const line of text.split("\n")) {
    const pairs = pairsAfter(line);
    const list = (prefix: string) => {
      const values: number[] = [];
      while (`${prefix}${values.length}` in pairs) values.push(numberOf(pairs, `${prefix}${values.length}`));
      return values;
    };
    if (line.startsWith("table ")) {
      tables.push({
        distinct: numberOf(pairs, "distinct"),
        variance: numberOf(pairs, "variance"),
        all: numberOf(pairs, "all"),
        inTier: list("in"),
        seen: list("seen"),
      });
    } else if (line.startsWith("memory_mode ")) {
      memoryMode = {
        readHit: numberOf(pairs, "read_hit"),
        readClean: numberOf(pairs, "read_clean"),
        readDirty: numberOf(pairs, "read_dirty"),
        writeHit: numberOf(pairs, "write_hit"),
        writeClean: numberOf(pairs, "write_clean"),
        writeDirty: numberOf(pairs, "write_dirty"),
      };
    }
  }
  return { tables, ...(memoryMode === undefined ? {} : { memoryMode }) };
}

/**
 * Runs training steps in virtual time.
 *
 * @param options Those of `ts_simulate`, see `native/include/tierstore.h`.
 * @returns The same for the same options, on every machine.
 * @throws {TierstoreError} `TS_EINVAL` for an option that is wrong, `TS_ENOMEM`.
 */
export function simulate(options: NativeOptions): Simulated {
  const text = withConfig(options, (config) =>
    readText(
      "simulate training steps",
      (out, cap, needed) => native().ts_simulate(config, out, cap, needed, message.bytes, message.capacity),
      OUTCOME_BYTES,
    ));
  const lines = text.split("\n");
  const facts = parseLines(lines.filter((line) => !line.includes(" ")).join("\n"));
  const of = <T>(word: string, make: (pairs: Readonly<Record<string, string>>) => T): T[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => make(pairsAfter(line)));
  return {
    stepPs: (facts["step_ps"] ?? "").split(",").map(Number),
    elapsedPs: numberOf(facts, "elapsed_ps"),
    parts: of("part", (one) => ({ kind: one["kind"] ?? "", on: one["on"] ?? "", ps: numberOf(one, "ps") })),
    resources: of("resource", (one) => ({
      name: one["name"] ?? "",
      places: numberOf(one, "places"),
      busyPs: numberOf(one, "busy_ps"),
      elapsedPs: numberOf(one, "elapsed_ps"),
    })),
    traffic: of("traffic", trafficOf),
    netBytes: numberOf(facts, "net_bytes"),
    questions: of("question", (one) => ({
      tier: numberOf(one, "tier"),
      operation: one["op"] as MediaOperation,
      bytes: numberOf(one, "bytes"),
      threads: numberOf(one, "threads"),
      depth: numberOf(one, "depth"),
      hops: numberOf(one, "hops"),
      prefetch: numberOf(one, "prefetch") === 1,
      ahead: numberOf(one, "ahead") === 1,
      region: numberOf(one, "region"),
      sequential: numberOf(one, "sequential") === 1,
      fenced: numberOf(one, "fenced") === 1,
    })),
    tasks: of("task", (one) => ({
      kind: one["kind"] ?? "",
      actor: numberOf(one, "actor"),
      startPs: numberOf(one, "start_ps"),
      endPs: numberOf(one, "end_ps"),
    })),
  };
}
