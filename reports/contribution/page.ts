/**
 * A contribution as one file: a report's page with its records, the checklist, and a SHA-256 of every part, so that a
 * damaged file is noticed and the damage has a name. The sums guard against accidents, not against forgery. The form is
 * described in docs/formats.md.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Contribution } from "../../scenarios/contribution/record.ts";
import type { Result, ResultRecord } from "../../scenarios/record.ts";
import { parseResultText, QUALITY_ID, resultOf } from "../../scenarios/result.ts";
import { Markup, recordLines, scriptJson } from "../html/markup.ts";
import { renderPage, type ReportOptions } from "../html/render.ts";
import { contributionSection } from "./section.ts";

/** What a page was read as. */
export interface ReadPage {
  /** Every record of the run. */
  readonly result: Result;
  /** Absent: the page of an ordinary report. */
  readonly contribution: Contribution | undefined;
}

/** A page that cannot be read, or not as a whole. */
export class DamagedPageError extends Error {
  /** The part that is damaged, as the message names it. */
  readonly part: string;

  /** The error. @param part Its name. @param found What is wrong with it. */
  constructor(name: string, part: string, found: string) {
    super(`Cannot read the report in "${name}": ${part} ${found}; ask for the file again, or make it again`);
    this.name = "DamagedPageError";
    this.part = part;
  }
}

/** One part and the SHA-256 (hex) of its text in UTF-8. */
interface Part {
  readonly name: string;
  readonly sha256: string;
}

/** What is embedded beside the records. */
interface Manifest extends Omit<Contribution, "result"> {
  readonly format: 1;
  /** Records in the order of their lines, then the page around them. */
  readonly parts: readonly Part[];
}

const MARK = '<meta name="tierbench-contribution" content="1">';
const PAGE = "the page around the records";
/** What stands in the place of the manifest while the page is summed. */
const MANIFEST = /<script type="application\/json" id="contribution" data-sha256="([0-9a-f]{64})">([^<]*)<\/script>/;
const RECORDS = /<script type="application\/x-ndjson" id="result">\n([^<]*)\n<\/script>/;

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

/** Name of a record's part. */
function partName(record: ResultRecord): string {
  if (record.type === "run") return "the run record";
  if (record.type === "quality") {
    return record.id === undefined || record.id === QUALITY_ID
      ? "the quality record"
      : `the quality record "${record.id}"`;
  }
  return record.status === "failed" ? `the failed sample "${record.id}"` : `the sample "${record.id}"`;
}

/** The page without what is summed by itself. */
function around(page: string): string {
  return page.replace(MANIFEST, "").replace(RECORDS, "");
}

/**
 * Renders a contribution as one self-contained HTML page, which {@linkcode parsePage} reads back.
 *
 * @param contribution What is sent.
 * @returns The page.
 * @throws {RangeError} A number of the result cannot be reported.
 */
export function renderContribution(contribution: Contribution, options: ReportOptions = {}): string {
  const { result, ...told } = contribution;
  const draw = (data: string): string =>
    renderPage(result, options, {
      head: new Markup(MARK),
      section: contributionSection(contribution),
      data: new Markup(data),
    });
  const records = [result.run, ...result.samples, ...result.failed, ...result.qualities];
  const lines = recordLines(result);
  const manifest: Manifest = {
    format: 1,
    ...told,
    parts: [
      ...records.map((record, i) => ({ name: partName(record), sha256: sha256(lines[i] ?? "") })),
      { name: PAGE, sha256: sha256(around(draw(""))) },
    ],
  };
  const text = scriptJson(manifest).text;
  return draw(`<script type="application/json" id="contribution" data-sha256="${sha256(text)}">${text}</script>`);
}

/**
 * Reads the records out of a report's page, and the contribution if it is one. Everything is compared with its sum
 * before it is used.
 *
 * @param page Text of the page.
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
export function parsePage(page: string, name: string): ReadPage {
  const [, sum = "", text] = MANIFEST.exec(page) ?? [];
  const isContribution = page.includes("tierbench-contribution") || page.includes('id="contribution"');
  if (text === undefined && isContribution) throw new DamagedPageError(name, "the checklist", "is missing or cut off");
  const manifest = text === undefined ? undefined : manifestOf(text, sum, name);
  const records = RECORDS.exec(page)?.[1];
  if (records === undefined) {
    const found = page.includes('id="result"')
      ? "are cut off or of an older form"
      : "are missing: it is no report of tierbench, or is cut off";
    throw new DamagedPageError(name, "the records", found);
  }
  if (manifest !== undefined) compare(manifest, records, page, name);
  const result = resultOf(parseResultText(`${records}\n`, name).records);
  if (manifest === undefined) return { result, contribution: undefined };
  const { checklist, questions, notes, removed } = manifest;
  return { result, contribution: { result, checklist, questions, notes, removed } };
}

function manifestOf(text: string, sum: string, name: string): Manifest {
  if (sha256(text) !== sum) throw new DamagedPageError(name, "the checklist", "is damaged: its SHA-256 differs");
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format === 1) return manifest;
  throw new DamagedPageError(
    name,
    "the checklist",
    `has the format ${manifest.format}, expected 1: another version wrote it`,
  );
}

function compare({ parts }: Manifest, records: string, page: string, name: string): void {
  const lines = records.split("\n");
  const recordParts = parts.filter((part) => part.name !== PAGE);
  for (const [i, part] of recordParts.entries()) {
    const line = lines[i];
    if (line === undefined) throw new DamagedPageError(name, part.name, "is missing");
    if (sha256(line) !== part.sha256) throw new DamagedPageError(name, part.name, "is damaged: its SHA-256 differs");
  }
  if (lines.length > recordParts.length) {
    throw new DamagedPageError(name, `record ${recordParts.length + 1}`, "is not among those that were summed");
  }
  if (parts.find((part) => part.name === PAGE)?.sha256 !== sha256(around(page))) {
    throw new DamagedPageError(name, PAGE, "is damaged, or a browser saved it in its own way: its SHA-256 differs");
  }
}

/**
 * Reads a report's page from a file; see {@linkcode parsePage}.
 *
 * @throws {Deno.errors.NotFound} if there is no such file.
 */
export async function readPage(path: string): Promise<ReadPage> {
  try {
    return parsePage(await Deno.readTextFile(path), path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Deno.errors.NotFound(`Cannot read the report: "${path}" does not exist`, { cause: error });
  }
}
