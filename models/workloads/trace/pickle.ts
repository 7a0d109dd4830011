/**
 * Python pickles as plain values. Nothing is run and nothing looked up: a global stays a name, a call stays a name with its
 * arguments (but for `collections.OrderedDict()`, which is an empty dictionary), and operations that build anything else are
 * refused by name.
 *
 * @module
 */

/** A value of a pickle. Values that a pickle has twice are the same object here, and may lie within themselves. */
export type PickleValue =
  | null
  | boolean
  | number
  | string
  | PickleList
  | PickleDict
  | PickleGlobal
  | PickleCall
  | PickleId;

/** A list or a tuple. */
export interface PickleList {
  /** Which. */
  readonly kind: "list" | "tuple";
  /** Its items. */
  readonly items: PickleValue[];
}

/** A dictionary. */
export interface PickleDict {
  /** Tells it from others. */
  readonly kind: "dict";
  /** Its items, as they came. */
  readonly entries: [key: PickleValue, value: PickleValue][];
}

/** Something of a Python module. */
export interface PickleGlobal {
  /** Tells it from others. */
  readonly kind: "global";
  /** Module and name, with a dot between. */
  readonly name: string;
}

/** A call that was not made. */
export interface PickleCall {
  /** Tells it from others. */
  readonly kind: "call";
  /** What would have been called. */
  readonly name: string;
  /** With what. */
  readonly items: readonly PickleValue[];
}

/** What lies outside of the pickle, by its id. */
export interface PickleId {
  /** Tells it from others. */
  readonly kind: "id";
  /** The id. */
  readonly id: PickleValue;
}

/** Operations that are refused, by the names of Python's pickletools. */
const REFUSED: Readonly<Record<number, string>> = {
  0x30: "POP",
  0x31: "POP_MARK",
  0x32: "DUP",
  0x46: "FLOAT",
  0x49: "INT",
  0x4c: "LONG",
  0x50: "PERSID",
  0x53: "STRING",
  0x54: "BINSTRING",
  0x55: "SHORT_BINSTRING",
  0x56: "UNICODE",
  0x62: "BUILD",
  0x64: "DICT",
  0x67: "GET",
  0x69: "INST",
  0x6c: "LIST",
  0x6f: "OBJ",
  0x70: "PUT",
  0x81: "NEWOBJ",
  0x82: "EXT1",
  0x83: "EXT2",
  0x84: "EXT4",
  0x8b: "LONG4",
  0x42: "BINBYTES",
  0x43: "SHORT_BINBYTES",
  0x8e: "BINBYTES8",
  0x8f: "EMPTY_SET",
  0x90: "ADDITEMS",
  0x91: "FROZENSET",
  0x92: "NEWOBJ_EX",
  0x96: "BYTEARRAY8",
  0x97: "NEXT_BUFFER",
  0x98: "READONLY_BUFFER",
};
/** Protocols of pickle whose operations are known. */
const LAST_PROTOCOL = 5;
const MARK = Symbol("mark");
const BAD_END = "its pickle does not end where it should";

/**
 * Reads a pickle that is all there is. Parameters as of {@linkcode readPickleAt}.
 */
export function readPickle(
  data: Uint8Array,
  allowed: (name: string) => boolean,
  refuse: (what: string) => never,
): PickleValue {
  const { value, end } = readPickleAt(data, 0, allowed, refuse);
  return end < data.length ? refuse(BAD_END) : value;
}

/**
 * Reads a pickle.
 *
 * @param data It, and perhaps more.
 * @param start Where it begins.
 * @param allowed Names of globals that it may have, module and name with a dot between.
 * @param refuse Throws the error of this file.
 * @returns What it has, and where it ends.
 */
