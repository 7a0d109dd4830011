/**
 * The schemas of a result's records: whatever a file or a page says is checked against them before anything reads it.
 * `record.ts` says what the fields mean. Fields that earlier versions lack are those that may be absent.
 *
 * @module
 */

import { ABLATION_CASES } from "./ablation.ts";
import { bandBasis, question } from "../models/simulation/record_schema.ts";
import { targetSchema } from "../models/simulation/target.ts";
import { PHASES, type ResultRecord } from "./record.ts";
import {
  checked,
  count,
  figure,
  flag,
  listOf,
  mapOf,
  maybe,
  moment,
  object,
  positive,
  positives,
  scalar,
  share,
  someOf,
  text,
  word,
} from "../base/record_parts.ts";
import * as v from "../base/valibot.ts";

const evidence = word("measured", "emulated", "simulated");
const point = mapOf(scalar);
/** Null where it is not defined: scored rows of one class. */
const auc = v.nullable(share);
const trainer = maybe(mapOf(text));

/** The owner's word for a medium. */
const vouched = { medium: text, by: word("owner"), shows: text };
/** A word stands for a proof of what was measured, and for nothing else. */
function isWordOfMeasured(one: { readonly vouched?: unknown; readonly evidence: string; readonly virtual?: unknown }) {
  return one.vouched === undefined || (one.evidence === "measured" && one.virtual !== true);
}
const WORD = 'expected no "vouched" but in what is measured';

const band = object({
  kind: word("latency", "read", "write", "mixed"),
  factor: v.pipe(positive, v.minValue(1, "expected a factor, 1 or above")),
  access: maybe(text),
  basis: bandBasis,
  points: figure,
  curves: figure,
  bytes: v.tuple([figure, figure], "expected two numbers"),
  threads: v.tuple([figure, figure], "expected two numbers"),
});

/** What readers of a result use of its scenario; the rest is shown as it is. */
const scenario = object({
  name: maybe(text),
  workload: maybe(object({ steps: maybe(v.union([word("auto"), figure], 'expected a number or "auto"')) })),
  quality: maybe(object({
    samples: maybe(v.union([word("auto"), figure], 'expected a number or "auto"')),
    targetAuc: maybe(share),
  })),
  target: maybe(targetSchema),
  configurations: maybe(mapOf(object({}))),
  ablation: maybe(object({ switches: maybe(mapOf(scalar)), cases: maybe(listOf(word(...ABLATION_CASES))) })),
});

const run = object({
  type: v.literal("run"),
  started: moment,
  scenario,
  scenarioDigest: text,
  machine: object({ cpu: text, cpus: figure, memoryBytes: figure, nodes: figure, kernel: text, facts: mapOf(text) }),
  versions: mapOf(text),
  data: object({
    kind: text,
    source: text,
    trainRows: figure,
    testRows: figure,
    digest: text,
    cardinalities: listOf(figure),
    numerics: maybe(text),
    skipped: maybe(object({ lines: figure, kinds: mapOf(figure), first: maybe(text) })),
    tableBytes: figure,
    plantedAuc: maybe(share),
    numericAuc: maybe(share),
    categoricalVariance: maybe(share),
    unseenShare: maybe(share),
  }),
  leftOut: maybe(listOf(object({ switch: text, why: text }))),
  priceFiles: maybe(listOf(object({ name: text, text }))),
  modelBands: maybe(mapOf(listOf(band))),
  shard: maybe(object({ index: count, of: count, samples: count })),
  merged: maybe(object({
    of: count,
    shards: listOf(object({ index: count, started: moment, cpu: text, missing: count })),
    lost: listOf(count),
  })),
  energyMissing: maybe(text),
  vouched: maybe(listOf(object({ configuration: text, ...vouched }))),
});

const identity = {
  id: text,
  case: text,
  configuration: text,
  point,
  sample: count,
  again: maybe(v.literal(true)),
  position: count,
  started: moment,
};

const tier = object({
  tier: count,
  type: text,
  kind: maybe(word("dram", "pmem", "cxl", "ssd", "hbm")),
  medium: text,
  emulates: maybe(text),
  modelLimit: maybe(
    object({
      readBytesPerSecond: positive,
      writeBytesPerSecond: positive,
      rowBytes: positive,
      threads: positive,
    }),
  ),
  questions: maybe(listOf(question)),
  ssd: maybe(object({ media: text, devices: positive })),
  limitBytes: figure,
  usedBytes: figure,
  purposes: mapOf(figure),
  rows: figure,
  facts: mapOf(text),
});

