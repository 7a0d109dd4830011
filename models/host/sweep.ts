/**
 * What a medium of this machine is asked: the questions that media models are validated with, by operation, size, threads,
 * mix and load, each several times. Rounds ask everything once, so that slow changes of the machine meet every question.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import type { Gauge } from "../../ffi/gauge.ts";
import type { MediaOperation, MediaQuery } from "../../ffi/media.ts";
import type { FigureKind } from "../media/calibration/points.ts";
import { TierstoreError } from "../../ffi/errors.ts";

/** A question, and what kind of figure answers it. */
export interface SweepPoint {
  /** As a media model is asked. */
  readonly query: MediaQuery;
  /** Kind of the figure. */
  readonly kind: FigureKind;
  /** Points that differ in one quantity only. */
  readonly curve: string;
}

/** A point with its answers, one a round: ns or bytes a second. */
export interface SweptPoint extends SweepPoint {
  /** One a round; at least one. */
  readonly values: readonly number[];
}

/** How thorough a sweep is. */
export interface SweepSize {
  /** Sizes of an access, bytes; of memory. */
  readonly bytes: readonly number[];
  /** Rounds. */
  readonly rounds: number;
  /** Seconds of a question. */
  readonly seconds: number;
}

/** A drive's requests take longer than accesses to memory, and come in bursts: a question takes so many times as long. */
export const DRIVE_TIMES = 4;

/** Minutes: what is believed. */
export const FULL: SweepSize = { bytes: [64, 128, 256, 512, 1024, 2048, 4096], rounds: 9, seconds: 0.08 };
/** Seconds: whether it works. */
export const QUICK: SweepSize = { bytes: [64, 256, 1024], rounds: 9, seconds: 0.003 };

const STORES: readonly MediaOperation[] = ["nt-store", "cached-store", "flushed-store"];

/** 1, 2, 4, … and the most. */
function counts(most: number): number[] {
  const powers = Array.from({ length: 12 }, (_, i) => 2 ** i).filter((n) => n < most);
  return [...powers, most];
}

/** The points of memory: what `threads` cores get of it; `mixed`: the stores that loads are mixed with. */
export function memoryPoints(
  threads: number,
  mixed: MediaOperation,
  { bytes }: Pick<SweepSize, "bytes">,
): SweepPoint[] {
  const line = { bytes: 64, threads: 1 } as const;
  const idle: SweepPoint[] = [
    { kind: "latency", curve: "latency load", query: { ask: "latency", operation: "load", ...line } },
    ...(["nt-store", "flushed-store"] as const).map((operation): SweepPoint => ({
      kind: "latency",
      curve: `latency ${operation}`,
      query: { ask: "latency", operation, ...line },
    })),
  ];
  const loaded = counts(threads).slice(1).map((n): SweepPoint => ({
    kind: "latency",
    curve: "latency under load",
    query: { ask: "latency-at", operation: "load", bytes: 64, threads: n, readShare: 1 },
  }));
  const rates = (["load", ...STORES] as const).flatMap((operation) =>
    counts(threads).flatMap((n) =>
      bytes.map((size): SweepPoint => ({
        kind: operation === "load" ? "read" : "write",
        curve: `${operation} ${n} threads`,
        query: { ask: "bandwidth", operation, bytes: size, threads: n },
      }))
    )
  );
  const fenced = (["nt-store", "flushed-store"] as const).flatMap((operation) =>
    bytes.filter((size) => size <= 1024).map((size): SweepPoint => ({
      kind: "write",
      curve: `${operation} fenced`,
      query: { ask: "bandwidth", operation, bytes: size, threads: 1, fenced: true },
    }))
  );
  const both = [0.25, 0.5, 0.75].map((readShare): SweepPoint => ({
    kind: "mixed",
    curve: `mixed ${mixed}`,
    query: { ask: "bandwidth", operation: mixed, bytes: 256, threads, readShare },
  }));
  return [...idle, ...loaded, ...rates, ...fenced, ...both];
}

/** The points of a drive: its requests under way are what a media model calls threads. */
export function drivePoints({ rounds }: Pick<SweepSize, "rounds">, depths: readonly number[]): SweepPoint[] {
  if (rounds < 1) return [];
  const sizes = [4096, 16_384, 65_536];
  const ops = ["load", "cached-store"] as const;
  return [
    ...ops.map((operation): SweepPoint => ({
      kind: "latency",
      curve: `latency ${operation}`,
      query: { ask: "latency", operation, bytes: 4096, threads: 1 },
    })),
    ...ops.flatMap((operation) =>
      depths.flatMap((threads) =>
        sizes.map((bytes): SweepPoint => ({
          kind: operation === "load" ? "read" : "write",
          curve: `${operation} depth ${threads}`,
          query: { ask: "bandwidth", operation, bytes, threads },
        }))
      )
    ),
    ...[0.25, 0.5, 0.75].map((readShare): SweepPoint => ({
      kind: "mixed",
      curve: "mixed cached-store",
      query: { ask: "bandwidth", operation: "cached-store", bytes: 4096, threads: depths.at(-1) ?? 1, readShare },
    })),
  ];
}

/** Told of each answer: how many there are, of how many. */
export type OnPoint = (done: number, total: number, point: SweepPoint) => void;

/**
 * Asks a medium every point in every round. A store that this CPU does not have is left out.
 *
 * @throws {TierstoreError} if accesses fail.
 */
export async function sweep(
  gauge: Gauge,
  points: readonly SweepPoint[],
  { rounds, seconds }: SweepSize,
  onPoint: OnPoint = () => {},
): Promise<SweptPoint[]> {
  const values = points.map((): number[] => []), flows = points.map((): number[] => []);
  const missing = new Set<MediaOperation>();
  let done = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [i, point] of points.entries()) {
      onPoint(done++, points.length * rounds, point);
      if (missing.has(point.query.operation)) continue;
      const { readShare: _, ...alone } = point.query;
      try {
        // A latency under load is that of a chase beside loads; how many bytes these moved is found, not set.
        const asked: MediaQuery = point.query.ask === "latency-at" ? { ...alone, ask: "latency" } : point.query;
        const { value, flow } = await gauge.take(asked, seconds);
        values[i]?.push(value);
        flows[i]?.push(flow);
      } catch (error) {
        if (!(error instanceof TierstoreError && error.status === "TS_EUNSUPPORTED")) throw error;
        missing.add(point.query.operation);
      }
    }
  }
  return points.flatMap((point, i): SweptPoint[] => {
    const found = values[i] ?? [];
    if (found.length === 0) return [];
    const { query } = point;
    return [{
      ...point,
      query: query.ask === "latency-at" ? { ...query, load: median(flows[i] ?? []) } : query,
      values: found,
    }];
  });
}

/**
 * Ends of a 90 % interval of the median of some values, by their order: of nine the second and the eighth (96 %, binomial
 * law), of few the least and the most.
 */
export function orderInterval(values: readonly number[]): readonly [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b), n = sorted.length;
  let outside = 0, term = 0.5 ** n, left = 0;
  for (let i = 0; i < n / 2; i++) {
    outside += 2 * term;
    if (outside > 0.1) break;
    left = i;
    term *= (n - i) / (i + 1);
  }
  return [sorted[left] ?? NaN, sorted[n - 1 - left] ?? NaN];
}
