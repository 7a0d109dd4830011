/**
 * Which rank of a job failed: one sentence out of what ranks said, of how they ended and of what the launcher printed.
 *
 * @module
 */

import type { RankEnd } from "./rank_lines.ts";
import type { RankHello, WorkerMessage } from "./worker_protocol.ts";

/** Characters of the launcher's words that an error quotes. */
export const QUOTED = 800;

/** What a rank says that cannot go on. */
export type RankError = Extract<WorkerMessage, { type: "error" }>;

/** What ranks said, how they ended, and how the launcher did. */
export interface RankJobEnd {
  readonly count: number;
  readonly hellos: ReadonlyMap<number, RankHello>;
  /** In the order in which they came. */
  readonly errors: ReadonlyMap<number, RankError>;
  /** Ranks that ended with an error, before what is left of the job was killed. */
  readonly ends: readonly RankEnd[];
  /** What the launcher and libraries printed. */
  readonly printed: string;
  readonly how: string;
}

/** The signal by which a process ends itself, as MPIs do that lost another rank. */
const SIGABRT = 6;

/**
 * One sentence: which rank failed, and how. The cause is, in this order:
 *
 * 1. a rank that a signal ended from outside;
 * 2. what a rank said, unless a message between ranks failed;
 * 3. a rank that ended without a word;
 * 4. a rank that could not reach another.
 *
 * Of several the first: by the clocks of their machines for those that ended, which are the same on one machine.
 */
export function failureText({ count, hellos, errors, ends, printed, how }: RankJobEnd): string {
  const named = (rank: number, host = hellos.get(rank)?.host) =>
    `Rank ${rank} of ${count}${host === undefined ? "" : ` on "${host}"`}`;
  const numbered = ends.map((end) => ({ ...end, rank: count === 1 ? 0 : numberOf(end, hellos) }));
  const silent = numbered.filter(({ rank }) => rank === undefined || !errors.has(rank)).sort((a, b) => a.us - b.us);
  const killed = silent.find(({ signal }) => signal !== 0 && signal !== SIGABRT);
  const quoted = printed.trim().slice(-QUOTED);
  const words = quoted === "" ? "" : `; it said: ${quoted}`;
  const ended = ({ rank, host, pid, code, signal }: typeof silent[number]) => {
    const who = rank === undefined ? `A rank of ${count} on "${host}"` : named(rank, host);
    const what = rank === undefined || hellos.has(rank) ? "ended without a word" : "did not start";
    const others = count === 1 ? "" : "; the others were ended";
    return `${who} (process ${pid}) ${what} (${signal === 0 ? `exit code ${code}` : `signal ${signal}`})${others}`;
  };
  if (killed !== undefined) return ended(killed);
  const said = [...errors].find(([, { lost = false }]) => !lost);
  const [first] = silent;
  if (said === undefined && first !== undefined) return ended(first) + words;
  const [rank, error] = said ?? [...errors][0] ?? [];
  if (rank !== undefined && error !== undefined) {
    return /^Rank \d+ of /.test(error.message) ? error.message : `${named(rank)}: ${error.message}`;
  }
  const unheard = Array.from({ length: count }, (_, rank) => rank).filter((rank) => !hellos.has(rank));
  const who = unheard.length === 0 ? `The ${count} ranks` : `Rank ${unheard.join(", ")} of ${count}`;
  const what = unheard.length === 0 ? "ended without an outcome" : "did not start";
  return `${who} ${what}: the launcher ended with ${how}${words}`;
}

/** The number of a rank that ended: its launcher's, or that of the process that said it had joined. */
function numberOf({ rank, host, pid }: RankEnd, hellos: ReadonlyMap<number, RankHello>): number | undefined {
  if (rank >= 0) return rank;
  return [...hellos.values()].find((hello) => hello.host === host && hello.pid === pid)?.rank;
}
