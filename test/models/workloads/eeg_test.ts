/** FBGEMM's EEG JSON: both ways. */

import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { exportEeg, importEeg, ProfileError, profileLaw } from "../../../mod.ts";

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
  const { text, lost } = exportEeg(table, { batch: 512, dim: 64 });
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
  assertThrows(() => exportEeg(table, { batch: 1, dim: 1 }), ProfileError, "Zipf-Mandelbrot");
  const varied = { ...table, bags: [[1, 0.5], [3, 0.5]] as const, popularity: { zipf: { s: 1, q: 0 } }, life: 5 };
  assertEquals(exportEeg(varied, { batch: 1, dim: 1 }).lost.length, 2);
});
