// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  DEFAULT_PRICE_FILES,
  defaultPriceBook,
  lintPrices,
  pricesAsOf,
  problemText,
  readPriceFiles,
  renderPrices,
  withOwnPrices,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { AS_OF_HELP, thisMonth } from "./price_files.ts";
import { styleFor } from "./ui/ansi.ts";

/** `tierbench prices`: the price book as of a date, or what is wrong with files of prices. */
export function addPrices(program: Command, { terminal, exit }: Context): void {
  program.command("prices")
    .description("show the price book as of a date; what is over a year old is marked")
    .argument("[file...]", "your own CSV files of prices, which win over the book's")
    .option("--as-of <date>", `${AS_OF_HELP} (default: this month)`)
    .option("--lint", "only check: list every row without date, source, known mark or right unit (exit code 2)")
    .option("--json", "for machines: the book as of the date, or the list of problems")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench prices --as-of 2022-06\n  tierbench prices --lint mine.csv\n\ndocs/costs.md says what a file looks like.",
    )
    .action(async (paths, { asOf = thisMonth(), lint, json }) => {
      const style = styleFor(terminal.colors);
      const files = await readPriceFiles(paths);
      if (lint === true) {
        const book = defaultPriceBook();
        const problems = paths.length === 0 ? lintPrices(DEFAULT_PRICE_FILES) : lintPrices(files, book);
        if (json) terminal.out(answerText("prices", problems));
        else if (problems.length === 0) {
          const names = paths.length === 0 ? DEFAULT_PRICE_FILES.map(({ name }) => name) : paths;
          terminal.out(`${names.join(", ")}: every row has date, source, mark and unit\n`);
        } else for (const problem of problems) terminal.err(`${problemText(problem)}\n`);
        if (problems.length > 0) exit(EXIT.usage);
        return;
      }
      const book = withOwnPrices(defaultPriceBook(), files);
      if (json) terminal.out(answerText("prices", pricesAsOf(book, asOf)));
      else terminal.out(renderPrices(book, { asOf, amber: style.yellow }));
    });
}
