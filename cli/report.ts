// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { dirname, join, relative } from "node:path";
import {
  renderChecklist,
  renderSimulationTerminal,
  renderTerminal,
  simulationJson,
  summarise,
  summariseSimulation,
  toJson,
  writeReport,
  writeSimulationReport,
} from "../mod.ts";
import { folderOfPage } from "./contribute.ts";
import type { Context } from "./main.ts";
import { isPage, RESULTS_HELP, resultsOf, simulationOf } from "./page_argument.ts";
import { checkPriced, priceOptions, withPriceOptions } from "./price_files.ts";

/** `tierbench report`: writes the report of a result file again. */
export function addReport(program: Command, { terminal }: Context): void {
  withPriceOptions(
    program.command("report")
      .description("write the report of earlier results again")
      .argument("[results]", RESULTS_HELP, join("reports", "out", "pmem-modes")),
  )
    .option("--out <folder>", "where the report goes (default: beside the results; of a page: reports/out/<its name>)")
    .option("--json", "for machines: the summary, after writing the report")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench report reports/out/pmem-modes\n  tierbench report contribution-….html",
    )
    .action(async (results, { out, json, ...words }) => {
      const asked = await priceOptions(words);
      const simulation = await simulationOf(results);
      if (simulation !== undefined) {
        const options = { ...simulation.options, ...asked };
        const summary = summariseSimulation(simulation.result, options);
        checkPriced(results, asked, summary);
        const files = await writeSimulationReport(
          simulation.result,
          out ?? (isPage(results) ? folderOfPage(results) : dirname(simulation.path)),
          options,
        );
        terminal.out(json ? simulationJson(summary) : renderSimulationTerminal(summary, terminal.width));
        if (!json) terminal.out(`\nreport   ${relative(Deno.cwd(), files.html) || files.html}\n`);
        return;
      }
      const { path, result, page, note } = await resultsOf(results);
      const options = {
        ...page?.options,
        ...asked,
      };
      const summary = summarise(result, options);
      const folder = out ?? (page === undefined ? dirname(path) : folderOfPage(path));
      const files = await writeReport(result, folder, options);
      const contribution = page?.contribution;
      if (note !== undefined) terminal.err(`note      ${note}\n`);
      terminal.out(json ? toJson(summary) : renderTerminal(summary, terminal.width));
      if (!json && contribution !== undefined) terminal.out(`\n${renderChecklist(contribution, terminal.width)}`);
      if (!json) terminal.out(`\nreport   ${relative(Deno.cwd(), files.html) || files.html}\n`);
    });
}
