import { defaultPriceBook, type PriceFile, readPriceFiles, withOwnPrices } from "../mod.ts";

/** Explains the option in helps. */
export const PRICES_HELP = "a CSV file of your own prices, which win over the price book's; may be repeated";
/** Explains the date in helps. */
export const AS_OF_HELP = 'prices as of this date, such as "2026-11"';

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
