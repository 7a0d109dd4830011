// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join, relative } from "node:path";
import { mergeResults, renderTerminal, resultPath, summarise, writeReport, writeResult } from "../mod.ts";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { RESULTS_HELP, resultsOf } from "./page_argument.ts";

const HELP = `
Every shard must be of the same scenario, data and version. One that is lost, or lacks samples, is named with exit code 2.

Examples:
  tierbench run --shard 1/4        on one machine, 2/4 on the next, …
  tierbench merge reports/out/pmem-modes-shard-*-of-4`;

/** `tierbench merge`: joins the results of a run that was taken in shares. */
export function addMerge(program: Command, { terminal }: Context): void {
  program.command("merge")
    .description("join the results of a run that was taken in shards")
    .argument("<results...>", `of every shard: ${RESULTS_HELP}`)
    .option("--out <folder>", "where the joined results go (default: reports/out/<name>)")
    .option("--allow-missing", "join what there is of lost or unfinished shards; the report names them")
    .option("--json", "for machines: the page and the summary")
    .addHelpText("after", HELP)
    .action(async (words, { out, allowMissing, json }) => {
      const given = await Promise.all(words.map(async (name) => ({ name, result: (await resultsOf(name)).result })));
      const records = mergeResults(given, { allowMissing: allowMissing === true });
      const path = resultPath(given[0]?.result.run.scenario ?? { name: "merged" }, out);
      const result = await writeResult(path, records);
      const files = await writeReport(result, join(path, ".."));
      const summary = summarise(result);
      if (json) return terminal.out(answerText("merge", { report: files.html, summary }));
      terminal.out(`${renderTerminal(summary, terminal.width)}\n`);
      terminal.out(`report   ${relative(Deno.cwd(), files.html) || files.html}\n`);
    });
}
