/**
 * How sure the figures are and where they come from: methods, failures, machine, versions, scenario, raw records.
 *
 * @module
 */

import type { EnergyRecord, Result } from "../../scenarios/record.ts";
import { bytesText } from "../../base/bytes.ts";
import { percentText, significant } from "../../base/numbers.ts";
import { countText } from "../text/format.ts";
import type { Summary } from "../summary/summary_types.ts";
import { ENOUGH_SAMPLES } from "../statistics/noise.ts";
import { html, type Markup } from "../text/markup.ts";
import { models } from "./models.ts";
import { comparisonText } from "./overview.ts";
import { estimateCell, kind, more, table } from "./parts.ts";

/** How each figure was obtained, and what failed. */
export function certainty(summary: Summary): Markup {
  const { cases } = summary;
  const how = cases.length === 0 ? undefined : table(
    "How each figure was obtained",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: "samples" },
      { title: "how", words: true },
      { title: "set for this process alone", words: true },
    ],
    cases.map((one) => [
      one.name,
      kind(one),
      `${one.samples}`,
      one.how.join("; ") + (one.virtual ? " (virtual medium: speed and price withheld)" : ""),
      Object.entries(one.environment).map(([name, value]) => `${name}=${value}`).join(", ") || "–",
    ]),
  );
  const failed = summary.failed.length === 0
    ? undefined
    : html`<h3 id="failed">${countText(summary.failed.length, "sample")} failed</h3>${
      table(
        "Samples that failed and are in no figure",
        [{ title: "sample" }, { title: "error", words: true }],
        summary.failed.map((one) => [one.id, one.error]),
      )
    }`;
  const same = summary.identical === undefined
    ? "No two cases trained the same steps on the same seed, so their rows cannot be compared."
    : summary.identical.same
    ? "Cases that trained the same steps on the same seed ended with equal digests of all rows and dense parameters: to the bit."
    : "Cases that trained the same steps on the same seed ended with different digests. Something is wrong.";
  return html`<section aria-labelledby="sure"><h2 id="sure" tabindex="-1">How sure is this</h2>${findings(summary)}
<p class="note">${same}</p>${failed}${
    more(
      "how each figure was obtained",
      html`
        ${how}
        <p class="note">A sample is a process of its own. Samples run in rounds, each with every case once, in an order drawn
        from the seed: one process after the other, or all in turns of a few steps (the table of samples says which). Intervals resample processes (bootstrap, 95 %) and are widened for few samples by Student's t: fewer than
        ${ENOUGH_SAMPLES} make them wide rather than wrong. They speak of noise between processes on this machine, and neither of
        the error of a media model nor of other machines.${comparisonText(
          cases,
        )} Intervals are not corrected for the number of
        cases.</p><p
          class="note">Measured: the medium itself, wall clock. Emulated: the real code path on a faster medium, slowed
        to a model, wall clock; or on a medium that may be virtual, whose speed and price are withheld. Simulated: virtual
        time. Where the owner of the machine vouches for a medium, the way to it was looked at, and what it is is the owner's
        word alone.</p>
      `,
    )
  }${models(summary)}</section>`;
}

/** What each grade says. */
const GRADES: Readonly<Record<Summary["grade"], string>> = {
  CLOSED: "Nothing that the suite looks for speaks against these figures.",
  OPEN: "Something speaks against these figures; whether it matters has to be looked at.",
  INVALID: "Some figures are not what they are called.",
};

/** What speaks against the figures. */
function findings({ grade, findings }: Summary): Markup {
  const found = findings.length === 0 ? undefined : table(
    "What speaks against these figures",
    [
      { title: "code" },
      { title: "severity", words: true },
      { title: "cases", words: true },
      { title: "seen", words: true },
      { title: "what to do", words: true },
    ],
    findings.map((
      { code, severity, cases, seen, advice },
    ) => [code, severity, cases.join(", ") || "all", seen, advice]),
  );
  return html`<h3 id="findings">What speaks against these figures: ${grade}</h3><p class="note">${
    GRADES[grade]
  }</p>${found}`;
}

/** Joules and watts of a sample: of packages, of memory. */
function energyCells(energy: EnergyRecord | undefined): string[] {
  if (energy === undefined) return ["–", "–", "–", "–"];
  const { seconds, packageJoules, dramJoules } = energy;
  const pair = (joules: number | undefined): string[] =>
    joules === undefined ? ["–", "–"] : [significant(joules), significant(joules / seconds)];
  return [...pair(packageJoules), ...pair(dramJoules)];
}