const cluster = object({
  layout: word("collocated", "servers"),
  launcher: word("mpirun", "srun", "none"),
  staleness: maybe(object({ bound: count, missed: someOf(count) })),
  library: text,
  sharedMachine: flag,
  ranks: someOf(object({
    rank: count,
    host: text,
    machine: object({ cpu: text, cpus: figure, memoryBytes: figure, kernel: text }),
    trains: flag,
    tiers: listOf(tier),
    tableBytes: figure,
    stepsNs: positive,
    steps: maybe(count),
    messages: count,
    sentBytes: figure,
    receivedBytes: figure,
    messageNs: figure,
  })),
});

const completed = v.pipe(
  object({
    ...identity,
    evidence,
    vouched: maybe(object(vouched)),
    how: text,
    seed: scalar,
    processSeconds: figure,
    turns: maybe(object({ steps: positive, seconds: figure, waitingCpuNs: figure })),
    batch: positive,
    threads: positive,
    warmupSteps: count,
    stepNs: positives,
    phaseNs: object(Object.fromEntries(PHASES.map((phase) => [phase, figure]))),
    loss: figure,
    trainer,
    statistics: mapOf(figure),
    wire: maybe(object({ distinctRows: positive, toServers: positive, fromServers: positive })),
    filter: maybe(object({ admitted: count, refused: count, expired: count, waiting: maybe(count) })),
    checkpoint: maybe(object({
      every: positive,
      written: listOf(object({
        step: positive,
        kind: word("full", "delta", "in-place"),
        waitedNs: figure,
        cutNs: figure,
        durableNs: positive,
        bytes: figure,
        rows: maybe(count),
      })),
      restoreNs: positive,
      restoredBytes: positive,
    })),
    cluster: maybe(cluster),
    tiers: listOf(tier),
    dramBytes: figure,
    tableBytes: figure,
    digest: text,
    environment: mapOf(text),
    energy: maybe(object({ seconds: positive, packageJoules: figure, dramJoules: maybe(figure) })),
    padding: maybe(count),
    conditions: maybe(object({
      ownShare: share,
      othersShare: share,
      stolenShare: share,
      swappedPages: count,
      migratedPages: count,
      throttledShare: maybe(share),
      readBytes: maybe(figure),
      settings: maybe(mapOf(text)),
    })),
    virtual: flag,
  }),
  v.check((one) => isWordOfMeasured(one), WORD),
);

const failed = object({ ...identity, error: text });

const quality = v.pipe(
  object({
    id: maybe(text),
    configuration: text,
    point: maybe(point),
    deterministic: maybe(flag),
    evidence,
    vouched: maybe(object(vouched)),
    started: moment,
    seconds: figure,
    steps: count,
    batch: positive,
    curve: someOf(
      object({ samples: figure, seconds: figure, trainSeconds: maybe(figure), logloss: figure, auc }),
    ),
    logloss: figure,
    auc,
    testRows: figure,
    trainer,
    digest: text,
  }),
  v.check((one) => isWordOfMeasured(one), WORD),
);

const curve = v.pipe(
  object({
    point,
    policy: text,
    bound: text,
    method: text,
    denominator: text,
    batch: figure,
    rows: positive,
    rowBytes: positive,
    sizes: positives,
    misses: listOf(share),
    bounds: listOf(share),
  }),
  v.check(
    ({ sizes, misses, bounds }) => misses.length === sizes.length && bounds.length === sizes.length,
    'expected one of "misses" and one of "bounds" a size',
  ),
  v.check(
    ({ sizes }) => sizes.every((size, i) => i === 0 || size > (sizes[i - 1] as number)),
    'expected "sizes" that rise',
  ),
);

const end = object({ rounds: positive, why: word("enough", "budget", "most"), words: text });

const SCHEMAS = new Map<unknown, v.GenericSchema>([
  ["run", run],
  ["completed", completed],
  ["failed", failed],
  ["quality", quality],
  ["curve", curve],
  ["end", end],
]);

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 60);
}

/**
 * A value as the record that it is.
 *
 * @throws {TypeError} saying which field is wrong, what was expected and what was found.
 */
export function checkRecord(value: unknown): ResultRecord {
  const record = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const schema = SCHEMAS.get(record["type"] === "sample" ? record["status"] : record["type"]);
  if (schema === undefined) {
    throw new TypeError(`expected a run, sample, quality, curve or end record, found ${show(value)}`);
  }
  if (record["type"] === "run" && record["format"] !== 1) {
    throw new TypeError(`expected format 1, found ${show(record["format"])}: it was written by another version`);
  }
  return checked(schema, value) as ResultRecord;
}
