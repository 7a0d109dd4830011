/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/**
 * The charts of a report. Only the parts of Chart.js that they use are registered, which keeps the page small.
 *
 * @module
 */

import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartOptions,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from "chart.js";
import {
  BarWithErrorBar,
  BarWithErrorBarsController,
  PointWithErrorBar,
  ScatterWithErrorBarsController,
} from "chartjs-chart-error-bars";
import type { Marked, PageData, Point, Stacked } from "../page_data.ts";
import type { Theme } from "../palette.ts";
import { fill, pointLabels, rowLabels, SHAPES } from "./marks.ts";

Chart.register(
  BarController,
  BarElement,
  BarWithErrorBar,
  BarWithErrorBarsController,
  CategoryScale,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  PointWithErrorBar,
  ScatterWithErrorBarsController,
  Tooltip,
);
Chart.defaults.font.family = "system-ui, sans-serif";
Chart.defaults.font.size = 12;
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

const THREE = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

function colourOf(index: number, theme: Theme): string {
  return theme.series[index % theme.series.length] as string;
}

interface AxisOptions {
  readonly grid: { readonly color: string; readonly drawTicks: boolean };
  readonly border: { readonly display: boolean };
  readonly ticks: { readonly color: string; readonly maxTicksLimit: number; readonly padding: number };
  readonly title: { readonly display: boolean; readonly text: string; readonly color: string };
}

function axis(title: string, theme: Theme, lines: boolean = true): AxisOptions {
  return {
    grid: { color: lines ? theme.line : "transparent", drawTicks: false },
    border: { display: false },
    ticks: { color: lines ? theme.muted : theme.text, maxTicksLimit: lines ? 9 : 40, padding: 8 },
    title: { display: title !== "", text: title, color: theme.muted },
  };
}

function interval(point: Point, unit: string): string {
  const [value, low, high] = [point.value, point.low, point.high].map((v) => THREE.format(v));
  return point.low === point.high ? `${value} ${unit}` : `${value} ${unit} (95 %: ${low} to ${high})`;
}

/** $ per million samples against samples/s: best is bottom right. */
export function valueChart(canvas: HTMLCanvasElement, rows: NonNullable<PageData["value"]>, theme: Theme): Chart {
  const datasets = rows.map((row) => ({
    label: row.name,
    data: [{
      x: row.rate.value,
      y: row.cost.value,
      xMin: row.rate.low,
      xMax: row.rate.high,
      yMin: row.cost.low,
      yMax: row.cost.high,
    }],
    pointStyle: SHAPES[row.evidence],
    radius: 8,
    hoverRadius: 9,
    borderWidth: 2,
    borderColor: colourOf(row.colour, theme),
    backgroundColor: fill(row.evidence, colourOf(row.colour, theme), theme),
    errorBarColor: colourOf(row.colour, theme),
    errorBarWhiskerColor: colourOf(row.colour, theme),
    errorBarLineWidth: 2,
    errorBarWhiskerLineWidth: 2,
    errorBarWhiskerSize: 8,
  }));
  return new Chart(canvas, {
    type: "scatterWithErrorBars" as const,
    data: { datasets },
    plugins: [
      pointLabels(
        rows.map((row) => row.name),
        rows.map(({ rate, cost }) => ({ x: [rate.low, rate.high], y: [cost.low, cost.high] })),
        rows.map((row) => colourOf(row.colour, theme)),
        theme,
      ),
    ],
    options: {
      layout: { padding: { top: 16, right: 12 } },
      scales: {
        x: { ...axis("thousand samples/s (right is faster)", theme), ...room(rows.map((row) => row.rate)) },
        y: { ...axis("$ per million samples (down is cheaper)", theme), ...room(rows.map((row) => row.cost)) },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            label: (item) => {
              const row = rows[item.datasetIndex];
              return row === undefined ? "" : [
                `${row.name}, ${row.evidence}`,
                interval(row.rate, "k samples/s"),
                interval(row.cost, "$ per million samples"),
              ];
            },
          },
        },
      },
    },
  }) as unknown as Chart;
}

/** Axis ends just outside the intervals, not at zero: a place has no length that could mislead. */
function room(points: readonly Point[]): { readonly suggestedMin: number; readonly suggestedMax: number } {
  const [low, high] = [Math.min(...points.map((p) => p.low)), Math.max(...points.map((p) => p.high))];
  const margin = high > low ? (high - low) * 0.12 : high * 0.1;
  return { suggestedMin: Math.max(0, low - margin), suggestedMax: high + margin };
}

