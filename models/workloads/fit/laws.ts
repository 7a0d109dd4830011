/**
 * Laws of keys fitted to a measured stream, from plain popularity to lives and repeats.
 *
 * @module
 */

import type { KeyStep, KeyTableOptions } from "../../../ffi/simulator/key_source.ts";
import type { KeyStream } from "../../../ffi/simulator/key_stream.ts";
import { gapClass, gapCount, gapFirst } from "./gaps.ts";
import { type Component, fitMixture, type Mixture, usedOf } from "./mixture.ts";
import { FEW_ROWS, noised } from "./noise.ts";
import { stepsOf } from "./steps.ts";

/** What a law may have beside popularity. */
export type LawKind = "popularity" | "lives" | "returning lives" | "repeats" | "lives+repeats";
/** Kinds of laws, those with fewer parts first. */
export const LAW_KINDS: readonly LawKind[] = ["popularity", "lives", "returning lives", "repeats", "lives+repeats"];

/** Rounds of EM for a mixture whose rates only tell repeats, and for one that is kept. */
const ROUNDS = { rough: 60, kept: 400 };
/** Times that repeats are told apart. */
const DECLUSTER_ROUNDS = 16;
/** Share of repeats to begin with. */
const FIRST_SHARE = 0.2;
/** Shares below this are no repeats worth a law. */
const LEAST_SHARE = 0.002;

/** A law in units of accesses of the kept rows' stream, and the same for the whole stream. */
export interface FittedLaw {
  /** What it has. */
  readonly kind: LawKind;
  /** Of the kept rows alone, numbered by their own accesses: what the kept keys are compared with. */
  readonly kept: KeyTableOptions;
  /** Of the whole stream. */
  readonly whole: KeyTableOptions;
}

/** A share of repeats and the shares of their gaps. */
interface Repeats {
  readonly share: number;
  readonly gaps: readonly number[];
}

/** Shares of repeats by gap, and the stream marked with them. */
function tellRepeats(stream: KeyStream, accesses: number, lives: boolean, seed: bigint): Repeats {
  const bins = gapClass(Math.max(1, Math.floor(accesses / 4))) + 1;
  let shares = new Float64Array(bins).fill(FIRST_SHARE / bins);
  for (let round = 0; round < DECLUSTER_ROUNDS; round++) {
    const groups = stream.groups();
    if (groups.rows.length === 0) break; // every row stands apart
    const { rates } = fitMixture(groups, { accesses, lives, rounds: ROUNDS.rough });
    const { kept } = stream.facts();
    const kernel = shares.map((share, b) => share / gapCount(b));
    shares = stream.decluster(rates, kernel, seed + BigInt(round)).map((repeats) => repeats / kept);
    if (lives) stream.lives(true);
  }
  const share = shares.reduce((sum, x) => sum + x, 0);
  return { share, gaps: Array.from(shares, (x) => x / share) };
}

/** Steps of a stream of other length: factors of rows, shares and lives. */
export function scaled(steps: readonly KeyStep[], rows: number, share: number, life: number): KeyStep[] {
  return steps.map((step) => ({
    rows: Math.max(1, Math.round(step.rows * rows)),
    share: step.share * share,
    life: step.life === 0 ? 0 : Math.max(1, Math.round(step.life * life)),
  }));
}

/** The same gaps where a unit is 1 / factor as long. */
export function shiftedGaps({ share, gaps }: Repeats, factor: number): Repeats {
  const scaled = gaps.map((_, b) => gapClass(Math.max(1, Math.round((gapFirst(b) + (gapCount(b) - 1) / 2) * factor))));
  const out = new Float64Array(Math.max(...scaled) + 1);
  gaps.forEach((gap, b) => out[scaled[b] ?? 0]! += gap);
  return { share, gaps: Array.from(out) };
}

/**
 * Fits a law of a kind.
 *
 * @param stream The measured stream.
 * @param kind What the law may have.
 * @param seed Of what is told apart at random.
 * @param random Numbers in [0, 1) that noise on the counts of single rows is drawn from.
 * @returns Nothing if the stream has no repeats to speak of, and the kind asks for them.
 */
