/** The real worker. */

import "../native_library.ts";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { defaultWorkerCommand, runWorker } from "../../scenarios/run/worker_process.ts";
import type { QualityOutcome, SpeedOutcome, WorkerSpec } from "../../scenarios/run/worker_protocol.ts";
import { assert, assertEquals } from "../assert.ts";

/** One small table and one small layer over a file of data. */
const smallTrainer = (data: string) => ({
  data,
  batch: 64,
  tables: [{ name: "C1", dim: 4, columns: ["C1"] }],
  hidden: [8],
  threads: 1,
  seed: 1,
  initializer: { constant: 0.01 },
});

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

Deno.test("the worker's warm-up and counted steps are one flow: nothing begins anew between them", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.tbc`;
    await generateData({ out: data, rows: 4096, scale: 0.001, seed: 1 });
    const trainer = {
      data,
      batch: 64,
      tables: [{ name: "C1", dim: 4, columns: ["C1"] }],
      hidden: [8],
      threads: 1,
      seed: 1,
      asyncEmbedding: true, // a call's first step reads fresh rows: its result tells how many calls there were
      initializer: { constant: 0.01 },
    };
    const size = [2 ** 28];
    const spec = {
      task: "speed",
      warmup: 7,
      steps: 5,
      store: { storage: "DRAM", size, sizeCounts: "all", seed: 1, native: {} },
      trainer,
    } as unknown as WorkerSpec;
    const outcome = await runWorker(spec, { command: defaultWorkerCommand(), environment: {} }) as SpeedOutcome;
    assertEquals(outcome.stepNs.length, 5);
    const { update_distinct: distinct = 0 } = outcome.statistics;
    assert(distinct > 0 && distinct <= 5 * 64);
    assertEquals(outcome.tables, [{ dim: 4, distinct }]);
    // Of each counted step the update, and the lookup for the next; the last has no next one.
    assertEquals([outcome.statistics["update_calls"], outcome.statistics["lookup_calls"]], [5, 4]);

    using store = EmbeddingStore.open({ storage: "DRAM", size, seed: 1 });
    using one = WdlTrainer.open(store, trainer);
    await one.fill();
    await one.train(12);
    assertEquals(outcome.digest, await one.digest());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

for (
  const tiers of [
    { storage: "DRAM_SSDHASH" },
    { storage: "DRAM_PMEM", pmem: "libpmem" },
  ]
) {
  Deno.test(`a worker with checkpoints in place counts the rows put down for each, and takes the newest up: ${tiers.storage}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const data = `${folder}/train.tbc`;
      await generateData({ out: data, rows: 4096, scale: 0.001, seed: 1 });
      const speed = async (steps: number, every?: number) => {
        const path = await Deno.makeTempDir({ dir: folder });
        const spec = {
          task: "speed",
          warmup: 3,
          steps,
          store: { ...tiers, path, size: [2 ** 26, 2 ** 28], sizeCounts: "all", seed: 1, persistent: true, native: {} },
          trainer: smallTrainer(data),
          ...(every === undefined ? {} : { checkpoint: { every, kind: "in-place" } }),
        } as unknown as WorkerSpec;
        const run = { command: defaultWorkerCommand(), environment: { PMEM_IS_PMEM_FORCE: "1" } };
        return await runWorker(spec, run) as SpeedOutcome;
      };
      const distinct = ({ statistics }: SpeedOutcome): number => statistics["update_distinct"] ?? 0;
      const [plain, first] = [await speed(6), await speed(1)];
      const { digest, checkpoint, statistics } = await speed(6, 1);
      assertEquals(digest, plain.digest);
      const written = checkpoint?.written ?? [];
      assertEquals(written.map(({ step, kind }) => [step, kind]), [1, 2, 3, 4, 5, 6].map((step) => [step, "in-place"]));
      assert(written.every(({ bytes, rows = 0, durableNs }) => rows > 0 && bytes > rows * 4 * 4 && durableNs > 0));
      assert((checkpoint?.restoreNs ?? 0) > 0 && (checkpoint?.restoredBytes ?? 0) > (written[0]?.bytes ?? 0));
      // All rows stay in the first tier, and a step's are changed between two points: of each later point those and no others.
      const extra = written.slice(1).reduce((sum, { rows = 0 }) => sum + rows, 0);
      assertEquals(extra, distinct(plain) - distinct(first));
      assertEquals(extra + (written[0]?.rows ?? 0), statistics["persisted"]);
      // Once for three steps: a row that changes twice between two points is put down once.
      const seldom = (await speed(6, 3)).checkpoint?.written ?? [];
      assertEquals(seldom.length, 2);
      assert((seldom[1]?.rows ?? 0) < extra, `${seldom[1]?.rows} of ${extra}`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("a worker with checkpoints trains the same, and tells of each and of the restore", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.tbc`;
    await generateData({ out: data, rows: 4096, scale: 0.001, seed: 1 });
    const speed = async (steps: number, kind?: "full" | "delta") => {
      const spec = {
        task: "speed",
        warmup: 3,
        steps,
        store: { storage: "DRAM", size: [2 ** 28], sizeCounts: "all", seed: 1, trackChanges: true, native: {} },
        trainer: smallTrainer(data),
        ...(kind === undefined ? {} : { checkpoint: { every: 4, kind, path: `${folder}/${kind}-${steps}` } }),
      } as unknown as WorkerSpec;
      return await runWorker(spec, { command: defaultWorkerCommand(), environment: {} }) as SpeedOutcome;
    };
    for (const steps of [12, 14]) {
      const plain = await speed(steps);
      assertEquals(plain.checkpoint, undefined);
      for (const kind of ["full", "delta"] as const) {
        const { digest, loss, stepNs, checkpoint, statistics } = await speed(steps, kind);
        assertEquals([digest, stepNs.length, statistics["update_calls"]], [plain.digest, steps, steps]);
        assert(Math.abs(loss - plain.loss) < 1e-12);
        const written = checkpoint?.written ?? [];
        assertEquals(written.map(({ step, kind }) => [step, kind]), [[4, "full"], [8, kind], [12, kind]]);
        const bytes = written.reduce((sum, one) => sum + one.bytes, 0);
        assertEquals(checkpoint?.restoredBytes, kind === "full" ? written[2]?.bytes : bytes);
        assert(written.every(({ cutNs, durableNs, waitedNs }) => cutNs > 0 && durableNs > 0 && waitedNs >= 0));
        assert((checkpoint?.restoreNs ?? 0) > 0 && written.every(({ step, cutNs }) => (stepNs[step - 1] ?? 0) > cutNs));
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
