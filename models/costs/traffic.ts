/**
 * What a model of some size at some speed asks of its servers: bytes of its tables, bytes over the network, CPUs.
 *
 * @module
 */

import { type Need, type Offer, offers } from "./cost_model.ts";
import type { Instance } from "./price_book.ts";

/** Shape of the tables of a model. */
export interface TableShape {
  /** Rows of each table. */
  readonly rows: readonly number[];
  /** Weights a row. */
  readonly dim: number;
  /** Bytes a weight: 4 for fp32, 2 for bf16. */
  readonly weightBytes: number;
  /** Optimizer slots, in weights for each weight: 0 for SGD, 1 for Adagrad, 2 for Adam. Default 0. */
  readonly slots?: number;
}

/** Bytes of the rows of all tables, weights and slots, without index and padding. */
export function tableBytes({ rows, dim, weightBytes, slots = 0 }: TableShape): number {
  return rows.reduce((sum, own) => sum + own, 0) * dim * weightBytes * (1 + slots);
}

/** What a sample makes a parameter server do. */
export interface SampleWork {
  /**
   * Bytes over the busier direction of the network: a network works in both at once. Of a recorded run the larger of `toServers`
   * and `fromServers` ÷ `batch`; else `wireBytes()` says them.
   */
  readonly networkBytes: number;
  /** CPU seconds of a server for a sample: what it does to rows, nothing of a worker's. Default: not known, and no limit. */
  readonly cpuSeconds?: number;
}

/**
 * Machines for a model of so many bytes at so many samples a second: the cheapest shape that has the memory, the network
 * and the CPUs.
 *
 * @param instances Shapes to choose from; one without a stated network or vCPU count is not offered if that is needed.
 * @param need Where the bytes must be.
 * @param samplesPerSecond Of all workers together.
 * @param usableShare Share of each memory that tables may use.
 * @returns Offers, the cheapest first; empty if none will do.
 */
export function serversNeeded(
  instances: readonly Instance[],
  need: Need,
  samplesPerSecond: number,
  work: SampleWork,
  usableShare: number,
): Offer[] {
  const { networkBytes, cpuSeconds } = work;
  return offers(instances, {
    ...need,
    networkBytesPerSecond: samplesPerSecond * networkBytes,
    ...(cpuSeconds === undefined ? {} : { vcpus: samplesPerSecond * cpuSeconds }),
  }, usableShare);
}
