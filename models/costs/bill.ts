/**
 * What is in the bill. A saving on parameter servers is a smaller saving on the whole job, so every cost says where its
 * boundary is, and shows the saving under each of the others.
 *
 * @module
 */

import type { Instance, PriceBook, PriceItem } from "./price_book.ts";

/** Where a bill ends. */
export type Boundary = "parameter-servers" | "workers" | "storage" | "checkpoints";
/** Boundaries from the narrowest; each holds those before it. */
export const BOUNDARIES: readonly Boundary[] = ["parameter-servers", "workers", "storage", "checkpoints"];

/** The boundary that holds everything: what a bill is unless another is asked for. */
export const WHOLE_BILL: Boundary = "checkpoints";

/** What is added at a boundary, in words. */
export const BOUNDARY_WORDS: Readonly<Record<Boundary, string>> = {
  "parameter-servers": "the machines that hold the tables",
  workers: "training workers",
  storage: "storage of the training data",
  checkpoints: "storage of checkpoints",
};

/** The parts of a job beside its parameter servers; both sides of a comparison pay them alike. */
export interface BillRequest {
  /** Number of training workers. */
  readonly workers: number;
  /** A worker: its name in the price book, or its price an hour in the book's currency. */
  readonly worker: string | number;
  /** Bytes of training data that are kept. */
  readonly dataBytes: number;
  /** Checkpoints that are kept, each as large as the rows. */
  readonly checkpoints: number;
}

/** The parts that are assumed unless a scenario names others. */
export const DEFAULT_BILL: BillRequest = { workers: 1, worker: "p4d.24xlarge", dataBytes: 1e12, checkpoints: 2 };

/** One part of a bill. */
export interface BillPart {
  /** The narrowest boundary that has this part within it. */
  readonly boundary: Exclude<Boundary, "parameter-servers">;
  /** `1 × p4d.24xlarge`. */
  readonly what: string;
  /** $ an hour; undefined where the book has no price for it. */
  readonly perHour: number | undefined;
  /** The row of the price book; undefined for a price that the scenario states, or where there is none. */
  readonly price: Instance | PriceItem | undefined;
  /** Why there is no price. */
  readonly missing: string | undefined;
}

/** Hours that a month's price is spread over. */
export const HOURS_PER_MONTH = 730;
/** Item of the book that storage is priced with. */
const STORAGE_ITEM = "Object storage";

/**
 * The parts of a bill at the prices of a dated book.
 *
 * @param modelBytes Bytes of rows: the size of a checkpoint.
 * @param sign How amounts are written.
 */
export function billParts(request: BillRequest, dated: PriceBook, modelBytes: number, sign = "$"): BillPart[] {
  const { workers, worker, dataBytes, checkpoints } = request;
  const named = typeof worker === "string" ? dated.instances.find(({ name }) => name === worker) : undefined;
  const each = typeof worker === "number" ? worker : named?.pricePerHour;
  const storage = dated.items.find(({ item }) => item === STORAGE_ITEM);
  const kept = (boundary: "storage" | "checkpoints", what: string, bytes: number): BillPart => ({
    boundary,
    what,
    perHour: storage === undefined ? undefined : storagePerHour(bytes, storage),
    price: storage,
    missing: storage === undefined ? `the price book has no "${STORAGE_ITEM}" by this date` : undefined,
  });
  return [
    {
      boundary: "workers",
      what: `${workers} × ${
        typeof worker === "number" ? `a worker of ${Number(worker.toPrecision(6))} ${sign}/h` : worker
      }`,
      perHour: each === undefined ? undefined : workers * each,
      price: named,
      missing: each === undefined ? `the price book has no machine "${worker}" by this date` : undefined,
    },
    kept("storage", `${gigabytes(dataBytes)} GB of training data`, dataBytes),
    kept("checkpoints", `${checkpoints} × ${gigabytes(modelBytes)} GB of checkpoints`, checkpoints * modelBytes),
  ];
}

/** $ an hour for keeping bytes. */
function storagePerHour(bytes: number, { value }: Pick<PriceItem, "value">): number {
  return bytes / 1e9 * value / HOURS_PER_MONTH;
}

/** $ an hour of the parts within a boundary; undefined if one of them has no price. */
export function commonPerHour(parts: readonly BillPart[], boundary: Boundary): number | undefined {
  return partsWithin(parts, boundary).reduce<number | undefined>(
    (sum, { perHour }) => sum === undefined || perHour === undefined ? undefined : sum + perHour,
    0,
  );
}

/** Parts within a boundary. */
export function partsWithin(parts: readonly BillPart[], boundary: Boundary): BillPart[] {
  return parts.filter((part) => BOUNDARIES.indexOf(part.boundary) <= BOUNDARIES.indexOf(boundary));
}

/** What a cost is of, to end a sentence: `on the whole bill`. */
export function billWords(boundary: Boundary): string {
  if (boundary === WHOLE_BILL) return "on the whole bill";
  if (boundary === "parameter-servers") return "for the parameter servers alone";
  return boundary === "workers" ? "with the training workers in the bill" : "without the storage of checkpoints";
}

/** A boundary in words: everything that it holds. */
export function boundaryText(boundary: Boundary): string {
  const held = BOUNDARIES.slice(0, BOUNDARIES.indexOf(boundary) + 1).map((one) => BOUNDARY_WORDS[one]);
  return held.length === 1 ? held[0] as string : `${held.slice(0, -1).join(", ")} and ${held.at(-1)}`;
}

function gigabytes(bytes: number): number {
  return Number((bytes / 1e9).toPrecision(3));
}
