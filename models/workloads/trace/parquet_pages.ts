/**
 * Pages of Parquet files, checked before hyparquet takes them apart: it believes the counts that it reads, so a damaged one
 * could take all memory, or run for hours.
 *
 * @module
 */

import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from "node:zlib";
import { type ColumnMetaData, parquetHeader, snappyUncompress } from "../../../base/hyparquet.ts";
import { unpackLz4, unpackOldLz4 } from "./lz4_block.ts";

type Header = ReturnType<typeof parquetHeader>;
type Refuse = (what: string) => never;

/** How deep a column's values are nested: the largest levels of the format. */
export interface Levels {
  /** Largest repetition level: lists around a value. */
  readonly repetition: number;
  /** Largest definition level: what may be missing around a value. */
  readonly definition: number;
}

/** Values of one row group's column at most. */
export const MOST_VALUES: number = 1 << 26;
/** Bytes of an unpacked page at most. */
const LARGEST_PAGE = 1 << 28;
/** Values that fill the last packed run: 7 in most files, up to 255 in DuckDB's. */
const MOST_FILLED = 1023;
/** Snappy writes at most 64 bytes for three. */
const SNAPPY_RATIO = 22;
const ENCODINGS = ["PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY"];
/** Values of a block and parts of it at most; writers have 128 and 4. */
const DELTA = { block: 1 << 16, parts: 512 };

/** Reads numbers of 7 bits a byte. */
class Cursor {
  readonly #bytes: Uint8Array;
  readonly #refuse: Refuse;
  at: number;

  constructor(bytes: Uint8Array, at: number, refuse: Refuse) {
    this.#bytes = bytes;
    this.#refuse = refuse;
    this.at = at;
  }

  get left(): number {
    return this.#bytes.length - this.at;
  }

  byte(): number {
    return this.#bytes[this.at++] ?? this.#refuse("a page ends within its counts");
  }

  number(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    return this.#refuse("a page has a count beyond 32 bits");
  }
}

/**
 * Goes over runs of levels or of places in a dictionary: no more values than there may be, but for those that fill the last
 * run.
 *
 * @returns How many of them are `counted`.
 */
function checkRuns(bytes: Uint8Array, at: number, width: number, values: number, refuse: Refuse, counted = -1): number {
  if (width > 32) refuse(`a page has values of ${width} bits`);
  const cursor = new Cursor(bytes, at, refuse);
  let found = 0;
  for (let seen = 0; seen < values;) {
    const header = cursor.number(), packed = header % 2 === 1, count = Math.floor(header / 2) * (packed ? 8 : 1);
    if (seen + count > values + (packed ? MOST_FILLED : 0)) {
      refuse(`a page has a run of ${count} values where ${values - seen} are left`);
    }
    if (packed) {
      // What fills the last run may be left away at the end of a page.
      for (let i = 0; counted >= 0 && i < Math.min(count, values - seen); i++) {
        let value = 0;
        for (let bit = 0; bit < width; bit++) {
          const place = i * width + bit;
          value |= ((bytes[cursor.at + (place >> 3)] ?? 0) >> (place & 7) & 1) << bit;
        }
        if (value === counted) found++;
      }
      cursor.at += count * width / 8;
    } else {
      let value = 0;
      for (let i = 0; i < (width + 7 >> 3); i++) value += cursor.byte() * 256 ** i;
      if (value === counted) found += count;
    }
    seen += count;
  }
  return found;
}

const bitsFor = (level: number) => 32 - Math.clz32(level);

/** What is behind the levels of a page: `values` of them. */
function checkValues(
  bytes: Uint8Array,
  at: number,
  encoding: string | undefined,
  values: number,
  refuse: Refuse,
): void {
  if (encoding === undefined || !ENCODINGS.includes(encoding)) {
    refuse(`a page is encoded as ${encoding ?? "something unknown"}, expected ${ENCODINGS.join(", ")}`);
  }
  if (values === 0 || encoding === "PLAIN") {
    if (values * 4 > bytes.length - at) refuse(`a page has ${bytes.length - at} bytes for ${values} values`);
    return;
  }
  const cursor = new Cursor(bytes, at, refuse);
  if (encoding?.endsWith("_DICTIONARY") === true) {
    const width = cursor.byte();
    if (width > 0) checkRuns(bytes, at + 1, width, values, refuse);
    return;
  }
  const block = cursor.number(), parts = cursor.number();
  if (block > DELTA.block || parts === 0 || parts > DELTA.parts || block % (8 * parts) !== 0) {
    refuse(`a page has blocks of ${block} values in ${parts} parts`);
  }
}

/** An unpacked page of version 1, or a dictionary. */
function checkPage(bytes: Uint8Array, header: Header, levels: Levels, refuse: Refuse): void {
  if (header.dictionary_page_header !== undefined) {
    const values = header.dictionary_page_header.num_values;
    if (values * 4 > bytes.length) refuse(`a dictionary has ${bytes.length} bytes for ${values} values`);
    return;
  }
  if (header.data_page_header === undefined) return;
  const { num_values: values, encoding } = header.data_page_header;
  let at = 0, present = values;
  for (const kind of ["repetition", "definition"] as const) {
    if (levels[kind] === 0) continue;
    const size = at + 4 > bytes.length
      ? Infinity
      : new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0, true);
    if (at + 4 + size > bytes.length) refuse("a page ends within its levels");
    const found = checkRuns(
      bytes.subarray(0, at + 4 + size),
      at + 4,
      bitsFor(levels[kind]),
      values,
      refuse,
      levels[kind],
    );
    if (kind === "definition") present = found;
    at += 4 + size;
  }
  checkValues(bytes, at, encoding, present, refuse);
}

