// DeepRec's first multi-tier example, rewritten: one embedding variable of 16 weights over two tiers.
//
// The first tier holds 512 bytes of rows (sizeCounts: "rows" is DeepRec's way of counting): four rows of 128 bytes, the
// weights and Adagrad's accumulators. The list is shorter than the tiers, so the second tier gets the default of 1 GiB.
//
//     deno run -A docs/examples/multi_tier_variable.ts

import { EmbeddingStore } from "../../mod.ts";

const path = await Deno.makeTempDir();
try {
  using store = EmbeddingStore.open({
    storage: "DRAM_PMEM",
    pmem: "libpmem",
    path, // a directory on a DAX file system, if there is one; the program is the same without
    size: [512],
    sizeCounts: "rows",
  });
  const table = store.table({
    name: "var_0",
    dim: 16,
    initializer: 1,
    optimizer: { adagrad: { learningRate: 0.1, initialAccumulator: 0.1 } },
  });

  const keys = [0, 1, 2, 5, 6, 7];
  const rows = table.lookupInto(keys, new Float32Array(keys.length * table.dim));
  // loss = sum(2 * rows), so every gradient is 2, the accumulator becomes 0.1 + 2 * 2 = 4.1,
  // and a weight 1 - 0.1 * 2 / sqrt(4.1) = 0.9012270.
  table.update(keys, new Float32Array(rows.length).fill(2));

  const weights = table.find(keys).rows;
  const accumulators = table.find(keys, { slot: 1 }).rows;
  console.log(`weights ${weights[0]?.toFixed(6)}, accumulators ${accumulators[0]?.toFixed(1)}`);
  console.log(`all equal: ${weights.every((weight) => weight === weights[0])}`);
  console.log(`rows by tier: ${table.rows().join(" + ")}`);
} finally {
  await Deno.remove(path, { recursive: true });
}
