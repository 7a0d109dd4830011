// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { hitSizes, hitSizesText, loadPlan, measureSizes, planTables, tableSize } from "../mod.ts";
import { answerText, type SizedTableAnswer } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { warnOfPlanProfiles } from "./profile_warnings.ts";
import { tableText } from "./ui/table.ts";

/** `tierbench size`: bytes of a model's tables, to the byte. */
export function addSize(program: Command, { terminal }: Context): void {
  program.command("size")
    .description("compute the bytes of a model's tables: weights, slots, index, policy; to the byte")
    .argument("<file>", "a plan file; scenarios/plans has examples")
    .option("--measure", "build the tables in this machine's memory and count every byte instead of computing them")
    .option("--hits <ratios>", "also the bytes of a fast memory that hold such shares of a step's rows: 0.9,0.95,0.99")
    .option("--medium <model>", "that memory, by its media model, for the number of devices", "hbm3-h100")
    .option("--no-limit", "no bound on the number of tables and machines, nor on the bytes that --measure builds")
    .option("--json", "for machines")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench size scenarios/plans/retail.jsonc\n  tierbench size scenarios/plans/retail.jsonc --hits 0.9,0.99",
    )
    .action(async (file, { measure, json, limit, hits, medium }) => {
      if (measure === true && hits !== undefined) {
        throw new UsageError(
          "Cannot measure a hit ratio: --measure counts bytes of rows that are built; leave one out",
        );
      }
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
          json === true ? answerText("size", measured) : tableText([head, ...lines]),
        );
      }
      if (hits !== undefined) await warnOfPlanProfiles(terminal, written);
      const fast = hits === undefined ? undefined : await hitSizes(written, ratiosOf(hits), medium);
      const sizes = planTables(written).map(({ count, ...table }) => ({ ...times(tableSize(table), count), count }));
      if (json === true) {
        const found = fast === undefined ? sizes : { tables: sizes, hits: fast };
        return terminal.out(answerText("size", found));
      }
      terminal.out(computedText(sizes));
      if (fast !== undefined) terminal.out(`\n${hitSizesText(fast, medium)}`);
    });
}

/** Ratios as written, `0.9,0.95`. */
function ratiosOf(text: string): number[] {
  return text.split(",").map((word) => {
    const ratio = word.trim() === "" ? NaN : Number(word);
    if (ratio > 0 && ratio <= 1) return ratio;
    throw new UsageError(
      `Cannot size for a hit ratio "${word}": expected numbers above 0 and at most 1, as in 0.9,0.99`,
    );
  });
}

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

function computedText(sizes: readonly SizedTableAnswer[]): string {
  const row = (name: string, one: SizedTableAnswer, each: string, tables: string): string[] => [
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
