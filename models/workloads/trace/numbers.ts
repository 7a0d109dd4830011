/**
 * Whole numbers in bytes.
 *
 * @module
 */

import { widenNumbers } from "../../../ffi/trace.ts";

/** How whole numbers are stored. */
export interface NumberForm {
  /** Bytes of a number. */
  readonly width: 1 | 2 | 4 | 8;
  /** Numbers may be negative. */
  readonly signed: boolean;
  /** The lowest byte comes first. */
  readonly little: boolean;
}

/** The number at a place. Those of 64 bits without a sign become the signed ones of the same bits. */
export function numberAt(view: DataView, at: number, { width, signed, little }: NumberForm): bigint {
  if (width === 8) return view.getBigInt64(at, little);
  if (width === 4) return BigInt(signed ? view.getInt32(at, little) : view.getUint32(at, little));
  if (width === 2) return BigInt(signed ? view.getInt16(at, little) : view.getUint16(at, little));
  return BigInt(signed ? view.getInt8(at) : view.getUint8(at));
}

/** Room for the numbers of one block after the other. */
export class NumberRoom {
  #room = new BigInt64Array();

  /** Room for so many, which had others before. */
  of(count: number): BigInt64Array<ArrayBuffer> {
    if (this.#room.length < count) this.#room = new BigInt64Array(count);
    return this.#room.subarray(0, count);
  }
}

/**
 * All numbers of a block, which has a whole number of them: of 64-bit ones where they are, if they lie so.
 *
 * @param room Where others are written; absent: in new memory.
 */
export function numbersOf(
  block: Uint8Array<ArrayBuffer>,
  form: NumberForm,
  room?: NumberRoom,
): BigInt64Array<ArrayBuffer> {
  const { width, signed, little } = form, count = block.length / width;
  // The machine's order is the lowest byte first.
  if (width === 8 && little && block.byteOffset % width === 0) {
    return new BigInt64Array(block.buffer, block.byteOffset, count);
  }
  const out = room?.of(count) ?? new BigInt64Array(count);
  if (width === 1 || little) widenNumbers(block, width, signed, out);
  else {
    const view = new DataView(block.buffer, block.byteOffset, block.length);
    for (let i = 0; i < count; i++) out[i] = numberAt(view, i * width, form);
  }
  return out;
}
