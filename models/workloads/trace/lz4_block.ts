/**
 * Blocks of LZ4 (its block format, without frames), as Parquet's LZ4_RAW has them, and its older LZ4 in Hadoop's frames or without.
 *
 * A block is sequences of literals and of a match: bytes that were written before, so far back and so many.
 *
 * @module
 */

/** The shortest match. */
const LEAST_MATCH = 4;

/**
 * Unpacks a block.
 *
 * @param input The block.
 * @param size Bytes that it has unpacked.
 * @returns These bytes; undefined: the block is damaged, or has another number of them.
 */
export function unpackLz4(input: Uint8Array, size: number): Uint8Array<ArrayBuffer> | undefined {
  // A byte of a length adds 255 at most.
  if (size > 255 * input.length) return undefined;
  const out = new Uint8Array(size);
  let at = 0, end = 0;
  const length = (nibble: number): number => {
    let sum = nibble;
    for (let more = nibble === 15 ? 255 : 0; more === 255;) sum += more = input[at++] ?? Infinity;
    return sum;
  };
  while (at < input.length) {
    const token = input[at++] ?? 0, literals = length(token >> 4);
    if (at + literals > input.length || end + literals > size) return undefined;
    out.set(input.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    if (at === input.length) return end === size ? out : undefined; // the last sequence has no match
    if (at + 2 > input.length) return undefined;
    const back = (input[at] ?? 0) + 256 * (input[at + 1] ?? 0);
    at += 2;
    const match = length(token & 15) + LEAST_MATCH;
    if (back === 0 || back > end || end + match > size) return undefined;
    // A match may reach into what it writes.
    for (let i = 0; i < match; i++) out[end + i] = out[end + i - back] ?? 0;
    end += match;
  }
  return undefined;
}

/** Bytes of a frame's two sizes. */
const SIZES = 8;

/**
 * Unpacks what Parquet called LZ4 before LZ4_RAW: Hadoop's frames, each of its size unpacked, its size packed (both big-endian) and a
 * block, or one block without, as other writers had it.
 *
 * @param input The frames or the block.
 * @param size Bytes that they have unpacked.
 * @returns These bytes; undefined: damaged, or another number of them.
 */
export function unpackOldLz4(input: Uint8Array, size: number): Uint8Array<ArrayBuffer> | undefined {
  return unpackFrames(input, size) ?? unpackLz4(input, size);
}

function unpackFrames(input: Uint8Array, size: number): Uint8Array<ArrayBuffer> | undefined {
  if (size > 255 * input.length) return undefined;
  const out = new Uint8Array(size), view = new DataView(input.buffer, input.byteOffset, input.length);
  let at = 0, end = 0;
  while (at < input.length) {
    if (at + SIZES > input.length) return undefined;
    const unpacked = view.getUint32(at), packed = view.getUint32(at + 4);
    at += SIZES;
    if (at + packed > input.length || end + unpacked > size) return undefined;
    const block = unpackLz4(input.subarray(at, at + packed), unpacked);
    if (block === undefined) return undefined;
    out.set(block, end);
    at += packed;
    end += unpacked;
  }
  return end === size ? out : undefined;
}
