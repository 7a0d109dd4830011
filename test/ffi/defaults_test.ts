import "../native_library.ts";
import { describeData, generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { assert } from "../assert.ts";

Deno.test("a trainer's defaults come near the planted AUC within fifty steps", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [data, test] = [`${folder}/train.tbc`, `${folder}/test.tbc`];
    await generateData({ out: data, rows: 120_000, scale: 0.01, threads: 2 });
    await generateData({ out: test, rows: 20_000, scale: 0.01, split: "test", train: data });
    const { plantedAuc = 0, numericAuc = 0 } = describeData(test);
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 1 });
    using trainer = WdlTrainer.open(store, { data, threads: 2, hidden: [64, 32] });
    await trainer.train(50);
    const { auc } = await trainer.evaluate(test);
    // DeepRec's first values of the sums of squares reach two thirds of the way from the numerics' AUC to the planted one.
    assert(
      auc > numericAuc + 0.75 * (plantedAuc - numericAuc),
      `AUC ${auc} of ${plantedAuc}, numerics alone ${numericAuc}`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
