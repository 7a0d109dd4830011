/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/**
 * The charts of a report. Only the parts of Chart.js that they use are registered, which keeps the page small.
 *
 * @module
 */

import { kindText } from "../../summary/kind.ts";
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
import type { PageData, Point, Stacked } from "../page_data.ts";
import type { Auc } from "../../../scenarios/record.ts";
import type { Theme } from "../palette.ts";
import { paretoLine } from "../../summary/pareto.ts";
import { fill, joined, pointLabels, rowLabels, SHAPES } from "./marks.ts";

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

/** Three significant digits. */
export const THREE: Intl.NumberFormat = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** A colour of the theme by its index. */
export function colourOf(index: number, theme: Theme): string {
  return theme.series[index % theme.series.length] as string;
}

/** Looks of an axis. */
interface AxisOptions {
  readonly grid: { readonly color: string; readonly drawTicks: boolean };
  readonly border: { readonly display: boolean };
  readonly ticks: {
    readonly color: string;
    readonly maxTicksLimit: number;
    readonly padding: number;
    readonly includeBounds: boolean;
  };
  readonly title: { readonly display: boolean; readonly text: string; readonly color: string };
}

/** An axis with a title; without lines it is one of names. */
export function axis(title: string, theme: Theme, lines: boolean = true): AxisOptions {
  return {
    grid: { color: lines ? theme.line : "transparent", drawTicks: false },
    border: { display: false },
    ticks: {
      color: lines ? theme.muted : theme.text,
      maxTicksLimit: lines ? 9 : 40,
      padding: 8,
      includeBounds: false,
    },
    title: { display: title !== "", text: title, color: theme.muted },
  };
}

/** A value with its interval in words. */
export function interval(point: Point, unit: string): string {
  const [value, low, high] = [point.value, point.low, point.high].map((v) => THREE.format(v));
  return point.low === point.high ? `${value} ${unit}` : `${value} ${unit} (95 %: ${low} to ${high})`;
}

/** $ per million samples against samples/s: best is bottom right. */
export function valueChart(
  canvas: HTMLCanvasElement,
  rows: NonNullable<PageData["value"]>,
  theme: Theme,
  sign = "$",
): Chart {
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
  const best = paretoLine(rows.map((row) => ({ row, rate: row.rate.value, cost: row.cost.value })));
  return new Chart(canvas, {
    type: "scatterWithErrorBars" as const,
    data: { datasets },
    plugins: [
      joined(best.map(({ row }) => rows.indexOf(row)), theme),
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
        y: { ...axis(`${sign} per million samples (down is cheaper)`, theme), ...room(rows.map((row) => row.cost)) },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            label: (item) => {
              const row = rows[item.datasetIndex];
              return row === undefined ? "" : [
                `${row.name}, ${kindText(row)}`,
                interval(row.rate, "k samples/s"),
                interval(row.cost, `${sign} per million samples`),
              ];
            },
          },
        },
      },
    },
  }) as unknown as Chart;
}

/**
 * Axis ends just outside the intervals, not at zero: a place has no length that could mislead. An interval much wider than
 * the points are apart runs out of the chart, so that the points stay apart.
 */
