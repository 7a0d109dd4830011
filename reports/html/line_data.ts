/**
 * What the charts of lines and floating bars draw.
 *
 * @module
 */

import { type Kind, kindOf } from "../summary/kind.ts";
import { type BreakEvenMap, breakEvenMap, PRICE_RATIOS } from "../summary/break_even_map.ts";
import { bytesText } from "../../base/bytes.ts";
import type { CacheCurve, CaseSummary, Summary } from "../summary/summary_types.ts";
import { type Scaled, scaled } from "../summary/rank_words.ts";
import { CHARTED_CLAIMS, claimData } from "./claim.ts";

/** Bars from a place to another. */
export interface Floating {
  readonly rows: readonly {
    readonly name: string;
    readonly from: number;
    readonly to: number;
    /** A sum, not a part. */
    readonly total?: boolean;
    /** Written at its end. */
    readonly text: string;
  }[];
  readonly unit: string;
  /** A line across. */
  readonly at: number | undefined;
}

/** Lines over a common axis. */
export interface Lines {
  /** `counts`: few whole numbers, all of which the axis names; lines with intervals lie side by side there. */
  readonly x: { readonly title: string; readonly log: boolean; readonly counts?: true };
  readonly y: { readonly title: string; readonly log: boolean };
  readonly lines: readonly {
    readonly name: string;
    readonly colour: number;
    readonly dashed: boolean;
    /** With the ends of their intervals, where they have some. */
    readonly points: readonly {
      readonly x: number;
      readonly y: number;
      readonly yMin?: number;
      readonly yMax?: number;
    }[];
  }[];
  /** Single places, with the shape of their kind. */
  readonly marks: readonly (Kind & {
    readonly name: string;
    readonly colour: number;
    readonly x: number;
    readonly y: number;
  })[];
}

/** Data of these charts by the id of the chart. */
export interface MoreData {
  readonly floating: Readonly<Record<string, Floating>>;
  readonly lines: Readonly<Record<string, Lines>>;
}

/** The data of a summary. */
export function moreData(summary: Summary, colour: (one: CaseSummary) => number): MoreData {
  const map = summary.pricing === undefined ? undefined : breakEvenMap(summary.cases, summary.pricing);
  const ranked = scaled(summary.cases);
  const stepped = summary.cases.filter((one) => one.throughput !== undefined && one.step !== undefined);
  const curved = summary.cases.filter((one) => one.cacheCurve !== undefined);
  return {
    floating: Object.fromEntries([
      ...claimData(summary).slice(0, CHARTED_CLAIMS).flatMap((claim, i) => [
        [`waterfall-${i}`, waterfall(claim)],
        [`tornado-${i}`, tornado(claim)],
      ]),
      ...(summary.models.some(({ bands }) => bands.length > 0) ? [["model-bands", modelBands(summary)]] : []),
    ]),
    lines: {
      ...(map === undefined ? {} : { "break-even": mapLines(map) }),
      ...(stepped.length === 0 ? {} : { course: courseLines(stepped, colour) }),
      ...(curved.length === 0 ? {} : { "miss-curve": curveLines(curved, colour) }),
      ...(ranked.some(({ scaling }) => scaling.speedUp !== undefined) ? { scaling: scalingLines(ranked, colour) } : {}),
      ...(ranked.some(({ scaling }) => scaling.moving !== undefined) ? { messages: messageLines(ranked, colour) } : {}),
    },
  };
}

type ClaimChart = ReturnType<typeof claimData>[number];

function points(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}

/** Each cause begins where the one before ended; the last bar is the saving. */
function waterfall({ saving, terms }: ClaimChart): Floating {
  let at = 0;
  const rows = terms.filter((term) => term.points !== 0).map(({ words: name, points: value }) => {
    const from = at;
    at += value;
    return { name, from, to: at, text: points(value) };
  });
  return {
    rows: [...rows, {
      name: "saved",
      from: 0,
      to: saving,
      total: true,
      text: `${saving.toFixed(1).replace("-", "−")} %`,
    }],
    unit: "percentage points of the DRAM cost",
    at: undefined,
  };
}

function tornado({ saving, bars }: ClaimChart): Floating {
  return {
    rows: bars.map(({ input, low, high }) => ({
      name: input,
      from: low,
      to: high,
      text: `${whole(Math.min(low, high))} to ${whole(Math.max(low, high))} %`,
    })),
    unit: "saved, percent of the DRAM cost",
    at: saving,
  };
}

/** What a band is of. */
const FIGURES = { latency: "latency", read: "reads", write: "writes", mixed: "both" } as const;

/** A bar a model and kind of figure, from the lower to the upper end of its band. */
function modelBands({ models }: Summary): Floating {
  return {
    rows: models.flatMap(({ media, bands }) =>
      bands.map(({ kind, access, factor }) => {
        const [from, to] = [100 / factor - 100, 100 * factor - 100];
        const of = access === undefined ? FIGURES[kind] : `${FIGURES[kind]}, ${access}`;
        return { name: `${media}, ${of}`, from, to, text: `${points(from)} to ${points(to)}` };
      })
    ),
    unit: "percent off the model",
    at: undefined,
  };
}

function whole(value: number): string {
  return value.toFixed(0).replace(/^-0$/, "0").replace("-", "−");
}

function mapLines({ lines }: BreakEvenMap): Lines {
  return {
    x: { title: "price of DRAM, × that of the price book", log: true },
    y: { title: "seconds between two lookups of a row", log: true },
    lines: lines.map(({ rowBytes, seconds }, i) => ({
      name: `rows of ${bytesText(rowBytes)}`,
      colour: i + 1,
      dashed: i > 0,
      points: seconds.map((y, at) => ({ x: PRICE_RATIOS[at] as number, y })),
    })),
    marks: [],
  };
}

