/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/**
 * Charts of floating bars (waterfall, tornado), of lines, and of distributions.
 *
 * @module
 */

import { extentOf, sideBySide } from "./extent.ts";
import { kindText } from "../../summary/kind.ts";
import { Chart, type ChartOptions, LogarithmicScale, type Plugin, ScatterController } from "chart.js";
import type { Floating, Lines } from "../line_data.ts";
import type { PageData } from "../page_data.ts";
import type { Theme } from "../palette.ts";
import { axis, colourOf, interval, THREE } from "./charts.ts";
import { fill, rowLabels, SHAPES } from "./marks.ts";

Chart.register(LogarithmicScale, ScatterController);

/** Shapes of quantiles, and of lines, in their order. */
const POINTS = ["circle", "triangle", "rectRot", "rect", "star"] as const;
const DASHES = [[], [8, 5], [3, 4], [10, 4, 2, 4], [1, 3]] as const;

/** A line across the bars at a value. */
function across(at: number | undefined, theme: Theme): Plugin<"bar"> {
  return {
    id: "across",
    afterDatasetsDraw({ ctx, chartArea, scales }): void {
      const zero = scales["x"]?.getPixelForValue(0);
      const here = at === undefined ? undefined : scales["x"]?.getPixelForValue(at);
      ctx.save();
      for (const [x, colour, dash] of [[zero, theme.muted, []], [here, theme.text, [6, 4]]] as const) {
        if (x === undefined || x < chartArea.left || x > chartArea.right) continue;
        [ctx.strokeStyle, ctx.lineWidth] = [colour, 1.5];
        ctx.setLineDash([...dash]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
      }
      ctx.restore();
    },
  };
}

/** Bars from a place to another: what adds is filled, what takes away outlined, sums are neutral. */
export function floatingChart(canvas: HTMLCanvasElement, { rows, unit, at }: Floating, theme: Theme): Chart {
  const narrow = canvas.clientWidth < 500;
  const colour = (row: Floating["rows"][number]): string =>
    row.total === true ? theme.series[0] as string : colourOf(row.to >= row.from ? 3 : 2, theme);
  return new Chart(canvas, {
    type: "bar" as const,
    data: {
      labels: rows.map(({ name }) => wrapped(name, narrow ? 14 : 24)) as never[],
      datasets: [{
        data: rows.map(({ from, to }) => [from, to]),
        backgroundColor: rows.map((row) => row.to < row.from && row.total !== true ? theme.card : colour(row)),
        borderColor: rows.map(colour),
        borderWidth: 2,
        borderSkipped: false,
        maxBarThickness: 24,
      }],
    },
    plugins: [rowLabels(rows.map(({ text }) => text), theme), across(at, theme)],
    options: {
      indexAxis: "y",
      layout: { padding: { right: 112 } },
      scales: {
        x: axis(unit, theme),
        y: { ...axis("", theme, false), ticks: { color: theme.text, autoSkip: false, padding: 8 } },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            label: ({ dataIndex }) => {
              const row = rows[dataIndex];
              return row === undefined ? "" : `${row.text} (${THREE.format(row.from)} to ${THREE.format(row.to)})`;
            },
          },
        },
      },
    },
  }) as unknown as Chart;
}

/** A label in lines of about so many letters, cut after spaces and hyphens. */
function wrapped(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/(?<=[ -])/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.trimEnd().length <= letters) lines[lines.length - 1] = last + word;
    else lines.push(word);
  }
  return lines.map((line) => line.trimEnd());
}

/** Lines with a shape and a dash of their own; marks beside them. */
export function lineChart(canvas: HTMLCanvasElement, { x, y, lines, marks }: Lines, theme: Theme): Chart {
  const scale = ({ title, log }: Lines["x"]) => ({
    ...axis(title, theme),
    type: log ? "logarithmic" as const : "linear" as const,
    ...(log ? {} : { beginAtZero: true }),
  });
  const xs = [...lines.flatMap(({ points }) => points), ...marks].map((point) => point.x);
  const ranged = lines.filter(({ points }) => points.some(({ yMin }) => yMin !== undefined));
  const counts = x.counts === undefined ? undefined : sideBySide(xs, ranged.length);
  const options: ChartOptions<"scatter"> = {
    layout: { padding: { right: 12 } },
    scales: {
      x: { ...scale(x), ...(counts === undefined ? extentOf(xs, x.log) : countAxis(counts, theme)) },
      y: scale(y),
    },
    plugins: {
      legend: {
        position: "top",
        align: "start",
        labels: { color: theme.text, usePointStyle: true },
      },
      tooltip: {
        callbacks: {
          label: ({ dataset, parsed, raw }) => {
            const at = (raw as { count?: number }).count ?? parsed.x ?? 0;
            return `${dataset.label}: ${THREE.format(at)} ${x.title}, ${THREE.format(parsed.y ?? 0)} ${y.title}`;
          },
        },
      },
    },
  };
  return new Chart(canvas, {
    type: ranged.length > 0 ? "scatterWithErrorBars" as const : "scatter" as const,
    data: {
      datasets: [
        ...lines.map((line, i) => ({ ...line, i, place: ranged.indexOf(line) })).map((
          { name, colour, dashed, points, i, place },
        ) => ({
          label: name,
          errorBarColor: colourOf(colour, theme),
          errorBarWhiskerColor: colourOf(colour, theme),
          errorBarLineWidth: 2,
          errorBarWhiskerLineWidth: 2,
          errorBarWhiskerSize: 8,
          data: counts === undefined
            ? [...points]
            : points.map((one) => ({ ...one, count: one.x, x: one.x * (place < 0 ? 1 : counts.factor(place)) })),
          showLine: true,
          clip: 12,
          borderColor: colourOf(colour, theme),
          backgroundColor: colourOf(colour, theme),
          borderDash: dashed ? [...DASHES[i % DASHES.length] as readonly number[]] : [],
          borderWidth: 2.5,
          pointStyle: POINTS[i % POINTS.length] as string,
          radius: 4,
        })),
        ...marks.map(({ name, colour, x, y, ...kind }) => ({
          label: `${name} (${kindText(kind)})`,
          data: [{ x, y }],
          clip: 12,
          borderColor: theme.text,
          backgroundColor: colourOf(colour, theme),
          borderWidth: 2,
          pointStyle: SHAPES[kind.evidence],
          radius: 8,
        })),
      ],
    },
    options,
  } as never) as unknown as Chart;
}

