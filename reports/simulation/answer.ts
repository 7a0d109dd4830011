/**
 * What a simulation answers: configurations against each other where everything else is the same.
 *
 * @module
 */

import { ratioBand } from "../../models/simulation/ratio_band.ts";
import type { SimulatedRecord } from "../../models/simulation/record.ts";

/** A case with what tells it from the others of its study. */
interface Case extends Pick<SimulatedRecord, "configuration" | "point" | "samplesPerSecond" | "band"> {
  /** Configuration and varied fields. */
  readonly label: string;
}

/** Cases of a study, and the configuration that the others are told against; the fastest where none is named. */
interface Compared {
  readonly name: string;
  readonly cases: readonly Case[];
  readonly baseline?: string;
}

/** `0.2 %`, `11 %`. */
function percent(share: number): string {
  const value = share * 100;
  return value < 0.05 ? "less than 0.1 %" : `${value.toFixed(value < 0.95 ? 1 : 0)} %`;
}

/** Whether two cases cannot be told apart; undefined where one has no band. */
export function bandsOverlap(a: Case, b: Case): boolean | undefined {
  const band = ratioBand(a, b);
  return band === undefined ? undefined : band[0] <= 1 && 1 <= band[1];
}

/** `11 % slower`, `takes 3.20 times as long`. */
function against(one: Case, base: Case): string {
  const times = base.samplesPerSecond / one.samplesPerSecond;
  if (times >= 2) return `takes ${times.toPrecision(3)} times as long`;
  if (times <= 0.5) return `${(1 / times).toPrecision(3)} times as fast`;
  return times === 1 ? "as fast" : times > 1 ? `${percent(1 - 1 / times)} slower` : `${percent(1 / times - 1)} faster`;
}

function sentenceOf({ name, baseline }: Compared, cases: readonly Case[]): string | undefined {
  const sorted = [...cases].sort((a, b) => b.samplesPerSecond - a.samplesPerSecond);
  const base = sorted.find(({ configuration }) => configuration === baseline) ?? sorted[0];
  if (base === undefined || cases.length < 2) return undefined;
  const others = sorted.filter((one) => one !== base);
  const alike = others.filter((one) => bandsOverlap(one, base) === true);
  const apart = others.filter((one) => bandsOverlap(one, base) === false);
  const unknown = others.filter((one) => bandsOverlap(one, base) === undefined);
  const told = (those: readonly Case[]) => those.map((one) => `${one.configuration} ${against(one, base)}`).join(", ");
  const point = base.label.slice(base.configuration.length).trim();
  const fastest = base === sorted[0] ? "has the highest speed" : `is what others are compared with`;
  return [
    `${name}${point === "" ? "" : `, at ${point}`}: ${base.configuration} ${fastest}`,
    ...(apart.length === 0 ? [] : [told(apart)]),
    ...(alike.length === 0 ? [] : [`cannot be told apart, as 90 % bands say: ${told(alike)}`]),
    ...(unknown.length === 0 ? [] : [`without a band to tell: ${told(unknown)}`]),
  ].join("; ");
}

/** One sentence for each study and each of its points that has several configurations. */
export function answersOf(studies: readonly Compared[]): string[] {
  return studies.flatMap((study) => {
    const points = new Map<string, Case[]>();
    for (const one of study.cases) {
      const point = JSON.stringify(Object.entries(one.point).sort());
      points.set(point, [...points.get(point) ?? [], one]);
    }
    return [...points.values()].flatMap((cases) => sentenceOf(study, cases) ?? []);
  });
}
