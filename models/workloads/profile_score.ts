/**
 * How faithful a profile is known to be: what it says of itself, judged.
 *
 * @module
 */

import { type CurveError, SCORE_BARS, SCORE_LEAST } from "./fit/bars.ts";
import type { Profile, ProfileTable } from "./profile.ts";

/** The parts of a score that are beyond the bars, worst first, in words. */
function beyond(errors: Readonly<Record<string, CurveError>>): string[] {
  const weight = ({ mean, largest }: CurveError) => Math.max(mean / SCORE_BARS.mean, largest / SCORE_BARS.largest);
  return Object.entries(errors).filter(([, error]) => weight(error) > 1).sort(([, a], [, b]) => weight(b) - weight(a))
    .map(([policy, { mean, largest }]) =>
      `${policy} by ${mean.toFixed(3)} in the mean and ${largest.toFixed(3)} at worst`
    );
}

/**
 * What is wrong with a table's score: how far keys made from it miss the curves of the trace, if that is beyond
 * {@linkcode SCORE_BARS}.
 *
 * @returns A sentence's end, "its keys miss …"; undefined if the table is faithful, has no score, or one of too few lookups.
 */
export function scoreFault({ score }: Pick<ProfileTable, "score">): string | undefined {
  const parts = score === undefined || score.lookups < SCORE_LEAST ? [] : beyond(score.errors);
  if (parts.length === 0) return undefined;
  const more = parts.length > 2 ? ` and ${parts.length - 2} more` : "";
  return `its keys miss the miss-ratio curves of the trace: ${parts.slice(0, 2).join(", ")}${more} ` +
    `(at most ${SCORE_BARS.mean} and ${SCORE_BARS.largest} would do)`;
}

/** What a table's keys have beside popularity: a law of popularity says nothing of it. */
export function lawLeavesOut({ life, popularity, pool, repeats, parent, walk, epoch, era }: ProfileTable): string[] {
  const drifts = era !== undefined || life !== undefined || pool !== undefined ||
    (popularity.steps ?? []).some((step) => step.life !== undefined);
  return [
    ...(drifts ? ["drift"] : []),
    ...(repeats === undefined ? [] : ["repeats"]),
    ...(walk === undefined ? [] : ["return in order"]),
    ...(epoch === undefined ? [] : ["epochs"]),
    ...(parent === undefined ? [] : ["correlation of tables"]),
  ];
}

/**
 * The warnings that whoever uses a profile must see.
 *
 * @param profile The profile.
 * @param table Only of this table.
 * @returns A sentence for each table whose score is bad.
 */
export function profileFaults(profile: Profile, table?: string): string[] {
  return profile.tables.flatMap((each) => {
    const fault = table === undefined || table === each.name ? scoreFault(each) : undefined;
    return fault === undefined ? [] : [`The profile "${profile.name}" is bad, table "${each.name}": ${fault}`];
  });
}

/**
 * What cannot be judged of a profile.
 *
 * @param profile The profile.
 * @returns A sentence for each table whose score is of fewer than {@linkcode SCORE_LEAST} lookups.
 */
export function unjudgedTables(profile: Profile): string[] {
  return profile.tables.flatMap(({ name, score }) =>
    score === undefined || score.lookups >= SCORE_LEAST ? [] : [
      `Nothing is said of table "${name}": of ${score.lookups} lookups, chance alone misses the bars; ${SCORE_LEAST} would do`,
    ]
  );
}
