// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { compareSimulations, renderSimulationComparison } from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import { BASELINE_HELP, gate, tolerance as percent, TOLERANCE_HELP } from "./gate.ts";
import type { Context } from "./main.ts";
import { baselineWord, RESULTS_HELP, resultsOf, simulationOf } from "./page_argument.ts";

const HELP = `
A case is called slower or faster if the 95 % interval of its ratio leaves 1 out, its p-value adjusted for the number of
cases (Benjamini and Hochberg) is below 0.05, and the difference is above the noise floor of both results. Exit code 5:
a case is slower. Simulations are deterministic: they differ, with exit code 5, or are the same to the byte. Results of other machines or scenarios are refused, with --unlike compared and labelled.

Examples:
  tierbench compare before.html after.html
  tierbench compare after.html --baseline before.html --tolerance 3    a gate: exit code 5 or 6 unless it may pass
  tierbench compare reports/out/pmem-modes report-of-a-friend.html --unlike
  tierbench compare baseline.html reports/out/pmem-modes --markdown >> "$GITHUB_STEP_SUMMARY"`;

/** `tierbench compare`: two results side by side. */
export function addCompare(program: Command, { terminal, exit }: Context): void {
  program.command("compare")
    .description("compare two results case by case")
    .argument(
      "<results...>",
      `two: the baseline and what is compared with it, each ${RESULTS_HELP}; one with --baseline`,
    )
    .option("--baseline <results>", BASELINE_HELP)
    .option("--tolerance <percent>", TOLERANCE_HELP, percent)
    .option("--unlike", "compare other machines and scenarios, too; every output says in what they are unlike")
    .option("--markdown", "as Markdown, for pull requests")
    .option("--json", "for machines")
    .addHelpText("after", HELP)
    .action(async (words, { baseline: gated, tolerance, unlike, markdown, json }) => {
      const [named, results] = pair(words, gated, tolerance);
      const baseline = gated === undefined
        ? named
        : await baselineWord(gated, async () => (await resultsOf(results)).result.run.scenario.name);
      const simulated = [await simulationOf(baseline), await simulationOf(results)] as const;
      if (simulated[0] !== undefined && simulated[1] !== undefined) {
        const found = compareSimulations(simulated[0].result, simulated[1].result, [baseline, results]);
        const text = renderSimulationComparison(found);
        terminal.out(json ? answerText("compare", found) : markdown ? `\`\`\`\n${text}\`\`\`\n` : text);
        if (!found.same) exit(EXIT.worse);
        return;
      }
      if (simulated[0] !== undefined || simulated[1] !== undefined) {
        const [one, other] = simulated[0] === undefined ? [results, baseline] : [baseline, results];
        throw new UsageError(
          `Cannot compare "${baseline}" with "${results}": "${one}" is a simulation, "${other}" is none; ` +
            "what is simulated is never mixed with what was run",
        );
      }
      const [a, b] = [await resultsOf(baseline), await resultsOf(results)];
      const form = {
        ...(tolerance === undefined ? {} : { tolerance }),
        ...(unlike === undefined ? {} : { unlike }),
        ...(markdown === undefined ? {} : { markdown }),
        ...(json === undefined ? {} : { json }),
      };
      const { comparison: { verdict }, code } = gate(a.result, b.result, [baseline, results], form, terminal);
      if (gated !== undefined) exit(code);
      else if (verdict === "worse" || verdict === "mixed") exit(EXIT.worse);
    });
}

/** The baseline and what is compared with it. @throws {UsageError} if there is a word too many or too few. */
function pair(words: readonly string[], gated: string | undefined, tolerance: number | undefined): [string, string] {
  const all = gated === undefined ? words : [gated, ...words];
  if (gated === undefined && tolerance !== undefined) {
    throw new UsageError("Cannot use --tolerance: it belongs to --baseline");
  }
  if (all.length === 2) return all as [string, string];
  throw new UsageError(
    `Cannot compare ${all.length} results: expected two, the baseline and what is compared with it` +
      (gated === undefined ? "" : `; "${gated}" is the baseline`),
  );
}
