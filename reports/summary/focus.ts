/**
 * What the sections show that know nothing of ablations: with dozens of variants, "none" and "all" alone.
 *
 * @module
 */

import { ABLATION_FIELD } from "../../scenarios/ablation.ts";
import type { Summary } from "./summary_types.ts";

/** The summary without the cases of an ablation between "none" and "all"; as it is without an ablation. */
export function focused(summary: Summary): Summary {
  if (summary.ablation === undefined) return summary;
  const shown = ["none", "all"];
  return { ...summary, cases: summary.cases.filter(({ point }) => shown.includes(String(point[ABLATION_FIELD]))) };
}
