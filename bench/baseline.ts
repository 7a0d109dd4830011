/**
 * Two builds of our library against each other, for changes that are proposed: which one is slower, as far as a run can
 * tell.
 *
 * @module
 */

import type { Contender } from "./contender.ts";
import { DISTRIBUTIONS, type Kind, KINDS } from "./plan.ts";
import { type BenchRow, ratioRow } from "./rows.ts";
import { compareResults, ours, pairedRatios, prepare, type Setting } from "./setting.ts";
import { WORD } from "./speed.ts";

/** The least difference that is called one, however quiet the run was. */
const LEAST = 0.01;

/** A library and the programs that know its interface. */
export type OtherBuild = Pick<Setting, "programs" | "library">;

/** Geometric means over the cells of a kind, round by round: one ratio a round, so that a kind is one question. */
export function roundMeans(cells: readonly (readonly number[])[]): number[] {
  return (cells[0] ?? []).map((_, round) => {
    const logs = cells.map((ratios) => Math.log(ratios[round] ?? NaN));
    return Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length);
  });
}

/**
 * Rows `lookup/baseline` and `update/baseline`: keys a second of the library that is measured ÷ those of the baseline,
 * two threads, the mean over distributions; beside them `lookup/same` and `update/same`, the baseline against itself in
 * a second process, which is what this run calls noise.
 *
 * @throws {WrongResultError} If the two hold different rows after the same work.
 */
export async function measureBaseline(setting: Setting, baseline: OtherBuild): Promise<BenchRow[]> {
  await using stack = new AsyncDisposableStack();
  const start = async (build: OtherBuild): Promise<Contender> => {
    const of = { ...setting, ...build };
    return stack.use((await prepare(of, "ours", ours(of, "DRAM"))).contender);
  };
  const [own, base, again] = [await start(setting), await start(baseline), await start(baseline)];
  await compareResults([own, base, again]);
  const rows: BenchRow[] = [];
  for (const kind of KINDS) {
    rows.push(...await measureKind(setting, kind, `${WORD[kind]}/baseline`, [own, base]));
    rows.push(...await measureKind(setting, kind, `${WORD[kind]}/same`, [again, base]));
  }
  return rows;
}

async function measureKind(
  setting: Setting,
  kind: Kind,
  name: string,
  pair: readonly [Contender, Contender],
): Promise<BenchRow[]> {
  const cells: number[][] = [];
  for (const distribution of DISTRIBUTIONS.keys()) cells.push(await pairedRatios(setting, pair, kind, distribution));
  setting.say(`  ${name}: ${setting.plan.rounds} rounds`);
  return [
    ratioRow(name, roundMeans(cells)),
    ...cells.map((ratios, distribution) => ratioRow(`${name} ${DISTRIBUTIONS[distribution]}`, ratios)),
  ];
}

/** What a run with a baseline says. */
export interface BaselineVerdict {
  /** Whether lookups or updates are slower than the baseline's. */
  readonly slower: boolean;
  /** A sentence a kind. */
  readonly text: string;
}

function percent(ratio: number): string {
  return `${(Math.abs(1 - ratio) * 100).toFixed(1)} %`;
}

/**
 * Slower or faster is what leaves 1 out of its interval and is further from 1 than both {@linkcode LEAST} and the far end
 * of the interval of the baseline against itself.
 *
 * @param rows Of {@linkcode measureBaseline}.
 */
export function baselineVerdict(rows: readonly BenchRow[]): BaselineVerdict {
  const verdicts = KINDS.map((kind) => {
    const word = WORD[kind];
    const row = rows.find(({ name }) => name === `${word}/baseline`);
    const same = rows.find(({ name }) => name === `${word}/same`);
    if (row?.value == null || row.low === null || row.high === null || same?.low == null || same.high === null) {
      throw new RangeError(`Cannot judge "${word}/baseline": it needs two rounds or more`);
    }
    const noise = Math.max(LEAST, 1 - same.low, same.high - 1);
    const apart = Math.abs(row.value - 1) > noise;
    const slower = apart && row.high < 1, faster = apart && row.low > 1;
    const said = slower
      ? `is ${percent(row.value)} slower than the baseline's`
      : faster
      ? `is ${percent(row.value)} faster than the baseline's`
      : "differs from the baseline's by no more than noise";
    const interval = `ratio ${row.value.toFixed(3)}, 95 %: ${row.low.toFixed(3)} to ${row.high.toFixed(3)}`;
    return { slower, text: `${word} ${said} (${interval}; noise of this run ${percent(1 + noise)})` };
  });
  return { slower: verdicts.some(({ slower }) => slower), text: verdicts.map(({ text }) => `${text}.`).join("\n") };
}
