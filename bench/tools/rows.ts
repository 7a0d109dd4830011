/**
 * From what other tools said to the rows of `reports/out/bench-tools.json`. Pure functions.
 *
 * @module
 */

import { type BenchRow, missingRow, shareRow } from "../rows.ts";

/** A table of a set that TorchRec was asked about. */
export interface AskedTable {
  /** Its name. */
  readonly name: string;
  /** Load factors that were asked about. */
  readonly ask: readonly number[];
  /** From which on the statistics say that they are within 0.01. */
  readonly exactFrom: number;
  /** What our replay of a stream of the same law misses at each load factor; absent where none was replayed. */
  readonly replayed?: readonly number[];
}

/** What TorchRec said of a set. */
export interface ToldSet {
  /** Its number. */
  readonly set: number;
  /** What was refused, each with the error's last lines. */
  readonly rejected: readonly string[];
  /** Miss rates of each table at the load factors that were asked about. */
  readonly misses: Readonly<Record<string, readonly number[]>>;
}

/** Load factors below which nothing is promised. */
const LEAST = 1e-4;

/** Rows of TorchRec's part. */
export function torchRecRows(sets: readonly (readonly AskedTable[])[], told: readonly ToldSet[]): BenchRow[] {
  const loaded = told.filter(({ rejected }) => rejected.length === 0).length;
  const refusal = told.flatMap(({ set, rejected }) => rejected.map((text) => `set ${set}: ${text.trim()}`))[0];
  const off: number[] = [], from: number[] = [];
  let worst = "";
  for (const { set, misses } of told) {
    for (const { name, ask, exactFrom, replayed } of sets[set] ?? []) {
      from.push(exactFrom);
      ask.forEach((at, i) => {
        const said = misses[name]?.[i], is = replayed?.[i];
        if (said === undefined || is === undefined || at < Math.max(exactFrom, LEAST)) return;
        const error = Math.abs(said - is);
        if (off.every((other) => error > other)) {
          worst = `set ${set}, ${name}, load factor ${at.toPrecision(3)}: ${said.toFixed(4)}, replayed ${
            is.toFixed(4)
          }`;
        }
        off.push(error);
      });
    }
  }
  const within = from.filter((at) => at <= LEAST).length;
  return [
    {
      ...shareRow(
        "torchrec/loaded",
        loaded,
        sets.length,
        refusal ?? `${sets.length} random table sets, planned by its planner, and as YAML`,
      ),
      atLeast: 1,
    },
    {
      name: "torchrec/miss-rate",
      value: off.length === 0 ? null : Math.max(...off),
      low: null,
      high: null,
      unit: "of a miss ratio",
      atMost: 0.01,
      note: `largest of ${off.length} differences to a replay, from where the statistics say so on; ${worst}`,
    },
    shareRow(
      "torchrec/exact-everywhere",
      within,
      from.length,
      "tables whose statistics are within 0.01 from 1e-4 on; the others say from where",
    ),
  ];
}

/** How a file of another tool was read. */
export interface ReadFile {
  /** Its form, and the tool. */
  readonly form: string;
  /** The file. */
  readonly file: string;
  /** `"same"` keys as the tool reads, others (`"wrong"`), `"words"` where it has no whole numbers, or the sentence that refuses it. */
  readonly read: "same" | "wrong" | "words" | { readonly refused: string };
}

