// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { dirname, join, relative } from "node:path";
import { readResult, renderTerminal, summarise, toJson, writeReport } from "../mod.ts";
import type { Context } from "./main.ts";

/** `tierbench report`: writes the report of a result file again. */
export function addReport(program: Command, { terminal }: Context): void {
  program.command("report")
    .description("write the report of earlier results again")
    .argument("[results]", "a result.jsonl or its folder", join("reports", "out", "pmem-modes"))
    .option("--out <folder>", "where the report goes (default: beside the results)")
    .option("--json", "for machines: the summary, after writing the report")
    .addHelpText("after", "\nExample:\n  tierbench report reports/out/pmem-modes")
    .action(async (results, { out, json }) => {
      const path = results.endsWith(".jsonl") ? results : join(results, "result.jsonl");
      const result = await readResult(path);
      const summary = summarise(result);
      const files = await writeReport(result, out ?? dirname(path));
      terminal.out(json ? toJson(summary) : renderTerminal(summary, terminal.width));
      if (!json) terminal.out(`\nreport   ${relative(Deno.cwd(), files.html) || files.html}\n`);
    });
}
