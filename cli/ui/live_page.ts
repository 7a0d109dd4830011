/**
 * The page that follows a run. It has its style and script in it, loads nothing else, and puts what it is told in as text.
 *
 * @module
 */

import { createHash } from "node:crypto";

const STYLE =
  `:root{color-scheme:light dark;--ink:#16181d;--paper:#fff;--muted:#5a6270;--line:#dfe2e7;--bar:#0b5cad;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--paper:#12161b;--muted:#a0a7b3;--line:#2b313a;--bar:#7db8f0;--bad:#ff9d94}}
body{margin:0 auto;max-width:60rem;padding:20px 16px;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:22px;margin:0}p{margin:6px 0}.muted{color:var(--muted)}progress{width:100%;height:16px;accent-color:var(--bar)}
table{border-collapse:collapse;width:100%;margin-top:14px}th,td{text-align:left;padding:6px 10px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.failed{color:var(--bad)}li{overflow-wrap:anywhere}
@media(max-width:560px){.how{display:none}}`;

const SCRIPT = `"use strict";
const at = (id) => document.getElementById(id), cases = new Map();
const add = (row, text, name) => { const cell = row.insertCell(); cell.textContent = text; if (name) cell.className = name; return cell; };
const rate = (n) => n >= 1e6 ? (n / 1e6).toPrecision(3) + " M" : n >= 1e3 ? (n / 1e3).toPrecision(3) + " k" : n.toPrecision(3);
const left = (s) => s === null ? "" : s < 90 ? "left " + Math.round(s) + " s" : "left " + Math.round(s / 60) + " min";
const middle = (all) => { const s = [...all].sort((a, b) => a - b), n = s.length; return (s[(n - 1) >> 1] + s[n >> 1]) / 2; };
const tell = {
  plan({ name, repetitions, cases: all }) {
    at("name").textContent = document.title = name;
    at("cases").replaceChildren(); cases.clear();
    for (const one of all) {
      const row = at("cases").insertRow();
      add(row, one.case); add(row, one.kind); add(row, one.how, "how");
      const done = add(row, one.kind === "left out" ? "" : "0 of " + repetitions, "n"), speed = add(row, "", "n");
      cases.set(one.case, { done, speed, rates: [], count: 0, repetitions });
    }
  },
  now({ text, share, secondsLeft }) {
    at("now").textContent = text; at("bar").value = share; at("left").textContent = left(secondsLeft);
  },
  sample({ case: name, rate: found }) {
    const one = cases.get(name);
    if (!one) return;
    one.done.textContent = ++one.count > one.repetitions ? one.count : one.count + " of " + one.repetitions;
    if (found === null) one.speed.textContent = "withheld";
    else { one.rates.push(found); one.speed.textContent = rate(middle(one.rates)); }
  },
  note({ text }) { said(text, ""); },
  failed({ text }) { said(text, "failed"); },
  end({ text }) { at("now").textContent = text; at("bar").value = 1; at("left").textContent = ""; events.close(); ended = true; },
};
const said = (text, name) => { const line = document.createElement("li"); line.textContent = text; line.className = name; at("said").append(line); };
let ended = false, first = true;
const events = new EventSource("events");
events.onopen = () => { at("said").replaceChildren(); first = false; };
events.onmessage = ({ data }) => { const one = JSON.parse(data); tell[one.type]?.(one); };
events.onerror = () => { if (!ended) at("now").textContent = first ? "Waiting for the run" : "The run cannot be reached: it has ended, or was stopped"; };`;

/** The page. */
export const livePage: string = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A run</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="muted">tierbench run</p>
<h1 id="name">A run</h1>
<p><span id="now" role="status">Waiting for the run</span> <span id="left" class="muted"></span></p>
<progress id="bar" max="1" value="0" aria-label="how far the run is"></progress>
<table>
<thead><tr><th scope="col">case</th><th scope="col">kind</th><th scope="col" class="how">how</th><th scope="col" class="n">done</th><th scope="col" class="n">samples/s</th></tr></thead>
<tbody id="cases"></tbody>
</table>
<ul id="said"></ul>
<p class="muted">Speeds are medians of the samples so far and have no intervals: the report has them. This page is on this machine alone.</p>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;

function hashOf(inline: string): string {
  return `'sha256-${createHash("sha256").update(inline).digest("base64")}'`;
}

/** What the page may do. */
export const LIVE_POLICY: string = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
