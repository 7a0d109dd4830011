/**
 * Our store through Deno, as a contender of the store's bench: the commands of `native/bench/harness.c`, of which it
 * has lookups on one thread. Beside a contender in C this tells what the way through Deno costs.
 *
 *   prepare keys=<n> workload=<file> library=<file>   opens a store and creates all rows
 *   round kind=lookup into=0|1 distribution=<0..3> ms=<n> first=<batch>   whole batches until the time is up
 *   check distribution=<0..3>                         digest of one batch's weights
 *
 * @module
 */

import process from "node:process";
import { createInterface } from "node:readline";
import { EmbeddingStore } from "../ffi/store.ts";
import type { Table } from "../ffi/table.ts";
import { type Answer, numberOf, parseAnswer } from "./contender.ts";

/** As in native/bench/contender.h and workload.h. */
const BATCH = 53_248, DIM = 16, FIRST_WEIGHT = 0.05, HEAD_BYTES = 24, THREADS = 2;

/** A limit that ten million rows are far from; nothing is taken before there are rows. */
const SIZE = 2 ** 34;

const MASK = (1n << 63n) - 1n;

/** The id of the r-th most frequent key: `bench_id` of native/bench/workload.c. */
function id(rank: bigint): bigint {
  let x = (rank + 0x2545f4914f6cdd1dn) & MASK;
  x = ((x ^ (x >> 32n)) * 0x9fb21c651e98df25n) & MASK;
  x = ((x ^ (x >> 31n)) * 0xbf58476d1ce4e5b9n) & MASK;
  return x ^ (x >> 32n);
}

/** `bench_mix` of native/bench/contender.h over the bits of weights, as harness.c's `check` does. */
function digest(rows: Float32Array<ArrayBuffer>): string {
  const bits = new Uint32Array(rows.buffer, rows.byteOffset, rows.length);
  let sum = 0n;
  for (const word of bits) {
    let x = BigInt.asUintN(64, sum + BigInt(word) + 1n);
    for (let i = 0; i < 2; i++) x = BigInt.asUintN(64, (x ^ (x >> 32n)) * 0xd6e8feb86659fd93n);
    sum = x ^ (x >> 32n);
  }
  return sum.toString(16).padStart(16, "0");
}

/** A store with all rows, and the batches to look up. */
class Ours {
  readonly #table: Table;
  readonly #batches: BigInt64Array<ArrayBuffer>;
  readonly #count: number;
  /** Receives rows where the caller brings the array. */
  readonly #out = new Float32Array(BATCH * DIM);

  constructor(store: EmbeddingStore, keys: number, workload: string) {
    const bytes = Deno.readFileSync(workload);
    this.#count = Number(new BigUint64Array(bytes.buffer, 0, 3)[2]);
    this.#batches = new BigInt64Array(bytes.buffer, HEAD_BYTES);
    this.#table = store.table({
      name: "bench",
      dim: DIM,
      optimizer: { adagrad: {} },
      initializer: FIRST_WEIGHT,
    });
    const some = new BigInt64Array(BATCH);
    for (let first = 0; first < keys; first += BATCH) {
      const n = Math.min(BATCH, keys - first);
      for (let i = 0; i < n; i++) some[i] = id(BigInt(first + i));
      this.#table.lookupInto(some.subarray(0, n), this.#out.subarray(0, n * DIM));
    }
  }

  /** A batch of the first thread. */
  #batch(distribution: number, number: number): BigInt64Array {
    const at = (distribution * THREADS * this.#count + number % this.#count) * BATCH;
    return this.#batches.subarray(at, at + BATCH);
  }

  /** Whole batches until the time is up; keys a second. */
  round(distribution: number, first: number, ms: number, into: boolean): number {
    const start = performance.now();
    let batches = 0, elapsed = 0;
    do {
      const keys = this.#batch(distribution, first + batches);
      if (into) this.#table.lookupInto(keys, this.#out);
      else this.#table.lookup(keys);
      batches++;
      elapsed = performance.now() - start;
    } while (elapsed < ms);
    return batches * BATCH * 1000 / elapsed;
  }

  /** Of what a batch looks up. */
  check(distribution: number): string {
    return digest(this.#table.lookup(this.#batch(distribution, 0)));
  }
}

/** Does one command. */
function obey(verb: string, options: Answer, store: EmbeddingStore, ours: Ours | undefined): [string, Ours] {
  if (verb === "prepare") {
    const start = performance.now();
    const made = new Ours(store, numberOf(options, "keys"), options["workload"] ?? "");
    return [`seconds=${((performance.now() - start) / 1000).toFixed(3)}`, made];
  }
  if (ours === undefined) throw new RangeError("Cannot run: nothing was prepared");
  const distribution = numberOf(options, "distribution");
  if (verb === "check") return [`digest=${ours.check(distribution)}`, ours];
  if (verb !== "round") throw new RangeError(`Cannot do "${verb}"`);
  const into = numberOf(options, "into") === 1;
  const rate = ours.round(distribution, numberOf(options, "first"), numberOf(options, "ms"), into);
  return [`rate=${rate.toFixed(1)}`, ours];
}

if (import.meta.main) {
  let ours: Ours | undefined;
  using store = EmbeddingStore.open({ storage: "DRAM", size: [SIZE] });
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb = ""] = line.split(" ");
    try {
      const [reply, now] = obey(verb, parseAnswer(`ok${line.slice(verb.length)}`), store, ours);
      ours = now;
      console.log(`ok ${reply}`);
    } catch (error) {
      console.log(`error ${(error as Error).message.replaceAll("\n", " ")}`);
    }
  }
}
