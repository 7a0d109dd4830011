/**
 * Charts of a simulation as SVG: made here, drawn without a script. Numbers stand in the tables beside them.
 *
 * @module
 */

import { html, type Markup } from "../text/markup.ts";
import { significant } from "../../base/numbers.ts";
import { type StudyCase, timeByKind } from "./summary.ts";

/** Kinds of work in the order of their colours; those beyond the palette share with a pattern of their own place. */
const KINDS = [
  "parse",
  "pull",
  "lookup",
  "dense",
  "all-reduce",
  "push",
  "update",
  "eviction",
  "maintenance",
  "migration",
  "faults",
] as const;
const COLOURS = 6;

/** Style of the charts, beside the report's. */
export const CHART_CSS: string = [
  "svg.sim{width:100%;height:auto;display:block;margin:8px 0}",
  "svg.sim text{fill:var(--text);font:12px system-ui,sans-serif}svg.sim .muted{fill:var(--muted)}",
  "svg.sim line{stroke:var(--line)}",
  ...Array.from({ length: COLOURS }, (_, i) => `.k${i}{fill:var(--series-${i})}`),
  ".k6,.k7,.k8,.k9,.k10{stroke-width:1.5}",
  ...Array.from({ length: COLOURS - 1 }, (_, i) => `.k${i + 6}{fill:var(--card);stroke:var(--series-${i})}`),
  ".sim-key{display:flex;flex-wrap:wrap;gap:4px 16px;margin:6px 0;padding:0;list-style:none;font-size:13px}",
  ".sim-key svg{width:12px;height:12px;margin-right:5px;vertical-align:-1px}",
].join("");

function className(kind: string): string {
  return `k${Math.max(0, KINDS.indexOf(kind as (typeof KINDS)[number]))}`;
}

function key(kinds: readonly string[]): Markup {
  return html`<ul class="sim-key">${
    kinds.map((kind) =>
      html`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="${
        className(kind)
      }" x="1" y="1" width="10" height="10"></rect></svg>${kind}</li>`
    )
  }</ul>`;
}

const WIDTH = 1000;
const LABEL = 300;

function shortened(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`;
}

/** Bars of a step's time by kind of work, one for each case. */
export function timeChart(cases: readonly StudyCase[]): Markup {
  const longest = Math.max(...cases.map((one) => one.step.mean));
  const kinds = KINDS.filter((kind) => cases.some((one) => one.parts.some((part) => part.kind === kind)));
  const row = 26;
  const height = cases.length * row + 4;
  const bars = cases.map((one, i) => {
    let x = LABEL;
    const times = new Map(timeByKind(one));
    const y = i * row + 4;
    const parts = kinds.map((kind) => {
      const width = longest === 0 ? 0 : (times.get(kind) ?? 0) / longest * (WIDTH - LABEL - 70);
      const bar = html`<rect class="${className(kind)}" x="${x.toFixed(2)}" y="${y}" width="${
        width.toFixed(2)
      }" height="${row - 8}"></rect>`;
      x += width;
      return width < 0.05 ? html`` : bar;
    });
    return html`
      <text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${shortened(
        one.label,
        46,
      )}</text>${parts}<text class="muted" x="${(x + 6).toFixed(1)}"
        y="${y + 13}">${significant(one.step.mean * 1e3)} ms</text>
    `;
  });
  return html`
    ${key(kinds)}<svg class="sim" viewBox="0 0 ${WIDTH} ${height}" role="img"
      aria-label="Time of a step by kind of work, one bar a case; the numbers are in the table below">${bars}</svg>
  `;
}

/** The tasks of the last step in virtual time: a lane for each kind of work and, of at most eight, actor. */
export function timelineChart(one: StudyCase): Markup {
  const kinds = KINDS.filter((kind) => one.tasks.some(([of]) => of === kind));
  const end = Math.max(...one.tasks.map(([, , , to]) => to), 1e-12);
  const start = Math.min(0, ...one.tasks.map(([, , from]) => from));
  const lanes = kinds.flatMap((kind) => {
    const actors = [...new Set(one.tasks.filter(([of]) => of === kind).map(([, actor]) => actor))].sort((a, b) =>
      a - b
    );
    return actors.slice(0, 8).map((actor) => ({ kind, actor }));
  });
  const row = 12;
  const place = (seconds: number) => 150 + (seconds - start) / (end - start) * (WIDTH - 160);
  const drawn = lanes.map(({ kind, actor }, i) => {
    const y = i * row + 2;
    const first = i === 0 || lanes[i - 1]?.kind !== kind;
    const bars = one.tasks.filter(([of, by]) => of === kind && by === actor).map(([, , from, to]) =>
      html`<rect class="${className(kind)}" x="${place(from).toFixed(2)}" y="${y}" width="${
        Math.max(0.4, place(to) - place(from)).toFixed(2)
      }" height="${row - 3}"></rect>`
    );
    return html`${first ? html`<text x="142" y="${y + 10}" text-anchor="end">${kind}</text>` : html``}${bars}`;
  });
  const height = lanes.length * row + 26;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const seconds = start + share * (end - start);
    return html`<text class="muted" x="${place(seconds).toFixed(1)}" y="${height - 6}" text-anchor="middle">${
      significant(seconds * 1e3)
    } ms</text>`;
  });
  return html`
    <svg class="sim" viewBox="0 0 ${WIDTH} ${height}" role="img"
      aria-label="Tasks of one step of ${one
        .label} in virtual time, a lane for each kind of work">${drawn}${ticks}</svg>
  `;
}
