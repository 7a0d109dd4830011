/**
 * What two runs of one scenario ought to have equal to the bit: the key stream everywhere, rows and quality on the same
 * type of CPU, where the scenario is deterministic.
 *
 * @module
 */

import type { QualityRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { QUALITY_ID } from "../../scenarios/result.ts";
import { countText, listText } from "../text/format.ts";
import type { EqualityCheck } from "./comparison.ts";
import { aucCell, aucText, isDeterministic } from "../../scenarios/record.ts";

/** Compares what ought to be equal. */
export function checksOf(a: Result, b: Result): EqualityCheck[] {
  return [keys(a, b), rows(a, b), ...qualities(a, b)];
}

function keys(a: Result, b: Result): EqualityCheck {
  const what = "key stream";
  const [left, right] = [a.run.data.digest, b.run.data.digest];
  if (left === right) return { what, status: "same", found: `digest ${left}` };
  const [seedA, seedB] = [a.run.scenario.seed, b.run.scenario.seed];
  return seedA === seedB && a.run.scenarioDigest === b.run.scenarioDigest
    ? { what, status: "differs", found: `digest ${left}, then ${right}, from the same scenario and seed` }
    : { what, status: "not comparable", found: "other seeds or other data make other keys" };
}

/** Samples in which this is equal must end with the same rows. */
function stepsKey({ case: name, seed, batch, warmupSteps, stepNs }: SampleRecord): string {
  return JSON.stringify([name, seed, batch, warmupSteps + stepNs.length]);
}

function rows(a: Result, b: Result): EqualityCheck {
  const what = "rows and dense parameters";
  const none = (found: string): EqualityCheck => ({ what, status: "not comparable", found });
  if (a.run.data.digest !== b.run.data.digest) return none("the key streams are not the same");
  if (a.run.machine.cpu !== b.run.machine.cpu) return none("another type of CPU may round the dense part otherwise");
  const digests = (result: Result): Map<string, { name: string; digests: Set<string> }> => {
    const found = new Map<string, { name: string; digests: Set<string> }>();
    for (const sample of result.samples.filter(isDeterministic)) {
      const key = stepsKey(sample);
      const entry = found.get(key) ?? { name: sample.case, digests: new Set() };
      entry.digests.add(sample.digest);
      found.set(key, entry);
    }
    return found;
  };
  const [left, right] = [digests(a), digests(b)];
  const common = [...left].filter(([key]) => right.has(key));
  if (common.length === 0) {
    return none(
      left.size === 0 || right.size === 0
        ? "no sample ran in deterministic mode"
        : "no case trained equally many steps with equal seeds in both: the time budget chose others",
    );
  }
  const other = common.filter(([key, one]) => [...right.get(key)?.digests ?? []].join() !== [...one.digests].join());
  const names = (of: typeof common): string => listText([...new Set(of.map(([, { name }]) => name))]);
  return other.length === 0
    ? { what, status: "same", found: `equal digests after equal steps in ${countText(common.length, "case")}` }
    : { what, status: "differs", found: `other digests after equal steps: ${names(other)}` };
}

function qualities(a: Result, b: Result): EqualityCheck[] {
  const id = (one: QualityRecord): string => one.id ?? QUALITY_ID;
  return a.qualities.map((one) => quality(one, b.qualities.find((other) => id(other) === id(one)), a, b));
}

function quality(one: QualityRecord, other: QualityRecord | undefined, a: Result, b: Result): EqualityCheck {
  const what = one.id === undefined || one.id === QUALITY_ID ? "quality" : one.id;
  const none = (found: string): EqualityCheck => ({ what, status: "not comparable", found });
  if (other === undefined) return none("the second result has none");
  if (a.run.data.digest !== b.run.data.digest) return none("the key streams are not the same");
  const samples = [one, other].map(({ steps, batch }) => steps * batch);
  const aucs = `AUC ${aucCell(one.auc)}, then ${aucCell(other.auc)}`;
  if (samples[0] !== samples[1]) return none(`${aucs}, after ${samples[0]} and ${samples[1]} samples`);
  if (a.run.machine.cpu !== b.run.machine.cpu) return none(`${aucs}, on other types of CPU`);
  if (one.deterministic === false || other.deterministic === false) return none(`${aucs}, in the fast mode`);
  const same = one.digest === other.digest && one.auc === other.auc && one.logloss === other.logloss;
  return same
    ? { what, status: "same", found: `${aucText(one.auc)}, equal digest of rows after ${samples[0]} samples` }
    : { what, status: "differs", found: `${aucs}, after as many samples in deterministic mode` };
}
