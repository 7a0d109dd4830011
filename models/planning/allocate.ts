/**
 * Shares the tiers of a host among tables: a multiple-choice knapsack with one limit a tier. Prices of bytes
 * (Lagrange multipliers) make every table choose for itself; the prices are moved until the choices fit, then single
 * tables and pairs of tables change their choice while that saves time.
 *
 * @module
 */

import type { Option } from "./options.ts";

const ROUNDS = 60;
/** Pairs of tables are tried when there are at most so many pairs of options. */
const MOST_PAIRS = 400_000;
/** Options that are tried in depth before nothing is said to fit. */
const MOST_TRIED = 100_000;

/** Seconds of all choices together. */
export function secondsOf(choices: readonly Option[]): number {
  return choices.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Bytes of all choices together, by tier. */
export function bytesOf(choices: readonly Option[], tiers: number): number[] {
  return Array.from({ length: tiers }, (_, k) => choices.reduce((sum, { bytes }) => sum + (bytes[k] ?? 0), 0));
}

/** Whether the bytes fit. */
export function fits(used: readonly number[], limits: readonly number[]): boolean {
  return limits.every((limit, k) => (used[k] ?? 0) <= limit);
}

/**
 * One option a table, so that all fit and the time is small; undefined if nothing was found that fits.
 *
 * @param tables Options of each table, at least one each.
 * @param limits Bytes by tier.
 */
export function allocate(tables: readonly (readonly Option[])[], limits: readonly number[]): Option[] | undefined {
  let best: Option[] | undefined;
  const offer = (choices: Option[]): void => {
    const improved = improve(choices, tables, limits);
    if (improved !== undefined && (best === undefined || secondsOf(improved) < secondsOf(best))) best = improved;
  };
  // Seconds a byte of a full tier are worth at most about the whole time over the whole tier.
  const scale = Math.max(...tables.map((options) => Math.max(...options.map(({ seconds }) => seconds)))) *
    tables.length;
  const prices = limits.map(() => 0);
  let step = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const choices = tables.map((options) => cheapest(options, prices));
    const used = bytesOf(choices, limits.length);
    const over = limits.map((limit, k) => limit === 0 ? ((used[k] ?? 0) > 0 ? 1 : 0) : (used[k] ?? 0) / limit - 1);
    // Repairs cost more than a round: the first choices, the last, and those that nearly fit are worth one.
    if (fits(used, limits) || round % 8 === 0 || round === ROUNDS - 1) offer(choices);
    if (round === 0 && fits(used, limits)) return choices; // nothing was scarce
    limits.forEach((limit, k) => {
      const price = (prices[k] ?? 0) + step * Math.max(-1, Math.min(1, over[k] ?? 0)) * scale / Math.max(limit, 1);
      prices[k] = Math.max(0, price);
    });
    step *= 0.9;
  }
  // Should prices have found no way: from what uses least of all tiers together, of the scarcest, and of each alone.
  const share = ({ bytes }: Option): number[] => limits.map((limit, k) => (bytes[k] ?? 0) / Math.max(limit, 1));
  offer(tables.map((options) => least(options, (option) => share(option).reduce((a, b) => a + b))));
  offer(tables.map((options) => least(options, (option) => Math.max(...share(option)))));
  limits.forEach((_, k) => offer(tables.map((options) => least(options, ({ bytes }) => bytes[k] ?? 0))));
  const packed = best === undefined ? pack(tables, limits) : undefined;
  if (packed !== undefined) offer(packed);
  return best;
}

/**
 * Any choices that fit, by trying in depth, the largest tables first: a few tables that nearly fill their tiers go in some ways
 * only, which no prices show. Undefined if {@linkcode MOST_TRIED} options did not tell.
 */
