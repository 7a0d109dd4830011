/** The what-if in Chromium: its figures are those of the modules, by slider, keyboard and address, on screen and paper. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { colours } from "../../../reports/html/page_data.ts";
import { renderReport } from "../../../reports/report.ts";
import { seededRandom } from "../../../reports/statistics/random.ts";
import { summarise } from "../../../reports/summary/summary.ts";
import { hashOf } from "../../../reports/what_if/address.ts";
import { type WhatIfBase, whatIfBase } from "../../../reports/what_if/base.ts";
import { knobsOf, PLACES, valueAt } from "../../../reports/what_if/knobs.ts";
import { whatIf } from "../../../reports/what_if/what_if.ts";
import { whatIfRows } from "../../../reports/what_if/words.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { browser, unfold } from "../chromium.ts";

const result = fixtureResult({ work: true, curve: true });
const summary = summarise(result);
const base = whatIfBase(summary, colours(summary.cases)) as WhatIfBase;
const knobs = knobsOf(base);

/** The figures of the page, row by row. */
function shown(page: Page): Promise<string[][]> {
  return page.evaluate(`[...document.querySelectorAll("#what-if-table tbody tr")].map((row) =>
    [...row.children].slice(1).map((cell) => cell.textContent))`);
}

function computed(state: Parameters<typeof whatIf>[1]): string[][] {
  return whatIfRows(whatIf(base, state)).map(([, ...cells]) => cells);
}

Deno.test({
  name: "the what-if in Chromium",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const running = await browser();
    const directory = await Deno.makeTempDir();
    const path = join(directory, "index.html");
    const url = pathToFileURL(path).href;
    await Deno.writeTextFile(path, renderReport(result));
    const page = await running.newPage();
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(`${error}`));
    try {
      await t.step("begins with the report's figures", async () => {
        await page.goto(url);
        await unfold(page);
        assertEquals(await shown(page), computed({}));
      });

      await t.step("sliders at random places give the figures of the modules", async () => {
        const random = seededRandom("sliders");
        for (let round = 0; round < 12; round++) {
          const state: Record<string, number | string> = {};
          const places = knobs.map((knob, i) => {
            if (random() < 0.4) return null;
            if (knob.kind === "choice") {
              const { value } = knob.options[Math.floor(random() * knob.options.length)] as { value: string };
              if (value !== knob.value) state[knob.id] = value;
              return { i, value };
            }
            const place = Math.floor(random() * (PLACES + 1));
            const value = valueAt(knob, place);
            if (value !== knob.value) state[knob.id] = value;
            return { i, value: `${place}` };
          }).filter((one) => one !== null);
          await page.click("#what-if-reset");
          await page.evaluate((all) => {
            for (const { i, value } of all) {
              // deno-lint-ignore no-explicit-any
              const field = (globalThis as any).document.getElementById(`knob-${i}`);
              field.value = value;
              field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input"));
            }
          }, places);
          assertEquals(await shown(page), computed(state), JSON.stringify(state));
        }
      });

      await t.step("the address holds the state, and gives it back", async () => {
        const state = { size: 3000, boundary: "workers" };
        await page.goto("about:blank");
        await page.goto(url + hashOf(state));
        assertEquals(await shown(page), computed(state));
        assert(await page.isVisible("[data-knob=size]"), "an address unfolds the fields");
        assertEquals(await page.inputValue("[data-knob=size] input[type=number]"), "3000");
        await page.fill("[data-knob=worker] input[type=number]", "9");
        assert(page.url().endsWith("#what-if?size=3000&boundary=workers&worker=9"), page.url());
        assertEquals(await shown(page), computed({ ...state, worker: 9 }));
        await page.evaluate("location.hash = '#what-if?size=700'");
        await page.waitForFunction("document.querySelector('[data-knob=size] input[type=number]').value === '700'");
        assertEquals(await shown(page), computed({ size: 700 }));
      });

      await t.step("a bad address is named and ignored", async () => {
        await page.goto("about:blank");
        await page.goto(`${url}#what-if?size=-4&nothing=1`);
        assertEquals(await shown(page), computed({}));
        assertStringIncludes(await page.textContent("#what-if-changes") ?? "", "size=-4, nothing=1");
      });

      await t.step("keyboard: arrows, Home and End move a slider, reset brings the report back", async () => {
        await page.goto("about:blank");
        await page.goto(url);
        await unfold(page);
        const size = knobs.findIndex(({ id }) => id === "size");
        const knob = knobs[size];
        assert(knob?.kind === "number");
        await page.focus(`#knob-${size}`);
        await page.keyboard.press("End");
        assertEquals(await shown(page), computed({ size: knob.max }));
        await page.keyboard.press("ArrowLeft");
        assertEquals(await shown(page), computed({ size: valueAt(knob, PLACES - 1) }));
        await page.keyboard.press("Home");
        assertEquals(await shown(page), computed({ size: knob.min }));
        await page.keyboard.press("Tab");
        assertEquals(await page.evaluate("document.activeElement.type"), "number");
        await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
        assertEquals(await shown(page), computed({}));
        assertEquals(await page.evaluate("document.activeElement.id"), `knob-${size}`);
      });

      await t.step("a number that cannot be is marked and changes nothing", async () => {
        await page.fill("[data-knob=size] input[type=number]", "-1");
        assertEquals(await page.getAttribute("[data-knob=size] input[type=number]", "aria-invalid"), "true");
        assertEquals(await shown(page), computed({}));
      });

      await t.step("the chart follows, and paper shows what was changed", async () => {
        const picture = (): Promise<string> =>
          page.evaluate("document.getElementById('chart-what-if-value').toDataURL()") as Promise<string>;
        const before = await picture();
        await page.fill("[data-knob=size] input[type=number]", "9000");
        assert(await picture() !== before, "the chart stayed as it was");
        await page.emulateMedia({ media: "print" });
        assert(await page.isVisible("#what-if-changes"));
        assertStringIncludes(await page.textContent("#what-if-changes") ?? "", "Model size 9,000 GB of rows");
        assert(!await page.isVisible(".knobs"));
        await page.emulateMedia({ media: "screen" });
      });
      assertEquals(said, []);
    } finally {
      await running.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
