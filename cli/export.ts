import { writeFile } from "node:fs/promises";
// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import { loadPlan, torchRecModule, torchRecTables } from "../mod.ts";
import { answerText } from "./answers.ts";
import { shareOf } from "./cache.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

/** Load factor below which statistics that are not exact are no surprise to anybody who plans with them. */
const SMALL = 1e-4;

const HELP = `
torchrec  a Python module with constraints for TorchRec's EmbeddingShardingPlanner: of each table the load factor of a least recently
          used cache that hits so often, lookups a sample, and EmbeddingOffloadStats, from which the planner scales caches up. Those
          are bins of equal width: where a small cache hits much, they are exact from the load factor on that is printed.

Example:
  tierbench export torchrec scenarios/plans/mlperf-dlrmv2.jsonc --hit 90% --out constraints.py`;

/** `tierbench export`: a plan's tables in the words of other tools. */
export function addExport(program: Command, { terminal }: Context): void {
  program.command("export")
    .description("write a plan's tables in the words of another tool: TorchRec's planner")
    .addArgument(new Argument("<tool>", "whose").choices(["torchrec"] as const))
    .argument("<plan>", "a plan file")
    .option("--hit <share>", "of a batch's different rows that each cache is to answer", shareOf, 0.9)
    .option("--out <file>", "the module; default: standard output, and what is said on standard error")
    .option("--json", "for machines: what is told of each table, instead of a module on standard output")
    .addHelpText("after", HELP)
    .action(async (_tool, path, { hit, out, json }) => {
      const plan = await loadPlan(path), tables = await torchRecTables(plan, { hits: hit });
      const module = torchRecModule(plan.name, tables);
      if (out !== undefined) await writeFile(out, module);
      if (json) {
        return terminal.out(answerText("export", {
          plan: plan.name,
          ...(out === undefined ? {} : { module: out }),
          tables: tables.map((table) => ({ ...table, histogram: [...table.histogram] })),
        }));
      }
      const say = out === undefined ? terminal.err : terminal.out;
      if (out === undefined) terminal.out(module);
      say(tableText([
        ["table", "rows", "load factor", "hits", "statistics are within 0.01"],
        ...tables.map(({ name, height, loadFactor, hits, exactFrom }) => [
          name,
          String(height),
          loadFactor.toPrecision(3),
          `${(100 * hits).toFixed(2)} %`,
          exactFrom <= SMALL ? "everywhere" : `from a load factor of ${exactFrom.toPrecision(2)} on`,
        ]),
      ]));
      if (out !== undefined) terminal.out(`\nmodule   ${out}\n`);
    });
}
