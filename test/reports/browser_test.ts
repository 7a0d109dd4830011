/**
 * Opens the report in Chromium, as a reader would: from disk, in both themes, on a phone and on paper.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { renderReport } from "../../reports/report.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertEquals } from "../assert.ts";
import { accessibility, browser, drawn, tooWide, unfold } from "./chromium.ts";
import { EDGE_CASES } from "./edge_cases.ts";

const CHARTS = [
  "miss-curve",
  "model-bands",
  "steps",
  "course",
  "waterfall-0",
  "tornado-0",
  "break-even",
  "what-if-value",
  "value",
  "phases",
  "tiers",
  "auc",
];

Deno.test({
  name: "the report in Chromium",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const running = await browser();
    const directory = await Deno.makeTempDir();
    const path = join(directory, "index.html");
    const url = pathToFileURL(path).href;
    await Deno.writeTextFile(
      path,
      renderReport(fixtureResult({ failed: true, work: true, curve: true, models: true })),
    );
    try {
      for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 375]] as const) {
        await t.step(
          `${theme}, ${width} pixels wide: draws, fetches nothing, logs nothing, is accessible`,
          async () => {
            const context = await running.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
            const page = await context.newPage();
            const said: string[] = [];
            const requests: string[] = [];
            page.on("console", (message) => said.push(message.text()));
            page.on("pageerror", (error) => said.push(`${error}`));
            page.on("request", (request) => requests.push(request.url()));
            await page.goto(url);
            await unfold(page);
            for (const id of CHARTS) {
              const { share, colours } = await drawn(page, id);
              assert(share > 0.005 && colours > 3, `chart "${id}": ${share} of the pixels, ${colours} colours`);
            }
            assertEquals(said, []);
            assertEquals(requests.filter((one) => !one.startsWith("data:")), [url]);
            const overflow = await tooWide(page);
            assert(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
            const { passes, violations } = await accessibility(page);
            assertEquals(violations, []);
            assert(passes > 20, `axe looked at ${passes} rules only`);
            await context.close();
          },
        );
      }

      await t.step("redraws when the theme changes", async () => {
        const page = await running.newPage({ colorScheme: "light" });
        await page.goto(url);
        const picture = (): Promise<string> =>
          page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => " +
              "done(document.getElementById('chart-value').toDataURL())))",
          ) as Promise<string>;
        /** Looks at most 100 frames for a picture that fits. */
        const appears = async (fits: (now: string) => boolean): Promise<boolean> => {
          for (let frame = 0; frame < 100; frame++) if (fits(await picture())) return true;
          return false;
        };
        const light = await picture();
        await page.emulateMedia({ colorScheme: "dark" });
        assert(await appears((now) => now !== light), "the charts stayed light");
        await page.emulateMedia({ colorScheme: "light" });
        assert(await appears((now) => now === light), "the charts did not turn light again");
        await page.close();
      });

      await t.step("a changed script does not run", async () => {
        const tampered = join(directory, "tampered.html");
        const page = await running.newPage();
        const text = await Deno.readTextFile(path);
        await Deno.writeTextFile(tampered, text.replace("<script>", "<script>document.title='owned';"));
        await page.goto(pathToFileURL(tampered).href);
        assert(await page.title() !== "owned");
        await page.close();
      });

      await t.step("a link leads to its section by keyboard", async () => {
        const page = await running.newPage();
        await page.goto(url);
        for (const id of ["change", "time", "sure", "embedding-work"]) {
          await page.focus(`a[href="#${id}"]`);
          await page.keyboard.press("Enter");
          const at = await page.evaluate(
            `({ focused: document.activeElement.id, top: document.getElementById("${id}").getBoundingClientRect().top })`,
          ) as { focused: string; top: number };
          assertEquals(at.focused, id);
          assert(at.top >= 0 && at.top < 900, `"${id}" is at ${at.top}`);
        }
        await page.close();
      });

      await t.step("results at the edge open without complaint, and every chart of theirs is drawn", async () => {
        const page = await running.newPage({ viewport: { width: 390, height: 844 } });
        const said: string[] = [];
        page.on("console", (message) => said.push(message.text()));
        page.on("pageerror", (error) => said.push(`${error}`));
        const edge = join(directory, "edge.html");
        for (const [name, make] of Object.entries(EDGE_CASES)) {
          const text = renderReport(make());
          await Deno.writeTextFile(edge, text);
          await page.goto(pathToFileURL(edge).href);
          const overflow = await tooWide(page);
          assert(overflow <= 0, `${name}: ${overflow} pixels wider than a phone`);
          await unfold(page);
          for (const [, id] of text.matchAll(/<canvas id="chart-([^"]+)"/g)) {
            const { share, colours } = await drawn(page, id as string);
            assert(share > 0.005 && colours > 3, `${name}: chart "${id}": ${share} of the pixels, ${colours} colours`);
          }
          assertEquals(said, [], name);
        }
        await page.close();
      });
    } finally {
      await running.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
