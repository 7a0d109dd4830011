import "../native_library.ts";
import fc from "fast-check";
import { TierstoreError } from "../../ffi/errors.ts";
import { EmbeddingStore, type StoreOptions, type Table } from "../../ffi/store.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "../assert.ts";

const EXTREME_KEYS = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n)];

Deno.test("lookup() creates absent rows once and gives the same row for the same key", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", seed: 7 });
  const table = store.table({ name: "t", dim: 3 });
  const rows = table.lookup([5, -9, 5]);
  assertEquals(rows.length, 9);
  assertEquals(rows.slice(0, 3), rows.slice(6, 9));
  assert(rows.slice(0, 3).some((weight, i) => weight !== rows[3 + i]));
  assertEquals(table.rows(), [2]);
  assertEquals([...table.keys()].sort(), [-9n, 5n]);
});

Deno.test("every int64 is a key, and rows depend on seed, table and key alone", () => {
  const rowsOf = (seed: number, keys: readonly bigint[]): Float32Array => {
    using store = EmbeddingStore.open({ storage: "DRAM", seed });
    return store.table({ name: "t", dim: 4 }).lookup(keys);
  };
  const rows = rowsOf(1, EXTREME_KEYS);
  const reversed = rowsOf(1, EXTREME_KEYS.toReversed());
  for (let i = 0; i < EXTREME_KEYS.length; i++) {
    const j = EXTREME_KEYS.length - 1 - i;
    assertEquals(reversed.slice(4 * j, 4 * j + 4), rows.slice(4 * i, 4 * i + 4));
  }
  assert(rowsOf(2, EXTREME_KEYS).some((weight, i) => weight !== rows[i]));
});

Deno.test("update() is SGD on the sum of a key's gradients", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 2, optimizer: { sgd: { learningRate: 0.5 } }, initializer: 1 });
  table.update([7, 8, 7], new Float32Array([1, 2, 10, 20, 3, 4]));
  assertEquals([...table.lookup([7, 8])], [1 - 0.5 * 4, 1 - 0.5 * 6, 1 - 0.5 * 10, 1 - 0.5 * 20]);
  table.setLearningRate(0);
  table.update([7], new Float32Array([1, 1]));
  assertEquals([...table.lookup([7])], [-1, -2]);
});

Deno.test("one Adagrad step as in DeepRec's documentation: accumulator 4.1, weight 0.9012270", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({
    name: "t",
    dim: 3,
    optimizer: { adagrad: { learningRate: 0.1, initialAccumulator: 0.1 } },
    initializer: { constant: 1 },
  });
  // The loss is the sum of 2 × rows, so every gradient is 2.
  table.update([0, 1, 2], new Float32Array(9).fill(2));
  for (const weight of table.lookup([0, 1, 2])) assertAlmostEquals(weight, 0.901227, 5e-7);
  for (const accumulator of table.find([0, 1, 2], { slot: 1 }).rows) assertAlmostEquals(accumulator, 4.1, 5e-7);
});

Deno.test("find() and lookupTier() never insert", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 2, initializer: 3 });
  table.lookup([1]);
  const { rows, found } = table.find([1, 2]);
  assertEquals([...rows], [3, 3, 0, 0]);
  assertEquals([...found], [1, 0]);
  assertEquals([...table.lookupTier([1, 2])], [0, -1]);
  assertEquals(table.rows(), [1]);
});

Deno.test("lookupInto() writes to the caller's array, subarrays included", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 2, initializer: 3 });
  const all = new Float32Array(6);
  table.lookupInto(new BigInt64Array([1n]), all.subarray(2, 4));
  assertEquals([...all], [0, 0, 3, 3, 0, 0]);
});

Deno.test("an empty batch is accepted everywhere", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t" });
  assertEquals(table.lookup([]).length, 0);
  table.update([], new Float32Array(0));
  assertEquals(table.find([]).found.length, 0);
  assertEquals(table.lookupTier([]).length, 0);
  assertEquals(table.keys().length, 0);
});

Deno.test("arrays of the wrong length and keys beyond 64 bits are refused before C sees them", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 4 });
  assertThrows(() => table.update([1, 2], new Float32Array(4)), RangeError, "of length 4: expected 8");
  assertThrows(() => table.lookupInto([1], new Float32Array(5)), RangeError, "of length 5: expected 4");
  assertThrows(() => table.lookup([2n ** 64n]), RangeError, "Cannot use keys[0]");
  assertThrows(() => table.lookup([0.5]), RangeError, "Cannot use keys[0]");
  assertEquals(table.rows(), [0]);
});

