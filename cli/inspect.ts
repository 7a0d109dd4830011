// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { inspectTrace, parseTableConfigs, readUserText, type TableConfigs, type TraceFacts } from "../mod.ts";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { traceOptions, withTraceOptions } from "./trace_options.ts";
import { tableText } from "./ui/table.ts";

const FORMATS: Readonly<Record<TraceFacts["format"], string>> = {
  text: "text",
  i64: "raw keys of 64 bits",
  i32: "raw keys of 32 bits",
  oracleGeneral: "libCacheSim's oracleGeneral",
  npy: "a NumPy array",
  npz: "an archive of NumPy arrays",
  torch: "tensors of torch.save()",
  parquet: "a Parquet file",
};
/** Tables that are printed. */
const SHOWN = 60;

/** Tables that a file describes, if it is JSON that does. */
async function describedTables(path: string): Promise<TableConfigs | undefined> {
  const head = new Uint8Array(64);
  try {
    using file = await Deno.open(path);
    await file.read(head);
  } catch {
    return undefined; // whoever reads it as a trace says why
  }
  if (!/^\ufeff?\s*[[{]/.test(new TextDecoder("utf-8", { ignoreBOM: true }).decode(head))) return undefined;
  return parseTableConfigs(await readUserText(path, "tables"), path);
}

function describedText(path: string, { form, tables, notes }: TableConfigs): string {
  const count = (x: number) => x.toLocaleString("en-US");
  const rows = tables.slice(0, SHOWN).map(({ name, rows, dim, dtype, lookups }) => [
    name,
    count(rows),
    count(dim),
    dtype,
    lookups === undefined ? "" : count(lookups),
  ]);
  return `form     tables in the words of ${form}\n\n` +
    tableText([["table", "rows", "dim", "type", "lookups a sample"], ...rows]) +
    (tables.length > SHOWN ? `and ${tables.length - SHOWN} more tables\n` : "") +
    notes.map((note) => `\n${note}\n`).join("") +
    `\ntierbench init --kind plan --tables ${path} --profile torchrec-zipf-1.1 plan.jsonc   a plan to begin with, for tierbench size, ` +
    "plan and export; the profile says how often rows are used\n";
}

/** `tierbench inspect`: what a file is. */
export function addInspect(program: Command, { terminal }: Context): void {
  withTraceOptions(
    program.command("inspect")
      .description(
        "tell what a file of keys or of table configs is: its form, tables, lookups, keys, and what can be done with it",
      )
      .argument(
        "<file>",
        "a trace: text, oracleGeneral, NumPy, tensors, Parquet or raw keys, plain or packed with gzip or zstd",
      ),
  )
    .option("--json", "for machines")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench inspect trace.csv\n  tierbench inspect ratings.csv --columns key=userId,key=movieId",
    )
    .action(async (file, options) => {
      const described = options.format === undefined ? await describedTables(file) : undefined;
      if (described !== undefined) {
        return terminal.out(
          options.json === true ? `${JSON.stringify(described, undefined, 2)}\n` : describedText(file, described),
        );
      }
      const facts = await inspectTrace(file, traceOptions(options));
      if (options.json === true) return terminal.out(answerText("inspect", facts));
      const { format, packing, bytes, columns, tables } = facts, count = (x: number) => x.toLocaleString("en-US");
      terminal.out(`form     ${FORMATS[format]}${packing === undefined ? "" : `, packed with ${packing}`}\n`);
      terminal.out(`bytes    ${count(bytes)}\n`);
      if (columns !== "") terminal.out(`columns  ${columns}\n`);
      const samples = tables.some((table) => table.samples !== undefined);
      terminal.out(`\n${
        tableText([
          ["table", "lookups", "keys", ...(samples ? ["samples"] : [])],
          ...tables.slice(0, SHOWN).map((table) => [
            table.name,
            count(table.lookups),
            `${table.keys > 4096 ? "about " : ""}${count(table.keys)}`,
            ...(samples ? [table.samples === undefined ? "" : count(table.samples)] : []),
          ]),
        ])
      }`);
      if (tables.length > SHOWN) terminal.out(`and ${tables.length - SHOWN} more tables\n`);
      const words = (["columns", "separator", "format"] as const).flatMap((name) =>
        options[name] === undefined ? [] : [`--${name} "${options[name]}"`]
      );
      const how = words.length === 0 ? "" : ` ${words.join(" ")}`;
      terminal.out(
        `\ntierbench curve ${file}${how}     what caches of many sizes miss, all tables sharing one\n` +
          `tierbench profile ${file}${how}   a profile to simulate with, and how faithful it is\n`,
      );
    });
}
