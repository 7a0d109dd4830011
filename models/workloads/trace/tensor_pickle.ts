/**
 * What a pickle of torch.save() says of tensors.
 *
 * @module
 */

import type { PickleValue } from "./pickle.ts";

/** A tensor whose elements lie one after the other in a storage. */
export interface DescribedTensor {
  /** Its sizes. */
  readonly shape: readonly number[];
  /** Name of its elements' type, as in PyTorch without `torch.`. */
  readonly type: string;
  /** How its numbers are stored; absent: they are no whole numbers of 8 to 64 bits. */
  readonly whole?: { readonly width: 1 | 2 | 4 | 8; readonly signed: boolean };
  /** Key of the storage it is in. */
  readonly key: string;
  /** Elements of that storage; bytes, where it has no type. */
  readonly elements: number;
  /** Bytes of that storage. */
  readonly storageBytes: number;
  /** Bytes of the storage before its first element. */
  readonly start: number;
  /** Bytes of its elements. */
  readonly bytes: number;
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

const typeOfStorage = (name: string) => STORAGES[/^torch\.(\w+)Storage$/.exec(name)?.[1] ?? ""];
const typeOfName = (name: string) => Object.keys(TYPES).find((type) => `torch.${type}` === name);

/** Whether a global is what torch.save() writes for tensors and containers of them. */
export function allowedInTensors(name: string): boolean {
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
function tensorOf(value: PickleValue, refuse: (what: string) => never): DescribedTensor | undefined {
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
  // An untyped storage counts bytes.
  const storageBytes = elements * (untyped ? 1 : width);
  const count = shape.reduce((product, each) => product * each, 1);
  if (!isCount(count) || (offset + count) * width > storageBytes) {
    refuse(`a tensor reaches beyond its storage "${key}"`);
  }
  if (!contiguous(shape, strides)) {
    refuse(`a tensor of ${shape.join(" x ")} is not stored in order; save tensor.contiguous()`);
  }
  const whole = signed === undefined ? {} : { whole: { width: width as 1 | 2 | 4 | 8, signed } };
  return { shape, type, ...whole, key, elements, storageBytes, start: offset * width, bytes: count * width };
}

/**
 * The tensors of a pickle, by name where they are in a dictionary.
 *
 * @param root What the pickle has: a tensor, or a tuple, a list or a dictionary of some.
 * @param refuse Throws the error of this file.
 */
export function describedTensors(
  root: PickleValue,
  refuse: (what: string) => never,
): { readonly name?: string; readonly tensor: DescribedTensor }[] {
  const object = isObject(root), list = itemsOf(root, "tuple") ?? itemsOf(root, "list");
  const values: readonly (readonly [name: string | undefined, value: PickleValue])[] = list !== undefined
    ? list.map((value) => [undefined, value] as const)
    : object?.kind === "dict"
    ? object.entries.map(([name, value]) => [typeof name === "string" ? name : undefined, value] as const)
    : [[undefined, root] as const];
  return values.map(([name, value]) => ({
    ...(name === undefined ? {} : { name }),
    tensor: tensorOf(value, refuse) ??
      refuse(
        `${
          name === undefined ? "a value" : JSON.stringify(name.slice(0, 40))
        } in it is no tensor; expected the tensors ` +
          "indices, offsets and lengths, or one tensor of keys",
      ),
  }));
}
