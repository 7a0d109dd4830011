/**
 * Media models that a document names by the path of a file. A relative path starts from the folder of the document.
 *
 * @module
 */

import { isPathWord, wordAt } from "../../base/path_word.ts";
import type { DocumentPath, Problem } from "../../base/diagnostics.ts";
import { loadMedia, type Media, MediaError } from "./media.ts";

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
      media.set(word, await loadMedia(word, directory));
    } catch (error) {
      if (!(error instanceof MediaError || isOfReading(error))) throw error;
      problems.push({ path, message: error.message });
    }
  }
  return { media, problems };
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
