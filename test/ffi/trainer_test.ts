import "../native_library.ts";
import { describeData, generateData, importCriteo } from "../../ffi/data.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { PHASES, type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { PHASES as RECORDED_PHASES } from "../../scenarios/record.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../assert.ts";

/** Options that filter_test.ts has. */
type Filters = Pick<
  TrainerOptions,
  | "admission"
  | "expire"
  | "recordFrequency"
  | "recordVersion"
  | "embeddingL1"
  | "embeddingL2"
  | "embeddingL2Shrinkage"
>;

const SMALL: Omit<TrainerOptions, "data"> = { batch: 64, hidden: [8], seed: 5 };

async function withData(test: (train: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    const train = `${folder}/train.bin`;
    await generateData({ out: train, rows: 4096, scale: 0.0005, seed: 1 });
    await test(train, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("PHASES are those of the record and of the header", async () => {
  assertEquals([...PHASES], [...RECORDED_PHASES]);
  const header = await Deno.readTextFile(new URL("../../native/include/tierstore.h", import.meta.url));
  const declared = [...header.matchAll(/#define TS_PHASE_(\w+) (\d)u/g)];
  assertEquals(
    declared.map(([, name = "", index]) => [name.toLowerCase(), Number(index)]),
    [...PHASES.entries()].map(
      ([index, name]) => [name, index],
    ),
  );
});

Deno.test("generateData() writes what describeData() reads", async () => {
  await withData((train) => {
    const data = describeData(train);
    assertEquals([data.rows, data.cardinalities.length], [4096, 26]);
    assertMatch(data.digest, /^[0-9a-f]{16}$/);
    assert(data.plantedAuc !== undefined && data.plantedAuc > 0.5);
    return Promise.resolve();
  });
});

Deno.test("generateData() refuses a folder that is not there, and leaves no file when cancelled", async () => {
  const out = "/no such folder/x";
  const error = await assertRejects(() => generateData({ out, rows: 10 }), TierstoreError, "/no such folder");
  assertEquals(error.status, "TS_EIO");
  await withData(async (_train, folder) => {
    const controller = new AbortController();
    const onProgress = (): void => controller.abort();
    const options = { out: `${folder}/x.bin`, rows: 50_000_000, scale: 0.001, onProgress, intervalMs: 5 };
    const reason = await assertRejects(() => generateData({ ...options, signal: controller.signal }), DOMException);
    assertEquals(reason.name, "AbortError");
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["train.bin"]);
  });
});

Deno.test("importCriteo() and describeData() name the file they cannot read", async () => {
  await withData(async (train, folder) => {
    const outputs = { trainOut: `${folder}/a.bin`, testOut: `${folder}/b.bin` };
    await assertRejects(() => importCriteo({ in: `${folder}/no.tsv`, ...outputs }), TierstoreError, "no.tsv");
    await Deno.writeTextFile(`${folder}/broken.tsv`, "1\t2\t3\n");
    const error = await assertRejects(
      () => importCriteo({ in: `${folder}/broken.tsv`, ...outputs }),
      TierstoreError,
      "broken.tsv",
    );
    assertEquals(error.status, "TS_EFORMAT");
    assertThrows(() => describeData(`${folder}/no.bin`), TierstoreError, "no.bin");
    assert(describeData(train).rows > 0);
  });
});

/** Rows in Criteo's format; every seventh line is broken if `broken`. */
function criteoText(rows: number, broken: boolean): string {
  const row = (i: number) => {
    const label = broken && i % 7 === 6 ? "2" : `${i % 4 === 0 ? 1 : 0}`;
    const numerics = Array.from({ length: 13 }, (_, j) => `${(i * 31 + j) % 900}`);
    const keys = Array.from({ length: 26 }, (_, c) => ((i * 2654435761 + c) >>> 4).toString(16).padStart(8, "0"));
    return [label, ...numerics, ...keys].join("\t");
  };
  return Array.from({ length: rows }, (_, i) => `${row(i)}\n`).join("");
}

Deno.test("importCriteo() reads a list of files by any number of readers, and counts what it skips", async () => {
  await withData(async (_train, folder) => {
    const paths = [`${folder}/a.tsv`, `${folder}/b.tsv`];
    for (const path of paths) await Deno.writeTextFile(path, criteoText(2100, true));
    const made = async (name: string, readers: number) => {
      const outputs = { trainOut: `${folder}/${name}.train`, testOut: `${folder}/${name}.test` };
      await importCriteo({ in: paths, ...outputs, onError: "skip", numerics: "min-max", readers });
      return outputs;
    };
    const [one, four] = [await made("one", 1), await made("four", 4)];
    assertEquals(await Deno.readFile(one.trainOut), await Deno.readFile(four.trainOut));
    assertEquals(await Deno.readFile(one.testOut), await Deno.readFile(four.testOut));
    const { rows, numerics, skipped } = describeData(one.trainOut);
    assertEquals([rows, numerics], [3240, "min-max"]);
    const first = 'a.tsv:7: the label must be 0 or 1, found "2"';
    assertEquals(skipped, { lines: 600, kinds: { label: 600 }, first });
    const outputs = { trainOut: `${folder}/x`, testOut: `${folder}/y` };
    await assertRejects(() => importCriteo({ in: paths, ...outputs }), TierstoreError, "a.tsv:7: the label");
    await assertRejects(() => importCriteo({ in: [], ...outputs }), TypeError, "expected one or more");
    await assertRejects(() => importCriteo({ in: "a\nb", ...outputs }), TypeError, "holds a line end");
  });
});

Deno.test("WdlTrainer trains, scores and repeats itself bit for bit", async () => {
  await withData(async (train) => {
    const run = async (): Promise<[string, number, number]> => {
      using store = EmbeddingStore.open({ storage: "DRAM", seed: 2 });
      using trainer = WdlTrainer.open(store, { ...SMALL, data: train });
      const seen: number[] = [];
      const result = await trainer.train(20, { intervalMs: 1, onProgress: (done) => seen.push(done) });
      assertEquals(trainer.step, 20);
      assertEquals([result.steps, result.stepNs.length, seen.at(-1)], [20, 20, 20]);
      assert(result.stepNs.every((ns) => ns > 0));
      assertEquals(Object.keys(result.phaseNs), [...PHASES]);
      const { logloss, auc, rows, unseenShare } = await trainer.evaluate(train, { maxRows: 1000 });
      assert(logloss > 0 && auc > 0 && auc < 1 && unseenShare >= 0 && unseenShare <= 1);
      assertEquals(rows, 1000);
      return [await trainer.digest(), result.loss, auc];
    };
    assertEquals(await run(), await run());
  });
});

Deno.test("fill() gives every key of the data a row", async () => {
  await withData(async (train) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    using trainer = WdlTrainer.open(store, { ...SMALL, data: train });
    await trainer.fill();
    assertEquals((await trainer.evaluate(train)).unseenShare, 0);
  });
});

Deno.test("setParameters() writes what parameters() reads", async () => {
  await withData(async (train) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    using trainer = WdlTrainer.open(store, { ...SMALL, data: train });
    const weights = trainer.parameters("mlp.0.w");
    assertEquals([weights.length, trainer.parameters("output.b").length], [(13 + 26 * 16) * 8, 1]);
    assert(weights.some((w) => w !== 0));
    const before = (await trainer.evaluate(train)).logloss;
    trainer.setParameters("mlp.0.w", weights.map((w) => -w));
    assertEquals(trainer.parameters("mlp.0.w"), weights.map((w) => -w));
    assert((await trainer.evaluate(train)).logloss !== before);
    const error = assertThrows(() => trainer.parameters("mlp.1.w"), TierstoreError, '"mlp.1.w"');
    assertEquals(error.status, "TS_EINVAL");
    assertThrows(() => trainer.setParameters("output.b", new Float32Array(2)), TierstoreError, "it has 1 values");
  });
});

Deno.test("every option reaches the library, and describe() says what was made of it", async () => {
  await withData(async (train) => {
    const options: Required<
      Omit<
        TrainerOptions,
        | "data"
        | "deepDecayBaseline"
        | "tables"
        | keyof Filters
        | "embeddingInitialAccumulator"
        | "embeddingEpsilon"
        | "ranksMessages"
        | "ranksKeys"
        | "ranksRows"
        | "ranksAhead"
        | "ranksStaleness"
      >
    > = {
      model: "dlrm",
      batch: 64,
      dim: 4,
      dims: Array.from({ length: 26 }, () => 4),
      hidden: [8],
      bottom: [6],
      threads: 2,
      seed: 5,
      deepOptimizer: "adam-async",
      deepLearningRate: 0.001,
      deepInitialAccumulator: 0.2,
      deepBeta1: 0.8,
      deepBeta2: 0.99,
      deepEpsilon: 1e-7,
      deepWeightDecay: 0.001,
      deepDecayRate: 0.8,
      deepDecayStep: 10,
      embeddingOptimizer: "adagrad-decay",
      embeddingLearningRate: 0.02,
      wideOptimizer: "ftrl",
      wideLearningRate: 0.1,
      wideInitialAccumulator: 0.2,
      wideL1: 0.01,
      wideL2: 0.01,
      wideBuckets: 10,
      initializer: { uniform: { low: -0.1, high: 0.1 } },
      stage: 2,
      stageWhat: "lookup",
      readers: 2,
      asyncEmbedding: true,
      microBatch: 2,
      embeddingFusion: false,
      graphFusion: true,
      firstLayer: "samples",
      dropout: 0.1,
      memoryReuse: false,
      executor: "cost-model",
      bf16: "rows",
      deterministic: true,
    };
    const { deepWeightDecay: _, ...usable } = options;
    using store = EmbeddingStore.open({ storage: "DRAM" });
    assertThrows(
      () => WdlTrainer.open(store, { ...options, data: train }),
      TierstoreError,
      '"deep_weight_decay" is of adamw',
    );
    using trainer = WdlTrainer.open(store, { ...usable, data: train });
    assert(Number.isFinite((await trainer.train(20)).loss));
    const facts = trainer.describe();
    const expected = {
      model: "dlrm",
      dims: options.dims.join(","),
      inputs: String(4 + 27 * 26 / 2),
      deep_optimizer: "adam-async",
      embedding_optimizer: "adagrad-decay",
      wide_optimizer: "none",
      threads: "2",
      executor: "cost_model",
      schedule: "measured",
      micro_batch: "2",
      embedding_fusion: "0",
      memory_reuse: "0",
      stage: "2",
      readers: "2",
      stage_choice: "lookup",
      async_embedding: "1",
      bf16: "rows",
    };
    for (const [name, value] of Object.entries(expected)) assertEquals(facts[name], value, name);
    assert(Number(facts["stale_share"]) > 0 && Number(facts["minor_faults"]) > 0);
    assertEquals(trainer.parameters("bottom.1.w").length, 6 * 4);
  });
});

Deno.test("tables take the columns that they are given, combined or not", async () => {
  await withData(async (train) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    const tables: TrainerOptions["tables"] = [
      { name: "both", dim: 4, columns: ["C2", "C1"] },
      { name: "bag", dim: 6, columns: ["C3", "C9", "C26"], combiner: "sqrtn" },
    ];
    using trainer = WdlTrainer.open(store, { ...SMALL, data: train, tables });
    assert(Number.isFinite((await trainer.train(2)).loss));
    const { tables: told, dims, inputs } = trainer.describe();
    assertEquals([told, dims, inputs], ["both:4:none:C2,C1;bag:6:sqrtn:C3,C9,C26", "4,4,6", String(13 + 14)]);
    assertEquals(trainer.parameters("mlp.0.w").length, (13 + 14) * 8);
    using other = EmbeddingStore.open({ storage: "DRAM" });
    const open = (tables: TrainerOptions["tables"]) =>
      WdlTrainer.open(other, { ...SMALL, data: train, ...(tables && { tables }) });
    assertThrows(() => open([{ name: "a:b", dim: 4, columns: ["C1"] }]), TypeError, 'without ":" and ";"');
    assertThrows(() => open([{ name: "a", dim: 4, columns: ["C1", "C1"] }]), TierstoreError, "C1 of table");
  });
});

Deno.test("train() stops on abort and the trainer stays usable", async () => {
  await withData(async (train) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    using trainer = WdlTrainer.open(store, { ...SMALL, data: train });
    const signal = AbortSignal.timeout(50);
    const error = await assertRejects(() => trainer.train(10_000_000, { signal }), DOMException);
    assertEquals(error.name, "TimeoutError");
    assertEquals((await trainer.train(1)).steps, 1);
  });
});

