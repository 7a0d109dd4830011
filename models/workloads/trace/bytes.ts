/**
 * The bytes of a trace, unpacked if its first bytes say gzip or zstd, a block at a time.
 *
 * @module
 */

import { Readable, type Transform } from "node:stream";
import { crc32, createGunzip, createInflateRaw, createZstdDecompress } from "node:zlib";
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

/** A part of a file that is read like a file of its own. */
export interface Part {
  /** What errors call it. */
  readonly path: string;
  /** Bytes that it takes in the file. */
  readonly packed: number;
  /** Bytes that it has. */
  readonly size: number;
  /** It is packed (RFC 1951); else it is stored as it is. */
  readonly deflated: boolean;
  /** CRC-32 of its bytes; 0: none is known. */
  readonly crc: number;
}

/** A file, or a part of one, that is read from front to back. */
export class TraceBytes implements Disposable {
  /** Its path. */
  readonly path: string;
  /** Bytes on the disk. */
  readonly size: number;
  /** How it is packed, if it is. */
  readonly packing: Packing | undefined;
  /** The file, or what this is a part of. */
  readonly #source: Deno.FsFile | TraceBytes;
  readonly #unpacked: AsyncIterator<Uint8Array>;
  #decoder: Transform | undefined;
  /** Bytes that were read and not yet given out. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array();
  #ended = false;

  private constructor(
    source: { readonly file: Deno.FsFile; readonly path: string; readonly size: number; readonly start: Uint8Array } | {
      readonly whole: TraceBytes;
      readonly part: Part;
    },
  ) {
    if ("whole" in source) {
      const { whole, part } = source;
      this.path = part.path;
      this.size = part.packed;
      this.#source = whole;
      this.packing = undefined;
      this.#unpacked = this.#part(whole, part);
      return;
    }
    const { file, path, size, start } = source;
    this.path = path;
    this.size = size;
    this.#source = file;
    this.packing = packingOf(start);
    this.#unpacked = this.packing === undefined ? this.#plain(file, start) : this.#unpack(file, this.packing, start);
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
      return new TraceBytes({ path, file, size, start: start.subarray(0, count) });
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The next bytes of a file as a file of their own, which closes it. Nothing else may read it then. */
  static part(whole: TraceBytes, part: Part): TraceBytes {
    return new TraceBytes({ whole, part });
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#decoder?.destroy();
    if (this.#source instanceof TraceBytes) return this.#source[Symbol.dispose]();
    try {
      this.#source.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // closed already
    }
  }

  async *#plain(file: Deno.FsFile, start: Uint8Array): AsyncGenerator<Uint8Array> {
    yield start;
    const buffer = new Uint8Array(BLOCK);
    for (let read = await file.read(buffer); read !== null; read = await file.read(buffer)) {
      yield buffer.subarray(0, read);
    }
  }

  async *#stored(whole: TraceBytes, part: Part): AsyncGenerator<Uint8Array> {
    for (let left = part.packed; left > 0;) {
      const block = (await whole.take()).subarray(0, left);
      if (block.length === 0) {
        throw new TraceError(`Cannot read the trace "${whole.path}": it ends within "${part.path}"`);
      }
      left -= block.length;
      yield block;
    }
  }

  async *#part(whole: TraceBytes, part: Part): AsyncGenerator<Uint8Array> {
    const refuse = (what: string, cause?: unknown): never => {
      throw new TraceError(`Cannot read "${part.path}": ${what}`, { cause });
    };
    const stored = this.#stored(whole, part);
    const blocks = part.deflated ? this.#decode(stored, createInflateRaw()) : stored;
    let crc = 0, size = 0;
    for (;;) {
      let next: IteratorResult<Uint8Array>;
      try {
        next = await blocks.next();
      } catch (error) {
        if (error instanceof TraceError) throw error;
        return refuse(`its packed data are damaged or cut short: ${(error as Error).message}`, error);
      }
      if (next.done === true) break;
      crc = crc32(next.value, crc);
      size += next.value.length;
      if (size > part.size) break;
      yield next.value;
    }
    if (size !== part.size) refuse(`it has ${size > part.size ? "more" : "fewer"} bytes than the ${part.size} stated`);
    if (part.crc !== 0 && crc !== part.crc) {
      refuse(`it is damaged: the checksum of its bytes is ${crc.toString(16)}, stated is ${part.crc.toString(16)}`);
    }
  }

  async *#unpack(file: Deno.FsFile, packing: Packing, start: Uint8Array): AsyncGenerator<Uint8Array> {
    const blocks = this.#plain(file, start);
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
    const held = this.#held;
    // All of it, in memory of its own, is given away as it is.
    const out = whole === held.length && held.buffer.byteLength === whole ? held : held.slice(0, whole);
    this.#held = held.subarray(whole);
    return out;
  }

  /** Goes over the next bytes, which were peeked at. */
  skip(count: number): void {
    this.#held = this.#held.subarray(count);
  }

  /** A range of a plain file, wherever it has been read to; nothing else may be read behind this. */
  async range(start: number, end: number): Promise<ArrayBuffer> {
    const out = new Uint8Array(end - start);
    if (this.#source instanceof TraceBytes) throw new TypeError("A part of a file has no ranges");
    await this.#source.seek(start, Deno.SeekMode.Start);
    for (let at = 0; at < out.length;) {
      const read = await this.#source.read(out.subarray(at));
      if (read === null) throw new TraceError(`Cannot read the trace "${this.path}": it ends too early`);
      at += read;
    }
    return out.buffer;
  }

  /** Goes over the next bytes, in a plain file without reading them. @throws {TraceError} If there are not so many. */
  async advance(count: number): Promise<void> {
    let left = count;
    for (;;) {
      const step = Math.min(left, this.#held.length);
      this.#held = this.#held.subarray(step);
      left -= step;
      if (left === 0) return;
      if (!await this.#more()) throw new TraceError(`Cannot read the trace "${this.path}": it ends too early`);
      if (left <= this.#held.length || this.#source instanceof TraceBytes || this.packing !== undefined) continue;
      left -= this.#held.length;
      this.#held = new Uint8Array();
      const at = await this.#source.seek(0, Deno.SeekMode.Current);
      if (at + left > this.size) throw new TraceError(`Cannot read the trace "${this.path}": it ends too early`);
      await this.#source.seek(left, Deno.SeekMode.Current);
      return;
    }
  }
}
