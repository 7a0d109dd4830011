/** Writes zip archives and files of tensors, right ones and wrong ones. */

import { crc32, deflateRawSync } from "node:zlib";

/** A file of an archive. */
export interface Packed {
  readonly name: string;
  readonly data: Uint8Array;
  readonly deflated?: boolean;
  /** Sizes and offset stand in the field for 64 bits. */
  readonly large?: boolean;
  /** Changes to what the directory says. */
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
}

/** Bytes of texts, a character each, and of numbers, lowest byte first: `[number, bytes]`. */
export function bytesOf(
  ...parts: readonly (readonly [value: number, width: number] | Uint8Array | string)[]
): Uint8Array<ArrayBuffer> {
  const blocks = parts.map((part) => {
    if (typeof part === "string") return Uint8Array.from(part, (character) => character.charCodeAt(0));
    if (part instanceof Uint8Array) return part;
    return Uint8Array.from({ length: part[1] }, (_, i) => Math.floor(part[0] / 2 ** (8 * i)));
  });
  const out = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    out.set(block, at);
    at += block.length;
  }
  return out;
}

/** A zip archive. With a `large` entry its end record is the one for 64 bits, too. */
export function zip(files: readonly Packed[], comment = ""): Uint8Array<ArrayBuffer> {
  let out: Uint8Array = new Uint8Array(), directory: Uint8Array = new Uint8Array();
  const large = files.some((file) => file.large === true);
  for (
    const { name, data, deflated = false, large = false, method = deflated ? 8 : 0, flags = 0, crc = crc32(data) }
      of files
  ) {
    const packed = deflated ? new Uint8Array(deflateRawSync(data)) : data, offset = out.length;
    const small = (size: number) => [large ? 0xffff_ffff : size, 4] as const;
    const extra = large
      ? bytesOf([1, 2], [24, 2], [data.length, 8], [packed.length, 8], [offset, 8])
      : new Uint8Array();
    out = bytesOf(
      out,
      "PK\x03\x04",
      ...([[20, 2], [flags, 2], [method, 2], [0, 4], [crc, 4], [0, 4], [0, 4], [name.length, 2], [7, 2]] as const),
      name,
      "padding",
      packed,
    );
    directory = bytesOf(
      directory,
      "PK\x01\x02",
      ...([
        [20, 2],
        [20, 2],
        [flags, 2],
        [method, 2],
        [0, 4],
        [crc, 4],
        small(packed.length),
        small(data.length),
      ] as const),
      ...([[name.length, 2], [extra.length, 2], [0, 2], [0, 2], [0, 2], [0, 4], small(offset)] as const),
      name,
      extra,
    );
  }
  const at = out.length, record = at + directory.length, count = [large ? 0xffff : files.length, 2] as const;
  const longer = large
    ? bytesOf(
      "PK\x06\x06",
      ...([[44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [files.length, 8], [files.length, 8]] as const),
      ...([[directory.length, 8], [at, 8]] as const),
      "PK\x06\x07",
      ...([[0, 4], [record, 8], [1, 4]] as const),
    )
    : new Uint8Array();
  return bytesOf(
    out,
    directory,
    longer,
    "PK\x05\x06",
    ...([[0, 4], count, count, [directory.length, 4], [large ? 0xffff_ffff : at, 4], [comment.length, 2]] as const),
    comment,
  );
}

/** A tensor to write: of a storage, whose place is its key. */
export interface Described {
  readonly storage: number;
  readonly shape: readonly number[];
  readonly strides?: readonly number[];
  readonly offset?: number;
  /** Elements of the storage. */
  readonly elements?: number;
  readonly type?: string;
}

const text = (word: string) => bytesOf("X", [word.length, 4], word);
const number = (value: number) => bytesOf("J", [value, 4]);
const tuple = (values: readonly number[]) => bytesOf("(", ...values.map(number), "t");

/** The operations that make a tensor. */
export function tensor(
  { storage, shape, offset = 0, type = "Long", strides, elements }: Described,
): Uint8Array<ArrayBuffer> {
  const steps = strides ?? shape.map((_, i) => shape.slice(i + 1).reduce((product, size) => product * size, 1));
  return bytesOf(
    `ctorch._utils\n_rebuild_tensor_v2\n((`,
    text("storage"),
    `ctorch\n${type}Storage\n`,
    text(String(storage)),
    text("cpu"),
    number(elements ?? shape.reduce((product, size) => product * size, 1)),
    "tQ",
    number(offset),
    tuple(shape),
    tuple(steps),
    "\x89",
    "ccollections\nOrderedDict\n)Rt",
    "R",
  );
}

/** A pickle of protocol 2 out of operations. */
export function pickle(...operations: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  return bytesOf(new Uint8Array([0x80, 2]), ...operations, ".");
}

/** A file as torch.save() writes it. */
export function torchFile(
  data: Uint8Array,
  storages: readonly Uint8Array[],
  changes: Partial<Packed> = {},
  more: readonly Packed[] = [],
): Uint8Array<ArrayBuffer> {
  return zip([
    { name: "t/data.pkl", data, ...changes },
    ...more,
    ...storages.map((storage, i) => ({ name: `t/data/${i}`, data: storage, ...changes })),
  ]);
}

/** Numbers of 64 bits as bytes. */
export const int64 = (values: readonly number[]): Uint8Array =>
  new Uint8Array(BigInt64Array.from(values, (value) => BigInt(value)).buffer);
