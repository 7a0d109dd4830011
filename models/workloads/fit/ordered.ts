/**
 * Laws of streams that have order: what the order leaves is fitted by a law, and both together make the keys.
 *
 * @module
 */

import type { KeyOrder, KeyStep, KeyTableOptions, KeyWalk } from "../../../ffi/simulator/key_source.ts";
import { KeyStream } from "../../../ffi/simulator/key_stream.ts";
import { byRate, type FittedLaw, normalised, scaled, shiftedGaps, single } from "./laws.ts";
import type { FoundOrder } from "./order.ts";

/** Sizes of a stream, as it says them. */
type Facts = ReturnType<KeyStream["facts"]>;

/** Keys of a turn in which a share of them is spread evenly: four digits of it, which tell no number of accesses. */
const EVENLY = 10_000;

const times = (count: number, factor: number) => Math.max(1, Math.round(count * factor));

/** A block that is shuffled, of other lengths: 1 and all stay what they are. */
const blockOf = (block: number, all: number, factor: number) =>
  block === 1 ? 1 : block === all ? times(all, factor) : times(block, factor);

/** The same walk in the whole stream, of which `kept` of the accesses and `rate` of the rows were looked at. */
function wholeWalk(walk: KeyWalk, { accesses, kept, rate }: Facts): KeyWalk {
  const rows = times(walk.rows, 1 / rate), block = blockOf(walk.block, walk.rows, 1 / rate), longer = accesses / kept;
  if (walk.spread === "evenly" || (walk.run === walk.turn && rate < 1)) {
    const share = walk.run / walk.turn * kept / rate / accesses;
    return { rows, block, run: Math.min(EVENLY, times(share, EVENLY)), turn: EVENLY, start: 0, spread: "evenly" };
  }
  const turn = times(walk.turn, longer), run = Math.min(turn, times(walk.run, 1 / rate));
  return { rows, block, run, turn, start: Math.round(walk.start * longer), spread: "turns" };
}

function wholeOrder({ walk, epoch, era }: KeyOrder, facts: Facts, rows: number): KeyOrder {
  const { accesses, kept, rate } = facts, longer = accesses / kept;
  return {
    ...(walk === undefined ? {} : { walk: wholeWalk(walk, facts) }),
    ...(epoch === undefined
      ? {}
      : { epoch: { samples: times(epoch.samples, longer), block: blockOf(epoch.block, epoch.samples, longer) } }),
    ...(era === undefined ? {} : {
      era: {
        samples: times(era.samples, longer),
        start: Math.round(era.start * longer),
        rows: Math.max(rows, times(era.rows, 1 / rate)),
      },
    }),
  };
}

/** A law where an access is `factor` accesses long. */
function stretched(law: KeyTableOptions, factor: number): KeyTableOptions {
  return {
    ...law,
    steps: scaled(law.steps, 1, 1, factor),
    ...(law.repeats === undefined ? {} : { repeats: shiftedGaps(law.repeats, factor) }),
  };
}

/** The most used rows that are only counted, as steps whose shares are accesses. */
function counted(stream: KeyStream, random: () => number): KeyStep[] {
  stream.lives(false);
  stream.groups();
  return stream.apart().filter((row) => !row.kept).map(({ count }) => single(count, random));
}

/**
 * A law of one era with so many rows at most, from one of several eras whose rows are told apart: as many rows at a time become one,
 * with the sum of their shares.
 */
function folded(law: KeyTableOptions, eras: number, most: number): KeyTableOptions {
  const steps: KeyStep[] = [];
  let rows = 0, share = 0, given = 0;
  for (const step of byRate(law.steps)) {
    rows += step.rows / eras;
    share += step.share;
    const count = Math.floor(rows + 1e-9) - given;
    if (count === 0) continue;
    steps.push({ rows: count, share, life: 0 });
    given += count;
    share = 0;
  }
  if (share > 0) steps.push({ rows: 1, share, life: 0 });
  // All eras together show how many rows there are; what one era hides are the coldest of them.
  for (let over = given - most; over > 0 && steps.length > 1;) {
    const { rows: count, share: own } = steps.pop()!, before = steps.at(-1)!, kept = Math.max(0, count - over);
    if (kept > 0) steps.push({ rows: kept, share: own, life: 0 });
    else steps[steps.length - 1] = { ...before, share: before.share + own };
    over -= count - kept;
  }
  return { ...law, steps };
}

/**
 * A law with an order.
 *
 * @param stream The measured stream.
 * @param found The order of its kept keys.
 * @param fit Fits a law to what is left.
 * @param random Numbers in [0, 1) that noise is drawn from.
 */
export function withOrder(
  stream: KeyStream,
  found: FoundOrder,
  fit: (rest: KeyStream, keys: BigInt64Array<ArrayBuffer>) => FittedLaw | undefined,
  random: () => number,
): FittedLaw | undefined {
  const { order, rest, stretch } = found, facts = stream.facts(), { accesses, rate } = facts;
  const { eras = 1 } = found, alone = order.walk !== undefined && order.walk.run === order.walk.turn;
  let law: FittedLaw | undefined;
  if (!alone) {
    using left = new KeyStream(Math.max(1024, rest.length + 1));
    left.add(rest);
    law = fit(left, rest);
    if (law === undefined) return undefined;
    if (order.era !== undefined) {
      const { rows } = order.era;
      law = { ...law, kept: folded(law.kept, eras, rows), whole: folded(law.whole, eras, rows) };
    }
  }
  const hot = counted(stream, random), own = law?.whole ?? { steps: [] };
  const whole = stretched(own, stretch * accesses / facts.kept);
  const steps = byRate([...hot, ...scaled(whole.steps, 1 / rate, rest.length / rate, 1)]);
  const { pool } = whole;
  return {
    kind: law?.kind ?? "popularity",
    kept: { ...stretched(law?.kept ?? { steps: [] }, stretch), ...order },
    whole: {
      ...whole,
      steps: steps.length === 0 ? [] : normalised(steps),
      ...(pool === undefined ? {} : { pool: times(pool, 1 / rate) }),
      ...wholeOrder(order, facts, steps.reduce((sum, step) => sum + step.rows, 0)),
    },
  };
}
