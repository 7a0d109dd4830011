// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { dirname, join } from "node:path";
import {
  defaultPriceBook,
  parsePriceBook,
  type PriceBook,
  readPageBytes,
  readPriceFiles,
  reanalyse,
  reanalyseSimulation,
  renderSimulationTerminal,
  renderTerminal,
  type ReportOptions,
  simulationJson,
  summarise,
  summariseSimulation,
  toJson,
  writing,
} from "../mod.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { checkPriced, priceOptions, withPriceOptions } from "./price_files.ts";

const HELP = `
Without other prices the page is made again from the file alone; it is the same to the byte if this version of tierbench
made the file, and else the parts that differ are named (exit code 1).

Examples:
  tierbench reanalyse report.html
  tierbench reanalyse report.html --as-of 2024-06 --out report-2024.html
  tierbench reanalyse report.html --prices my-prices.csv --out mine.html`;

/** A price book by its word: that of this version, or a folder of files of prices. */
async function bookOf(word: string): Promise<PriceBook> {
  if (word === "shipped") return defaultPriceBook();
  const names = await Array.fromAsync(Deno.readDir(word)).then(
    (entries) => entries.map(({ name }) => name).filter((name) => name.endsWith(".csv")).sort(),
    () => [],
  );
  if (names.length === 0) {
    throw new UsageError(`Cannot read the price book: found no CSV file in "${word}"; expected a folder, or "shipped"`);
  }
  return parsePriceBook(await readPriceFiles(names.map((name) => join(word, name))));
}

/** `tierbench reanalyse`: makes a report again from its page. */
export function addReanalyse(program: Command, { terminal, exit }: Context): void {
  withPriceOptions(
    program.command("reanalyse")
      .description("make a report again from its page alone, if wanted at other prices")
      .argument("<report>", "a report's page"),
  )
    .option("--price-book <folder>", 'the CSV files to use as the whole price book; "shipped": the one of this version')
    .option("--out <file>", "write the page there")
    .option("--json", "for machines: the summary")
    .addHelpText("after", HELP)
    .action(async (file, { priceBook, out, json, ...words }) => {
      const options: ReportOptions = {
        ...await priceOptions(words),
        ...(priceBook === undefined ? {} : { prices: await bookOf(priceBook) }),
      };
      const priced = Object.keys(options).length > 0;
      const bytes = await readPageBytes(file);
      const simulated = reanalyseSimulation(bytes, file, options);
      if (simulated !== undefined) checkPriced(file, options, summariseSimulation(simulated.result, simulated.options));
      const made = simulated ?? reanalyse(bytes, file, options);
      if (out !== undefined) {
        await writing(out, async () => {
          await Deno.mkdir(dirname(out), { recursive: true });
          await Deno.writeTextFile(out, made.page);
        });
      }
      if (simulated !== undefined) {
        const summary = summariseSimulation(simulated.result, simulated.options);
        if (json) terminal.out(simulationJson(summary));
        else if (priced) terminal.out(renderSimulationTerminal(summary, terminal.width));
      } else if ("read" in made) {
        const summary = summarise(made.read.result, made.options);
        if (json) terminal.out(toJson(summary));
        else if (priced) terminal.out(`${renderTerminal(summary, terminal.width)}\n`);
      }
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
