/** Admission, expiry and what rows record, as trainers ask for them; and the ways to read what was trained. */

import "../native_library.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { generateData } from "../../ffi/data.ts";
import { exportNumpy } from "../../ffi/numpy.ts";
import { EmbeddingStore, type StoreOptions, type Table } from "../../ffi/store.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

const STEPS = 20;
const folder = await Deno.makeTempDir();
const data = `${folder}/train.tbc`;
await generateData({ out: data, rows: 8192, scale: 0.001, seed: 3 });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const TINY = { data, batch: 128, hidden: [8], seed: 1 } as const;

interface Trained {
  readonly digest: string;
  readonly statistics: Readonly<Record<string, number>>;
  readonly waiting: number;
}

function count(pieces: Iterable<{ readonly keys: { readonly length: number } }>): number {
  return [...pieces].reduce((sum, { keys }) => sum + keys.length, 0);
}

async function train(storage: StoreOptions, options: Partial<TrainerOptions>): Promise<Trained> {
  using store = EmbeddingStore.open({ seed: 1, ...storage });
  using trainer = WdlTrainer.open(store, { ...TINY, dim: 4, ...options });
  await trainer.train(STEPS);
  const kept = "bloom" in (options.admission ?? {})
    ? 0
    : trainer.tables.reduce((n, name) => n + count(trainer.table(name).waiting()), 0);
  return { digest: await trainer.digest(), statistics: store.statistics(), waiting: kept };
}

const admission = { counter: { frequency: 3, defaultValue: 0.5 } } as const;

Deno.test("a trainer lets keys in that were looked up often enough, alike on every storage type", async () => {
  const all = await train({ storage: "DRAM" }, {});
  const path = await Deno.makeTempDir();
  try {
    const types: StoreOptions[] = [
      { storage: "DRAM" },
      { storage: "DRAM_SSDHASH", path, size: ["4 MiB", "64 MiB"], shards: 1 },
      { storage: "SSDHASH", path, size: ["64 MiB"] },
      { storage: "DRAM", shards: 16 },
    ];
    for (const asked of [admission, { bloom: { frequency: 3, keys: 3000, counterBits: 8 } }] as const) {
      const trained: Trained[] = [];
      for (const type of types) trained.push(await train(type, { admission: asked }));
      const [dram, ...others] = trained;
      assert(dram !== undefined && dram.digest !== all.digest);
      assert(
        (dram.statistics["created"] ?? 0) > 0 && (dram.statistics["created"] ?? 0) < (all.statistics["created"] ?? 0),
      );
      assert((dram.statistics["not_admitted"] ?? 0) > 0);
      // Every key that came has a row or waits for one.
      if ("counter" in asked) assertEquals((dram.statistics["created"] ?? 0) + dram.waiting, all.statistics["created"]);
      for (const other of others) {
        assertEquals([other.digest, other.statistics["created"]], [dram.digest, dram.statistics["created"]]);
      }
      for (
        const more of [{ threads: 3 }, { stage: 2, stageWhat: "lookup" }, {
          executor: "cost-model",
          threads: 2,
        }] as const
      ) {
        assertEquals((await train({ storage: "DRAM" }, { admission: asked, ...more })).digest, dram.digest);
      }
    }
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});

Deno.test("fill() leaves tables with admission empty, and a key that waits counts as the default when rows are scored", async () => {
  const scores = async (defaultValue: number) => {
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 1 });
    using trainer = WdlTrainer.open(store, {
      ...TINY,
      dim: 4,
      admission: { counter: { frequency: 1000, defaultValue } },
    });
    await trainer.fill();
    assertEquals(trainer.tables.flatMap((name) => trainer.table(name).rows()), Array(26).fill(0));
    const { unseenShare, logloss } = await trainer.evaluate(data, { maxRows: 100 });
    assertEquals(unseenShare, 1);
    return logloss;
  };
  assert(await scores(0) !== await scores(2));
});

Deno.test("a trainer judges rows by weight at the steps that l2Every names", async () => {
  const { statistics } = await train({ storage: "DRAM" }, { expire: { l2: 1e9, l2Every: 8 } });
  assert((statistics["expired"] ?? 0) > 0);
  const seldom = await train({ storage: "DRAM" }, { expire: { l2: 1e9 } });
  assertEquals(seldom.statistics["expired"], 0);
});

