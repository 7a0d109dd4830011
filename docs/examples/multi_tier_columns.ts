// DeepRec's second multi-tier example, rewritten: the embedding of a categorical column, three weights a row.
//
// A row takes 32 bytes (3 weights and 3 accumulators, each padded to 16 bytes), so 128 bytes hold four rows. A batch may
// be larger than the first tier and may name a key twice: gradients of equal keys are summed first.
//
//     deno run -A docs/examples/multi_tier_columns.ts

import { EmbeddingStore } from "../../mod.ts";

const path = await Deno.makeTempDir();
try {
  using store = EmbeddingStore.open({
    storage: "DRAM_PMEM",
    pmem: "libpmem",
    path,
    size: [128],
    sizeCounts: "rows",
  });
  const table = store.table({
    name: "col_emb",
    dim: 3,
    initializer: 1,
    optimizer: { adagrad: { learningRate: 0.1, initialAccumulator: 0.1 } },
  });

  const column = [-1, -7, 3, 1_000_000_007, 5, 2 ** 40]; // ids of a batch: any 64-bit integer is a key
  const rows = table.lookupInto(column, new Float32Array(column.length * table.dim));
  const loss = rows.reduce((sum, weight) => sum + 2 * weight, 0);
  table.update(column, new Float32Array(rows.length).fill(2));

  console.log(`loss ${loss}`);
  console.log(`weights ${table.find(column).rows[0]?.toFixed(6)}`);
  console.log(`accumulators ${table.find(column, { slot: 1 }).rows[0]?.toFixed(1)}`);
  console.log(`rows by tier: ${table.rows().join(" + ")}`);
} finally {
  await Deno.remove(path, { recursive: true });
}
