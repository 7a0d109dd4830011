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
  "svg.sim{width:100%;display:block;margin:8px 0}svg.sim.wide{height:auto;min-width:640px}",
  "svg.sim line.band{stroke:var(--series-1);stroke-width:4}svg.sim .place{fill:var(--card);stroke:var(--text);stroke-width:2}",
  ".sim-title{color:var(--muted);font-size:14px;margin:0}",
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

/** Share of the width that bars and intervals may take; the rest is for the number at their end. */
const PLOT = 82;
/** Height of a case: its name, its mark below. */
const ROW = 38;

const percent = (share: number): string => `${(share * PLOT).toFixed(3)}%`;

/** Bars of a step's time by kind of work, one for each case, below its name: as wide as the page, whatever its width. */
export function timeChart(cases: readonly StudyCase[]): Markup {
  const longest = Math.max(...cases.map((one) => one.step.mean));
  const kinds = KINDS.filter((kind) => cases.some((one) => one.parts.some((part) => part.kind === kind)));
  const bars = cases.map((one, i) => {
    const times = new Map(timeByKind(one));
    const y = i * ROW;
    let from = 0;
    const parts = kinds.map((kind) => {
      const share = longest === 0 ? 0 : (times.get(kind) ?? 0) / longest;
      const bar = html`<rect class="${className(kind)}" x="${percent(from)}" y="${y + 16}" width="${
        percent(share)
      }" height="14"></rect>`;
      from += share;
      return share < 5e-4 ? html`` : bar;
    });
    return html`
      <text x="0" y="${y + 11}">${one.label}</text>${parts}<text class="muted" x="${percent(from)}" dx="6"
        y="${y + 28}">${significant(one.step.mean * 1e3)} ms</text>
    `;
  });
  return html`
    ${key(kinds)}<svg class="sim" width="100%" height="${cases.length * ROW}" role="img"
      aria-label="Time of a step by kind of work, one bar a case; the numbers are in the table below">${bars}</svg>
  `;
}

/** A value with its band, where it has one. */
interface Banded {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  readonly text: string;
}

/** Places with bands on a common axis from zero, one for each case, below its name. */
function bandChart(label: string, rows: readonly { readonly name: string; readonly of: Banded | undefined }[]): Markup {
  const most = Math.max(...rows.flatMap(({ of }) => of === undefined ? [] : [of.high ?? of.value]), 1e-300);
  const marks = rows.map(({ name, of }, i) => {
    const y = i * ROW;
    if (of === undefined) {
      return html`
        <text x="0" y="${y + 11}">${name}</text>
        <text class="muted" x="0" y="${y + 28}">no price</text>
      `;
    }
    const { value, low = value, high = value, text } = of;
    const [from, at, to] = [low, value, high].map((one) => percent(one / most));
    return html`
      <text x="0" y="${y + 11}">${name}</text>
      <line x1="0" x2="${percent(1)}" y1="${y + 24}" y2="${y + 24}"></line>
      <line class="band" x1="${from}" x2="${to}" y1="${y + 24}" y2="${y + 24}"></line>
      <rect class="place" x="${at}"
        y="${y + 19}" width="10" height="10" transform="translate(-5 0)"></rect>
      <text class="muted" x="${to}" dx="10"
        y="${y + 28}">${text}</text>
    `;
  });
  return html`
    <svg class="sim" width="100%" height="${rows.length * ROW}" role="img"
      aria-label="${label}; the numbers are in the table below">${marks}</svg>
  `;
}

/** Cost beside speed of the cases of a study, with 90 % bands: cost only where a case has a price. */
export function worthChart(cases: readonly StudyCase[], sign: string | undefined): Markup {
  const speed = html`<div><p class="sim-title">thousand samples/s (right is faster)</p>${
    bandChart(
      "Samples a second and their 90 % bands",
      cases.map(({ label, samplesPerSecond: value, band }) => ({
        name: label,
        of: {
          value,
          ...("why" in band ? {} : { low: value * band.low, high: value * band.high }),
          text: significant(value / 1e3),
        },
      })),
    )
  }</div>`;
  if (sign === undefined || !cases.some(({ money }) => money !== undefined && "perHour" in money)) return speed;
  return html`
    <div
      class="two"><div><p class="sim-title">${sign} per million samples (left is cheaper)</p>${bandChart(
        "Cost of a million samples and its 90 % band",
        cases.map(({ label, money }) => ({
          name: label,
          of: money === undefined || !("perHour" in money)
            ? undefined
            : { value: money.perMillion, ...money.band, text: significant(money.perMillion) },
        })),
      )}</div>${speed}</div>
  `;
}

/** The tasks of the last step in virtual time: a lane for each kind of work and, of at most eight, actor. */
export function timelineChart(study: string, one: StudyCase): Markup {
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
    <div class="scroll" role="region" tabindex="0" aria-label="Tasks of one step of ${one.label}, ${study}">
      <svg class="sim wide"
        viewBox="0 0 ${WIDTH} ${height}" role="img"
        aria-label="Tasks of one step of ${one
          .label} in virtual time, a lane for each kind of work">${drawn}${ticks}</svg>
    </div>
  `;
}
