/**
 * Opens the index page in Chromium, as a reader would: from disk, in both themes, on a phone, without a script.
 */

import { pathToFileURL } from "node:url";
import { publishReports } from "../../../reports/publish/publish.ts";
import { assert, assertEquals } from "../../assert.ts";
import { accessibility, browser, drawn, tooWide } from "../chromium.ts";
import { writeReports } from "./reports.ts";

Deno.test({
  name: "the index page in Chromium",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const running = await browser();
    const folder = await Deno.makeTempDir();
    try {
      await writeReports(`${folder}/in`);
      await Deno.writeTextFile(
        `${folder}/in/bad.html`,
        (await Deno.readTextFile(`${folder}/in/other.html`)).replace('"threads":2', '"threads":3'),
      );
      const { index } = await publishReports(`${folder}/in`, { out: `${folder}/site` });
      const url = pathToFileURL(index).href;
      const { size } = await Deno.stat(index);
      assert(size < 400_000, `${size} bytes`);
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
            const { share, colours } = await drawn(page, "trend-0");
            assert(share > 0.005 && colours > 3, `${share} of the pixels, ${colours} colours`);
            assertEquals(said, []);
            assertEquals(requests.filter((one) => !one.startsWith("data:")), [url]);
            const overflow = await tooWide(page);
            assert(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
            await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
            const { passes, violations } = await accessibility(page);
            assertEquals(violations, []);
            assert(passes > 15, `axe looked at ${passes} rules only`);
            const shots = Deno.env.get("TIERBENCH_SHOTS");
            if (shots !== undefined) {
              await page.screenshot({ path: `${shots}/index-${theme}-${width}.png`, fullPage: true });
            }
            await context.close();
          },
        );
      }

      await t.step("sorts by a column, by keyboard, up and down", async () => {
        const page = await running.newPage();
        await page.goto(url);
        const runs = (): Promise<string[]> =>
          page.evaluate(
            "[...document.querySelectorAll('.sortable tbody tr')].map((r) => r.cells[2].textContent.trim())",
          );
        const days = ["19", "14", "12", "10"].map((day) => `2026-11-${day} 12:00`);
        assertEquals(await runs(), days);
        await page.focus(".sortable th:nth-child(3) button");
        await page.keyboard.press("Enter");
        assertEquals(await runs(), days.toReversed());
        await page.keyboard.press("Enter");
        assertEquals(await runs(), days);
        assertEquals(await page.getAttribute(".sortable th:nth-child(3)", "aria-sort"), "descending");
        await page.close();
      });

      await t.step("without a script the list is there all the same, and its links open the reports", async () => {
        const context = await running.newContext({ javaScriptEnabled: false });
        const page = await context.newPage();
        await page.goto(url);
        assertEquals(await page.locator(".sortable tbody tr").count(), 4);
        await page.locator(".sortable tbody a").nth(1).click();
        assertEquals(await page.title(), "pmem-modes: tierbench report");
        await context.close();
      });

      await t.step("the badge is a picture with a name", async () => {
        const page = await running.newPage();
        await page.goto(pathToFileURL(`${folder}/site/badge.svg`).href);
        const label = await page.getAttribute("svg", "aria-label");
        assert(label?.startsWith("tierbench: fsdax "), label ?? "none");
        await page.close();
      });
    } finally {
      await running.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