function pack(tables: readonly (readonly Option[])[], limits: readonly number[]): Option[] | undefined {
  const sum = (bytes: readonly number[]) => bytes.reduce((a, b) => a + b, 0);
  const leastOf = (options: readonly Option[]) => Math.min(...options.map(({ bytes }) => sum(bytes)));
  const order = tables.map((options, i) => ({ i, options, least: leastOf(options) })).sort((a, b) => b.least - a.least);
  const choices: Option[] = [];
  let tried = 0;
  const place = (depth: number, left: readonly number[]): boolean => {
    const next = order[depth];
    if (next === undefined) return true;
    if (order.slice(depth).reduce((bytes, { least }) => bytes + least, 0) > sum(left)) return false;
    return next.options.some((option) => {
      if (++tried > MOST_TRIED) return false;
      const after = left.map((bytes, k) => bytes - (option.bytes[k] ?? 0));
      choices[next.i] = option;
      return after.every((bytes) => bytes >= 0) && place(depth + 1, after);
    });
  };
  return place(0, limits) ? choices : undefined;
}

function cheapest(options: readonly Option[], prices: readonly number[]): Option {
  return least(
    options,
    ({ seconds, bytes }) => seconds + prices.reduce((sum, price, k) => sum + price * (bytes[k] ?? 0), 0),
  );
}

function least(options: readonly Option[], value: (option: Option) => number): Option {
  let [best, lowest] = [options[0] as Option, Infinity];
  for (const option of options) {
    const at = value(option);
    if (at < lowest) [best, lowest] = [option, at];
  }
  return best;
}

/** Bytes above the limits, as shares of them. */
function excess(used: readonly number[], limits: readonly number[]): number {
  return limits.reduce((sum, limit, k) => sum + Math.max(0, (used[k] ?? 0) - limit) / Math.max(limit, 1), 0);
}

/** Makes choices fit, then better; undefined if they cannot be made to fit. */
function improve(
  start: readonly Option[],
  tables: readonly (readonly Option[])[],
  limits: readonly number[],
): Option[] | undefined {
  const choices = [...start];
  let used = bytesOf(choices, limits.length);
  const after = (i: number, option: Option): number[] =>
    used.map((bytes, k) => bytes + (option.bytes[k] ?? 0) - (choices[i]?.bytes[k] ?? 0));
  while (!fits(used, limits)) {
    // The change that loses least time for the excess it takes away.
    let [found, price] = [undefined as { i: number; option: Option } | undefined, Infinity];
    const now = excess(used, limits);
    tables.forEach((options, i) => {
      for (const option of options) {
        const gain = now - excess(after(i, option), limits);
        if (gain <= 1e-15) continue;
        const cost = (option.seconds - (choices[i]?.seconds ?? 0)) / gain;
        if (cost < price) [found, price] = [{ i, option }, cost];
      }
    });
    if (found === undefined) return undefined;
    used = after(found.i, found.option);
    choices[found.i] = found.option;
  }
  for (let changed = true; changed;) {
    changed = false;
    tables.forEach((options, i) => {
      for (const option of options) {
        if (option.seconds >= (choices[i]?.seconds ?? 0) || !fits(after(i, option), limits)) continue;
        used = after(i, option);
        choices[i] = option;
        changed = true;
      }
    });
    if (!changed) changed = improvePair();
  }
  return choices;

  /** One table gives room, another takes it. */
  function improvePair(): boolean {
    const most = Math.max(...tables.map((options) => options.length));
    if ((tables.length * most) ** 2 / 2 > MOST_PAIRS) return false;
    for (let i = 0; i < tables.length; i++) {
      for (let j = i + 1; j < tables.length; j++) {
        const now = (choices[i]?.seconds ?? 0) + (choices[j]?.seconds ?? 0);
        for (const a of tables[i] ?? []) {
          for (const b of tables[j] ?? []) {
            if (a.seconds + b.seconds >= now * (1 - 1e-12)) continue;
            const next = used.map((bytes, k) =>
              bytes + (a.bytes[k] ?? 0) + (b.bytes[k] ?? 0) - (choices[i]?.bytes[k] ?? 0) - (choices[j]?.bytes[k] ?? 0)
            );
            if (!fits(next, limits)) continue;
            [choices[i], choices[j], used] = [a, b, next];
            return true;
          }
        }
      }
    }
    return false;
  }
}
