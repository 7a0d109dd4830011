// Run by attack_test.ts: hands the library what would reach memory that is not its own. Prints the name of each attack
// before it is made, and then what came of it, so that the last line of a process that crashed tells which one it was.
import { evaluateMedia } from "../../ffi/media.ts";
import { popularityLaw, replayCache } from "../../mod.ts";
import { EmbeddingStore, missRatioCurve, PendingCheckpoint, Table, WdlTrainer } from "../../mod.ts";
import { KeySource } from "../../ffi/simulator/key_source.ts";
import { KeyStream } from "../../ffi/simulator/key_stream.ts";

// deno-lint-ignore no-explicit-any
type Anything = any;

const FAR = 50_000_000;
const store = EmbeddingStore.open({ storage: "DRAM", seed: 1 });
const table = store.table({ name: "t", dim: 16, initializer: 1 });
const keys = new BigInt64Array([1n, 2n, 3n]);
table.lookup(keys);

/** An array that says it is longer than it is. */
function longer<T extends object>(array: T, length: number = FAR): T {
  return Object.defineProperty(array, "length", { value: length });
}

/** Bytes of one kind under the prototype of another. */
function disguised<T extends object>(as: { readonly prototype: T }, bytes: number): T {
  return Object.setPrototypeOf(new Uint8Array(bytes), as.prototype);
}

class LongKeys extends BigInt64Array {
  override get length(): number {
    return FAR;
  }
}

class LongRows extends Float32Array {
  override get length(): number {
    return FAR * 16;
  }
}

/** Keys that do something while they are read. */
function acting(act: () => void): number[] {
  const list = [0, 1, 2];
  Object.defineProperty(list, 2, { get: () => (act(), 2) });
  return list;
}