/** A line a case over the numbers of its steps; a mark where its steady state begins. */
function courseLines(cases: readonly CaseSummary[], colour: (one: CaseSummary) => number): Lines {
  return {
    x: { title: "number of the step", log: false },
    y: { title: "ms a step", log: false },
    lines: cases.map((one) => ({
      name: one.name,
      colour: colour(one),
      dashed: false,
      points: (one.step?.course.course ?? []).map(({ step: x, seconds }) => ({ x, y: seconds * 1e3 })),
    })),
    marks: cases.flatMap((one) => {
      const { course = [], steadyFrom: from } = one.step?.course ?? {};
      const place = from === undefined ? undefined : course.find(({ step }) => step >= from);
      return place === undefined
        ? []
        : [{ name: `${one.name}: steady`, ...kindOf(one), colour: colour(one), x: place.step, y: place.seconds * 1e3 }];
    }),
  };
}

/** A line for each curve that differs, the bounds dashed; a mark where each case ran, at the misses it counted. */
function curveLines(cases: readonly CaseSummary[], colour: (one: CaseSummary) => number): Lines {
  const lines = new Map<string, Lines["lines"][number]>();
  const line = (name: string, of: CaseSummary, dashed: boolean, values: readonly number[]): void => {
    const { bytes } = of.cacheCurve as CacheCurve;
    const points = bytes.map((x, i) => ({ x: x / 2 ** 20, y: 100 * (values[i] as number) }));
    const key = JSON.stringify([name, points]);
    if (!lines.has(key)) lines.set(key, { name, colour: dashed ? 0 : colour(of), dashed, points });
  };
  for (const one of cases) {
    const { policy, bound, misses, bounds } = one.cacheCurve as CacheCurve;
    line(policy, one, false, misses);
    line(bound === "popular" ? "optimum: the most popular rows" : "optimum: knows the keys to come", one, true, bounds);
  }
  return {
    x: { title: "MiB of rows in the first tier", log: true },
    y: { title: "misses, percent", log: false },
    lines: [...lines.values()],
    marks: cases.flatMap((one) => {
      const { ranShare, shares, bytes, counted } = one.cacheCurve as CacheCurve;
      if (counted === undefined) return [];
      const whole = (bytes.at(-1) as number) / (shares.at(-1) as number);
      return [{
        name: `${one.name} ran`,
        ...kindOf(one),
        colour: colour(one),
        x: ranShare * whole / 2 ** 20,
        y: 100 * counted,
      }];
    }),
  };
}

/** Cases that differ in ranks that train alone, by the name of their line. */
function rankSeries(cases: readonly Scaled[]): [string, { readonly first: Scaled; readonly cases: Scaled[] }][] {
  const series = new Map<string, { readonly first: Scaled; readonly cases: Scaled[] }>();
  for (const one of cases) {
    const { configuration, scaling: { ranks, trainers, staleness }, point } = one;
    const servers = ranks - trainers;
    const others = Object.entries(point).filter(([field]) => !field.startsWith("cluster."));
    const varied = others.map(([field, value]) => ` ${field}=${value}`).join("");
    const name = `${configuration}${varied}${servers === 0 ? "" : `, ${servers} servers`}${
      staleness === undefined ? "" : `, staleness ${staleness.bound}`
    }`;
    const found = series.get(name);
    if (found === undefined) series.set(name, { first: one, cases: [one] });
    else found.cases.push(one);
  }
  return [...series];
}

/** A line a configuration and number of servers, by ranks that train; dashed, as many times as fast as ranks train. */
function scalingLines(cases: readonly Scaled[], colour: (one: CaseSummary) => number): Lines {
  const trainers = [...new Set(cases.map(({ scaling }) => scaling.trainers))].sort((a, b) => a - b);
  const [fewest = 1] = trainers;
  return {
    x: { title: "ranks that train", log: true, counts: true },
    y: { title: "times the speed of the fewest", log: true },
    lines: [
      ...rankSeries(cases).map(([name, { first, cases }]) => ({
        name,
        colour: colour(first),
        dashed: false,
        points: cases.map(({ scaling: { trainers: x, speedUp } }) => ({
          x,
          y: speedUp?.value ?? 1,
          yMin: speedUp?.low ?? speedUp?.value ?? 1,
          yMax: speedUp?.high ?? speedUp?.value ?? 1,
        })).sort((a, b) => a.x - b.x),
      })),
      { name: "ideal", colour: 0, dashed: true, points: trainers.map((x) => ({ x, y: x / fewest })) },
    ],
    marks: [],
  };
}

/** Milliseconds of a step in messages by ranks that train: moving bytes, and dashed waiting for other ranks. */
function messageLines(cases: readonly Scaled[], colour: (one: CaseSummary) => number): Lines {
  const parts = [{ word: "moving", dashed: false }, { word: "waiting", dashed: true }] as const;
  return {
    x: { title: "ranks that train", log: true, counts: true },
    y: { title: "ms a step", log: false },
    lines: rankSeries(cases).flatMap(([name, { first, cases }]) =>
      parts.map(({ word, dashed }) => ({
        name: `${name}, ${word}`,
        colour: colour(first),
        dashed,
        points: cases.flatMap(({ scaling: { trainers: x, [word]: time } }) =>
          time === undefined
            ? []
            : [{ x, y: time.value * 1e3, yMin: (time.low ?? time.value) * 1e3, yMax: (time.high ?? time.value) * 1e3 }]
        ).sort((a, b) => a.x - b.x),
      }))
    ).filter(({ points }) => points.length > 0),
    marks: [],
  };
}
