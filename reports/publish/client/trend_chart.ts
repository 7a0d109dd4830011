/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/**
 * Throughput over runs, with intervals and marks of change.
 *
 * @module
 */

import { kindText } from "../../summary/kind.ts";
import { CategoryScale, Chart, Legend, LinearScale, LineElement, type Plugin, PointElement, Tooltip } from "chart.js";
import { LineWithErrorBarsController, PointWithErrorBar } from "chartjs-chart-error-bars";
import type { Trend } from "../page_data.ts";
import { fill, SHAPES } from "../../html/client/marks.ts";
import type { Theme } from "../../html/palette.ts";

Chart.register(
  CategoryScale,
  Legend,
  LinearScale,
  LineElement,
  LineWithErrorBarsController,
  PointElement,
  PointWithErrorBar,
  Tooltip,
);
Chart.defaults.font.family = "system-ui, sans-serif";
Chart.defaults.font.size = 12;
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

const THREE = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
/** Pixels between a point and the mark of its change. */
const AWAY = 16;

/** A point that is not there; the plugin that draws whiskers takes no null. */
const MISSING = { y: NaN, yMin: NaN, yMax: NaN } as const;

/** ▲ above a point that is faster than the one before, ▼ below one that is slower. */
function changeMarks({ lines }: Trend, theme: Theme): Plugin<"lineWithErrorBars"> {
  return {
    id: "changes",
    afterDatasetsDraw(chart): void {
      const { ctx } = chart;
      ctx.save();
      [ctx.font, ctx.fillStyle, ctx.textAlign, ctx.textBaseline] = ["13px sans-serif", theme.text, "center", "middle"];
      lines.forEach(({ changes }, i) => {
        for (const { run, to } of changes) {
          const { x, y } = chart.getDatasetMeta(i).data[run]?.getProps(["x", "y"], true) ?? {};
          if (x !== undefined && y !== undefined) {
            ctx.fillText(to === "faster" ? "▲" : "▼", x, to === "faster" ? y - AWAY : y + AWAY);
          }
        }
      });
      ctx.restore();
    },
  };
}

/** A line across the chart before the first run after a change point, in the colour of the case. */
function shiftLines({ lines }: Trend, theme: Theme): Plugin<"lineWithErrorBars"> {
  return {
    id: "shifts",
    beforeDatasetsDraw({ ctx, chartArea, scales }): void {
      const x = scales["x"];
      if (x === undefined) return;
      ctx.save();
      ctx.setLineDash([6, 4]);
      ctx.lineWidth = 1.5;
      lines.forEach(({ shifts, colour }, i) => {
        for (const run of shifts) {
          // Cases that change in the same run lie side by side.
          const at = (x.getPixelForValue(run - 1) + x.getPixelForValue(run)) / 2 + 3 * (i - (lines.length - 1) / 2);
          ctx.strokeStyle = theme.series[colour % theme.series.length] as string;
          ctx.beginPath();
          ctx.moveTo(at, chartArea.top);
          ctx.lineTo(at, chartArea.bottom);
          ctx.stroke();
        }
      });
      ctx.restore();
    },
  };
}

/** The chart of one history. */
export function trendChart(canvas: HTMLCanvasElement, trend: Trend, theme: Theme): Chart {
  const points = trend.lines.flatMap(({ rates }) => rates.flatMap((rate) => rate ?? []));
  const [low, high] = [Math.min(...points.map((p) => p.low)), Math.max(...points.map((p) => p.high))];
  const margin = high > low ? (high - low) * 0.15 : high * 0.1;
  const text = { color: theme.muted, padding: 8 };
  return new Chart(canvas, {
    type: "lineWithErrorBars" as const,
    data: {
      labels: [...trend.runs],
      datasets: trend.lines.map(({ name, evidence, colour, rates }) => {
        const own = theme.series[colour % theme.series.length] as string;
        return {
          label: name,
          data: rates.map((rate) =>
            rate === null ? MISSING : { y: rate.value, yMin: rate.low, yMax: rate.high }
          ) as never[],
          borderColor: own,
          borderWidth: 2,
          backgroundColor: fill(evidence, own, theme),
          pointStyle: SHAPES[evidence],
          radius: 6,
          hoverRadius: 7,
          errorBarColor: own,
          errorBarWhiskerColor: own,
          errorBarLineWidth: 1.5,
          errorBarWhiskerLineWidth: 1.5,
          errorBarWhiskerSize: 7,
        };
      }),
    },
    plugins: [shiftLines(trend, theme), changeMarks(trend, theme)],
    options: {
      layout: { padding: { top: 8, right: 16 } },
      scales: {
        x: {
          type: "category",
          offset: true,
          grid: { color: "transparent", drawTicks: false },
          border: { display: false },
          ticks: { ...text, maxRotation: 40, autoSkipPadding: 12 },
        },
        y: {
          type: "linear",
          grid: { color: theme.line, drawTicks: false },
          border: { display: false },
          ticks: { ...text, maxTicksLimit: 8 },
          title: { display: true, text: "thousand samples/s", color: theme.muted },
          suggestedMin: Math.max(0, low - margin),
          suggestedMax: high + margin,
        },
      },
      plugins: {
        legend: { position: "top", align: "start", labels: { color: theme.text, usePointStyle: true } },
        tooltip: {
          callbacks: {
            label: (item) => {
              const line = trend.lines[item.datasetIndex];
              const rate = line?.rates[item.dataIndex];
              if (line === undefined || rate == null) return "";
              const [value, from, to] = [rate.value, rate.low, rate.high].map((v) => THREE.format(v));
              const change = line.changes.find(({ run }) => run === item.dataIndex);
              return `${line.name}, ${kindText(line)}: ${value} k (95 %: ${from} to ${to})` +
                (change === undefined ? "" : `, ${change.to} than the run before`);
            },
          },
        },
      },
    },
  }) as unknown as Chart;
}