/** The levels of a page of version 2, which are not packed. @returns Their bytes. */
function checkLevels(bytes: Uint8Array, header: Header, levels: Levels, refuse: Refuse): number {
  const page = header.data_page_header_v2;
  if (page === undefined) return 0;
  const { num_values: values, num_nulls: missing } = page;
  const { repetition_levels_byte_length: repetition, definition_levels_byte_length: definition } = page;
  if (![missing, repetition, definition].every(isCount) || missing > values || repetition + definition > bytes.length) {
    refuse("a page ends within its levels");
  }
  const end = repetition + definition;
  if (levels.repetition > 0) checkRuns(bytes.subarray(0, repetition), 0, bitsFor(levels.repetition), values, refuse);
  const found = levels.definition === 0
    ? values
    : checkRuns(bytes.subarray(0, end), repetition, bitsFor(levels.definition), values, refuse, levels.definition);
  if (found !== values - missing) {
    refuse(`a page says that ${missing} of ${values} values are missing, ${values - found} are`);
  }
  return end;
}

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0;

function unpack(codec: string | undefined, bytes: Uint8Array, size: number, refuse: Refuse): Uint8Array {
  if (codec === "UNCOMPRESSED") return bytes;
  if (size === 0) return new Uint8Array();
  const options = { maxOutputLength: size };
  if (codec === "GZIP") return gunzipSync(bytes, options);
  if (codec === "ZSTD") return zstdDecompressSync(bytes, options);
  if (codec === "BROTLI") return brotliDecompressSync(bytes, options);
  if (codec === "LZ4_RAW" || codec === "LZ4") {
    const out = codec === "LZ4" ? unpackOldLz4(bytes, size) : unpackLz4(bytes, size);
    return out ?? refuse("a page is damaged: its LZ4 data do not unpack");
  }
  if (codec !== "SNAPPY") {
    refuse(
      `a column is packed by ${
        codec ?? "something unknown"
      }, expected SNAPPY, GZIP, ZSTD, BROTLI, LZ4 or LZ4_RAW; write the file ` +
        "again with one of them",
    );
  }
  if (size > SNAPPY_RATIO * bytes.length) refuse(`a page of ${bytes.length} bytes cannot unpack to ${size}`);
  const out = new Uint8Array(size);
  snappyUncompress(bytes, out);
  return out;
}

/**
 * Checks the pages of a column in a row group.
 *
 * @param chunk All its bytes.
 * @param column What the file says of it.
 * @param levels How deep it is nested.
 * @param rows Rows of the group.
 * @param refuse Throws the error of this file.
 * @returns Unpacks a page, which must lie in `chunk`, and checks what is in it.
 */
export function checkedPages(
  chunk: ArrayBuffer,
  { codec, num_values: total }: ColumnMetaData,
  levels: Levels,
  rows: number,
  refuse: Refuse,
): (bytes: Uint8Array, size: number) => Uint8Array {
  const reader = { view: new DataView(chunk), offset: 0 }, pages = new Map<number, { header: Header; size: number }>();
  const expected = levels.repetition === 0 ? rows : Number(total);
  let values = 0;
  while (values < expected && reader.offset < chunk.byteLength) {
    const header = parquetHeader(reader), at = reader.offset;
    const { type, compressed_page_size: packed, uncompressed_page_size: size } = header;
    const data = header.data_page_header ?? header.data_page_header_v2;
    const count = type === "DICTIONARY_PAGE" ? header.dictionary_page_header?.num_values : data?.num_values;
    const kinds = [header.data_page_header, header.data_page_header_v2, header.dictionary_page_header];
    if (kinds.filter((each) => each !== undefined).length !== 1 || !isCount(count) || count > MOST_VALUES) {
      refuse("a page has a damaged header");
    }
    if (!isCount(packed) || at + packed > chunk.byteLength) refuse("a page reaches beyond its column");
    if (!isCount(size)) refuse("a page has a damaged header");
    if (size > LARGEST_PAGE) refuse(`a page has ${size} bytes, expected at most ${LARGEST_PAGE}`);
    const bytes = new Uint8Array(chunk, at, packed);
    if (typeof header.crc === "number" && crc32(bytes) !== header.crc >>> 0) {
      refuse("a page is damaged: its checksum is another");
    }
    const start = checkLevels(bytes, header, levels, refuse), second = header.data_page_header_v2;
    if (start > size) refuse("a page ends within its levels");
    if (second?.is_compressed === false) {
      checkValues(bytes, start, second.encoding, second.num_values - second.num_nulls, refuse);
    }
    pages.set(at + start, { header, size: size - start });
    if (type !== "DICTIONARY_PAGE") values += count as number;
    reader.offset = at + packed;
  }
  if (values !== expected) refuse(`a column has ${values} values, expected ${expected}`);
  if (levels.repetition > 0 && reader.offset !== chunk.byteLength) {
    refuse("bytes are left over behind a column's pages");
  }
  return (bytes, size) => {
    const page = pages.get(bytes.byteOffset);
    if (page === undefined || page.size !== size) return refuse("a page is not where its column says");
    const out = unpack(codec, bytes, size, refuse), second = page.header.data_page_header_v2;
    if (out.length !== size) refuse(`a page has ${out.length} bytes, expected ${size}`);
    if (second === undefined) checkPage(out, page.header, levels, refuse);
    else checkValues(out, 0, second.encoding, second.num_values - second.num_nulls, refuse);
    return out;
  };
}
