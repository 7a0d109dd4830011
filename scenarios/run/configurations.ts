/**
 * Decides for every configuration how it can run here, measured or emulated, and what its worker is given: the options
 * of the store and the environment of the process.
 *
 * @module
 */

import { UnavailableError } from "../../base/unavailable.ts";
import { formatBytes } from "../../base/bytes.ts";
import type { Availability, Found } from "../../machines/availability.ts";
import { hbmDoubt, hbmOf, type HbmPlace, hbmText } from "./hbm.ts";
import { mediumOf, type Place, standIn } from "./place.ts";
import type { Case } from "../plan.ts";
import type { Evidence, Vouched } from "../record.ts";
import type { ResolvedConfiguration, TierMedium } from "../scenario.ts";
import { type SsdTier, ssdTierOf, tiersOf } from "../../ffi/storage.ts";
import { type KnownVouch, vouchedPlace, vouchOf } from "./vouch.ts";

/** The tier of a configuration that is on a disk. It is measured there, whatever stands for the PMEM above it. */
interface Disk {
  readonly tier: SsdTier;
  /** Directory that the samples' folders are made in; absent: the project's cache folder. */
  readonly directory?: string;
}

/** How a configuration runs. */
interface Decision {
  /** `emulated` if any tier is, and on a medium that may be a guest's. */
  readonly evidence: Evidence;
  readonly place: Place;
  /** Absent without a tier on a disk. */
  readonly ssd?: Disk;
  /** Absent without a tier of HBM. */
  readonly hbm?: HbmPlace;
  /** What the memory below DRAM is; absent for plain DRAM, and for what is emulated: that is of its model's kind. */
  readonly medium?: TierMedium;
  /**
   * Media model that it is slowed to; absent where the configuration's own medium is used, and where nothing slows what stands
   * for it ({@linkcode isStandIn}).
   */
  readonly media?: string;
  /** True if the medium is a guest's: no speed may be shown. */
  readonly virtual: boolean;
  /** Why it is not measured. */
  readonly missing?: string;
  /** Bytes of the DRAM cache of a machine in Memory Mode. */
  readonly cacheBytes?: number;
  /** What the owner says that the medium is; it is measured, then. */
  readonly vouched?: Vouched;
}

/** A case that will run. */
export interface RunnableCase extends Case {
  readonly decision: Decision;
}

/** A case that the scenario leaves out. */
export interface SkippedCase extends Case {
  readonly skipped: string;
}

/** Why a medium that is there is not measured. */
const VIRTUAL = "a hypervisor runs this machine, so the medium may be virtual";

/** The disk of a configuration here; `ssd` is undefined if it has no tier on one. A disk has no stand-in. */
function diskOf(
  { storage, ssdPath }: ResolvedConfiguration,
  here: Availability,
): Found<{ readonly ssd: Disk | undefined }> {
  const tier = ssdTierOf(storage);
  if (tier === undefined) return { available: true, ssd: undefined };
  const directory = ssdPath === undefined || ssdPath === "auto" ? undefined : ssdPath;
  const found = here.ssd(tier, directory);
  if (!found.available) return { ...found, emulable: false };
  return { available: true, ssd: { tier, ...(directory === undefined ? {} : { directory }) } };
}

/**
 * How each case runs here.
 *
 * @param cases The cases of a scenario.
 * @param here What the machine has.
 * @param require `measured` makes the absence of a medium an error for every configuration. A medium that its owner
 *   vouches for is there.
 * @param vouches What the owner says of media that nothing here proves.
 * @returns The cases that run and those that are left out.
 * @throws {UnavailableError} naming every configuration that cannot run as required, or whose medium cannot be vouched
 *   for.
 */
