/**
 * Published figures that no fit sees: two kinds of traffic at once, latencies under the load of others, threads that each use
 * all modules, and rows that were added to be asked only (`APART-…`). What the models say of them is a prediction;
 * docs/accuracy.md prints it beside the published figure.
 *
 * @module
 */

import { evaluateMedia, type MediaQuery } from "../../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../media.ts";
import { accessOf, type Band, bandFor, type FigureConditions, type Residuals } from "./bands.ts";
import type { BandBasis } from "./basis.ts";
import { type CalibrationRow, isVerified } from "./calibration.ts";
import {
  type FigureKind,
  inCondition,
  MESS_MEDIA,
  MESS_TRAFFIC,
  PERMA_REGION,
  PERMA_TIMER_NS,
  valueOf,
} from "./points.ts";

/** One such figure. */
export interface KeptApart {
  /** Rows that it is made of. */
  readonly ids: readonly string[];
  /** Name of the media model. */
  readonly medium: string;
  /** What kind of figure. */
  readonly kind: FigureKind;
  /** How the medium is accessed, {@linkcode accessOf}; absent of what is made of several accesses. */
  readonly access?: string;
  /** What was measured. */
  readonly about: string;
  /** Published: ns or bytes a second. */
  readonly value: number;
  /** What the model says. */
  readonly model: number;
  /** model / value - 1. */
  readonly error: number;
  /** The 90 % band of `model`, or why there is none. */
  readonly band: Band;
}

/** One of the questions that a figure is made of, and the share of the figure's error that its error makes. */
interface Part {
  readonly kind: FigureKind;
  readonly conditions: FigureConditions;
  /** d ln(figure) / d ln(answer), a positive number. */
  readonly weight: number;
}

/** The model's figure and what it was asked. */
interface Answer {
  readonly model: number;
  readonly parts: readonly Part[];
}

type Model = (queries: readonly MediaQuery[]) => Float64Array;
type Figure = Omit<KeptApart, "access" | "model" | "error" | "band"> & {
  readonly platform: string;
  readonly ask: (model: Model, options: Readonly<Record<string, string>>) => Answer;
};

/** Readers and writers of PerMA-Bench's page propagation, each. */
const EACH = 16;

const PERMA_MEDIA: Readonly<Record<string, string>> = {
  "A-256": "optane-100-6x256",
  "A-DRAM256": "ddr4-2666-6ch",
  "B-256": "optane-200-8x256",
};

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

/** What a side of the traffic is asked: alone, as the simulator asks it. */
const sideOf = ({ operation = "load", bytes, threads, prefetch }: MediaQuery): Omit<Part, "weight"> => ({
  kind: operation === "load" ? "read" : "write",
  conditions: {
    operation,
    bytes,
    threads,
    readShare: operation === "load" ? 1 : 0,
    hops: 0,
    prefetch: prefetch === true,
  },
});

/** Bytes a second of readers and writers together, at the share of the bytes that was published (native/media/media.h). */
function together(sides: readonly [MediaQuery, MediaQuery], model: Model, share: number, duplex: number): Answer {
  const [reads = NaN, writes = NaN] = model(sides);
  const needs = [(share / reads) ** duplex, ((1 - share) / writes) ** duplex];
  const all = needs.reduce((sum, need) => sum + need, 0);
  return {
    model: all ** (-1 / duplex),
    parts: sides.map((side, i) => ({ ...sideOf(side), weight: (needs[i] ?? NaN) / all })),
  };
}

/** The answer to one question. */
function single(query: MediaQuery, part: Omit<Part, "weight">, model: Model): Answer {
  return { model: model([query])[0] ?? NaN, parts: [{ ...part, weight: 1 }] };
}

/**
 * The band of a figure that is made of answers with bands of their own, whose errors are independent of each other (to first
 * order in the logarithm); none where one of them has none. Its basis is that of the answer that makes most of it.
 */
function bandOf(residuals: Residuals, medium: string, { model, parts }: Answer): Band {
  const bands: (readonly [share: number, basis: BandBasis])[] = [];
  for (const { kind, conditions, weight } of parts) {
    const band = bandFor(residuals, medium, kind, 1, conditions);
    if (!band.calibrated) return band;
    bands.push([(weight * Math.log(band.high)) ** 2, band.basis]);
  }
  const factor = Math.exp(Math.sqrt(bands.reduce((sum, [share]) => sum + share, 0)));
  const [, basis] = bands.reduce((a, b) => b[0] > a[0] ? b : a);
  return { calibrated: true, low: model / factor, high: model * factor, basis };
}

type Rows = ReadonlyMap<string, CalibrationRow>;

/** PerMA-Bench's page propagation: what its readers and its writers reach side by side, added up. */
function pagesOf(row: CalibrationRow, value: number, byId: Rows): Figure | undefined {
  const match = /^PB-PAGEPROP-(A-\w+)-page_in-in(\d+)-out(\d+)$/.exec(row.id);
  if (match === null) return undefined;
  const [, on = "", read, write] = match, out = byId.get(row.id.replace("page_in", "page_out"));
  const written = out === undefined ? undefined : valueOf(out);
  if (out === undefined || written === undefined) return undefined;
  return {
    ids: [row.id, out.id],
    medium: PERMA_MEDIA[on] ?? "",
    platform: "perma",
    kind: "mixed",
    about: `${EACH} readers of ${read} B and ${EACH} writers of ${write} B, together`,
    value: value + written,
    ask: (model, { duplex = "1" }) => {
      const reads = bandwidth("load", Number(read), EACH, true),
        writes = bandwidth("nt-store", Number(write), EACH, true);
      return together([reads, writes], model, value / (value + written), Number(duplex));
    },
  };
}

