/**
 * Media models: what a medium that is not here would cost. One file a medium in `scenarios/media/`, every number with
 * the published rows it comes from (`scenarios/media/calibration.csv`). How the numbers are used and how far to trust
 * them: `docs/emulation.md`.
 *
 * @module
 */

import { parse, type ParseError, printParseErrorCode } from "./jsonc_parser.ts";
import * as v from "./valibot.ts";
import { nearest } from "../ffi/nearest.ts";

const FOLDER = new URL("./media/", import.meta.url);

/** Bytes a second in one unit of the sources: theirs differ, see `calibration.csv`. */
export const BANDWIDTH_UNITS: Readonly<Record<"MiB/s" | "GiB/s" | "GB/s", number>> = {
  "MiB/s": 2 ** 20,
  "GiB/s": 2 ** 30,
  "GB/s": 1e9,
};

const quantity = v.strictObject({
  value: v.pipe(v.number(), v.minValue(0.001)),
  from: v.pipe(v.array(v.string()), v.minLength(1)),
  how: v.optional(v.string()),
});

const point = v.strictObject({
  threads: v.pipe(v.number(), v.integer(), v.minValue(1)),
  value: v.pipe(v.number(), v.minValue(0.001)),
});

const bandwidth = v.strictObject({
  unit: v.picklist(["MiB/s", "GiB/s", "GB/s"]),
  from: v.pipe(v.string(), v.includes("{threads}")),
  factor: v.optional(v.pipe(v.number(), v.minValue(0.001))),
  how: v.optional(v.string()),
  points: v.pipe(
    v.array(point),
    v.minLength(1),
    v.check(
      (points) => points.every((p, i) => i === 0 || p.threads > (points[i - 1]?.threads ?? 0)),
      "expected points in the order of their threads",
    ),
  ),
});

const operation = v.strictObject({
  latencyNs: quantity,
  nextLatencyNs: quantity,
  inFlight: quantity,
  bandwidth,
});

const mediaSchema = v.strictObject({
  name: v.string(),
  about: v.string(),
  kind: v.picklist(["pmem", "cxl", "dram"]),
  granuleBytes: quantity,
  read: operation,
  writeNt: operation,
  writeCached: operation,
});

/** A number with the rows of `calibration.csv` it is taken from or, with `how`, derived from. */
export interface MediaQuantity {
  /** In the unit that the field is named after. */
  readonly value: number;
  /** Ids of rows. */
  readonly from: readonly string[];
  /** How it follows from them; without it, the value is that of the one row. */
  readonly how?: string | undefined;
}

/** A published curve: all threads together, granule-sized random accesses. */
export interface MediaBandwidth {
  /** Unit of the published values. */
  readonly unit: "MiB/s" | "GiB/s" | "GB/s";
  /** Row ids, with `{threads}` for the number of threads. */
  readonly from: string;
  /** What the published values are multiplied by, and why. */
  readonly factor?: number | undefined;
  /** Why there is a factor. */
  readonly how?: string | undefined;
  /** Published values by number of threads, ascending. */
  readonly points: readonly { readonly threads: number; readonly value: number }[];
}

/** One way to reach a medium. Latencies in nanoseconds, idle. */
export interface MediaOperation {
  /** Of a random cache line. */
  readonly latencyNs: MediaQuantity;
  /** Of every further line of the same access. */
  readonly nextLatencyNs: MediaQuantity;
  /** Cache lines a core keeps in flight (Little's law). */
  readonly inFlight: MediaQuantity;
  /** Of all threads together. */
  readonly bandwidth: MediaBandwidth;
}

/** A media model. */
export interface Media {
  /** Name of its file. */
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** What it is made of. */
  readonly kind: "pmem" | "cxl" | "dram";
  /** Bytes the medium reads or writes at once. */
  readonly granuleBytes: MediaQuantity;
  /** Random loads. */
  readonly read: MediaOperation;
  /** Non-temporal stores, as libpmem's copies use them. */
  readonly writeNt: MediaOperation;
  /** Ordinary stores, written back from the CPU cache line by line. */
  readonly writeCached: MediaOperation;
}

/** A media model that is not there or is not valid. */
export class MediaError extends Error {
  /** Name of the class. */
  override readonly name = "MediaError";
}

