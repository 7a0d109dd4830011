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

Deno.test("a full store refuses and is left as it was", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", size: [640], sizeCounts: "rows" });
  const table = store.table({ name: "t", dim: 16, initializer: 1 }); // 10 rows of 64 bytes
  assertEquals(table.rowBytes, 64);
  table.lookup([1, 2, 3]);
  const before = store.digest();
  const keys = Array.from({ length: 8 }, (_, i) => i + 10);
  assertEquals(assertThrows(() => table.lookup(keys), TierstoreError).status, "TS_EFULL");
  assertEquals([store.digest(), ...table.rows()], [before, 3]);
  table.lookup(keys.slice(0, 7));
  assertEquals(table.rows(), [10]);
});

Deno.test("probe() gives the reason why a storage type cannot be opened", () => {
  assertEquals(EmbeddingStore.probe({ storage: "DRAM" }), { available: true });
  const answer = EmbeddingStore.probe({ storage: "PMEM_LIBPMEM", path: "/no such folder" });
  assert(!answer.available);
  assertMatch(answer.reason, /\/no such folder|libpmem/);
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

const uses: readonly [string, (store: EmbeddingStore, table: Table) => unknown][] = [
  ["look up", (_, table) => table.lookup([1])],
  ["update", (_, table) => table.update([1], new Float32Array(16))],
  ["find rows", (_, table) => table.find([1])],
  ["look up tiers", (_, table) => table.lookupTier([1])],
  ["count rows", (_, table) => table.rows()],
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
  const table = store.table({ name: "t" });
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
