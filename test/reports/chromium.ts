/**
 * Chromium for tests that open pages.
 *
 * @module
 */

import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

/**
 * Starts Chromium.
 *
 * @throws {Error} if there is none.
 */
export async function browser(): Promise<Browser> {
  for (const path of [Deno.env.get("TIERBENCH_CHROMIUM"), "/usr/bin/chromium"]) {
    if (path === undefined) continue;
    const found = await Deno.stat(path).then((info) => info.isFile, () => false);
    if (found) return await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
  }
  throw new Error("Chromium is missing: install the package chromium, or name it in TIERBENCH_CHROMIUM");
}

/** Pixels by which a page is wider than its window, 0 or below if it is not, once its fonts are there and it was drawn twice. */
export function tooWide(page: Page): Promise<number> {
  return page.evaluate(`document.fonts.ready.then(() => new Promise((tell) => requestAnimationFrame(() =>
    requestAnimationFrame(() => tell(document.documentElement.scrollWidth - innerWidth)))))`) as Promise<number>;
}

/** Share of a canvas's pixels that are drawn, and how many colours they have. */
export function drawn(page: Page, id: string): Promise<{ share: number; colours: number }> {
  return page.evaluate(`(() => {
    const canvas = document.getElementById("chart-${id}");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    let opaque = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 200) continue;
      opaque++;
      colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return { share: opaque / (data.length / 4), colours: colours.size };
  })()`) as Promise<{ share: number; colours: number }>;
}

/** Unfolds everything, as paper does, and draws the charts in it. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
}

/** Words in cells of figures and in their heads that go on in another line. */
export function cutWords(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll("td:not(.words), thead th:not(.words)")].flatMap((cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    const cut = [];
    while (texts.nextNode()) {
      const node = texts.currentNode;
      for (const { 0: word, index } of node.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) cut.push(word);
      }
    }
    return cut;
  })`) as Promise<string[]>;
}

/** How many of axe's rules a page passes, and what violates one. */
export async function accessibility(page: Page): Promise<{ passes: number; violations: string[] }> {
  // The page's own policy forbids further scripts, so axe runs through the debugger.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe.source });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run().then((r) => JSON.stringify({
      passes: r.passes.length,
      violations: r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).slice(0, 3).join(" ")),
    }))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(result.value as string);
}
