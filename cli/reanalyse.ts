// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { dirname, join } from "node:path";
import {
  defaultPriceBook,
  parsePriceBook,
  type PriceBook,
  readPageBytes,
  reanalyse,
  renderTerminal,
  type ReportOptions,
  summarise,
  toJson,
} from "../mod.ts";
import { writing } from "../scenarios/writing.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";

const HELP = `
Without other prices the page is made again from the file alone; it is the same to the byte if this version of tierbench
made the file, and else the parts that differ are named (exit code 1).

Examples:
  tierbench reanalyse report.html
  tierbench reanalyse report.html --prices 2024-06 --out report-2024.html
  tierbench reanalyse report.html --price-book my-prices --out mine.html`;

function date(text: string): string {
  if (/^\d{4}(-(0[1-9]|1[0-2])(-\d{2})?)?$/.test(text)) return text;
  throw new UsageError(`Cannot use prices of "${text}": expected a date such as 2024, 2024-06 or 2024-06-30`);
}

/** A price book by its word: that of this version, or a folder with files of prices. */
async function bookOf(word: string): Promise<PriceBook> {
  if (word === "shipped") return defaultPriceBook();
  const read = async (name: string): Promise<string> => {
    try {
      return await Deno.readTextFile(join(word, name));
    } catch (error) {
      throw new UsageError(
        `Cannot read the price book: found no "${join(word, name)}" (${(error as Error).message}); expected a folder ` +
          'with instances.csv and components.csv, or "shipped"',
      );
    }
  };
  return parsePriceBook(await read("instances.csv"), await read("components.csv"));
}

/** `tierbench reanalyse`: makes a report again from its page. */
export function addReanalyse(program: Command, { terminal, exit }: Context): void {
  program.command("reanalyse")
    .description("make a report again from its page alone, if wanted at other prices")
    .argument("<report>", "a report's page")
    .option("--prices <date>", "prices as of this date, from the price book in the page", date)
    .option(
      "--price-book <folder>",
      'instances.csv and components.csv to use instead; "shipped": those of this version',
    )
    .option("--out <file>", "write the page there")
    .option("--json", "for machines: the summary")
    .addHelpText("after", HELP)
    .action(async (file, { prices, priceBook, out, json }) => {
      const options: ReportOptions = {
        ...(prices === undefined ? {} : { pricesAsOf: prices }),
        ...(priceBook === undefined ? {} : { prices: await bookOf(priceBook) }),
      };
      const priced = Object.keys(options).length > 0;
      const made = reanalyse(await readPageBytes(file), file, options);
      if (out !== undefined) {
        await writing(out, async () => {
          await Deno.mkdir(dirname(out), { recursive: true });
          await Deno.writeTextFile(out, made.page);
        });
      }
      const summary = summarise(made.read.result, made.options);
      if (json) terminal.out(toJson(summary));
      else if (priced) terminal.out(`${renderTerminal(summary, terminal.width)}\n`);
      const say = json ? terminal.err : terminal.out;
      if (made.same) say(`same     every byte of ${file}\n`);
      else if (priced) say(`differs  in ${made.differing.join("; ")}\n`);
      else {
        terminal.err(
          `differs  this version of tierbench makes another page of it: ${
            made.differing.length === 0 ? "the file carries no sums to compare" : made.differing.join("; ")
          }\n`,
        );
        exit(EXIT.failed);
      }
      if (out !== undefined) say(`report   ${out}\n`);
    });
}
