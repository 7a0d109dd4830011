/**
 * What memory holds a case's rows: decides which machines can be priced for it. Nothing is priced as something else, so what
 * a record does not say is not guessed.
 *
 * @module
 */

import type { Result, SampleRecord, TierRecord } from "../../scenarios/record.ts";

/** How a configuration holds its rows. */
export type Holding = "dram" | "pmem" | "memory-mode" | "cxl" | "ssd" | "paged" | "other";

type Memory = "dram" | "pmem" | "cxl" | "ssd" | "other";

/** Beginnings of names of media models, and of what owners vouch for, by what they are made of. */
const MADE_OF: readonly (readonly [RegExp, Memory])[] = [
  [/\bcxl\b/i, "cxl"],
  [/\boptane[- ]ssd\b|\bnvme\b/i, "ssd"],
  [/\boptane\b/i, "pmem"],
  [/^l?p?ddr\d/i, "dram"],
];

/** How a sample held its rows, judged by the scenario's words, by the tiers it really had, and by the machine's facts. */
export function holdingOf(result: Result, sample: SampleRecord): Holding {
  const all = (result.run.scenario as unknown as Record<string, unknown>)["configurations"];
  const own = typeof all === "object" && all !== null ? (all as Record<string, unknown>)[sample.configuration] : {};
  const memory = typeof own === "object" && own !== null ? (own as Record<string, unknown>)["memory"] : undefined;
  // Pages of one tier lie in DRAM and in slower memory, where the kernel puts them.
  if (memory === "weighted-interleave" || memory === "kernel-tiering") return "paged";
  const made = sample.tiers.map((tier) => memoryOf(tier, sample, result.run.machine.facts));
  if (made.length === 0 || made.includes("other")) return "other";
  if (made.includes("cxl")) return made.includes("ssd") || made.includes("pmem") ? "other" : "cxl";
  if (memory === "memory-mode" || (sample.statistics["memory_mode_line_hits"] ?? 0) > 0) return "memory-mode";
  if (made.includes("ssd")) return made.includes("pmem") ? "other" : "ssd";
  return made.includes("pmem") ? "pmem" : "dram";
}

/** What a tier's memory is made of: by the model it was slowed to, by its owner's word, by what the machine has. */
function memoryOf(tier: TierRecord, { vouched }: SampleRecord, facts: Readonly<Record<string, string>>): Memory {
  const { type, kind, emulates } = tier;
  if (kind !== undefined) return kind === "hbm" ? "other" : kind;
  // Results of earlier versions do not say it.
  if (type === "SSDHASH" || type === "LEVELDB") return "ssd";
  if (emulates !== undefined) return namedMemory(emulates);
  if (type === "DRAM") return "dram";
  if (vouched !== undefined) return namedMemory(vouched.medium);
  if (type === "PMEM_LIBPMEM") return "pmem";
  // A node without CPUs may be of either; what the machine has says which, where it has one of them alone.
  const has = (fact: RegExp): boolean => Object.keys(facts).some((name) => fact.test(name));
  const [pmem, cxl] = [has(/^pmem\.region\d/), has(/^cxl\.mem\d/)];
  return pmem === cxl ? "other" : cxl ? "cxl" : "pmem";
}

function namedMemory(name: string): Memory {
  return MADE_OF.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}
