/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The script of a report page: draws the charts from the data in the page, again when the theme changes or the page is
 * printed. Fetches nothing.
 *
 * @module
 */

import type { Chart } from "chart.js";
import type { PageData } from "../page_data.ts";
import { DARK, LIGHT, type Theme } from "../palette.ts";
import { floatingChart, lineChart, stepChart } from "./line_charts.ts";
import { connect } from "./what_if.ts";
import { qualityChart, ratioChart, stackedChart, valueChart } from "./charts.ts";

const data = JSON.parse(document.getElementById("chart-data")?.textContent ?? "{}") as PageData;
const dark = matchMedia("(prefers-color-scheme: dark)");
let drawn: Chart[] = [];
let whatIfChart: Chart | undefined;
let whatIfRows = data.whatIf === undefined ? undefined : connect(data.whatIf, (rows) => {
  whatIfRows = rows;
  drawWhatIf(themed());
});

function themed(): Theme {
  return dark.matches ? DARK : LIGHT;
}

/** On paper the first chart leaves its page room for the table. */
function draw(theme: Theme, paper: boolean = false): void {
  for (const chart of drawn) chart.destroy();
  drawn = [];
  drawWhatIf(theme);
  on("value", paper ? 250 : 340, (canvas) => data.value && valueChart(canvas, data.value, theme, data.whatIf?.sign));
  on(
    "phases",
    bars(data.phases?.rows.length) + 30,
    (canvas) => data.phases && stackedChart(canvas, data.phases, "milliseconds a step", theme),
  );
  on(
    "tiers",
    bars(data.tiers?.rows.length) + 30,
    (canvas) => data.tiers && stackedChart(canvas, data.tiers, "MiB", theme),
  );
  on(
    "steps",
    90 + 64 * (data.steps?.length ?? 0),
    (canvas) => data.steps && stepChart(canvas, data.steps, theme),
  );
  for (const [id, floating] of Object.entries(data.more.floating)) {
    on(id, 70 + 44 * floating.rows.length, (canvas) => floatingChart(canvas, floating, theme));
  }
  for (const [id, lines] of Object.entries(data.more.lines)) {
    on(id, 340, (canvas) => lineChart(canvas, lines, theme));
  }
  on(
    "ablation",
    80 + (data.ablation?.labels.length ?? 0) * (14 + 20 * (data.ablation?.groups.length ?? 0)),
    (canvas) => data.ablation && ratioChart(canvas, data.ablation, theme),
  );
  for (const what of ["auc", "logloss"] as const) {
    on(what, 300, (canvas) => data.quality && qualityChart(canvas, data.quality, what, theme));
  }
}

function drawWhatIf(theme: Theme): void {
  whatIfChart?.destroy();
  whatIfChart = undefined;
  on("what-if-value", 340, (canvas) => {
    const rows = whatIfRows;
    if (rows !== undefined && rows.length > 0) whatIfChart = valueChart(canvas, rows, theme, data.whatIf?.sign);
    return undefined;
  });
}

function bars(rows: number | undefined): number {
  return 70 + 46 * (rows ?? 0);
}

function on(id: string, height: number, make: (canvas: HTMLCanvasElement) => Chart | undefined): void {
  const canvas = document.getElementById(`chart-${id}`);
  if (!(canvas instanceof HTMLCanvasElement) || canvas.parentElement === null) return;
  if (!canvas.checkVisibility()) return; // what is folded has no width to draw in
  canvas.parentElement.style.height = `${height}px`;
  const chart = make(canvas);
  if (chart !== undefined) drawn.push(chart);
}

/** Shows the saving that is chosen and hides the others. */
function choose(): void {
  const choice = document.getElementById("claim-choice");
  if (!(choice instanceof HTMLSelectElement)) return;
  document.querySelectorAll<HTMLElement>(".claim").forEach((one, i) => one.hidden = `${i}` !== choice.value);
}

choose();
draw(themed());
dark.addEventListener("change", () => draw(themed()));
/** Draws what came to be seen, once for all that unfolds together. */
let waiting = false;
let printing = false;
function unfolded(): void {
  if (waiting || printing) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw(themed());
  });
}

document.getElementById("claim-choice")?.addEventListener("change", () => {
  choose();
  unfolded();
});
for (const one of document.querySelectorAll("details")) one.addEventListener("toggle", unfolded);
let opened: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  printing = true;
  for (const one of document.querySelectorAll<HTMLElement>(".claim")) one.hidden = false;
  opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
  for (const one of opened) one.open = true;
  draw(LIGHT, true);
});
addEventListener("afterprint", () => {
  printing = false;
  for (const one of opened) one.open = false;
  choose();
  draw(themed());
});
