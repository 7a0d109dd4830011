/**
 * What each optimisation is worth: a chart of ratios to "none" and the table behind it, per configuration.
 *
 * @module
 */

import { kindText } from "../summary/kind.ts";
import { resultsText, savesFaults, switchLabel } from "../summary/ablation_words.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import { countText, listText } from "../text/format.ts";
import type { AblationGroup, AblationRow, Summary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { type Cell, estimateCell, figure, rateCell, table } from "./parts.ts";
import { aucCell } from "../../scenarios/record.ts";

/** The ablation of a summary, if it has one. */
export function ablation({ ablation: found }: Summary): Markup | undefined {
  if (found === undefined || found.groups.length === 0) return undefined;
  const { groups, switches, leftOut, qualitySamples } = found;
  const compared = groups.some(({ rows }) => rows.some(({ relative }) => relative !== undefined));
  const chart = !compared ? undefined : figure(
    "ablation",
    {
      title: "Speed against none",
      text:
        "Samples/s of a case ÷ those with every switch off on the same configuration, round by round; bars begin at 1, " +
        'whiskers are 95 % bootstrap intervals. With "all but" one, the shorter a bar the more that switch is worth among the others.',
      unit: "times the speed of none",
      kinds: kinds(groups),
    },
    html`${groups.map((group) => variantTable(group))}`,
  );
  const off = switches.map(({ name, on, off }) => `${name} ${off} → ${on}`);
  const missing = leftOut.map(({ name, why }) => html`<p class="note warn">${name} did not run: ${why}.</p>`);
  return html`
    <section aria-labelledby="ablation-worth">
      <h2 id="ablation-worth" tabindex="-1">What each optimisation is worth</h2>
      <p class="note">${countText(switches.length, "switch").replace("switchs", "switches")}, off → on: ${listText(
        off,
      )}. Everything else is
      equal: samples, batches, threads, memory. A switch that needs another has it on too. Results are compared by the digest of
      all rows and dense parameters after equal steps; ${qualitySamples === undefined
        ? "no run gives an AUC."
        : `the AUC is that of one run over ${
          prefixed(qualitySamples)
        } samples for each case that ended with other rows.`}</p>${missing}
      ${chart}
      ${groups.map((group) => html`<h3>${group.name}, ${kindText(group)}</h3>${shortTable(group)}`)}
    </section>
  `;
}

function kinds(groups: readonly AblationGroup[]): string {
  return groups.map(({ name, ...kind }) => `${name}: ${kindText(kind)}`).join(". ");
}

/** Each switch in a line: alone, missing from all, and what it does to results. */
function shortTable({ name, rows }: AblationGroup): Markup {
  const none = rows.find(({ kind }) => kind === "none");
  const all = rows.find(({ kind }) => kind === "all");
  const switches = [...new Set(rows.flatMap((row) => row.switch ?? []))];
  const alone = (one: string): AblationRow | undefined =>
    rows.find((row) => row.kind === "alone" && row.switch === one);
  const without = rows.some(({ kind }) => kind === "all-but-one");
  const allBut = (one: string): AblationRow | undefined =>
    rows.find((row) => row.kind === "all-but-one" && row.switch === one);
  return table(
    `What each switch is worth on ${name}`,
    [
      { title: "switch" },
      { title: "alone, × none" },
      ...(without ? [{ title: "all but it, × none" }] : []),
      { title: "results, alone", words: true },
      { title: "seen", words: true },
    ],
    [
      ...switches.map((one): Cell[] => [
        alone(one)?.label ?? switchLabel(one),
        estimateCell(alone(one)?.relative),
        ...(without ? [estimateCell(allBut(one)?.relative)] : []),
        alone(one) === undefined ? "–" : resultsText(alone(one) as AblationRow),
        seen(alone(one), none),
      ]),
      ...(all === undefined ? [] : [[
        "all of them",
        estimateCell(all.relative),
        ...(without ? ["–"] : []),
        resultsText(all),
        seen(all, none),
      ] as Cell[]]),
    ],
  );
}

/** Whether page faults are among what a variant is about. */
function tellsFaults(row: AblationRow, none: AblationRow | undefined): boolean {
  return row.switch === "memoryReuse" || row.kind === "all" || savesFaults(row, none);
}

/** What else was seen of a variant. */
function seen(row: AblationRow | undefined, none: AblationRow | undefined): string {
  if (row === undefined) return "–";
  const facts = [
    ...(row.staged === undefined ? [] : [`prepared ahead: ${row.staged}`]),
    ...(row.staleShare === undefined ? [] : [`${percentText(row.staleShare)} of rows one update old`]),
    ...(row.faultsPerStep === undefined || !tellsFaults(row, none) ? [] : [
      `${significant(row.faultsPerStep)} page faults a step` +
      (none?.faultsPerStep === undefined ? "" : ` (none: ${significant(none.faultsPerStep)})`),
    ]),
  ];
  return facts.length === 0 ? "–" : facts.join("; ");
}

/** The numbers of the chart: every variant. */
function variantTable({ name, rows }: AblationGroup): Markup {
  return table(
    `Every case of the ablation on ${name}`,
    [
      { title: "case" },
      { title: "samples/s" },
      { title: "× none" },
      { title: "AUC" },
      { title: "logloss" },
      { title: "page faults a step" },
      { title: "results", words: true },
    ],
    rows.map((row): Cell[] => [
      row.label,
      rateCell(row.throughput),
      estimateCell(row.relative),
      row.auc === undefined ? "–" : aucCell(row.auc),
      row.logloss?.toFixed(4) ?? "–",
      row.faultsPerStep === undefined ? "–" : significant(row.faultsPerStep),
      resultsText(row),
    ]),
  );
}