export function decideCases(
  cases: readonly Case[],
  here: Availability,
  require?: "measured",
  vouches: readonly KnownVouch[] = [],
): { runnable: RunnableCase[]; skipped: SkippedCase[] } {
  const runnable: RunnableCase[] = [];
  const skipped: SkippedCase[] = [];
  const errors = new Map<string, string>();
  const refused = new Map<string, string>();
  for (const one of cases) {
    const configuration = configurationOf(one);
    const disk = diskOf(configuration, here);
    const fast = hbmOf(configuration, here);
    const doubt = fast.available ? hbmDoubt(fast.hbm) : undefined;
    const hbm = fast.available && fast.hbm !== undefined ? { hbm: fast.hbm } : {};
    const vouch = vouchOf(vouches, one.configuration);
    if (vouch !== undefined && disk.available && fast.available && doubt === undefined) {
      const found = vouchedPlace(configuration, here, vouch.kind);
      if ("place" in found) {
        const { place, shows } = found;
        const vouched: Vouched = { medium: vouch.medium, by: "owner", shows };
        const ssd = disk.ssd === undefined ? {} : { ssd: disk.ssd };
        const decision: Decision = {
          evidence: "measured",
          place,
          ...ssd,
          ...hbm,
          medium: vouch.kind,
          virtual: false,
          vouched,
        };
        runnable.push({ ...one, decision });
        continue;
      }
      const why = `${vouch.medium} cannot be vouched for as the medium of ${one.configuration}: ${found.why}`;
      (vouch.configuration === undefined ? refused : errors).set(one.configuration, why);
      if (vouch.configuration !== undefined) continue;
    }
    const found = !disk.available ? disk : !fast.available ? fast : mediumOf(configuration, here);
    const ssd = disk.available && disk.ssd !== undefined ? { ssd: disk.ssd } : {};
    const refusal = found.available ? doubt : undefined;
    if (refusal !== undefined && (require === "measured" || one.scenario.whenUnavailable === "error")) {
      errors.set(one.configuration, `${one.configuration} cannot be measured here: ${refusal}`);
      continue;
    }
    if (refusal !== undefined && one.scenario.whenUnavailable === "skip") {
      skipped.push({ ...one, skipped: refusal });
      continue;
    }
    if (found.available) {
      const { place, medium, cacheBytes } = found;
      const virtual = found.virtual || ("hbm" in hbm && hbm.hbm.by !== "opencl" && hbm.hbm.virtual);
      const cache = {
        ...(medium === undefined ? {} : { medium }),
        ...(cacheBytes === undefined ? {} : { cacheBytes }),
      };
      if (virtual && require === "measured") {
        errors.set(one.configuration, `${one.configuration} cannot be measured here: ${VIRTUAL}`);
        continue;
      }
      // The code path is that of a measurement; what it shows of the medium's speed is not.
      const missing = virtual ? VIRTUAL : refusal;
      const evidence = missing === undefined
        ? { evidence: "measured" } as const
        : { evidence: "emulated", missing } as const;
      runnable.push({ ...one, decision: { ...evidence, place, ...ssd, ...hbm, virtual, ...cache } });
      continue;
    }
    const whenUnavailable = require === "measured" ? "error" : one.scenario.whenUnavailable;
    const place = standIn(configuration, here);
    // What the kernel does with pages has no model that would stand in for it.
    const alone = configuration.memory === "kernel-tiering" && whenUnavailable === "emulate";
    if (alone) {
      skipped.push({ ...one, skipped: `${found.reason}; kernel tiering has no emulation` });
    } else if (whenUnavailable === "skip") {
      skipped.push({ ...one, skipped: found.reason });
    } else if (
      whenUnavailable === "error" || found.emulable === false || place === undefined ||
      configuration.media === undefined
    ) {
      errors.set(
        one.configuration,
        `${one.configuration} cannot ${found.emulable === false ? "run" : "be measured"} here: ${found.reason}`,
      );
    } else {
      const decision: Decision = {
        evidence: "emulated",
        place,
        ...ssd,
        ...hbm,
        // Rows that outlive the process are records, which nothing slows down.
        ...(keepsInPmem(configuration) ? {} : { media: configuration.media }),
        virtual: false,
        missing: doubt === undefined ? found.reason : `${found.reason}; ${doubt}`,
      };
      runnable.push({ ...one, decision });
    }
  }
  // A word for all configurations is meant for those that it can be true of; there must be one.
  if (refused.size > 0 && !runnable.some(({ decision }) => decision.vouched !== undefined)) {
    for (const [name, why] of refused) if (!errors.has(name)) errors.set(name, why);
  }
  if (errors.size > 0) {
    throw new UnavailableError(
      `${[...errors.values()].join("\n")}\nRun "deno task tierbench doctor" for what is missing`,
    );
  }
  if (runnable.length === 0) {
    throw new UnavailableError(
      'No configuration can run here: all were skipped. Run "deno task tierbench doctor" for what is missing',
    );
  }
  return { runnable, skipped };
}

/** Whether checkpoints stay in PMEM. */
function keepsInPmem({ checkpoint, storage }: ResolvedConfiguration): boolean {
  return checkpoint === "in-place" && tiersOf(storage).at(-1) === "PMEM";
}

/**
 * Whether a file or other memory stands for the memory below DRAM. Where its own medium is known, something else is
 * emulated: HBM, on a device that is a CPU.
 */
