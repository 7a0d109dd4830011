/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The script of an index page: draws the histories, makes the list sortable. Fetches nothing.
 *
 * @module
 */

import type { Chart } from "chart.js";
import { DARK, LIGHT, type Theme } from "../../html/palette.ts";
import type { Trend } from "../page_data.ts";
import { makeSortable } from "./sortable.ts";
import { trendChart } from "./trend_chart.ts";

const trends = JSON.parse(document.getElementById("trends")?.textContent ?? "[]") as Trend[];
const dark = matchMedia("(prefers-color-scheme: dark)");
let drawn: Chart[] = [];

function draw(theme: Theme): void {
  for (const chart of drawn) chart.destroy();
  drawn = trends.flatMap((trend, i) => {
    const canvas = document.getElementById(`chart-trend-${i}`);
    if (!(canvas instanceof HTMLCanvasElement) || canvas.parentElement === null) return [];
    canvas.parentElement.style.height = "340px";
    return [trendChart(canvas, trend, theme)];
  });
}

for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable")) makeSortable(table);
const themed = (): Theme => dark.matches ? DARK : LIGHT;
draw(themed());
dark.addEventListener("change", () => draw(themed()));
addEventListener("beforeprint", () => draw(LIGHT));
addEventListener("afterprint", () => draw(themed()));