/** PerMA-Bench's latencies of several threads. */
function busyOf(row: CalibrationRow, value: number): Figure | undefined {
  const match = /^PB-LAT-(A-\w+)-rp_(\d+)-(\d+)T-avg$/.exec(row.id);
  if (match === null || match[3] === "1") return undefined;
  const [, on = "", bytes, threads] = match;
  const conditions = {
    operation: "load",
    depth: 1,
    prefetch: true,
    region: PERMA_REGION,
    bytes: Number(bytes),
    threads: Number(threads),
  } as const;
  return {
    ids: [row.id],
    medium: PERMA_MEDIA[on] ?? "",
    platform: "perma",
    kind: "latency",
    about: `latency of ${bytes} B, ${threads} threads with one access each`,
    value: value - PERMA_TIMER_NS,
    ask: (model) => single({ ask: "latency", ...conditions }, { kind: "latency", conditions }, model),
  };
}

/** Threads of the Optane study that each use all modules. */
function spreadOf(row: CalibrationRow, value: number): Figure | undefined {
  const match = /^OS-CONT-ntstore-6per-(\d+)$/.exec(row.id);
  return match === null
    ? undefined
    : alone(row, "optane-100-6x256", "optanestudy", `6 threads that store ${match[1]} B, each to all modules`, value, [
      "nt-store",
      Number(match[1]),
      6,
      false,
    ]);
}

/** PerMA-Bench's random reads of the 200 series, of sizes and prefetchers that no compared row of it has. */
function prefetchOf(row: CalibrationRow, value: number): Figure | undefined {
  const match = /^APART-PB-PF-b-256-pf-(on|off)-(\d+)B-(\d+)T$/.exec(row.id);
  if (match === null) return undefined;
  const [, prefetchers, bytes, threads] = match;
  const about = `${threads} threads that read ${bytes} B, prefetchers ${prefetchers}`;
  return alone(row, PERMA_MEDIA["B-256"] ?? "", "perma", about, value, [
    "load",
    Number(bytes),
    Number(threads),
    prefetchers === "on",
  ]);
}

/** A bandwidth of one kind of access. */
function alone(
  row: CalibrationRow,
  medium: string,
  platform: string,
  about: string,
  value: number,
  asked: Parameters<typeof bandwidth>,
): Figure {
  const query = bandwidth(...asked), part = sideOf(query);
  const ask = (model: Model) => single(query, part, model);
  return { ids: [row.id], medium, platform, kind: part.kind, about, value, ask };
}

/** Mess's curves of the shares of reads that lie midway between those that are compared: every point with traffic. */
function midwayOf(row: CalibrationRow, value: number): Figure | undefined {
  const match = /^APART-MESS-(\w+)-R(\d+)-(?:BW\d+|(MAX))$/.exec(row.id);
  if (match === null) return undefined;
  const [, on = "", reads, peak] = match;
  const traffic = inCondition(row, MESS_TRAFFIC);
  const conditions = {
    operation: "load",
    bytes: 64,
    threads: 1,
    readShare: Number(reads) / 100,
    prefetch: false,
    ...(peak === undefined ? { load: traffic * 1e9 } : {}),
  } as const;
  const kind = peak === undefined ? "latency" : "mixed";
  const query = { ask: peak === undefined ? "latency-at" as const : "peak" as const, ...conditions };
  return {
    ids: [row.id],
    medium: MESS_MEDIA[on] ?? "",
    platform: "mess",
    kind,
    about: peak === undefined
      ? `latency beside ${traffic} GB/s of which ${reads} % are reads`
      : `highest traffic of which ${reads} % are reads`,
    value,
    ask: (model) => single(query, { kind, conditions }, model),
  };
}

function figureOf(row: CalibrationRow, byId: Rows): Figure | undefined {
  const value = valueOf(row);
  if (!isVerified(row) || value === undefined) return undefined;
  return pagesOf(row, value, byId) ?? busyOf(row, value) ?? spreadOf(row, value) ?? prefetchOf(row, value) ??
    midwayOf(row, value);
}

/** Ids of the rows that are compared here. */
export function keptApartIds(rows: readonly CalibrationRow[]): ReadonlySet<string> {
  return new Set(figuresOf(rows).flatMap(({ ids }) => ids));
}

function figuresOf(rows: readonly CalibrationRow[]): Figure[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return rows.map((row) => figureOf(row, byId)).filter((figure) => figure !== undefined);
}

/**
 * Asks the models for all of them.
 *
 * @param residuals What bands are made of; none of these rows is in them.
 */
export async function compareKeptApart(rows: readonly CalibrationRow[], residuals: Residuals): Promise<KeptApart[]> {
  return await Promise.all(
    figuresOf(rows).map(async ({ platform, ask, ...figure }) => {
      const options = mediaOptions(await loadMedia(figure.medium), platform);
      const answer = ask((queries) => evaluateMedia(options, queries), options), { model } = answer;
      const band = bandOf(residuals, figure.medium, answer), [part, other] = answer.parts;
      const operation = other === undefined ? part?.conditions.operation : undefined;
      const access = operation === undefined ? {} : { access: accessOf({ operation }) };
      return { ...figure, ...access, model, error: model / figure.value - 1, band };
    }),
  );
}
