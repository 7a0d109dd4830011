/**
 * The report page of the crash lab: what was tried of each thing under test, what was found, how each can be told apart again.
 *
 * @module
 */

import { pageHead } from "../../reports/html/page_head.ts";
import { themeCss } from "../../reports/html/palette.ts";
import { type Cell, type Column, header, table } from "../../reports/html/parts.ts";
import sheet from "../../reports/html/style.css" with { type: "text" };
import { html, Markup } from "../../reports/text/markup.ts";
import { type BenchRow, tableRows } from "../rows.ts";
import type { SubjectCounts } from "./rows.ts";

/** What the page shows. */
export interface CrashPage {
  /** When the run began, `2026-11-23 09:00 UTC`. */
  readonly started: string;
  /** The machine, in a few words. */
  readonly machine: string;
  /** What the lab counted. */
  readonly subjects: readonly SubjectCounts[];
  /** All rows of the bench. */
  readonly rows: readonly BenchRow[];
}

/** What is under test, by the names that the lab prints. */
const WORDS: Readonly<Record<string, string>> = {
  "checkpoints": "checkpoints of a model of a store, in files",
  "store": "checkpoints of stores, in files",
  "pmem-fsdax": "a table in PMEM, on fsdax",
  "pmem-file": "a table in PMEM, on another file system",
};

const COUNTS = ["runs", "points", "images", "continued", "faults", "tampered", "wrong"] as const;
const TITLES: Readonly<Record<(typeof COUNTS)[number], string>> = {
  runs: "runs",
  points: "crash points tried",
  images: "images built",
  continued: "gone on from",
  faults: "faults injected",
  tampered: "folders tampered with",
  wrong: "wrong",
};

const number = (value: number): string => value.toLocaleString("en");

function labTable(subjects: readonly SubjectCounts[]): Markup {
  const columns: Column[] = [
    { title: "under test" },
    ...COUNTS.map((count) => ({ title: TITLES[count] })),
    { title: "seeded bugs found" },
  ];
  const bugs = (some: readonly SubjectCounts[]): string => {
    const counted = some.flatMap((one) => one.bugs ?? []);
    const sum = (of: "seeded" | "found"): number => counted.reduce((all, one) => all + one[of], 0);
    return counted.length === 0 ? "–" : `${sum("found")} of ${sum("seeded")}`;
  };
  const line = (name: string, some: readonly SubjectCounts[]): Cell[] => [
    name,
    ...COUNTS.map((count) => number(some.reduce((sum, one) => sum + one[count], 0))),
    bugs(some),
  ];
  const name = (one: SubjectCounts): string =>
    WORDS[one.name] ??
      `stores with restore points: ${one.name.replace(/^points-/, "").replaceAll("-", "_").toUpperCase()}`;
  return table("What the crash lab tried", columns, [
    ...subjects.map((one) => line(name(one), [one])),
    line("all of them", subjects),
  ]);
}

function rowTable(rows: readonly BenchRow[]): Markup {
  const [head = [], ...lines] = tableRows(rows);
  const columns = head.map((title, i) => ({ title: i === 4 ? "verdict" : title, words: i > 2 }));
  return table("Rows and bars", columns, lines);
}

/** Renders the page: one file that fetches nothing. */
export function crashPage({ started, machine, subjects, rows }: CrashPage): string {
  const style = new Markup(themeCss() + sheet);
  const about =
    "A disk that is crashed at every operation: images of what a crash can leave are opened, and must be a state that " +
    "was committed, none older than the last one that was acknowledged.";
  const page = html`
    <!DOCTYPE html>
    <html lang="en">
      ${pageHead({ title: "tierbench crash lab", style })}
      <body>
        ${header("report", { name: "Crash lab", about }, [["run", started], ["machine", machine]])}
        <main>
          <section aria-labelledby="lab"><h2 id="lab">What was tried</h2>
            <p class="note">At each crash point up to eight images are built, with what was not made durable kept, lost, torn, or
            reordered as disks and file systems may. A fault is an error, a full disk, a short write, or a sync that lies. Seeded bugs
            and syncs left out are counted once where several things under test share them.</p>
            ${labTable(subjects)}
          </section>
          <section aria-labelledby="rows"><h2 id="rows">Rows</h2>
            <p class="note">Counts have no interval; those of ratios are 95 % bootstrap intervals of the median.</p>
            ${rowTable(rows)}
          </section>
          <section aria-labelledby="own"><h2 id="own">Your own store</h2>
            <p>A store under test is named by a <code>lab_subject</code>, a struct of functions that run a workload on the lab's disk and say
            what a disk holds: docs/crash-lab.md, native/test/crash/lab.h.</p>
          </section>
        </main>
      </body>
    </html>
  `;
  return page.text;
}
