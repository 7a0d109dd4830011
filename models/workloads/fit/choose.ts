/**
 * The law of a table's keys that is most faithful, and how faithful it is.
 *
 * @module
 */

import type { ReplayPolicy } from "../../../ffi/replay.ts";
import type { KeyTableOptions } from "../../../ffi/simulator/key_source.ts";
import { KeyStream } from "../../../ffi/simulator/key_stream.ts";
import { numberKeys } from "../../../base/number_keys.ts";
import { calibrateGaps } from "./calibrate.ts";
import {
  badness,
  cacheSizes,
  CHOSEN_BY,
  type Curves,
  curvesOf,
  curvesOfLaw,
  distanceOf,
  type Fidelity,
  SCORED,
} from "./fidelity.ts";
import { findEpochs, findEras, findWalk } from "./order.ts";
import { withOrder } from "./ordered.ts";
import { fitLaw, type FittedLaw, LAW_KINDS, type LawKind } from "./laws.ts";

/** A law with more parts must be this much more faithful, in units of the bars. */
const LEAST_BETTER = 0.1;
/** Fewer lookups are not halved to score a law on what it never saw. */
const LEAST_HALVED = 4096;

/** Orders that a stream may have. */
export type OrderKind = "walk" | "epochs" | "eras";
/** Fewer lookups show no order. */
const LEAST_ORDERED = 512;
/** A law with order that is so faithful, in units of the bars, is not compared with others. */
const GOOD = 1;

/** What random choices are made from. */
export interface Chance {
  /** Seed of what is drawn to score laws. */
  readonly seed: bigint;
  /** Numbers in [0, 1) that noise is drawn from. */
  readonly random: () => number;
}

/**
 * Tries laws from the plainest on.
 *
 * @param stream The measured stream.
 * @param keys The keys of it that were kept.
 * @param kinds Laws to try.
 * @returns Nothing if the stream has no accesses.
 */
function chooseLaw(
  stream: KeyStream,
  keys: BigInt64Array<ArrayBuffer>,
  { seed, random }: Chance,
  kinds: readonly LawKind[] = LAW_KINDS,
): FittedLaw | undefined {
  const original = kinds.length > 1
    ? curvesOf(keys, { sizes: cacheSizes(keys), uncounted: 0 }, CHOSEN_BY)
    : { sizes: [], uncounted: 0, misses: new Map() };
  let chosen: { law: FittedLaw; bad: number } | undefined;
  for (const kind of kinds) {
    const fitted = fitLaw(stream, kind, seed, random);
    if (fitted === undefined) continue;
    const variants = fitted.kept.repeats === undefined
      ? [fitted.kept]
      : [fitted.kept, calibrateGaps(fitted.kept, keys, seed + 1000n)];
    for (const kept of variants) {
      const bad = kinds.length > 1 ? badness(errorsOf(kept, keys, original, seed)) : 0;
      if (chosen !== undefined && bad > chosen.bad - LEAST_BETTER) continue;
      chosen = { law: { ...fitted, kept }, bad };
    }
    if (chosen !== undefined && chosen.bad < LEAST_BETTER) break;
  }
  return chosen?.law;
}

function errorsOf(law: KeyTableOptions, keys: BigInt64Array, original: Curves, seed: bigint): Fidelity {
  return distanceOf(original, curvesOfLaw(law, keys.length, original, seed));
}

/** Kinds of order, in the order in which they are tried. */
const ORDERS: Readonly<Record<OrderKind, typeof findWalk>> = { epochs: findEpochs, walk: findWalk, eras: findEras };

/** A law, and its order if it has one. */
export interface ChosenLaw extends FittedLaw {
  /** Order that its keys have beside it. */
  readonly order?: OrderKind;
}

/**
 * The law and the order of a stream that are most faithful.
 *
 * @param stream The measured stream.
 * @param keys The keys of it that were kept.
 * @param only Fits this alone, where it is known.
 * @returns Nothing if the stream has no accesses.
 */
export function fitKeys(
  stream: KeyStream,
  keys: BigInt64Array<ArrayBuffer>,
  chance: Chance,
  only: { readonly kind?: LawKind; readonly order?: OrderKind | undefined } = {},
): ChosenLaw | undefined {
  const kinds = only.kind === undefined ? LAW_KINDS : [only.kind];
  const plain = () => chooseLaw(stream, keys, chance, kinds);
  if (keys.length < LEAST_ORDERED || ("order" in only && only.order === undefined)) return plain();
  const ids = numberKeys(keys);
  let chosen: { law: ChosenLaw; bad: number } | undefined;
  const original = curvesOf(keys, { sizes: cacheSizes(keys), uncounted: 0 }, CHOSEN_BY);
  const consider = (law: ChosenLaw | undefined) => {
    if (law === undefined) return;
    const bad = badness(errorsOf(law.kept, keys, original, chance.seed));
    if (chosen === undefined || bad < chosen.bad - LEAST_BETTER) chosen = { law, bad };
  };
  for (const [order, find] of Object.entries(ORDERS) as [OrderKind, typeof findWalk][]) {
    if (only.order !== undefined && only.order !== order) continue;
    const found = find(ids, keys);
    if (found === undefined) continue;
    const law = withOrder(
      stream,
      found,
      (rest, left) => chooseLaw(rest, left, chance, order === "eras" ? ["popularity"] : kinds),
      chance.random,
    );
    consider(law === undefined ? undefined : { ...law, order });
    if (chosen !== undefined && chosen.bad < GOOD) return chosen.law;
  }
  if (only.order === undefined || chosen === undefined) consider(plain());
  return chosen?.law;
}

/**
 * Errors of the curves of a law on the keys that were kept.
 *
 * @param policies Which are replayed.
 */
export function scoreOf(
  law: KeyTableOptions,
  keys: BigInt64Array<ArrayBuffer>,
  { seed }: Chance,
  policies: readonly ReplayPolicy[] = SCORED,
): Fidelity {
  return errorsOf(law, keys, curvesOf(keys, { sizes: cacheSizes(keys), uncounted: 0 }, policies), seed);
}

/**
 * Errors of a law that was fitted to the first half of some keys, on the second half, for which the first fills the caches.
 *
 * @param fit Fits a law to a stream and its keys.
 * @returns Nothing if there are too few keys to halve, or no law fits the half.
 */
export function scoreApart(
  fit: (stream: KeyStream, keys: BigInt64Array<ArrayBuffer>) => KeyTableOptions | undefined,
  keys: BigInt64Array<ArrayBuffer>,
  { seed }: Chance,
): { readonly lookups: number; readonly errors: Fidelity } | undefined {
  if (keys.length < LEAST_HALVED) return undefined;
  const half = keys.length >> 1, first = keys.slice(0, half);
  using stream = new KeyStream(Math.max(1024, half + 1));
  stream.add(first);
  const law = fit(stream, first);
  if (law === undefined) return undefined;
  const original = curvesOf(keys, { sizes: cacheSizes(keys), uncounted: half }, SCORED);
  return { lookups: keys.length - half, errors: errorsOf(law, keys, original, seed) };
}
