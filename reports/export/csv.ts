/**
 * The summary as CSV: one line a case, one column a number, unrounded, units in the header. docs/formats.md
 * explains the columns.
 *
 * @module
 */

import { PHASES } from "../../scenarios/record.ts";
import type { AblationRow, CaseSummary, Summary } from "../summary/summary_types.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { csvLine } from "../../models/costs/csv.ts";
import { HOURS_PER_MONTH } from "../../models/costs/bill.ts";
import { HOURS_PER_YEAR } from "../../models/costs/owned.ts";
import { dateText } from "../../models/costs/price_book.ts";

type Value = string | number | undefined;

/** Columns: name and how to fill it. */
const COLUMNS: readonly (readonly [string, (one: CaseSummary, summary: Summary) => Value])[] = [
  ["case", (one) => one.name],
  ["configuration", (one) => one.configuration],
  ["point", (one) => JSON.stringify(one.point)],
  ["kind", (one) => one.evidence],
  ["vouched", (one) => one.vouched],
  ["virtual", (one) => `${one.virtual}`],
  ["samples", (one) => one.samples],
  ...interval("samples_per_second", (one) => one.throughput),
  ["baseline", (one) => one.baseline],
  ...interval("speed_ratio_to_baseline", (one) => one.relative),
  ["ratios_compared", (one) => one.comparison],
  ...interval("step_p50_seconds", (one) => one.step?.p50),
  ...interval("step_p95_seconds", (one) => one.step?.p95),
  ...interval("step_p99_seconds", (one) => one.step?.p99),
  ...interval("embedding_seconds", (one) => one.embedding?.seconds),
  ...interval("embedding_share_of_step", (one) => one.embedding?.share),
  ...interval("embedding_ratio_to_baseline", (one) => one.embedding?.relative),
  ...interval("first_tier_hit_ratio", (one) => one.hits?.ratio),
  ["first_tier_hit_ratio_of", (one) => one.hits?.denominator],
  ...[...PHASES, "other" as const].map((phase) =>
    [
      `step_${phase}_seconds`,
      (one: CaseSummary): Value => one.phases.find((p) => p.phase === phase)?.seconds,
    ] as const
  ),
  ...interval("logloss", (one) => one.loss),
  ["ablation", (one, summary) => variantOf(one, summary)?.variant],
  ["ablation_ratio_to_none", (one, summary) => variantOf(one, summary)?.relative?.value],
  ["ablation_ratio_to_none_low", (one, summary) => variantOf(one, summary)?.relative?.low],
  ["ablation_ratio_to_none_high", (one, summary) => variantOf(one, summary)?.relative?.high],
  ["keeps_results_of_none", (one, summary) => yes(variantOf(one, summary)?.keepsResults)],
  ["auc_after_quality_samples", (one, summary) => variantOf(one, summary)?.auc ?? undefined],
  ["stale_share_of_rows", (one, summary) => variantOf(one, summary)?.staleShare],
  ["page_faults_a_step", (one, summary) => variantOf(one, summary)?.faultsPerStep],
  [
    "seconds_to_target_auc",
    (one, { quality }) => quality?.targetElsewhere.find((other) => other.case === one.name)?.seconds.value,
  ],
  ["rows_admitted", (one) => one.filter?.admitted],
  ["lookups_refused", (one) => one.filter?.refused],
  ["rows_expired", (one) => one.filter?.expired],
  ["keys_waiting", (one) => one.filter?.waiting],
  ["durability", (one) => one.durability],
  ...interval("checkpoints_ratio_to_without", (one) => one.checkpoints?.relative),
  ["checkpoints_a_sample", (one) => one.checkpoints?.count],
  ["checkpoint_bytes_a_sample", (one) => one.checkpoints?.bytes],
  ["delta_bytes_ratio_to_full", (one) => one.checkpoints?.deltaShare],
  ...interval("checkpoint_still_seconds", (one) => one.checkpoints?.still),
  ...interval("checkpoint_durable_seconds", (one) => one.checkpoints?.durable),
  ...interval("restore_seconds", (one) => one.checkpoints?.restore),
  ["rows_put_down_again", (one) => one.checkpoints?.rowsAgain],
  ...interval("restore_ratio_to_dump", (one) => one.checkpoints?.toDump),
  ["ranks", (one) => one.scaling?.ranks],
  ["ranks_that_train", (one) => one.scaling?.trainers],
  ["machines_of_ranks", (one) => one.scaling?.hosts],
  ...interval("rank_speed_up", (one) => one.scaling?.speedUp),
  ...interval("rank_efficiency", (one) => one.scaling?.efficiency),
  ...interval("message_seconds_a_step", (one) => one.scaling?.messages),
  ...interval("message_waiting_seconds_a_step", (one) => one.scaling?.waiting),
  ...interval("message_moving_seconds_a_step", (one) => one.scaling?.moving),
  ["missed_updates_mean", (one) => one.scaling?.staleness?.mean],
  ["missed_updates_most", (one) => one.scaling?.staleness?.most],
  ["staleness_bound", (one) => one.scaling?.staleness?.bound],
  ["sent_bytes_a_step", (one) => one.scaling?.sentBytes],
  ...interval("processors_watts", (one) => one.power?.packages),
  ...interval("memory_watts", (one) => one.power?.memory),
  ["dram_bytes_allowed", (one) => one.dramBytes],
  ["row_bytes", (one) => one.tableBytes],
  ["used_bytes", (one) => one.tiers.reduce((sum, tier) => sum + tier.usedBytes, 0)],
  ["machines", (one) => one.cost && `${one.cost.offer.machines} x ${one.cost.offer.instance.name}`],
  ["machines_to_buy", (one) => one.cost?.owning?.purchase],
  ["machines_watts", (one) => one.cost?.owning?.watts],
  ["payback_months", (one) => one.cost?.owning?.payback?.months],
  ["price_date", (one) => one.cost && dateText(one.cost.offer.instance)],
  ["price_source", (one) => one.cost && `${one.cost.offer.instance.mark}: ${one.cost.offer.instance.source}`],
  ["bill_ends_at", (one, { pricing }) => one.cost && pricing?.boundary],
  ["currency", (one, { pricing }) => one.cost && pricing?.currency],
  ["dollars_per_hour", (one) => one.cost?.offer.pricePerHour],
  ["bill_per_hour", (one) => one.cost?.pricePerHour],
  ["bill_per_month", (one) => one.cost && one.cost.pricePerHour * HOURS_PER_MONTH],
  ["bill_per_year", (one) => one.cost && one.cost.pricePerHour * HOURS_PER_YEAR],
  ...interval("dollars_per_million_samples", (one) => one.cost?.perMillion),
  ...interval("share_saved_against_baseline", (one) => one.cost?.saved),
  ["not_priced_because", (one) => one.costMissing],
  ["how", (one) => one.how.join("; ")],
];

/** The summary as CSV text. */
export function toCsv(summary: Summary): string {
  const lines = [
    COLUMNS.map(([name]) => name),
    ...summary.cases.map((one) => COLUMNS.map(([, value]) => value(one, summary))),
  ];
  return lines.map((line) => csvLine(line) + "\n").join("");
}

/** The variant of the ablation that a case is; undefined without one. */
function variantOf(one: CaseSummary, { ablation }: Summary): AblationRow | undefined {
  return ablation?.groups.flatMap(({ rows }) => rows).find((row) => row.case === one.name);
}

function yes(value: boolean | undefined): string | undefined {
  return value === undefined ? undefined : value ? "true" : "false";
}

function interval(
  name: string,
  of: (one: CaseSummary) => Estimate | undefined,
): (readonly [string, (one: CaseSummary) => Value])[] {
  return [
    [name, (one) => of(one)?.value],
    [`${name}_low`, (one) => of(one)?.low],
    [`${name}_high`, (one) => of(one)?.high],
  ];
}
