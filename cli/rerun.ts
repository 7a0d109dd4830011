// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join, relative } from "node:path";
import {
  compareResults,
  compareSimulations,
  comparisonJson,
  refusePaths,
  renderComparison,
  renderSimulationComparison,
  rerunOf,
  type ResultComparison,
  runScenario,
  runSimulation,
  simulationToRerun,
  writeReport,
  writeSimulationReport,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import { VOUCH_HELP, vouched } from "./vouch.ts";
import type { Context } from "./main.ts";
import { RESULTS_HELP, resultsOf, simulationOf } from "./page_argument.ts";
import { interruptible } from "./run.ts";
import { RunView } from "./run_view.ts";

const HELP = `
Runs the scenario in the report with its seeds, as many steps and its price book, writes a report of its own, and compares
the two: the key stream must be equal to the bit everywhere, rows and quality on the same type of CPU. Exit code 5: one of
them differs, or on the same machine a case is slower beyond the noise. A simulation must give the same records to the byte.

Examples:
  tierbench rerun report.html
  tierbench rerun report.html --out results/again --require measured`;

function required(text: string): "measured" {
  if (text === "measured") return text;
  throw new UsageError(`Cannot require "${text}": expected "measured"`);
}

/** Whether a run that repeats another found something wrong. */
function isWorse({ verdict, checks, unlike }: ResultComparison): boolean {
  const sameMachine = !unlike.some(({ what }) => what.startsWith("machine.") && what !== "machine.kernel");
  return checks.some(({ status }) => status === "differs") ||
    (sameMachine && (verdict === "worse" || verdict === "mixed"));
}

/** `tierbench rerun`: runs the scenario of a report again. */
export function addRerun(program: Command, { terminal, exit }: Context): void {
  program.command("rerun")
    .description("run the scenario of a report again and compare")
    .argument("<report>", RESULTS_HELP)
    .option("--out <folder>", "where results go (default: reports/out/<name>-rerun)")
    .option("--require <kind>", 'with "measured": a medium that is not here is an error (exit code 3)', required)
    .option("--vouch <medium>", VOUCH_HELP, vouched)
    .option(
      "--use-paths",
      "use the files and folders that the report's scenario names: only if you trust where it is from",
    )
    .option("--no-limit", "take however long it takes: no bound on samples, or on the work of a simulation")
    .option("--no-install", "never install system packages (deno task does so when they are missing)")
    .option("--json", "for machines: the comparison on standard output, progress on standard error")
    .addHelpText("after", HELP)
    .action(async (report, { out, require, vouch, usePaths, limit, json }) => {
      const simulated = await simulationOf(report);
      if (simulated !== undefined) {
        if (require !== undefined) throw new UsageError(`Cannot require "${require}": "${report}" is a simulation`);
        if (vouch !== undefined) throw new UsageError(`Cannot use --vouch: "${report}" is a simulation`);
        const scenario = simulationToRerun(simulated.result, report);
        if (usePaths !== true) refusePaths(scenario, report);
        const folder = out ?? join("reports", "out", `${scenario.name}-rerun`);
        const result = await runSimulation(scenario, { out: folder, threads: navigator.hardwareConcurrency, limit });
        const files = await writeSimulationReport(result, folder);
        const found = compareSimulations(simulated.result, result, [report, files.html]);
        terminal.out(json ? answerText("rerun", found) : renderSimulationComparison(found));
        (json ? terminal.err : terminal.out)(`report    ${relative(Deno.cwd(), files.html) || files.html}\n`);
        if (!found.same) exit(EXIT.worse);
        return;
      }
      const earlier = await resultsOf(report);
      const { scenario, set } = rerunOf(earlier.result, report);
      if (usePaths !== true) refusePaths(scenario, report);
      // Files of prices are in the report; those paths may lead nowhere here.
      const carried = earlier.page?.options?.priceFiles ?? earlier.result.run.priceFiles ?? [];
      const priced = { ...earlier.page?.options, ...(carried.length === 0 ? {} : { priceFiles: carried }) };
      const noPaths = scenario.cost.priceFiles === undefined ? {} : { "cost.priceFiles": [] };
      const folder = out ?? join("reports", "out", `${scenario.name}-rerun`);
      const view = new RunView(json ? { ...terminal, out: terminal.err, isTerminal: false } : terminal);
      const result = await interruptible(
        (signal) =>
          runScenario(scenario, {
            out: folder,
            limit,
            set: { ...set, ...noPaths },
            signal,
            onProgress: (event) => view.show(event),
            ...(require === undefined ? {} : { require }),
            ...(vouch === undefined ? {} : { vouch }),
          }),
        () => view.end(),
      );
      const files = await writeReport(result, folder, priced);
      const comparison = compareResults(earlier.result, result, { names: [report, files.html], unlike: true });
      terminal.out(json ? comparisonJson(comparison) : `\n${renderComparison(comparison, terminal.width)}\n`);
      view.line("report", relative(Deno.cwd(), files.html) || files.html);
      if (result.failed.length > 0) exit(EXIT.failed);
      else if (isWorse(comparison)) exit(EXIT.worse);
    });
}
