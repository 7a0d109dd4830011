/**
 * Media models that a document names by the path of a file. A relative path starts from the folder of the document.
 *
 * @module
 */

import { isPathWord, wordAt } from "../../base/path_word.ts";
import type { DocumentPath, Problem } from "../../base/diagnostics.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { evaluateMedia } from "../../ffi/media.ts";
import { type KnownMedia, loadMedia, type Media, MediaError, mediaOptions, mediaStores, storesOf } from "./media.ts";

/** A word that names a medium, and where it is written. */
interface Place {
  readonly word: string;
  readonly path: DocumentPath;
}

/** Whether a field holds words of media: `media`, `medium`, or one that a matrix varies, `configurations.cxl.media`. */
function isMediaField(key: string): boolean {
  return /(^|\.)(media|medium)$/.test(key) || /(^|\.)media\.(dram|pmem)$/.test(key);
}

/** The paths of media that a document has, each at every place. */
function placesOf(value: unknown, path: DocumentPath = [], named: boolean = false): Place[] {
  if (typeof value === "string") return named && isPathWord(value) ? [{ word: value, path }] : [];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => placesOf(item, [...path, i], named));
  return Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key], named || isMediaField(key)));
}

/** Operations by the beginnings of their parameters' names. */
const OPERATIONS = [
  ["read", "load"],
  ["write_nt", "nt-store"],
  ["write_cached", "cached-store"],
  ["write_flush", "flushed-store"],
] as const;

/** Asks a user's model something, so that a number which the formulas cannot take is told with the name of the file. */
function checkNumbers(media: Media, path: string): void {
  const broken = (what: string): MediaError =>
    new MediaError(`Cannot read the media model: "${path}": parameters: ${what}`);
  const known = OPERATIONS.filter(([start]) => media.parameters[`${start}_bandwidth`] !== undefined);
  if (known[0]?.[0] !== "read") throw broken("expected read_latency_ns and read_bandwidth, found none");
  try {
    evaluateMedia(
      mediaOptions(media),
      known.map(([, operation]) => ({ ask: "bandwidth", operation, bytes: 4096, threads: 1 })),
    );
  } catch (error) {
    if (!(error instanceof TierstoreError && error.status === "TS_EINVAL")) throw error;
    throw broken(error.message.replace(/^[^:]*: /, ""));
  }
}

/** Media models that a document names by path. */
export interface MediaByPath {
  /** By their words, as they are written. */
  readonly media: ReadonlyMap<string, Media>;
  /** Files that are missing or no media models, at every place that names them. */
  readonly problems: readonly Problem[];
}

/**
 * Loads the media models that a document names by path, whatever else is wrong with it.
 *
 * @param document A scenario, simulation or plan as it was written.
 * @param directory Where relative paths start.
 */
export async function mediaByPath(document: unknown, directory: string): Promise<MediaByPath> {
  const media = new Map<string, Media>();
  const problems: Problem[] = [];
  for (const { word, path } of placesOf(document)) {
    if (media.has(word)) continue;
    try {
      const loaded = await loadMedia(word, directory);
      checkNumbers(loaded, wordAt(word, directory));
      media.set(word, loaded);
    } catch (error) {
      if (!(error instanceof MediaError || isOfReading(error))) throw error;
      problems.push({ path, message: error.message });
    }
  }
  return { media, problems };
}

/** How the media may be written that a document can name: the shipped ones, and those it names by path. */
export async function storesBeside({ media }: MediaByPath): Promise<KnownMedia> {
  return new Map([...await mediaStores(), ...[...media].map(([word, one]) => [word, storesOf(one)] as const)]);
}

/** What reading a user's file may throw (base/user_file.ts). */
function isOfReading(error: unknown): error is Error {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied ||
    error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

/** The document with every path of a medium made absolute. */
export function withMediaAt<T extends object>(document: T, directory: string): T {
  const places = placesOf(document).filter(({ word }) => wordAt(word, directory) !== word);
  if (places.length === 0) return document;
  const copy = structuredClone(document);
  for (const { word, path } of places) {
    let at = copy as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
    at[path.at(-1) ?? ""] = wordAt(word, directory);
  }
  return copy;
}
