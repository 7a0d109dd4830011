/**
 * The schemas of a simulation's records: whatever a file or a page says is checked against them before anything reads it.
 * `record.ts` says what the fields mean.
 *
 * @module
 */

import {
  checked,
  count,
  difference,
  figure,
  flag,
  listOf,
  mapOf,
  maybe,
  moment,
  object,
  positive,
  scalar,
  someOf,
  text,
  word,
} from "../../base/record_parts.ts";
import { BAND_BASES } from "../media/calibration/basis.ts";
import { targetSchema } from "./target.ts";
import { machineCostSchema, priceDate } from "../costs/machine_cost_schema.ts";
import * as v from "../../base/valibot.ts";
import { NULL_NAMES, type SimulationRecord } from "./record.ts";
import { HITS_METHODS, METRICS, MODES } from "./simulation.ts";

const point = mapOf(scalar);

/** Seconds of a mean step, which the engine counts in picoseconds; shares of it are printed. */
const stepMean = v.pipe(
  figure,
  v.check((seconds) => seconds >= 1e-12, "expected at least a picosecond, 1e-12"),
);

/** What a report reads of the simulation; the rest is shown nowhere. */
const scenario = object({
  name: text,
  about: text,
  seed: count,
  workload: object({
    batch: positive,
    trains: flag,
    tables: listOf(object({
      name: text,
      rows: positive,
      count: positive,
      dim: positive,
      dtype: text,
      slots: figure,
      law: object({ of: maybe(object({ profile: text, table: text, leftOut: listOf(text), fault: maybe(text) })) }),
    })),
  }),
  compute: object({ source: text }),
  overlap: object({ ahead: figure, prefetch: flag, async: flag, microBatches: figure }),
  cluster: object({
    workers: figure,
    workersPerHost: figure,
    servers: figure,
    cores: figure,
    network: maybe(object({ bandwidth: figure, latency: figure })),
  }),
  target: maybe(targetSchema),
  configurations: mapOf(object({
    machine: maybe(machineCostSchema),
    mode: maybe(word(...MODES)),
    placement: maybe(word("rows", "pages", "lines", "interleave")),
    weights: maybe(listOf(figure)),
    tiers: maybe(listOf(object({ media: text, size: figure, round: figure }))),
  })),
  cost: maybe(object({ prices: maybe(priceDate), trainers: maybe(machineCostSchema) })),
  studies: listOf(object({ name: text, baseline: maybe(text) })),
  published: listOf(object({
    figure: text,
    of: word(...METRICS),
    configuration: text,
    at: maybe(point),
    value: difference,
    relativeTo: maybe(object({ configuration: text, at: maybe(point) })),
    source: text,
    tolerance: figure,
    calibrates: maybe(text),
  })),
});

const run = object({
  type: v.literal("run"),
  kind: v.literal("simulation"),
  format: v.literal(1, "expected format 1; another version wrote it"),
  started: moment,
  scenario,
  scenarioDigest: text,
  versions: mapOf(text),
});

const tier = object({
  media: text,
  sizeBytes: figure,
  rowsShare: maybe(figure),
  readBytes: figure,
  writeBytes: figure,
  readLimit: figure,
  writeLimit: figure,
  busy: figure,
});

/** Whose figures a band is made of. */
export const bandBasis: v.GenericSchema = word(...BAND_BASES);

/** A question to a medium, and what backs its answer. */
export const question: v.GenericSchema = object({
  media: text,
  operation: word("load", "nt-store", "cached-store", "flushed-store"),
  bytes: positive,
  threads: positive,
  depth: positive,
  devices: positive,
  hops: figure,
  prefetch: flag,
  ahead: maybe(flag),
  region: figure,
  sequential: flag,
  fenced: flag,
  figures: count,
  alike: count,
  validated: maybe(flag),
  band: maybe(object({ factor: positive, basis: bandBasis })),
});

const TASK = "expected a task: kind, actor, start and end";

const simulated = object({
  evidence: v.literal("simulated"),
  case: text,
  study: text,
  configuration: text,
  point,
  mode: text,
  samplesPerSecond: positive,
  band: v.union(
    [
      object({
        low: positive,
        high: positive,
        draws: maybe(listOf(positive)),
        doubts: maybe(listOf(object({ of: text, factor: positive, slower: positive, faster: positive }))),
      }),
      object({ why: text }),
    ],
    'expected "low" and "high", or "why"',
  ),
  step: object({ mean: stepMean, p50: figure, p90: figure, p99: figure }),
  parts: listOf(object({ kind: text, on: text, seconds: figure })),
  resources: listOf(object({ name: text, places: figure, busy: figure })),
  questions: maybe(listOf(question)),
  tiers: someOf(tier),
  rows: object({ worker: figure, all: positive, keys: figure }),
  misses: object({ ofKeys: figure, ofRows: figure }),
  hits: maybe(object({
    method: word(...HITS_METHODS),
    trace: maybe(object({ sha256: text, keys: figure, uncounted: figure, rows: figure, missRatio: figure })),
  })),
  lines: maybe(mapOf(figure)),
  netBytes: figure,
  checkpoint: maybe(object({
    kind: text,
    pause: figure,
    every: positive,
    bytes: figure,
    recovery: maybe(object({ bytes: figure, seconds: figure })),
  })),
  tasks: listOf(v.tuple([text, difference, difference, difference], TASK)),
});

const explanation = object({
  from: text,
  to: text,
  fromTime: positive,
  toTime: positive,
  parts: listOf(object({ part: text, seconds: difference, says: text })),
});

const nullModel = object({
  model: word(...NULL_NAMES),
  case: text,
  samplesPerSecond: positive,
  step: object({ mean: figure }),
  misses: object({ ofKeys: figure, ofRows: figure }),
});

const SCHEMAS = new Map<unknown, v.GenericSchema>([["run", run], ["simulated", simulated], [
  "explanation",
  explanation,
], ["null", nullModel]]);

/**
 * A value as the record of a simulation that it is.
 *
 * @throws {TypeError} saying which field is wrong, what was expected and what was found.
 */
export function checkSimulationRecord(value: unknown): SimulationRecord {
  const type = typeof value === "object" && value !== null ? (value as { readonly type?: unknown }).type : undefined;
  const schema = SCHEMAS.get(type);
  if (schema !== undefined) return checked(schema, value) as SimulationRecord;
  throw new TypeError(
    `expected a run, simulated, explanation or null record, found ${
      type === undefined ? "none" : JSON.stringify(type).slice(0, 60)
    }`,
  );
}
