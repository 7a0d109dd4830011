// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join } from "node:path";
import { publishReports } from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { RESULTS_HELP, resultsOf } from "./page_argument.ts";

const HELP = `
Writes index.html (a list of all reports and simulations under the folder, and for runs of one scenario on one machine their history),
reports/ (the reports as they are), summary.md (for pull requests) and badge.svg. Everything works from disk, too.
A report that is damaged is left out and named (exit code 1).

Examples:
  tierbench publish reports/out
  tierbench publish history --out site --title "Nightly runs"
  tierbench publish reports/out --baseline main.html && cat site/summary.md >> "$GITHUB_STEP_SUMMARY"`;

/** `tierbench publish`: an index page over a folder of reports. */
export function addPublish(program: Command, { terminal, exit }: Context): void {
  program.command("publish")
    .description("write an index page over a folder of reports")
    .argument("[folder]", "where the reports are", join("reports", "out"))
    .option("--out <folder>", "where the pages go", "site")
    .option("--title <text>", "title of the index page", "Reports")
    .option("--baseline <results>", `what summary.md compares with: ${RESULTS_HELP} (default: the run before)`)
    .option("--json", "for machines: the pages and what they are of")
    .addHelpText("after", HELP)
    .action(async (folder, { out, title, baseline, json }) => {
      const published = await publishReports(folder, {
        out,
        title,
        ...(baseline === undefined ? {} : { baseline: { name: baseline, result: (await resultsOf(baseline)).result } }),
      });
      const { found: { reports, simulations, unreadable }, histories, index, summary, badge } = published;
      if (unreadable.length > 0) exit(EXIT.failed);
      if (json) {
        const paths = (found: readonly { readonly path: string }[]) => found.map(({ path }) => path);
        return terminal.out(answerText("publish", {
          index,
          summary,
          ...(badge === undefined ? {} : { badge }),
          reports: paths(reports),
          simulations: paths(simulations),
          histories: histories.map(({ reports }) => paths(reports)),
          unreadable,
        }));
      }
      const trends = histories.filter(({ reports }) => reports.length > 1).length;
      terminal.out(
        `published  ${reports.length} reports, ${trends} with a history${
          simulations.length === 0 ? "" : `, ${simulations.length} simulations`
        }: ${index}\n`,
      );
      for (const { path, error } of unreadable) terminal.err(`left out   ${path}: ${error}\n`);
    });
}
