/** The real worker. */

import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { defaultWorkerCommand, runWorker } from "../../scenarios/run/worker_process.ts";
import type { QualityOutcome, WorkerSpec } from "../../scenarios/run/worker_protocol.ts";
import { assert, assertEquals } from "../assert.ts";

Deno.test("the worker's quality run trains as one call would, and ends early when its seconds are over", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [data, testData] = [`${folder}/train.tbc`, `${folder}/test.tbc`];
    await generateData({ out: data, rows: 4096, scale: 0.001, seed: 1 });
    await generateData({ out: testData, rows: 1024, scale: 0.001, seed: 1, split: "test", train: data });
    const trainer = { data, batch: 64, dim: 16, hidden: [8], threads: 1, seed: 1 };
    const quality = async (seconds?: number): Promise<QualityOutcome> => {
      const spec = {
        task: "quality",
        steps: 50,
        evaluations: 2,
        testData,
        testRows: 1000,
        ...(seconds === undefined ? {} : { seconds }),
        store: { storage: "DRAM", size: [2 ** 28], sizeCounts: "all", seed: 1, native: {} },
        trainer: {
          ...trainer,
          deepOptimizer: "adagrad",
          deepLearningRate: 0.01,
          wideLearningRate: 0.1,
          wideInitialAccumulator: 0.1,
          wideL1: 0,
          wideL2: 0,
          initializer: { constant: 0.01 },
        },
      } as unknown as WorkerSpec;
      return await runWorker(spec, { command: defaultWorkerCommand(), environment: {} }) as QualityOutcome;
    };
    const whole = await quality();
    assertEquals([whole.steps, whole.testRows], [50, 1000]);
    assertEquals(whole.curve.map(({ samples }) => samples), [25 * 64, 50 * 64]);

    using store = EmbeddingStore.open({ storage: "DRAM", size: [2 ** 28], seed: 1 });
    using one = WdlTrainer.open(store, {
      ...trainer,
      deepOptimizer: "adagrad",
      deepLearningRate: 0.01,
      wideLearningRate: 0.1,
      wideInitialAccumulator: 0.1,
      initializer: { constant: 0.01 },
    });
    await one.train(50);
    assertEquals(whole.digest, await one.digest());

    const short = await quality(0);
    assert(short.steps > 0 && short.steps < 25, `${short.steps} steps`);
    assertEquals(short.curve.map(({ samples }) => samples), [short.steps * 64]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
