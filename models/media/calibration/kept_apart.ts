/**
 * Published figures that no fit sees: two kinds of traffic at once, latencies under the load of others, threads that each use
 * all modules. What the models say of them is a prediction; docs/accuracy.md prints it beside the published figure.
 *
 * @module
 */

import { evaluateMedia, type MediaQuery } from "../../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../media.ts";
import { type CalibrationRow, isVerified } from "./calibration.ts";
import { PERMA_REGION, PERMA_TIMER_NS, valueOf } from "./points.ts";

/** One such figure. */
export interface KeptApart {
  /** Rows that it is made of. */
  readonly ids: readonly string[];
  /** Name of the media model. */
  readonly medium: string;
  /** What was measured. */
  readonly about: string;
  /** Published: ns or bytes a second. */
  readonly value: number;
  /** What the model says. */
  readonly model: number;
  /** model / value - 1. */
  readonly error: number;
}

type Model = (queries: readonly MediaQuery[]) => Float64Array;
type Figure = Omit<KeptApart, "model" | "error"> & {
  readonly platform: string;
  readonly ask: (model: Model, options: Readonly<Record<string, string>>) => number;
};

/** Readers and writers of PerMA-Bench's page propagation, each. */
const EACH = 16;

const PERMA_MEDIA: Readonly<Record<string, string>> = { "A-256": "optane-100-6x256", "A-DRAM256": "ddr4-2666-6ch" };

const bandwidth = (
  operation: MediaQuery["operation"],
  bytes: number,
  threads: number,
  prefetch: boolean,
): MediaQuery => ({
  ask: "bandwidth",
  operation,
  bytes,
  threads,
  prefetch,
});

/** Bytes a second of readers and writers together, at the share of the bytes that was published (native/media/media.h). */
function together(reads: number, writes: number, share: number, duplex: number): number {
  return ((share / reads) ** duplex + ((1 - share) / writes) ** duplex) ** (-1 / duplex);
}

function figureOf(row: CalibrationRow, byId: ReadonlyMap<string, CalibrationRow>): Figure | undefined {
  const value = valueOf(row);
  if (!isVerified(row) || value === undefined) return undefined;
  const pages = /^PB-PAGEPROP-(A-\w+)-page_in-in(\d+)-out(\d+)$/.exec(row.id);
  if (pages !== null) {
    const [, on = "", read, write] = pages, out = byId.get(row.id.replace("page_in", "page_out"));
    const written = out === undefined ? undefined : valueOf(out);
    if (out === undefined || written === undefined) return undefined;
    return {
      ids: [row.id, out.id],
      medium: PERMA_MEDIA[on] ?? "",
      platform: "perma",
      about: `${EACH} readers of ${read} B and ${EACH} writers of ${write} B, together`,
      value: value + written,
      ask: (model, { duplex = "1" }) => {
        const alone = model([
          bandwidth("load", Number(read), EACH, true),
          bandwidth("nt-store", Number(write), EACH, true),
        ]);
        return together(alone[0] ?? NaN, alone[1] ?? NaN, value / (value + written), Number(duplex));
      },
    };
  }
  const busy = /^PB-LAT-(A-\w+)-rp_(\d+)-(\d+)T-avg$/.exec(row.id);
  if (busy !== null && busy[3] !== "1") {
    const [, on = "", bytes, threads] = busy;
    const latency = { ask: "latency", operation: "load", depth: 1, prefetch: true, region: PERMA_REGION } as const;
    return {
      ids: [row.id],
      medium: PERMA_MEDIA[on] ?? "",
      platform: "perma",
      about: `latency of ${bytes} B, ${threads} threads with one access each`,
      value: value - PERMA_TIMER_NS,
      ask: (model) => model([{ ...latency, bytes: Number(bytes), threads: Number(threads) }])[0] ?? NaN,
    };
  }
  const spread = /^OS-CONT-ntstore-6per-(\d+)$/.exec(row.id);
  return spread === null ? undefined : {
    ids: [row.id],
    medium: "optane-100-6x256",
    platform: "optanestudy",
    about: `6 threads that store ${spread[1]} B, each to all modules`,
    value,
    ask: (model) => model([bandwidth("nt-store", Number(spread[1]), 6, false)])[0] ?? NaN,
  };
}

/** Ids of the rows that are compared here. */
export function keptApartIds(rows: readonly CalibrationRow[]): ReadonlySet<string> {
  return new Set(figuresOf(rows).flatMap(({ ids }) => ids));
}

function figuresOf(rows: readonly CalibrationRow[]): Figure[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return rows.map((row) => figureOf(row, byId)).filter((figure) => figure !== undefined);
}

/** Asks the models for all of them. */
export async function compareKeptApart(rows: readonly CalibrationRow[]): Promise<KeptApart[]> {
  return await Promise.all(
    figuresOf(rows).map(async ({ platform, ask, ...figure }) => {
      const options = mediaOptions(await loadMedia(figure.medium), platform);
      const model = ask((queries) => evaluateMedia(options, queries), options);
      return { ...figure, model, error: model / figure.value - 1 };
    }),
  );
}
