/**
 * What checkpoints cost a case: how much slower training is than the same without, what was written, how long it took.
 *
 * @module
 */

import { pointText } from "../../base/matrix.ts";
import type { CheckpointRecord, SampleRecord } from "../../scenarios/record.ts";
import { type Estimate, estimate } from "../statistics/bootstrap.ts";
import { compared } from "../statistics/pairing.ts";
import { mean, median } from "../../base/statistics.ts";
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

/**
 * The cost of a case's checkpoints.
 *
 * @param group The case.
 * @param groups All cases, among which is the same without checkpoints, if there is one.
 * @param rateOf Samples per second of a sample.
 * @param seed Seeds resampling, by figure.
 * @returns Undefined without checkpoints.
 */
export function checkpointCost(
  group: Group,
  groups: readonly Group[],
  rateOf: (sample: SampleRecord) => number,
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
  return {
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
