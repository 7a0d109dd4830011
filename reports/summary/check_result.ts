/**
 * Refuses results that cannot be reported.
 *
 * @module
 */

import type { Result, ResultRecord } from "../../scenarios/record.ts";
import { checkRecord } from "../../scenarios/record_schema.ts";
import { QUALITY_ID } from "../../scenarios/result.ts";

/**
 * Checks every field that a report uses, also of results that a program made or changed.
 *
 * @throws {RangeError} Naming the record and the field.
 */
export function checkResult(result: Result): void {
  const { run, samples, again = [], failed, qualities, curves = [] } = result;
  check("run", run);
  const ids = new Set<string>();
  for (const sample of [...samples, ...again]) {
    check(sample.id, sample);
    if (ids.has(sample.id)) refuse(sample.id, "id: expected one of its own, found it twice in the file");
    ids.add(sample.id);
  }
  for (const sample of failed) check(sample.id, sample);
  for (const quality of qualities) check(quality.id ?? QUALITY_ID, quality);
  for (const curve of curves) check("curve", curve);
}

function check(name: string, record: ResultRecord): void {
  try {
    checkRecord(record);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    refuse(name, error.message);
  }
}

function refuse(record: string, why: string): never {
  throw new RangeError(`Cannot report "${record}": ${why}`);
}
