/**
 * The owner's word for a medium. A guest cannot see whether its PMEM is real, nor what a node without CPUs is made of;
 * whoever set the machine up knows. The word covers the medium alone: the way to it must be the configuration's own, a
 * file system that maps it directly or a node without CPUs. It is a fact of the machine, so it is given to a run and
 * never part of a scenario.
 *
 * @module
 */

import { nearest } from "../../base/nearest.ts";
import type { Availability } from "../../machines/availability.ts";
import { listMedia, shippedMedia } from "../../models/media/media.ts";
import type { RunRecord, Vouched } from "../record.ts";
import type { ResolvedConfiguration, ResolvedScenario, TierMedium } from "../scenario.ts";
import { usesLibpmem, usesMemkind, usesNodes } from "../../ffi/storage.ts";
import type { RunnableCase } from "./configurations.ts";
import { isWithin, type Place } from "./place.ts";

/** What the owner of a machine says a medium is. */
export interface Vouch {
  /** A media model, or the family of several: `optane-200`, `cxl`. */
  readonly medium: string;
  /** Configuration of the scenario; without it, every one whose medium nothing here proves. */
  readonly configuration?: string;
}

/** A word that can be meant, with the kind of medium that it names. */
export interface KnownVouch extends Vouch {
  readonly kind: TierMedium;
}

/** The owner's word names something that does not exist, or says something twice. */
export class VouchError extends Error {
  /** The error. @param message What was said, what was found, what to do. */
  constructor(message: string) {
    super(message);
    this.name = "VouchError";
  }
}

/**
 * Names that a medium may be called by, and its kind: the models of PMEM and CXL memory, and the beginnings of their names
 * that are those of one kind of medium alone.
 */
async function vouchableKinds(): Promise<ReadonlyMap<string, TierMedium>> {
  const models = await shippedMedia();
  const beginnings = (name: string) => name.split("-").map((_, i, words) => words.slice(0, i + 1).join("-"));
  const kinds = new Map<string, Set<string>>();
  for (const { name, kind } of models) {
    for (const beginning of beginnings(name)) kinds.set(beginning, (kinds.get(beginning) ?? new Set()).add(kind));
  }
  const found = [...kinds].flatMap(([name, [kind, ...others]]) =>
    others.length === 0 && (kind === "pmem" || kind === "cxl") ? [[name, kind] as const] : []
  );
  return new Map(found.sort(([a], [b]) => a < b ? -1 : 1));
}

/** Names that a medium may be called by: models of PMEM and CXL memory, and what several of one kind begin with. */
export async function vouchableMedia(): Promise<string[]> {
  return [...(await vouchableKinds()).keys()];
}

/**
 * Looks for words that cannot be meant.
 *
 * @returns The words with the kinds of media that they name.
 * @throws {VouchError} naming a medium or a configuration that does not exist, or what is said twice.
 */
export async function checkVouches(
  vouches: readonly Vouch[],
  { configurations }: Pick<ResolvedScenario, "configurations">,
): Promise<KnownVouch[]> {
  if (vouches.length === 0) return [];
  const kinds = await vouchableKinds();
  const media = [...kinds.keys()];
  const said = new Set<string | undefined>();
  const meantWords: KnownVouch[] = [];
  for (const { medium, configuration } of vouches) {
    const kind = kinds.get(medium);
    if (kind === undefined) {
      const known = (await listMedia()).includes(medium);
      throw new VouchError(
        `Cannot vouch for "${medium}": ${known ? "it is no PMEM or CXL memory" : "there is no such medium"}` +
          `${meant(medium, media)}; known: ${media.join(", ")}`,
      );
    }
    if (configuration !== undefined && !Object.hasOwn(configurations, configuration)) {
      const names = Object.keys(configurations);
      throw new VouchError(
        `Cannot vouch for the medium of "${configuration}": the scenario has no such configuration` +
          `${meant(configuration, names)}; it has ${names.join(", ")}`,
      );
    }
    if (said.has(configuration)) {
      const of = configuration === undefined ? "every configuration" : `"${configuration}"`;
      throw new VouchError(`Cannot vouch twice for the medium of ${of}: name a configuration, as in fsdax=${medium}`);
    }
    said.add(configuration);
    meantWords.push({ medium, kind, ...(configuration === undefined ? {} : { configuration }) });
  }
  return meantWords;
}

