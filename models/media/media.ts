/**
 * Media models: what a medium that is not here would cost. One file a medium in `models/media/`, every number with
 * the published rows it comes from (`models/media/calibration/calibration.csv`). The formulas are those of `native/media/media.h`,
 * which names the parameters; how far to trust them: `docs/accuracy.md`.
 *
 * @module
 */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ScenarioError } from "../../base/diagnostics.ts";
import { parseDocument } from "../../base/document.ts";
import { isPathWord, wordAt } from "../../base/path_word.ts";
import { readUserText } from "../../base/user_file.ts";
import { shownName } from "../../base/names.ts";
import * as v from "../../base/valibot.ts";
import { validate } from "../../base/validate.ts";
import { nearest } from "../../base/nearest.ts";
import { type Measured, measuredSchema } from "./measured.ts";

const FOLDER = new URL("./", import.meta.url);

const parameter = v.pipe(
  v.strictObject({
    value: v.pipe(v.number(), v.minValue(0)),
    low: v.optional(v.pipe(v.number(), v.minValue(0))),
    high: v.optional(v.pipe(v.number(), v.minValue(0))),
    from: v.array(v.string()),
    how: v.optional(v.string()),
    fit: v.optional(v.boolean()),
    least: v.optional(v.number()),
    most: v.optional(v.number()),
  }),
  v.check(
    ({ value, low = value, high = value }) => low <= value && value <= high,
    "expected low, value and high in this order",
  ),
  v.check(
    ({ low, high }) => (low === undefined) === (high === undefined) && (low === undefined || low !== high),
    "expected both ends of an interval with a width, or none",
  ),
);

const parameters = v.record(v.string(), parameter);

const mediaSchema = v.strictObject({
  name: shownName,
  about: v.string(),
  kind: v.optional(v.picklist(["pmem", "cxl", "dram", "ssd", "hbm", "link", "cpu"])),
  extends: v.optional(v.string()),
  cpu: v.optional(v.string()),
  without: v.optional(v.array(v.string())),
  fittedWith: v.optional(v.string()),
  parameters,
  platforms: v.optional(v.record(v.string(), v.strictObject({ about: v.string(), parameters }))),
  measured: v.optional(measuredSchema),
});

/** A number with the rows of `calibration.csv` it is taken from, derived from, or fitted to. */
interface MediaParameter {
  /** In ns, bytes, bytes/s or without unit, as `native/media/media.h` says. */
  readonly value: number;
  /** Low end of its 90 % interval, of a medium that was measured on a machine of the user's. */
  readonly low?: number | undefined;
  /** High end of it. */
  readonly high?: number | undefined;
  /** Ids of rows; `*` stands for any text. */
  readonly from: readonly string[];
  /** How it follows from them; without it, the value is that of the one row. */
  readonly how?: string | undefined;
  /** Whether `models/media/calibration/fit.ts` may move it. */
  readonly fit?: boolean | undefined;
  /** Least that a fit may give: what a datasheet or the nature of the thing rules out lies below. */
  readonly least?: number | undefined;
  /** Most that a fit may give: a datasheet's rate, for one. */
  readonly most?: number | undefined;
}

/** Parameters by their names in `native/media/media.h`, without prefix. */
type MediaParameters = Readonly<Record<string, MediaParameter>>;

/** One machine on which the medium was measured, and in what it differs from the others: at most a factor. */
interface MediaPlatform {
  /** Which machine or source. */
  readonly about: string;
  /** What is put over the medium's parameters. */
  readonly parameters: MediaParameters;
}

/** What a medium is made of; `cpu`: a file of what belongs to the cores that use media. */
type MediaKind = "pmem" | "cxl" | "dram" | "ssd" | "hbm" | "link" | "cpu";

