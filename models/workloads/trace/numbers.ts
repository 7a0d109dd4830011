/**
 * Whole numbers in bytes.
 *
 * @module
 */

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

/** Whether numbers of these bytes can be looked at where they are. */
function lies(block: Uint8Array, width: number): boolean {
  return block.byteOffset % width === 0;
}

/** 32-bit numbers in pairs, as which 64-bit numbers lie in memory: the low halves, and what their sign or its absence makes of the high. */
function widened(
  low: Int32Array | Int16Array | Int8Array,
  signed: boolean,
  mask: number,
  room: BigInt64Array<ArrayBuffer> | undefined,
): BigInt64Array<ArrayBuffer> {
  const out = room?.subarray(0, low.length) ?? new BigInt64Array(low.length), halves = new Int32Array(out.buffer);
  for (let i = 0, k = 0; i < low.length; i++) {
    const half = low[i] as number;
    halves[k++] = signed ? half : half & mask;
    halves[k++] = signed ? half >> 31 : 0;
  }
  return out;
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
  if (width > 1 && !little) {
    const out = room?.of(count) ?? new BigInt64Array(count),
      view = new DataView(block.buffer, block.byteOffset, block.length);
    for (let i = 0; i < count; i++) out[i] = numberAt(view, i * width, form);
    return out;
  }
  // The machine's order is the lowest byte first.
  const own = lies(block, width) ? block : block.slice(), { buffer, byteOffset } = own;
  if (width === 8) return new BigInt64Array(buffer, byteOffset, count);
  if (width === 4) return widened(new Int32Array(buffer, byteOffset, count), signed, -1, room?.of(count));
  if (width === 2) return widened(new Int16Array(buffer, byteOffset, count), signed, 0xffff, room?.of(count));
  return widened(new Int8Array(buffer, byteOffset, count), signed, 0xff, room?.of(count));
}
