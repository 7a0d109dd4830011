/** What a round in turns says of both ways: a neighbour that stays for seconds speaks for turns, noise of steps alone for neither. */

import { turnsPilot } from "../../../scenarios/run/turns_pilot.ts";
import { seededRandom } from "../../../reports/statistics/random.ts";
import { assert, assertEquals } from "../../assert.ts";

const SHARERS = 5, CYCLES = 30, EVERY = 2;

/** A round: what all meet in a cycle, and what each sample meets alone. */
function round(common: (cycle: number) => number, own: () => number, cycles = CYCLES) {
  const all = Array.from({ length: cycles }, (_, i) => common(i));
  return Array.from({ length: SHARERS }, () => ({
    stepNs: all.flatMap((factor) => Array.from({ length: EVERY }, () => 1e8 * factor * (1 + own()))),
    turns: { steps: EVERY, seconds: 1, waitingCpuNs: 0 },
  }));
}

Deno.test("turnsPilot() finds turns better where the machine changes, and says by how much", () => {
  const random = seededRandom("pilot");
  const own = () => 0.02 * (random() - 0.5);
  const neighbour = turnsPilot(round((i) => i % 20 < 10 ? 1.5 : 1, own));
  assert(neighbour !== undefined && neighbour.processes > 20 * neighbour.turns, JSON.stringify(neighbour));
  // Steps of ±1 % (uniform, 0.58 %), 60 of them, two samples: 0.58 √2 ÷ √60 = 0.105 %.
  assert(Math.abs(neighbour.turns - 0.00105) < 0.0003, `${neighbour.turns}`);
});

Deno.test("turnsPilot() finds no difference where only steps vary, and processes better where turns disturb", () => {
  const random = seededRandom("null");
  let ratio = 0;
  for (let i = 0; i < 200; i++) {
    const found = turnsPilot(round(() => 1, () => 0.05 * (random() - 0.5)));
    assert(found !== undefined);
    ratio += Math.log(found.turns / found.processes) / 200;
  }
  assert(Math.abs(ratio) < 0.2, `${Math.exp(ratio)}`);
  // A disturbance that the samples of a cycle share out among themselves: whoever has it, the cycle's mean is the same.
  let turn = 0;
  const samples = round(() => 1, () => 0).map((one) => ({ ...one, stepNs: [...one.stepNs] }));
  for (let cycle = 0; cycle < CYCLES; cycle++, turn++) {
    const { stepNs } = samples[turn % SHARERS] as (typeof samples)[number];
    for (let i = 0; i < EVERY; i++) stepNs[cycle * EVERY + i] = 2e8;
  }
  const found = turnsPilot(samples);
  assert(found !== undefined && found.processes < found.turns / 3, JSON.stringify(found));
});

Deno.test("turnsPilot() says nothing of too few turns, of one sample, or of samples that trained in one piece", () => {
  assertEquals(turnsPilot(round(() => 1, () => 0, 9)), undefined);
  assertEquals(turnsPilot(round(() => 1, () => 0).slice(0, 1)), undefined);
  assertEquals(turnsPilot(round(() => 1, () => 0).map(({ stepNs }) => ({ stepNs }))), undefined);
  assertEquals(turnsPilot([]), undefined);
});
