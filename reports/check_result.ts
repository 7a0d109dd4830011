/**
 * Refuses results whose numbers cannot be reported.
 *
 * @module
 */

import type { CurveRecord, ModelBand, QualityRecord, Result, SampleRecord } from "../scenarios/record.ts";
import { PHASES } from "../scenarios/record.ts";
import { QUALITY_ID } from "../scenarios/result.ts";

/**
 * Checks every number that a report uses.
 *
 * @throws {RangeError} Naming the record and the field: not a finite number, negative, or no steps.
 */
export function checkResult(result: Result): void {
  const ids = new Set<string>();
  for (const sample of result.samples) {
    if (ids.has(sample.id)) refuse(sample.id, "id", "twice in the file", "unique ids");
    ids.add(sample.id);
    checkSample(sample);
  }
  for (const quality of result.qualities) checkQuality(quality);
  for (const curve of result.curves ?? []) checkCurve(curve);
  for (const [media, bands] of Object.entries(result.run.modelBands ?? {})) bands.forEach(checkBand(media));
}

function checkBand(media: string): (band: ModelBand) => void {
  return ({ kind, factor, points, curves, bytes, threads }) => {
    const at = `modelBands.${media}.${kind}`;
    number("run", `${at}.factor`, factor, true);
    if (factor < 1) refuse("run", `${at}.factor`, `${factor}`, "a factor, 1 or above");
    for (const [name, value] of Object.entries({ points, curves })) number("run", `${at}.${name}`, value);
    for (const i of [0, 1] as const) {
      number("run", `${at}.bytes[${i}]`, bytes[i]);
      number("run", `${at}.threads[${i}]`, threads[i]);
    }
  };
}

function checkCurve({ sizes, misses, bounds, rows, rowBytes }: CurveRecord): void {
  const id = "curve";
  number(id, "rows", rows, true);
  number(id, "rowBytes", rowBytes, true);
  if (sizes.length === 0 || misses.length !== sizes.length || bounds.length !== sizes.length) {
    refuse(id, "sizes", `${sizes.length} beside ${misses.length} and ${bounds.length} ratios`, "one ratio a size");
  }
  sizes.forEach((size, i) => {
    number(id, `sizes[${i}]`, size, true);
    if (i > 0 && size <= (sizes[i - 1] as number)) refuse(id, `sizes[${i}]`, `${size}`, "a size above the one before");
    for (const [name, values] of [["misses", misses], ["bounds", bounds]] as const) {
      number(id, `${name}[${i}]`, values[i]);
      if ((values[i] as number) > 1) refuse(id, `${name}[${i}]`, `${values[i]}`, "a share, at most 1");
    }
  });
}

function checkQuality(quality: QualityRecord): void {
  const id = quality.id ?? QUALITY_ID;
  if (quality.curve.length === 0) refuse(id, "curve", "no points", "at least one");
  quality.curve.forEach((point, i) => {
    number(id, `curve[${i}].samples`, point.samples);
    number(id, `curve[${i}].seconds`, point.seconds);
    if (point.trainSeconds !== undefined) number(id, `curve[${i}].trainSeconds`, point.trainSeconds);
    number(id, `curve[${i}].logloss`, point.logloss);
    if (point.auc !== null) number(id, `curve[${i}].auc`, point.auc);
  });
  if (quality.auc !== null) number(id, "auc", quality.auc);
  number(id, "logloss", quality.logloss);
}

function checkSample(sample: SampleRecord): void {
  const { id } = sample;
  if (sample.stepNs.length === 0) refuse(id, "stepNs", "no steps", "at least one");
  sample.stepNs.forEach((ns, i) => number(id, `stepNs[${i}]`, ns, true));
  number(id, "batch", sample.batch, true);
  for (const phase of PHASES) number(id, `phaseNs.${phase}`, sample.phaseNs[phase]);
  number(id, "loss", sample.loss);
  number(id, "dramBytes", sample.dramBytes);
  number(id, "tableBytes", sample.tableBytes);
  for (const [name, value] of Object.entries(sample.statistics)) number(id, `statistics.${name}`, value);
  sample.tiers.forEach((tier, i) => {
    number(id, `tiers[${i}].limitBytes`, tier.limitBytes);
    number(id, `tiers[${i}].usedBytes`, tier.usedBytes);
    number(id, `tiers[${i}].rows`, tier.rows);
    for (const [name, bytes] of Object.entries(tier.purposes)) number(id, `tiers[${i}].purposes.${name}`, bytes);
    for (const [name, value] of Object.entries(tier.modelLimit ?? {})) {
      number(id, `tiers[${i}].modelLimit.${name}`, value, true);
    }
  });
}

function number(record: string, field: string, value: unknown, positive: boolean = false): void {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || (positive && value === 0)) {
    refuse(record, field, `${value}`, positive ? "a finite number above 0" : "a finite number, 0 or above");
  }
}

function refuse(record: string, field: string, found: string, needed: string): never {
  throw new RangeError(`Cannot report "${record}": ${field} is ${found}, ${needed} is needed`);
}
