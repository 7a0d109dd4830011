/**
 * From what the crash lab printed and what came of the kills to the rows of `reports/out/bench-crash.json`. Pure functions.
 *
 * @module
 */

import { quantile } from "../../base/statistics.ts";
import { type BenchRow, ratioRow } from "../rows.ts";
import type { DeltaBytes, Restores, Slowdowns } from "./checkpoints.ts";
import { atTenMinutes, type CheckpointPlace, type IntervalPair, TEN_MINUTE_UPDATES } from "./ten_minutes.ts";

/** What the crash lab (`native/test/crash_test.c`) counted, of all that it has under test. */
export interface LabCounts {
  /** Crash points that were tried. */
  readonly points: number;
  /** Images that were built and opened. */
  readonly images: number;
  /** Faults that were injected. */
  readonly faults: number;
  /** Images, runs and tampered folders that were not as they must be. */
  readonly wrong: number;
  /** Bugs that were seeded. */
  readonly bugs: number;
  /** Of them, those that showed. */
  readonly bugsFound: number;
  /** Kinds of sync that no crash point needs. */
  readonly syncsWasted: number;
}

/** What came of killed training processes. */
export interface KillCounts {
  /** Processes that were killed. */
  readonly kills: number;
  /** How many of each storage type, of those that made restore points. */
  readonly inPlace: Readonly<Record<string, number>>;
  /** What was not as it must be. */
  readonly wrong: readonly string[];
}

/** What is asked of a run. */
export interface CrashTargets {
  /** Crash points, at the least. */
  readonly points: number;
  /** Processes to kill. */
  readonly kills: number;
}

/** What the lab counted of one thing that it has under test. */
export interface SubjectCounts {
  /** Its name. */
  readonly name: string;
  /** Workloads that were run, with faults or without. */
  readonly runs: number;
  /** Crash points that were tried. */
  readonly points: number;
  /** Images that were built and opened. */
  readonly images: number;
  /** Images that were gone on from afterwards. */
  readonly continued: number;
  /** Faults that were injected. */
  readonly faults: number;
  /** Folders that were tampered with. */
  readonly tampered: number;
  /** What was not as it must be. */
  readonly wrong: number;
  /** Seeded bugs and syncs left out, and those that showed; absent where they are counted with another subject. */
  readonly bugs?: { readonly seeded: number; readonly found: number };
}

/** What is under test in the lab. */
const SUBJECTS = [
  "checkpoints",
  "store",
  "pmem-fsdax",
  "pmem-file",
  "points-ssdhash",
  "points-dram-ssdhash",
  "points-dram-pmem-ssdhash",
  "points-pmem",
  "points-dram-pmem",
];
/** Bugs of tables in PMEM are counted once, on fsdax, those of restore points with the first that has them. */
const WITH_BUGS = ["checkpoints", "store", "pmem-fsdax", "points-ssdhash"];

/**
 * Reads the lab's lines `<what is under test>.<name>=<number>`.
 *
 * @throws {SyntaxError} If one is missing of what is under test: the lab ended before it had tried everything.
 */
export function parseLab(text: string): LabCounts {
  const count = (name: string, subjects = SUBJECTS): number => {
    return subjects.reduce((sum, subject) => sum + countOf(text, subject, name), 0);
  };
  return {
    points: count("points"),
    images: count("images"),
    faults: count("faults"),
    wrong: count("wrong"),
    bugs: count("bugs", WITH_BUGS),
    bugsFound: count("bugs-found", WITH_BUGS),
    syncsWasted: count("syncs-wasted", WITH_BUGS),
  };
}

/**
 * The same lines, of each thing under test by itself.
 *
 * @throws {SyntaxError} As {@linkcode parseLab}.
 */
export function parseSubjects(text: string): SubjectCounts[] {
  return SUBJECTS.map((subject) => {
    const count = (name: string): number => countOf(text, subject, name);
    return {
      name: subject,
      runs: count("runs"),
      points: count("points"),
      images: count("images"),
      continued: count("continued"),
      faults: count("faults"),
      tampered: count("tampered"),
      wrong: count("wrong"),
      ...(WITH_BUGS.includes(subject) ? { bugs: { seeded: count("bugs"), found: count("bugs-found") } } : {}),
    };
  });
}

function countOf(text: string, subject: string, name: string): number {
  const found = new RegExp(`^${subject}\\.${name}=(\\d+)$`, "m").exec(text)?.[1];
  if (found !== undefined) return Number(found);
  throw new SyntaxError(`Cannot read what the crash lab printed: it has no line "${subject}.${name}=": ${text}`);
}

/**
 * The rows. Counts have no interval.
 *
 * @param lab What the lab counted.
 * @param kill What came of the kills.
 * @param targets What was asked for.
 */