/** Names of the media models there are, sorted. */
export async function listMedia(): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(FOLDER)) {
    if (entry.isFile && entry.name.endsWith(".jsonc")) names.push(entry.name.slice(0, -".jsonc".length));
  }
  return names.sort();
}

/**
 * Reads a media model from the text of its file.
 *
 * @param text JSONC.
 * @param source What to call it in errors.
 * @throws {MediaError} if it is no JSONC or no media model.
 */
export function parseMedia(text: string, source: string): Media {
  const errors: ParseError[] = [];
  const document: unknown = parse(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new MediaError(`Cannot read media model ${source}: line ${line}: ${printParseErrorCode(first.error)}`);
  }
  const result = v.safeParse(mediaSchema, document);
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw new MediaError(`Cannot read media model ${source}: ${v.getDotPath(issue) ?? "document"}: ${issue.message}`);
}

/**
 * Loads a shipped media model.
 *
 * @param name Its name, e.g. `optane-100-6x256`.
 * @throws {MediaError} naming the models there are.
 *
 * @example
 * ```ts
 * import { loadMedia } from "./media.ts";
 *
 * const media = await loadMedia("optane-100-6x256");
 * console.log(media.read.latencyNs.value); // 305
 * ```
 */
export async function loadMedia(name: string): Promise<Media> {
  const known = await listMedia();
  if (!known.includes(name)) {
    const near = nearest(name, known);
    const hint = near === undefined ? "" : `, did you mean "${near}"?`;
    throw new MediaError(`Cannot load media model "${name}": there is no such model${hint} Known: ${known.join(", ")}`);
  }
  return parseMedia(await Deno.readTextFile(new URL(`${name}.jsonc`, FOLDER)), `"${name}"`);
}

/**
 * What the medium can do with this many threads, bytes a second: the highest figure published for that many or more,
 * with straight lines between published points. Fewer threads than the peak are limited by their cores, which the
 * model counts elsewhere; more threads than the peak get in each other's way, which is the medium's.
 */
export function bandwidthAt(curve: MediaBandwidth, threads: number): number {
  const { points } = curve;
  let here = points.at(-1)?.value ?? 0;
  for (let i = 0; i < points.length; i++) {
    const [low, high] = [points[i - 1], points[i]];
    if (high === undefined || high.threads < threads) continue;
    here = low === undefined
      ? high.value
      : low.value + (high.value - low.value) * (threads - low.threads) / (high.threads - low.threads);
    break;
  }
  const best = Math.max(here, ...points.filter((p) => p.threads >= threads).map((p) => p.value));
  return best * (curve.factor ?? 1) * BANDWIDTH_UNITS[curve.unit];
}

/** How a media model is used by the native library. */
export interface MediaUse {
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
 */
export function mediaNativeOptions(media: Media, use: MediaUse): Record<string, string> {
  const { prefix, threads, cacheBytes, seed } = use;
  if (!Number.isSafeInteger(threads) || threads < 1) {
    throw new RangeError(`Cannot use media model "${media.name}": threads must be 1 or more: current is ${threads}`);
  }
  const options: Record<string, string> = {
    [`${prefix}.medium`]: media.name,
    [`${prefix}.threads`]: String(threads),
    [`${prefix}.granule`]: String(media.granuleBytes.value),
  };
  const add = (name: string, operation: MediaOperation) => {
    options[`${prefix}.${name}_latency_ns`] = String(operation.latencyNs.value);
    options[`${prefix}.${name}_next_latency_ns`] = String(operation.nextLatencyNs.value);
    options[`${prefix}.${name}_in_flight`] = String(operation.inFlight.value);
    options[`${prefix}.${name}_bandwidth`] = String(Math.round(bandwidthAt(operation.bandwidth, threads)));
  };
  add("read", media.read);
  if (prefix === "emulate") add("write_nt", media.writeNt);
  add("write_cached", media.writeCached);
  if (prefix === "memory_mode") {
    if (cacheBytes === undefined) {
      throw new RangeError(`Cannot model Memory Mode over "${media.name}": the bytes of its DRAM cache are missing`);
    }
    options["memory_mode.cache_bytes"] = String(cacheBytes);
    options["memory_mode.seed"] = String(seed ?? 0);
  }
  return options;
}
