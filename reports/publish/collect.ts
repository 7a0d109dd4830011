/**
 * Finds the reports in a folder.
 *
 * @module
 */

import { join, relative, resolve, sep } from "node:path";
import { DamagedPageError } from "../capsule/damaged_page.ts";
import { parsePage, type ReadPage } from "../capsule/read.ts";
import type { Summary } from "../model.ts";
import { summarise } from "../summary.ts";

/** A report that was found. */
export interface FoundReport {
  /** Path from the folder, with slashes. */
  readonly path: string;
  /** The file. */
  readonly bytes: Uint8Array;
  /** What it carries. */
  readonly read: ReadPage;
  /** Its figures, at the prices it was made with. */
  readonly summary: Summary;
}

/** A page that is a report, or was one, and cannot be read. */
export interface UnreadableReport {
  /** Path from the folder, with slashes. */
  readonly path: string;
  /** What is wrong with it. */
  readonly error: string;
}

/** Everything in a folder that is a report. */
export interface FoundReports {
  /** The newest first. */
  readonly reports: readonly FoundReport[];
  /** Those that are left out. */
  readonly unreadable: readonly UnreadableReport[];
}

/** Marks of a report in a page; one suffices, since a page may be damaged. */
const REPORT = /tierbench-capsule|id="capsule"|<script type="application\/x-ndjson" id="result">/;

/**
 * Finds every report under a folder; other pages are passed over.
 *
 * @param folder Where to look, with all folders in it.
 * @param except A folder that is not looked into.
 * @throws {Deno.errors.NotFound} if there is no such folder.
 */
export async function collectReports(folder: string, except?: string): Promise<FoundReports> {
  const reports: FoundReport[] = [];
  const unreadable: UnreadableReport[] = [];
  for await (const file of pages(folder, except === undefined ? undefined : resolve(except))) {
    const path = relative(folder, file).split(sep).join("/");
    const bytes = await Deno.readFile(file);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    if (!REPORT.test(text)) continue;
    try {
      const read = parsePage(bytes, path);
      reports.push({ path, bytes, read, summary: summarise(read.result, read.options ?? {}) });
    } catch (error) {
      if (!(error instanceof DamagedPageError || error instanceof RangeError || error instanceof SyntaxError)) {
        throw error;
      }
      unreadable.push({ path, error: error.message });
    }
  }
  const started = ({ read }: FoundReport): string => read.result.run.started;
  const order = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0;
  reports.sort((a, b) => order(started(b), started(a)) || order(a.path, b.path));
  return { reports, unreadable: unreadable.sort((a, b) => order(a.path, b.path)) };
}

async function* pages(folder: string, except: string | undefined): AsyncGenerator<string> {
  let entries: Deno.DirEntry[];
  try {
    entries = await Array.fromAsync(Deno.readDir(folder));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Deno.errors.NotFound(`Cannot publish "${folder}": there is no such folder`, { cause: error });
  }
  for (const { name, isDirectory, isFile } of entries) {
    const path = join(folder, name);
    if (isDirectory && resolve(path) !== except) yield* pages(path, except);
    else if (isFile && /\.html?$/.test(name)) yield path;
  }
}
