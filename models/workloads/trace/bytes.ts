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

/** Bytes that are read at a time: so many that what a read costs by itself is little, and no more than processors keep near. */
const BLOCK = 1 << 20;

/** A block at least: of a file that grows, and of the end of any. */
const LEAST = 1 << 12;

/** Bytes in front of a block that is used again: what is left of the one before goes there, instead of both into a new one. */
const ROOM = 1 << 16;

/** How a decoder gives out what it unpacked: in large blocks, but for little. @param packed Bytes that it is given. */
const chunks = (packed: number) => ({ chunkSize: Math.min(1 << 18, Math.max(1 << 14, 4 * packed)) });

/** How a file is packed. */
export type Packing = "gzip" | "zstd";

function packingOf(head: Uint8Array): Packing | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b && head[2] === 8) return "gzip";
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return "zstd";
  return undefined;
}

/** The bytes of one frame of zstd data. @param left What of a block lies behind its end, and comes first; changed. */
async function* frameOf(blocks: AsyncGenerator<Uint8Array>, left: Uint8Array[]): AsyncGenerator<Uint8Array> {
  const frame = new ZstdFrames();
  do {
    const next = left.length > 0 ? undefined : await blocks.next();
    if (next?.done === true) throw new Error("the last frame has no end");
    const block = left.pop() ?? next?.value ?? new Uint8Array(), end = frame.add(block);
    yield block.subarray(0, end);
    if (end < block.length) left.push(block.subarray(end));
  } while (!frame.whole);
  if (left.length > 0) return;
  const next = await blocks.next();
  if (next.done !== true) left.push(next.value);
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
  readonly #unpacked: AsyncIterator<Uint8Array<ArrayBuffer>>;
  #decoder: Transform | undefined;
  /** Bytes that were read and not yet given out. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array();
  #ended = false;
  /** Of a plain file: where what was read and given on ends, and the read of what comes then if it is on its way. */
  #position = 0;
  #ahead: Promise<Uint8Array<ArrayBuffer>> | undefined;
  /** The block that is read into, where whoever takes it is done with it before the next is asked for. */
  readonly #block: Uint8Array<ArrayBuffer> | undefined;
  /** Numbers of so many bytes lie from some place of the file on, so that reads end between two of them. */
  #numbers = { unit: 1, from: 0 };

  private constructor(
    source: {
      readonly file: Deno.FsFile;
      readonly path: string;
      readonly size: number;
      readonly start: Uint8Array<ArrayBuffer>;
      readonly reuse: boolean;
    } | {
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
    const { file, path, size, start, reuse } = source;
    this.path = path;
    this.size = size;
    this.#source = file;
    this.packing = packingOf(start);
    // A decoder holds blocks while it asks for more.
    this.#block = reuse && this.packing === undefined && size > 2 * BLOCK ? new Uint8Array(ROOM + BLOCK) : undefined;
    this.#unpacked = this.packing === undefined ? this.#plain(file, start) : this.#unpack(file, this.packing, start);
  }

  /**
   * Opens a file.
   *
   * @param path The file.
   * @param reuse Blocks of a plain file are read into the same memory: what was taken or peeked at is good until more is asked for.
   * @throws {MissingFileError} If there is none.
   * @throws {TraceError} If it is empty.
   */
  static async open(path: string, reuse: boolean = false): Promise<TraceBytes> {
    const file = await openUserFile(path, "the trace");
    try {
      const { size, isDirectory } = await file.stat();
      if (isDirectory) throw new TraceError(`Cannot read the trace "${path}": it is a folder; give a file`);
      const start = new Uint8Array(size === 0 ? BLOCK : Math.max(LEAST, Math.min(BLOCK, size)));
      let count = 0;
      while (count < 8) {
        const read = await file.read(start.subarray(count));
        if (read === null) break;
        count += read;
      }
      if (count === 0) throw new TraceError(`Cannot read the trace "${path}": it is empty`);
      return new TraceBytes({ path, file, size, start: start.subarray(0, count), reuse });
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

  /** Memory for the next block, so long that as few numbers as can be are cut by its end. */
  #memory(): Uint8Array<ArrayBuffer> {
    const { unit, from } = this.#numbers, extra = (this.#position + BLOCK - from) % unit;
    const left = this.size === 0 ? Infinity : this.size - this.#position;
    const room = left < BLOCK ? Math.max(LEAST, left) : BLOCK - Math.max(0, extra);
    return this.#block?.subarray(ROOM, ROOM + room) ?? new Uint8Array(room);
  }

  /** Begins to read the next block. Nobody may be waiting for it where reading stops early, so what it throws is kept. */
  #begin(file: Deno.FsFile): Promise<Uint8Array<ArrayBuffer>> {
    const block = this.#memory(), reading = file.read(block).then((count) => block.subarray(0, count ?? 0));
    reading.catch(() => {});
    return reading;
  }

  /** The next block. One that is used again is read by this thread: it is near then, and another's turn takes as long. */
  #next(file: Deno.FsFile): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    if (this.#block === undefined) return this.#ahead ?? this.#begin(file);
    const block = this.#memory();
    return block.subarray(0, file.readSync(block) ?? 0);
  }

  async *#plain(file: Deno.FsFile, start: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.#position = start.length;
    yield start;
    for (;;) {
      const block = await this.#next(file);
      this.#ahead = undefined;
      this.#position += block.length;
      if (block.length === 0) return;
      // While this one is used, the next is read: not of files that end within a block or two.
      if (this.#block === undefined && block.length > BLOCK / 2) this.#ahead = this.#begin(file);
      yield block;
    }
  }

  /** Goes to another place of a plain file, from which the next block is. */
  async #seek(file: Deno.FsFile, place: number): Promise<void> {
    await this.#ahead;
    this.#ahead = undefined;
    this.#position = await file.seek(place, Deno.SeekMode.Start);
  }

  async *#stored(whole: TraceBytes, part: Part): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let left = part.packed; left > 0;) {
      const block = (await whole.take()).subarray(0, left);
      if (block.length === 0) {
        throw new TraceError(`Cannot read the trace "${whole.path}": it ends within "${part.path}"`);
      }
      left -= block.length;
      yield block;
    }
  }

  async *#part(whole: TraceBytes, part: Part): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const refuse = (what: string, cause?: unknown): never => {
      throw new TraceError(`Cannot read "${part.path}": ${what}`, { cause });
    };
    const stored = this.#stored(whole, part);
    const blocks = part.deflated ? this.#decode(stored, createInflateRaw(chunks(part.packed))) : stored;
    let crc = 0, size = 0;
    for (;;) {
      let next: IteratorResult<Uint8Array<ArrayBuffer>>;
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

  async *#unpack(
    file: Deno.FsFile,
    packing: Packing,
    start: Uint8Array<ArrayBuffer>,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const blocks = this.#plain(file, start);
    try {
      if (packing === "gzip") {
        yield* this.#decode(blocks, createGunzip(chunks(this.size)));
        return;
      }
      const left: Uint8Array[] = [];
      do yield* this.#decode(frameOf(blocks, left), createZstdDecompress(chunks(this.size))); while (left.length > 0);
    } catch (error) {
      throw new TraceError(
        `Cannot read the trace "${this.path}": its ${packing} data are damaged or cut short: ${
          (error as Error).message
        }`,
      );
    }
  }

  async *#decode(
    blocks: AsyncGenerator<Uint8Array>,
    decoder: Transform,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.#decoder = decoder;
    const packed = Readable.from(blocks);
    packed.on("error", (error) => decoder.destroy(error));
    packed.pipe(decoder);
    // Node's buffers have a slice() that copies nothing.
    for await (const { buffer, byteOffset, length } of decoder) yield new Uint8Array(buffer, byteOffset, length);
  }

  /** Reads on; false at the end. */
  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    // The memory of what is left may be read into as soon as more is asked for.
    const left = this.#block === undefined || this.#held.length === 0 ? this.#held : this.#held.slice();
    const next = await this.#unpacked.next();
    this.#held = left;
    if (next.done === true) {
      this.#ended = true;
      return false;
    }
    const more = next.value, begin = more.byteOffset - left.length;
    if (left.length === 0) this.#held = more;
    else if (begin >= 0 && this.#block?.buffer === more.buffer) {
      this.#held = new Uint8Array(more.buffer, begin, left.length + more.length);
      this.#held.set(left);
    } else {
      this.#held = new Uint8Array(left.length + more.length);
      this.#held.set(left);
      this.#held.set(more, left.length);
    }
    return true;
  }

  /**
   * Gives the end of what was taken last back, and takes it again with what comes behind it.
   *
   * @param rest What is given back.
   * @returns That and more; no more than that at the end of the file.
   */
  async takeOn(rest: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    if (rest.length > 0) {
      if (this.#held.length > 0) throw new RangeError("Cannot give bytes back: others were read and not taken");
      this.#held = rest;
    }
    if (this.#held === rest) await this.#more();
    return await this.take();
  }

  /** The next bytes, at most so many, which stay the next ones. Fewer: the file ends there. */
  async peek(most: number): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#held.length < most && await this.#more());
    return this.#held.subarray(0, most);
  }

  /** Says that numbers of so many bytes lie from here on, so that as few of them as can be are cut by the ends of reads. */
  align(unit: number): void {
    this.#alignTo(unit, this.#held.length);
  }

  /** @param behind Bytes that were read and lie in front of the next read, here or in a part of this. */
  #alignTo(unit: number, behind: number): void {
    if (this.#source instanceof TraceBytes) this.#source.#alignTo(unit, behind + this.#source.#held.length);
    else this.#numbers = { unit, from: this.#position - behind };
  }

  /**
   * The next bytes, as many as come at once, a multiple of `unit`; fewer than `unit` only at the end of the file; none
   * behind it. Nobody else writes to them.
   */
  async take(unit: number = 1): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#held.length < unit && await this.#more());
    const whole = this.#held.length < unit ? this.#held.length : this.#held.length - this.#held.length % unit;
    const out = this.#held.subarray(0, whole);
    this.#held = this.#held.subarray(whole);
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
    await this.#seek(this.#source, start);
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
      const at = this.#position;
      if (at + left > this.size) throw new TraceError(`Cannot read the trace "${this.path}": it ends too early`);
      await this.#seek(this.#source, at + left);
      return;
    }
  }
}
