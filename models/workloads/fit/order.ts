/**
 * Order in a stream that no law of popularity has: rows that come each once a pass (a walk), lookups that come again as a whole
 * (epochs), and popularity that changes all at once (eras).
 *
 * @module
 */

import type { KeyOrder, KeyWalk } from "../../../ffi/simulator/key_source.ts";
import type { NumberedKeys } from "../../../base/number_keys.ts";

/** Order that was found, and what is left for a law of popularity. */
export interface FoundOrder {
  /** The order, in lookups of the stream. */
  readonly order: KeyOrder;
  /** Lookups that a law is fitted to: those that the order does not say itself. */
  readonly rest: BigInt64Array<ArrayBuffer>;
  /** Lookups of the stream for one that is left, while the law counts. */
  readonly stretch: number;
  /** What is left is so many eras at once, whose rows are told apart, and which have popularity alone. */
  readonly eras?: number;
}

/** Rows that are looked at, at most. */
const MOST_ROWS = 20_000;
/** Less than this share of the lookups is no walk. */
const LEAST_WALK = 0.1;
/** Rows with one use a pass, of those with as many uses as passes: between what chance does and all. */
const REGULAR = 0.6;
/** Periods that are tried about one that many rows have, and how far from it. */
const TRIED = 160, AROUND = 1.3;
/** Above this share of the lookups there is nothing but the walk. */
const ALONE = 0.98;
/** Lookups over which the share of a walk is smoothed, to see its turns. */
const SMOOTH = 64;

/** Times of each row, one after the other: those of row r from `first[r]` to `first[r + 1]`. */
interface Times {
  readonly first: Uint32Array;
  readonly time: Uint32Array;
}

function timesOf({ ids, rows }: NumberedKeys): Times {
  const first = new Uint32Array(rows + 1), time = new Uint32Array(ids.length);
  for (const id of ids) first[id + 1]!++;
  for (let row = 0; row < rows; row++) first[row + 1]! += first[row]!;
  const next = first.slice();
  ids.forEach((id, i) => time[next[id]!++] = i);
  return { first, time };
}

/** Whether a row has one use in each whole window of a length, and one at most in what is left; undefined: other counts. */
function regular({ first, time }: Times, row: number, length: number, begin: number, n: number): boolean | undefined {
  const windows = Math.floor((n - begin) / length), from = first[row]!, to = first[row + 1]!;
  if (to - from < windows || to - from > windows + 1) return undefined;
  if (time[from]! < begin) return undefined;
  for (let i = from; i < to; i++) if (Math.floor((time[i]! - begin) / length) !== i - from) return false;
  return true;
}

/** Uses of rows that are regular, as a share of all of those rows; and the part of rows of such counts that is. */
function regularity(times: Times, rows: readonly number[], length: number, begin: number, n: number) {
  let yes = 0, no = 0, uses = 0;
  for (const row of rows) {
    const is = regular(times, row, length, begin, n);
    if (is === undefined) continue;
    if (is) {
      yes++;
      uses += times.first[row + 1]! - times.first[row]!;
    } else no++;
  }
  return { uses, part: yes / Math.max(1, yes + no) };
}

/** Lengths between uses that many lookups have: means over rows, the peaks of their histogram, fullest first. */
function peaks(times: Times, rows: readonly number[]): number[] {
  const bins = new Map<number, number>();
  for (const row of rows) {
    const from = times.first[row]!, uses = times.first[row + 1]! - from;
    const bin = Math.round(16 * Math.log2((times.time[from + uses - 1]! - times.time[from]!) / (uses - 1)));
    for (const near of [bin - 1, bin, bin + 1]) bins.set(near, (bins.get(near) ?? 0) + uses);
  }
  const top = [...bins].filter(([bin, uses]) => uses >= (bins.get(bin - 1) ?? 0) && uses >= (bins.get(bin + 1) ?? 0));
  return top.sort(([, a], [, b]) => b - a).slice(0, 4).map(([bin]) => 2 ** (bin / 16));
}

