/**
 * Building blocks of the page: tables, figures, marks of the kinds of evidence.
 *
 * @module
 */

import { type Kind, vouchedText } from "../summary/kind.ts";
import type { Evidence } from "../../scenarios/record.ts";
import { prefixFor, significant } from "../../base/numbers.ts";
import { intervalText } from "../text/format.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { html, Markup } from "../text/markup.ts";

/** The top of a page: what ran, and its facts. */
export function header(
  what: "report" | "simulation" | "answer" | "calibration",
  { name, about }: { readonly name: string; readonly about: string },
  facts: readonly (readonly [string, string])[],
): Markup {
  return html`
    <header>
      <p class="eyebrow">tierbench ${what}</p>
      <h1>${name}</h1>
      <p class="about">${about}</p>
      <dl class="facts">${facts.map(([name, value]) =>
        html`
          <div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>
        `
      )}</dl>
    </header>
  `;
}

/** A column of a table. */
export interface Column {
  /** Its head. */
  readonly title: string;
  /** Left-aligned words instead of numbers. */
  readonly words?: boolean;
}

/** A cell: text, or markup. */
export type Cell = string | Markup;

/** Columns that a sheet of paper has room for in the usual letters; more have smaller ones. */
const MOST_COLUMNS = 11;

/**
 * A table; the first cell of every row heads it. Where the page is narrow it scrolls sideways, with a shadow on the side that
 * has more, or is a list of cards.
 *
 * @param cards Where the page is narrow each row is a card that names every cell, so that nothing is out of sight.
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  cards: boolean = false,
): Markup {
  const name = (i: number): string | undefined => columns[i]?.words === true && i > 0 ? "words" : undefined;
  const attribute = (i: number): Markup => new Markup(name(i) === undefined ? "" : ` class="${name(i)}"`);
  const label = (i: number): Markup =>
    cards
      ? html`
        data-label="${columns[i]?.title ?? ""}"
      `
      : html``;
  return html`
    <div class="scroll${cards ? " cards" : ""}${columns.length > MOST_COLUMNS
      ? " wide"
      : ""}" role="region" tabindex="0" aria-label="${caption}">
      <table>
        <caption>${caption}</caption>
        <thead>
          <tr>${columns.map((column, i) =>
            html`
              <th scope="col" ${attribute(i)}>${column.title}</th>
            `
          )}</tr>
        </thead>
        <tbody>${rows.map((row) =>
          html`
            <tr>${row.map((cell, i) =>
              i === 0 ? html`<th scope="row">${unbroken(cell)}</th>` : html`<td${attribute(i)}${label(i)}>${cell}</td>`
            )}</tr>
          `
        )}</tbody>
      </table>
    </div>
  `;
}

/** Text that breaks between words only, not at the hyphens of a name. */
function unbroken(cell: Cell): Cell {
  if (typeof cell !== "string") return cell;
  return html`${cell.split(" ").map((word, i) => html`${i === 0 ? "" : " "}<span>${word}</span>`)}`;
}

/** What is not read at first: folded on the screen, open on paper. */
export function more(title: string, content: Markup): Markup {
  return html`<details class="more"><summary>More: ${title}</summary>${content}</details>`;
}

/**
 * A chart with its caption and the table of the same numbers.
 *
 * @param folded Whether the table is folded; one that says more than the chart need not be.
 */
export function figure(
  id: string,
  about: { readonly title: string; readonly text: string; readonly unit: string; readonly kinds: string },
  numbers: Markup,
  folded: boolean = true,
): Markup {
  const label = `Chart: ${about.title}. ${about.unit}. ${about.kinds}. The numbers are in the table below it.`;
  return html`
    <figure id="${id}">
      <figcaption><strong>${about.title}.</strong> ${about.text} Unit: ${about.unit}. ${about.kinds}.</figcaption>
      <div class="chart">
        <canvas id="chart-${id}" role="img" aria-label="${label}"></canvas>
      </div>
      ${folded
        ? html`<details><summary>Numbers of this chart: ${lower(about.title)}</summary>${numbers}</details>`
        : numbers}
    </figure>
  `;
}

/** A value with its interval below it: both in the unit of the column. */
export function estimateCell(estimate: Estimate | undefined, factor: number = 1): Cell {
  if (estimate === undefined) return "–";
  return html`${significant(estimate.value * factor)}<small>${intervalText(estimate, factor) ?? "one sample"}</small>`;
}

/** A rate with its prefix and interval. */
export function rateCell(estimate: Estimate | undefined): Cell {
  if (estimate === undefined) return "withheld";
  const { factor, prefix } = prefixFor(estimate.value);
  return html`${significant(estimate.value / factor)}${prefix === "" ? "" : ` ${prefix}`}<small>${
    intervalText(estimate, 1 / factor) ?? "one sample"
  }</small>`;
}

const SIGNS: Readonly<Record<Evidence, string>> = {
  measured: '<circle cx="6" cy="6" r="4.5"/>',
  emulated: '<path d="M6 1.5 11 10.5H1Z" fill-opacity=".4" stroke-width="1.5"/>',
  simulated: '<rect x="1.75" y="1.75" width="8.5" height="8.5" fill="none" stroke-width="1.5"/>',
};

/** The kind of a figure: the shape of the charts and the word, and the owner's word for the medium below it. */
export function kind(of: Kind): Markup {
  const word = vouchedText(of);
  return html`<span class="kind"><svg viewBox="0 0 12 12" aria-hidden="true">${new Markup(
    SIGNS[of.evidence],
  )}</svg>${of.evidence}</span>${word === undefined ? "" : html`<small>${word}</small>`}`;
}

/** First letter small, for use inside a sentence; acronyms stay. */
export function lower(text: string): string {
  return /^[A-Z][a-z ]/.test(text) ? text[0]?.toLowerCase() + text.slice(1) : text;
}