export function isStandIn({ evidence, virtual, medium }: Pick<Decision, "evidence" | "virtual" | "medium">): boolean {
  return evidence === "emulated" && !virtual && medium === undefined;
}

/** The configuration of a case. */
export function configurationOf(one: Case): ResolvedConfiguration {
  const configuration = one.scenario.configurations[one.configuration];
  if (configuration !== undefined) return configuration;
  throw new Error(`Cannot find the configuration "${one.configuration}" in its scenario`);
}

/** What the place of a sample really is: known when it begins, since room in memory may come and go. */
export interface Scratch {
  /** Directory of the pool file. */
  readonly path: string;
  /** `tmpfs` or `disk`. */
  readonly medium: "tmpfs" | "disk";
  /** File in it that whoever uses the directory locks. */
  readonly owner?: string;
}

/** One sentence: how the figures of a case are obtained. */
export function howText(decision: Decision, dram: number, scratch?: Scratch): string {
  const { place, ssd, hbm, vouched } = decision;
  const word = vouched === undefined ? "" : `; the medium is ${vouched.medium} by the owner's word (${vouched.shows})`;
  const memory = place.kind === "none" && (ssd !== undefined || hbm !== undefined)
    ? []
    : [`${placeText(decision, dram, scratch)}${word}`];
  const parts = [
    ...(hbm === undefined ? [] : [hbmText(hbm)]),
    ...memory,
    ...(ssd === undefined
      ? []
      : [`${ssd.tier} in files in ${ssd.directory ?? "the project's cache folder"}, on its disk`]),
  ];
  return parts.join("; ") + (memory.length === 0 ? ", wall clock" : "");
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;

function placeText(decision: Decision, dram: number, scratch?: Scratch): string {
  const { place, media, medium, virtual, vouched, cacheBytes } = decision;
  const model = media === undefined ? "at its own speed, since nothing slows records down" : `slowed to ${media}`;
  const clock = virtual ? "in a virtual machine, wall clock" : "wall clock";
  switch (place.kind) {
    case "none":
      return "Plain DRAM, wall clock";
    case "memory-mode":
      return media === undefined
        ? `The machine's Memory Mode, ${clock}; its DRAM cache is all DRAM of the machine`
        : `Model of Memory Mode: a direct-mapped DRAM cache of ${formatBytes(dram)} over the tables' rows, ` +
          `${media} behind`;
    case "nodes":
      return media === undefined
        ? `${place.by} on ${vouched === undefined ? `${medium === "cxl" ? "CXL" : "PMEM"} node` : "node"} ${
          place.nodes.join(", ")
        }, ${clock}`
        : `${place.by} on node ${place.nodes.join(", ")}, which is DRAM, ${model}`;
    case "interleaved":
      return media === undefined
        ? `Pages interleaved over nodes ${place.nodes.join(", ")} by the kernel's weights, ${percent(place.share)} on ${
          medium === "cxl" ? "CXL" : "PMEM"
        } node ${place.slower.join(", ")}, ${clock}`
        : `DRAM, ${percent(place.share)} of its rows' accesses ${model}: the mean over where pages are`;
    case "tiered":
      return `The kernel's tiering between ${formatBytes(cacheBytes ?? 0)} of DRAM and node ${
        place.slower.join(", ")
      }, ${clock}; DRAM is all that the machine has`;
    case "directory":
      return !isStandIn(decision)
        ? `libpmem on ${place.path}, a DAX file system, ${clock}`
        : `libpmem on a file in ${place.path}, which is no PMEM, ${model}`;
    case "scratch":
      return `libpmem on a file ${
        scratch === undefined ? "in memory or on disk" : scratch.medium === "tmpfs" ? "in memory (tmpfs)" : "on disk"
      }, ${model}`;
  }
}

/** Environment of a case's processes: what makes the libraries take DRAM for PMEM, in these processes alone. */
export function environmentOf({ decision }: RunnableCase): Record<string, string> {
  const { hbm } = decision;
  return {
    ...(hbm?.by === "memkind" ? { MEMKIND_HBW_NODES: hbm.nodes.join(",") } : {}),
    ...pmemEnvironment(decision),
  };
}

function pmemEnvironment(decision: Decision): Record<string, string> {
  const { place } = decision;
  if (place.kind === "nodes") return place.by === "memkind" ? { MEMKIND_DAX_KMEM_NODES: place.nodes.join(",") } : {};
  // On its own medium nothing is forced, virtual or not: there libpmem has to find out by itself.
  if (isStandIn(decision) && (place.kind === "scratch" || place.kind === "directory")) {
    return { PMEM_IS_PMEM_FORCE: "1" };
  }
  return {};
}
