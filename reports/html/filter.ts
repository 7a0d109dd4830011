/**
 * What admission and expiry did: rows admitted, lookups refused, rows expired, keys that wait.
 *
 * @module
 */

import { FILTER_COLUMNS, filterCells, filtered } from "../summary/filter_words.ts";
import type { CaseSummary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kind, table } from "./parts.ts";

/** The table; undefined where no case has admission or expiry. */
export function filter(cases: readonly CaseSummary[]): Markup | undefined {
  const shown = filtered(cases);
  if (shown.length === 0) return undefined;
  return html`
    <h3>Admission and expiry</h3>
    <p class="note">Of the counted steps of each case's last sample: rows that keys got, lookups that were answered with the
    default value since their key has no row yet (each key once a call), rows removed for good. Keys waiting are those at the
    end that were looked up and have no row; a Bloom filter counts without keeping them.</p>
    ${table(
      "Admission and expiry",
      [{ title: "case" }, { title: "kind", words: true }, ...FILTER_COLUMNS.map((title) => ({ title }))],
      shown.map((one) => [one.name, kind(one), ...filterCells(one.filter)]),
    )}
  `;
}
