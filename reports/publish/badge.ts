/**
 * A badge: one line of a report as a static picture, readable to a screen reader.
 *
 * @module
 */

import { kindText } from "../summary/kind.ts";
import { significant } from "../../base/numbers.ts";
import { changeText, countText } from "../text/format.ts";
import { escapeHtml } from "../text/markup.ts";
import type { CaseSummary, Summary } from "../summary/summary_types.ts";
import { difference } from "../statistics/noise.ts";

const LABEL = "tierbench";
/** Width of a character of 11 px Verdana and its like, rounded up; the text is fitted to it. */
const CHARACTER = 6.6;
const PADDING = 12;

/**
 * What the badge says: the best saving or, without one, the fastest case beside DRAM, each with its kind of evidence and
 * only if its interval tells it from nothing; else how many cases ran.
 */
export function badgeText({ cases }: Summary): string {
  const others = cases.filter(({ baseline }) => baseline !== undefined);
  const best = (of: (one: CaseSummary) => number | undefined): CaseSummary | undefined =>
    others.filter((one) => of(one) !== undefined).sort((a, b) => (of(b) as number) - (of(a) as number))[0];
  const saving = best(({ cost }) => (cost?.saved?.low ?? -1) > 0 ? cost?.saved?.value : undefined);
  if (saving?.cost?.saved !== undefined) {
    return `${saving.name} ${changeText(-saving.cost.saved.value)} cost, ${kindText(saving)}`;
  }
  const fastest = best(({ relative }) =>
    relative !== undefined && ["above", "below"].includes(difference(relative)) ? relative.value : undefined
  );
  if (fastest?.relative !== undefined) {
    return `${fastest.name} ${significant(fastest.relative.value)} × DRAM, ${kindText(fastest)}`;
  }
  return cases.length === 0 ? "no sample completed" : countText(cases.length, "case");
}

/**
 * The badge as SVG.
 *
 * @param text What it says.
 */
export function badgeSvg(text: string): string {
  const widthOf = (words: string): number => Math.ceil([...words].length * CHARACTER);
  const [left, right] = [widthOf(LABEL) + PADDING, widthOf(text) + PADDING];
  const said = escapeHtml(`${LABEL}: ${text}`);
  const words = (own: string, from: number, width: number): string =>
    `<text x="${from + PADDING / 2}" y="14" textLength="${width - PADDING}" lengthAdjust="spacingAndGlyphs">${
      escapeHtml(own)
    }</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${
    left + right
  }" height="20" role="img" aria-label="${said}">` +
    `<title>${said}</title><rect width="${left}" height="20" fill="#24292f"/>` +
    `<rect x="${left}" width="${right}" height="20" fill="#0b63a5"/>` +
    `<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${words(LABEL, 0, left)}${
      words(text, left, right)
    }</g></svg>\n`;
}