Deno.test("the library's refusals are TierstoreErrors with status and message", () => {
  const wrong = { storage: "DRAM_PMEN" } as unknown as StoreOptions;
  const error = assertThrows(() => EmbeddingStore.open(wrong), TierstoreError, "DRAM_PMEN");
  assertEquals([error.code, error.status], [-1, "TS_EINVAL"]);
  const long: StoreOptions = { storage: "DRAM", size: ["1 GiB", "1 GiB"] };
  assertEquals(assertThrows(() => EmbeddingStore.open(long), TierstoreError).status, "TS_EINVAL");
  using store = EmbeddingStore.open({ storage: "DRAM" });
  store.table({ name: "t" });
  assertEquals(assertThrows(() => store.table({ name: "t" }), TierstoreError, '"t"').status, "TS_EINVAL");
  assertThrows(() => EmbeddingStore.open({ storage: "DRAM", native: { sizze: 1 } }), TierstoreError, "sizze");
});

Deno.test("a full store refuses, keeps every row as it was, and goes on", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", size: [640], sizeCounts: "rows" });
  const table = store.table({ name: "t", dim: 16, initializer: 1 }); // 10 rows of 64 bytes
  assertEquals(table.rowBytes, 64);
  table.update([1, 2, 3], new Float32Array(48).fill(1));
  const old = table.lookup([1, 2, 3]);
  const keys = Array.from({ length: 8 }, (_, i) => i + 10);
  assertEquals(assertThrows(() => table.lookup(keys), TierstoreError).status, "TS_EFULL");
  // Rows created before the limit was reached stay.
  assert((table.rows()[0] ?? 0) <= 10);
  const all = [1, 2, 3, ...keys];
  assertEquals(assertThrows(() => table.update(all, new Float32Array(176).fill(1)), TierstoreError).status, "TS_EFULL");
  assertEquals(table.lookup([1, 2, 3]), old); // no row has stepped
  table.remove(keys);
  table.lookup(keys.slice(0, 7));
  assertEquals(table.rows(), [10]);
});

Deno.test("probe() gives the reason why a storage type cannot be opened", () => {
  assertEquals(EmbeddingStore.probe({ storage: "DRAM" }), { available: true });
  const answer = EmbeddingStore.probe({ storage: "PMEM_LIBPMEM", path: "/no such folder" });
  assert(!answer.available);
  assertMatch(answer.reason, /\/no such folder|libpmem/);
});

Deno.test("describe() has every fact of a tier on a disk by itself", () => {
  const path = Deno.makeTempDirSync();
  try {
    using store = EmbeddingStore.open({ storage: "DRAM_SSDHASH", path });
    store.table({ name: "t", dim: 4 });
    const { facts } = store.describe()[1]!;
    assert(["io_uring", "pread"].includes(facts["io"] ?? ""), JSON.stringify(facts));
    assert(Deno.statSync(facts["path"] ?? "").isDirectory, JSON.stringify(facts));
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
});

Deno.test("memory(), describe() and statistics() tell what the store is and did", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", size: ["8 MiB"] });
  const table = store.table({ name: "t", dim: 16 });
  table.lookup([1, 2, 3]);
  const { tiers: [tier] } = store.memory();
  assert(tier !== undefined);
  assertEquals([tier.tier, tier.limitBytes], [0, 8 * 2 ** 20]);
  assertEquals(tier.purposes["rows"], 3 * table.rowBytes);
  assert(tier.usedBytes <= tier.limitBytes);
  const described = store.describe();
  assertEquals(described.map(({ tier, type }) => [tier, type]), [[0, "DRAM"]]);
  const counted = store.statistics();
  assert(Object.values(counted).some((count) => count > 0));
  store.resetStatistics();
  assert(Object.values(store.statistics()).every((count) => count === 0));
});

Deno.test("digest() is the same for the same rows in any order and changes with a row", () => {
  const digestOf = (keys: readonly number[]): string => {
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    store.table({ name: "t", dim: 2 }).lookup(keys);
    return store.digest();
  };
  assertMatch(digestOf([1, 2]), /^[0-9a-f]{16}$/);
  assertEquals(digestOf([1, 2]), digestOf([2, 1, 2]));
  assert(digestOf([1, 2]) !== digestOf([1, 3]));
});

