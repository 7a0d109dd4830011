/**
 * Fits the parameters of media models that say `"fit": true` to the published figures, all media of a family (a model
 * and those that extend it) together. By hand, after a change of the formulas or of the rows:
 * `deno run -A models/media/calibration/fit.ts [family …]`. Deterministic; writes the values into `models/media/`.
 *
 * @module
 */

import { applyEdits, modify } from "../../../base/jsonc_parser.ts";
import { type Media, mediaFileUrl, mediaOptions, parseMedia, shippedMedia } from "../media.ts";
import { loadCalibration } from "./calibration.ts";
import { type CalibrationPoint, pointsOf } from "./points.ts";
import { predict, type Questions, questionsOf } from "./predict.ts";

/** One number that the fit may move: where it is written, and which models it changes. */
export interface FreeParameter {
  /** File of the parameter. */
  readonly file: string;
  /** Where in the file. */
  readonly path: readonly string[];
  /** Its name. */
  readonly key: string;
  /** Platform that it belongs to; undefined: the medium itself. */
  readonly platform: string | undefined;
  /** Its value now. */
  value: number;
}

/** A medium on a platform, and the figures published for them. */
export interface Target {
  readonly media: Media;
  readonly platform: string;
  /** What the native library is given; a fit changes it. */
  readonly options: Record<string, string>;
  readonly questions: Questions;
  /** Of each figure: media with many count little more than those with few. */
  readonly weight: number;
}

/** A number that was taken from rows or derived from them, not fitted. */
interface TakenParameter extends FreeParameter {
  /** Ids of those rows; `*` stands for any text. */
  readonly from: readonly string[];
}

/** A model and all that extend it. */
export interface Family {
  /** Name of the model that extends none. */
  readonly name: string;
  /** What can be moved. */
  readonly free: readonly FreeParameter[];
  /** What was taken from single rows. */
  readonly taken: readonly TakenParameter[];
  /** What is compared. */
  readonly targets: readonly Target[];
}

/** Loss of an error of the logarithm: sources contradict each other, so a large error counts little more than a middling one. */
function lossOf(error: number): number {
  return 0.2 * Math.log1p(Math.abs(error) / 0.2);
}

/** The families of all shipped media, with the figures that belong to them. */
export async function families(points: readonly CalibrationPoint[]): Promise<Family[]> {
  const media = await shippedMedia();
  const root = (m: Media): string => {
    const parent = media.find(({ name }) => name === m.extends);
    return parent === undefined ? m.name : root(parent);
  };
  return await Promise.all(
    media.filter((m) => m.extends === undefined).map(async ({ name }) => {
      const members = media.filter((m) => root(m) === name);
      const targets = members.flatMap((m) => {
        const own = points.filter((point) => point.medium === m.name);
        return [...new Set(own.map((point) => point.platform))].map((platform): Target => {
          const questions = questionsOf(own.filter((point) => point.platform === platform));
          return {
            media: m,
            platform,
            options: mediaOptions(m, platform),
            questions,
            weight: 1 / Math.sqrt(own.length),
          };
        });
      });
      const all = await Promise.all(members.map(async (m) => {
        const file = parseMedia(await Deno.readTextFile(mediaFileUrl(m.name)), m.name);
        const of = (parameters: Media["parameters"], path: string[], platform?: string) =>
          Object.entries(parameters).map(([key, { value, from, fit }]) => ({
            file: m.name,
            path: [...path, key, "value"],
            key,
            platform,
            value,
            from,
            fit: fit === true,
          }));
        const platforms = Object.entries(file.platforms ?? {});
        return [
          ...of(file.parameters, ["parameters"]),
          ...platforms.flatMap(([p, { parameters }]) => of(parameters, ["platforms", p, "parameters"], p)),
        ];
      }));
      const [free, taken] = [true, false].map((fitted) => all.flat().filter(({ fit }) => fit === fitted));
      return { name, free: free ?? [], taken: taken ?? [], targets };
    }),
  );
}

/** Whether a parameter of `file` is what `target` uses: its own file's value hides that of the model it extends. */
export function applies(free: FreeParameter, target: Target, all: readonly FreeParameter[]): boolean {
  if (free.platform !== undefined && free.platform !== target.platform) return false;
  if (free.file === target.media.name) return true;
  const hidden = all.some((other) =>
    other.key === free.key && other.platform === free.platform && other.file === target.media.name
  );
  return !hidden && target.media.extends === free.file;
}

/** Error of each target with the present values; NaN where nothing was touched. */
function total(family: Family, touched?: ReadonlySet<Target>): number[] {
  return family.targets.map((target) => {
    if (touched?.has(target) === false) return NaN;
    const answers = predict(target.options, target.questions);
    let sum = 0;
    target.questions.points.forEach(({ value }, i) => sum += lossOf(Math.log((answers[i] ?? NaN) / value)));
    return sum * target.weight;
  });
}

