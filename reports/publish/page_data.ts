/**
 * What the charts of the index page draw.
 *
 * @module
 */

import { kindOf } from "../summary/kind.ts";
import type { Evidence } from "../../scenarios/record.ts";
import type { Point } from "../html/page_data.ts";
import type { History } from "./history.ts";

/** A case over the runs of a history. */
interface TrendLine {
  readonly name: string;
  readonly evidence: Evidence;
  readonly vouched?: string | undefined;
  /** Index of its colour. */
  readonly colour: number;
  /** Thousand samples/s of each run; null where there is none. */
  readonly rates: readonly (Point | null)[];
  /** Runs in which it became faster or slower than in the run before. */
  readonly changes: readonly { readonly run: number; readonly to: "faster" | "slower" }[];
  /** Change points: the first run after each. */
  readonly shifts: readonly number[];
}

/** A chart: runs from left to right. */
export interface Trend {
  /** When each run began, to the minute. */
  readonly runs: readonly string[];
  readonly lines: readonly TrendLine[];
}

/** The charts of histories, one each. */
export function trendsOf(histories: readonly History[]): Trend[] {
  return histories.map(({ reports, lines }) => ({
    runs: reports.map(({ summary }) => minuteOf(summary.started)),
    lines: lines.filter(({ points }) => points.some(({ rate }) => rate !== undefined)).map((line, colour) => ({
      name: line.case,
      ...kindOf(line),
      colour,
      rates: line.points.map(({ rate }) =>
        rate === undefined ? null : {
          value: rate.value / 1e3,
          low: (rate.low ?? rate.value) / 1e3,
          high: (rate.high ?? rate.value) / 1e3,
        }
      ),
      changes: line.points.flatMap(({ change }, run) =>
        change === "faster" || change === "slower" ? [{ run, to: change }] : []
      ),
      shifts: line.changes?.map(({ run }) => run) ?? [],
    })),
  }));
}

/** `2026-11-20 12:00` */
export function minuteOf(started: string): string {
  return started.slice(0, 16).replace("T", " ");
}