Deno.test("a table behaves as a map from key to SGD-updated row", () => {
  const batch = fc.array(fc.record({ key: fc.bigInt(-4n, 4n), gradient: fc.integer({ min: -8, max: 8 }) }));
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 5 }), (batches) => {
      using store = EmbeddingStore.open({ storage: "DRAM" });
      const table = store.table({ name: "t", dim: 1, optimizer: { sgd: { learningRate: 1 } }, initializer: 0 });
      const expected = new Map<bigint, number>();
      for (const entries of batches) {
        table.update(entries.map(({ key }) => key), new Float32Array(entries.map(({ gradient }) => gradient)));
        for (const { key, gradient } of entries) expected.set(key, (expected.get(key) ?? 0) - gradient);
      }
      const keys = [...expected.keys()];
      const { rows, found } = table.find(keys);
      // Adding 0 makes -0 and 0 equal.
      assertEquals([...rows].map((weight) => weight + 0), keys.map((key) => (expected.get(key) ?? NaN) + 0));
      assert(found.every((flag) => flag === 1));
      assertEquals([...table.keys()].sort(), keys.sort());
    }),
    { numRuns: 50 },
  );
});

Deno.test("rows over libpmem are those of DRAM to the bit, and the pool file goes with the store", async () => {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    const digestOf = (options: StoreOptions, tiers: number): string => {
      using store = EmbeddingStore.open({ ...options, seed: 4, sizeCounts: "rows" });
      const table = store.table({ name: "t", dim: 16, optimizer: "adagrad" });
      for (let batch = 0; batch < 5; batch++) {
        const keys = Array.from({ length: 1000 }, (_, i) => (i * i + batch * 7) % 1500);
        table.update(keys, table.lookup(keys));
      }
      assertEquals(table.rows().length, tiers);
      assertEquals(store.describe().length, tiers);
      return store.digest();
    };
    const dram = digestOf({ storage: "DRAM" }, 1);
    // 100 rows of 128 bytes in the first tier: fewer than one batch has.
    const tiered: StoreOptions = { storage: "DRAM_PMEM", pmem: "libpmem", path: folder, size: [12_800, "4 MiB"] };
    assertEquals(digestOf(tiered, 2), dram);
    assertEquals([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("remove() takes rows away for good and counts them", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 1, initializer: 1, optimizer: { sgd: { learningRate: 1 } } });
  table.update([1, 2, 3], new Float32Array([5, 5, 5]));
  assertEquals(table.remove([2, 2, 99]), 1);
  assertEquals([...table.keys()].sort(), [1n, 3n]);
  assertEquals([...table.lookup([2])], [1]); // a new row, not what it was
  assertEquals(table.remove([]), 0);
});

Deno.test("admission: a key gets a row when it was looked up more often than its frequency", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const admission = { counter: { frequency: 2, defaultValue: -1 } };
  const table = store.table({ name: "t", dim: 1, initializer: 7, admission, recordFrequency: true });
  for (let i = 0; i < 2; i++) assertEquals([...table.lookup([1])], [-1]);
  table.update([2], new Float32Array([1])); // does nothing
  assertEquals(table.rows(), [0]);
  assertEquals([...table.metadata([1]).frequencies], [2n]);
  assertEquals([...table.lookup([1])], [7]);
  assertEquals(table.rows(), [1]);
  const bloom = { bloom: { frequency: 1, keys: 1000, error: 0.001, counterBits: 8 } } as const;
  const other = store.table({ name: "u", dim: 1, initializer: 7, admission: bloom });
  assertEquals([...other.lookup([1]), ...other.lookup([1])], [0, 7]);
});

Deno.test("expire() removes rows by step and by weight, in pieces", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const old = store.table({ name: "old", dim: 1, initializer: 1, expire: { steps: 10 } });
  const keys = Array.from({ length: 100 }, (_, i) => i);
  store.setStep(1);
  old.update(keys, new Float32Array(100));
  store.setStep(11);
  assertEquals(old.expire(), 0);
  store.setStep(12n);
  let removed = 0;
  for (let calls = 0; calls < 20 && removed < 100; calls++) removed += old.expire(10);
  assertEquals([removed, old.rows(), [...old.keys()]], [100, [0], []]);
  const light = store.table({ name: "light", dim: 2, initializer: 0, expire: { l2: 0.75 } });
  light.update([1, 2], new Float32Array([-100, -100, 100, 0])); // steps of 0.01: half of 1 + 1, half of 1
  light.expire(); // as they are now: the next step that is a multiple of 1000 is far
  assertEquals([...light.keys()], [1n]);
  const norm = store.table({ name: "norm", dim: 2, initializer: 0, expire: { l2: 1.2, l2Form: "norm" } });
  norm.update([1, 2], new Float32Array([-100, -100, 100, 0])); // norms of 1.41 and 1
  norm.expire();
  assertEquals([...norm.keys()], [1n]);
  const never = store.table({ name: "never" });
  assertEquals(assertThrows(() => never.expire(), TierstoreError).status, "TS_EINVAL");
  assertThrows(() => old.expire(-1), RangeError, "Cannot look at -1 rows");
});

