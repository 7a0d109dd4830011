/**
 * The claim debugger: every saving of the report taken apart, what it hangs on, and where it would turn around.
 *
 * @module
 */

import {
  flipText,
  inputText,
  pointsText,
  savedText,
  savingText,
  sideText,
  unpricedText,
} from "../summary/claim_text.ts";
import type { CaseClaim, Summary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { type Kind, kindText } from "../summary/kind.ts";
import { figure, kind, more, table } from "./parts.ts";

/** Claims with charts; further ones have their tables alone. */
export const CHARTED_CLAIMS = 6;

/** The section; undefined where nothing is compared. */
export function claims(summary: Summary): Markup | undefined {
  const shown = summary.claims.filter((claim) => summary.cases.some(({ name }) => name === claim.case));
  if (shown.length === 0) return undefined;
  return html`
    <section aria-labelledby="claims">
      <h2 id="claims" tabindex="-1">Where the savings come from</h2>
      <p>Every saving against DRAM taken apart; the points of its causes add up to it.</p>
      ${unpriced(summary)}${shown.length < 2 ? undefined : selector(shown)}${shown.map((claim) =>
        one(claim, summary.claims.indexOf(claim))
      )}${more(
        "how a saving is taken apart",
        html`<p>The points are the mean over all orders in which the causes can be switched on (Shapley value). The second column is
      what a cause adds when all others are there already; the last one the saving that would be left without it.</p>`,
      )}
    </section>
  `;
}

/** What charts of the section draw: shares and points in percent. */
export function claimData({ claims }: Summary): readonly {
  readonly name: string;
  readonly saving: number;
  readonly terms: readonly { readonly cause: string; readonly points: number; readonly words: string }[];
  readonly bars: readonly { readonly input: string; readonly low: number; readonly high: number }[];
}[] {
  return claims.map(({ case: name, saved, causes, tornado, claim: { a, b } }) => ({
    name,
    saving: 100 * saved.value,
    terms: causes.map(({ cause, points }) => ({
      cause,
      points: 100 * points,
      words: cause.replace(/ of A$/, ` of ${a.name} machines`).replace(/ of B$/, ` of ${b.name} machines`),
    })),
    bars: tornado.map(({ input, atLow, atHigh }) => ({ input: input.name, low: 100 * atLow, high: 100 * atHigh })),
  }));
}

/** That parts of the job have no price, so that the boundary counts for less than it should. */
function unpriced({ pricing }: Summary): Markup | undefined {
  const text = unpricedText(pricing?.bill ?? []);
  return text === undefined ? undefined : html`<p class="warn">${text}</p>`;
}

/** A table with its chart, if it has one. */
function drawn(
  id: string | undefined,
  title: string,
  text: string,
  unit: string,
  of: Kind,
  numbers: Markup,
): Markup {
  if (id === undefined) return numbers;
  const kinds = `Computed from a case that was ${kindText(of)}, and from prices`;
  return figure(id, { title, text, unit, kinds }, numbers);
}

/** Chooses the saving that is shown; without a script, and on paper, all are. */
function selector(shown: readonly CaseClaim[]): Markup {
  return html`<p class="choose"><label for="claim-choice">Saving of</label> <select id="claim-choice">${
    shown.map(({ case: name }, i) => html`<option value="${i}">${name}</option>`)
  }</select></p>`;
}

function one(claimed: CaseClaim, index: number): Markup {
  const chart = (kind: string): string | undefined => index < CHARTED_CLAIMS ? `${kind}-${index}` : undefined;
  const { case: name, claim, causes, tornado, flips } = claimed;
  return html`
    <div class="claim"><h3>${name} ${kind(claimed)}</h3>
    <p>${sideText(claim.b, claim.sign)}, ${sideText(claim.a, claim.sign)} in ${claim.a.name}. Saved: ${savedText(
      claimed,
    )} of the DRAM cost.</p>
    ${drawn(
      chart("waterfall"),
      `Where the saving of ${name} comes from`,
      "Every bar begins where the one above it ends; filled bars save, outlined ones cost.",
      "percentage points of the DRAM cost",
      claimed,
      table(
        `What the saving of ${name} comes from, percentage points`,
        [
          { title: "cause" },
          { title: "points" },
          { title: "if switched on last" },
          { title: "saving without it" },
          { title: "change", words: true },
        ],
        [
          ...causes.map((cause) => [
            cause.text,
            pointsText(cause.points),
            pointsText(cause.last),
            savingText(cause.without),
            cause.change,
          ]),
          ["sum", pointsText(causes.reduce((sum, { points }) => sum + points, 0)), "", "", ""],
        ],
      ),
    )}${more(
      `what the saving of ${name} hangs on, and where it would turn around`,
      html`${
        drawn(
          chart("tornado"),
          `What the saving of ${name} hangs on`,
          "The saving at the ends of each input's range, the widest first; filled where more of the input saves more. The dashed line " +
            "is the saving as priced.",
          "saved, percent of the DRAM cost",
          claimed,
          table(
            `Saving of ${name} at the ends of each input's range, the widest first`,
            [
              { title: "input" },
              { title: "at the low end" },
              { title: "at the high end" },
              { title: "range", words: true },
            ],
            tornado.map(({ input, atLow, atHigh }) => [
              input.name,
              savingText(atLow),
              savingText(atHigh),
              `${inputText(input, input.range.low)} to ${inputText(input, input.range.high)}: ${input.why}`,
            ]),
          ),
        )
      }${
        table(
          `Value of each input at which ${name} and ${claim.a.name} cost the same, the others as they are`,
          [{ title: "input" }, { title: "now" }, { title: "turns around", words: true }],
          flips.map((flip) => [flip.input.name, inputText(flip.input, flip.input.value), flipText(flip, claim)]),
        )
      }`,
    )}</div>
  `;
}
