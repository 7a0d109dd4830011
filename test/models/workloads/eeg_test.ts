/** FBGEMM's EEG JSON: both ways. */

import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import fc from "fast-check";
import { exportEeg, importEeg, ProfileError, profileLaw, type ProfileTable } from "../../../mod.ts";
import { bagsOf } from "../../../models/workloads/reuse.ts";

const INDICES = {
  heavy_hitters: [0.1, 0.05],
  zipf_q: 3.5,
  zipf_s: 1.2,
  index_dtype: "torch.int64",
  offset_dtype: "torch.int64",
};
const CONFIG = {
  T: 3,
  E: 1000,
  D: 64,
  mixed_dim: false,
  weighted: false,
  batch_params: { B: 512, sigma_B: null, vbe_distribution: "normal", vbe_num_ranks: null },
  indices_params: INDICES,
  pooling_params: { L: 4, sigma_L: null, length_distribution: "normal" },
  use_cpu: false,
  Es: null,
  Ds: null,
  max_indices: null,
};

Deno.test("importEeg() and exportEeg() are each other's inverse", () => {
  const profile = importEeg(JSON.stringify(CONFIG), "config"), [table] = profile.tables;
  assert(table !== undefined);
  assertEquals([table.count, table.rows, table.bags], [3, 1000, [[4, 1]]]);
  const { text, lost } = exportEeg([{ table, dim: 64 }], { batch: 512 });
  assertEquals(JSON.parse(text), CONFIG);
  assertEquals(lost, []);
});

// FBGEMM's rank k from 0, heavy hitters counted, has weight (k + q)^-s of what they leave.
Deno.test("importEeg() keeps FBGEMM's law", () => {
  const { rows, weights } = profileLaw(importEeg(JSON.stringify(CONFIG), "config"));
  assertEquals([rows[0], rows[1]], [1n, 1n]);
  const weight = (k: number) => (k + 3.5) ** -1.2;
  let sum = 0;
  for (let k = 2; k < 1000; k++) sum += weight(k);
  for (const [i, wanted] of [[0, 0.1], [1, 0.85 * weight(2) / sum], [2, 0.85 * weight(3) / sum]] as const) {
    const sorted = [0.1, 0.05, ...[2, 3].map((k) => 0.85 * weight(k) / sum)].sort((a, b) => b - a);
    assert(
      Math.abs((weights[i] ?? 0) - (sorted[i] ?? 0)) < 1e-9,
      `row ${i}: ${weights[i]}, expected ${sorted[i]} (${wanted})`,
    );
  }
});

Deno.test("importEeg() takes what the estimator prints", () => {
  const text = '{ "zipf": { "q": 2, "s": 1.1 }, "maxIndex": 99, "numIndices": 7, "heavyHitters": [0.3, 0.1, ] }';
  const [table] = importEeg(text, "estimate").tables;
  assertEquals([table?.rows, table?.popularity.heavyHitters, table?.popularity.zipf], [100, [0.3, 0.1], {
    s: 1.1,
    q: 3,
  }]);
  assertEquals(importEeg(JSON.stringify(INDICES), "indices", { rows: 50 }).tables[0]?.rows, 50);
});

Deno.test("importEeg() and exportEeg() say what does not fit", () => {
  assertThrows(() => importEeg("{", "x"), ProfileError, "no JSON");
  assertThrows(() => importEeg("{}", "x"), ProfileError, "zipf_q or zipf_s is missing");
  assertThrows(() => importEeg(JSON.stringify(INDICES), "x"), ProfileError, "how many rows");
  assertThrows(() => importEeg(JSON.stringify({ ...INDICES, zipf_q: 0 }), "x", { rows: 9 }), ProfileError, "above 0");
  const table = {
    name: "t",
    rows: 9,
    count: 1,
    bags: [[1, 1]] as const,
    popularity: { steps: [{ rows: 9, share: 1 }] },
  };
  assertThrows(() => exportEeg([{ table, dim: 1 }], { batch: 1 }), ProfileError, "Zipf-Mandelbrot");
  const varied = { ...table, bags: [[1, 0.5], [3, 0.5]] as const, popularity: { zipf: { s: 1, q: 0 } }, life: 5 };
  assertEquals(exportEeg([{ table: varied, dim: 1 }], { batch: 1 }).lost.length, 2);
});

