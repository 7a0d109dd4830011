/**
 * A medium of this machine, measured: the questions of `ffi/media.ts` answered by doing the accesses.
 *
 * @module
 */

import { message, MessageBuffer } from "./errors.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { type MediaQuery, packMediaQueries } from "./media.ts";
import { withConfig } from "./options.ts";

/** What is measured. */
export type GaugedMedium =
  /** Memory of the process, of a NUMA node if one is named. */
  | { readonly kind: "memory"; readonly node?: number; readonly cpus?: readonly number[] }
  /** Memory that a file system maps, as DAX does; or a drive, past the page cache. `folder` gets a file without a name. */
  | { readonly kind: "file" | "drive"; readonly folder: string; readonly cpus?: readonly number[] };

/** An answer. */
export interface Gauged {
  /** Nanoseconds, or bytes a second of all threads. */
  readonly value: number;
  /** Bytes a second that the other threads moved beside a latency; 0 where there are none. */
  readonly flow: number;
}

/** Lookups by several threads at once. */
export interface LookupsAtOnce {
  /** The table of each thread, by its number in the store. */
  readonly tables: readonly number[];
  /** Weights of their rows. */
  readonly dim: number;
  /** Keys of all threads, one after the other, equally many each. */
  readonly keys: BigInt64Array<ArrayBuffer>;
  /** Times that all look up, together. */
  readonly rounds: number;
}

/**
 * Seconds of each lookup by the wall clock, of the rounds of one thread after those of the other.
 *
 * @throws {TierstoreError} As a lookup, and `TS_ENOMEM` for a thread that cannot be started.
 */
export async function lookupsAtOnce(
  store: object,
  { tables, dim, keys, rounds }: LookupsAtOnce,
): Promise<Float64Array<ArrayBuffer>> {
  const action = "time lookups", text = new MessageBuffer(), out = new Float64Array(tables.length * rounds);
  const numbers = Uint32Array.from(tables), each = BigInt(keys.length / tables.length);
  const status = await handleOf(store, "store").run(
    action,
    () => {},
    (address) =>
      native().ts_gauge_lookups(
        address,
        numbers,
        numbers.length,
        keys,
        each,
        dim,
        rounds,
        out,
        text.bytes,
        text.capacity,
      ),
  );
  text.check(status, action);
  return out;
}

const close = (address: bigint): number => native().ts_gauge_close(address);

/** A medium of this machine that can be asked. */
export class Gauge {
  readonly #handle: NativeHandle;

  /** Made by {@linkcode Gauge.open}. */
  private constructor(maker: symbol, address: bigint) {
    checkMaker(maker, "Gauge", "Gauge.open()");
    this.#handle = new NativeHandle("gauge", address, close);
    own(this, this.#handle);
  }

  /**
   * Opens a medium; of a drive, writes the bytes that will be accessed.
   *
   * @param bytes That accesses fall on, whole MiB.
   * @throws {TierstoreError} `TS_EINVAL`, `TS_EUNAVAILABLE` (no nameless files there, or none past the page cache),
   * `TS_EFULL`, `TS_EIO`, `TS_ENOMEM`.
   */
  static open(medium: GaugedMedium, bytes: number): Gauge {
    const { kind, cpus } = medium;
    const options = {
      kind,
      bytes: String(bytes),
      ...(kind === "memory"
        ? medium.node === undefined ? {} : { node: String(medium.node) }
        : { folder: medium.folder }),
      ...(cpus === undefined ? {} : { cpus: cpus.join(",") }),
    };
    const out = new BigUint64Array(1);
    withConfig(options, (config) => {
      const status = native().ts_gauge_open(config, out, message.bytes, message.capacity);
      message.check(status, "open a gauge");
    });
    return new Gauge(MAKER, out[0] ?? 0n);
  }

  /**
   * Does what a question asks for a while.
   *
   * @param query A latency or a bandwidth; a drive's threads are requests under way.
   * @throws {TierstoreError} `TS_EUNSUPPORTED` where this CPU has no such store; `TS_EINVAL`, `TS_EIO`.
   */
  async take(query: MediaQuery, seconds: number): Promise<Gauged> {
    const action = "measure a medium";
    const out = new Float64Array(2), text = new MessageBuffer(), packed = packMediaQueries([query]);
    const ns = BigInt(Math.round(seconds * 1e9));
    const status = await this.#handle.run(
      action,
      () => {},
      (address) => native().ts_gauge_take(address, packed, ns, out, text.bytes, text.capacity),
    );
    text.check(status, action);
    return { value: out[0] ?? NaN, flow: out[1] ?? NaN };
  }

  /** Frees the memory or the file. */
  close(): void {
    this.#handle.close();
  }

  /** As {@linkcode close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}
