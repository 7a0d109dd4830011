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

/** All numbers of a block, which has a whole number of them. */
export function numbersOf(block: Uint8Array, form: NumberForm): BigInt64Array<ArrayBuffer> {
  const { width } = form, out = new BigInt64Array(block.length / width);
  if (width === 8 && form.little) {
    new Uint8Array(out.buffer).set(block); // the machine's order is the lowest byte first
    return out;
  }
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  for (let i = 0; i < out.length; i++) out[i] = numberAt(view, i * width, form);
  return out;
}