/** A media model. */
export interface Media {
  /** Name of its file. */
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** What it is made of. */
  readonly kind: Exclude<MediaKind, "cpu">;
  /** The model whose parameters it starts from. */
  readonly extends?: string | undefined;
  /** The CPU whose parameters are under its own: the one it was measured with, or the one that was asked for. */
  readonly cpu?: string | undefined;
  /** Those of the CPU, of the model that it extends, and its own, each over the ones before. */
  readonly parameters: MediaParameters;
  /** Machines it was measured on. */
  readonly platforms: Readonly<Record<string, MediaPlatform>>;
  /** The user's machine that it was measured on; absent of a model of published figures. */
  readonly measured?: Measured | undefined;
}

/** A media file as written. */
interface MediaFile {
  /** Name of the file. */
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** What the medium is made of; that of the model it extends, if absent. */
  readonly kind?: MediaKind | undefined;
  /** The model whose parameters it starts from. */
  readonly extends?: string | undefined;
  /** The CPU it was measured with: a file of kind `cpu`; that of the model it extends, if absent. */
  readonly cpu?: string | undefined;
  /** Beginnings of names of parameters that it does not take over from the model it extends. */
  readonly without?: readonly string[] | undefined;
  /** Of a CPU: the medium that its numbers are fitted with; with other media they stay as they are. */
  readonly fittedWith?: string | undefined;
  /** Its own parameters. */
  readonly parameters: MediaParameters;
  /** Machines it was measured on. */
  readonly platforms?: Readonly<Record<string, MediaPlatform>> | undefined;
  /** The user's machine that it was measured on. */
  readonly measured?: Measured | undefined;
}

/** A media model that is not there or is not valid. */
export class MediaError extends Error {
  /** Name of the class. */
  override readonly name = "MediaError";
}

/** What the names of files of kind `cpu` begin with. */
const CPU = "cpu-";

async function shippedNames(cpus: boolean): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(FOLDER)) {
    if (!entry.isFile || !entry.name.endsWith(".jsonc") || entry.name.startsWith(CPU) !== cpus) continue;
    names.push(entry.name.slice(0, -".jsonc".length));
  }
  return names.sort();
}

/** Names of the media models there are, sorted. */
export function listMedia(): Promise<string[]> {
  return shippedNames(false);
}

/** Names of the CPUs that media can be used with, sorted. */
export function listCpus(): Promise<string[]> {
  return shippedNames(true);
}

/** The shipped media models, sorted by name. */
export async function shippedMedia(): Promise<Media[]> {
  return await Promise.all((await listMedia()).map((name) => loadMedia(name)));
}

/** Ways in which a medium is written, as the parameters of its model name them. */
export type MediaStore = "cached" | "nt" | "flush";

const STORES: readonly MediaStore[] = ["cached", "nt", "flush"];

/** How a medium may be written: the stores that its model has parameters for. */
export function storesOf({ parameters }: Media): ReadonlySet<MediaStore> {
  return new Set(STORES.filter((store) => parameters[`write_${store}_bandwidth`] !== undefined));
}

/** Media that a document can name, and how each may be written. */
export type KnownMedia = ReadonlyMap<string, ReadonlySet<MediaStore>>;

/** The media models there are, sorted by name, and how each may be written. */
export async function mediaStores(): Promise<KnownMedia> {
  return new Map((await shippedMedia()).map((media) => [media.name, storesOf(media)]));
}

/** Whether a document says that it is of a kind. */
function isKind(document: unknown, kind: string): boolean {
  return typeof document === "object" && document !== null && "kind" in document && document.kind === kind;
}

/** Where the file of a media model is. */
export function mediaFileUrl(name: string): URL {
  return new URL(`${name}.jsonc`, FOLDER);
}

/**
 * Reads a media model's file from its text; what it extends is not looked up.
 *
 * @param text JSONC.
 * @param source What to call it in errors.
 * @throws {MediaError} if it is no JSONC or no media model.
 */
