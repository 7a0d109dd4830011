/**
 * Media models asked from TypeScript: the formulas of `native/media`, many questions a call.
 *
 * @module
 */

import { isArrayOf, lengthOf } from "./arrays.ts";
import { encodeText, message } from "./errors.ts";
import { native } from "./library.ts";
import { createConfig, type NativeOptions } from "./options.ts";

/** How a medium is accessed. */
export type MediaOperation = "load" | "nt-store" | "cached-store" | "flushed-store";

/** What a {@linkcode MediaQuery} asks for. */
export type MediaQuestion =
  /** Latency in ns at `load`, the share of the peak that is in use. */
  | "latency"
  /** Latency in ns while `load` bytes a second flow. */
  | "latency-at"
  /** Useful bytes a second of all threads together. */
  | "bandwidth"
  /** Bytes a second, however many cores ask. */
  | "peak"
  /** Bytes that the media move for one that is asked for: write or read amplification. */
  | "amplification";

/** One question to a media model. */
export interface MediaQuery {
  /** What is asked. */
  readonly ask: MediaQuestion;
  /** How the medium is accessed. */
  readonly operation: MediaOperation;
  /** Bytes of one access, 1 or more. */
  readonly bytes: number;
  /** Threads that do such accesses, 1 or more. */
  readonly threads: number;
  /** Whether the accesses of a thread follow each other in memory. */
  readonly sequential?: boolean;
  /** Whether a fence follows every access. */
  readonly fenced?: boolean;
  /** Whether the hardware prefetchers are on. */
  readonly prefetch?: boolean;
  /** Share of the bytes that are read, where reads and writes are in flight together. */
  readonly readShare?: number;
  /** NUMA hops between core and medium. */
  readonly hops?: number;
  /** For latencies: share of the peak, or bytes a second. */
  readonly load?: number;
  /** Bytes that the accesses fall on, if known. */
  readonly region?: number;
  /**
   * Accesses that each thread keeps in flight (of a drive: its queue depth). Absent: as many as the buffers of a core hold,
   * and one at a drive. A latency with it and no `load` is that of these accesses beside each other.
   */
  readonly depth?: number;
  /** Of the medium side by side, accesses spread evenly over them: drives, expanders, sets of modules. Default 1. */
  readonly devices?: number;
  /** Of a latency, over 0 and under 100; the mean, if absent. */
  readonly percentile?: number;
}

const ASKS: readonly MediaQuestion[] = ["latency", "latency-at", "bandwidth", "peak", "amplification"];
const OPERATIONS: readonly MediaOperation[] = ["load", "nt-store", "cached-store", "flushed-store"];
/** `TS_MEDIA_QUERY` of the header. */
const COLUMNS = 14;

/** Queries in the form that the library reads; make it once where the same are asked many times. */
export function packMediaQueries(queries: readonly MediaQuery[]): Float64Array<ArrayBuffer> {
  const packed = new Float64Array(queries.length * COLUMNS);
  queries.forEach((q, i) => {
    const flags = [q.sequential, q.fenced, q.prefetch].map((flag) => flag === true ? 1 : 0);
    const numbers = [ASKS.indexOf(q.ask), OPERATIONS.indexOf(q.operation), q.bytes, q.threads, ...flags];
    const place = [q.readShare ?? -1, q.hops ?? 0, q.load ?? 0, q.region ?? 0];
    packed.set([...numbers, ...place, q.depth ?? 0, q.devices ?? 1, q.percentile ?? 0], i * COLUMNS);
  });
  return packed;
}

/** A media model that is asked again and again, its parameters changing in between: a fit. Close it. */
export class MediaModel implements Disposable {
  readonly #config: bigint;

  /**
   * @param options Parameters of the model, without prefix: `read_latency_ns`, … as `native/media/media.h` lists them.
   * @throws {TierstoreError} If the library refuses a key.
   */
  constructor(options: NativeOptions) {
    this.#config = createConfig(
      Object.fromEntries(Object.entries(options).map(([key, value]) => [`medium.${key}`, value])),
    );
  }

  /** Changes one parameter. */
  set(key: string, value: string): void {
    const { bytes, capacity } = message;
    const status = native().ts_config_set(
      this.#config,
      encodeText(`medium.${key}`),
      encodeText(value),
      bytes,
      capacity,
    );
    message.check(status, `set the option "${key}"`);
  }

  /** An answer to each query: as {@linkcode evaluateMedia}. */
  ask(packed: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
    const count = lengthOf("media queries", "Float64Array", packed) / COLUMNS;
    if (!Number.isInteger(count)) {
      const found = count * COLUMNS;
      throw new RangeError(`Cannot use media queries of length ${found}: expected ${COLUMNS} numbers for each`);
    }
    const answers = new Float64Array(count);
    const { bytes, capacity } = message;
    const status = native().ts_media_evaluate(this.#config, packed, BigInt(count), answers, bytes, capacity);
    message.check(status, "evaluate a media model");
    return answers;
  }

  /** Frees it. */
  [Symbol.dispose](): void {
    native().ts_config_free(this.#config);
  }
}

/**
 * Evaluates a media model.
 *
 * @param options Parameters of the model, without prefix: `read_latency_ns`, … as `native/media/media.h` lists them.
 * @param queries The questions, or what {@linkcode packMediaQueries} made of them.
 * @returns An answer for each: nanoseconds or bytes a second.
 * @throws {TierstoreError} `TS_EINVAL` for a parameter or a query that is not valid.
 *
 * @example
 * ```ts
 * import { evaluateMedia } from "./media.ts";
 *
 * const answers = evaluateMedia({ medium: "made-up", read_latency_ns: "100", read_bandwidth: "1e9" }, [
 *   { ask: "latency", operation: "load", bytes: 64, threads: 1 },
 * ]);
 * console.log(answers[0]); // 100
 * ```
 */
export function evaluateMedia(
  options: NativeOptions,
  queries: readonly MediaQuery[] | Float64Array<ArrayBuffer>,
): Float64Array<ArrayBuffer> {
  const packed = isArrayOf("Float64Array", queries) ? queries : packMediaQueries(queries);
  using model = new MediaModel(options);
  return model.ask(packed);
}
