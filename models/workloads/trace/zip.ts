/**
 * Zip archives (PKWARE's APPNOTE 6.3), as torch.save() and numpy.savez() write them: a directory at the end, entries that are
 * stored or deflated, 64-bit sizes. Entries are read a block at a time.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import { TraceBytes } from "./bytes.ts";

/** A file in an archive. */
export interface ZipEntry {
  /** Its name, folders included. */
  readonly name: string;
  /** Bytes that it takes in the archive. */
  readonly packed: number;
  /** Bytes that it has. */
  readonly size: number;
  /** It is packed (RFC 1951); else it is stored as it is. */
  readonly deflated: boolean;
  /** CRC-32 of its bytes; 0: none is stated. */
  readonly crc: number;
  /** Where its local header is, from the archive's beginning. */
  readonly offset: number;
}

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, END_64 = 0x06064b50, LOCATOR_64 = 0x07064b50;
const LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, END_64_BYTES = 56, LOCATOR_BYTES = 20;
/** Stands for a number that is elsewhere, as 64 bits. */
const ELSEWHERE = 0xffff_ffff;
const LONGEST_COMMENT = 0xffff;
/** Bytes of the directory at most: some 10,000 entries. */
const LONGEST_DIRECTORY = 1 << 20;
const TAIL = LONGEST_DIRECTORY + END_BYTES + LONGEST_COMMENT + LOCATOR_BYTES + END_64_BYTES;

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** The last bytes of a file, and how many there are in all. What is packed is read to its end for them. */
async function tailOf(path: string): Promise<{ tail: Uint8Array; total: number }> {
  using bytes = await TraceBytes.open(path);
  let total = 0;
  if (bytes.packing === undefined && bytes.size > TAIL) await bytes.advance(total = bytes.size - TAIL);
  const blocks: Uint8Array[] = [];
  let held = 0;
  for (let block = await bytes.take(); block.length > 0; block = await bytes.take()) {
    blocks.push(block);
    total += block.length;
    held += block.length;
    while (held - (blocks[0]?.length ?? 0) >= TAIL) held -= blocks.shift()?.length ?? 0;
  }
  const tail = new Uint8Array(held);
  let at = 0;
  for (const block of blocks) {
    tail.set(block, at);
    at += block.length;
  }
  return { tail, total };
}

/** Where the directory is, by the record at the end. */
function directoryAt(tail: Uint8Array, total: number, refuse: (what: string) => never) {
  const view = viewOf(tail), start = total - tail.length;
  let end = tail.length - END_BYTES;
  while (
    end >= 0 && (view.getUint32(end, true) !== END || end + END_BYTES + view.getUint16(end + 20, true) !== tail.length)
  ) {
    if (--end < tail.length - END_BYTES - LONGEST_COMMENT) end = -1;
  }
  if (end < 0) return refuse("it is cut short: an archive's directory is missing at its end");
  let count = view.getUint16(end + 10, true),
    bytes = view.getUint32(end + 12, true),
    at = view.getUint32(end + 16, true);
  if (count === 0xffff || bytes === ELSEWHERE || at === ELSEWHERE) {
    const locator = end - LOCATOR_BYTES;
    const record = locator < 0 || view.getUint32(locator, true) !== LOCATOR_64
      ? -1
      : Number(view.getBigUint64(locator + 8, true)) - start;
    if (!(record >= 0 && record + END_64_BYTES <= locator) || view.getUint32(record, true) !== END_64) {
      return refuse("its directory for large archives is missing");
    }
    count = Number(view.getBigUint64(record + 32, true));
    bytes = Number(view.getBigUint64(record + 40, true));
    at = Number(view.getBigUint64(record + 48, true));
  }
  if (bytes > LONGEST_DIRECTORY) refuse(`its directory has ${bytes} bytes, expected at most ${LONGEST_DIRECTORY}`);
  if (!(at >= start && at + bytes <= total)) refuse("its directory lies outside");
  return { directory: tail.subarray(at - start, at - start + bytes), count };
}

