// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { loadPlan, measureSizes, planTables, tableSize } from "../mod.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

/** `tierbench size`: bytes of a model's tables, to the byte. */
export function addSize(program: Command, { terminal }: Context): void {
  program.command("size")
    .description("compute the bytes of a model's tables: weights, slots, index, policy; to the byte")
    .argument("<file>", "a plan file; scenarios/plans has examples")
    .option("--measure", "build the tables in this machine's memory and count every byte instead of computing them")
    .option("--no-limit", "no bound on the number of tables and machines, nor on the bytes that --measure builds")
    .option("--json", "for machines")
    .addHelpText("after", "\nExample:\n  tierbench size scenarios/plans/retail.jsonc")
    .action(async (file, { measure, json, limit }) => {
      const written = await loadPlan(file, { limit });
      if (measure === true) {
        const measured = measureSizes(written, { limit });
        const lines = measured.map(({ name, rows, rowBytes, purposes, total }) => [
          name,
          count(rows),
          count(rowBytes),
          ...["rows", "index", "policy", "buffers", "slack"].map((purpose) => count(purposes[purpose] ?? 0)),
          count(total),
        ]);
        const head = ["table", "rows", "bytes a row", "rows", "index", "policy", "buffers", "slack", "bytes in all"];
        return terminal.out(
          json === true ? `${JSON.stringify(measured, undefined, 2)}\n` : tableText([head, ...lines]),
        );
      }
      const sizes = planTables(written).map(({ count, ...table }) => ({ ...times(tableSize(table), count), count }));
      terminal.out(json === true ? `${JSON.stringify(sizes, undefined, 2)}\n` : computedText(sizes));
    });
}

type CountedSize = ReturnType<typeof tableSize> & { readonly count: number };

/** So many tables of a size. */
function times(size: ReturnType<typeof tableSize>, count: number): ReturnType<typeof tableSize> {
  const { index } = size;
  return {
    ...size,
    rows: size.rows * count,
    beside: size.beside * count,
    index: { low: index.low * count, high: index.high * count },
  };
}

function computedText(sizes: readonly CountedSize[]): string {
  const row = (name: string, one: CountedSize, each: string, tables: string): string[] => [
    name,
    tables,
    each,
    count(one.rows),
    `${count(one.index.low)} to ${count(one.index.high)}`,
    count(one.beside),
    `${count(one.rows + one.index.low)} to ${count(one.rows + one.index.high + one.beside)}`,
  ];
  const all = sizes.reduce((sum, one) => ({
    ...sum,
    rows: sum.rows + one.rows,
    beside: sum.beside + one.beside,
    index: { low: sum.index.low + one.index.low, high: sum.index.high + one.index.high },
  }));
  return tableText([
    ["table", "tables", "bytes a row", "bytes of rows", "index, in memory", "beside rows that can leave", "in all"],
    ...sizes.map((one) => row(one.name, one, count(one.rowBytes), count(one.count))),
    row("all", all, "", ""),
  ]);
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
