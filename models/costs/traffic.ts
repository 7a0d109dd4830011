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
  /** Rows that a sample looks up, over all tables. */
  readonly lookups: number;
  /** Weights a row. */
  readonly dim: number;
  /** Bytes a weight on the wire. */
  readonly weightBytes: number;
  /** Share of the lookups that are different rows of their batch, 0 < share ≤ 1: rows travel once a batch. Default 1. */
  readonly distinctShare?: number;
  /** CPU seconds of a server for a sample: what it does to rows, nothing of a worker's. Default: not known, and no limit. */
  readonly cpuSeconds?: number;
}

/** Bytes of rows that a sample reads. */
export function bytesPerSample({ lookups, dim, weightBytes, distinctShare = 1 }: SampleWork): number {
  return lookups * distinctShare * dim * weightBytes;
}

/** Bytes of a key on the wire. */
const KEY_BYTES = 8;

/**
 * Machines for a model of so many bytes at so many samples a second: the cheapest shape that has the memory, the network
 * and the CPUs. Rows come down in the pull and gradients go up in the push, each with its key; a network works in both
 * directions at once, so the busier one counts: keys and gradients towards the server.
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
  const { lookups, distinctShare = 1, cpuSeconds } = work;
  const keys = lookups * distinctShare * KEY_BYTES;
  // A pull sends keys up, a push keys and gradients; the rows of the pull go down.
  const networkBytesPerSecond = samplesPerSecond * (2 * keys + bytesPerSample(work));
  return offers(instances, {
    ...need,
    networkBytesPerSecond,
    ...(cpuSeconds === undefined ? {} : { vcpus: samplesPerSecond * cpuSeconds }),
  }, usableShare);
}
