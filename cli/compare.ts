// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { compareResults, comparisonJson, comparisonMarkdown, renderComparison } from "../mod.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { RESULTS_HELP, resultsOf } from "./page_argument.ts";

const HELP = `
A case is called slower or faster if the 95 % interval of its ratio leaves 1 out, its p-value adjusted for the number of
cases (Benjamini and Hochberg) is below 0.05, and the difference is above the noise floor of both results. Exit code 5:
a case is slower. Results of other machines or scenarios are refused, with --unlike compared and labelled.

Examples:
  tierbench compare before.html after.html
  tierbench compare reports/out/pmem-modes report-of-a-friend.html --unlike
  tierbench compare baseline.html reports/out/pmem-modes --markdown >> "$GITHUB_STEP_SUMMARY"`;

/** `tierbench compare`: two results side by side. */
export function addCompare(program: Command, { terminal, exit }: Context): void {
  program.command("compare")
    .description("compare two results case by case")
    .argument("<baseline>", RESULTS_HELP)
    .argument("<results>", RESULTS_HELP)
    .option("--unlike", "compare other machines and scenarios, too; every output says in what they are unlike")
    .option("--markdown", "as Markdown, for pull requests")
    .option("--json", "for machines")
    .addHelpText("after", HELP)
    .action(async (baseline, results, { unlike, markdown, json }) => {
      const [a, b] = [await resultsOf(baseline), await resultsOf(results)];
      const comparison = compareResults(a.result, b.result, {
        names: [baseline, results],
        ...(unlike === undefined ? {} : { unlike }),
      });
      terminal.out(
        json
          ? comparisonJson(comparison)
          : markdown
          ? comparisonMarkdown(comparison)
          : renderComparison(comparison, terminal.width),
      );
      if (comparison.verdict === "worse" || comparison.verdict === "mixed") exit(EXIT.worse);
    });
}
