import "../native_library.ts";
import { importCriteo } from "../../ffi/data.ts";
import type { StoreOptions } from "../../ffi/options.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals } from "../assert.ts";

const FILE = Deno.env.get("TIERBENCH_CRITEO");

/** Trains twice over the rows and scores the held-out ones. */
async function trained(storage: StoreOptions, data: string, test: string) {
  using store = EmbeddingStore.open({ ...storage, seed: 1, sizeCounts: "rows" });
  using trainer = WdlTrainer.open(store, { data, batch: 200, hidden: [64, 32], dim: 8, seed: 1 });
  const { loss: first } = await trainer.train(1);
  await trainer.train(17);
  const { logloss, auc } = await trainer.evaluate(test);
  return { first, logloss, auc, digest: await trainer.digest() };
}

Deno.test({
  name: "Wide & Deep learns from the real Criteo rows that TIERBENCH_CRITEO names, the same on every storage type",
  ignore: FILE === undefined,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "tierbench " });
    try {
      const [data, test] = [`${folder}/train.bin`, `${folder}/test.bin`];
      await importCriteo({ in: FILE ?? "", trainOut: data, testOut: test, maxRows: 20_000 });
      const dram = await trained({ storage: "DRAM" }, data, test);
      assert(dram.logloss < dram.first, `logloss ${dram.logloss} after training, ${dram.first} before`);
      assert(dram.auc > 0.6, `AUC ${dram.auc}`);
      // 256 rows of 64 bytes in the first tier: fewer than one batch has.
      const tiers: StoreOptions = { storage: "DRAM_PMEM", pmem: "libpmem", path: folder, size: [16_384, "64 MiB"] };
      assertEquals(await trained(tiers, data, test), dram);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