function room(points: readonly Point[]): { readonly min: number; readonly max: number } {
  const values = points.map((p) => p.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const far = Math.max(most - least, 0.25 * most);
  const low = Math.max(Math.min(...points.map((p) => p.low)), least - far);
  const high = Math.min(Math.max(...points.map((p) => p.high)), most + far);
  const margin = high > low ? (high - low) * 0.12 : high * 0.1;
  return { min: Math.max(0, low - margin), max: high + margin };
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

/** A row without a bar; the plugin that draws whiskers takes no null. */
const MISSING = { x: NaN, xMin: NaN, xMax: NaN } as const;

/** Horizontal bars from 1 with 95 % intervals: a colour a configuration, a row a variant. */
export function ratioChart(canvas: HTMLCanvasElement, data: NonNullable<PageData["ablation"]>, theme: Theme): Chart {
  const points = data.groups.flatMap(({ ratios }) => ratios.flatMap((ratio) => ratio ?? []));
  const ends = room([...points, { value: 1, low: 1, high: 1 }]);
  const options: ChartOptions<"barWithErrorBars"> = {
    indexAxis: "y",
    layout: { padding: { right: 56 } },
    scales: {
      x: { ...axis("times the speed of none", theme), ...ends, beginAtZero: false },
      y: axis("", theme, false),
    },
    plugins: {
      legend: {
        position: "top",
        align: "start",
        labels: { color: theme.text, boxWidth: 12, boxHeight: 12 },
      },
      tooltip: {
        callbacks: {
          label: (item) => {
            const group = data.groups[item.datasetIndex];
            const ratio = group?.ratios[item.dataIndex];
            return group === undefined || ratio == null
              ? ""
              : `${group.name}, ${kindText(group)}: ${interval(ratio, "×")}`;
          },
        },
      },
    },
  };
  const texts = (ratios: readonly (Point | null)[]): string[] =>
    ratios.map((ratio) => ratio === null ? "" : `${ratio.value.toFixed(2)} ×`);
  return new Chart(canvas, {
    type: "barWithErrorBars" as const,
    data: {
      labels: data.labels.map((label) => lines(label, canvas.clientWidth < 500)) as never[],
      datasets: data.groups.map((group) => {
        const colour = colourOf(group.colour, theme);
        return {
          label: group.name,
          data: group.ratios.map((ratio) =>
            ratio === null ? MISSING : ({ x: ratio.value, xMin: ratio.low, xMax: ratio.high })
          ) as never[],
          base: 1,
          backgroundColor: fill(group.evidence, colour, theme),
          borderColor: colour,
          borderWidth: 1.5,
          borderSkipped: false,
          maxBarThickness: 16,
          errorBarColor: theme.text,
          errorBarWhiskerColor: theme.text,
          errorBarLineWidth: 1.5,
          errorBarWhiskerLineWidth: 1.5,
          errorBarWhiskerSize: 7,
        };
      }),
    },
    plugins: data.groups.map(({ ratios }, i) => rowLabels(texts(ratios), theme, i)),
    options,
  }) as unknown as Chart;
}

/** A variant's label in lines: what it takes along below its name, and "all but" above one where there is little room. */
function lines(label: string, narrow: boolean): string | string[] {
  const [name = label, ...beside] = label.split(" (");
  if (beside.length > 0) return [name, `(${beside.join(" (")}`];
  return narrow && label.startsWith("all but ") ? ["all but", label.slice(8)] : label;
}

/** AUC or logloss against samples; AUCs of the planted model and of the scenario's target as lines. */
export function qualityChart(
  canvas: HTMLCanvasElement,
  quality: NonNullable<PageData["quality"]>,
  what: "auc" | "logloss",
  theme: Theme,
): Chart {
  const name = what === "auc" ? "AUC" : "logloss";
  const values = quality[what];
  const colour = colourOf(1, theme);
  const along = quality.samples;
  // An AUC that is undefined is a gap.
  const at = (value: Auc, i: number): { x: number; y: number } => ({ x: along[i] as number, y: value as number });
  const levels = what === "logloss" ? [] : [
    { label: "model that made the labels", level: quality.planted, dash: [6, 4] },
    { label: "target", level: quality.target, dash: [2, 3] },
  ].filter((one): one is { label: string; level: number; dash: number[] } => one.level !== undefined);
  const options: ChartOptions<"line"> = {
    layout: { padding: { right: 12 } },
    scales: {
      x: {
        type: "linear",
        ...axis("thousand samples trained", theme),
        beginAtZero: true,
      },
      y: axis(`${name}, held-out rows`, theme),
    },
    plugins: {
      legend: {
        display: levels.length > 0,
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
        ...levels.map(({ label, level, dash }) => ({
          label,
          data: [{ x: 0, y: level }, { x: along[along.length - 1] as number, y: level }],
          borderColor: theme.muted,
          backgroundColor: theme.muted,
          borderDash: dash,
          borderWidth: 2,
          pointRadius: 0,
        })),
      ],
    },
    options,
  }) as unknown as Chart;
}
