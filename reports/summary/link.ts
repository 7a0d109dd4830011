/**
 * What a case's rows on a device cost its link, out of the counters of its samples.
 *
 * @module
 */

import type { SampleRecord } from "../../scenarios/record.ts";

/** A device that holds rows, and what went over its link in a counted step: means over all samples. */
export interface LinkUse {
  /** Name of the device, as its driver says it. */
  readonly device: string;
  /** The driver's name or version, as it says it. */
  readonly driver: string;
  /** The version of OpenCL that the device offers. */
  readonly version: string;
  /** `measured` on a GPU; `emulated` on a device that is a CPU, whose rows cross no link. */
  readonly kind: string;
  /** Bytes of its pool, which holds the rows, of the device's memory, at the end of the last sample. */
  readonly poolBytes: number;
  /** What became of the pool where it is sized from the first steps: `made`, `refused`, `to-come`; undefined elsewhere. */
  readonly poolPlan: string | undefined;
  /** Nanoseconds that taking the pool and making it one piece took, from opening on. */
  readonly poolNs: number;
  /** Bytes that the pool has of the host's memory. */
  readonly hostBytes: number;
  /** Nanoseconds that taking them took. */
  readonly hostNs: number;
  /** Bytes a step of rows there that kernels reached over the link. */
  readonly hostRowBytes: number;
  /** Bytes of the buffers that transfers go through. */
  readonly stagingBytes: number;
  /** Bytes a step to the device. */
  readonly upBytes: number;
  /** Bytes a step from it. */
  readonly downBytes: number;
  /** Transfers a step, both ways. */
  readonly transfers: number;
  /** Nanoseconds a step in calls that moved or stepped rows there. */
  readonly ns: number;
}

/** The device of a case; undefined where it has none, or the record does not count it. */
export function linkOf(samples: readonly SampleRecord[]): LinkUse | undefined {
  const tier = samples.at(-1)?.tiers.find(({ type }) => type === "HBM_OPENCL");
  if (tier === undefined || samples.some(({ statistics }) => statistics["link_transfers"] === undefined)) {
    return undefined;
  }
  const steps = samples.reduce((sum, { stepNs }) => sum + stepNs.length, 0);
  const mean = (name: string) => samples.reduce((sum, { statistics }) => sum + (statistics[name] ?? 0), 0) / steps;
  const fact = (name: string) => tier.facts[name] ?? "unknown";
  return {
    device: fact("device"),
    driver: fact("driver"),
    version: fact("version"),
    kind: fact("kind"),
    poolBytes: Number(fact("pool_bytes")),
    poolPlan: tier.facts["pool_plan"],
    poolNs: Number(tier.facts["pool_ns"] ?? 0), // older records have none of these
    hostBytes: Number(tier.facts["host_bytes"] ?? 0),
    hostNs: Number(tier.facts["host_ns"] ?? 0),
    hostRowBytes: mean("link_host_bytes"),
    stagingBytes: Number(fact("staging_bytes")),
    upBytes: mean("link_up_bytes"),
    downBytes: mean("link_down_bytes"),
    transfers: mean("link_transfers"),
    ns: mean("link_ns"),
  };
}
