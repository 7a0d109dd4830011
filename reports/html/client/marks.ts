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

/** Writes a text beside every point or bar of the first dataset. */
export function labels<T extends ChartType>(
  texts: readonly string[],
  theme: Theme,
  place: "right" | "above",
): Plugin<T> {
  return {
    id: "labels",
    afterDatasetsDraw(chart): void {
      const { ctx, chartArea } = chart;
      ctx.save();
      ctx.font = "600 12px system-ui, sans-serif";
      ctx.fillStyle = theme.text;
      ctx.textBaseline = "middle";
      texts.forEach((text, i) => {
        const element = place === "right" ? chart.getDatasetMeta(0).data[i] : chart.getDatasetMeta(i).data[0];
        if (element === undefined) return;
        const { x, y } = element.getProps(["x", "y"], true);
        const width = ctx.measureText(text).width;
        if (place === "right") {
          ctx.textAlign = "left";
          ctx.fillText(text, chartArea.right + 8, y);
        } else {
          const right = x + 14 + width <= chartArea.right;
          ctx.textAlign = right ? "left" : "right";
          ctx.fillText(text, right ? x + 14 : x - 14, y - 14);
        }
      });
      ctx.restore();
    },
  };
}
