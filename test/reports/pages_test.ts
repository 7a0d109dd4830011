/**
 * Every kind of page as people see it: in both themes, on a phone, on paper. None scrolls sideways, axe has nothing to say, the
 * first printed page carries the answer, and the default report and a simulation are short.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import "../native_library.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { ask } from "../../models/planning/ask/ask.ts";
import { loadPlan } from "../../models/planning/load.ts";
import { loadSimulation } from "../../models/simulation/load.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { LiveRun } from "../../cli/ui/live.ts";
import { RunMetrics } from "../../scenarios/run/run_metrics.ts";
import { renderCalibration } from "../../reports/calibration/page.ts";
import { renderAsk } from "../../reports/ask/page.ts";
import { renderContribution } from "../../reports/contribution/page.ts";
import { publishReports } from "../../reports/publish/publish.ts";
import { renderReport, renderSimulation } from "../../reports/report.ts";
import { contributionOf } from "../../scenarios/contribution/contribution.ts";
import { assert, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { EVENTS } from "../fixtures/run_events.ts";
import { ADA } from "../scenarios/contribution/machines.ts";
import { accessibility, browser, tooWide, unfold } from "./chromium.ts";
import { writeReports } from "./publish/reports.ts";

/** A sheet of A4 within margins of 12 mm at the sides, 14 mm above and below, in CSS pixels (96 an inch). */
const PAPER = { width: 703, height: 1017 } as const;
/** Words that a reader meets before unfolding anything. */
const MOST_WORDS = 2000;

const DEFAULT = fixtureResult({ failed: true, work: true, curve: true, models: true });
const scenario = (name: string): string => new URL(`../../scenarios/${name}`, import.meta.url).pathname;

const LOADED = [
  { threads: 1, bytesPerSecond: 0.8e9, ns: 80, low: 64, high: 100, modelNs: 81 },
  { threads: 4, bytesPerSecond: 20e9, ns: 200, low: 180, high: 240, modelNs: 210 },
];

/** Writes a page of each kind and says where. */
async function writePages(folder: string): Promise<Readonly<Record<string, string>>> {
  const simulation = await runSimulation({
    ...await loadSimulation(scenario("terabyte.jsonc")),
    steps: 1,
    warmup: 0,
    explain: [],
    published: [],
  });
  const plan = await ask(await loadPlan(scenario("plans/retail.jsonc")), defaultPriceBook(), { turns: false });
  const measured = { ...DEFAULT, samples: DEFAULT.samples.map((one) => ({ ...one, evidence: "measured" as const })) };
  const contribution = await contributionOf(measured, { answers: {}, notes: ["cold"] }, ADA);
  const pages = {
    run: renderReport(DEFAULT),
    simulation: renderSimulation(simulation),
    plan: renderAsk(plan, { plan: "{}", command: "tierbench ask plan.jsonc", version: "0" }),
    contribution: renderContribution(contribution),
    calibration: renderCalibration({ name: "node0", readBandwidth: 20e9, loaded: LOADED }, {
      date: "2026-11-24",
      cpu: "A processor whose name is as long as names of processors are (R) 9999X 2.40GHz",
      virtual: true,
      quick: true,
      command: "tierbench calibrate --out a-file-with-a-rather-long-name-in-some-folder.json",
    }),
  };
  const paths: Record<string, string> = {};
  for (const [name, text] of Object.entries(pages)) {
    paths[name] = join(folder, `${name}.html`);
    await Deno.writeTextFile(paths[name], text);
  }
  await writeReports(join(folder, "in"));
  paths["index"] = (await publishReports(join(folder, "in"), { out: join(folder, "site") })).index;
  return paths;
}

/** Opens a page; whoever calls closes its context. */
async function opened(
  running: Browser,
  path: string,
  of: { readonly colorScheme: "light" | "dark"; readonly width: number; readonly height: number },
): Promise<Page> {
  const { colorScheme, ...viewport } = of;
  const page = await (await running.newContext({ colorScheme, viewport })).newPage();
  const served = path.startsWith("http:");
  await page.goto(served ? path : pathToFileURL(path).href);
  if (served) await page.waitForSelector("#said li"); // it has been told what happened
  return page;
}

