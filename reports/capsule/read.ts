/**
 * Reads a report's page back: its records, its price book and options, and the contribution if it is one.
 *
 * @module
 */

import type { Contribution } from "../../scenarios/contribution/record.ts";
import type { Result } from "../../scenarios/record.ts";
import { count, object } from "../../base/record_parts.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import type { SimulationResult } from "../../models/simulation/record.ts";
import { isSimulationResult, parseSimulationResult } from "../../models/simulation/result.ts";
import { readUserFile } from "../../base/user_file.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import type { PriceBook } from "../../models/costs/price_book.ts";
import { readOptions } from "./carried.ts";
import { DamagedPageError } from "./damaged_page.ts";
import { checklistPart, partOf } from "./page_schema.ts";
import { checkPage } from "./seal.ts";

/** What a page was read as. */
export interface ReadPage {
  /** Every record of the run. */
  readonly result: Result;
  /** Absent: the page of an ordinary report. */
  readonly contribution: Contribution | undefined;
  /** What the page was made with, its price book included; undefined in pages of early versions. */
  readonly options: (SummaryOptions & { readonly prices: PriceBook }) | undefined;
  /** Root hash (hex) of the page; undefined in pages of early versions. */
  readonly root: string | undefined;
}

const RECORDS = /<script type="application\/x-ndjson" id="result">\n([^<]*)\n<\/script>/;
const CONTRIBUTION = /<script type="application\/json" id="contribution"[^>]*>([^<]*)<\/script>/;

/**
 * Reads the records out of a report's page, and the contribution if it is one. Everything is compared with its sum
 * before it is used.
 *
 * @param page Bytes or text of the page.
 * @param name What messages call it.
 * @throws {DamagedPageError} naming the part that is damaged or missing.
 *
 * @example
 * ```ts
 * import { DamagedPageError, parsePage } from "../../mod.ts";
 *
 * try {
 *   parsePage("<!DOCTYPE html>", "report.html");
 * } catch (error) {
 *   if (error instanceof DamagedPageError) console.log(error.part); // the records
 * }
 * ```
 */
export function parsePage(page: Uint8Array | string, name: string): ReadPage {
  const { text, records, root } = wholePage(page, name);
  if (isSimulationResult(records)) {
    throw new TypeError(
      `Cannot read the report in "${name}" as one of a run on a machine: it is a simulation's; ` +
        "tierbench verify, reanalyse, rerun and compare take it",
    );
  }
  const result = resultOf(parseResultText(`${records}\n`, name).records);
  return { result, contribution: contributionIn(text, result, name), options: readOptions(text, name), root };
}

/**
 * The simulation in a page, whose sums are compared first.
 *
 * @param page Bytes or text of the page.
 * @param name What messages call it.
 * @returns Undefined for the page of a run on a machine.
 * @throws {DamagedPageError} naming the part that is damaged or missing.
 */
export function parseSimulationPage(page: Uint8Array | string, name: string): SimulationResult | undefined {
  const { records } = wholePage(page, name);
  return isSimulationResult(records) ? parseSimulationResult(`${records}\n`, name) : undefined;
}

/** Text and records of a page that is whole. */
function wholePage(
  page: Uint8Array | string,
  name: string,
): { readonly text: string; readonly records: string; readonly root: string | undefined } {
  const { damage: [first, ...further], root } = checkPage(page);
  if (first !== undefined) {
    const more = further.length === 0 ? "" : ` (and ${further.length} further parts, "tierbench verify" lists them)`;
    throw new DamagedPageError(name, first.part, `${first.found}${more}`);
  }
  const text = typeof page === "string" ? page : new TextDecoder().decode(page);
  const records = RECORDS.exec(text)?.[1];
  if (records === undefined) {
    const found = text.includes('id="result"')
      ? "are cut off or of an older form"
      : "are missing: it is no report of tierbench, or is cut off";
    throw new DamagedPageError(name, "the records", found);
  }
  return { text, records, root };
}

function contributionIn(page: string, result: Result, name: string): Contribution | undefined {
  const text = CONTRIBUTION.exec(page)?.[1];
  if (text === undefined) return undefined;
  const part = "the checklist";
  const { format } = partOf(object({ format: count }), text, name, part) as { readonly format: number };
  if (format !== 2) {
    throw new DamagedPageError(name, part, `has the format ${format}, expected 2: another version wrote it`);
  }
  const { format: _, ...told } = partOf(checklistPart, text, name, part);
  return { result, ...told as Omit<Contribution, "result"> };
}

/**
 * Reads a report's page from a file; see {@linkcode parsePage}.
 *
 * @throws {Deno.errors.NotFound} if there is no such file.
 */
export async function readPage(path: string): Promise<ReadPage> {
  return parsePage(await readPageBytes(path), path);
}

/**
 * The bytes of a report's file.
 *
 * @throws {Deno.errors.NotFound} if there is no such file. @throws {RangeError} if it is larger than a report can be.
 */
export async function readPageBytes(path: string): Promise<Uint8Array> {
  return await readUserFile(path, "report");
}