Deno.test("metadata() tells lookups and the step of the last update, and takes no part in either", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 1, recordFrequency: true, recordVersion: true });
  const plain = store.table({ name: "plain", dim: 1 });
  assert(table.rowBytes >= plain.rowBytes + 12); // 4 bytes of frequency, 8 of version
  table.lookup([1]);
  table.lookup([1, 2]);
  store.setStep(2n ** 40n);
  table.update([2], new Float32Array(1));
  for (let i = 0; i < 2; i++) {
    const { frequencies, versions } = table.metadata([1, 2, 3]);
    assertEquals([frequencies[0], frequencies[2]], [2n, 0n]);
    assertEquals([...versions], [-1n, 2n ** 40n, -1n]);
  }
  plain.lookup([1]);
  assertEquals([[...plain.metadata([1]).frequencies], [...plain.metadata([1]).versions]], [[0n], [-1n]]);
  for (const step of [0.5, NaN, -1, 2 ** 53, -1n, 2n ** 63n]) {
    assertThrows(() => store.setStep(step), RangeError, `Cannot use the step ${step}`);
  }
});

Deno.test("statistics() of a table are its own, and those of the store their sums", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const [a, b] = [store.table({ name: "a" }), store.table({ name: "b" })];
  a.lookup([1, 2, 2]);
  b.lookup([1]);
  assertEquals([a.statistics()["lookup_keys"], b.statistics()["lookup_keys"]], [3, 1]);
  const sum = store.statistics();
  assertEquals(Object.keys(a.statistics()), Object.keys(sum));
  assertEquals([sum["lookup_keys"], sum["created"]], [4, 3]);
  store.resetStatistics();
  assertEquals(a.statistics()["lookup_keys"], 0);
});

Deno.test("HBM that is not there is refused with what is missing, and DRAM takes its place nowhere", () => {
  const needed = assertThrows(() => EmbeddingStore.open({ storage: "HBM" }), TierstoreError, '"hbm" is required');
  assertEquals(needed.status, "TS_EINVAL");
  const nodes = assertThrows(() => EmbeddingStore.open({ storage: "HBM", hbm: "mbind" }), TierstoreError, "hbm_nodes");
  assertEquals(nodes.status, "TS_EINVAL");
  const far = { storage: "HBM_DRAM", hbm: "mbind", hbmNodes: [63] } as const;
  assertThrows(() => EmbeddingStore.open(far), TierstoreError, "NUMA node 63");
  const of = { storage: "DRAM", hbmNodes: [0] } as const;
  assertThrows(() => EmbeddingStore.open(of), TierstoreError, '"hbm_nodes" is for a tier of mbind, DRAM has none');
});

Deno.test("HBM over DRAM: index and buffers count against DRAM, and a row is in the tier that says so", () => {
  const size = ["64 KiB", "8 MiB"];
  using store = EmbeddingStore.open({ storage: "HBM_DRAM", hbm: "mbind", hbmNodes: [0], size, policy: "lru" });
  const table = store.table({ name: "t", dim: 16 });
  for (let first = 0; first < 4000; first += 500) table.lookup(Array.from({ length: 500 }, (_, i) => first + i));
  store.settle();
  const { tiers } = store.memory();
  assertEquals(tiers.map(({ places }) => Object.keys(places)), [["HBM"], ["DRAM"]]);
  assertEquals(Object.keys(tiers[0]?.purposes ?? {}).sort(), ["rows", "slack"]);
  assert((tiers[1]?.purposes["index"] ?? 0) > 0);
  const [inHbm = 0, inDram = 0] = table.rows();
  assert(inHbm > 500 && inHbm <= 1024 && inHbm + inDram === 4000, `${inHbm} and ${inDram}`);
  assertEquals(store.describe().map(({ type }) => type), ["HBM_MBIND", "DRAM"]);
  assertEquals([...table.lookupTier([0, 3999])], [1, 0]);
});

