// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { loadScenario, planCases, ScenarioError } from "../mod.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { SCENARIO_HELP, scenarioFile } from "./scenario_argument.ts";

/** `tierbench validate`: checks scenario files without running them. */
export function addValidate(program: Command, { terminal, exit }: Context): void {
  program.command("validate")
    .description("check scenarios without running them")
    .argument("<scenario...>", SCENARIO_HELP)
    .option("--json", "for machines: a list of file and problems")
    .addHelpText("after", "\nExample:\n  tierbench validate mine.jsonc")
    .action(async (words, { json }) => {
      const results = [];
      for (const word of words) {
        const file = await scenarioFile(word);
        try {
          const scenario = await loadScenario(file);
          results.push({ file, problems: [], cases: planCases(scenario).length, samples: scenario.repetitions });
        } catch (error) {
          if (!(error instanceof ScenarioError)) throw error;
          results.push({ file, problems: error.diagnostics, text: error.message });
        }
      }
      if (json) {
        terminal.out(`${JSON.stringify(results.map(({ file, problems }) => ({ file, problems })), undefined, 2)}\n`);
      } else {
        for (const result of results) {
          if (result.text === undefined) {
            terminal.out(`${result.file}: valid, ${result.cases} cases × ${result.samples} samples\n`);
          } else terminal.err(`${result.text}\n`);
        }
      }
      if (results.some(({ problems }) => problems.length > 0)) exit(EXIT.usage);
    });
}