export function parseMedia(text: string, source: string): MediaFile {
  try {
    return parseDocument(text, source, "a media model", (written) => {
      if (isKind(written, "software")) {
        return [{
          path: ["kind"],
          message: 'expected a medium, found "software": prices, which a field "software" takes',
        }];
      }
      const found = validate(mediaSchema, written);
      return "problems" in found ? found.problems : [];
    }) as MediaFile;
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    throw new MediaError(`Cannot read the media model: ${error.message}`, { cause: error });
  }
}

/**
 * Loads a media model: a shipped one by its name, or one of the user's by the path of its file.
 *
 * @param word A name, e.g. `optane-100-6x256`, or a path: with a slash, or ending in `.jsonc` or `.json`.
 * @param directory Where a relative path starts. Default: the working directory.
 * @throws {MediaError} naming the models there are; or if the file is no media model.
 * @throws {Deno.errors.NotFound} if there is no file of that path.
 *
 * @example
 * ```ts
 * import { loadMedia } from "./media.ts";
 *
 * const media = await loadMedia("optane-100-6x256");
 * console.log(media.parameters["read_latency_ns"]?.value); // 305
 * ```
 */
export async function loadMedia(word: string, directory: string = Deno.cwd()): Promise<Media> {
  return await withCpu(await loadExtending(wordAt(word, directory), []));
}

/**
 * Loads a media model as another CPU would find it: lines in flight, what prefetchers waste, fences and flushes, hops.
 *
 * @param word As of {@linkcode loadMedia}.
 * @param cpu A name of {@linkcode listCpus}, or a path.
 * @param directory Where relative paths start. Default: the working directory.
 * @throws {MediaError} as {@linkcode loadMedia}, of either.
 */
export async function loadMediaOn(word: string, cpu: string, directory: string = Deno.cwd()): Promise<Media> {
  return await withCpu({ ...await loadExtending(wordAt(word, directory), []), cpu: wordAt(cpu, directory) });
}

async function withCpu(media: Media): Promise<Media> {
  if (media.cpu === undefined) return media;
  const { parameters } = await loadCpu(media.cpu);
  // How a CPU flushes says nothing of a medium whose file does not know flushes.
  const usable = Object.entries(parameters).filter(([key]) => {
    const operation = /^(read|write_(?:nt|cached|flush))_/.exec(key)?.[1];
    return operation === undefined || media.parameters[`${operation}_latency_ns`] !== undefined;
  });
  return { ...media, parameters: { ...Object.fromEntries(usable), ...media.parameters } };
}

/** What a CPU adds to the media that are used with it: a name of {@linkcode listCpus}, or a path. */
export async function loadCpu(word: string): Promise<MediaFile> {
  const path = isPathWord(word) ? word : shippedPath(word, "CPU", await listCpus());
  const file = parseMedia(await readUserText(path, "media"), isPathWord(word) ? word : `"${word}"`);
  if (file.kind !== "cpu") {
    throw new MediaError(`Cannot read CPU "${word}": kind: expected "cpu", found "${file.kind ?? "none"}"`);
  }
  return file;
}

/** Bytes of so many of a medium; undefined where its file does not say. */
export function mediaCapacity({ parameters }: Media, devices: number = 1): number | undefined {
  const capacity = parameters["capacity"]?.value;
  return capacity === undefined ? undefined : capacity * devices;
}

/** Loads a model that those before it extend. */
async function loadExtending(word: string, before: readonly string[]): Promise<Media> {
  if (before.includes(word)) {
    throw new MediaError(`Cannot read the media model: "${word}": extends: expected another model, found itself`);
  }
  const path = isPathWord(word) ? word : shippedPath(word, "media model", await listMedia());
  const file = parseMedia(await readUserText(path, "media"), isPathWord(word) ? word : `"${word}"`);
  const parent = file.extends === undefined ? undefined : wordAt(file.extends, dirname(path));
  const base = parent === undefined ? undefined : await loadExtending(parent, [...before, word]);
  const kind = file.kind ?? base?.kind;
  if (kind === undefined) throw new MediaError(`Cannot read media model "${word}": kind: missing`);
  if (kind === "cpu") throw new MediaError(`Cannot read media model "${word}": kind: expected a medium, found a CPU`);
  const inherited = Object.entries(base?.parameters ?? {}).filter(([key]) =>
    !(file.without ?? []).some((start) => key.startsWith(start))
  );
  return {
    name: file.name,
    about: file.about,
    kind,
    extends: file.extends,
    cpu: file.cpu === undefined ? base?.cpu : wordAt(file.cpu, dirname(path)),
    parameters: { ...Object.fromEntries(inherited), ...file.parameters },
    platforms: { ...base?.platforms, ...file.platforms },
    ...(file.measured === undefined ? {} : { measured: file.measured }),
  };
}