export function crashRows(lab: LabCounts, kill: KillCounts, targets: CrashTargets): BenchRow[] {
  const row = (name: string, value: number, unit: string, bar: Partial<BenchRow>, note: string): BenchRow => {
    return { name, value, low: null, high: null, unit, ...bar, note };
  };
  const inPlace = Object.entries(kill.inPlace).map(([storage, kills]) => `${kills} ${storage}`).join(", ");
  const images = `${lab.images} images, ${lab.faults} faults`;
  return [
    row("crash/points", lab.points, "points", { atLeast: targets.points }, images),
    row(
      "crash/wrong",
      lab.wrong + kill.wrong.length,
      "cases",
      { atMost: 0 },
      kill.wrong[0] ?? "of points, faults, kills",
    ),
    row("crash/mutants-found", lab.bugsFound / lab.bugs, "ratio", { atLeast: 1 }, `${lab.bugsFound} of ${lab.bugs}`),
    row("crash/wasted-flushes", lab.syncsWasted, "syncs", { atMost: 0 }, "kinds of sync that no crash point needs"),
    row("crash/kills", kill.kills, "processes", { atLeast: targets.kills }, `SIGKILL; with restore points ${inPlace}`),
  ];
}

/** Rows of training beside checkpoints: what they are called and what has to be known. */
const SLOWDOWNS: Readonly<Record<CheckpointPlace, { readonly name: string; readonly what: string }>> = {
  SSDHASH: { name: "checkpoint/slowdown", what: "restore points in SSDHASH below DRAM" },
  PMEM: {
    name: "checkpoint/slowdown-pmem",
    what: "restore points in PMEM over libpmem below DRAM; a file here, no PMEM",
  },
  files: { name: "checkpoint/slowdown-files", what: "checkpoints in files, kind auto; DRAM" },
};

/**
 * Rows of what training loses, by the wall clock and by processor time; restore points at ten minutes, with their bar, files as
 * they were measured.
 */
export function slowdownRows({ slowdowns, steps }: Slowdowns): BenchRow[] {
  return (Object.keys(SLOWDOWNS) as CheckpointPlace[]).flatMap((place) => {
    const pairs = slowdowns[place];
    const { name, what } = SLOWDOWNS[place];
    const wall = pairs.map((pair) => pair.with / pair.without);
    const processor = pairs.map((pair) => pair.withProcessor / pair.withoutProcessor);
    const interval = quantile(pairs.map(({ without }) => without), 0.5);
    const extra = quantile(pairs.map((pair) => pair.with - pair.without), 0.5);
    const measured = `one after each ${steps} steps, which take ${interval.toFixed(2)} s; ${
      (extra * 1e3).toFixed(0)
    } ms more`;
    const beside = "processor time of all threads by that without";
    if (place === "files") {
      return [ratioRow(name, wall, `${what}; ${measured}`), ratioRow(`${name}/processor`, processor, beside)];
    }
    const scaled = (ratios: readonly number[]): number[] =>
      ratios.map((ratio, i) => atTenMinutes(ratio, pairs[i] as IntervalPair));
    const share = (quantile(scaled(wall), 0.5) - 1) * 100;
    const updates = quantile(pairs.map((pair) => pair.updates / pair.rows), 0.5);
    const note =
      `${share.toFixed(2)} % of throughput; ${what}; measured × ${quantile(wall, 0.5).toFixed(3)}, ${measured}, ${
        updates.toFixed(0)
      } updates a row put ` +
      `down: in ten minutes ${TEN_MINUTE_UPDATES.toFixed(0)}`;
    return [
      { ...ratioRow(name, scaled(wall), note), atMost: 1.01 },
      ratioRow(`${name}/processor`, scaled(processor), beside),
    ];
  });
}

/** The row of a delta's bytes. */
export function deltaRow({ full, delta }: DeltaBytes): BenchRow {
  return {
    name: "delta/full",
    value: delta / full,
    low: null,
    high: null,
    unit: "ratio",
    atMost: 1 / 6,
    note: `bytes ${delta} of ${full}; oe-retail's law, ten minutes after an epoch`,
  };
}

/** The row of restores beside dd. */
export function recoveryRow({ restores, restoredBytes }: Restores): BenchRow {
  const speed = (name: string, times: readonly number[]): string =>
    `${name} ${(restoredBytes / quantile(times, 0.5) / 1e6).toFixed(0)} MB/s`;
  const wall = speed("restore", restores.map(({ restore }) => restore));
  const dd = speed("dd", restores.map((each) => each.dd));
  const own = speed("by processor time", restores.map(({ restoreProcessor }) => restoreProcessor));
  const ratios = restores.map((each) => each.dd / each.restore);
  const spread = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)} of ${ratios.length}`;
  return {
    ...ratioRow("recovery/dd", ratios, `${wall}, ${own}; ${dd}; ${spread}; DRAM, page cache dropped`),
    atLeast: 0.5,
  };
}