/** The period at which most uses are regular, near a guess. */
function periodNear(times: Times, rows: readonly number[], guess: number, begin: number, n: number): number {
  const uses = (length: number) =>
    length < 2 || n - begin < 2 * length ? 0 : regularity(times, rows, length, begin, n).uses;
  let [best, most] = [guess, uses(guess)];
  const consider = (length: number) => {
    const found = uses(length);
    if (found > most) [best, most] = [length, found];
  };
  for (let i = 0; i <= TRIED; i++) consider(guess * AROUND ** (2 * i / TRIED - 1));
  for (let step = best * 2 * Math.log(AROUND) / TRIED; step > 0.05; step /= 2) {
    for (const from of [best - step, best + step]) consider(from);
  }
  // Whole lengths are likelier, and the middle of those that do as well.
  for (const whole of [Math.round(best), Math.floor(best), Math.ceil(best)]) if (uses(whole) >= most) return whole;
  return best;
}

/** Rows that are shuffled among themselves, from places in a pass and in the next: half lie closer than 0.29 of a block. */
function blockOf(places: readonly (readonly [number, number])[], rows: number): number {
  const far = places.map(([a, b]) => Math.abs(a - b)).sort((a, b) => a - b);
  const block = Math.round((far[far.length >> 1] ?? 0) / (1 - Math.SQRT1_2));
  return block < 2 ? 1 : block > 0.7 * rows ? rows : block;
}

/** Blocks of {@linkcode SMOOTH} lookups that are the walk's for the greater part, if nearly all blocks are its or not its. */
function ownBlocks(walks: Uint8Array): Uint8Array | undefined {
  const blocks = Math.floor(walks.length / SMOOTH), on = new Uint8Array(blocks + 1);
  let clear = 0;
  for (let b = 0; b < blocks; b++) {
    let sum = 0;
    for (let i = b * SMOOTH; i < (b + 1) * SMOOTH; i++) sum += walks[i]!;
    on[b] = sum > SMOOTH / 2 ? 1 : 0;
    if (sum > 0.8 * SMOOTH || sum < 0.2 * SMOOTH) clear++;
  }
  on[blocks] = on[blocks - 1] ?? 0;
  return clear < 0.85 * blocks ? undefined : on;
}

/** Turns of a walk whose lookups stand together: the runs that they make. */
function turnsOf(walks: Uint8Array): Pick<KeyWalk, "run" | "turn" | "start" | "spread"> | undefined {
  const runs: { from: number; keys: number }[] = [];
  let last = -Infinity;
  for (let i = 0; i < walks.length; i++) {
    if (walks[i] === 0) continue;
    if (i - last > 2 * SMOOTH) runs.push({ from: i, keys: 0 });
    runs.at(-1)!.keys++;
    last = i;
  }
  // The first run may have begun before the stream, the last may go on.
  const whole = runs.slice((runs[0]?.from ?? 0) < 2 * SMOOTH ? 1 : 0, -1), [first] = whole, end = runs.at(-1);
  if (first === undefined || end === undefined) return undefined;
  const turn = Math.round((end.from - first.from) / whole.length);
  const run = Math.round(whole.reduce((sum, { keys }) => sum + keys, 0) / whole.length);
  if (run >= turn) return undefined;
  return { run, turn, start: ((turn - run - first.from) % turn + turn) % turn, spread: "turns" };
}

/** Rows that have two uses or more, a part of them if there are many. */
function rowsOf({ first }: Times, rows: number): number[] {
  const all: number[] = [], skip = Math.max(1, Math.floor(rows / MOST_ROWS));
  for (let row = 0; row < rows; row += skip) if (first[row + 1]! - first[row]! > 1) all.push(row);
  return all;
}

/**
 * A walk: rows that come each once a pass.
 *
 * @param of The stream.
 * @param keys Its keys.
 * @returns Nothing if there is none to speak of.
 */