function shippedPath(name: string, what: string, known: readonly string[]): string {
  if (known.includes(name)) return fileURLToPath(mediaFileUrl(name));
  const near = nearest(name, known);
  const hint = near === undefined ? "" : `, did you mean "${near}"?`;
  const names = known.join(", ");
  throw new MediaError(
    `Cannot load ${what} "${name}": there is no such ${what === "CPU" ? "CPU" : "model"}${
      hint === "" ? ";" : hint
    } known: ${names}; or give the path of a .jsonc file`,
  );
}

/**
 * A model's parameters as the native library reads them, without prefix.
 *
 * @param media The model.
 * @param platform One of its platforms; a name that the model does not have changes nothing.
 */
export function mediaOptions(media: Media, platform?: string): Record<string, string> {
  const own = platform === undefined ? undefined : media.platforms[platform];
  const options: Record<string, string> = { medium: media.name };
  for (const [key, { value }] of Object.entries({ ...media.parameters, ...own?.parameters })) {
    options[key] = String(value);
  }
  return options;
}

/** How a media model is used by the native library. */
interface MediaUse {
  /** `emulate`: rows are read and written in place. `memory_mode`: behind a modelled DRAM cache. */
  readonly prefix: "emulate" | "memory_mode";
  /** Threads that use the medium at the same time. */
  readonly threads: number;
  /** Bytes of the DRAM cache; needed with `memory_mode`. */
  readonly cacheBytes?: number;
  /** Seed of the placement of pages in that cache. */
  readonly seed?: number | bigint;
}

/**
 * The options of `ts_store_open` (`native/emulation/emulation.h`) that make a store as slow as the medium.
 *
 * @throws {RangeError} if `threads` is no positive whole number, or `memory_mode` has no `cacheBytes`.
 * @throws {MediaError} if the model has no parameters for what a store does: loads, non-temporal and cached stores.
 */
export function mediaNativeOptions(media: Media, use: MediaUse): Record<string, string> {
  const { prefix, threads, cacheBytes, seed } = use;
  if (!Number.isSafeInteger(threads) || threads < 1) {
    throw new RangeError(`Cannot use media model "${media.name}": threads must be 1 or more: current is ${threads}`);
  }
  for (const op of prefix === "emulate" ? ["read", "write_nt", "write_cached"] : ["read", "write_cached"]) {
    if (media.parameters[`${op}_bandwidth`] === undefined) {
      throw new MediaError(`Cannot emulate media model "${media.name}": it has no parameter ${op}_bandwidth`);
    }
  }
  const options: Record<string, string> = { [`${prefix}.threads`]: String(threads) };
  for (const [key, value] of Object.entries(mediaOptions(media))) {
    // Stores flush nothing line by line, and rows fall on regions too large to be kept near.
    if (!/^write_flush_|_buffer|_media_ns$|_combine$/.test(key)) options[`${prefix}.${key}`] = value;
  }
  if (prefix === "memory_mode") {
    if (cacheBytes === undefined) {
      throw new RangeError(`Cannot model Memory Mode over "${media.name}": the bytes of its DRAM cache are missing`);
    }
    options["memory_mode.cache_bytes"] = String(cacheBytes);
    options["memory_mode.seed"] = String(seed ?? 0);
  }
  return options;
}
