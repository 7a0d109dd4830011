/**
 * The text of the dated file of what our store costs on this machine (models/simulation/software_file.ts reads it).
 *
 * @module
 */

import type { Price, SoftwareFile, SoftwarePrices } from "../simulation/software_file.ts";
import { down, short, up } from "./digits.ts";

const PRICES = [
  "perKey",
  "perRow",
  "perUpdate",
  "track",
  "upkeep",
  "perMiss",
  "perLock",
  "perMessage",
] as const satisfies (keyof SoftwarePrices)[];

/** The text of the file. */
export function softwareText(file: SoftwareFile): string {
  const prices = Object.fromEntries(PRICES.flatMap((name) => {
    const price: Price | undefined = file.prices[name];
    if (price === undefined) return [];
    const { value, low, high } = price;
    return [[name, {
      value: short(value),
      low: Math.min(short(value), down(low)),
      high: Math.max(short(value), up(high)),
    }]];
  }));
  const virtual = file.measured.virtual
    ? "// Measured in a virtual machine: how fast it is, its host decides. Not to be believed.\n"
    : "";
  return "// Measured by tierbench calibrate: core seconds of our store beside its accesses to memory, with 90 % intervals.\n" +
    `${virtual}${JSON.stringify({ ...file, prices }, undefined, 2)}\n`;
}
