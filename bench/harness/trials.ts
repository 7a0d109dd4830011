/**
 * What a report would say of simulated runs, counted.
 *
 * @module
 */

import type { Estimate } from "../../reports/statistics/bootstrap.ts";
import { speedFloor } from "../../reports/statistics/floor.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { compared, comparedRates, rateOf } from "../../reports/statistics/pairing.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { type BenchRow, shareRow } from "../rows.ts";
import { type Noise, NOISES, type SimulatedRun, simulatedRun } from "./noise.ts";

/** Rounds of the default scenario. */
const DEFAULT_ROUNDS = 4;
/**
 * Rounds in which a small effect is to be found: with three processes of four seconds each, as the default run's are on two
 * cores, these take the ten minutes that are allowed.
 */
const LONG_ROUNDS = 48;
/** The effect that is to be found. */
const EFFECT = 0.03;

/** The ratio of a simulated run as a report judges it: with floor and p-value. Alone, its p-value needs no adjustment. */
export function judgedRatio({ baseline, again, other }: SimulatedRun, seed: string): Estimate {
  const ratio = comparedRates(other, baseline, again, seed);
  const floor = speedFloor([baseline, other], { samples: baseline, again }, `${seed} again`);
  if (ratio.test === undefined || floor === undefined) return ratio;
  return { ...ratio, test: { ...ratio.test, q: ratio.test.p, floor: floor.factor } };
}

/** Runs of which a difference was called, of how many. */
export interface Calls {
  readonly called: number;
  readonly of: number;
}

/** Counts the runs of a kind of noise of which a report calls a difference in the direction of the effect, or any without one. */
export function callsOf(noise: Noise, rounds: number, effect: number, trials: number): Calls {
  const random = seededRandom(`${noise} ${rounds} ${effect}`);
  let called = 0;
  for (let trial = 0; trial < trials; trial++) {
    const found = difference(judgedRatio(simulatedRun(noise, rounds, effect, random), `${noise} ${trial}`));
    if (effect === 0 ? found === "above" || found === "below" : found === "below") called++;
  }
  return { called, of: trials };
}

/** Width of the interval with the repeated case and its steps ÷ that of the rounds alone, mean of logarithms. */
export function widthRatio(noise: Noise, rounds: number, trials: number): number {
  const random = seededRandom(`width ${noise}`);
  const width = ({ low = NaN, high = NaN }: Estimate): number => Math.log(high / low);
  let sum = 0;
  for (let trial = 0; trial < trials; trial++) {
    const { baseline, again, other } = simulatedRun(noise, rounds, 0, random);
    const paired = compared(other, baseline, rateOf, "rate", `${trial}`);
    sum += Math.log(width(comparedRates(other, baseline, again, `${trial}`)) / width(paired));
  }
  return Math.exp(sum / trials);
}

/**
 * The rows of simulated noise.
 *
 * @param trials Of each kind of noise.
 * @param tell Told what is counted next.
 */
export function simulatedRows(trials: number, tell: (what: string) => void): BenchRow[] {
  const rows: BenchRow[] = [];
  let [alarms, found] = [0, 0];
  for (const noise of NOISES) {
    tell(`${noise}: ${trials} runs without an effect, ${trials} with one`);
    const none = callsOf(noise, DEFAULT_ROUNDS, 0, trials);
    const some = callsOf(noise, LONG_ROUNDS, EFFECT, trials);
    [alarms, found] = [alarms + none.called, found + some.called];
    rows.push(
      shareRow(`aa/false-alarms ${noise}`, none.called, none.of, `${DEFAULT_ROUNDS} rounds`),
      shareRow(`power/3-percent ${noise}`, some.called, some.of, `${LONG_ROUNDS} rounds`),
      {
        name: `width/rounds-alone ${noise}`,
        value: widthRatio(noise, DEFAULT_ROUNDS, Math.min(trials, 200)),
        low: null,
        high: null,
        unit: "ratio",
      },
    );
  }
  const all = trials * NOISES.length;
  return [
    { ...shareRow("aa/false-alarms", alarms, all, "simulated noise of five kinds, default run"), atMost: 0.05 },
    {
      ...shareRow("power/3-percent", found, all, "simulated noise of five kinds, ten minutes of runs"),
      atLeast: 0.8,
    },
    ...rows,
  ];
}