Deno.test("each table has its own admission, expiry and record, or the trainer's", async () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  using trainer = WdlTrainer.open(store, {
    ...TINY,
    admission,
    expire: { steps: 5 },
    recordFrequency: true,
    tables: [
      { name: "C3", dim: 4, columns: ["C3"] },
      { name: "all", dim: 4, columns: ["C2"], admission: "none", expire: "none", recordFrequency: false },
      { name: "other", dim: 4, columns: ["C4", "C12"], admission: { counter: { frequency: 1 } }, expire: { steps: 2 } },
    ],
  });
  const { statistics } = await (async () => {
    await trainer.train(STEPS);
    return { statistics: trainer.tables.map((name) => trainer.table(name).statistics()) };
  })();
  assertEquals(trainer.tables, ["C3", "all", "other"]);
  assertEquals(statistics.map((one) => (one["not_admitted"] ?? 0) > 0), [true, false, true]);
  assertEquals(statistics.map((one) => (one["expired"] ?? 0) > 0), [true, false, true]);
  const [key] = trainer.table("C3").keys();
  const { frequencies, versions } = trainer.table("C3").metadata([key ?? 0n]);
  assert((frequencies[0] ?? 0n) > 3n && (versions[0] ?? -1n) >= 0n);
  assertEquals(trainer.table("all").rowBytes, trainer.table("other").rowBytes - 12); // frequency and version
});

Deno.test("a key that waits keeps the step that last looked it up, where versions are recorded and it fits", () => {
  for (const storage of ["DRAM", "SSDHASH"] as const) {
    const folder = Deno.makeTempDirSync();
    try {
      using store = EmbeddingStore.open({ storage, ...(storage === "DRAM" ? {} : { path: folder, size: [2 ** 26] }) });
      const admission = { counter: { frequency: 3 } };
      const table = store.table({ name: "t", dim: 2, admission, recordVersion: true, recordFrequency: true });
      const waiting = () => {
        const found = [...table.waiting()].flatMap(({ keys, frequencies, versions }) =>
          [...keys].map((key, i) => `${key}: ${frequencies[i]} at ${versions[i]}`)
        );
        return found.sort();
      };
      table.lookup([1n]);
      store.setStep(41);
      table.lookup([2n, 2n]);
      store.setStep(99);
      table.lookup([1n, 3n]);
      table.update([1n, 2n], new Float32Array(4)); // no row: passed by
      assertEquals(waiting(), ["1: 2 at 99", "2: 2 at 41", "3: 1 at 99"], storage);
      const { frequencies, versions } = table.metadata([1n, 2n, 3n, 4n]);
      assertEquals([[...frequencies], [...versions]], [[2n, 2n, 1n, 0n], [99n, 41n, 99n, -1n]]);
      store.setStep(2 ** 26 - 1);
      table.lookup([3n]);
      table.lookup(Array<bigint>(200).fill(5n)); // more than the entry holds beside a step
      store.setStep(2 ** 26);
      table.lookup([2n]);
      assertEquals(waiting(), ["1: 2 at 99", "2: 3 at -1", `3: 2 at ${2 ** 26 - 1}`, "5: 200 at -1"], storage);
      table.lookup([2n, 5n]); // admitted
      assertEquals([...table.metadata([2n, 5n]).frequencies], [4n, 201n]);
      const plain = store.table({ name: "plain", dim: 2, admission });
      plain.lookup([1n]);
      assertEquals([...plain.waiting()].flatMap(({ versions }) => [...versions]), [-1n]);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }
});

Deno.test("waiting() lists keys that have no row yet with their lookups; a Bloom filter has none to list", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", shards: 4 });
  const table = store.table({ name: "t", dim: 2, admission: { counter: { frequency: 5 } } });
  const asked = Array.from({ length: 1000 }, (_, key) => Array<number>(1 + key % 8).fill(key)).flat();
  for (const key of asked) table.lookup([key]);
  const found = new Map<bigint, readonly [bigint, bigint]>();
  for (const { keys, frequencies, versions } of table.waiting(7)) {
    assert(keys.length <= 7);
    keys.forEach((key, i) => found.set(key, [frequencies[i] ?? 0n, versions[i] ?? 0n]));
  }
  const expected = Array.from({ length: 1000 }, (_, key) => key).filter((key) => key % 8 < 5);
  assertEquals([...found.keys()].sort((a, b) => Number(a - b)), expected.map(BigInt));
  for (const key of expected) assertEquals(found.get(BigInt(key)), [BigInt(1 + key % 8), -1n]);
  assertEquals(table.rows(), [1000 - expected.length]);
  const filter = store.table({ name: "f", dim: 2, admission: { bloom: { frequency: 5 } } });
  const error = assertThrows(() => [...filter.waiting()], TierstoreError, "keeps counts, not keys");
  assertEquals(error.status, "TS_EUNSUPPORTED");
});

function entriesOf(table: Table, most: number): Map<bigint, number[]> {
  const all = new Map<bigint, number[]>();
  for (const { keys, rows } of table.entries(most)) {
    assert(keys.length > 0 && keys.length <= most && rows.length === keys.length * table.dim);
    keys.forEach((key, i) => {
      assert(!all.has(key));
      all.set(key, [...rows.subarray(i * table.dim, (i + 1) * table.dim)]);
    });
  }
  return all;
}

