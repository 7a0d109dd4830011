/**
 * What an ablation found, in words: said alike by the page, Markdown, terminal and verdict.
 *
 * @module
 */

import { heldBackText } from "./held_back.ts";
import { kindText } from "./kind.ts";
import { prefixed, significant } from "../../base/numbers.ts";
import { changeWords, listText, roughPercentText } from "../text/format.ts";
import type { AblationGroup, AblationRow, AblationSummary } from "./summary_types.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { difference } from "../statistics/noise.ts";
import { aucText } from "../../scenarios/record.ts";

/** `keeps results`, or `changes results: AUC 0.7512 (−0.0011)`. */
export function resultsText({ kind, keepsResults, auc, aucChange }: AblationRow): string {
  if (kind === "none") return "what others are compared with";
  if (keepsResults === undefined) return "cannot be compared: steps differ";
  if (keepsResults) return "keeps results";
  if (auc === undefined) return "changes results: AUC not measured";
  return `changes results: ${aucText(auc)}${aucChange === undefined ? "" : ` (${signed(aucChange)})`}`;
}

/** What a switch is called: that of the field, but for the one whose value when on is false. */
export function switchLabel(name: string): string {
  return name === "deterministic" ? "fast mode" : name;
}

/** A change of AUC or logloss with its sign, four decimals. */
export function signed(change: number): string {
  const text = Math.abs(change).toFixed(4);
  return Number(text) === 0 ? "±0.0000" : `${change < 0 ? "−" : "+"}${text}`;
}

/** The one-sentence answers of an ablation, most important first. */
export function ablationSentences(of: AblationSummary): string[] {
  return [...of.groups.flatMap(groupSentences), ...resultSentences(of)];
}

function groupSentences({ rows, ...group }: AblationGroup): string[] {
  const all = rows.find(({ kind }) => kind === "all");
  const where = `${group.name} (${kindText(group)})`;
  const alone = rows.filter((row) => row.kind === "alone" && row.relative !== undefined);
  const apart = (row: AblationRow): boolean => row.relative !== undefined && difference(row.relative) !== "none";
  const told = alone.filter(apart).sort((a, b) => (b.relative?.value ?? 0) - (a.relative?.value ?? 0));
  const rest = alone.filter((row) => !apart(row)).map(({ label }) => label);
  return [
    ...(all?.relative === undefined ? [] : [`All switches together: ${where} ${ratioText(all)}`]),
    ...(told.length === 0 ? [] : [
      `Alone on ${name}: ${listText(told.map((row) => `${row.label} ${ratioText(row, true)}`))}` +
      (rest.length === 0 ? "" : `; no clear difference from ${listText(rest)}`),
    ]),
    ...(told.length === 0 && rest.length > 0 ? [`Alone on ${name}: no clear difference from any switch`] : []),
  ];
}

/** `is 41 % faster than with none (95 %: 38 to 44)`. */
function ratioText(row: AblationRow, short = false): string {
  if (row.relative === undefined) return "is not compared";
  const { amount, interval } = changeWords(mapEstimate(row.relative, (v) => v - 1), "faster", "slower");
  if (short) return `is ${amount} (${interval})`;
  const held = heldBackText(row.relative);
  if (held !== undefined) return `is ${amount} than with none (${interval}), ${held}: no difference is claimed`;
  return difference(row.relative) === "none"
    ? `is neither clearly faster nor clearly slower than with none (${interval})`
    : `is ${amount} than with none (${interval})`;
}

/** Which switches keep results, and what the others do to the AUC. */
function resultSentences({ groups, qualitySamples }: AblationSummary): string[] {
  const alone = unique(groups.flatMap(({ rows }) => rows).filter(({ kind }) => kind === "alone"));
  const keeping = alone.filter(({ keepsResults }) => keepsResults === true).map(({ variant }) => switchLabel(variant));
  const changing = alone.filter(({ keepsResults }) => keepsResults === false);
  const after = qualitySamples === undefined ? "" : ` after ${prefixed(qualitySamples)} samples`;
  return [
    ...(keeping.length === 0
      ? []
      : [`${listText(keeping)} ${keeping.length === 1 ? "keeps" : "keep"} results to the bit`]),
    ...(changing.length === 0 ? [] : [
      `Results change with ${
        listText(changing.map((row) =>
          `${switchLabel(row.variant)} (${row.auc === undefined ? "AUC not measured" : aucText(row.auc)}${
            row.aucChange === undefined ? "" : `, ${signed(row.aucChange)}`
          })`
        ))
      }${after}`,
    ]),
    ...staleSentences(alone),
    ...faultSentences(groups),
  ];
}

/** How old the rows of asynchronous lookups were. */
function staleSentences(alone: readonly AblationRow[]): string[] {
  const stale = alone.filter(({ staleShare }) => staleShare !== undefined);
  return stale.map(({ variant, staleShare = 0 }) =>
    `${variant} reads rows one update early: ${
      roughPercentText(staleShare)
    } of the rows it looked up lacked the update ` +
    "of the step before"
  );
}

/**
 * Whether a switch that is not about memory saved most of the page faults all the same. That happens where a step's memory
 * comes from malloc: what the switch keeps from one step to the next stays in the way of giving memory back.
 */
export function savesFaults(row: AblationRow, none: AblationRow | undefined): boolean {
  if (row.kind !== "alone" || row.switch === "memoryReuse") return false;
  return (row.faultsPerStep ?? Infinity) < (none?.faultsPerStep ?? 0) / 2;
}

/** Which switches have some of their speed from page faults. */
function faultSentences(groups: readonly AblationGroup[]): string[] {
  const found = groups.flatMap(({ name, rows }) => {
    const none = rows.find(({ kind }) => kind === "none");
    return rows.filter((row) => savesFaults(row, none)).map((row) => ({ name, row, none }));
  });
  const first = [...new Map([...found].reverse().map((one) => [one.row.variant, one])).values()].reverse();
  return first.map(({ name, row, none }) =>
    `${row.variant} alone also takes page faults on ${name} from ${significant(none?.faultsPerStep ?? NaN)} to ${
      significant(row.faultsPerStep ?? NaN)
    } a step, as memoryReuse does: that part of its speed is not its own`
  );
}

/** One row of each variant, that of the first configuration. */
function unique(rows: readonly AblationRow[]): AblationRow[] {
  return [...new Map([...rows].reverse().map((row) => [row.variant, row])).values()].reverse();
}

/** What limits the answer of an ablation. */
export function ablationCautions({ leftOut }: AblationSummary): string[] {
  return leftOut.map(({ name, why }) => `The switch ${name} did not run: ${why}`);
}

/** `1.41 ×`. */
export function timesText(ratio: number): string {
  return `${significant(ratio)} ×`;
}
