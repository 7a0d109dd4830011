/**
 * Takes the difference between two configurations apart: the parts of the set-up in which they differ are switched one
 * by one, in every order, and each part gets the mean of what its switch changed (Shapley 1953). So the parts' values
 * add up to the difference exactly, and none depends on an order that somebody chose.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
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
    ["placement", "policy", "hits"],
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
    take: (one, other) => ({ ...one, tiers: other.tiers, placement: other.placement }),
  }];
  return [
    ...tiers,
    ...PARTS.filter(({ name }) => same || (name !== "stores" && name !== "row rounding" && name !== "placement")),
  ]
    .filter((part) => JSON.stringify(part.take(from, to)) !== JSON.stringify(from));
}

/** A part's share of a difference. */
export interface ExplainedPart {
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
  const values: number[] = [];
  for (let set = 0; set < 2 ** parts.length; set++) {
    // Parts switched: the bits of the number.
    const one = parts.reduce((made, part, i) => (set >> i & 1) === 1 ? part.take(made, to) : made, from);
    values.push(await valueOf(one));
  }
  const weight = (others: number) => factorial(others) * factorial(parts.length - others - 1) / factorial(parts.length);
  const explained = parts.map((part, i) => {
    let value = 0;
    for (let set = 0; set < values.length; set++) {
      if ((set >> i & 1) === 1) continue;
      value += weight(bits(set)) * ((values[set | 1 << i] ?? 0) - (values[set] ?? 0));
    }
    return { part: part.name, value, says: `${part.says(from)} → ${part.says(to)}` };
  });
  return { from: values[0] ?? 0, to: values.at(-1) ?? 0, parts: explained };
}

function bits(number: number): number {
  let n = 0;
  for (let rest = number; rest > 0; rest >>= 1) n += rest & 1;
  return n;
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}