function meant(word: string, names: readonly string[]): string {
  const near = nearest(word, names);
  return near === undefined ? "" : `, did you mean "${near}"?`;
}

/** What is said of the medium of a configuration. */
export function vouchOf(vouches: readonly KnownVouch[], name: string): KnownVouch | undefined {
  return vouches.find(({ configuration }) => configuration === name) ??
    vouches.find(({ configuration }) => configuration === undefined);
}

/** Where a configuration's medium is if its owner vouches for it, or why nobody can. */
type VouchedPlace =
  | { readonly place: Place; readonly shows: string }
  | { readonly why: string };

/** The place of a configuration whose medium is vouched for as one of this kind. */
export function vouchedPlace(
  configuration: ResolvedConfiguration,
  here: Availability,
  kind: TierMedium,
): VouchedPlace {
  if (configuration.memory === "memory-mode") {
    return { why: "of Memory Mode a guest sees neither the medium nor the way to it" };
  }
  if (configuration.memory !== undefined) return { why: "only a store's own tier can be vouched for" };
  if (configuration.medium !== undefined && configuration.medium !== kind) {
    return { why: `it is to be ${configuration.medium === "cxl" ? "CXL memory" : "PMEM"}` };
  }
  if (usesLibpmem(configuration)) return onFileSystem(configuration, here);
  if (usesMemkind(configuration) && !here.memkind.available) return { why: here.memkind.reason };
  if (usesNodes(configuration)) return onNodes(configuration, here);
  return { why: "it has no PMEM or CXL memory" };
}

function onFileSystem({ path = "auto" }: ResolvedConfiguration, { unproven: { fsdax } }: Availability): VouchedPlace {
  if (!fsdax.possible) return { why: path === "auto" ? fsdax.why : `"${path}" is on no DAX file system: ${fsdax.why}` };
  const way = fsdax.ways.find((one) => path === "auto" || isWithin(path, one.path));
  if (way === undefined) {
    return { why: `"${path}" is on no DAX file system of that kind; there is ${fsdax.ways.map((one) => one.path)}` };
  }
  return { place: { kind: "directory", path: path === "auto" ? way.path : path }, shows: way.shows };
}

function onNodes(configuration: ResolvedConfiguration, { unproven: { kmemDax } }: Availability): VouchedPlace {
  const { nodes = "auto" } = configuration;
  if (!kmemDax.possible) {
    return { why: nodes === "auto" ? kmemDax.why : `node ${nodes.join(", ")} is no node without CPUs: ${kmemDax.why}` };
  }
  const { ways } = kmemDax;
  // Memory of DAX devices is what the configuration is named after; other nodes are taken where there is none.
  const own = ways.filter(({ device }) => device);
  const taken = nodes === "auto" ? own.length > 0 ? own : ways : ways.filter(({ node }) => nodes.includes(node));
  const absent = nodes === "auto" ? [] : nodes.filter((node) => !ways.some((way) => way.node === node));
  if (absent.length > 0) {
    const there = ways.map(({ node }) => node).join(", ");
    return {
      why: `node ${absent.join(", ")} has CPUs or no memory, or was verified; to be vouched for: node ${there}`,
    };
  }
  return {
    place: {
      kind: "nodes",
      nodes: taken.map(({ node }) => node).sort((a, b) => a - b),
      by: usesMemkind(configuration) ? "memkind" : "mbind",
    },
    shows: taken.map(({ shows }) => shows).join("; "),
  };
}

/** What a run took from its owner, a configuration once: for its record, and to be compared when it goes on. */
export function vouchedConfigurations(
  cases: readonly Pick<RunnableCase, "configuration" | "decision">[],
): NonNullable<RunRecord["vouched"]> {
  const found = new Map<string, Vouched & { readonly configuration: string }>();
  for (const { configuration, decision: { vouched } } of cases) {
    if (vouched !== undefined) found.set(configuration, { configuration, ...vouched });
  }
  return [...found.values()];
}
