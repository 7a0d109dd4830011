/**
 * A what-if in words: rows of its table, and one sentence.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { changeText, countText } from "../text/format.ts";
import { type Knob, valueText, type WhatIfState } from "./knobs.ts";
import type { WhatIf } from "./what_if.ts";

/** Columns of the table, the first the name of the case. @param sign How amounts are written. */
export const whatIfColumns = (sign: string): readonly string[] => [
  "case",
  "machines",
  `${sign}/h`,
  "memory bought ÷ needed",
  `${sign} per million samples`,
  "cost against DRAM",
  "flip price, × DRAM's",
  "on the line",
];

/** The table: a row a case, as texts. */
export function whatIfRows({ cases, line }: WhatIf): string[][] {
  return cases.map(({ name, cost, costMissing }) => {
    if (cost === undefined) return [name, `${costMissing}`, "–", "–", "–", "–", "–", "–"];
    const { offer, pricePerHour, perMillion, saved, flip } = cost;
    return [
      name,
      `${offer.machines} × ${offer.instance.name}`,
      significant(pricePerHour),
      significant(offer.overBuy),
      significant(perMillion.value),
      saved === undefined ? "–" : changeText(-saved.value),
      flip === undefined ? "–" : significant(flip.value),
      line.includes(name) ? "yes" : "no",
    ];
  });
}

/** What was changed, in words: `Model size 2,000 GB of rows instead of 500`. */
export function changesText(knobs: readonly Knob[], state: WhatIfState): string[] {
  return knobs.flatMap((knob) => {
    const value = state[knob.id];
    return value === undefined
      ? []
      : [`${knob.label} ${valueText(knob, value)} (report: ${valueText(knob, knob.value)})`];
  });
}

/** The result in a sentence or two. */
export function whatIfText({ cases }: WhatIf, before: WhatIf, changes: number, sign: string): string {
  const priced = cases.flatMap((one) => one.cost === undefined ? [] : [{ ...one, cost: one.cost }]);
  if (priced.length === 0) return "No machine in the price book will do.";
  const best = priced.reduce((a, b) => b.cost.perMillion.value < a.cost.perMillion.value ? b : a);
  const { perMillion, saved, offer } = best.cost;
  const was = before.cases.find(({ name }) => name === best.name)?.cost?.perMillion.value;
  const against = saved === undefined ? "" : `, ${changeText(-saved.value)} against DRAM`;
  const report = changes === 0 || was === undefined ? "" : ` (report: ${significant(was)} ${sign})`;
  return `${changes === 0 ? "As in the report" : `With ${countText(changes, "change")}`}: cheapest is ${best.name}, ${
    significant(perMillion.value)
  } ${sign} per million samples${report}${against}, on ${countText(offer.machines, "machine")}.`;
}
