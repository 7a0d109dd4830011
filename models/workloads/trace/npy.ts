/**
 * NumPy's files of one array (`.npy`).
 *
 * @module
 */

import type { ArrayHead } from "./array.ts";
import { TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";

const LONGEST_HEADER = 1 << 16;

/** The head of a NumPy file (format versions 1 to 3). @throws {TraceError} If it has no whole numbers in one or two dimensions. */
export async function npyHead(bytes: TraceBytes): Promise<ArrayHead> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the NumPy array "${bytes.path}": ${what}`);
  };
  const begin = await bytes.peek(12), view = new DataView(begin.buffer, begin.byteOffset, begin.length);
  if (begin.length < 12) refuse("it ends in its header");
  const version = begin[6] ?? 0;
  if (version < 1 || version > 3) refuse(`its format has version ${version}, expected 1, 2 or 3`);
  const long = version > 1, start = long ? 12 + view.getUint32(8, true) : 10 + view.getUint16(8, true);
  if (start > LONGEST_HEADER) refuse(`its header has ${start} bytes, expected at most ${LONGEST_HEADER}`);
  const head = await bytes.peek(start);
  if (head.length < start) refuse("it ends in its header");
  const text = new TextDecoder().decode(head.subarray(long ? 12 : 10));
  const type = /'descr':\s*'([<>|=]?)([a-zA-Z]+)(\d+)'/.exec(text);
  if (type === null) refuse(`its elements are no plain numbers: ${text.trim().slice(0, 80)}`);
  const [, order = "", kind = "", size = ""] = type ?? [], width = Number(size);
  if (!/^[iu]$/.test(kind) || (width !== 1 && width !== 2 && width !== 4 && width !== 8)) {
    return refuse(`its elements are ${order}${kind}${size}, expected whole numbers of 8 to 64 bits`);
  }
  const shape = /'shape':\s*\(([\d, ]*)\)/.exec(text)?.[1]?.split(",").map((part) => part.trim()).filter((part) =>
    part !== ""
  );
  if (shape === undefined || shape.length < 1 || shape.length > 2) {
    return refuse(`its shape is (${shape?.join(", ") ?? "missing"}), expected one or two dimensions`);
  }
  const [rows = 0, columns = 1] = shape.map(Number);
  if (![rows, columns, rows * columns * width].every(Number.isSafeInteger)) {
    refuse(`its shape is (${shape.join(", ")})`);
  }
  if (columns > 4096) refuse(`it has ${columns} columns, expected at most 4,096`);
  const byColumn = columns > 1 && rows > 1 && /'fortran_order':\s*True/.test(text);
  return { what: "NumPy array", width, signed: kind === "i", little: order !== ">", rows, columns, start, byColumn };
}
