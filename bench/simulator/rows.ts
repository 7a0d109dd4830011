/**
 * From what the programs print to the rows of `reports/out/bench-simulator.json`.
 *
 * @module
 */

import type { NullCounts } from "../../reports/simulation/summary.ts";
import { type Bar, type BenchRow, ratioRow, shareRow } from "../rows.ts";

/** Values by name; a name may come more than once, once a round. */
export type Values = ReadonlyMap<string, readonly number[]>;

/**
 * Reads lines "name=value".
 *
 * @throws {SyntaxError} If a line is something else.
 */
export function parseValues(text: string): Values {
  const values = new Map<string, number[]>();
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const [name, value, more] = line.split("=");
    if (name === undefined || value === undefined || more !== undefined || !Number.isFinite(Number(value))) {
      throw new SyntaxError(`Cannot read what the bench printed: "${line}" is not name=value`);
    }
    values.set(name, [...values.get(name) ?? [], Number(value)]);
  }
  return values;
}

/** The rows of replays, samples and memory. */
export function replayRows(values: Values): BenchRow[] {
  const all = (name: string): readonly number[] => {
    const found = values.get(name);
    if (found === undefined) throw new RangeError(`Cannot make the rows: the bench printed no "${name}"`);
    return found;
  };
  const one = (name: string): number => all(name)[0] as number;
  const row = (name: string, unit: string, of: readonly number[], bar?: Bar, note?: string): BenchRow => ({
    ...ratioRow(name, of, note),
    unit,
    ...bar,
  });
  const rate = "million lookups/s", bytes = "bytes/distinct key", distinct = one("distinct");
  const missed = (hits: string): string => `cache of 1 %, misses ${((1 - one(hits)) * 100).toFixed(1)} %`;
  return [
    row("replay-zipf/lru", rate, all("rate-zipf"), { atLeast: 50 }, `Zipf 1.05, ${missed("hits-zipf")}`),
    row("replay-uniform/lru", rate, all("rate-uniform"), { atLeast: 15 }, missed("hits-uniform")),
    row("replay-memory/lru", bytes, [one("bytes-whole") / distinct], { atMost: 24 }, "a cache of all keys"),
    row("replay-memory/distances", bytes, [one("bytes-distances") / distinct], { atMost: 24 }, "all sizes in one pass"),
    row("replay-memory/lru 1 %", bytes, [one("bytes-zipf") / distinct]),
    row("replay-zipf/distances", rate, [one("rate-distances")], undefined, "all sizes in one pass"),
    row("replay-zipf/sampled", rate, [one("rate-sampled")], undefined, "2^20 rows in the sample"),
    row("error/sampled", "miss ratio", [one("error-sampled")], { atMost: 0.01 }, "largest over five sizes, to exact"),
    row("error/model", "miss ratio", [one("error-model")], { atMost: 0.01 }, "a law's model, to exact"),
    row("error/analytic", "miss ratio", [one("error-formula")], { atMost: 0.01 }, "Che, to exact"),
    row(
      "terarow/seconds",
      "s",
      [one("terarow-seconds")],
      { atMost: 60 },
      "10^12 rows: six sizes, three policies, with and without batches",
    ),
    row("terarow/error-analytic", "miss ratio", [one("terarow-error-formula")], undefined, "sampled to Che, lru"),
  ];
}

/** Shares of figures in their 90 % bands that the project aims at. */
const COVERAGE = { atLeast: 0.85, atMost: 0.95 } as const;

/** How many of the published relative figures that set no parameter lie in their 90 % bands. */
export function coverageRow(
  { coverage }: { readonly coverage?: { readonly figures: number; readonly covered: number } },
): BenchRow {
  if (coverage === undefined) throw new RangeError("Cannot make the row: no published figure has a band");
  const { figures, covered } = coverage;
  const note = `paper-openembedding: ${covered} of ${figures} relative figures that set no parameter`;
  return { ...shareRow("bands/coverage", covered, figures, note), ...COVERAGE };
}

/** How many of the published relative figures set no parameter. */
export function freeRow(
  { relative }: { readonly relative?: { readonly figures: number; readonly free: number } },
): BenchRow {
  if (relative === undefined) throw new RangeError("Cannot make the row: nothing relative is published");
  const { figures, free } = relative;
  const note = `paper-openembedding: ${free} of ${figures} relative figures set no parameter`;
  return { ...ratioRow("published/free", [free / figures], note), unit: "share", atLeast: 0.5 };
}

/** Families of media that are not called validated, and how many figures of curves left out the bands of media covered. */
export function mediaRows(
  { families, coverage }: {
    readonly families: readonly { readonly name: string; readonly why?: string }[];
    readonly coverage: { readonly points: number; readonly covered: number };
  },
): BenchRow[] {
  const not = families.filter(({ why }) => why !== undefined).map(({ name }) => name);
  const note = `curves left out: ${coverage.covered} of ${coverage.points} figures`;
  return [
    {
      ...ratioRow("families/not-validated", [not.length], `of ${families.length}: ${not.join(", ")}`),
      unit: "families",
    },
    { ...shareRow("bands/coverage of media", coverage.covered, coverage.points, note), ...COVERAGE },
  ];
}

/** How many of the published figures that are met and set no parameter a null model misses. */
export function nullRow({ within, nulls }: { readonly within: number; readonly nulls?: NullCounts }): BenchRow {
  if (nulls === undefined) throw new RangeError("Cannot make the row: the simulation ran no null models");
  const note =
    `paper-openembedding: ${nulls.caught} of ${within} figures that are met; ${nulls.reproduced} by all null models`;
  return shareRow("null-models/caught", nulls.caught, within, note);
}