/** Whether a table that is wider than its place shows that it scrolls: a shadow, and the keyboard reaches it. */
const UNMARKED = `[...document.querySelectorAll(".scroll")].filter((one) =>
  one.checkVisibility() && one.scrollWidth > one.clientWidth &&
  (one.tabIndex < 0 || !getComputedStyle(one).backgroundImage.includes("gradient"))).map((one) => one.ariaLabel)`;

const BOTTOMS =
  `["header h1", ".headline", ".first canvas, .first svg, .first .ways", ".first tbody tr:last-child"].map((what) => {
  const found = document.querySelector(what);
  return [what, found === null ? -1 : found.getBoundingClientRect().bottom + scrollY];
})`;

Deno.test({
  name: "pages of every kind as people see them",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const running = await browser();
    const folder = await Deno.makeTempDir();
    try {
      await using live = new LiveRun(0, new RunMetrics());
      for (const event of EVENTS) live.show(event);
      const paths = { ...await writePages(folder), live: live.url } as Readonly<Record<string, string>>;
      for (const [name, path] of Object.entries(paths)) {
        for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 390]] as const) {
          await t.step(`${name}, ${colorScheme}, ${width} pixels: no sideways scroll, axe is content`, async () => {
            const page = await opened(running, path, { colorScheme, width, height: 844 });
            for (const when of ["folded", "unfolded"]) {
              assert(await tooWide(page) <= 0, `${when}: ${await tooWide(page)} pixels too wide`);
              assertEquals(await page.evaluate(UNMARKED), [], `${when}: tables that scroll and do not show it`);
              assertEquals((await accessibility(page)).violations, [], when);
              await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
              await unfold(page);
            }
            await page.context().close();
          });
        }

        await t.step(`${name}, paper: nothing is wider than the sheet`, async () => {
          const page = await opened(running, path, { colorScheme: "dark", ...PAPER });
          await unfold(page);
          await page.emulateMedia({ media: "print" });
          assert(await tooWide(page) <= 0, `${await tooWide(page)} pixels too wide`);
          assertEquals((await accessibility(page)).violations, []);
          await page.context().close();
        });
      }

      for (const name of ["run", "contribution", "simulation", "plan"]) {
        await t.step(`${name}: the first printed page carries verdict, chart and table`, async () => {
          const page = await opened(running, paths[name] as string, { colorScheme: "light", ...PAPER });
          await unfold(page);
          await page.emulateMedia({ media: "print" });
          const bottoms = await page.evaluate(BOTTOMS) as [string, number][];
          assertEquals(bottoms.filter(([, bottom]) => bottom <= 0 || bottom > PAPER.height), []);
          await page.context().close();
        });
      }

      await t.step("run, 390 pixels: cost and speed of every case can be seen without scrolling sideways", async () => {
        const page = await opened(running, paths["run"] as string, { colorScheme: "light", width: 390, height: 844 });
        const seen = await page.evaluate(`(() => {
          const rows = [...document.querySelectorAll(".first .cards tbody tr")];
          const chart = document.querySelector(".first canvas").getBoundingClientRect().top;
          return rows.map((row) => ["$ per million samples", "cost against DRAM", "samples/s", "speed against DRAM"].map((label) => {
            const box = row.querySelector('[data-label="' + label + '"]').getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth && box.height > 0 && box.bottom < chart;
          }));
        })()`) as boolean[][];
        assertEquals(seen, seen.map(() => [true, true, true, true]));
        assert(seen.length > 1, `${seen.length} cases`);
        await page.context().close();
      });

      await t.step("the default report is short, and everything else is one step away", async () => {
        for (const name of ["run", "simulation"]) {
          const page = await opened(running, paths[name] as string, { colorScheme: "light", width: 1280, height: 900 });
          const words = (): Promise<number> =>
            page.evaluate("document.body.innerText.split(/\\s+/).filter(Boolean).length") as Promise<number>;
          const folded = await words();
          assert(folded > 500 && folded <= MOST_WORDS, `${name}: ${folded} words`);
          await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
          assert(await words() > 2 * folded, `${name}: ${folded} words folded, ${await words()} in all`);
          await page.context().close();
        }
      });
    } finally {
      await running.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
