/**
 * Rules about samples that train in turns: what a turn costs a case that it does not cost the others.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import type { SampleRecord } from "../../scenarios/record.ts";
import { about, perCase, percent, type Rule } from "./finding_parts.ts";

/** Processor time between its turns, as a share of that of its steps on one processor, from which a process worked unseen; and ns. */
const UNSEEN = 0.1, UNSEEN_NS = 200e6;
/** Share of a turn that its first step may take longer in one case than in another. */
const APART = 0.01;
/** Turns of a sample below which their first steps say nothing. */
const FEW_TURNS = 8;

const ALONE = 'let it run alone ("sampling": "processes")';

/** What the first step of a turn takes longer than the others, as a share of the turn; undefined where that cannot be told. */
function firstStepShare({ turns, stepNs }: SampleRecord): number | undefined {
  const every = turns?.steps ?? 1;
  if (every < 2 || stepNs.length < FEW_TURNS * every) return undefined;
  const others = median(stepNs.filter((_, i) => i % every !== 0));
  return (median(stepNs.filter((_, i) => i % every === 0)) - others) / (every * others);
}

/** Rules about turns. */
export const TURN_RULES: readonly Rule[] = [
  perCase("works-between-turns", "open", ALONE, ({ samples }) => {
    const shares = samples.flatMap(({ turns, stepNs }) => {
      if (turns === undefined) return [];
      return turns.waitingCpuNs < UNSEEN_NS ? [0] : [turns.waitingCpuNs / stepNs.reduce((sum, ns) => sum + ns, 0)];
    });
    return shares.length > 0 && Math.min(...shares) > UNSEEN
      ? `its threads worked while others had their turns, for ${percent(median(shares))} of the time of its steps`
      : undefined;
  }),
  (_, cases) => {
    const points = Map.groupBy(cases, ({ samples: [one] }) => JSON.stringify(one?.point));
    return about(
      "cold-turns",
      "open",
      [...points.values()].flatMap((at) => {
        const shares = at.flatMap(({ name, samples }) => {
          const own = samples.map(firstStepShare);
          return own.length === 0 || own.includes(undefined) ? [] : [{ name, own: own as number[] }];
        });
        const least = Math.min(...shares.map(({ own }) => Math.max(...own)));
        return shares.filter(({ own }) => Math.min(...own) - least > APART).map(({ name, own }) =>
          [
            name,
            `the first step of its turns takes ${
              percent(median(own) - least)
            } of a turn longer than another case's, in ` +
            "every sample",
          ] as const
        );
      }),
      ALONE,
    );
  },
];