export function findWalk(of: NumberedKeys, keys: BigInt64Array<ArrayBuffer>): FoundOrder | undefined {
  const n = of.ids.length, times = timesOf(of), rows = rowsOf(times, of.rows);
  let best: { length: number; begin: number; uses: number } | undefined;
  for (const guess of peaks(times, rows)) {
    // A pass may begin later than the stream.
    const begins = rows.filter((row) => {
      const from = times.first[row]!, uses = times.first[row + 1]! - from;
      const mean = (times.time[from + uses - 1]! - times.time[from]!) / (uses - 1);
      return mean > guess / 1.1 && mean < guess * 1.1;
    }).map((row) => times.time[times.first[row]!]!);
    for (const begin of new Set([0, begins.reduce((least, time) => Math.min(least, time), n)])) {
      const length = periodNear(times, rows, guess, begin, n);
      if (length < 2 || n - begin < 2 * length) continue;
      const { uses, part } = regularity(times, rows, length, begin, n), windows = Math.floor((n - begin) / length);
      let chance = 1;
      for (let i = 1; i <= windows; i++) chance *= i / windows;
      if (part < chance + REGULAR * (1 - chance)) continue;
      if (best === undefined || uses > best.uses) best = { length, begin, uses };
    }
  }
  if (best === undefined) return undefined;
  const { length, begin } = best, own = new Uint8Array(of.rows), walks = new Uint8Array(n);
  let count = 0, walked = 0;
  const mark = (row: number, is: 0 | 1) => {
    own[row] = is;
    walked += 2 * is - 1;
    count += (2 * is - 1) * (times.first[row + 1]! - times.first[row]!);
    for (let i = times.first[row]!; i < times.first[row + 1]!; i++) walks[times.time[i]!] = is;
  };
  for (let row = 0; row < of.rows; row++) if (regular(times, row, length, begin, n) === true) mark(row, 1);
  const blocks = count > ALONE * n ? undefined : ownBlocks(walks);
  if (blocks !== undefined) {
    // A row that is regular by chance stands elsewhere, too.
    for (let row = 0; row < of.rows; row++) {
      if (own[row] === 0) continue;
      for (let i = times.first[row]!; i < times.first[row + 1]!; i++) {
        if (blocks[Math.floor(times.time[i]! / SMOOTH)] === 1) continue;
        mark(row, 0);
        break;
      }
    }
  }
  const share = count / n;
  if (share < LEAST_WALK || walked < 16) return undefined;
  // Places in the first pass and in the second, among rows of the walk.
  const place = new Int32Array(of.rows).fill(-1);
  const places: [number, number][] = [];
  let at = 0, again = 0;
  for (let i = begin; i < Math.min(n, begin + 2 * length); i++) {
    const id = of.ids[i]!;
    if (own[id] === 0) continue;
    if (i < begin + length) place[id] = at++;
    else places.push([place[id]!, again++]);
  }
  const block = blockOf(places, walked), evenly = { run: count, turn: n, start: 0, spread: "evenly" } as const;
  const spread = share > ALONE
    ? { run: 1, turn: 1, start: 0, spread: "turns" } as const
    : (blocks === undefined ? undefined : turnsOf(walks)) ?? evenly;
  const rest = keys.filter((_, i) => walks[i] === 0);
  return {
    order: { walk: { rows: walked, block, ...spread } },
    rest,
    stretch: n / Math.max(1, rest.length),
  };
}

/** Epochs must be this much alike: lookups whose row does not come as often in the next, as a share. */
const UNLIKE = 0.02;
/** Above this share of rows among the lookups of an epoch, each comes once. */
const LEAST_ONCE = 0.99;
/** Lookups of an epoch must show new rows toward its end, as this share, or popularity alone explains that none come later. */
const LEAST_NEW = 0.01;

/**
 * Epochs: lookups that come again as a whole, in order or shuffled.
 *
 * @param of The stream.
 * @param keys Its keys.
 * @returns Nothing if there are none.
 */
