/**
 * What admission and expiry did, in words.
 *
 * @module
 */

import type { FilterRecord } from "../../scenarios/record.ts";
import type { CaseSummary } from "./summary_types.ts";

/** Columns of a table of {@linkcode filterCells}. */
export const FILTER_COLUMNS: readonly string[] = ["rows admitted", "lookups refused", "rows expired", "keys waiting"];

/** The numbers of a case under those columns; an absent one is "–". */
export function filterCells({ admitted, refused, expired, waiting }: FilterRecord): string[] {
  return [admitted, refused, expired, waiting].map((count) =>
    count === undefined ? "–" : count.toLocaleString("en-US")
  );
}

/** Cases that have such numbers. */
export function filtered(cases: readonly CaseSummary[]): (CaseSummary & { readonly filter: FilterRecord })[] {
  return cases.flatMap((one) => one.filter === undefined ? [] : [{ ...one, filter: one.filter }]);
}