/** An axis that names these counts and nothing between them. */
function countAxis({ ticks, min, max }: ReturnType<typeof sideBySide>, theme: Theme) {
  return {
    ...{ min, max },
    afterBuildTicks: (scale: { ticks: { value: number }[] }) => {
      scale.ticks = ticks.map((value) => ({ value }));
    },
    ticks: { color: theme.muted, autoSkip: false, callback: (value: string | number) => `${value}` },
  };
}

/** What of the room between two rows the highest bin takes. */
const RIDGE = 0.72;

/** How often a step took so long, as a shape on each row. */
function ridges(rows: NonNullable<PageData["steps"]>, theme: Theme): Plugin<"scatter"> {
  return {
    id: "ridges",
    beforeDatasetsDraw({ ctx, chartArea, scales: { x, y } }): void {
      if (x === undefined || y === undefined) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(chartArea.left, chartArea.top, chartArea.right - chartArea.left, chartArea.bottom - chartArea.top);
      ctx.clip();
      rows.forEach(({ bins, colour, evidence }, i) => {
        const most = Math.max(...bins.map(({ count }) => count));
        const floor = y.getPixelForValue(i);
        const room = RIDGE * Math.abs(y.getPixelForValue(1) - y.getPixelForValue(0));
        [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [
          fill(evidence, colourOf(colour, theme), theme),
          colourOf(colour, theme),
          1,
        ];
        for (const { from, to, count } of bins) {
          const [left, right] = [x.getPixelForValue(from), x.getPixelForValue(to)];
          const height = Math.max(1, room * count / most);
          ctx.fillRect(left, floor - height, right - left, height);
          ctx.strokeRect(left, floor - height, right - left, height);
        }
      });
      ctx.restore();
    },
  };
}

/** Distributions of step times, a row a case, with their quantiles and the steps that stand out. */
export function stepChart(canvas: HTMLCanvasElement, rows: NonNullable<PageData["steps"]>, theme: Theme): Chart {
  const names = rows[0]?.quantiles.map(({ name }) => name) ?? [];
  const ends = rows.flatMap(({ bins, outliers }) => [
    ...bins.flatMap(({ from, to }) => [from, to]),
    ...outliers.map(({ ms }) => ms * 1.05),
  ]);
  const told = (text: (row: (typeof rows)[number]) => readonly string[], i: number, k: number): string => {
    const row = rows[i];
    return row === undefined ? "" : `${row.name}, ${kindText(row)}, ${text(row)[k] ?? ""}`;
  };
  const outside = rows.flatMap(({ outliers }, i) => outliers.map((one, k) => ({ x: one.ms, y: i, row: i, place: k })));
  return new Chart(canvas, {
    type: "scatter" as const,
    data: {
      datasets: [
        ...names.map((name, p) => ({
          label: name,
          data: rows.map(({ quantiles }, i) => ({ x: quantiles[p]?.point.value ?? NaN, y: i })),
          pointStyle: POINTS[p] as string,
          radius: 6,
          borderWidth: 2,
          borderColor: theme.text,
          backgroundColor: theme.card,
        })),
        ...(outside.length === 0 ? [] : [{
          label: "stands out",
          data: outside,
          pointStyle: "crossRot",
          radius: 5,
          borderWidth: 1.5,
          borderColor: theme.text,
          backgroundColor: theme.text,
        }]),
      ],
    },
    plugins: [ridges(rows, theme)],
    options: {
      layout: { padding: { right: 12 } },
      scales: {
        x: { ...axis("milliseconds a step", theme), type: "logarithmic" as const, ...extentOf(ends, true) },
        y: {
          ...axis("", theme),
          min: -0.9,
          max: rows.length - 0.7,
          reverse: true,
          grid: { color: "transparent" },
          afterBuildTicks: (scale: { ticks: { value: number }[] }) => {
            scale.ticks = rows.map((_, value) => ({ value }));
          },
          ticks: {
            color: theme.text,
            autoSkip: false,
            callback: (value: string | number) => rows[Number(value)]?.name,
          },
        },
      },
      plugins: {
        legend: { position: "top", align: "start", labels: { color: theme.text, usePointStyle: true } },
        tooltip: {
          callbacks: {
            label: ({ datasetIndex: p, dataIndex: i }: { datasetIndex: number; dataIndex: number }) => {
              const one = outside[i];
              return p < names.length || one === undefined
                ? told(({ quantiles }) => quantiles.map(({ name, point }) => `${name}: ${interval(point, "ms")}`), i, p)
                : told(
                  ({ outliers }) =>
                    outliers.map(({ sample, step, ms }) => `${sample}, step ${step}: ${THREE.format(ms)} ms`),
                  one.row,
                  one.place,
                );
            },
          },
        },
      },
    },
  } as never) as unknown as Chart;
}