/** Horizontal bars from zero with 95 % intervals. */
export function barChart(
  canvas: HTMLCanvasElement,
  rows: readonly (Marked & { readonly point: Point })[],
  unit: string,
  theme: Theme,
  max?: number,
): Chart {
  const colours = rows.map((row) => colourOf(row.colour, theme));
  const options: ChartOptions<"barWithErrorBars"> = {
    indexAxis: "y",
    layout: { padding: { right: 56 } },
    scales: {
      x: { ...axis(unit, theme), beginAtZero: true, ...(max === undefined ? {} : { max }) },
      y: axis("", theme, false),
    },
    plugins: {
      legend: { display: false },
      tooltip: {
        callbacks: {
          label: (item) => {
            const row = rows[item.dataIndex];
            return row === undefined ? "" : `${row.evidence}: ${interval(row.point, unit)}`;
          },
        },
      },
    },
  };
  return new Chart(canvas, {
    type: "barWithErrorBars" as const,
    data: {
      labels: rows.map((row) => row.name),
      datasets: [{
        data: rows.map(({ point }) => ({ x: point.value, xMin: point.low, xMax: point.high })) as never[],
        backgroundColor: rows.map((row, i) => fill(row.evidence, colours[i] as string, theme)),
        borderColor: colours,
        borderWidth: 1.5,
        borderRadius: 3,
        maxBarThickness: 26,
        errorBarColor: theme.text,
        errorBarWhiskerColor: theme.text,
        errorBarLineWidth: 1.5,
        errorBarWhiskerLineWidth: 1.5,
        errorBarWhiskerSize: 10,
      }],
    },
    plugins: [rowLabels(rows.map((row) => THREE.format(row.point.value)), theme)],
    options,
  }) as unknown as Chart;
}

/** Horizontal bars cut into parts. */
export function stackedChart(canvas: HTMLCanvasElement, data: Stacked, unit: string, theme: Theme): Chart {
  const totals = data.rows.map((row) => row.values.reduce((sum, value) => sum + value, 0));
  return new Chart(canvas, {
    type: "bar" as const,
    data: {
      labels: data.rows.map((row) => row.name),
      datasets: data.parts.map((part, p) => ({
        label: part,
        data: data.rows.map((row) => row.values[p] ?? 0),
        backgroundColor: colourOf(p + 1, theme),
        borderColor: theme.card,
        borderWidth: 1,
        maxBarThickness: 26,
      })),
    },
    plugins: [rowLabels(totals.map((total) => THREE.format(total)), theme)],
    options: {
      indexAxis: "y",
      layout: { padding: { right: 56 } },
      scales: {
        x: { ...axis(unit, theme), stacked: true, beginAtZero: true },
        y: { ...axis("", theme, false), stacked: true },
      },
      plugins: {
        legend: { position: "top", align: "start", labels: { color: theme.text, boxWidth: 12, boxHeight: 12 } },
        tooltip: {
          callbacks: { label: (item) => `${item.dataset.label}: ${THREE.format(item.parsed.x ?? 0)} ${unit}` },
        },
      },
    },
  }) as unknown as Chart;
}

/** AUC or logloss against samples trained; the planted model's AUC as a dashed line. */
export function qualityChart(
  canvas: HTMLCanvasElement,
  quality: NonNullable<PageData["quality"]>,
  what: "auc" | "logloss",
  theme: Theme,
): Chart {
  const name = what === "auc" ? "AUC" : "logloss";
  const values = quality[what];
  const colour = colourOf(1, theme);
  const at = (value: number, i: number): { x: number; y: number } => ({ x: quality.samples[i] as number, y: value });
  const planted = what === "auc" ? quality.planted : undefined;
  const options: ChartOptions<"line"> = {
    layout: { padding: { right: 12 } },
    scales: {
      x: { type: "linear", ...axis("thousand samples trained", theme), beginAtZero: true },
      y: axis(`${name}, held-out rows`, theme),
    },
    plugins: {
      legend: {
        display: planted !== undefined,
        position: "top",
        align: "start",
        labels: { color: theme.text, usePointStyle: true, pointStyle: "line" },
      },
      tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${(item.parsed.y ?? 0).toFixed(4)}` } },
    },
  };
  return new Chart(canvas, {
    type: "line" as const,
    data: {
      datasets: [
        {
          label: name,
          data: values.map(at),
          borderColor: colour,
          backgroundColor: colour,
          borderWidth: 2,
          pointRadius: 3,
        },
        ...(planted === undefined ? [] : [{
          label: "model that made the labels",
          data: [{ x: 0, y: planted }, { x: quality.samples[quality.samples.length - 1] as number, y: planted }],
          borderColor: theme.muted,
          backgroundColor: theme.muted,
          borderDash: [6, 4],
          borderWidth: 2,
          pointRadius: 0,
        }]),
      ],
    },
    options,
  }) as unknown as Chart;
}
