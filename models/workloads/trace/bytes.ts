/**
 * The bytes of a trace, unpacked if its first bytes say gzip or zstd, a block at a time.
 *
 * @module
 */

import { Readable, type Transform } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { openUserFile } from "../../../base/user_file.ts";
import { TraceError } from "./batch.ts";
import { ZstdFrames } from "./zstd_frames.ts";

const BLOCK = 1 << 18;

/** How a file is packed. */
export type Packing = "gzip" | "zstd";

function packingOf(head: Uint8Array): Packing | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b && head[2] === 8) return "gzip";
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return "zstd";
  return undefined;
}

/** Blocks that stay as they are when the next one is read; the source stays open. */
async function* copies(blocks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await blocks.next(); next.done !== true; next = await blocks.next()) yield next.value.slice();
}

/** The bytes of one frame of zstd data. @param left What of a block lies behind its end, and comes first; changed. */
async function* frameOf(blocks: AsyncGenerator<Uint8Array>, left: Uint8Array[]): AsyncGenerator<Uint8Array> {
  const frame = new ZstdFrames();
  do {
    const next = left.length > 0 ? undefined : await blocks.next();
    if (next?.done === true) throw new Error("the last frame has no end");
    const block = left.pop() ?? next?.value ?? new Uint8Array(), end = frame.add(block);
    yield block.subarray(0, end);
    if (end < block.length) left.push(block.slice(end));
  } while (!frame.whole);
  if (left.length > 0) return;
  const next = await blocks.next();
  if (next.done !== true) left.push(next.value.slice());
}

/** A file that is read from front to back. */
export class TraceBytes implements Disposable {
  /** Its path. */
  readonly path: string;
  /** Bytes on the disk. */
  readonly size: number;
  /** How it is packed, if it is. */
  readonly packing: Packing | undefined;
  readonly #file: Deno.FsFile;
  readonly #unpacked: AsyncIterator<Uint8Array>;
  #decoder: Transform | undefined;
  /** Bytes that were read and not yet given out. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array();
  #ended = false;

  private constructor(path: string, file: Deno.FsFile, size: number, start: Uint8Array<ArrayBuffer>) {
    this.path = path;
    this.size = size;
    this.#file = file;
    this.packing = packingOf(start);
    this.#unpacked = this.packing === undefined ? this.#plain(start) : this.#unpack(this.packing, start);
  }

  /** Opens a file. @throws {MissingFileError} If there is none. @throws {TraceError} If it is empty. */
  static async open(path: string): Promise<TraceBytes> {
    const file = await openUserFile(path, "the trace");
    try {
      const { size, isDirectory } = await file.stat();
      if (isDirectory) throw new TraceError(`Cannot read the trace "${path}": it is a folder; give a file`);
      const start = new Uint8Array(BLOCK);
      let count = 0;
      while (count < 8) {
        const read = await file.read(start.subarray(count));
        if (read === null) break;
        count += read;
      }
      if (count === 0) throw new TraceError(`Cannot read the trace "${path}": it is empty`);
      return new TraceBytes(path, file, size, start.subarray(0, count));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#decoder?.destroy();
    try {
      this.#file.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // closed already
    }
  }

  async *#plain(start: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array> {
    yield start;
    const buffer = new Uint8Array(BLOCK);
    for (let read = await this.#file.read(buffer); read !== null; read = await this.#file.read(buffer)) {
      yield buffer.subarray(0, read);
    }
  }

  async *#unpack(packing: Packing, start: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array> {
    const blocks = this.#plain(start);
    try {
      if (packing === "gzip") {
        yield* this.#decode(blocks, createGunzip());
        return;
      }
      const left: Uint8Array[] = [];
      do yield* this.#decode(frameOf(blocks, left), createZstdDecompress()); while (left.length > 0);
    } catch (error) {
      throw new TraceError(
        `Cannot read the trace "${this.path}": its ${packing} data are damaged or cut short: ${
          (error as Error).message
        }`,
      );
    }
  }

  async *#decode(blocks: AsyncGenerator<Uint8Array>, decoder: Transform): AsyncGenerator<Uint8Array> {
    this.#decoder = decoder;
    const packed = Readable.from(copies(blocks));
    packed.on("error", (error) => decoder.destroy(error));
    packed.pipe(decoder);
    for await (const block of decoder) yield block as Uint8Array;
  }

  /** Reads on; false at the end. */
  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const next = await this.#unpacked.next();
    if (next.done === true) {
      this.#ended = true;
      return false;
    }
    const held = new Uint8Array(this.#held.length + next.value.length);
    held.set(this.#held);
    held.set(next.value, this.#held.length);
    this.#held = held;
    return true;
  }

  /** The next bytes, at most so many, which stay the next ones. Fewer: the file ends there. */
  async peek(most: number): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#held.length < most && await this.#more());
    return this.#held.subarray(0, most);
  }

  /**
   * The next bytes, as many as come at once, a multiple of `unit`; fewer than `unit` only at the end of the file; none
   * behind it. They are the caller's.
   */
  async take(unit: number = 1): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#held.length < unit && await this.#more());
    const whole = this.#held.length < unit ? this.#held.length : this.#held.length - this.#held.length % unit;
    const out = this.#held.slice(0, whole);
    this.#held = this.#held.slice(whole);
    return out;
  }

  /** Goes over the next bytes, which were peeked at. */
  skip(count: number): void {
    this.#held = this.#held.slice(count);
  }
}
