/**
 * What checkpoints cost a case: how much slower training is than the same without, what was written, how long it took.
 *
 * @module
 */

import { pointText } from "../../base/matrix.ts";
import type { CheckpointKind } from "../../scenarios/scenario.ts";
import type { CheckpointRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { type Estimate, estimate } from "../statistics/bootstrap.ts";
import { compared } from "../statistics/pairing.ts";
import { mean, median } from "../../base/statistics.ts";
import { countText } from "../text/format.ts";
import { KIND_WORDS } from "./checkpoint_words.ts";
import { simulatedCheckpoints } from "./simulated_checkpoints.ts";
import type { CheckpointCost } from "./summary_types.ts";

/** Samples of a case, and its name. */
interface Group {
  readonly name: string;
  readonly samples: readonly SampleRecord[];
}

type WithCheckpoints = SampleRecord & { readonly checkpoint: CheckpointRecord };

/** Configuration and point but for checkpoints, and the kind of its figures: cases that differ in them alone have the same. */
function elsewhere({ samples: [first] }: Group): string {
  const { configuration, point, evidence } = first as SampleRecord;
  const others = Object.entries(point).filter(([field]) => !field.startsWith("checkpoint."));
  return JSON.stringify([configuration, pointText(Object.fromEntries(others)), evidence]);
}

/** What is left of a case's rows and weights after a crash: the tiers of a run without checkpoints end with its process. */
export function durability(samples: readonly SampleRecord[]): string {
  const made = samples.find(({ checkpoint }) => checkpoint !== undefined && checkpoint.written.length > 0)?.checkpoint;
  return made === undefined ? "nothing" : `${KIND_WORDS[kindOf(made)]} every ${countText(made.every, "step")}`;
}

/** What a sample's checkpoints are: the first of a chain of deltas is full. */
function kindOf({ written }: CheckpointRecord): CheckpointKind {
  return written.at(-1)?.kind ?? "full";
}

/** Whether all rows of a group are in DRAM and each checkpoint has all of them. */
function dumpsDram({ samples }: Group): boolean {
  return samples.every(({ tiers, checkpoint }) =>
    tiers.length === 1 && tiers[0]?.type === "DRAM" && checkpoint !== undefined &&
    checkpoint.written.length > 0 && checkpoint.written.every(({ kind }) => kind === "full")
  );
}

/** The case whose dumps are made as often as another's checkpoints. */
function dumpFor(group: Group, groups: readonly Group[]): Group | undefined {
  const point = ({ samples: [first] }: Group): string => pointText(first?.point ?? {});
  return groups.find((other) => other !== group && point(other) === point(group) && dumpsDram(other));
}

/**
 * The cost of a case's checkpoints.
 *
 * @param group The case.
 * @param groups All cases, among which is the same without checkpoints, if there is one.
 * @param rateOf Samples per second of a sample.
 * @param result The run, whose data models know.
 * @param seed Seeds resampling, by figure.
 * @returns Undefined without checkpoints.
 */
export function checkpointCost(
  group: Group,
  groups: readonly Group[],
  rateOf: (sample: SampleRecord) => number,
  result: Result,
  seed: (figure: string) => string,
): CheckpointCost | undefined {
  const samples = group.samples.filter((one): one is WithCheckpoints =>
    one.checkpoint !== undefined && one.checkpoint.written.length > 0 && !one.virtual
  );
  if (samples.length === 0) return undefined;
  const without = groups.find((other) =>
    elsewhere(other) === elsewhere(group) && other.samples.every(({ checkpoint }) => checkpoint === undefined)
  );
  const seconds = (figure: string, of: (one: CheckpointRecord) => number): Estimate =>
    estimate(samples.map(({ checkpoint }) => of(checkpoint) / 1e9), "positive", seed(figure));
  const written = samples.map(({ checkpoint }) => checkpoint.written);
  const deltas = written.flat().filter(({ kind }) => kind === "delta");
  const fulls = written.flat().filter(({ kind }) => kind === "full");
  const dump = dumpsDram(group) ? undefined : dumpFor(group, groups);
  const again = written.flatMap((each) => each.slice(1)).flatMap(({ rows }) => rows ?? []);
  const [{ checkpoint: one }] = samples as [WithCheckpoints];
  return {
    simulated: simulatedCheckpoints(result, group.samples, groups.map((other) => other.samples)),
    kind: kindOf(one),
    every: one.every,
    rowsAgain: again.length === 0 ? undefined : mean(again),
    dump: dump?.name,
    toDump: dump === undefined ? undefined : compared(
      samples,
      dump.samples,
      ({ checkpoint }) => checkpoint?.restoreNs ?? 0,
      "positive",
      seed("restore to dump"),
    ),
    count: mean(written.map(({ length }) => length)),
    bytes: mean(written.map((each) => each.reduce((sum, { bytes }) => sum + bytes, 0))),
    deltaShare: deltas.length === 0 || fulls.length === 0
      ? undefined
      : mean(deltas.map(({ bytes }) => bytes)) / mean(fulls.map(({ bytes }) => bytes)),
    still: seconds("checkpoint still", (one) => median(one.written.map(({ cutNs, waitedNs }) => cutNs + waitedNs))),
    durable: seconds("checkpoint durable", (one) => median(one.written.map(({ durableNs }) => durableNs))),
    restore: seconds("restore", ({ restoreNs }) => restoreNs),
    restoredBytes: mean(samples.map(({ checkpoint }) => checkpoint.restoredBytes)),
    without: without?.name,
    relative: without === undefined
      ? undefined
      : compared(group.samples, without.samples, rateOf, "rate", seed("checkpoint relative")),
  };
}
