/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/**
 * How a kind of evidence looks: solid, circle for measured; hatched, triangle for emulated; outlined, square for
 * simulated. Shape and fill tell the kinds apart without colour.
 *
 * @module
 */

import type { ChartType, Plugin, PointStyle } from "chart.js";
import type { Evidence } from "../../../scenarios/record.ts";
import type { Theme } from "../palette.ts";
import { placeLabels } from "./place_labels.ts";

/** Point shapes. */
export const SHAPES: Readonly<Record<Evidence, PointStyle>> = {
  measured: "circle",
  emulated: "triangle",
  simulated: "rect",
};

/** Fill of a bar or point. */
export function fill(evidence: Evidence, colour: string, theme: Theme): string | CanvasPattern {
  if (evidence === "measured") return colour;
  if (evidence === "simulated") return theme.card;
  const size = 8;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const context = tile.getContext("2d");
  if (context === null) return colour;
  context.fillStyle = colour;
  context.globalAlpha = 0.35;
  context.fillRect(0, 0, size, size);
  context.globalAlpha = 1;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift - 1, size + 1);
    context.lineTo(shift + size + 1, -1);
  }
  context.stroke();
  return context.createPattern(tile, "repeat") ?? colour;
}

const LABEL_FONT = "600 12px system-ui, sans-serif";

/** Writes a text at the right end of every bar's row. */
export function rowLabels<T extends ChartType>(texts: readonly string[], theme: Theme, dataset = 0): Plugin<T> {
  return {
    id: `labels-${dataset}`,
    afterDatasetsDraw(chart): void {
      const { ctx, chartArea } = chart;
      ctx.save();
      [ctx.font, ctx.fillStyle, ctx.textBaseline, ctx.textAlign] = [LABEL_FONT, theme.text, "middle", "left"];
      texts.forEach((text, i) => {
        const element = chart.getDatasetMeta(dataset).data[i];
        if (element === undefined) return;
        const { y } = element.getProps(["y"], true);
        ctx.fillText(text, chartArea.right + 8, y);
      });
      ctx.restore();
    },
  };
}

/** Joins the only points of some datasets, in their order, by a dashed line behind them. */
export function joined<T extends ChartType>(datasets: readonly number[], theme: Theme): Plugin<T> {
  return {
    id: "joined",
    beforeDatasetsDraw(chart): void {
      if (datasets.length < 2) return;
      const { ctx } = chart;
      ctx.save();
      [ctx.strokeStyle, ctx.lineWidth] = [theme.muted, 2];
      ctx.setLineDash([7, 5]);
      ctx.beginPath();
      datasets.forEach((dataset, i) => {
        const { x, y } = chart.getDatasetMeta(dataset).data[0]?.getProps(["x", "y"], true) ?? { x: 0, y: 0 };
        if (i === 0) ctx.moveTo(x, y);
        else ctx.lineTo(x, y);
      });
      ctx.stroke();
      ctx.restore();
    },
  };
}

/** The ends of a point's interval, in the units of the axes. */
export interface Whiskers {
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

/** Writes a text near the only point of every dataset, and joins the two by a line where it
 * had to go further away. */
export function pointLabels<T extends ChartType>(
  texts: readonly string[],
  whiskers: readonly Whiskers[],
  colours: readonly string[],
  theme: Theme,
): Plugin<T> {
  return {
    id: "labels",
    afterDatasetsDraw(chart): void {
      const { ctx, chartArea } = chart;
      const points = texts.map((_, i) => chart.getDatasetMeta(i).data[0]?.getProps(["x", "y"], true) ?? { x: 0, y: 0 });
      const pixel = (axis: "x" | "y", value: number): number => chart.scales[axis]?.getPixelForValue(value) ?? 0;
      ctx.save();
      [ctx.font, ctx.textBaseline, ctx.textAlign] = [LABEL_FONT, "middle", "left"];
      const placed = placeLabels(
        points.map(({ x, y }, i) => ({ x, y, width: ctx.measureText(texts[i] as string).width + 4, height: 16 })),
        points.map(({ x, y }) => ({ left: x - 9, top: y - 9, right: x + 9, bottom: y + 9 })),
        points.flatMap(({ x, y }, i) => {
          const ends = whiskers[i] as Whiskers;
          return [
            { left: pixel("x", ends.x[0]), top: y - 2, right: pixel("x", ends.x[1]), bottom: y + 2 },
            { left: x - 2, top: pixel("y", ends.y[1]), right: x + 2, bottom: pixel("y", ends.y[0]) },
          ];
        }),
        chartArea,
      );
      placed.forEach(({ box, distance }, i) => {
        const { x, y } = points[i] as { x: number; y: number };
        if (distance >= 20) {
          ctx.strokeStyle = colours[i] as string;
          ctx.lineWidth = 1.5;
          ctx.beginPath();
          ctx.moveTo(x, y);
          ctx.lineTo(Math.min(Math.max(x, box.left), box.right), y < box.top ? box.top : box.bottom);
          ctx.stroke();
        }
        ctx.fillStyle = theme.card;
        ctx.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
        ctx.fillStyle = theme.text;
        ctx.fillText(texts[i] as string, box.left + 2, (box.top + box.bottom) / 2);
      });
      ctx.restore();
    },
  };
}
