/**
 * Leave one curve out: every published curve predicted by a model that never saw it. For each curve the parameters that
 * move its figures are fitted again to the other curves of the family, starting elsewhere: the shipped values have seen the curve. What comes out,
 * `models/media/calibration/left-out.json`, is what error bands are made of (jackknife; Barber et al. 2021, "Predictive inference
 * with the jackknife+"). `tierbench validate-models --leave-out` makes it, in minutes.
 *
 * @module
 */

import {
  applies,
  boundsOf,
  families,
  type Family,
  fit,
  type FitOptions,
  type FreeParameter,
  type Target,
} from "./fit.ts";
import type { CalibrationPoint } from "./points.ts";
import { predict, questionsOf } from "./predict.ts";

const FILE = new URL("./left-out.json", import.meta.url);

/** `models/media/calibration/left-out.json`. */
export interface LeftOut {
  /** Day on which it was made. */
  readonly made: string;
  /** Of the models and figures that it was made of: {@linkcode modelsDigest}. */
  readonly digest: string;
  /** Curves left out, one after the other. */
  readonly curves: number;
  /** ln(prediction / published), by row. */
  readonly errors: Readonly<Record<string, number>>;
  /** Rows that a parameter was taken from: they can be no test of the model. */
  readonly given: readonly string[];
  /** Rows that depend on a parameter of which no other curve tells. */
  readonly alone: readonly string[];
}

/** What one curve came to, by row. */
type LeftOutCurve = Pick<LeftOut, "errors" | "given" | "alone">;

/** What was set up, not found by measuring the rows. */
const SET_UP = new Set(["granule", "line", "modules", "chunk", "power_w", "rated_w", "queued", "capacity", "cores"]);

/** Starts elsewhere: the shipped values have seen the curve. */
const ELSEWHERE: FitOptions = { elsewhere: 1, rounds: 25 };

/** A parameter is moved by this to see what depends on it, and a figure that moves by less than so much does not. */
const NUDGE = 0.05, MOVED = 1e-3;

const curveOf = ({ medium, curve }: CalibrationPoint): string => `${medium}/${curve}`;

/** All curves of a family, by medium and name. */
export function curvesOf(family: Family): string[] {
  return [...new Set(family.targets.flatMap(({ questions }) => questions.points.map(curveOf)))];
}

function matches(pattern: string, id: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(id);
}

/** The targets with only the points that `keep` takes; options are copies. */
function targetsOf(family: Family, keep: (point: CalibrationPoint) => boolean): Target[] {
  return family.targets.map((target) => {
    const points = target.questions.points.filter(keep);
    return { ...target, options: { ...target.options }, questions: questionsOf(points) };
  });
}

/** Ids of the points that a parameter moves. */
function movedBy(parameter: FreeParameter, targets: readonly Target[], all: readonly FreeParameter[]): Set<string> {
  const moved = new Set<string>();
  for (const target of targets) {
    if (target.questions.points.length === 0 || !applies(parameter, target, all)) continue;
    const before = predict(target.options, target.questions).slice();
    for (const factor of [1 + NUDGE, 1 / (1 + NUDGE)]) {
      const [least, most] = boundsOf(parameter);
      const value = String(Math.min(most, Math.max(least, parameter.value * factor)));
      const after = predict({ ...target.options, [parameter.key]: value }, target.questions);
      target.questions.points.forEach(({ id }, i) => {
        if (Math.abs((after[i] ?? NaN) / (before[i] ?? NaN) - 1) > MOVED) moved.add(id);
      });
    }
  }
  return moved;
}

/**
 * Fits a family without one of its curves and predicts that.
 *
 * @param family Of {@linkcode families}; it is not changed.
 * @param curve Of {@linkcode curvesOf}.
 */
export function leaveOutCurve(family: Family, curve: string): LeftOutCurve {
  const rest = targetsOf(family, (point) => curveOf(point) !== curve);
  const left = targetsOf(family, (point) => curveOf(point) === curve);
  const points = left.flatMap(({ questions }) => questions.points);
  const all = [...family.free, ...family.taken];
  const given = new Set<string>(), alone = new Set<string>();
  const free: FreeParameter[] = [];
  const taken = family.taken.filter(({ key, from }) =>
    !SET_UP.has(key) && points.some(({ id }) => from.some((row) => matches(row, id)))
  );
  for (const parameter of [...family.free, ...taken]) {
    const moved = movedBy(parameter, left, all);
    if (moved.size === 0) continue;
    if ("from" in parameter && taken.some((one) => one === parameter)) {
      for (const row of (parameter as typeof taken[number]).from) if (moved.has(row)) given.add(row);
    }
    if (movedBy(parameter, rest, all).size > 0) free.push({ ...parameter });
    else for (const id of moved) alone.add(id);
  }
  // The copies stand for their originals, so that a model's own value still hides that of the model it extends.
  const others = [...family.free, ...family.taken].filter((one) =>
    !free.some((f) => f.file === one.file && f.path.join() === one.path.join())
  );
  fit({ ...family, free, taken: others.map((one) => ({ from: [], ...one })), targets: rest }, ELSEWHERE);
  const errors: Record<string, number> = {};
  for (const target of left) {
    const fitted = rest.find(({ media, platform }) => media === target.media && platform === target.platform);
    const answers = predict(fitted?.options ?? target.options, target.questions);
    target.questions.points.forEach(({ id, value }, i) => {
      if (!given.has(id) && !alone.has(id)) errors[id] = Number(Math.log((answers[i] ?? NaN) / value).toFixed(4));
    });
  }
  return { errors, given: [...given], alone: [...alone].filter((id) => !given.has(id)) };
}

/** Of the models that have figures, and those figures: when it changes, curves have to be left out again. */
export async function modelsDigest(points: readonly CalibrationPoint[]): Promise<string> {
  const compared = (await families(points)).filter(({ targets }) => targets.length > 0);
  const all = compared.map(({ name, free, taken, targets }) => [
    name,
    [...free, ...taken].map(({ file, path, value }) => [file, path, value]),
    free.length,
    targets.map(({ media, platform, questions }) => [
      media.name,
      platform,
      questions.points.map(({ id, curve, value }) => [id, curve, value]),
    ]),
    // Nine digits of what the formulas say.
    targets.map(({ options, questions }) => [...predict(options, questions)].map((answer) => answer.toPrecision(9))),
  ]);
  const bytes = new TextEncoder().encode(JSON.stringify(all));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Leaves out every curve of every family, one after the other. */
export async function leaveOutAll(
  points: readonly CalibrationPoint[],
  made: string,
  log?: (text: string) => void,
): Promise<LeftOut> {
  const found: LeftOutCurve[] = [];
  for (const family of await families(points)) {
    const curves = curvesOf(family);
    for (const curve of curves) found.push(leaveOutCurve(family, curve));
    if (curves.length > 0) log?.(`${family.name}: ${curves.length} curves`);
  }
  return {
    made,
    digest: await modelsDigest(points),
    curves: found.length,
    errors: Object.assign({}, ...found.map(({ errors }) => errors)),
    given: found.flatMap(({ given }) => given),
    alone: found.flatMap(({ alone }) => alone),
  };
}

/** What was left out last. */
export async function loadLeftOut(): Promise<LeftOut> {
  return JSON.parse(await Deno.readTextFile(FILE)) as LeftOut;
}

/** The file's text. */
export function leftOutText(leftOut: LeftOut): string {
  return `${JSON.stringify(leftOut, undefined, 2)}\n`;
}
