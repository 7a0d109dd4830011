// @ts-types="@commander-js/extra-typings"
import type { Command, OptionValues } from "commander";
import {
  BOUNDARIES,
  type Boundary,
  defaultPriceBook,
  type PriceFile,
  readPriceFiles,
  type SummaryOptions,
  withOwnPrices,
} from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

const PRICES_HELP = "a CSV file of your own prices, which win over the price book's; may be repeated";
/** Explains the date in helps. */
export const AS_OF_HELP = 'prices as of this date, such as "2026-11"';

const BOUNDARY_HELP: string = `where the bill ends, each word with those before it: ${
  BOUNDARIES.join(", ")
} (default: the whole bill)`;
const CURRENCY_HELP = 'costs in this currency, such as "EUR"; its rate is a row of the prices';

/** Where a bill ends, by its word. */
function boundaryWord(text: string): Boundary {
  const found = BOUNDARIES.find((one) => one === text);
  if (found !== undefined) return found;
  throw new UsageError(`Cannot end the bill at "${text}": one of ${BOUNDARIES.join(", ")} is needed`);
}

/** A currency by its word. */
function currencyWord(text: string): string {
  if (/^[A-Z]{3}$/.test(text)) return text;
  throw new UsageError(`Cannot give costs in "${text}": three capital letters such as "EUR" are needed`);
}

/** Words of a command line about prices. */
export interface PriceWords {
  /** Files of the user's prices. */
  readonly prices?: readonly string[] | undefined;
  /** Date of the prices. */
  readonly asOf?: string | undefined;
  /** Where the bill ends. */
  readonly boundary?: Boundary | undefined;
  /** Currency of the costs. */
  readonly currency?: string | undefined;
}

/** Gives a verb the options that say at which prices: `--prices`, `--as-of`, `--boundary`, `--currency`. */
export function withPriceOptions<A extends unknown[], O extends OptionValues, G extends OptionValues>(
  verb: Command<A, O, G>,
): Command<A, O & PriceWords, G> {
  return verb
    .option("--prices <file>", PRICES_HELP, listed)
    .option("--as-of <date>", AS_OF_HELP)
    .option("--boundary <where>", BOUNDARY_HELP, boundaryWord)
    .option("--currency <code>", CURRENCY_HELP, currencyWord) as unknown as Command<A, O & PriceWords, G>;
}

/** What they ask of a report: nothing where no word was given. */
export async function priceOptions({ prices, asOf, boundary, currency }: PriceWords): Promise<SummaryOptions> {
  return {
    ...(prices === undefined ? {} : { priceFiles: await priceFiles(prices) }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(boundary === undefined ? {} : { boundary }),
    ...(currency === undefined ? {} : { currency }),
  };
}

/**
 * Looks whether prices that were asked for can be used by a simulation.
 *
 * @throws {UsageError} if it names no machine, so that there is nothing to price.
 */
export function checkPriced(word: string, asked: SummaryOptions, { money }: { readonly money?: unknown }): void {
  if (Object.keys(asked).length === 0 || money !== undefined) return;
  throw new UsageError(
    `Cannot price "${word}": it is a simulation whose configurations do not say what their machines are; add ` +
      '"machine" to a configuration, and "cost": { "trainers": … } (docs/costs.md)',
  );
}

/** Collects an option that may be repeated. */
export const listed = (text: string, before: readonly string[] = []): string[] => [...before, text];

/**
 * The text of files of prices, none of which is broken.
 *
 * @throws {Error} naming a file that cannot be read. @throws {RangeError} naming a row that cannot be used.
 */
export async function priceFiles(paths: readonly string[] = []): Promise<PriceFile[]> {
  const files = await readPriceFiles(paths);
  checkPrices(files);
  return files;
}

/** Looks whether files of prices can be used. @throws {RangeError} naming a row that cannot. */
export function checkPrices(files: readonly PriceFile[]): void {
  if (files.length > 0) withOwnPrices(defaultPriceBook(), files);
}

/** The month that today is in. */
export function thisMonth(): string {
  return new Date().toISOString().slice(0, 7);
}