Deno.test("importEeg() reads a law of each feature, with its rows and its bags", () => {
  const laws = [INDICES, { ...INDICES, heavy_hitters: [], zipf_q: 2, zipf_s: 0.9 }, { ...INDICES, zipf_s: 1.5 }];
  const config = {
    ...CONFIG,
    E: 400,
    Es: [1000, 50, 150],
    indices_params_list: laws,
    pooling_params: { L: 5, sigma_L: 3, length_distribution: "normal", Ls: [4, 0.25, 12.5] },
  };
  const features = (changes: object = {}) => importEeg(JSON.stringify({ ...config, ...changes }), "config").tables;
  assertEquals(features().map(({ name, rows, bags, popularity }) => [name, rows, bags, popularity.zipf?.s]), [
    ["table0", 1000, [[4, 1]], 1.2],
    ["table1", 50, [[0, 0.75], [1, 0.25]], 0.9],
    ["table2", 150, [[12, 0.5], [13, 0.5]], 1.5],
  ]);
  assertEquals(features()[1]?.popularity, { heavyHitters: [], zipf: { s: 0.9, q: 1 } });
  const shared = { Es: null, embedding_specs: [[70, 16], [90, 32]], feature_table_map: [0, 1, 1] };
  assertEquals(features(shared).map(({ name, rows }) => [name, rows]), [
    ["table0", 70],
    ["table1_feature1", 90],
    ["table1_feature2", 90],
  ]);
  const { tables } = importEeg(JSON.stringify({ ...config, Es: null }), "config", { rows: 7 });
  assertEquals(tables.map(({ rows }) => rows), [7, 7, 7]);
  for (
    const [changes, message] of [
      [{ T: 2 }, "indices_params_list has 3 laws, expected T, 2"],
      [{ T: 0, indices_params_list: [] }, "has 0 laws"],
      [{ indices_params_list: "x" }, "expected a list"],
      [{ indices_params_list: [INDICES, 5, INDICES] }, "indices_params_list[1] is 5, expected an object"],
      [{ indices_params_list: [INDICES, INDICES, { ...INDICES, zipf_q: -1 }] }, "indices_params_list[2].zipf_q is -1"],
      [
        { indices_params_list: [INDICES, INDICES, { zipf_q: 1 }] },
        "indices_params_list[2].zipf_q or zipf_s is missing",
      ],
      [{ Es: [1, 2] }, "Es is no list of 3 numbers, one a feature"],
      [{ Es: null }, "how many rows each feature's table has"],
      [{ Es: null, embedding_specs: [[5, 8]] }, "embedding_specs has no rows of table 1"],
      [{ pooling_params: { L: 1, Ls: [1, 0, 1] } }, "Ls[1] is 0, expected a number above 0"],
    ] as const
  ) assertThrows(() => features(changes), ProfileError, message);
});

const written: fc.Arbitrary<{ table: ProfileTable; dim: number }> = fc.record({
  rows: fc.integer({ min: 30, max: 2 ** 40 }),
  count: fc.integer({ min: 1, max: 3 }),
  bag: fc.oneof(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 4_000 }).map((n) => n / 1000)),
  s: fc.double({ min: 1e-6, max: 5, noNaN: true }),
  q: fc.double({ min: 0, max: 1e6, noNaN: true }),
  hitters: fc.array(fc.double({ min: 1e-6, max: 0.04, noNaN: true }), { maxLength: 20 }),
  dim: fc.integer({ min: 4, max: 1024 }),
}).map(({ rows, count, bag, s, q, hitters, dim }) => ({
  dim,
  table: {
    name: "t",
    rows,
    count,
    bags: bagsOf(bag),
    popularity: { heavyHitters: hitters, zipf: { s, q: q + hitters.length } },
  },
}));

Deno.test("importEeg() reads what exportEeg() wrote of several tables, each with its law, rows and bags", () => {
  fc.assert(
    fc.property(
      fc.array(written, { minLength: 2, maxLength: 6 }),
      fc.integer({ min: 1, max: 1e6 }),
      (tables, batch) => {
        const { text, lost } = exportEeg(tables, { batch });
        assertEquals(lost, []);
        const features = tables.flatMap(({ table, dim }) =>
          Array.from({ length: table.count }, () => ({ table, dim }))
        );
        const { batch_params, T, Ds } = JSON.parse(text);
        assertEquals([batch_params.B, T, Ds], [batch, features.length, features.map(({ dim }) => dim)]);
        const { tables: read } = importEeg(text, "written");
        assertEquals(
          read.map((table) => ({ ...table, popularity: { ...table.popularity, zipf: undefined } })),
          features.map(({ table: { rows, bags, popularity } }, i) => ({
            name: `table${i}`,
            rows,
            bags,
            count: 1,
            popularity: { ...popularity, zipf: undefined },
          })),
        );
        for (const [i, { table }] of features.entries()) {
          const [is, was] = [read[i]?.popularity.zipf, table.popularity.zipf];
          assertEquals(is?.s, was?.s);
          // FBGEMM's shift is another number: one addition and back.
          assert(Math.abs((is?.q ?? NaN) - (was?.q ?? NaN)) <= 1e-9 * (1 + (was?.q ?? 0)), `${is?.q}, ${was?.q}`);
        }
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("exportEeg() says when a uniform law, or bags of many lengths, stand as something else", () => {
  const uniform = { name: "u", rows: 9, count: 1, bags: [[1, 1]] as const, popularity: { zipf: { s: 0, q: 0 } } };
  const { text, lost } = exportEeg([{ table: uniform, dim: 4 }], { batch: 1 });
  assertEquals([lost.length, JSON.parse(text).indices_params.zipf_s > 0], [1, true]);
  const bags = { ...uniform, bags: [[1, 0.5], [4, 0.5]] as const, popularity: { zipf: { s: 1, q: 0 } } };
  assertEquals(exportEeg([{ table: bags, dim: 4 }, { table: bags, dim: 4 }], { batch: 1 }).lost, [
    "Bag lengths became a mean.",
  ]);
  assertThrows(() => exportEeg([], { batch: 1 }), ProfileError, "no table");
});