const disks: readonly [StoreOptions["storage"], readonly string[]][] = [
  ["SSDHASH", ["SSDHASH"]],
  ["LEVELDB", ["LEVELDB"]],
  ["DRAM_SSDHASH", ["DRAM", "SSDHASH"]],
  ["DRAM_LEVELDB", ["DRAM", "LEVELDB"]],
  ["DRAM_PMEM_SSDHASH", ["DRAM", "PMEM_LIBPMEM", "SSDHASH"]],
  ["DRAM_PMEM_LEVELDB", ["DRAM", "PMEM_LIBPMEM", "LEVELDB"]],
];

Deno.test.each(disks)(
  "rows over %s are those of DRAM to the bit, on an SSD, and the files go with the store",
  async (storage, types) => {
    const folder = await Deno.makeTempDir({ prefix: "tierbench " });
    const ssdPath = await Deno.makeTempDir({ prefix: "tierbench ssd " });
    try {
      const digestOf = (options: StoreOptions, body: (store: EmbeddingStore, table: Table) => void): string => {
        using store = EmbeddingStore.open({ ...options, seed: 4, sizeCounts: "rows" });
        const table = store.table({ name: "t", dim: 16, optimizer: "adagrad" });
        for (let batch = 0; batch < 5; batch++) {
          const keys = Array.from({ length: 1000 }, (_, i) => (i * i + batch * 7) % 1500);
          table.update(keys, table.lookup(keys));
        }
        body(store, table);
        return store.digest();
      };
      let rows = 0;
      const dram = digestOf({ storage: "DRAM" }, (_, table) => rows = table.rows()[0] ?? 0);
      // A hundred rows of 128 bytes in tiers above the disk: fewer than one batch has.
      const size = [...types.slice(1).map(() => 12_800), "256 MiB"];
      const pmem = types.includes("PMEM_LIBPMEM") ? { pmem: "libpmem" as const } : {};
      const tiered = digestOf({ storage, ...pmem, path: folder, ssdPath, size }, (store, table) => {
        store.settle();
        assertEquals(store.describe().map(({ type }) => type), types);
        const counts = table.rows();
        assertEquals([counts.length, counts.reduce((a, b) => a + b, 0)], [types.length, rows]);
        const last = store.memory().tiers.at(-1);
        assert((counts.at(-1) ?? 0) > 0 && (last?.places["SSD"] ?? 0) > 0);
        const [tier] = table.lookupTier(table.keys()).toSorted().slice(-1);
        assertEquals(tier, types.length - 1);
      });
      assertEquals(tiered, dram);
      assertEquals([[...Deno.readDirSync(folder)], [...Deno.readDirSync(ssdPath)]], [[], []]);
    } finally {
      await Deno.remove(folder, { recursive: true });
      await Deno.remove(ssdPath, { recursive: true });
    }
  },
);

const uses: readonly [string, (store: EmbeddingStore, table: Table) => unknown][] = [
  ["look up", (_, table) => table.lookup([1])],
  ["update", (_, table) => table.update([1], new Float32Array(16))],
  ["find rows", (_, table) => table.find([1])],
  ["look up tiers", (_, table) => table.lookupTier([1])],
  ["count rows", (_, table) => table.rows()],
  ["look up bags", (_, table) => table.lookupBags([1], [0, 1])],
  ["update bags", (_, table) => table.updateBags([1], [0, 1], new Float32Array(16))],
  ["remove keys", (_, table) => table.remove([1])],
  ["expire rows", (_, table) => table.expire()],
  ["read metadata", (_, table) => table.metadata([1])],
  ["read statistics", (_, table) => table.statistics()],
  ["set the step", (store) => store.setStep(1)],
  ["settle the store", (store) => store.settle()],
  ["list keys", (_, table) => table.keys()],
  ["set the learning rate", (_, table) => table.setLearningRate(1)],
  ["add a table", (store) => store.table({ name: "u" })],
  ["read statistics", (store) => store.statistics()],
  ["reset statistics", (store) => store.resetStatistics()],
  ["read memory use", (store) => store.memory()],
  ["describe tiers", (store) => store.describe()],
  ["compute the digest", (store) => store.digest()],
];

Deno.test.each(uses)("after close, a store refuses to %s", (action, use) => {
  const store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", expire: { steps: 9 } });
  use(store, table);
  store.close();
  store.close();
  assert(store.closed);
  assertThrows(() => use(store, table), Error, `Cannot ${action}: the store is closed`);
});

Deno.test("a store is closed at the end of its using block", () => {
  let kept: EmbeddingStore;
  {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    kept = store;
    assert(!kept.closed);
  }
  assert(kept.closed);
});