function detached<T extends ArrayBufferView>(array: T): T {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

function shrinkingRows(): [Float32Array, () => void] {
  const buffer = new ArrayBuffer(3 * 16 * 4, { maxByteLength: 1 << 16 });
  return [new Float32Array(buffer), () => buffer.resize(4)];
}

function open(): { store: EmbeddingStore; table: Table } {
  const own = EmbeddingStore.open({ storage: "DRAM" });
  return { store: own, table: own.table({ name: "t", dim: 16 }) };
}

const folder = Deno.makeTempDirSync();
let chains = 0;

/** A folder for a chain of checkpoints. */
function chain(): string {
  return `${folder}/${chains++}`;
}

/** What each attack does; those of `harmless` have a right answer. */
const ATTACKS: Record<string, () => unknown> = {
  "a table made by hand": () => new (Table as Anything)(store, 0, "a", 1, 1).lookup(new BigInt64Array(4096)),
  "a table made of another's constructor": () =>
    new (table.constructor as Anything)(store, 0, "a", 1 << 20, 3).find([1]),
  "a subclass of Table": () =>
    new (class extends (Table as Anything as new (...all: Anything[]) => Anything) {})(store, 0, "a", 1, 1),
  "a store made by hand": () => new (EmbeddingStore as Anything)(4096n).describe(),
  "a subclass of a store": () =>
    (new (class extends (EmbeddingStore as Anything as new (...all: Anything[]) => Anything) {})(4096n) as Anything)
      .close(),
  "a trainer made by hand": () => new (WdlTrainer as Anything)(store, 4096n).describe(),
  "methods of a trainer on a store": () => WdlTrainer.prototype.describe.call(store as Anything),
  "methods of a store on a table": () => EmbeddingStore.prototype.describe.call(table as Anything),
  "methods of a store on a source of keys": () =>
    EmbeddingStore.prototype.table.call(new KeySource(1n) as Anything, { name: "x" }),
  "methods of a stream on a store": () => KeyStream.prototype.groups.call(store as Anything),
  "methods of a table on an heir": () => Table.prototype.lookup.call(Object.create(table), keys),
  "keys that say they are longer": () => table.find(longer(new BigInt64Array(2))).found.length === 2 || "more",
  "keys of a class that says so": () => table.lookupTier(new LongKeys(2)).length === 2 || "more",
  "rows that say they are longer": () => table.lookupInto(keys, longer(new Float32Array(1), 48)),
  "rows of a class that says so": () => table.lookupInto(new BigInt64Array(FAR / 100), new LongRows(1)),
  "gradients that say they are longer": () => table.update(keys, longer(new Float32Array(1), 48)),
  "a proxy of keys": () => table.lookup(new Proxy(keys, {})),
  "an heir of keys": () => table.lookup(Object.create(keys)),
  "an heir of the keys' prototype": () => table.lookup(Object.create(BigInt64Array.prototype)),
  "bytes disguised as keys": () => table.find(disguised(BigInt64Array, 4096)).found.length === 4096 || "less",
  "bytes disguised as rows": () => table.lookupInto(keys, disguised(Float32Array, 48)),
  "a class whose instances are all keys": () => {
    class Fake {
      static [Symbol.hasInstance](): boolean {
        return true;
      }
    }
    return table.lookupInto(keys, new Proxy(new Fake(), {}) as Anything);
  },
  "detached keys": () => table.lookup(detached(new BigInt64Array(9))),
  "detached rows": () => table.lookupInto(keys, detached(new Float32Array(48))),
  "rows that shrink while keys are read": () => {
    const [rows, shrink] = shrinkingRows();
    table.lookupInto(acting(shrink), rows);
  },
  "gradients that shrink while keys are read": () => {
    const [rows, shrink] = shrinkingRows();
    table.update(acting(shrink), rows);
  },
  "keys beyond the end of their buffer": () => {
    const buffer = new ArrayBuffer(64, { maxByteLength: 128 });
    const own = new BigInt64Array(buffer, 32, 4);
    buffer.resize(8);
    table.lookup(own);
  },
  "keys that leave while offsets are read": () => {
    const own = new BigInt64Array(new ArrayBuffer(24, { maxByteLength: 4096 }));
    const offsets: Anything = [0, 1, 2];
    Object.defineProperty(offsets, 2, { get: () => (structuredClone(own.buffer, { transfer: [own.buffer] }), 3) });
    table.lookupBags(own, offsets);
  },
  "weights that change between looks": () => {
    let looks = 0;
    const options = {
      get weights() {
        return looks++ === 0 ? new Float32Array(3) : new Float32Array(0);
      },
    };
    return table.lookupBags(keys, [0, 3], options).length === 16 && looks <= 2 || "read again";
  },
  "weights that say they are longer": () =>
    table.lookupBags(new BigInt64Array(3), [0, 3], { weights: longer(new Float32Array(0), 3) }),
  "rows written over the keys": () => {
    const { table } = open();
    const buffer = new ArrayBuffer(1000 * 16 * 4);
    const own = new BigInt64Array(buffer, 0, 1000).map((_, i) => BigInt(i));
    new BigInt64Array(buffer).set(own);
    table.lookupInto(new BigInt64Array(buffer, 0, 1000), new Float32Array(buffer));
    const rows = table.find(own).rows;
    return new Float32Array(buffer).every((weight, i) => weight === rows[i]) || "other rows";
  },
  "keys in shared memory": () => {
    const own = new BigInt64Array(new SharedArrayBuffer(24));
    own.set(keys);
    return table.find(own).found.every((one) => one === 1) || "not found";
  },
  "offsets that say they are longer": () =>
    table.lookupBags(keys, longer(new BigUint64Array([0n, 3n]), 3)).length === 16 || "more",
  "offsets of another kind": () => table.lookupBags(keys, disguised(BigUint64Array, 16)),
  "a dim of one's own": () => {
    (table as Anything).dim = 1;
    table.lookup(new BigInt64Array(4096));
  },
  "a dim defined anew": () => {
    const { table } = open();
    Object.defineProperty(table, "dim", { value: 1 });
    return table.lookup(new BigInt64Array(4096)).length === 4096 * 16 || "short";
  },
  "a dim that changes while it is read": () => {
    let looks = 0;
    const options = {
      name: "changing",
      get dim() {
        return looks++ === 0 ? 1024 : 1;
      },
    };
    const table = store.table(options);
    return table.lookup(keys).length === 3 * table.dim || "another size";
  },
  "a description of one's own": () => {
    const { store, table: _ } = open();
    (store as Anything).describe = () => [];
    return store.table({ name: "u" }).rows().length === 1 || "another number of tiers";
  },
  "a store closed while keys are read": () => {
    const { store, table } = open();
    table.lookup(acting(() => store.close()));
  },
  "a store closed while options of a table are read": () => {
    const { store } = open();
    store.table({
      name: "u",
      get dim() {
        store.close();
        return 4;
      },
    });
  },
  "a store closed while options of bags are read": () => {
    const { store, table } = open();
    table.lookupBags(keys, [0, 3], {
      get weights() {
        store.close();
        return new Float32Array(3);
      },
    });
  },
  "a store closed while a slot is read": () => {
    const { store, table } = open();
    table.find(keys, {
      get slot() {
        store.close();
        return 0;
      },
    });
  },
  "a store closed while a trainer is opened": () => {
    const { store } = open();
    WdlTrainer.open(store, {
      get data() {
        store.close();
        return "none";
      },
    });
  },
  "a checkpoint made by hand": () => new (PendingCheckpoint as Anything)("chain", store, 4096n).close(),
  "methods of a checkpoint on a store": () => PendingCheckpoint.prototype.close.call(store as Anything),
  "methods of a store on a checkpoint": () => {
    const { store } = open();
    using pending = store.checkpoint({ path: chain() });
    return EmbeddingStore.prototype.describe.call(pending as Anything);
  },
  "a store closed while options of a checkpoint are read": () => {
    const { store } = open();
    store.checkpoint({
      get path() {
        store.close();
        return chain();
      },
    });
  },
  "a store closed before its checkpoint": () => {
    const { store } = open();
    const pending = store.checkpoint({ path: chain() });
    store.close();
    pending.close();
    return pending.closed || "open";
  },
  "a trainer's checkpoint of a store": () => WdlTrainer.prototype.checkpoint.call(store as Anything, { path: chain() }),
  "a path of a checkpoint with an end in it": () => store.checkpoint({ path: "a\0b" }),
  "a path of a checkpoint that is no text": () => store.checkpoint({ path: { toString: () => "\0" } as Anything }),
  "a slot beyond 32 bits": () => table.find(keys, { slot: 2 ** 32 }),
  "a slot that is no number": () => table.find(keys, { slot: { valueOf: () => 0 } as Anything }),
  "a learning rate that acts": () => {
    const { store, table } = open();
    table.setLearningRate({ valueOf: () => (store.close(), 1) } as Anything);
  },
  "numbers of sizes that say there are more": () =>
    missRatioCurve({ keys, sizes: longer(new BigUint64Array(0), 9) as Anything }).missRatios.length === 0 || "more",
  "keys of a curve that say there are more": () =>
    missRatioCurve({ keys: longer(new BigInt64Array(2)), sizes: [1] }).lookups === 2 || "more",
  "a law whose parts change": () => {
    const { rows, weights } = popularityLaw({ rows: 100 });
    let looks = 0;
    const law = {
      get rows() {
        return looks++ === 0 ? rows : longer(new BigUint64Array(1), rows.length);
      },
      weights,
    };
    return missRatioCurve({ law, sizes: [10] }).missRatios.length === 1 || "more";
  },
  "a law that says it is longer": () =>
    missRatioCurve({
        law: { rows: longer(new BigUint64Array([1n]), FAR), weights: longer(new Float64Array([1]), FAR) },
        sizes: [1],
      }).distinct === 1 || "more",
  "keys of a replay that say there are more": () => replayCache("lru", 2, longer(new BigInt64Array(2))) === 1 || "more",
  "a policy that is no text": () => replayCache({ includes: () => false } as Anything, 2, keys),
  "media queries that say there are more": () => evaluateMedia({ medium: "m" }, longer(new Float64Array(1), 11 * FAR)),
  "media queries of half a row": () => evaluateMedia({ medium: "m" }, new Float64Array(12)),
  "samples that are no number": () => {
    let looks = 0;
    const source = new KeySource(1n);
    source.add({ steps: [{ rows: 10, share: 1, life: 0 }] });
    source.keys(0, 0, { valueOf: () => looks++ === 0 ? 1 : FAR } as Anything);
  },
  "a stream's kernel that says it is longer": () => {
    const stream = new KeyStream(1024);
    stream.add([1, 2, 3, 1, 2, 3]);
    stream.lives(true);
    stream.groups();
    stream.decluster(longer(new Float64Array(1), FAR), longer(new Float64Array(1), FAR), 1n);
  },
};

for (const [name, attack] of Object.entries(ATTACKS)) {
  console.log(JSON.stringify({ name }));
  let outcome: string;
  try {
    const result = attack();
    outcome = result === true ? "right" : `went on: ${String(result)}`;
  } catch (error) {
    outcome = error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error);
  }
  console.log(JSON.stringify({ name, outcome }));
}
Deno.removeSync(folder, { recursive: true });
// What was attacked still works.
const after = table.lookup(keys);
console.log(
  JSON.stringify({ name: "afterwards", outcome: after.every((weight) => weight === 1) ? "right" : "spoiled" }),
);
