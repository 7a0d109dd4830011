/**
 * Publishes a folder of reports as a folder that any web server, or none, can show.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { Result } from "../../scenarios/record.ts";
import { compareResults } from "../compare/compare.ts";
import { comparisonMarkdown } from "../compare/text.ts";
import { escapeMarkdown } from "../export/markdown.ts";
import { writeWhole } from "../../base/write_whole.ts";
import { badgeSvg, badgeText } from "./badge.ts";
import { collectReports, type FoundReport, type FoundReports } from "./collect.ts";
import { historiesOf, type History } from "./history.ts";
import { renderIndex } from "./index_page.ts";

/** Options of {@linkcode publishReports}. */
export interface PublishOptions {
  /** Where the pages go. @default "site" */
  readonly out?: string;
  /** Title of the index page. @default "Reports" */
  readonly title?: string;
  /** What `summary.md` compares the newest reports with. @default of each, the run before on the same machine */
  readonly baseline?: { readonly name: string; readonly result: Result };
}

/** What was published. */
export interface Published {
  /** `index.html` */
  readonly index: string;
  /** `summary.md` */
  readonly summary: string;
  /** `badge.svg`; undefined without a report. */
  readonly badge: string | undefined;
  /** The reports and the simulations, the newest first, and those that were left out. */
  readonly found: FoundReports;
  /** Groups of runs that can be compared. */
  readonly histories: readonly History[];
}

/**
 * Writes an index page over all reports under a folder, with copies of them, a summary in Markdown and a badge of the
 * newest. Reports are copied byte for byte, and each is compared with its sums before.
 *
 * @param folder Where the reports are, in folders of their own or not.
 * @throws {Deno.errors.NotFound} if there is no such folder.
 *
 * @example
 * ```ts ignore
 * import { publishReports } from "../../mod.ts";
 *
 * const { index, found } = await publishReports("reports/out", { out: "site" });
 * console.log(index, found.reports.length);
 * ```
 */
export async function publishReports(folder: string, options: PublishOptions = {}): Promise<Published> {
  const { out = "site", title = "Reports", baseline } = options;
  const found = await collectReports(folder, out);
  const histories = historiesOf(found.reports);
  const hrefOf = ({ path }: { readonly path: string }): string =>
    `reports/${path.split("/").map(encodeURIComponent).join("/")}`;
  const index = renderIndex({
    entries: found.reports.map((report) => ({
      href: hrefOf(report),
      summary: report.summary,
      root: report.read.root,
    })),
    simulations: found.simulations.map((one) => ({ href: hrefOf(one), summary: one.summary, root: one.root })),
    unreadable: found.unreadable,
    histories,
    title,
  });
  const [newest] = found.reports;
  const files = {
    index: join(out, "index.html"),
    summary: join(out, "summary.md"),
    badge: newest === undefined ? undefined : join(out, "badge.svg"),
  };
  for (const { path, bytes } of [...found.reports, ...found.simulations]) {
    await writeInto(join(out, "reports", path), bytes);
  }
  await writeInto(files.index, index);
  await writeInto(files.summary, summaryMarkdown(histories, baseline) + simulationsMarkdown(found.simulations));
  if (files.badge !== undefined && newest !== undefined) {
    await writeInto(files.badge, badgeSvg(badgeText(newest.summary)));
  }
  return { ...files, found, histories };
}

async function writeInto(path: string, content: string | Uint8Array): Promise<void> {
  await writeWhole(path, content, dirname(path));
}

/** What each simulation answers; empty without any. */
function simulationsMarkdown(simulations: FoundReports["simulations"]): string {
  if (simulations.length === 0) return "";
  const lines = simulations.map(({ summary: { name, sentences } }) =>
    `- ${escapeMarkdown(name)}: ${escapeMarkdown(sentences[0] ?? "no sentence")}.`
  );
  return ["\n## Simulations", "", ...lines, ""].join("\n");
}

/** The newest run of every history: its verdict, and how it compares with a baseline or with the run before. */
function summaryMarkdown(histories: readonly History[], baseline?: PublishOptions["baseline"]): string {
  if (histories.length === 0) return "## tierbench\n\nNo report was found.\n";
  const parts = histories.map(({ reports, comparisons }) => {
    const newest = reports[reports.length - 1] as FoundReport;
    const { summary, read, path } = newest;
    const before = comparisons[comparisons.length - 1];
    const compared = baseline === undefined
      ? before
      : read.result.run.scenario.name === baseline.result.run.scenario.name
      ? compareResults(baseline.result, read.result, { names: [baseline.name, path], unlike: true })
      : undefined;
    const title = baseline === undefined ? "Compared with the run before" : "Compared with the baseline";
    return [
      `## ${escapeMarkdown(summary.scenario.name)} on ${escapeMarkdown(summary.machine.cpu)}`,
      "",
      `**${escapeMarkdown(summary.verdict.headline)}.**`,
      "",
      compared === undefined
        ? `${
          baseline === undefined ? "It is the first run" : "The baseline is of another scenario"
        }: nothing to compare with.\n`
        : comparisonMarkdown(compared, title),
    ].join("\n");
  });
  return parts.join("\n");
}
