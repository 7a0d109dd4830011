/**
 * What a store and a trainer count, as families of OpenMetrics, also while a call works on them.
 *
 * @module
 */

import type { MetricFamily, MetricSample } from "../base/open_metrics.ts";
import { statisticUnits } from "./statistics.ts";
import type { EmbeddingStore } from "./store.ts";
import type { WdlTrainer } from "./trainer.ts";

/** What the counters are, where their name alone does not say it. */
const HELP: Readonly<Record<string, string>> = {
  hits: "Looked-up keys whose row was in the tier.",
  evicted: "Rows moved down from the tier.",
  written_bytes: "Bytes of rows written to the tier: moved, created or updated there.",
  created: "Rows created for keys that were in no tier.",
  not_admitted: "Looked-up keys that were answered with the default value.",
  promoted: "Rows moved up to the first tier.",
};

/** Family of a counter: `tier1_hits` is `hits` of tier 1, `lock_wait_ns` is `lock_wait_seconds`. */
function familyOf(
  name: string,
  unit: string,
): { readonly name: string; readonly tier?: string; readonly factor: number } {
  const [, tier, rest = name] = /^tier(\d)_(.+)$/.exec(name) ?? [];
  const whole = tier !== undefined && rest === "written" ? "written_bytes" : rest;
  const known = tier !== undefined ? { tier } : name === "evicted" ? { tier: "0" } : {};
  return unit === "ns"
    ? { name: whole.replace(/_ns$/, "_seconds"), ...known, factor: 1e-9 }
    : { name: whole, ...known, factor: 1 };
}

function unitOf(name: string): { readonly unit?: string } {
  const unit = /_(bytes|seconds)$/.exec(name)?.[1];
  return unit === undefined ? {} : { unit };
}

/**
 * Counters, bytes and tiers of a store. Counters begin at 0 where the program resets them.
 *
 * @param store An open store; a call may be under way.
 * @param labels Labels of every value, such as `{ store: "clicks" }`.
 * @throws {Error} if the store is closed.
 *
 * @example
 * ```ts
 * import { EmbeddingStore, openMetricsText, storeMetrics } from "../mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM", size: ["64 MiB"] });
 * store.table({ name: "user_id", dim: 16 }).lookup([1, 2, 3]);
 * console.log(openMetricsText(storeMetrics(store))); // tierstore_created_total 3
 * ```
 */
export function storeMetrics(store: EmbeddingStore, labels: Readonly<Record<string, string>> = {}): MetricFamily[] {
  const units = statisticUnits();
  const counters = new Map<string, MetricSample[]>();
  const tiers = store.describe(), memory = store.memory().tiers;
  const gauges = store.hasGauges ? store.gauges() : undefined;
  for (const [counter, count] of Object.entries(store.statistics())) {
    const { name, tier, factor } = familyOf(counter, units[counter] ?? "");
    if (tier !== undefined && Number(tier) >= tiers.length) continue;
    const samples = counters.get(name) ?? [];
    samples.push({ labels: { ...labels, ...(tier === undefined ? {} : { tier }) }, value: count * factor });
    counters.set(name, samples);
  }
  const byTier = (of: (tier: typeof memory[number]) => number) =>
    memory.map((tier) => ({ labels: { ...labels, tier: `${tier.tier}` }, value: of(tier) }));
  const ofCurve = (of: (point: NonNullable<typeof gauges>["curve"][number]) => number) =>
    (gauges?.curve ?? []).map((point) => ({
      labels: { ...labels, first_tier_bytes: `${point.bytes}` },
      value: of(point),
    }));
  return [
    {
      name: "tierstore_tier",
      type: "info",
      help: "How each tier is held, fastest first.",
      samples: tiers.map(({ tier, type, medium }) => ({
        labels: { ...labels, tier: `${tier}`, type, medium },
        value: 1,
      })),
    },
    {
      name: "tierstore_limit_bytes",
      type: "gauge",
      unit: "bytes",
      help: "The limit of the tier.",
      samples: byTier(({ limitBytes }) => limitBytes),
    },
    {
      name: "tierstore_used_bytes",
      type: "gauge",
      unit: "bytes",
      help: "What counts against the limit of the tier.",
      samples: byTier(({ usedBytes }) => usedBytes),
    },
    {
      name: "tierstore_held_bytes",
      type: "gauge",
      unit: "bytes",
      help: "Bytes that the tier holds, by purpose.",
      samples: memory.flatMap(({ tier, purposes }) =>
        Object.entries(purposes).map(([purpose, value]) => ({ labels: { ...labels, tier: `${tier}`, purpose }, value }))
      ),
    },
    {
      name: "tierstore_lru_hits_ratio",
      type: "gauge",
      unit: "ratio",
      help: "Share of the lookups, since counters began, that a first tier of so many bytes would answer under LRU.",
      samples: ofCurve(({ hits }) => hits),
    },
    {
      name: "tierstore_lru_hits_error_ratio",
      type: "gauge",
      unit: "ratio",
      help: "Half of the 95 % interval of that share.",
      samples: ofCurve(({ error }) => error),
    },
    ...[...counters].map(([name, samples]): MetricFamily => ({
      name: `tierstore_${name}`,
      type: "counter",
      ...unitOf(name),
      help: HELP[name] ?? `Counter ${name} of the store.`,
      samples,
    })),
  ];
}

/**
 * How far a trainer is, also while it trains.
 *
 * @param trainer An open trainer.
 * @param labels Labels of every value.
 */
export function trainerMetrics(trainer: WdlTrainer, labels: Readonly<Record<string, string>> = {}): MetricFamily[] {
  return [{
    name: "tierbench_steps",
    type: "counter",
    help: "Steps trained, of a restored trainer those before as well.",
    samples: [{ labels, value: trainer.stepsDone }],
  }];
}
