/**
 * A case's checkpoints as models have them, beside what was measured.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import {
  type CheckpointForecast,
  denseStateBytes,
  forecastCheckpoints,
  rowsOfSamples,
} from "../../models/simulation/checkpoint_forecast.ts";
import type { CheckpointRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import type { SimulatedCheckpoints } from "./summary_types.ts";

type WithCheckpoints = SampleRecord & { readonly checkpoint: CheckpointRecord };

/** Samples that made checkpoints. */
function made(samples: readonly SampleRecord[]): WithCheckpoints[] {
  return samples.filter((one): one is WithCheckpoints =>
    one.checkpoint !== undefined && one.checkpoint.written.length > 0 && !one.virtual
  );
}

function kindOf({ checkpoint: { written } }: WithCheckpoints): CheckpointRecord["written"][number]["kind"] {
  return written.at(-1)?.kind ?? "full";
}

/** Bytes of dense weights with what their optimizers keep. */
function denseBytes({ trainer = {} }: SampleRecord): number {
  const [dense = 0, wide = 0] = ["dense_parameters", "wide_parameters"].map((name) => Number(trainer[name] ?? 0));
  return denseStateBytes(dense, wide, trainer["deep_optimizer"] ?? "");
}

/** Rows that steps between two checkpoints change, by the law that the data was drawn from; undefined where it is none. */
function changedRows({ run }: Result, { point, batch, filter }: SampleRecord, steps: number): number | undefined {
  const { data, tables } = run.scenario.workload;
  const varied = Object.keys(point).some((field) => field.startsWith("workload."));
  if (!("synthetic" in data) || tables !== undefined || varied || filter !== undefined) return undefined;
  return rowsOfSamples(run.data.cardinalities, data.skew, steps * batch);
}

/** What laws and formulas say of the checkpoints of samples of a case. */
function forecastOf(result: Result, samples: readonly WithCheckpoints[]): CheckpointForecast | undefined {
  const [first] = samples as [WithCheckpoints];
  const changed = changedRows(result, first, first.checkpoint.every);
  if (changed === undefined) return undefined;
  const rows = result.run.data.cardinalities.reduce((sum, keys) => sum + keys, 0);
  const rowBytes = result.run.data.tableBytes / rows;
  return forecastCheckpoints({
    kind: kindOf(first),
    count: first.checkpoint.written.length,
    rows,
    rowBytes,
    changed,
    held: first.tiers.length === 1 ? rows : first.dramBytes / rowBytes,
    denseBytes: denseBytes(first),
  });
}

/**
 * The case that sets the rates at which bytes are written and read: of those whose checkpoints go to the same place (files: dumps
 * of DRAM; in place: the configuration's own), the one with the longest interval. The others set nothing.
 */
function ratesFrom(
  samples: readonly WithCheckpoints[],
  groups: readonly (readonly SampleRecord[])[],
): readonly WithCheckpoints[] | undefined {
  const [first] = samples as [WithCheckpoints];
  const wanted = kindOf(first) === "in-place" ? "in-place" : "full";
  const [source] = groups.map(made).filter(([one]) =>
    one !== undefined && kindOf(one) === wanted &&
    (wanted === "in-place" ? one.configuration === first.configuration : one.tiers.length === 1)
  ).toSorted(([a], [b]) => (b?.checkpoint.every ?? 0) - (a?.checkpoint.every ?? 0));
  return source;
}

/**
 * What models say of a case's checkpoints.
 *
 * @param result The run.
 * @param samples Those of the case.
 * @param groups Samples of every case.
 * @returns Undefined without checkpoints, over ranks, and where the data is no law, or no case sets the rates.
 */
export function simulatedCheckpoints(
  result: Result,
  samples: readonly SampleRecord[],
  groups: readonly (readonly SampleRecord[])[],
): SimulatedCheckpoints | undefined {
  const own = made(samples);
  const [first] = own;
  if (first === undefined || first.cluster !== undefined) return undefined;
  const source = ratesFrom(own, groups);
  const forecast = forecastOf(result, own);
  const set = source === undefined ? undefined : forecastOf(result, source);
  if (source === undefined || set === undefined || forecast === undefined) return undefined;
  const seconds = (of: (one: CheckpointRecord) => number): number =>
    median(source.map(({ checkpoint }) => of(checkpoint))) / 1e9;
  const write = set.middle / seconds(({ written }) => median(written.map(({ durableNs }) => durableNs)));
  const read = set.restored / seconds(({ restoreNs }) => restoreNs);
  return {
    setsRates: source[0]?.case === first.case,
    bytes: forecast.bytes,
    durable: forecast.middle / write,
    restore: forecast.restored / read,
    rowsAgain: forecast.rowsAgain,
    densePause: denseBytes(first) / write,
  };
}
