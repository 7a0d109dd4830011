/**
 * Takes the difference between two configurations apart: the parts of the set-up in which they differ are switched one
 * by one, in every order, and each part gets the mean of what its switch changed (Shapley 1953). So the parts' values
 * add up to the difference exactly, and none depends on an order that somebody chose.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { shapleyOf } from "../../base/shapley.ts";
import type { ResolvedSimulatedConfiguration, ResolvedTier } from "./simulation.ts";

/** A part of the set-up: takes what is its own of `to` over into `from`. */
interface Part {
  readonly name: string;
  readonly says: (one: ResolvedSimulatedConfiguration) => string;
  readonly take: (
    from: ResolvedSimulatedConfiguration,
    to: ResolvedSimulatedConfiguration,
  ) => ResolvedSimulatedConfiguration;
}

function tierFields(name: string, fields: readonly (keyof ResolvedTier)[]): Part {
  const pick = (tier: ResolvedTier) => Object.fromEntries(fields.map((field) => [field, tier[field]]));
  return {
    name,
    says: ({ tiers }) => tiers.map((tier) => fields.map((field) => `${tier[field]}`).join(" ")).join(", "),
    take: (from, to) => ({
      ...from,
      tiers: from.tiers.map((tier, i) => ({ ...tier, ...pick(to.tiers[i] ?? tier) })),
    }),
  };
}

function field<K extends keyof ResolvedSimulatedConfiguration>(
  name: string,
  keys: readonly K[],
  says: Part["says"],
): Part {
  return {
    name,
    says,
    take: (from, to) => {
      const copy = { ...from };
      for (const key of keys) {
        if (to[key] === undefined) delete copy[key];
        else copy[key] = to[key];
      }
      return copy;
    },
  };
}

const MEDIA: readonly (keyof ResolvedTier)[] = ["media", "size", "hops", "remote", "depth", "perRead", "perWrite"];
const PARTS: readonly Part[] = [
  field(
    "placement",
    ["placement", "weights", "policy", "hits"],
    ({ placement, policy }) => placement === "rows" ? `rows, ${policy}` : placement,
  ),
  tierFields("stores", ["store"]),
  tierFields("row rounding", ["round"]),
  field("page faults", ["pages"], ({ pages }) => `${pages.bytes} B pages, ${pages.fault * 1e6} us a fault`),
  field("page migration", ["migration"], ({ migration }) => migration === undefined ? "none" : "NUMA balancing"),
  field(
    "software",
    ["software"],
    ({ software }) => `maintenance ${software.maintenance}, lock ${software.lock * 1e9} ns`,
  ),
  field("checkpoint", ["checkpoint"], ({ checkpoint }) => checkpoint.kind),
];

function tiersText({ tiers }: ResolvedSimulatedConfiguration): string {
  return tiers.map(({ media, size, hops }) =>
    [media, ...(size === 0 ? [] : [formatBytes(size)]), ...(hops === 0 ? [] : [`${hops} NUMA hop`])].join(" ")
  ).join(" + ");
}

/** Parts in which two configurations differ. Different tiers are one part, with their stores and rounding. */
export function differingParts(
  from: ResolvedSimulatedConfiguration,
  to: ResolvedSimulatedConfiguration,
): readonly Part[] {
  const same = from.tiers.length === to.tiers.length;
  const tiers: Part[] = same ? [{ ...tierFields("media and sizes", MEDIA), says: tiersText }] : [{
    name: "tiers",
    says: tiersText,
    take: ({ weights: _, ...one }, { tiers, placement, weights }) => ({
      ...one,
      tiers,
      placement,
      ...(weights === undefined ? {} : { weights }),
    }),
  }];
  return [
    ...tiers,
    ...PARTS.filter(({ name }) => same || (name !== "stores" && name !== "row rounding" && name !== "placement")),
  ]
    .filter((part) => JSON.stringify(part.take(from, to)) !== JSON.stringify(from));
}

/** A part's share of a difference. */
interface ExplainedPart {
  readonly part: string;
  readonly value: number;
  readonly says: string;
}

/**
 * Takes a difference apart.
 *
 * @param valueOf What is compared, of a configuration between the two.
 */
export async function explainDifference(
  from: ResolvedSimulatedConfiguration,
  to: ResolvedSimulatedConfiguration,
  valueOf: (one: ResolvedSimulatedConfiguration) => Promise<number>,
): Promise<{ readonly from: number; readonly to: number; readonly parts: readonly ExplainedPart[] }> {
  const parts = differingParts(from, to);
  const values = new Map<ReadonlySet<string>, number>();
  const shares = await shapleyOf(parts.map(({ name }) => name), async (switched) => {
    const value = await valueOf(parts.reduce((one, part) => switched.has(part.name) ? part.take(one, to) : one, from));
    values.set(switched, value);
    return value;
  });
  const at = (switched: number) => [...values].find(([set]) => set.size === switched)?.[1] ?? 0;
  return {
    from: at(0),
    to: at(parts.length),
    parts: parts.map(({ name, says }) => ({
      part: name,
      value: shares[name] ?? 0,
      says: `${says(from)} → ${says(to)}`,
    })),
  };
}
