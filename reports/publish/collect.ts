/**
 * Finds the reports in a folder.
 *
 * @module
 */

import { join, relative, resolve, sep } from "node:path";
import { MissingFileError } from "../../base/user_file.ts";
import { DamagedPageError } from "../capsule/damaged_page.ts";
import { parsePage, parseSimulationPage, type ReadPage, readPageBytes } from "../capsule/read.ts";
import { checkPage } from "../capsule/seal.ts";
import type { Summary } from "../summary/summary_types.ts";
import { type SimulationSummary, summariseSimulation } from "../simulation/summary.ts";
import { summarise } from "../summary/summary.ts";

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

/** A simulation's page that was found. */
export interface FoundSimulation {
  /** Path from the folder, with slashes. */
  readonly path: string;
  /** The file. */
  readonly bytes: Uint8Array;
  /** Its figures. */
  readonly summary: SimulationSummary;
  /** Root hash of the page. */
  readonly root: string | undefined;
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
  /** Of runs on a machine, the newest first. */
  readonly reports: readonly FoundReport[];
  /** Of simulations, the newest first. */
  readonly simulations: readonly FoundSimulation[];
  /** Those that are left out. */
  readonly unreadable: readonly UnreadableReport[];
}

/** Marks of a report in a page; one suffices, since a page may be damaged. */
const REPORT = /tierbench-capsule|id="capsule"|<script type="application\/x-ndjson" id="result">/;
/** Marks of an answer to a question (reports/ask): sealed like a report, and no run. */
const ANSWER = /<script type="application\/json" id="plan">/;
/** What the records of a simulation begin with. */
const SIMULATION = /id="result">\s*\{"type":"run","kind":"simulation"/;

/** Errors of what is in a page, which do not keep others from being published. */
const WRONG_PAGES = [DamagedPageError, RangeError, SyntaxError, TypeError] as const;

/**
 * Finds every report under a folder; other pages are passed over.
 *
 * @param folder Where to look, with all folders in it.
 * @param except A folder that is not looked into.
 * @throws {Deno.errors.NotFound} if there is no such folder.
 */
export async function collectReports(folder: string, except?: string): Promise<FoundReports> {
  const reports: FoundReport[] = [];
  const simulations: FoundSimulation[] = [];
  const unreadable: UnreadableReport[] = [];
  for await (const file of pages(folder, except === undefined ? undefined : resolve(except))) {
    const path = relative(folder, file).split(sep).join("/");
    let bytes: Uint8Array;
    try {
      bytes = await readPageBytes(file);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error; // larger than a report can be
      unreadable.push({ path, error: error.message });
      continue;
    }
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    if (!REPORT.test(text) || ANSWER.test(text)) continue;
    try {
      const simulated = SIMULATION.test(text) ? parseSimulationPage(bytes, path) : undefined;
      if (simulated !== undefined) {
        simulations.push({ path, bytes, summary: summariseSimulation(simulated), root: checkPage(bytes).root });
        continue;
      }
      const read = parsePage(bytes, path);
      reports.push({ path, bytes, read, summary: summarise(read.result, read.options ?? {}) });
    } catch (error) {
      if (!WRONG_PAGES.some((kind) => error instanceof kind)) throw error;
      unreadable.push({ path, error: (error as Error).message });
    }
  }
  const order = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0;
  const newestFirst = (a: FoundReport | FoundSimulation, b: FoundReport | FoundSimulation): number =>
    order(b.summary.started, a.summary.started) || order(a.path, b.path);
  return {
    reports: reports.sort(newestFirst),
    simulations: simulations.sort(newestFirst),
    unreadable: unreadable.sort((a, b) => order(a.path, b.path)),
  };
}

async function* pages(folder: string, except: string | undefined): AsyncGenerator<string> {
  let entries: Deno.DirEntry[];
  try {
    entries = await Array.fromAsync(Deno.readDir(folder));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new MissingFileError(`Cannot publish "${folder}": there is no such folder`, { cause: error });
  }
  for (const { name, isDirectory, isFile } of entries) {
    const path = join(folder, name);
    if (isDirectory && resolve(path) !== except) yield* pages(path, except);
    else if (isFile && /\.html?$/.test(name)) yield path;
  }
}
