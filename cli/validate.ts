// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  isPlan,
  isSimulation,
  loadPlan,
  loadScenario,
  loadSimulation,
  planCases,
  ScenarioError,
  simulatedCases,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { SET_HELP, setField } from "./set_option.ts";
import { SCENARIO_HELP, scenarioFile } from "./scenario_argument.ts";

/** `tierbench validate`: checks scenario files without running them. */
export function addValidate(program: Command, { terminal, exit }: Context): void {
  program.command("validate")
    .description("check scenarios, simulations and plans without running them")
    .argument("<scenario...>", SCENARIO_HELP)
    .option("--no-limit", "no bound on samples, or on the work of a simulation")
    .option("--set <field=value>", SET_HELP, setField)
    .option("--json", "for machines: a list of file and problems")
    .addHelpText("after", "\nExample:\n  tierbench validate mine.jsonc")
    .action(async (words, { json, limit, set }) => {
      const results = [];
      for (const word of words) {
        const file = await scenarioFile(word);
        try {
          if (await isPlan(file)) {
            const { tables, machines } = await loadPlan(file, { limit, set });
            const [kinds, own] = [tables, machines].map((record) => Object.keys(record).length);
            results.push({ file, problems: [], says: `${kinds} kinds of tables, ${own} machines of its own` });
            continue;
          }
          if (await isSimulation(file)) {
            const cases = (await simulatedCases(await loadSimulation(file, { limit, set }))).length;
            results.push({ file, problems: [], says: `${cases} simulated cases` });
            continue;
          }
          const scenario = await loadScenario(file, { limit, set });
          const says = `${planCases(scenario).length} cases × ${scenario.repetitions} samples`;
          results.push({ file, problems: [], says });
        } catch (error) {
          if (!(error instanceof ScenarioError)) throw error;
          results.push({ file, problems: error.diagnostics, text: error.message });
        }
      }
      if (json) {
        terminal.out(answerText("validate", results.map(({ file, problems }) => ({ file, problems }))));
      } else {
        for (const result of results) {
          if (result.text === undefined) {
            terminal.out(`${result.file}: valid, ${result.says}\n`);
          } else terminal.err(`${result.text}\n`);
        }
      }
      if (results.some(({ problems }) => problems.length > 0)) exit(EXIT.usage);
    });
}
