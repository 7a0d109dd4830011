/**
 * Folders of reports to publish. TEST DATA: no machine has measured these figures.
 *
 * @module
 */

import { renderReport } from "../../../reports/html/render.ts";
import type { Result } from "../../../scenarios/record.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";

/** A run of the fixture on a day, its samples `slower` times as slow. */
export function runOn(day: string, slower: number = 1): Result {
  const result = fixtureResult({ samples: 4, steps: 20 });
  const nudge = 1 + Number(day.slice(-2)) * 1e-4;
  return {
    ...result,
    run: { ...result.run, started: `${day}T12:00:00.000Z` },
    samples: result.samples.map((one) => ({
      ...one,
      started: `${day}T12:01:00.000Z`,
      stepNs: one.stepNs.map((ns) => Math.round(ns * nudge * (one.case === "fsdax" ? slower : 1))),
    })),
  };
}

/** Writes reports: three runs of one scenario on one machine, one of another machine, a page that is no report. */
export async function writeReports(folder: string): Promise<void> {
  const other = runOn("2026-11-19");
  const elsewhere = { ...other, run: { ...other.run, machine: { ...other.run.machine, cpu: "Other <CPU>" } } };
  const pages = {
    "a/index.html": renderReport(runOn("2026-11-10")),
    "b/index.html": renderReport(runOn("2026-11-12")),
    "b/c & d/third #1.html": renderReport(runOn("2026-11-14", 1.2)),
    "other.html": renderReport(elsewhere),
    "notes.html": "<!DOCTYPE html><title>notes</title>",
  };
  for (const [path, text] of Object.entries(pages)) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
}
