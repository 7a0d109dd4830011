/**
 * The price book that ships with tierbench. The one file of this room that imports text, so that everything else can be
 * bundled for a browser.
 *
 * @module
 */

import componentsCsv from "./prices/components.csv" with { type: "text" };
import energyCsv from "./prices/energy.csv" with { type: "text" };
import gpuNodesCsv from "./prices/gpu_nodes.csv" with { type: "text" };
import instancesCsv from "./prices/instances.csv" with { type: "text" };
import serversCsv from "./prices/servers.csv" with { type: "text" };
import storageCsv from "./prices/storage.csv" with { type: "text" };
import { parsePriceBook, type PriceBook, type PriceFile } from "./price_book.ts";

/** The files of the book. */
export const DEFAULT_PRICE_FILES: readonly PriceFile[] = [
  { name: "instances.csv", text: instancesCsv },
  { name: "gpu_nodes.csv", text: gpuNodesCsv },
  { name: "components.csv", text: componentsCsv },
  { name: "servers.csv", text: serversCsv },
  { name: "energy.csv", text: energyCsv },
  { name: "storage.csv", text: storageCsv },
];

/** The book that ships with tierbench. */
export function defaultPriceBook(): PriceBook {
  return parsePriceBook(DEFAULT_PRICE_FILES);
}
