/**
 * What the parts of the bench share: where programs are, how contenders are started, how rounds are run.
 *
 * @module
 */

import { type Answer, Contender, ContenderError, numberOf } from "./contender.ts";
import { DISTRIBUTIONS, type Kind, KINDS, type Plan, ROW_BYTES } from "./plan.ts";
import { BARS, type BenchRow, missingRow } from "./rows.ts";

/** Places and programs of a run. */
export interface Setting {
  /** What to do. */
  readonly plan: Plan;
  /** Folder of the programs. */
  readonly programs: string;
  /** Peers that were built. */
  readonly peers: readonly string[];
  /** Peers that were not, each with the package that it needs. */
  readonly absent: ReadonlyMap<string, string>;
  /** Path of our library. */
  readonly library: string;
  /** Path of the file of batches. */
  readonly workload: string;
  /** Folder for files of this run, on the SSD. */
  readonly scratch: string;
  /** Tells the person that waits what is going on. */
  readonly say: (text: string) => void;
}

/** Two contenders that must hold equal rows do not: no figure of them means anything. */
export class WrongResultError extends Error {
  /** Sets the name. */
  override name = "WrongResultError";
}

/** Options of a contender. */
export type Options = Readonly<Record<string, string | number>>;

/** What a contender said when it was ready. */
export interface Prepared {
  /** The process. */
  readonly contender: Contender;
  /** Its answer. */
  readonly answer: Answer;
}

/** Starts a contender and fills it; ends it again if that fails. */
export async function prepare(
  setting: Setting,
  program: string,
  options: Options,
  env: Readonly<Record<string, string>> = {},
  keys: number = setting.plan.keys,
): Promise<Prepared> {
  // glibc asks for huge pages for large allocations with this; the floor and our store ask for them by themselves.
  const huge: Record<string, string> = setting.peers.includes(program)
    ? { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1" }
    : {};
  const contender = new Contender(program, `${setting.programs}/${program}`, [], { ...huge, ...env });
  try {
    const answer = await contender.command("prepare", { keys, workload: setting.workload, ...options });
    setting.say(`  ${program}: ${keys} rows in ${numberOf(answer, "seconds").toFixed(1)} s`);
    return { contender, answer };
  } catch (error) {
    await contender[Symbol.asyncDispose]();
    throw error;
  }
}

/** The same run on fewer keys, with batches of their own. */
export async function smaller(setting: Setting, keys: number, batches: number): Promise<Setting> {
  const workload = `${setting.scratch}/workload-${keys}`;
  const args = [workload, `${keys}`, `${batches}`];
  const { success, stderr } = await new Deno.Command(`${setting.programs}/workload`, { args, stdin: "null" }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return { ...setting, workload, plan: { ...setting.plan, keys, batches } };
}

/** Options of our store on a storage type. */
export function ours(setting: Setting, storage: string, more: Options = {}): Options {
  const room = Math.max(2 ** 30, 2 * setting.plan.keys * ROW_BYTES);
  return { library: setting.library, "store.storage": storage, "store.size": room, ...more };
}

/** One measured round. */
interface RoundRequest {
  /** What is done with a batch. */
  readonly kind: Kind;
  /** Index into `DISTRIBUTIONS`. */
  readonly distribution: number;
  /** 1 or 2. */
  readonly threads: number;
  /** Number of the round: it begins with another batch each time. */
  readonly round: number;
}

/** A round whose threads ran for a smaller part of its time measured what else the machine did. */
const RAN = 0.8;

/**
 * What to say of a round whose threads waited for a processor.
 *
 * @param answer Of a round: `cpu` and `seconds`, both in seconds, `cpu` of all threads together.
 * @param threads How many threads it had.
 * @returns Undefined if they ran nearly all the time.
 */
export function starvedText(answer: Answer, threads: number): string | undefined {
  const ran = numberOf(answer, "cpu") / (numberOf(answer, "seconds") * threads);
  if (ran >= RAN) return undefined;
  return `threads ran for ${
    (100 * ran).toFixed(0)
  } % of a round; unless they wait for each other, other work had the processors`;
}

/** Runs a round; keys a second over all threads. */
export async function rate(setting: Setting, contender: Contender, request: RoundRequest): Promise<number> {
  const { round, ...rest } = request;
  const options = { ...rest, ms: setting.plan.ms, first: round * 7 };
  const answer = await contender.command("round", options);
  const starved = starvedText(answer, request.threads);
  if (starved !== undefined) setting.say(`  ${contender.name}: ${starved}`);
  return numberOf(answer, "rate");
}

/**
 * Paired rounds of two stores in one cell: keys a second of the first ÷ those of the second, one ratio a round.
 * A B B A: a drift within the round falls on both.
 */
export async function pairedRatios(
  setting: Setting,
  [a, b]: readonly [Contender, Contender],
  kind: Kind,
  distribution: number,
  threads: 1 | 2 = 2,
): Promise<number[]> {
  const ratios: number[] = [];
  for (let round = -1; round < setting.plan.rounds; round++) {
    const request = { kind, distribution, threads, round: Math.max(round, 0) };
    const order = round % 2 === 0 ? [a, b, b, a] : [b, a, a, b];
    const sums = new Map<Contender, number>();
    for (const one of order) sums.set(one, (sums.get(one) ?? 0) + await rate(setting, one, request));
    if (round >= 0) ratios.push((sums.get(a) ?? NaN) / (sums.get(b) ?? NaN)); // the first one warms up
  }
  return ratios;
}

/**
 * Compares what contenders hold: the same batches looked up, and stepped, must give the same bits everywhere.
 *
 * @param kinds What is compared; one that only looks up cannot step.
 * @throws {WrongResultError} If they do not.
 */
export async function compareResults(
  contenders: readonly Contender[],
  kinds: readonly Kind[] = KINDS,
): Promise<void> {
  for (const kind of kinds) {
    for (const distribution of DISTRIBUTIONS.keys()) {
      const digests: string[] = [];
      for (const one of contenders) digests.push((await one.command("check", { kind, distribution }))["digest"] ?? "");
      const wrong = digests.findIndex((digest) => digest !== digests[0] || digest === "");
      if (wrong < 0) continue;
      const [first, other] = [contenders[0]?.name, contenders[wrong]?.name];
      throw new WrongResultError(
        `Cannot compare "${other}" with "${first}": after ${kind} of ${DISTRIBUTIONS[distribution]} the digests of ` +
          `the rows are ${digests[wrong]} and ${digests[0]}`,
      );
    }
  }
}

/** Runs a part; if it cannot be run here, its rows say why. */
export async function orMissing(names: readonly string[], run: () => Promise<BenchRow[]>): Promise<BenchRow[]> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ContenderError)) throw error;
    return names.filter((name) => name in BARS).map((name) => missingRow(name, error.message));
  }
}
