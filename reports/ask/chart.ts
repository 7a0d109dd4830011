/**
 * The chart of an answer: a bar a way, its month by component, drawn without a script. Words are text of the page, so that they
 * keep their size on a phone; the numbers stand in the tables, too.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { html, type Markup } from "../text/markup.ts";
import { LINE_KINDS, type WayBar } from "./words.ts";

/** Style of the chart, beside the report's and that of `reports/simulation/charts.ts`, whose colours it has. */
export const WAYS_CSS: string = [
  ".ways{list-style:none;margin:10px 0 18px;padding:0;display:grid;gap:8px;font-size:15px}",
  ".ways li{display:grid;grid-template-columns:minmax(150px,26%) 1fr 110px;gap:2px 12px;align-items:center}",
  ".ways svg{width:100%;height:22px;display:block}.ways .muted{color:var(--muted)}",
  "@media(max-width:640px){.ways li{grid-template-columns:1fr 90px}.ways li>span:first-child{grid-column:1/-1}}",
  "@media print{.ways{gap:1px;margin:4px 0 8px;font-size:9pt}.ways svg{height:11px}",
  "#answer .headline{font-size:13pt;line-height:1.25}#answer ul{font-size:9pt}#answer .words li{margin:0 0 2px}",
  "#answer figcaption{font-size:8pt;margin:0}#answer td:not(.words){white-space:nowrap}#answer th{overflow-wrap:normal}}",
].join("");

/** Length of the longest bar in units of the drawing. */
const LENGTH = 1000;

function classOf(kind: WayBar["parts"][number]["kind"]): string {
  return `k${LINE_KINDS.indexOf(kind)}`;
}

/** Bars of the machines that hold the tables, a month each. */
export function waysChart(bars: readonly WayBar[], sign: string): Markup {
  const total = ({ parts }: WayBar): number => parts.reduce((sum, { perMonth }) => sum + perMonth, 0);
  const longest = Math.max(...bars.map(total), 1e-12);
  const kinds = LINE_KINDS.filter((kind) => bars.some(({ parts }) => parts.some((part) => part.kind === kind)));
  return html`
    <figure>
      <figcaption><strong>A month of the machines that hold the tables.</strong> Unit: ${sign} a month, by component. What trains costs the same on every way and is in no bar. Simulated speeds, book prices.</figcaption>
      <ul class="sim-key">${kinds.map((kind) =>
        html`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="${
          classOf(kind)
        }" x="1" y="1" width="10" height="10"></rect></svg>${kind}</li>`
      )}</ul>
      <ul class="ways">${bars.map((bar) => {
        let x = 0;
        const parts = bar.parts.map(({ kind, perMonth }) => {
          const width = perMonth / longest * LENGTH;
          const part = html`<rect class="${classOf(kind)}" x="${x.toFixed(2)}" y="0" width="${
            width.toFixed(2)
          }" height="10"></rect>`;
          x += width;
          return part;
        });
        return html`<li><span>${bar.name}</span><svg viewBox="0 0 ${LENGTH} 10" preserveAspectRatio="none" aria-hidden="true">${parts}</svg><span class="muted">${
          bar.why ?? `${significant(total(bar))} ${sign}`
        }</span></li>`;
      })}</ul>
    </figure>
  `;
}
