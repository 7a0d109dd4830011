/**
 * Ratio of two cases by the hierarchy in which noise lives: steps in processes in rounds (Kalibera and Jones, ISMM 2013).
 *
 * Drawing with replacement at every level would count the noise of the lower levels twice, since what a round shows has it
 * already. So the deviations of the rounds are first shrunk by what the levels below explain, and these are then drawn:
 * the shrunken bootstrap of multilevel models (Carpenter, Goldstein and Rasbash, Applied Statistics 52(4), 2003). The
 * spread is that of the rounds, and never less than steps and processes alone would give, which rounds that agree by luck
 * would hide.
 *
 * Blocks of the same number are drawn together: they train the same rows, and in a round whose samples train in turns they
 * ran within moments of each other, so that what the machine did then is in both and leaves their ratio. Where they have
 * nothing in common, drawing them together is as good as drawing each by itself.
 *
 * @module
 */

import { type Estimate, ratioTest, RESAMPLES, widening } from "./bootstrap.ts";
import { mean, quantileOfSorted, variance } from "../../base/statistics.ts";
import { type Random, seededRandom } from "./random.ts";
import { NORMAL_975, studentQuantile } from "./student.ts";

/** Times of one process's steps, in their order, above 0. */
type Steps = readonly number[];

/** One round: what the processes of both cases took. */
export interface Round {
  /** Of the case: a process or more. */
  readonly one: readonly Steps[];
  /** Of the case it is compared with. */
  readonly other: readonly Steps[];
}

/** Blocks of a process's steps that are drawn as one: neighbours are correlated (Carlstein, Annals of Statistics 14(3), 1986). */
const BLOCKS = 24;
/** Draws that say how much of a round's spread comes from the levels below. */
const INNER = 400;

/** Means of neighbouring steps, in equal parts; the steps themselves where there are few. */
function blocksOf(steps: Steps): Float64Array {
  const count = Math.min(BLOCKS, steps.length);
  return Float64Array.from({ length: count }, (_, i) => {
    const [from, to] = [Math.floor(i * steps.length / count), Math.floor((i + 1) * steps.length / count)];
    return mean(steps.slice(from, to));
  });
}

/** Numbers of so many blocks, drawn with replacement into the first places of `into`. */
function drawBlocks(count: number, random: Random, into: Uint8Array): void {
  for (let i = 0; i < count; i++) into[i] = Math.floor(random() * count);
}

/** Mean of the blocks of these numbers. */
function meanOf(blocks: Float64Array, drawn: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < blocks.length; i++) sum += blocks[drawn[i] as number] as number;
  return sum / blocks.length;
}

/** A side of a round: mean time of its processes, and how far one draw of blocks and of processes is from it. */
class Side {
  readonly #blocks: readonly Float64Array[];
  readonly #means: readonly number[];
  /** Logarithm of the mean time of a step, which is the harmonic mean of the processes' rates. */
  readonly log: number;
  /** Blocks of each process, where all have equally many. */
  readonly count: number | undefined;

  constructor(processes: readonly Steps[]) {
    this.#blocks = processes.map(blocksOf);
    const [first, ...others] = this.#blocks.map(({ length }) => length);
    this.count = others.every((length) => length === first) ? first : undefined;
    this.#means = this.#blocks.map((one) => mean([...one]));
    this.log = Math.log(mean(processes.map(mean)));
  }

  /**
   * Logarithm of a drawn mean ÷ the mean of the blocks.
   *
   * @param drawn Numbers of the blocks that are drawn of each process.
   * @param own Whether each process draws its own, into these.
   */
  deviation(random: Random, drawn: Uint8Array, own: boolean): number {
    const n = this.#blocks.length;
    let [some, all] = [0, 0];
    for (let i = 0; i < n; i++) {
      const blocks = this.#blocks[n === 1 ? 0 : Math.floor(random() * n)] as Float64Array;
      if (own) drawBlocks(blocks.length, random, drawn);
      some += meanOf(blocks, drawn);
      all += this.#means[i] as number;
    }
    return Math.log(some / all);
  }
}

/**
 * Rate of a case ÷ rate of another, with the interval of the three levels; the value is the geometric mean of the rounds'
 * ratios. Stretched like every interval here, with rounds − 1 degrees of freedom.
 *
 * @param rounds Rounds that both cases completed, at least one; every process has a step at least.
 * @param seed Text that seeds the resampling.
 * @throws {RangeError} if there is no round, or a side of one has no process.
 */
export function estimateNestedRatio(rounds: readonly Round[], seed: string): Estimate {
  const n = rounds.length;
  if (n === 0 || rounds.some(({ one, other }) => one.length === 0 || other.length === 0)) {
    throw new RangeError(
      "Cannot compare by round: every round needs a process of both cases, at least 1 round is needed",
    );
  }
  const sides = rounds.map(({ one, other }) => [new Side(one), new Side(other)] as const);
  // More time is a lower rate.
  const logs = sides.map(([one, other]) => other.log - one.log);
  const centre = mean(logs);
  const samples = n * Math.min(...rounds.map(({ one, other }) => Math.min(one.length, other.length)));
  if (n < 2) return { value: Math.exp(centre), low: undefined, high: undefined, samples };
  const random = seededRandom(seed);
  const drawn = new Uint8Array(BLOCKS);
  const inner = (r: number): number => {
    const [one, other] = sides[r] as readonly [Side, Side];
    const own = one.count === undefined || one.count !== other.count;
    if (!own) drawBlocks(one.count ?? 0, random, drawn);
    return other.deviation(random, drawn, own) - one.deviation(random, drawn, own);
  };
  const below = mean(sides.map((_, r) => variance(Array.from({ length: INNER }, () => inner(r)))));
  const between = variance(logs);
  const kept = between <= below ? 0 : Math.sqrt(1 - below / between) * widening(n);
  const stretch = studentQuantile(0.975, n - 1) / NORMAL_975;
  const deviations = new Float64Array(RESAMPLES);
  for (let i = 0; i < RESAMPLES; i++) {
    let sum = 0;
    for (let k = 0; k < n; k++) {
      const r = Math.floor(random() * n);
      sum += kept * ((logs[r] as number) - centre) + inner(r);
    }
    deviations[i] = stretch * sum / n;
  }
  deviations.sort();
  return {
    value: Math.exp(centre),
    low: Math.exp(centre + Math.min(0, quantileOfSorted(deviations, 0.025))),
    high: Math.exp(centre + Math.max(0, quantileOfSorted(deviations, 0.975))),
    samples,
    test: ratioTest(centre, Math.sqrt(Math.max(between, below) / n), n - 1),
  };
}