export function fitLaw(
  stream: KeyStream,
  kind: LawKind,
  seed: bigint,
  random: () => number,
): FittedLaw | undefined {
  const { accesses, kept, rate } = stream.facts();
  const lives = kind.includes("lives"), cut = kind === "returning lives" || kind === "lives+repeats";
  stream.lives(false);
  if (cut) stream.lives(true);
  const repeats = kind.endsWith("repeats") && stream.groups().rows.length > 0
    ? tellRepeats(stream, accesses, lives, seed)
    : undefined;
  if (kind.endsWith("repeats") && (repeats === undefined || repeats.share < LEAST_SHARE)) return undefined;
  const groups = stream.groups(), apart = stream.apart(), { rows } = stream.facts();
  const mixture: Mixture = groups.rows.length === 0
    ? { components: [], rates: new Float64Array() }
    : fitMixture(groups, { accesses, lives, rounds: ROUNDS.kept });
  const grouped = groups.rows.reduce((sum, rows, g) => sum + rows * (groups.count[g] ?? 0), 0);
  const ofKept = apart.filter((row) => row.kept), counted = apart.filter((row) => !row.kept);
  const heads = ofKept.map(({ count }) => single(count, random));
  const rest = (grouped > 0 ? scaled(stepsOf(mixture.components), 1, grouped, 1) : [])
    .map((step) =>
      step.rows < FEW_ROWS ? { ...step, share: step.rows * noised(step.share / step.rows, random) } : step
    );
  const pool = poolOf(mixture.components, accesses, rows - ofKept.length);
  const keptSteps = normalised([...heads, ...scaled(rest, 1, 1, kept / accesses)]);
  const whole = normalised(
    byRate([
      ...counted.map(({ count }) => single(count, random)),
      ...scaled([...heads, ...rest], 1 / rate, 1 / rate, 1),
    ]),
  );
  return {
    kind,
    kept: {
      steps: keptSteps,
      ...(pool === undefined ? {} : { pool }),
      ...(repeats === undefined ? {} : { repeats: shiftedGaps(repeats, kept / accesses) }),
    },
    whole: {
      steps: whole,
      ...(pool === undefined ? {} : { pool: Math.round(pool / rate) }),
      ...(repeats === undefined ? {} : { repeats }),
    },
  };
}

/** Steps by the rate of their rows, highest first: not in the order in which rows came. */
export function byRate(steps: readonly KeyStep[]): KeyStep[] {
  return [...steps].sort((a, b) => b.share / b.rows - a.share / a.rows);
}

/** A row that stands alone, by its count with noise. */
export function single(count: number, random: () => number): KeyStep {
  return { rows: 1, share: noised(count, random), life: 0 };
}

/** Below this share of lives on rows that were there before, each life is a new row. */
const LEAST_RETURNING = 0.02;

/**
 * How many rows the lives are on, so that as many different ones are seen as there were.
 *
 * @param components The mixture.
 * @param n Accesses.
 * @param seen Different rows that were seen.
 */
function poolOf(components: readonly Component[], n: number, seen: number): number | undefined {
  let staying = 0, lives = 0;
  for (const part of components) {
    if (part.life === Infinity) staying += usedOf(part, n);
    else lives += usedOf(part, n);
  }
  const wanted = Math.max(1, seen - staying);
  if (lives * (1 - LEAST_RETURNING) <= wanted) return undefined;
  let low = wanted, high = 1e15;
  for (let round = 0; round < 100; round++) {
    const pool = Math.sqrt(low * high);
    if (pool * -Math.expm1(-lives / pool) < wanted) low = pool;
    else high = pool;
  }
  return Math.max(1, Math.round(low));
}

/** The same steps with shares that add up to 1. */
export function normalised(steps: readonly KeyStep[]): KeyStep[] {
  const sum = steps.reduce((total, step) => total + step.share, 0);
  return steps.map((step) => ({ ...step, share: step.share / sum }));
}
