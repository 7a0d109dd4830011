// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { isSimulation, loadScenario, loadSimulation, planCases, ScenarioError, simulatedCases } from "../mod.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { SCENARIO_HELP, scenarioFile } from "./scenario_argument.ts";

/** `tierbench validate`: checks scenario files without running them. */
export function addValidate(program: Command, { terminal, exit }: Context): void {
  program.command("validate")
    .description("check scenarios without running them")
    .argument("<scenario...>", SCENARIO_HELP)
    .option("--no-limit", "no bound on samples, or on the work of a simulation")
    .option("--json", "for machines: a list of file and problems")
    .addHelpText("after", "\nExample:\n  tierbench validate mine.jsonc")
    .action(async (words, { json, limit }) => {
      const results = [];
      for (const word of words) {
        const file = await scenarioFile(word);
        try {
          if (await isSimulation(file)) {
            const cases = (await simulatedCases(await loadSimulation(file, { limit }))).length;
            results.push({ file, problems: [], cases, samples: 1 });
            continue;
          }
          const scenario = await loadScenario(file, { limit });
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
            terminal.out(`${result.file}: valid, ${casesText(result)}\n`);
          } else terminal.err(`${result.text}\n`);
        }
      }
      if (results.some(({ problems }) => problems.length > 0)) exit(EXIT.usage);
    });
}

/** Cases of a scenario, or of a simulation, which has one sample of each. */
function casesText({ cases = 0, samples = 0 }: { readonly cases?: number; readonly samples?: number }): string {
  return samples === 1 ? `${cases} simulated cases` : `${cases} cases × ${samples} samples`;
}
