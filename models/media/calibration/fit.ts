/**
 * Fits the parameters of media models that say `"fit": true` to the published figures, all media of a family (a model
 * and those that extend it) together. By hand, after a change of the formulas or of the rows:
 * `deno run -A models/media/calibration/fit.ts [family …]`. Deterministic; writes the values into `models/media/`.
 *
 * @module
 */

import { MediaModel } from "../../../ffi/media.ts";
import { applyEdits, modify } from "../../../base/jsonc_parser.ts";
import { listCpus, loadCpu, type Media, mediaFileUrl, mediaOptions, parseMedia, shippedMedia } from "../media.ts";
import { loadCalibration } from "./calibration.ts";
import { type CalibrationPoint, pointsOf } from "./points.ts";
import { leastSquares } from "./least_squares.ts";
import { answersOf, type Questions, questionsOf } from "./predict.ts";

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
  /** Least and most that a datasheet or the nature of the thing allows, if the file says. */
  readonly least?: number | undefined;
  readonly most?: number | undefined;
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

/** The families of all shipped media, with the figures that belong to them. */
export async function families(points: readonly CalibrationPoint[]): Promise<Family[]> {
  const media = await shippedMedia();
  const cpus = await Promise.all((await listCpus()).map((name) => loadCpu(name)));
  const root = (m: Media): string => {
    const parent = media.find(({ name }) => name === m.extends);
    return parent === undefined ? m.name : root(parent);
  };
  return await Promise.all(
    media.filter((m) => m.extends === undefined).map(async ({ name }) => {
      // What nobody has measured takes no part in a fit: a host's memory behind a GPU's link is derived from its family.
      const members = media.filter((m) =>
        root(m) === name && (m.name === name || points.some(({ medium }) => medium === m.name))
      );
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
      // A CPU's numbers are moved by one family; to the others they are given.
      const own = cpus.filter(({ fittedWith }) => members.some((m) => m.name === fittedWith)).map((cpu) => cpu.name);
      const all = await Promise.all([...members.map((m) => m.name), ...own].map(async (member) => {
        const file = parseMedia(await Deno.readTextFile(mediaFileUrl(member)), member);
        const of = (parameters: Media["parameters"], path: string[], platform?: string) =>
          Object.entries(parameters).map(([key, { value, from, fit, least, most }]) => ({
            file: member,
            path: [...path, key, "value"],
            key,
            platform,
            value,
            from,
            least,
            most,
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
  // Files from the bottom to the top: the topmost that has the parameter is what counts.
  if (!(free.key in target.options)) return false;
  const files = [target.media.cpu, target.media.extends, target.media.name];
  const at = files.indexOf(free.file);
  if (at < 0) return false;
  return !all.some((other) =>
    other.key === free.key && other.platform === free.platform && files.indexOf(other.file) > at
  );
}

/** A family whose numbers can be moved without moving the first's. */
function copyOf(family: Family): Family {
  return {
    ...family,
    free: family.free.map((one) => ({ ...one })),
    targets: family.targets.map((target) => ({ ...target, options: { ...target.options } })),
  };
}

/** Limits of a number: those that its file says a datasheet sets, else those of its kind. */
export function boundsOf({ key, least, most }: FreeParameter): readonly [number, number] {
  const [low, high] = kindBounds(key);
  return [least ?? low, most ?? high];
}

/** Where numbers of a kind have a meaning; a core has 10 to 16 buffers for lines that it loads. */
function kindBounds(key: string): readonly [number, number] {
  if (key === "sharpness") return [1.5, 12];
  if (key === "duplex") return [0.5, 1];
  if (key === "hop_duplex") return [0.5, 16];
  if (key === "crowding") return [0.5, 8];
  if (key === "speed" || key === "latency_scale") return [0.5, 2];
  if (key.endsWith("contention")) return [1, 6];
  if (key.endsWith("_limit")) return [1, 4];
  if (key.endsWith("_spread")) return [0.2, 1.5];
  if (key.endsWith("_knee_size")) return [0.01, 1];
  if (key.endsWith("_knee")) return [0.5, 200];
  if (key.endsWith("_depth")) return [1, 64];
  if (key === "read_in_flight") return [4, 20];
  if (key.endsWith("_in_flight")) return [0.5, 24];
  if (key.endsWith("overhead_bytes")) return [0.01, 65536];
  if (key === "prefetch_bytes") return [0.01, 256];
  if (key === "prefetch_lines") return [0.1, 32];
  if (key.startsWith("load_")) return [1e-3, 4];
  return [1e-3, Infinity];
}

/** How thorough a fit is. */
export interface FitOptions {
  /** Starts: the values as they are, if 0; else so many at values between half and twice of them, drawn by the seed. */
  readonly elsewhere: number;
  /** Steps of each at most. */
  readonly rounds: number;
  /** Of the starts. */
  readonly seed?: number;
}

/** Repeatable numbers from 0 to 1. */
function drawn(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 >>> 0;
    return (Math.imul(state ^ (state >>> 12), 0x297a2d39) >>> 0) / 2 ** 32;
  };
}

/** Fits the free numbers to the figures and leaves them and the targets' options at the best; tells the loss. */
export function fit(family: Family, { elsewhere, rounds, seed = 1 }: FitOptions): number {
  const all = [...family.free, ...family.taken];
  const targets = family.targets.filter(({ questions }) => questions.points.length > 0);
  const used = family.free.map((free) => targets.map((t) => applies(free, t, all)));
  const starts = targets.map((_, i) => targets.slice(0, i).reduce((sum, t) => sum + t.questions.points.length, 0));
  const count = targets.reduce((sum, { questions }) => sum + questions.points.length, 0);
  using open = new DisposableStack();
  const models = targets.map(({ options }) => open.use(new MediaModel(options)));
  const weights = new Float64Array(count), out = new Float64Array(count);
  targets.forEach((t, i) => weights.fill(t.weight, starts[i], (starts[i] ?? 0) + t.questions.points.length));
  const set = (i: number, value: number): void =>
    targets.forEach((t, k) => {
      const free = family.free[i];
      const text = String(value);
      if (free === undefined || used[i]?.[k] !== true || t.options[free.key] === text) return;
      t.options[free.key] = text;
      models[k]?.set(free.key, text);
    });
  const errors = (values: readonly number[], changed?: number, known?: Float64Array): Float64Array => {
    if (known !== undefined) out.set(known);
    values.forEach((value, i) => set(i, value));
    targets.forEach((target, k) => {
      if (changed !== undefined && used[changed]?.[k] !== true) return;
      const model = models[k], at = starts[k] ?? 0;
      if (model === undefined) return;
      const answers = answersOf(model, target.questions);
      target.questions.points.forEach(({ value }, i) => out[at + i] = Math.log((answers[i] ?? NaN) / value));
    });
    return out.slice();
  };
  const bounds = family.free.map(boundsOf), random = drawn(seed);
  const begin = family.free.map(({ value }) => value);
  const fits = Array.from({ length: Math.max(1, elsewhere) }, () => {
    const start = elsewhere === 0 ? begin : begin.map((value) => value * 2 ** (2 * random() - 1));
    return leastSquares({ start, bounds, weights, errors }, rounds);
  });
  const best = fits.reduce((a, b) => b.loss < a.loss ? b : a);
  errors(best.values);
  family.free.forEach((free, i) => free.value = best.values[i] ?? free.value);
  return best.loss;
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
    // From the shipped values and from elsewhere: a lower loss from elsewhere says that the first was a local one.
    const loss = Math.min(
      fit(family, { elsewhere: 0, rounds: 60 }),
      ...[1, 2, 3].map((seed) => {
        const other = copyOf(family);
        const found = fit(other, { elsewhere: 1, rounds: 60, seed });
        console.log(`${family.name}: start ${seed}, loss ${found.toFixed(4)}`);
        if (found < fit(family, { elsewhere: 0, rounds: 0 })) {
          family.free.forEach((free, i) => free.value = other.free[i]?.value ?? free.value);
        }
        return found;
      }),
    );
    await writeFit(family);
    console.log(`${family.name}: ${family.free.length} parameters, loss ${loss.toFixed(4)}`);
  }
}
