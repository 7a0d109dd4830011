/**
 * Tensors in a file of torch.save() (its zip form, of PyTorch 1.6 and later): `data.pkl` says what there is, and a file a
 * storage has the numbers.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import { TraceBytes } from "./bytes.ts";
import { type PickleValue, readPickle } from "./pickle.ts";
import { openEntry, readZip, type ZipEntry } from "./zip.ts";

/** A tensor whose elements lie one after the other. */
export interface Tensor {
  /** Its sizes. */
  readonly shape: readonly number[];
  /** Name of its elements' type, as in PyTorch without `torch.`. */
  readonly type: string;
  /** How its numbers are stored; absent: they are no whole numbers of 8 to 64 bits. */
  readonly whole?: { readonly width: 1 | 2 | 4 | 8; readonly signed: boolean };
  /** The storage it is in. */
  readonly entry: ZipEntry;
  /** Bytes of the storage before its first element. */
  readonly start: number;
  /** Bytes of its elements. */
  readonly bytes: number;
}

/** What a file of tensors has. */
export interface TensorFile {
  /** Its tensors, by name where they are in a dictionary, else by place. */
  readonly tensors: readonly { readonly name?: string; readonly tensor: Tensor }[];
  /** The lowest byte of a number comes first. */
  readonly little: boolean;
}

/** Bytes of an element, and for whole numbers whether they may be negative. */
const TYPES: Readonly<Record<string, readonly [width: number, signed?: boolean]>> = {
  int64: [8, true],
  int32: [4, true],
  int16: [2, true],
  int8: [1, true],
  uint64: [8, false],
  uint32: [4, false],
  uint16: [2, false],
  uint8: [1, false],
  bool: [1],
  float16: [2],
  bfloat16: [2],
  float32: [4],
  float64: [8],
  complex64: [8],
  complex128: [16],
};
const STORAGES: Readonly<Record<string, string>> = {
  Long: "int64",
  Int: "int32",
  Short: "int16",
  Char: "int8",
  Byte: "uint8",
  Bool: "bool",
  Half: "float16",
  BFloat16: "bfloat16",
  Float: "float32",
  Double: "float64",
  ComplexFloat: "complex64",
  ComplexDouble: "complex128",
};
const REBUILD = "torch._utils._rebuild_tensor_v2";
/** As the former, with the type behind the other arguments: for types that have no storage class. */
const REBUILD_TYPED = "torch._utils._rebuild_tensor_v3";
const UNTYPED = "torch.storage.UntypedStorage";
const LONGEST_PICKLE = 1 << 20;

const typeOfStorage = (name: string) => STORAGES[/^torch\.(\w+)Storage$/.exec(name)?.[1] ?? ""];
const typeOfName = (name: string) => Object.keys(TYPES).find((type) => `torch.${type}` === name);

