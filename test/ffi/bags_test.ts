import "../native_library.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import type { Combiner } from "../../ffi/bags.ts";
import { assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

/** Bags of the tests: two keys, none, one key twice and another. */
const KEYS = [1, 2, 3, 3, 4];
const OFFSETS = [0, 2, 2, 5];
const WEIGHTS = new Float32Array([1, 2, 0.5, -1, 3]);

/** Factors of the keys of a bag. */
function factors(weights: readonly number[], combiner: Combiner): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  const squares = weights.reduce((a, b) => a + b * b, 0);
  const divisor = { sum: 1, mean: sum, sqrtn: Math.sqrt(squares) }[combiner];
  return weights.map((weight) => weight / divisor);
}

const bags = <T>(values: ArrayLike<T>): T[][] =>
  OFFSETS.slice(1).map((end, bag) => Array.from(values).slice(OFFSETS[bag], end));

for (const combiner of ["sum", "mean", "sqrtn"] as const) {
  for (const weighted of [false, true]) {
    const name = `${combiner}, ${weighted ? "with" : "without"} weights`;
    const options = { combiner, ...(weighted ? { weights: WEIGHTS } : {}) };
    const shares = bags(weighted ? [...WEIGHTS] : [1, 1, 1, 1, 1]).map((bag) => factors(bag, combiner));

    Deno.test(`lookupBags(): ${name}`, () => {
      using store = EmbeddingStore.open({ storage: "DRAM", seed: 5 });
      const table = store.table({ name: "t", dim: 3 });
      const found = table.lookupBags(KEYS, OFFSETS, options);
      assertEquals(found.length, 9);
      const rows = table.find(KEYS).rows;
      let key = 0;
      for (const [bag, share] of shares.entries()) {
        const expected = [0, 0, 0];
        for (const factor of share) {
          for (let i = 0; i < 3; i++) expected[i] = (expected[i] ?? 0) + factor * (rows[3 * key + i] ?? NaN);
          key++;
        }
        expected.forEach((value, i) => assertAlmostEquals(found[3 * bag + i] ?? NaN, value, 1e-6));
      }
      assertEquals([table.rows(), key], [[4], 5]);
    });

    Deno.test(`updateBags(): ${name}`, () => {
      using store = EmbeddingStore.open({ storage: "DRAM" });
      const table = store.table({ name: "t", dim: 1, initializer: 0, optimizer: { sgd: { learningRate: 1 } } });
      const gradients = new Float32Array([2, 100, -3]);
      table.updateBags(KEYS, OFFSETS, gradients, options);
      const expected = new Map<number, number>();
      bags(KEYS).forEach((keys, bag) =>
        keys.forEach((key, i) => {
          const step = (gradients[bag] ?? NaN) * (shares[bag]?.[i] ?? NaN);
          expected.set(key, (expected.get(key) ?? 0) - step);
        })
      );
      const rows = table.find([...expected.keys()]).rows;
      [...expected.values()].forEach((value, i) => assertAlmostEquals(rows[i] ?? NaN, value, 1e-6));
    });
  }
}

Deno.test("lookupBags() takes the mean unless told, and scales rows down to maxNorm first", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 4, initializer: 3 }); // rows of norm 6
  assertEquals([...table.lookupBags([1, 2], [0, 2])], [3, 3, 3, 3]);
  for (const value of table.lookupBags([1, 2], [0, 2], { combiner: "sum", maxNorm: 2 })) {
    assertAlmostEquals(value, 2, 1e-6);
  }
  assertEquals([...table.lookupBags([1], [0, 1], { maxNorm: 6.5 })], [3, 3, 3, 3]);
});

Deno.test("lookupBags() takes typed offsets, and no bags", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 1, initializer: 2 });
  assertEquals([...table.lookupBags([1, 2], new BigUint64Array([0n, 1n, 2n]))], [2, 2]);
  assertEquals([...table.lookupBags([1, 2], new Uint32Array([0, 2]))], [2]);
  assertEquals([...table.lookupBags([], [0, 0])], [0]);
  assertEquals(table.lookupBags([], [0]).length, 0);
  table.updateBags([], [0], new Float32Array(0));
});

Deno.test("bags that do not fit are refused before rows are made", () => {
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const table = store.table({ name: "t", dim: 2 });
  const look = (offsets: BigUint64Array | number[], options = {}) => table.lookupBags([1, 2, 3], offsets, options);
  assertThrows(() => look([]), RangeError, "begin with nothing");
  assertThrows(() => look([1, 3]), RangeError, "begin with 1: expected 0");
  assertThrows(() => look([0, 2]), RangeError, "end with 2: expected the number of keys, 3");
  assertThrows(() => look([0, 1.5, 3]), RangeError, "Cannot use offsets[1] = 1.5");
  assertThrows(() => look([0, -1, 3]), RangeError, "Cannot use offsets[1] = -1");
  assertThrows(() => look([0, 3], { weights: new Float32Array(2) }), RangeError, "one for each of the 3 keys");
  assertThrows(() => look([0, 3], { weights: [1, 2, 3] }), TypeError, "expected a Float32Array");
  assertThrows(() => look([0, 3], { combiner: "average" }), TypeError, 'Cannot use the combiner "average"');
  assertThrows(() => look([0, 3], { combinre: "sum" }), TypeError, 'did you mean "combiner"?');
  for (const maxNorm of [-1, NaN, Infinity]) assertThrows(() => look([0, 3], { maxNorm }), RangeError, "maxNorm");
  assertThrows(
    () => table.updateBags([1, 2, 3], [0, 2, 3], new Float32Array(6)),
    RangeError,
    "of length 6: expected 4 (2 bags of dim 2)",
  );
  // Offsets that fall are seen by the library, which reads them anyway.
  const falling = assertThrows(() => look(new BigUint64Array([0n, 9n, 1n, 3n])), TierstoreError);
  assertEquals([falling.status, table.rows()], ["TS_EINVAL", [0]]);
});
