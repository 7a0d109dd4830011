/**
 * The what-if of a page: fields, the figures that follow from them, a chart. The page's script recomputes them with the
 * modules that this file fills them with.
 *
 * @module
 */

import type { Summary } from "../summary/summary_types.ts";
import { NO_WIRE } from "../summary/pricing.ts";
import { whatIfBase } from "../what_if/base.ts";
import {
  type ChoiceKnob,
  GROUPS,
  type Knob,
  knobsOf,
  type NumberKnob,
  PLACES,
  sliderPlace,
  valueText,
} from "../what_if/knobs.ts";
import { whatIf } from "../what_if/what_if.ts";
import { whatIfColumns, whatIfRows, whatIfText } from "../what_if/words.ts";
import { colours } from "./page_data.ts";
import { html, type Markup } from "../text/markup.ts";
import { type Kind, kindOf, kindsText } from "../summary/kind.ts";
import { figure, kind, more, table } from "./parts.ts";

/** The section; undefined where nothing is priced. */
export function whatIfSection(summary: Summary): Markup | undefined {
  const base = whatIfBase(summary, colours(summary.cases));
  if (base === undefined) return undefined;
  const knobs = knobsOf(base);
  const now = whatIf(base, {});
  const kindNamed = (name: string): Kind =>
    kindOf(base.cases.find((one) => one.name === name) ?? { evidence: "measured" });
  const numbers = table(
    "Costs at these values",
    whatIfColumns(base.sign).map((title, i) => ({ title, words: i === 1 || i === 7 })),
    whatIfRows(now).map(([name = "", ...cells]) => [html`${name} ${kind(kindNamed(name))}`, ...cells]),
  );
  const priced = summary.cases.filter((one) => base.cases.some(({ name }) => name === one.name));
  return html`
    <section aria-labelledby="what-if" class="what-if">
      <h2 id="what-if" tabindex="-1">What if</h2>
      <p>Move a price, a size or a year: this page computes the costs again, with the same code as the report.</p>
      <p class="state" id="what-if-result" role="status">${whatIfText(now, now, 0, base.sign)}</p>
      <p class="note" id="what-if-changes">Nothing is changed.</p>
      <noscript><p class="warn">The fields below need scripts, which are switched off here.</p></noscript>
      ${more(
        "the fields, and what follows from them",
        html`
          <p>Speeds stay those of the run, and so do their intervals. The flip price is the multiple of the DRAM machines' price at which both cost the same; on
          the line are cases that no other beats in both speed and cost. The address of the page holds what was changed.</p>
          <div id="what-if-table">${numbers}</div>
          ${base.cases.some(({ work }) => work === undefined) ? html`<p class="note">${NO_WIRE}.</p>` : html``}
          <div class="knobs">${GROUPS.map((group) => {
            const own = knobs.filter((knob) => knob.group === group);
            return own.length === 0
              ? html``
              : html`<fieldset data-group="${group}"><legend>${group}</legend>${
                own.map((knob) => field(knob, `knob-${knobs.indexOf(knob)}`))
              }</fieldset>`;
          })}</div>
          <p class="buttons"><button type="button" id="what-if-reset">Everything as in the report</button></p>
          ${figure(
            "what-if-value",
            {
              title: "Cost against speed at these values",
              text: "Down is cheaper, right is faster. The dashed line joins the cases that no other beats in both.",
              unit: `${base.sign} per million samples, thousand samples/s`,
              kinds: kindsText(priced),
            },
            html`<p class="note">The table above the fields holds the costs; <a href="#speed">Speed</a> the samples a second.</p>`,
          )}
        `,
      )}
    </section>
  `;
}

function field(knob: Knob, id: string): Markup {
  const note = knob.note === "" ? undefined : html`<small id="${id}-note">${knob.note}</small>`;
  const body = knob.kind === "choice" ? choice(knob, id) : slider(knob, id);
  return html`
    <div class="knob"
      data-knob="${knob.id}">${body}<button type="button" class="reset" disabled aria-label="Reset: ${knob
        .label}">reset</button>${note}</div>
  `;
}

function choice({ label, options, value }: ChoiceKnob, id: string): Markup {
  const chosen = (one: string): Markup =>
    one === value
      ? html`
        selected
      `
      : html``;
  return html`<label for="${id}">${label}</label><select id="${id}">${
    options.map((one) =>
      html`
        <option value="${one.value}" ${chosen(one.value)}>${one.text}</option>
      `
    )
  }</select>`;
}

function slider(knob: NumberKnob, id: string): Markup {
  const { label, unit, value, min, max } = knob;
  const shown = value === undefined ? "" : `${Number(value.toPrecision(6))}`;
  return html`
    <label for="${id}">${label}</label><input type="range" id="${id}" min="0" max="${PLACES}" step="1"
      value="${sliderPlace(knob, value ?? min)}" aria-valuetext="${valueText(knob, value)}"><span
      class="number"><input type="number" aria-label="${label}, ${unit}" min="${min}" max="${max}" step="any" value="${shown}"${value ===
          undefined
        ? html`
          placeholder="not asked"
        `
        : undefined}><span class="unit">${unit}</span></span>
  `;
}