export function findEpochs(of: NumberedKeys, keys: BigInt64Array<ArrayBuffer>): FoundOrder | undefined {
  const n = of.ids.length, seen = new Uint8Array(of.rows);
  let last = 0, fresh = 0;
  of.ids.forEach((id, i) => {
    if (seen[id] === 1) return;
    seen[id] = 1;
    last = i;
  });
  // Epochs in which each row comes once are a walk.
  if (2 * (last + 1) > n || of.rows > LEAST_ONCE * (last + 1)) return undefined;
  seen.fill(0);
  for (let i = 0; i <= last; i++) {
    const id = of.ids[i]!;
    if (seen[id] === 0 && i > 0.8 * last) fresh++;
    seen[id] = 1;
  }
  if (fresh < LEAST_NEW * 0.2 * last || fresh < 16) return undefined;
  const first = new Int32Array(of.rows), second = new Int32Array(of.rows);
  for (let i = 0; i <= last; i++) first[of.ids[i]!]!++;
  for (let i = last + 1; i < 2 * (last + 1); i++) second[of.ids[i]!]!++;
  // As the epoch grows by one, so do both windows.
  let unlike = 0;
  for (let row = 0; row < of.rows; row++) unlike += Math.abs(first[row]! - second[row]!);
  const change = (counts: Int32Array, id: number, by: number) => {
    unlike -= Math.abs(first[id]! - second[id]!);
    counts[id]! += by;
    unlike += Math.abs(first[id]! - second[id]!);
  };
  let best = { length: last + 1, unlike };
  for (let length = last + 2; 2 * length <= n && length < 1.2 * (last + 1); length++) {
    change(second, of.ids[length - 1]!, -1);
    change(first, of.ids[length - 1]!, 1);
    change(second, of.ids[2 * length - 2]!, 1);
    change(second, of.ids[2 * length - 1]!, 1);
    if (unlike / length < best.unlike / best.length) best = { length, unlike };
  }
  const { length } = best;
  if (best.unlike / (2 * length) > UNLIKE) return undefined;
  let same = 0;
  for (let i = length; i < 2 * length; i++) same += of.ids[i] === of.ids[i - length] ? 1 : 0;
  const counts = new Int32Array(of.rows), where = new Int32Array(of.rows);
  for (let i = 0; i < length; i++) {
    counts[of.ids[i]!]!++;
    where[of.ids[i]!] = i;
  }
  const places: [number, number][] = [];
  for (let i = length; i < 2 * length; i++) if (counts[of.ids[i]!] === 1) places.push([where[of.ids[i]!]!, i - length]);
  const block = same > 0.98 * length ? 1 : blockOf(places, length);
  return { order: { epoch: { samples: length, block } }, rest: keys.slice(0, length), stretch: 1 };
}

/** Windows that are compared on both sides of a time, as a part of the stream, and the lookups that they have at least. */
const WINDOW = 1 / 40, LEAST_WINDOW = 256;
/** Where popularity changes, both sides have less than this part in common of what they have elsewhere, until they have so much. */
const UNCOMMON = 0.7, COMMON = 0.85;
/** Eras at most. */
const MOST_ERAS = 64;

/** What two stretches of lookups have in common: the sum over rows of the smaller count. */
class Common {
  readonly #ids: Int32Array;
  readonly #before: Int32Array;
  readonly #after: Int32Array;
  shared = 0;

  constructor({ ids, rows }: NumberedKeys) {
    this.#ids = ids;
    this.#before = new Int32Array(rows);
    this.#after = new Int32Array(rows);
  }

  /** Adds a lookup to a side, or takes it away. */
  change(side: "before" | "after", at: number, by: 1 | -1): void {
    const id = this.#ids[at]!, own = side === "before" ? this.#before : this.#after;
    const other = side === "before" ? this.#after : this.#before;
    this.shared += by === 1 ? (own[id]! < other[id]! ? 1 : 0) : (own[id]! <= other[id]! ? -1 : 0);
    own[id]! += by;
  }