Deno.test("entries() gives every row of every tier once, some at a time", async () => {
  const path = await Deno.makeTempDir();
  try {
    for (const storage of ["DRAM", "DRAM_SSDHASH", "SSDHASH", "DRAM_LEVELDB"] as const) {
      const size = storage.startsWith("DRAM_") ? ["4 MiB", "64 MiB"] : ["64 MiB"];
      const options = { storage, size, ...(storage === "DRAM" ? {} : { path }) };
      if (!EmbeddingStore.probe(options).available) continue;
      using store = EmbeddingStore.open(options);
      const table = store.table({ name: "t", dim: 16, optimizer: "adagrad" });
      const keys = BigInt64Array.from({ length: 50_000 }, (_, i) => BigInt(i) * 7919n - 100_000n);
      for (let i = 0; i < keys.length; i += 5000) table.lookup(keys.subarray(i, i + 5000));
      const all = entriesOf(table, 999);
      assertEquals(all.size, keys.length);
      const expected = table.find(keys).rows;
      const wrong = keys.filter((key, i) => {
        const row = all.get(key);
        return row?.length !== 16 || row.some((weight, d) => weight !== expected[16 * i + d]);
      });
      assertEquals(wrong, new BigInt64Array());
    }
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});

/** The dimensions and bytes of a file in NumPy's format, by its own rules (numpy.lib.format). */
async function readNumpy(path: string, type: string): Promise<{ shape: number[]; bytes: ArrayBuffer }> {
  const { buffer } = await Deno.readFile(path);
  const view = new DataView(buffer);
  assertEquals([...new Uint8Array(buffer.slice(0, 8))], [0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  const length = view.getUint16(8, true);
  assertEquals((10 + length) % 64, 0);
  const text = new TextDecoder().decode(buffer.slice(10, 10 + length));
  assert(text.endsWith("\n") && text.includes(`'descr': '${type}'`) && text.includes("'fortran_order': False"), text);
  const shape = (/'shape': \(([\d, ]+)\)/.exec(text)?.[1] ?? "").split(",").map((one) => one.trim()).filter(Boolean);
  return { shape: shape.map(Number), bytes: buffer.slice(10 + length) };
}

Deno.test("exportNumpy() writes what NumPy reads: the keys and rows of a trained table", async () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const trainer = WdlTrainer.open(store, { ...TINY, dim: 3 });
  await trainer.train(5);
  const table = trainer.table("C3");
  trainer.close(); // the table lives as long as the store
  const { keys, rows, count } = await exportNumpy(table, folder);
  assertEquals([count, [keys, rows]], [table.keys().length, [`${folder}/C3.keys.npy`, `${folder}/C3.rows.npy`]]);
  const found = { keys: await readNumpy(keys, "<i8"), rows: await readNumpy(rows, "<f4") };
  assertEquals([found.keys.shape, found.rows.shape], [[count], [count, 3]]);
  const weights = table.find(new BigInt64Array(found.keys.bytes)).rows;
  assertEquals(new Float32Array(found.rows.bytes), weights);
  const script =
    "import numpy, sys; k = numpy.load(sys.argv[1]); r = numpy.load(sys.argv[2]); print(k.dtype, r.dtype, k.shape, r.shape, int(k.sum()))";
  const python = await new Deno.Command("python3", { args: ["-c", script, keys, rows], stderr: "null" }).output()
    .catch(() => undefined);
  if (python?.success) {
    const sum = new BigInt64Array(found.keys.bytes).reduce((a, b) => BigInt.asIntN(64, a + b), 0n);
    assertEquals(new TextDecoder().decode(python.stdout).trim(), `int64 float32 (${count},) (${count}, 3) ${sum}`);
  }
  assertEquals([...Deno.readDirSync(folder)].filter(({ name }) => name.includes(".part-")), []);
});

Deno.test("WdlTrainer.open() refuses options that do not exist, and tables that it has not", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const wrong = (options: object): TrainerOptions => ({ ...TINY, ...options }) as unknown as TrainerOptions;
  assertThrows(() => WdlTrainer.open(store, wrong({ bacth: 3 })), TypeError, 'did you mean "batch"?');
  const tables = [{ name: "C1", dim: 4, columns: ["C1"], admision: "none" }];
  assertThrows(() => WdlTrainer.open(store, wrong({ tables })), TypeError, 'did you mean "admission"?');
  using trainer = WdlTrainer.open(store, TINY);
  assertThrows(() => trainer.table("C27"), TypeError, 'Cannot find the table "C27" of the trainer: it has C1, C2');
});

Deno.test("embeddings train with FTRL", async () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  using trainer = WdlTrainer.open(store, { ...TINY, dim: 4, embeddingOptimizer: "ftrl", embeddingL1: 0.5 });
  await trainer.train(STEPS);
  assertEquals(trainer.describe()["embedding_optimizer"], "ftrl");
  const table = trainer.table("C1");
  assert(table.find(table.keys(), { slot: 2 }).rows.some((z) => z !== 0)); // n, then z
  // A strong L1 penalty holds weights whose z is below it at 0.
  assert(table.find(table.keys()).rows.some((weight) => weight === 0));
});
