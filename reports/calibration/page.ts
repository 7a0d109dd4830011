/**
 * The page of a memory that was measured: latency against bandwidth, drawn without a script, and the table of the same figures.
 * One file that needs nothing else.
 *
 * @module
 */

import type { LoadedPoint } from "../../base/loaded_point.ts";
import { significant } from "../../base/numbers.ts";
import { writeWhole } from "../../base/write_whole.ts";
import { pageHead } from "../html/page_head.ts";
import { themeCss } from "../html/palette.ts";
import { header, table } from "../html/parts.ts";
import sheet from "../html/style.css" with { type: "text" };
import { html, Markup } from "../text/markup.ts";

/** A memory on the page. */
export interface LoadedMedium {
  /** Its name. */
  readonly name: string;
  /** Most that loads reached, bytes a second. */
  readonly readBandwidth: number;
  /** Its curve, one thread first. */
  readonly loaded: readonly LoadedPoint[];
}

/** What a page is made of beside the media. */
export interface CalibrationPage {
  /** Day of the measurement. */
  readonly date: string;
  /** The processor. */
  readonly cpu: string;
  /** Whether the machine is a virtual one. */
  readonly virtual: boolean;
  /** Whether it took seconds: shows that it works, not how fast the medium is. */
  readonly quick: boolean;
  /** The command. */
  readonly command: string;
}

/** Size of a drawing and its margins, in its own units, which are pixels on a phone. */
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [340, 230, 44, 14, 12, 36];

const CSS = [
  ".loaded{max-width:560px;margin:10px 0 18px}.loaded svg{width:100%;height:auto;display:block}",
  ".loaded text{font-size:11px;fill:var(--muted)}.loaded .axis{stroke:var(--line);stroke-width:1}",
  ".loaded .curve{fill:none;stroke:var(--accent);stroke-width:1.5}.loaded .at{fill:var(--accent)}",
  ".loaded .span{stroke:var(--accent);stroke-width:1.5}.loaded .says{fill:none;stroke:var(--text);stroke-width:1.2}",
  "@media print{.loaded{max-width:90mm;break-inside:avoid}}",
].join("");

/** A round number at or above a value: 1, 2 or 5 times a power of ten. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((one) => one * power >= value * 0.999) ?? 10);
}

function drawing({ name, loaded, readBandwidth }: LoadedMedium): Markup {
  const right = ceiling(Math.max(readBandwidth, ...loaded.map(({ bytesPerSecond }) => bytesPerSecond)) / 1e9);
  const top = ceiling(Math.max(...loaded.flatMap(({ high, modelNs }) => [high, modelNs])));
  const x = (bytes: number) => (LEFT + bytes / 1e9 / right * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (ns: number) => (HEIGHT - BOTTOM - ns / top * (HEIGHT - TOP - BOTTOM)).toFixed(1);
  const halves = [0, 0.5, 1];
  const words = loaded.map(({ threads, ns, bytesPerSecond }) =>
    `${significant(ns)} ns at ${significant(bytesPerSecond / 1e9)} GB/s with ${threads} ${
      threads === 1 ? "thread" : "threads"
    }`
  );
  return html`
    <figure class="loaded">
      <figcaption><strong>${name}: a load's latency while other threads load.</strong> Dots: medians of nine rounds with their 90 % intervals; rings: what the fitted model says there.</figcaption>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${words.join("; ")}">
        ${halves.map((part) =>
          html`
            <line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(part * top)}" y2="${y(part * top)}"></line>
            <text x="${LEFT - 6}" y="${y(part * top)}" dy="4" text-anchor="end">${significant(part * top)}</text>
            <text x="${x(part * right * 1e9)}" y="${HEIGHT - BOTTOM + 15}" text-anchor="${part === 1
              ? "end"
              : "middle"}">${significant(part * right)}</text>
          `
        )}
        <text x="${WIDTH - RIGHT}" y="${HEIGHT - 5}" text-anchor="end">GB/s of all threads</text>
        <text x="4" y="${HEIGHT - 5}">ns a load, from 0</text>
        <polyline class="curve" points="${loaded.map((one) => `${x(one.bytesPerSecond)},${y(one.ns)}`).join(
          " ",
        )}"></polyline>
        ${loaded.map((one) => {
          const at = x(one.bytesPerSecond);
          return html`
            <line class="span" x1="${at}" x2="${at}" y1="${y(one.low)}" y2="${y(one.high)}"></line>
            <circle class="at" cx="${at}" cy="${y(one.ns)}" r="4"></circle>
            <circle class="says" cx="${at}" cy="${y(one.modelNs)}" r="6.5"></circle>
          `;
        })}
      </svg>
    </figure>
  `;
}

function figures({ name, loaded }: LoadedMedium): Markup {
  return table(
    `${name}: a load while others load`,
    [{ title: "threads" }, { title: "GB/s of all" }, { title: "ns a load" }, { title: "90 %" }, { title: "model, ns" }],
    loaded.map(({ threads, bytesPerSecond, ns, low, high, modelNs }) => [
      String(threads),
      significant(bytesPerSecond / 1e9),
      significant(ns),
      `${significant(low)} to ${significant(high)}`,
      significant(modelNs),
    ]),
  );
}

/** Renders the page. */
export function renderCalibration(
  medium: LoadedMedium,
  { date, cpu, virtual, quick, command }: CalibrationPage,
): string {
  const about =
    "How long a load takes while other threads keep this memory busy: what a store waits for as threads are added.";
  return html`
    <!DOCTYPE html>
    <html lang="en">
      ${pageHead({ title: `${medium.name}: latency under load`, style: new Markup(themeCss() + sheet + CSS) })}
      <body>
        ${header("calibration", { name: medium.name, about }, [["date", date], ["processor", cpu]])}
        <main>
          <section class="first">
            <h2>Latency under load</h2>
            ${virtual
              ? html`<p class="note"><strong>This machine is a virtual one</strong>: what its memory is made of, its host decides.</p>`
              : undefined}
            ${quick
              ? html`<p class="note"><strong>Quick</strong>: shows that it works here; measure without --quick before you believe it.</p>`
              : undefined}
            ${drawing(medium)}
            ${figures(medium)}
          </section>
        </main>
        <footer>Measured by <code>${command}</code>. docs/calibrate.md says how; the file beside this page has every point.</footer>
      </body>
    </html>
  `.text;
}

/** Writes the page. */
export async function writeCalibration(path: string, medium: LoadedMedium, page: CalibrationPage): Promise<void> {
  await writeWhole(path, renderCalibration(medium, page));
}
