/** The page of an answer: what it says, and how it is in Chromium, in both themes, on a phone and on paper. */

import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import "../../native_library.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { pricesAsOf, withOwnPrices } from "../../../models/costs/price_book.ts";
import type { AskMedium } from "../../../models/planning/ask/candidates.ts";
import { ask } from "../../../models/planning/ask/ask.ts";
import {
  deviceCapacities,
  planFileText,
  planOfQuestion,
  tableOfRows,
  withMedium,
} from "../../../models/planning/ask/question.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { renderAsk } from "../../../reports/ask/page.ts";
import { askJson, askText } from "../../../reports/ask/text.ts";
import { headline, sentences } from "../../../reports/ask/words.ts";
import { writeAsk } from "../../../reports/ask/write.ts";
import { checkPage } from "../../../reports/capsule/seal.ts";
import { collectReports } from "../../../reports/publish/collect.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { accessibility, browser, tooWide } from "../chromium.ts";

const book = defaultPriceBook();
const capacities = await deviceCapacities();
/**
 * A drive of the user's, of which nothing was compared: that it is the shipped one says nobody. Its path, which the page
 * tells, is a word wider than a phone.
 */
const FOLDER = await Deno.makeTempDir({ prefix: "a_folder_whose_name_is_longer_than_the_screen_of_a_phone_is_wide_" });
const DRIVE = join(FOLDER, "nvme-tlc.jsonc");
await Deno.copyFile(fileURLToPath(new URL("../../../models/media/nvme-tlc.jsonc", import.meta.url)), DRIVE);
globalThis.addEventListener("unload", () => Deno.removeSync(FOLDER, { recursive: true }));
const about = (among: readonly AskMedium[]) => ({
  about: 'Asked of "<us>" & more',
  ...withMedium(
    planOfQuestion(
      {
        name: "Where do 2 TB live",
        tables: { ids: tableOfRows({ rows: "2TB", dim: 64, optimizer: "adagrad", lookups: 26, profile: { s: 0.9 } }) },
        target: { samplesPerSecond: 500_000 },
        among,
        batch: 4096,
        workers: 8,
        computeMs: 10,
        trainers: "AWS p4d.24xlarge",
        workersPerHost: 8,
        prices: "2026-11",
        providers: [],
      },
      pricesAsOf(book, "2026-11"),
      capacities,
    ),
    "nvme-tlc",
    DRIVE,
  ),
});
const textOf = (among: readonly AskMedium[]): string =>
  planFileText(about(among), { about: "a test </script>", schema: "x" });
const text = textOf(["dram", "cxl", "nvme"]);
const file = parsePlan(text, { file: "t.jsonc", directory: "." });
const simple = parsePlan(textOf(["dram"]), { file: "t.jsonc", directory: "." });
const asked = await ask(file, book);
const made = { plan: text, command: "tierbench ask plan.jsonc", version: "0" };
const bill = (asked.answer.best?.billPerHour ?? 0) * 730;

Deno.test("the first sentence of an answer begins with the whole bill, and says what must be measured where that can turn it", () => {
  const first = headline(asked);
  assertStringIncludes(first, "$ a month, the whole bill, leads: 2.00 TB of rows in DRAM alone");
  const said = Number(/^([\d,]+)/.exec(first)?.[1]?.replaceAll(",", ""));
  assert(Math.abs(said / bill - 1) < 5e-3, `${said}, ${bill}`);
  assertStringIncludes(first, "cannot be told before nvme-tlc is measured");
  const more = sentences(asked).join("\n");
  assertStringIncludes(more, "no public price of CXL memory; at most ");
  assertStringIncludes(more, "What trains (1 × p4d.24xlarge) is 9");
  assertStringIncludes(more, "Planner and virtual time are apart by 0.1");
});

