/**
 * What ranks are worth, in words.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import { estimateText } from "../text/format.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import type { CaseSummary, RankScaling, Summary } from "./summary_types.ts";

/** A case that was trained over ranks. */
export type Scaled = CaseSummary & { readonly scaling: RankScaling };

/** Cases that were trained over ranks. */
export function scaled(cases: readonly CaseSummary[]): Scaled[] {
  return cases.flatMap((one) => one.scaling === undefined ? [] : [{ ...one, scaling: one.scaling }]);
}

/** Columns of a table of {@linkcode scalingCells}. */
export const SCALING_COLUMNS: readonly string[] = [
  "ranks",
  "machines",
  "speed-up (95 %)",
  "efficiency (95 %)",
  "in messages, ms a step",
  "of it waiting, ms",
  "of it moving, ms",
  "sent a step",
  "a million samples on these machines",
];

/** The figures of a case under those columns; an absent one is "–". */
export function scalingCells({ scaling, throughput }: Scaled, summary: Summary): string[] {
  const { ranks, trainers, hosts, speedUp, efficiency, messages, waiting, moving, sentBytes } = scaling;
  const milliseconds = (of: Estimate | undefined) => of === undefined ? "–" : estimateText(of, 1e3);
  const dollars = clusterDollars(scaling, throughput, summary);
  return [
    trainers === ranks ? `${ranks}` : `${trainers} + ${ranks - trainers} servers`,
    `${hosts}`,
    speedUp === undefined ? "1" : estimateText(speedUp),
    efficiency === undefined ? "1" : estimateText(efficiency),
    milliseconds(messages),
    milliseconds(waiting),
    milliseconds(moving),
    ranks === 1 ? "–" : formatBytes(Math.round(sentBytes)),
    dollars === undefined ? "–" : `${summary.pricing?.sign ?? "$"}${significant(dollars)}`,
  ];
}

/** What a million samples cost on as many of the bill's workers as the ranks had machines; undefined without a price. */
export function clusterDollars(
  { hosts }: Pick<RankScaling, "hosts">,
  throughput: Estimate | undefined,
  { pricing, scenario }: Pick<Summary, "pricing" | "scenario">,
): number | undefined {
  const part = pricing?.bill.find(({ boundary }) => boundary === "workers");
  const { workers } = scenario.cost.bill;
  if (part?.perHour === undefined || workers === 0 || throughput === undefined) return undefined;
  return hosts * part.perHour / workers / 3600 / throughput.value * 1e6;
}

/** What must be said where several ranks had one machine; undefined where none had. */
export function sharedMachineText(cases: readonly CaseSummary[]): string | undefined {
  if (!cases.some(({ scaling }) => scaling?.sharedMachine === true)) return undefined;
  return "Several ranks shared one machine, its CPUs and its memory: such speeds are not those of a cluster";
}