/** Sizes and offset of an entry; those that 32 bits cannot hold stand in a field of their own. */
function placeOf(
  view: DataView,
  at: number,
  extra: number,
  extraBytes: number,
): [size: number, packed: number, offset: number] {
  const place: [number, number, number] = [24, 20, 42].map((field) => view.getUint32(at + field, true)) as typeof place;
  for (let field = extra; field + 4 <= extra + extraBytes;) {
    const id = view.getUint16(field, true), bytes = view.getUint16(field + 2, true);
    const last = Math.min(field + 4 + bytes, extra + extraBytes);
    if (id === 1) {
      let next = field + 4;
      place.forEach((value, i) => {
        if (value !== ELSEWHERE || next + 8 > last) return;
        place[i] = Number(view.getBigUint64(next, true));
        next += 8;
      });
    }
    field += 4 + bytes;
  }
  return place;
}

/**
 * The entries of an archive, in the directory's order.
 *
 * @param path Its file, plain or packed with gzip or zstd.
 * @throws {TraceError} If the directory is missing or damaged, or entries are encrypted or packed in another way.
 */
export async function readZip(path: string): Promise<ZipEntry[]> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the zip archive "${path}": ${what}`);
  };
  const { tail, total } = await tailOf(path), { directory, count } = directoryAt(tail, total, refuse);
  const view = viewOf(directory), entries: ZipEntry[] = [], names = new Set<string>();
  for (let at = 0; at < directory.length;) {
    if (at + CENTRAL_BYTES > directory.length || view.getUint32(at, true) !== CENTRAL) {
      refuse("its directory is damaged");
    }
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => view.getUint16(at + field, true)) as [
      number,
      number,
      number,
    ];
    const extra = at + CENTRAL_BYTES + nameBytes, next = extra + extraBytes + commentBytes;
    if (next > directory.length) refuse("its directory is damaged");
    const name = new TextDecoder().decode(directory.subarray(at + CENTRAL_BYTES, extra));
    const [size, packed, offset] = placeOf(view, at, extra, extraBytes);
    const method = view.getUint16(at + 10, true);
    if (names.has(name)) refuse(`"${name}" is in it twice`);
    if ((view.getUint16(at + 8, true) & 1) !== 0) refuse(`"${name}" is encrypted`);
    if (method !== 0 && method !== 8) {
      refuse(`"${name}" is packed by method ${method}, expected 0 (stored) or 8 (deflated)`);
    }
    if (method === 0 && packed !== size) refuse(`"${name}" is stored in ${packed} bytes and has ${size}`);
    if (!(offset + LOCAL_BYTES + packed <= total)) refuse(`"${name}" lies outside`);
    names.add(name);
    entries.push({ name, packed, size, deflated: method === 8, crc: view.getUint32(at + 16, true), offset });
    at = next;
  }
  if (entries.length !== count) refuse(`its directory has ${entries.length} entries and states ${count}`);
  return entries;
}

/**
 * Opens an entry, to be read like a file. Several may be open at once.
 *
 * @param path The archive.
 * @param entry What {@linkcode readZip} gave.
 * @throws {TraceError} If the entry is not there.
 */
export async function openEntry(path: string, entry: ZipEntry): Promise<TraceBytes> {
  const bytes = await TraceBytes.open(path);
  try {
    await bytes.advance(entry.offset);
    const head = await bytes.peek(LOCAL_BYTES), view = viewOf(head);
    if (head.length < LOCAL_BYTES || view.getUint32(0, true) !== LOCAL) {
      throw new TraceError(`Cannot read the zip archive "${path}": "${entry.name}" is not where its directory says`);
    }
    await bytes.advance(LOCAL_BYTES + view.getUint16(26, true) + view.getUint16(28, true));
    return TraceBytes.part(bytes, { ...entry, path: `${path}/${entry.name}` });
  } catch (error) {
    bytes[Symbol.dispose]();
    throw error;
  }
}