/** Watts of each case that measured them, with their intervals. */
function powerTable({ cases }: Summary): Markup {
  return table(
    "Power of each case, watts",
    [{ title: "case" }, { title: "processors" }, { title: "memory" }],
    cases.flatMap(({ name, power }) =>
      power === undefined ? [] : [[name, estimateCell(power.packages), estimateCell(power.memory)]]
    ),
  );
}

/** Machine, versions, data, scenario and raw records, all folded. */
export function run(summary: Summary, result: Result): Markup {
  const { data, machine } = summary;
  const pairs = (caption: string, rows: readonly (readonly [string, string])[]): Markup =>
    table(caption, [{ title: "name" }, { title: "value", words: true }], rows.map(([name, value]) => [name, value]));
  const optional = <T>(name: string, value: T | undefined, text: (v: T) => string): [string, string][] =>
    value === undefined ? [] : [[name, text(value)]];
  const powered = result.samples.some(({ energy }) => energy !== undefined);
  const samples = result.samples.length === 0 ? undefined : html`<details><summary>Samples</summary>${
    table(
      "Every completed sample",
      [
        { title: "sample" },
        { title: "position" },
        { title: "steps" },
        { title: "process, s" },
        { title: "logloss" },
        ...(powered ? [{ title: "J, processors" }, { title: "W" }, { title: "J, memory" }, { title: "W" }] : []),
        { title: "started", words: true },
      ],
      result.samples.map((one) => [
        one.id,
        `${one.position}`,
        `${one.stepNs.length} after ${one.warmupSteps}${one.turns === undefined ? "" : `, ${one.turns.steps} a turn`}`,
        significant(one.processSeconds),
        one.loss.toFixed(4),
        ...(powered ? energyCells(one.energy) : []),
        one.started,
      ]),
    )
  }${
    powered
      ? html`
        ${powerTable(summary)}
                <p
          class="note">Joules and watts are the whole machine's while the sample had it, by the processors' counters (RAPL): idle power and everything else that ran are in them.</p>
      `
      : result.run.energyMissing === undefined
      ? undefined
      : html`<p class="note">Power was not measured: ${result.run.energyMissing}.</p>`
  }</details>`;
  return html`
    <section aria-labelledby="run">
      <h2 id="run" tabindex="-1">The run</h2>
      <p class="note">This page carries its data: the records of the run are in it, and
      <code>tierbench report</code> reads them back from the file.</p>
      <details><summary>Machine</summary>${pairs("Machine", [
        ["CPU", machine.cpu],
        ["CPUs usable", `${machine.cpus}`],
        ["DRAM", bytesText(machine.memoryBytes)],
        ["NUMA nodes with memory", `${machine.nodes}`],
        ["kernel", machine.kernel],
        ...Object.entries(machine.facts),
      ])}</details>
      <details><summary>Versions</summary>${pairs("Versions", Object.entries(summary.versions))}</details>
      <details><summary>Data</summary>${pairs("Data", [
        ["kind", data.kind],
        ["source", data.source],
        ["training rows", significant(data.trainRows, 12)],
        ["held-out rows", significant(data.testRows, 12)],
        ...optional("numerics", data.numerics, String),
        ...optional("lines left out, by kind", data.skipped, ({ lines, kinds, first }) => {
          const parts = Object.entries(kinds).map(([kind, count]) => `${kind} ${count}`).join(", ");
          return `${lines} (${parts})${first === undefined ? "" : `; first ${first}`}`;
        }),
        ["bytes of all rows", bytesText(data.tableBytes)],
        ["distinct keys per column", data.cardinalities.join(", ")],
        ["digest of the key stream", data.digest],
        ...optional("AUC of the model that made the labels", data.plantedAuc, (v) => v.toFixed(4)),
        ...optional("AUC of its numeric part alone", data.numericAuc, (v) => v.toFixed(4)),
        ...optional("variance carried by the categorical columns", data.categoricalVariance, percentText),
        ...optional("held-out keys never trained", data.unseenShare, percentText),
      ])}</details>
      <details><summary>Scenario, seeds and digests</summary>${pairs("Seeds and digests", [
        ["seed of the run", summary.scenario.seed],
        ["SHA-256 of the scenario", summary.scenarioDigest],
        ...summary.cases.map((one) =>
          [
            one.name,
            `seed ${one.seeds.join(", ")}; batch ${one.batch.join(", ")}; threads ${one.threads.join(", ")}; rows ${
              one.digests.join(", ")
            }`,
          ] as const
        ),
      ])}<pre tabindex="0" aria-label="Scenario as JSON">${JSON.stringify(result.run.scenario, null, 2)}</pre></details>
      ${samples}
    </section>
  `;
}