Deno.test("train() waits in its pauses, comes to the same rows, and ends with what a pause threw or was stopped by", async () => {
  await withData(async (train) => {
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    using plain = WdlTrainer.open(store, { ...SMALL, data: train });
    using trainer = WdlTrainer.open(other, { ...SMALL, data: train });
    await plain.train(9, { warmup: 2 });
    const seen: number[] = [];
    const until = async (done: number) => {
      seen.push(done);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const { stepNs } = await trainer.train(9, { warmup: 2, pauses: { every: 4, until } });
    assertEquals([stepNs.length, seen], [9, [0, 4, 8]]);
    assertEquals(await trainer.digest(), await plain.digest());
    const thrown = () => Promise.reject(new Error("no more"));
    await assertRejects(() => trainer.train(9, { pauses: { every: 1, until: thrown } }), Error, "no more");
    const signal = AbortSignal.timeout(30);
    const never = () => new Promise<void>(() => {});
    await assertRejects(() => trainer.train(9, { signal, pauses: { every: 4, until: never } }), DOMException);
    await assertRejects(() => trainer.train(9, { pauses: { every: 0, until } }), RangeError, "1 or more");
    assertEquals((await trainer.train(1)).steps, 1);
  });
});

Deno.test("closing a trainer or its store under way stops the call and frees the memory after it", async () => {
  await withData(async (train) => {
    for (const what of ["trainer", "store"] as const) {
      const store = EmbeddingStore.open({ storage: "DRAM" });
      const trainer = WdlTrainer.open(store, { ...SMALL, data: train });
      const running = assertRejects(() => trainer.train(10_000_000), Error, `was closed under way`);
      assertThrows(() => store.digest(), Error, "while another call is under way (train)");
      await assertRejects(() => trainer.digest(), Error, "while another call is under way (train)");
      (what === "trainer" ? trainer : store).close();
      await running;
      store.close();
      await assertRejects(() => trainer.train(1), Error, `Cannot train: the ${what} is closed`);
      trainer.close();
    }
  });
});

Deno.test("WdlTrainer refuses what is no cache file and counts that are no whole numbers", async () => {
  await withData(async (train, folder) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    await Deno.writeTextFile(`${folder}/text.bin`, "not a cache file");
    const open = (data: string): WdlTrainer => WdlTrainer.open(store, { ...SMALL, data });
    assertEquals(assertThrows(() => open(`${folder}/text.bin`), TierstoreError).status, "TS_EFORMAT");
    using trainer = open(train);
    await assertRejects(() => trainer.train(1.5), RangeError, "Cannot use steps = 1.5");
    await assertRejects(() => trainer.evaluate(train, { maxRows: -1 }), RangeError, "Cannot use maxRows = -1");
  });
});