/** Limits of parameters that have a meaning only between them (native/media/media_options.c). */
export function limit(key: string, value: number): number {
  if (key === "sharpness") return Math.min(12, Math.max(1.5, value));
  if (key.endsWith("duplex")) return Math.min(32, Math.max(0.3, value));
  if (key === "load_shape") return Math.min(0.999, value);
  if (key === "load_power" || key.endsWith("contention")) return Math.min(12, Math.max(1, value));
  if (key.endsWith("_limit")) return Math.min(4, Math.max(1, value));
  if (key.endsWith("_spread")) return Math.min(2.5, Math.max(0.2, value));
  if (key.endsWith("_knee_size")) return Math.min(1, Math.max(0.01, value));
  if (key.endsWith("_in_flight")) return Math.min(100, Math.max(0.2, value));
  return Math.max(value, 1e-3);
}

/** How thorough a fit is. */
export interface FitOptions {
  /** First steps, as shares; each but the last is followed by steps of two parameters of one operation at a time. */
  readonly steps: readonly number[];
  /** Least and most rounds over all parameters with one first step. */
  readonly rounds: readonly [least: number, most: number];
  /** Gain of a round, as a share of the loss, at which to stop. */
  readonly gain: number;
  /** Told of each step. */
  readonly log?: (text: string) => void;
}

/** A fit from anywhere. */
const THOROUGH: FitOptions = { steps: [0.3, 0.15, 0.05], rounds: [13, 80], gain: 1e-5 };

/** Moves one parameter at a time by a factor while that helps, then by smaller factors; then pairs of one operation. */
export function fit(family: Family, { steps: firsts, rounds: [least, most], gain, log }: FitOptions): number {
  const all = [...family.free, ...family.taken];
  const used = new Map(family.free.map((free) => [free, family.targets.filter((t) => applies(free, t, all))]));
  const set = (free: FreeParameter, value: number): void => {
    free.value = value;
    for (const target of used.get(free) ?? []) target.options[free.key] = String(value);
  };
  let losses = total(family);
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  /** Keeps the change of some parameters if it helps. */
  const attempt = (changes: readonly (readonly [FreeParameter, number])[]): boolean => {
    const before = changes.map(([free]) => free.value);
    for (const [free, factor] of changes) set(free, limit(free.key, free.value * factor));
    const touched = new Set(changes.flatMap(([free]) => used.get(free) ?? []));
    const now = total(family, touched).map((loss, i) => Number.isNaN(loss) ? losses[i] ?? 0 : loss);
    if (sum(now) < sum(losses) - 1e-9) {
      losses = now;
      return true;
    }
    changes.forEach(([free], i) => set(free, before[i] ?? free.value));
    return false;
  };
  const each = (first: number): void => {
    const steps = new Map(family.free.map((free) => [free, first]));
    for (let round = 0; round < most; round++) {
      const start = sum(losses);
      for (const free of family.free) {
        const step = steps.get(free) ?? first;
        const moved = attempt([[free, 1 + step]]) || attempt([[free, 1 / (1 + step)]]);
        steps.set(free, moved ? Math.min(0.5, step * 1.6) : Math.max(5e-4, step * 0.45));
      }
      if (round + 1 >= least && start - sum(losses) < gain * start) break;
    }
  };
  const together = (step: number): void => {
    const op = (key: string) => /^(read|write_[a-z]+)_/.exec(key)?.[1];
    for (const [i, a] of family.free.entries()) {
      for (const b of family.free.slice(i + 1)) {
        if (op(a.key) !== op(b.key) && op(a.key) !== undefined && op(b.key) !== undefined) continue;
        for (const [x, y] of [[1 + step, 1 + step], [1 + step, 1 / (1 + step)]] as const) {
          if (attempt([[a, x], [b, y]])) continue;
          attempt([[a, 1 / x], [b, 1 / y]]);
        }
      }
    }
  };
  firsts.forEach((step, i) => {
    each(step);
    if (i < firsts.length - 1) together(step);
    log?.(`${family.name} ${sum(losses).toFixed(4)}`);
  });
  return sum(losses);
}

/** Writes what was fitted into the media files, four digits, leaving comments and layout. */
async function writeFit(family: Family): Promise<void> {
  for (const file of new Set(family.free.map((free) => free.file))) {
    const url = mediaFileUrl(file);
    let text = await Deno.readTextFile(url);
    for (const free of family.free.filter((f) => f.file === file)) {
      const edits = modify(text, [...free.path], Number(free.value.toPrecision(4)), {});
      text = applyEdits(text, edits);
    }
    await Deno.writeTextFile(url, text);
  }
}

if (import.meta.main) {
  const points = pointsOf(await loadCalibration());
  for (const family of await families(points)) {
    if (family.free.length === 0 || Deno.args.length > 0 && !Deno.args.includes(family.name)) continue;
    const loss = fit(family, { ...THOROUGH, log: (text) => console.log(text) });
    await writeFit(family);
    console.log(`${family.name}: ${family.free.length} parameters, loss ${loss.toFixed(4)}`);
  }
}
