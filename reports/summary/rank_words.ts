/**
 * What ranks are worth, in words.
 *
 * @module
 */

import { aucCell } from "../../scenarios/record.ts";
import { formatBytes } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import { estimateText } from "../text/format.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import type { CaseSummary, RankScaling, Summary } from "./summary_types.ts";

/** A case that was trained over ranks. */
export type Scaled = CaseSummary & { readonly scaling: RankScaling };

/** Cases that were trained over ranks, those over fewer first. */
export function scaled(cases: readonly CaseSummary[]): Scaled[] {
  return cases.flatMap((one) => one.scaling === undefined ? [] : [{ ...one, scaling: one.scaling }])
    .sort((a, b) => a.scaling.ranks - b.scaling.ranks);
}

/** Columns of a table of {@linkcode scalingCells}. */
export function scalingColumns(cases: readonly Scaled[]): string[] {
  return columnsFor(cases).map(({ title }) => title);
}

/** The figures of a case under {@linkcode scalingColumns}; an absent one is "–". */
export function scalingCells(one: Scaled, cases: readonly Scaled[], summary: Summary): string[] {
  return columnsFor(cases).map(({ cell }) => cell(one, summary) ?? "–");
}

interface Column {
  readonly title: string;
  readonly cell: (one: Scaled, summary: Summary) => string | undefined;
  /** Shown where some case trains asynchronously. */
  readonly asynchronous?: true;
}

const milliseconds = (of: Estimate | undefined) => of === undefined ? undefined : estimateText(of, 1e3);

const COLUMNS: readonly Column[] = [
  {
    title: "ranks",
    cell: ({ scaling: { ranks, trainers } }) =>
      trainers === ranks ? `${ranks}` : `${trainers} + ${ranks - trainers} servers`,
  },
  { title: "machines", cell: ({ scaling }) => `${scaling.hosts}` },
  {
    title: "speed-up (95 %)",
    cell: ({ scaling: { speedUp } }) => speedUp === undefined ? "1" : estimateText(speedUp),
  },
  {
    title: "efficiency (95 %)",
    cell: ({ scaling: { efficiency } }) => efficiency === undefined ? "1" : estimateText(efficiency),
  },
  { title: "missed updates, mean, most (bound)", cell: ({ scaling }) => stalenessText(scaling), asynchronous: true },
  {
    title: "steps by rank, %",
    cell: ({ scaling: { shares } }) => shares?.map((share) => significant(100 * share)).join(", "),
    asynchronous: true,
  },
  {
    title: "AUC",
    cell: ({ scaling: { auc } }) => auc === undefined ? undefined : aucCell(auc),
    asynchronous: true,
  },
  { title: "in messages, ms a step", cell: ({ scaling }) => milliseconds(scaling.messages) },
  { title: "of it waiting, ms", cell: ({ scaling }) => milliseconds(scaling.waiting) },
  { title: "of it moving, ms", cell: ({ scaling }) => milliseconds(scaling.moving) },
  {
    title: "sent a step",
    cell: ({ scaling: { ranks, sentBytes } }) => ranks === 1 ? undefined : formatBytes(Math.round(sentBytes)),
  },
  {
    title: "a million samples on these machines",
    cell: ({ scaling, throughput }, summary) => {
      const dollars = clusterDollars(scaling, throughput, summary);
      return dollars === undefined ? undefined : `${summary.pricing?.sign ?? "$"}${significant(dollars)}`;
    },
  },
];

function columnsFor(cases: readonly Scaled[]): readonly Column[] {
  const some = cases.some(({ scaling }) => scaling.staleness !== undefined);
  return COLUMNS.filter(({ asynchronous }) => asynchronous === undefined || some);
}

/** `0.52, 1 (3)`: updates missed by a step in the mean, the most, the bound; undefined in step. */
function stalenessText({ staleness }: RankScaling): string | undefined {
  return staleness === undefined ? undefined : `${significant(staleness.mean)}, ${staleness.most} (${staleness.bound})`;
}

/** Why time in messages is not divided where it is not; undefined where it is, or there is none. */
export function undividedText(cases: readonly Scaled[]): string | undefined {
  const undivided = cases.filter(({ scaling: { messages, moving } }) => messages !== undefined && moving === undefined);
  if (undivided.length === 0) return undefined;
  const [asynchronous, older] = [true, false].map((is) =>
    undivided.filter(({ scaling }) => (scaling.staleness !== undefined) === is).map(({ name }) => name)
  );
  const said = [
    asynchronous?.length
      ? `${
        asynchronous.join(", ")
      }: messages of ranks that train asynchronously are between two of them, and no time of all ranks says what is waiting`
      : [],
    older?.length ? `${older.join(", ")}: recorded by a version that did not divide it` : [],
  ].flat();
  return `Time in messages is not divided into waiting and moving. ${said.join("; ")}`;
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