  /** How much more a row is used after than before: in logarithms. */
  lean(at: number): number {
    const id = this.#ids[at]!;
    return Math.log((this.#after[id]! + 0.5) / (this.#before[id]! + 0.5));
  }
}

/** Times at which popularity changes all at once. */
function changes(of: NumberedKeys): number[] {
  const n = of.ids.length, w = Math.max(LEAST_WINDOW, Math.round(n * WINDOW)), out: number[] = [];
  if (n < 4 * w) return out;
  const common = new Common(of), shared = new Float64Array(n - 2 * w + 1);
  for (let i = 0; i < w; i++) common.change("before", i, 1);
  for (let i = w; i < 2 * w; i++) common.change("after", i, 1);
  for (let t = w;; t++) {
    shared[t - w] = common.shared;
    if (t + w >= n) break;
    common.change("before", t - w, -1);
    common.change("after", t, -1);
    common.change("before", t, 1);
    common.change("after", t + w, 1);
  }
  const usual = shared.slice().sort()[Math.floor(0.9 * shared.length)] ?? 0;
  // Chance alone makes four standard deviations of a count once in thousands of times.
  const low = UNCOMMON * usual - 4 * Math.sqrt(usual), high = COMMON * usual;
  for (let from = 0; from < shared.length;) {
    if (shared[from]! > low) {
      from++;
      continue;
    }
    let to = from, least = from;
    while (to < shared.length && shared[to]! <= high) {
      if (shared[to]! < shared[least]!) least = to;
      to++;
    }
    if (to - from > 2 * w) return []; // it changes all the time
    out.push(sharp(of, least + w, w));
    from = to;
  }
  return out;
}

/** The time near a guess before which lookups lean most to what was popular before it, and after it to what was after. */
function sharp(of: NumberedKeys, guess: number, w: number): number {
  const common = new Common(of), from = Math.max(0, guess - w), to = Math.min(of.ids.length, guess + w);
  for (let i = from; i < guess; i++) common.change("before", i, 1);
  for (let i = guess; i < to; i++) common.change("after", i, 1);
  let [sum, least, best] = [0, 0, guess];
  for (let i = from; i < to; i++) {
    sum += common.lean(i);
    if (sum < least) [least, best] = [sum, i + 1];
  }
  return best;
}

/** Rows of which eras with so many different ones each show so many together. */
function dealtTo(each: number, eras: number, together: number): number {
  let [low, high] = [together, 2 ** 50];
  for (let round = 0; round < 100; round++) {
    const rows = Math.sqrt(low * high);
    if (rows * -Math.expm1(eras * Math.log1p(-Math.min(1 - 1e-12, each / rows))) < together - 0.5) low = rows;
    else high = rows;
  }
  return Math.round(low);
}

/**
 * Eras: popularity that changes all at once, again and again.
 *
 * @param of The stream.
 * @param keys Its keys.
 * @returns Nothing if there are none.
 */
export function findEras(of: NumberedKeys, keys: BigInt64Array<ArrayBuffer>): FoundOrder | undefined {
  const n = keys.length, found = changes(of), [first] = found, last = found.at(-1);
  if (first === undefined || last === undefined || found.length > MOST_ERAS) return undefined;
  const samples = Math.round(
    found.length === 1 ? Math.max(first, n - first) : (last - first) / (found.length - 1),
  );
  const ends = [0, ...found, n],
    whole = ends.slice(1).flatMap((end, i) => {
      const from = ends[i] ?? 0;
      return Math.abs(end - from - samples) < 0.1 * samples ? [[from, end] as const] : [];
    });
  if (whole.length === 0) return undefined;
  // Rows of different eras are told apart, and all eras run at once.
  const rest: bigint[] = [];
  for (let at = 0; at < 1.1 * samples; at++) {
    whole.forEach(([from, end], era) => {
      if (from + at < end) rest.push(BigInt(of.ids[from + at]! * whole.length + era));
    });
  }
  const each = whole.reduce((sum, [from, end]) => sum + new Set(of.ids.subarray(from, end)).size, 0) / whole.length;
  const seen = new Set(whole.flatMap(([from, end]) => [...of.ids.subarray(from, end)])).size;
  const start = ((samples - first) % samples + samples) % samples;
  return {
    order: { era: { samples, start, rows: dealtTo(each, whole.length, Math.max(seen, each + 1)) } },
    rest: BigInt64Array.from(rest),
    stretch: 1,
    eras: whole.length,
  };
}