Deno.test("page, terminal and JSON have the same figures; the page is sealed, escapes, and is no report to publish", async () => {
  const page = renderAsk(asked, made);
  const terminal = askText(asked, 100);
  const json = JSON.parse(askJson(asked, "USD"));
  assertEquals(json.headline, headline(asked));
  assertEquals(json.ways.map(({ name }: { name: string }) => name), asked.ways.map(({ name }) => name));
  assertEquals(json.ways[0].billPerHour, asked.answer.best?.billPerHour);
  const unpriced = json.ways.find(({ name }: { name: string }) => name === "DRAM + CXL");
  assert(unpriced.billPerHour === undefined && unpriced.win.perGB.bought > 0, "no price, no amounts");
  for (const one of [terminal.replaceAll(/\s+/g, " "), page]) {
    assertStringIncludes(one, "$ a month, the whole bill, leads");
  }
  for (const needed of ["The bill by component", "What would turn it around", "calibrate --drive"]) {
    assertStringIncludes(page, needed);
  }
  assert(!page.includes('"<us>"') && !page.includes("a test </script>"), "text is escaped");
  assertEquals(checkPage(page).damage, []);
  assertEquals(checkPage(page.replace("whole bill", "half bill")).damage.length > 0, true);
  const directory = await Deno.makeTempDir();
  await writeAsk(asked, join(directory, "one"), made, "USD");
  const found = await collectReports(directory);
  assertEquals([found.reports.length, found.simulations.length, found.unreadable.length], [0, 0, 0]);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("in euros no sentence, table or chart has a dollar; without trainers the bill says where it ends", async () => {
  const rate = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n" +
    "USD per EUR,,,1.25,,,ratio,,2026-01,2026-11,not stated,a test,V,\n";
  const euros = await ask(simple, withOwnPrices(book, [{ name: "r.csv", text: rate }]), {
    currency: "EUR",
    turns: false,
  });
  const page = renderAsk(euros, made);
  assert(!page.slice(0, page.indexOf("The plan file")).includes(" $"), "a dollar");
  assert(Math.abs((euros.answer.best?.billPerHour ?? 0) * 1.25 * 730 / bill - 1) < 1e-9);
  const alone = await ask(simple, book, { serversAlone: true, turns: false });
  assertStringIncludes(headline(alone), "the machines that hold the tables alone, is the least: ");
  const { cost: _, ...untold } = simple;
  assertStringIncludes(
    renderAsk(await ask(untold, book, { turns: false }), made),
    "cost.trainers does not say what it is",
  );
});

Deno.test({
  name: "the page of an answer in Chromium",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const running = await browser();
    const directory = await Deno.makeTempDir();
    const { html } = await writeAsk(asked, directory, made, "USD");
    const url = pathToFileURL(html).href;
    try {
      for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 390]] as const) {
        const context = await running.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
        const page = await context.newPage();
        const said: string[] = [];
        const requests: string[] = [];
        page.on("console", (message) => said.push(message.text()));
        page.on("pageerror", (error) => said.push(`${error}`));
        page.on("request", (request) => requests.push(request.url()));
        await page.goto(url);
        assertEquals(said, []);
        assertEquals(requests.filter((one) => !one.startsWith("data:")), [url]);
        const overflow = await tooWide(page);
        assert(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
        await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
        const bars = await page.evaluate(
          "[...document.querySelectorAll('.ways rect')].filter((one) => getComputedStyle(one).fill !== 'rgb(0, 0, 0)' && one.getBoundingClientRect().width > 1).length",
        ) as number;
        assert(bars >= 6, `${bars} parts of bars are seen`);
        const { passes, violations } = await accessibility(page);
        assertEquals(violations, []);
        assert(passes > 15, `axe looked at ${passes} rules only`);
        await context.close();
      }
      // A4 with margins of a centimetre: 718 × 1047 CSS pixels.
      const paper = await running.newPage({ viewport: { width: 718, height: 1047 } });
      await paper.goto(url);
      await paper.emulateMedia({ media: "print" });
      const end = await paper.evaluate(
        "document.querySelector('#answer table').getBoundingClientRect().bottom",
      ) as number;
      assert(end < 1047, `answer, chart and table end ${end} pixels down, past the first sheet`);
    } finally {
      await running.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
