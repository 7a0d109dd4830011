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
import { floatingChart, lineChart, percentileChart } from "./line_charts.ts";
import { connect } from "./what_if.ts";
import { barChart, qualityChart, ratioChart, stackedChart, valueChart } from "./charts.ts";

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

function draw(theme: Theme): void {
  for (const chart of drawn) chart.destroy();
  drawn = [];
  drawWhatIf(theme);
  on("value", 340, (canvas) => data.value && valueChart(canvas, data.value, theme, data.whatIf?.sign));
  on("throughput", bars(data.throughput?.length), (canvas) =>
    data.throughput && barChart(
      canvas,
      data.throughput.map((row) => ({ ...row, point: row.rate })),
      "thousand samples/s",
      theme,
    ));
  on("embedding", bars(data.embedding?.length), (canvas) =>
    data.embedding && barChart(
      canvas,
      data.embedding.map((row) => ({ ...row, point: row.time })),
      "milliseconds a step",
      theme,
    ));
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
    "hits",
    bars(data.hits?.length),
    (canvas) =>
      data.hits && barChart(canvas, data.hits.map((row) => ({ ...row, point: row.ratio })), "percent", theme, 100),
  );
  on(
    "percentiles",
    bars(data.percentiles?.length) + 30,
    (canvas) => data.percentiles && percentileChart(canvas, data.percentiles, theme),
  );
  on(
    "traffic",
    bars(data.traffic?.rows.length) + 30,
    (canvas) => data.traffic && stackedChart(canvas, data.traffic, "MB/s", theme),
  );
  on(
    "traffic-limit",
    bars(data.trafficLimit?.rows.length) + 30,
    (canvas) => data.trafficLimit && stackedChart(canvas, data.trafficLimit, "percent of the limit", theme),
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
    on(what, 300, (canvas) => data.quality && qualityChart(canvas, data.quality, what, "samples", theme));
    on(`${what}-seconds`, 300, (canvas) => data.quality && qualityChart(canvas, data.quality, what, "seconds", theme));
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
  canvas.parentElement.style.height = `${height}px`;
  const chart = make(canvas);
  if (chart !== undefined) drawn.push(chart);
}

draw(themed());
dark.addEventListener("change", () => draw(themed()));
let opened: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
  for (const one of opened) one.open = true;
  draw(LIGHT);
});
addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
  draw(themed());
});