/** Rows of the part of formats. */
export function formatRows(files: readonly ReadFile[]): BenchRow[] {
  const wrong = files.filter(({ read }) => read === "wrong");
  const byForm = Map.groupBy(files, ({ form }) => form);
  return [
    {
      name: "formats/wrong",
      value: wrong.length,
      low: null,
      high: null,
      unit: "files",
      atMost: 0,
      note: wrong.length === 0 ? `none of ${files.length} files` : wrong.map(({ file }) => file).join(", "),
    },
    ...[...byForm].map(([form, these]) => {
      const refused = these.flatMap(({ file, read }) => typeof read === "object" ? [`${file}: ${read.refused}`] : []);
      const same = these.filter(({ read }) => read === "same").length;
      return shareRow(`formats/${form}`, same, these.length, refused[0]?.replace(/^.*"(, line \d+)?: /, "refused: "));
    }),
  ];
}

/**
 * Rows of the part of files that were found in other people's packages.
 *
 * @param files A file is here once for each of its columns, with whether its own tool reads whole numbers from it.
 * @param missing Packages that could not be had, and why.
 */
export function foundRows(
  files: readonly (ReadFile & { readonly whole: boolean })[],
  missing: readonly string[],
): BenchRow[] {
  const keys = files.filter(({ whole }) => whole), others = files.filter(({ whole }) => !whole);
  const rows = formatRows(keys).map((row) => ({ ...row, name: row.name.replace(/^formats/, "found") }));
  const without = [...Map.groupBy(others, ({ form }) => form)].map(([form, these]) =>
    shareRow(
      `found/${form} without whole numbers`,
      these.filter(({ read }) => typeof read === "object").length,
      these.length,
      "refused; the others have words, which count as keys, or no rows",
    )
  );
  return [
    ...rows.map((row) => {
      const these = new Set(keys.filter(({ form }) => row.name === `found/${form}`).map(({ file }) => file));
      if (these.size === 0) return row;
      return { ...row, note: `${these.size} files${row.note === undefined ? "" : `; ${row.note}`}` };
    }),
    ...without,
    ...missing.map((why): BenchRow => missingRow(`found/${why.slice(0, why.indexOf(":"))}`, why)),
  ];
}

/** A replay in both. */
export interface Replayed {
  readonly stream: string;
  /** Rows of the cache. */
  readonly size: number;
  readonly policy: string;
  readonly requests: number;
  /** Hits of libCacheSim. */
  readonly theirs: number;
  /** Hits of ours. */
  readonly ours: number;
  /** Seconds of both, a pair a round. */
  readonly seconds: readonly (readonly [theirs: number, ours: number])[];
}

/** Policies that are exact: their hits are to be the same. */
const EXACT: readonly string[] = ["lru", "clock", "sieve", "opt"];

/** Rows of libCacheSim's part. */
export function replayRows(replays: readonly Replayed[]): BenchRow[] {
  const exact = replays.filter(({ policy }) => EXACT.includes(policy));
  const different = exact.filter(({ theirs, ours }) => theirs !== ours);
  const name = ({ stream, size, policy }: Replayed) => `${policy}, ${stream}, ${size} rows`;
  const speedOf = ({ seconds }: Replayed) =>
    Math.min(...seconds.map(([theirs]) => theirs)) / Math.min(...seconds.map(([, ours]) => ours));
  return [
    {
      ...shareRow(
        "libcachesim/same-hits",
        exact.length - different.length,
        exact.length,
        different[0] === undefined
          ? `to the last hit: ${EXACT.join(", ")}`
          : `first of those that differ: ${name(different[0])}: ${different[0].ours}, theirs ${different[0].theirs}`,
      ),
      atLeast: 1,
    },
    ...[...Map.groupBy(replays, ({ policy }) => policy)].flatMap(([policy, these]): BenchRow[] => {
      const slowest = these.toSorted((a, b) => speedOf(a) - speedOf(b))[0];
      if (slowest === undefined) return [];
      const speeds = these.map(speedOf);
      const row = {
        name: `libcachesim/speed ${policy}`,
        value: speedOf(slowest),
        low: Math.min(...speeds),
        high: Math.max(...speeds),
      };
      return [{
        ...row,
        unit: "ratio",
        ...(policy === "sieve" ? { atLeast: 1 } : {}),
        note: `theirs over ours in seconds, the least of ${these.length}; ${name(slowest)}`,
      }];
    }),
    ...[...Map.groupBy(replays.filter(({ policy }) => !EXACT.includes(policy)), ({ policy }) => policy)].map(
      ([policy, these]): BenchRow => {
        const behind = these.map(({ ours, theirs, requests }) => (ours - theirs) / requests);
        const least = Math.min(...behind), at = these[behind.indexOf(least)];
        return {
          name: `libcachesim/hits ${policy}`,
          value: least,
          low: least,
          high: Math.max(...behind),
          unit: "share of requests",
          note: `ours less theirs, the worst and the best of ${these.length}; ${at === undefined ? "" : name(at)}`,
        };
      },
    ),
  ];
}
