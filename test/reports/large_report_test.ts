/** A large report in Chromium: 20 cases of 30 samples open without complaint, and paper shows every part. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { renderReport } from "../../reports/report.ts";
import { assert, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { browser } from "./chromium.ts";

Deno.test({
  name: "a report of 20 cases and 30 samples each: size, opening, paper",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const text = renderReport(
      fixtureResult({ samples: 30, steps: 40, batches: [256, 512, 1024, 2048, 4096], work: true }),
    );
    const bare = text.replace(/<script type="[^"]*" id="(result|prices|capsule)"[\s\S]*?<\/script>/g, "");
    assert(new TextEncoder().encode(bare).length < 1e6, `${bare.length} characters without data`);
    const directory = await Deno.makeTempDir();
    const running = await browser();
    try {
      const path = join(directory, "large.html");
      await Deno.writeTextFile(path, text);
      const page = await running.newPage();
      const said: string[] = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(`${error}`));
      await page.goto(pathToFileURL(path).href);
      const took = await page.evaluate("Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)");
      console.log(`opened in ${took} ms, ${text.length} characters, ${bare.length} of them no data`);
      assertEquals(said, []);
      await page.emulateMedia({ media: "print" });
      const lost = await page.evaluate(`(() => {
        const hidden = (one) => !one.checkVisibility() || one.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
        const sections = [...document.querySelectorAll("main section")].filter(hidden).map((one) => one.textContent.slice(0, 40));
        const tables = [...document.querySelectorAll("table")].filter(hidden).map((one) => one.caption.textContent);
        return [...sections, ...tables];
      })()`);
      assertEquals(lost, []);
    } finally {
      await running.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