export function readPickleAt(
  data: Uint8Array,
  start: number,
  allowed: (name: string) => boolean,
  refuse: (what: string) => never,
): { readonly value: PickleValue; readonly end: number } {
  const view = new DataView(data.buffer, data.byteOffset, data.length),
    utf8 = new TextDecoder("utf-8", { fatal: true });
  const stack: (PickleValue | typeof MARK)[] = [], memo = new Map<number, PickleValue>();
  let at = start;
  const step = (bytes: number): number => {
    const from = at;
    if (!(at + bytes <= data.length)) refuse("its pickle is cut short");
    at += bytes;
    return from;
  };
  const u8 = () => view.getUint8(step(1)), u32 = () => view.getUint32(step(4), true);
  const u64 = () => Number(view.getBigUint64(step(8), true));
  const broken = (): never => refuse("its pickle is damaged: an operation has too little to work on");
  const text = (bytes: number): string => {
    const from = step(bytes);
    try {
      return utf8.decode(data.subarray(from, at));
    } catch {
      return refuse("its pickle is damaged: a text is no UTF-8");
    }
  };
  const line = (): string => {
    const end = data.indexOf(10, at);
    if (end < 0) refuse("its pickle is cut short");
    const word = text(end - at);
    at++;
    return word;
  };
  const pop = (): PickleValue => {
    const value = stack.pop();
    return value === undefined || value === MARK ? broken() : value;
  };
  const top = (): PickleValue => {
    const value = stack.at(-1);
    return value === undefined || value === MARK ? broken() : value;
  };
  const toMark = (): PickleValue[] => {
    const mark = stack.lastIndexOf(MARK);
    if (mark < 0) broken();
    const items = stack.splice(mark) as PickleValue[];
    items.shift();
    return items;
  };
  const push = (value: PickleValue) => stack.push(value);
  const tuple = (count: number) => {
    const items = Array.from({ length: count }, pop).reverse();
    push({ kind: "tuple", items });
  };
  const name = (word: string) => {
    if (!allowed(word)) {
      refuse(
        `its pickle names ${
          JSON.stringify(word.slice(0, 80))
        }, which is no part of a tensor; nothing of a pickle is run here`,
      );
    }
    push({ kind: "global", name: word });
  };
  const append = (items: PickleValue[]) => {
    const list = top();
    if (list === null || typeof list !== "object" || list.kind !== "list") return broken();
    for (const item of items) list.items.push(item);
  };
  const set = (items: PickleValue[]) => {
    const dict = top();
    if (dict === null || typeof dict !== "object" || dict.kind !== "dict" || items.length % 2 !== 0) return broken();
    for (let i = 0; i < items.length; i += 2) dict.entries.push([items[i] ?? null, items[i + 1] ?? null]);
  };
  const recall = (index: number) => push(memo.get(index) ?? (memo.has(index) ? null : broken()));
  const long = (bytes: number) => {
    let value = 0n;
    const from = step(bytes);
    for (let i = bytes; i-- > 0;) value = value << 8n | BigInt(data[from + i] ?? 0);
    const number = Number(BigInt.asIntN(8 * bytes, value));
    if (!Number.isSafeInteger(number)) refuse("its pickle has a number beyond 53 bits");
    push(number);
  };
  const operations: Readonly<Record<number, () => void>> = {
    0x80: () => {
      const protocol = u8();
      if (protocol > LAST_PROTOCOL) refuse(`its pickle has protocol ${protocol}, expected at most ${LAST_PROTOCOL}`);
    },
    0x95: () => void step(8), // FRAME
    0x28: () => void stack.push(MARK),
    0x4e: () => push(null),
    0x88: () => push(true),
    0x89: () => push(false),
    0x4a: () => push(view.getInt32(step(4), true)),
    0x4b: () => push(u8()),
    0x4d: () => push(view.getUint16(step(2), true)),
    0x8a: () => long(u8()),
    0x47: () => push(view.getFloat64(step(8), false)),
    0x58: () => push(text(u32())),
    0x8c: () => push(text(u8())),
    0x8d: () => push(text(u64())),
    0x5d: () => push({ kind: "list", items: [] }),
    0x7d: () => push({ kind: "dict", entries: [] }),
    0x29: () => tuple(0),
    0x85: () => tuple(1),
    0x86: () => tuple(2),
    0x87: () => tuple(3),
    0x74: () => push({ kind: "tuple", items: toMark() }),
    0x61: () => append([pop()]),
    0x65: () => append(toMark()),
    0x73: () => set([pop(), pop()].reverse()),
    0x75: () => set(toMark()),
    0x71: () => void memo.set(u8(), top()),
    0x72: () => void memo.set(u32(), top()),
    0x94: () => void memo.set(memo.size, top()),
    0x68: () => recall(u8()),
    0x6a: () => recall(u32()),
    0x63: () => name(`${line()}.${line()}`),
    0x93: () => {
      const last = pop(), module = pop();
      if (typeof last !== "string" || typeof module !== "string") broken();
      name(`${module as string}.${last as string}`);
    },
    0x51: () => push({ kind: "id", id: pop() }),
    0x52: () => {
      const args = pop(), called = pop();
      if (args === null || typeof args !== "object" || args.kind !== "tuple") return broken();
      if (called === null || typeof called !== "object" || called.kind !== "global") return broken();
      const ordered = called.name === "collections.OrderedDict" && args.items.length === 0;
      push(ordered ? { kind: "dict", entries: [] } : { kind: "call", name: called.name, items: args.items });
    },
  };
  for (;;) {
    const code = u8();
    if (code === 0x2e) {
      const value = pop();
      return stack.length > 0 ? refuse(BAD_END) : { value, end: at };
    }
    const operation = operations[code];
    if (operation === undefined) {
      refuse(`its pickle has the operation ${REFUSED[code] ?? `0x${code.toString(16)}`}, which tensors do not need`);
    }
    operation?.();
  }
}
