/**
 * Makes a report again from its page alone: the same bytes, or the same run at other prices.
 *
 * @module
 */

import { renderContribution } from "../contribution/page.ts";
import { renderReport, type ReportOptions } from "../html/render.ts";
import { parsePage, type ReadPage } from "../capsule/read.ts";
import { checkPage, type PageCheck } from "../capsule/seal.ts";

/** A report that was made again. */
export interface Reanalysis {
  /** The page as this version of tierbench makes it. */
  readonly page: string;
  /** What was in the file. */
  readonly read: ReadPage;
  /** What the page was made with: the file's options, and over them those that were asked for. */
  readonly options: ReportOptions;
  /** Whether it is the file, byte for byte. */
  readonly same: boolean;
  /** Names of the parts that differ from the file's, each once; all of them for a file without sums. */
  readonly differing: readonly string[];
}

/**
 * Makes a report again from its page, whose sums are compared first.
 *
 * @param page Bytes or text of the page.
 * @param name What messages call it.
 * @param options What is to be different, such as other prices. Default: nothing, which gives the same bytes if this
 *   version of tierbench made the file.
 * @throws {DamagedPageError} naming the part that is damaged or missing.
 *
 * @example
 * ```ts ignore
 * import { reanalyse } from "../../mod.ts";
 *
 * const file = await Deno.readFile("report.html");
 * console.log(reanalyse(file, "report.html").same); // true
 * const { page } = reanalyse(file, "report.html", { asOf: "2024-06" });
 * await Deno.writeTextFile("report-2024.html", page);
 * ```
 */
export function reanalyse(page: Uint8Array | string, name: string, options: ReportOptions = {}): Reanalysis {
  const read = parsePage(page, name);
  const used = { ...read.options, ...options };
  const made = read.contribution === undefined
    ? renderReport(read.result, used)
    : renderContribution(read.contribution, used);
  const text = typeof page === "string" ? page : new TextDecoder("utf-8", { ignoreBOM: true }).decode(page);
  const same = made === text;
  return { page: made, read, options: used, same, differing: same ? [] : differing(checkPage(page), checkPage(made)) };
}

/** Names of parts that are not in both pages with the same sums, in the order of the new one. */
export function differing(before: PageCheck, after: PageCheck): string[] {
  const sums = ({ parts }: PageCheck): Map<string, string> => {
    const all = new Map<string, string>();
    for (const { name, sha256 } of parts) all.set(name, `${all.get(name) ?? ""} ${sha256}`);
    return all;
  };
  const [old, made] = [sums(before), sums(after)];
  const names = [...new Set([...made.keys(), ...old.keys()])];
  return names.filter((name) => old.get(name) !== made.get(name));
}
