/**
 * Money per unit of work, and the search for machines that hold a model: pure functions of prices, times and bytes. Each
 * is tested against a published figure; sources are in `docs/how-numbers-are-made.md`.
 *
 * @module
 */

import type { Instance } from "./price_book.ts";

/** Bytes in one GiB. */
export const GIB = 1073741824;

/**
 * Dollars for a million samples.
 *
 * @param pricePerHour $ an hour of all machines.
 * @param samplesPerSecond Throughput of the job, above 0.
 */
export function dollarsPerMillionSamples(pricePerHour: number, samplesPerSecond: number): number {
  if (!(samplesPerSecond > 0)) {
    throw new RangeError(`Cannot price samples: throughput is ${samplesPerSecond} samples/s, above 0 is needed`);
  }
  return pricePerHour / (samplesPerSecond * 3600) * 1e6;
}

/**
 * Share of the cost saved by B against A: 1 − p_B T_B / (p_A T_A). Negative when B costs more.
 *
 * @param priceRatio Price per hour of B ÷ that of A.
 * @param throughputRatio Throughput of B ÷ that of A.
 */
export function saving(priceRatio: number, throughputRatio: number): number {
  return 1 - priceRatio / throughputRatio;
}

/**
 * Saving when the bill also holds something both sides rent, such as a GPU worker.
 *
 * @param a $ an hour of the machines of A; `b` those of B.
 * @param common $ an hour that both pay.
 * @param throughputRatio Throughput of B ÷ that of A.
 */
export function savingWithCommon(a: number, b: number, common: number, throughputRatio: number): number {
  return saving((b + common) / (a + common), throughputRatio);
}

/** What a configuration needs of its machines, all together. */
export interface Need {
  /** Bytes that must be in DRAM. */
  readonly dramBytes: number;
  /** Bytes that must be in PMem. */
  readonly pmemBytes: number;
  /** Bytes that must be in CXL memory. Default 0. */
  readonly cxlBytes?: number;
  /** Bytes that must be on NVMe drives. Default 0. */
  readonly ssdBytes?: number;
  /** In Memory Mode DRAM is a cache of PMem and adds no capacity. */
  readonly memoryMode: boolean;
  /** Virtual CPUs; default: any number will do. */
  readonly vcpus?: number;
  /** Bytes a second over the network in the busier direction; default: any network will do. */
  readonly networkBytesPerSecond?: number;
}

/** What decides how many machines are bought. */
export type Limit = "DRAM" | "PMem" | "CXL memory" | "NVMe" | "vCPU" | "network" | "one machine is enough";

/** Enough machines of one shape. */
export interface Offer {
  /** Shape of the machines. */
  readonly instance: Instance;
  /** How many. */
  readonly machines: number;
  /** What decides that. */
  readonly limit: Limit;
  /** $ an hour of all of them. */
  readonly pricePerHour: number;
  /** Nominal bytes bought of the memory that holds the rows ÷ bytes needed there. */
  readonly overBuy: number;
  /** Nominal bytes of DRAM on all of them. */
  readonly dramBytes: number;
  /** Nominal bytes of PMem on all of them. */
  readonly pmemBytes: number;
}

/**
 * How many machines of a shape hold the need; undefined if none ever do, or if the need names something that the source of
 * the shape does not state.
 *
 * @param usableShare Share of each memory that tables may use, 0 < share ≤ 1; the rest is for system and process.
 */
export function fit(instance: Instance, need: Need, usableShare: number): Offer | undefined {
  if (!(usableShare > 0 && usableShare <= 1)) {
    throw new RangeError(`Cannot fit machines: the usable share is ${usableShare}, above 0 and at most 1 is needed`);
  }
  if (instance.dramGib === undefined || instance.pmemGib === undefined) return undefined;
  const [dram, pmem] = [instance.dramGib * GIB, instance.pmemGib * GIB];
  const inDram = need.memoryMode ? 0 : need.dramBytes;
  const inPmem = need.memoryMode ? need.dramBytes + need.pmemBytes : need.pmemBytes;
  const [cxl, ssd] = [(instance.cxlGib ?? 0) * GIB, nvmeBytes(instance)];
  const { cxlBytes = 0, ssdBytes = 0 } = need;
  const machinesFor = (amount: number, capacity: number | undefined): number =>
    amount === 0 ? 0 : capacity === undefined || capacity === 0 ? Infinity : Math.ceil(amount / capacity);
  const counts: readonly (readonly [Limit, number])[] = [
    ["one machine is enough", 1],
    ["DRAM", machinesFor(inDram, dram * usableShare)],
    ["PMem", machinesFor(inPmem, pmem * usableShare)],
    ["CXL memory", machinesFor(cxlBytes, cxl * usableShare)],
    ["NVMe", machinesFor(ssdBytes, ssd * usableShare)],
    ["vCPU", machinesFor(need.vcpus ?? 0, instance.vcpus)],
    ["network", machinesFor(need.networkBytesPerSecond ?? 0, (instance.networkGBs ?? 0) * 1e9)],
  ];
  const [limit, machines] = counts.reduce((most, one) => one[1] > most[1] ? one : most);
  if (!Number.isFinite(machines)) return undefined;
  const holds = ([[ssdBytes, ssd], [cxlBytes, cxl], [inPmem, pmem]] as const).find(([bytes]) => bytes > 0);
  const overBuy = machines * (holds?.[1] ?? dram) / (holds?.[0] ?? inDram);
  return {
    instance,
    machines,
    limit,
    pricePerHour: machines * instance.pricePerHour,
    overBuy,
    dramBytes: machines * dram,
    pmemBytes: machines * pmem,
  };
}

/** Bytes of all NVMe drives of a machine. */
export function nvmeBytes({ nvmeCount = 0, nvmeGB = 0 }: Pick<Instance, "nvmeCount" | "nvmeGB">): number {
  return nvmeCount * nvmeGB * 1e9;
}

/** Offers of all shapes that hold the need, cheapest first; equal prices by name. */
export function offers(instances: readonly Instance[], need: Need, usableShare: number): Offer[] {
  return instances
    .filter((instance) => instance.role === "memory")
    .flatMap((instance) => fit(instance, need, usableShare) ?? [])
    .sort((a, b) => a.pricePerHour - b.pricePerHour || (a.instance.name < b.instance.name ? -1 : 1));
}

/**
 * $ an hour if the offer's memory could be rented to the byte at the same price per byte: what is left of a saving
 * then does not come from the sizes machines are sold in.
 */
export function priceWithoutOverBuy(offer: Offer): number {
  return offer.pricePerHour / offer.overBuy;
}