/** What torch.save() writes for tensors, and containers of them. */
function allowed(name: string): boolean {
  return [REBUILD, REBUILD_TYPED, UNTYPED, "collections.OrderedDict", "torch.Size"].includes(name) ||
    typeOfStorage(name) !== undefined || typeOfName(name) !== undefined;
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isObject = (value: PickleValue | undefined) => typeof value === "object" && value !== null ? value : undefined;

function itemsOf(value: PickleValue | undefined, kind: "tuple" | "list"): readonly PickleValue[] | undefined {
  const list = isObject(value);
  return list?.kind === kind ? list.items : undefined;
}

function countsOf(value: PickleValue | undefined): number[] | undefined {
  const items = itemsOf(value, "tuple");
  return items?.every(isCount) === true ? items as number[] : undefined;
}

/** Whether elements lie one after the other, the last dimension's first. */
function contiguous(shape: readonly number[], strides: readonly number[]): boolean {
  let expected = 1;
  for (let i = shape.length; i-- > 0;) {
    const size = shape[i] ?? 0;
    if (size === 0) return true;
    if (size > 1 && strides[i] !== expected) return false;
    expected *= size;
  }
  return true;
}

/** The tensor that a call would make; undefined: it makes none. */
function tensorOf(
  value: PickleValue,
  storages: ReadonlyMap<string, ZipEntry>,
  refuse: (what: string) => never,
): Tensor | undefined {
  const call = isObject(value);
  if (call?.kind !== "call" || (call.name !== REBUILD && call.name !== REBUILD_TYPED)) return undefined;
  const [storage, offset, size, stride, , , dtype] = call.items;
  const persistent = isObject(storage), id = persistent?.kind === "id" ? itemsOf(persistent.id, "tuple") : undefined;
  const [tag, storageClass, key, , elements] = id ?? [], global = isObject(storageClass);
  const shape = countsOf(size), strides = countsOf(stride);
  if (
    tag !== "storage" || global?.kind !== "global" || typeof key !== "string" || !isCount(elements) ||
    !isCount(offset) ||
    shape === undefined || strides === undefined || strides.length !== shape.length
  ) return refuse("its pickle is damaged: a tensor is not described as torch.save() does");
  const typed = isObject(dtype), untyped = global.name === UNTYPED;
  const type = untyped ? typed?.kind === "global" ? typeOfName(typed.name) : undefined : typeOfStorage(global.name);
  const [width = 0, signed] = TYPES[type ?? ""] ?? [];
  if (type === undefined || width === 0) return refuse("its pickle is damaged: a tensor has no type");
  const entry = storages.get(key);
  if (entry === undefined) return refuse(`the storage "${key.slice(0, 40)}" of a tensor is missing`);
  // An untyped storage counts bytes.
  if (entry.size < elements * (untyped ? 1 : width)) {
    refuse(`the storage "${key}" has ${entry.size} bytes, expected ${elements * (untyped ? 1 : width)}`);
  }
  const count = shape.reduce((product, each) => product * each, 1);
  if (!isCount(count) || (offset + count) * width > entry.size) refuse(`a tensor reaches beyond its storage "${key}"`);
  if (!contiguous(shape, strides)) {
    refuse(`a tensor of ${shape.join(" x ")} is not stored in order; save tensor.contiguous()`);
  }
  const whole = signed === undefined ? {} : { whole: { width: width as 1 | 2 | 4 | 8, signed } };
  return { shape, type, ...whole, entry, start: offset * width, bytes: count * width };
}

async function textOf(path: string, entry: ZipEntry): Promise<Uint8Array> {
  if (entry.size > LONGEST_PICKLE) {
    throw new TraceError(
      `Cannot read the tensors in "${path}": "${entry.name}" has ${entry.size} bytes, expected at most ${LONGEST_PICKLE}`,
    );
  }
  using bytes = await openEntry(path, entry);
  const text = (await bytes.peek(entry.size)).slice();
  await bytes.advance(text.length);
  await bytes.peek(1); // to the end, where the checksum is
  return text;
}

/**
 * The tensors of a file. Their numbers are not read.
 *
 * @param path The file, plain or packed with gzip or zstd.
 * @throws {TraceError} If it has anything but tensors, alone or in a tuple, a list or a dictionary.
 */
export async function readTensors(path: string): Promise<TensorFile> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the tensors in "${path}": ${what}`);
  };
  const entries = await readZip(path), pickle = entries.find(({ name }) => name.endsWith("/data.pkl"));
  if (pickle === undefined) return refuse("it is a zip archive without data.pkl, which torch.save() writes");
  const folder = pickle.name.slice(0, -"data.pkl".length);
  const order = entries.find(({ name }) => name === `${folder}byteorder`);
  const byteorder = order === undefined ? "little" : new TextDecoder().decode(await textOf(path, order));
  if (byteorder !== "little" && byteorder !== "big") {
    refuse(`its order of bytes is ${JSON.stringify(byteorder.slice(0, 20))}`);
  }
  const root = readPickle(await textOf(path, pickle), allowed, refuse);
  const prefix = `${folder}data/`;
  const storages = new Map(
    entries.filter(({ name }) => name.startsWith(prefix)).map((entry) =>
      [entry.name.slice(prefix.length), entry] as const
    ),
  );
  const object = isObject(root), list = itemsOf(root, "tuple") ?? itemsOf(root, "list");
  const values: readonly (readonly [name: string | undefined, value: PickleValue])[] = list !== undefined
    ? list.map((value) => [undefined, value] as const)
    : object?.kind === "dict"
    ? object.entries.map(([name, value]) => [typeof name === "string" ? name : undefined, value] as const)
    : [[undefined, root] as const];
  const tensors = values.map(([name, value]) => ({
    ...(name === undefined ? {} : { name }),
    tensor: tensorOf(value, storages, refuse) ??
      refuse(
        `${
          name === undefined ? "a value" : JSON.stringify(name.slice(0, 40))
        } in it is no tensor; expected the tensors ` +
          "indices, offsets and lengths, or one tensor of keys",
      ),
  }));
  return { tensors, little: byteorder === "little" };
}

/** The bytes of a tensor's elements, and no others. @throws {TraceError} If they are not there. */
export async function openTensor(path: string, { entry, start, bytes: size }: Tensor): Promise<TraceBytes> {
  const storage = await openEntry(path, entry);
  if (size === entry.size) return storage;
  try {
    await storage.advance(start);
    return TraceBytes.part(storage, { path: storage.path, packed: size, size, deflated: false, crc: 0 });
  } catch (error) {
    storage[Symbol.dispose]();
    throw error;
  }
}
