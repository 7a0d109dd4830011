import "../native_library.ts";
import { compactCheckpoints, inspectCheckpoints, PendingCheckpoint, verifyCheckpoints } from "../../ffi/checkpoint.ts";
import { generateData } from "../../ffi/data.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";

async function inFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const KEYS = BigInt64Array.from({ length: 5000 }, (_, i) => BigInt(i) * 7919n - 9999n);

/** A store whose rows have stepped. */
function filled(options: { readonly trackChanges?: boolean } = {}): EmbeddingStore {
  const store = EmbeddingStore.open({ storage: "DRAM", seed: 3, ...options });
  const table = store.table({ name: "t", dim: 4, optimizer: "adagrad", recordFrequency: true });
  step(store, KEYS);
  store.table({ name: "halves", dim: 3, dtype: "bf16" }).lookup(KEYS.subarray(0, 100));
  assertEquals(table.rows()[0], KEYS.length);
  return store;
}

function step(store: EmbeddingStore, keys: BigInt64Array<ArrayBuffer>): void {
  const table = store.existing("t");
  table.lookup(keys);
  table.update(keys, Float32Array.from({ length: keys.length * 4 }, (_, i) => Math.sin(i)));
}

Deno.test("a store restored from a checkpoint is the store at its cut, whatever changed since", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    using store = filled();
    const digest = store.digest();
    const checkpoint = store.checkpoint({ path });
    assertEquals([checkpoint.path, checkpoint.closed], [path, false]);
    step(store, KEYS.subarray(1000, 3000));
    store.existing("t").remove(KEYS.subarray(0, 10));
    const seen: number[] = [];
    await checkpoint.write({ intervalMs: 1, onProgress: (done) => seen.push(done) });
    assert(checkpoint.closed && seen.length > 0 && (seen.at(-1) ?? 0) > 0);
    assert(store.digest() !== digest);
    using other = EmbeddingStore.open({ storage: "SSDHASH", path: folder, seed: 3, shards: 8 });
    await other.restore({ path });
    assertEquals(other.digest(), digest);
    assertEquals(other.existing("t").metadata(KEYS.subarray(0, 2)).frequencies, new BigUint64Array([1n, 1n]));
    assertThrows(() => other.existing("none"), TierstoreError, "none");
  });
});

Deno.test("deltas stand on one another; inspect, verify and compact tell and keep them", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    const digests: string[] = [];
    using store = filled({ trackChanges: true });
    for (let i = 0; i < 3; i++) {
      digests.push(store.digest());
      store.setStep(i + 10);
      await store.checkpoint({ path }).write();
      step(store, KEYS.subarray(i * 100, i * 100 + 50));
      store.existing("t").remove(KEYS.subarray(4000 + i, 4001 + i));
    }
    const chain = inspectCheckpoints(path);
    assertEquals(
      chain.map(({ number, state, kind, parent, links, step }) => [number, state, kind, parent, links, step]),
      [[1, "whole", "full", undefined, 1, 10], [2, "whole", "delta", 1, 2, 11], [3, "whole", "delta", 2, 3, 12]],
    );
    const [full, delta] = chain;
    assert((delta?.bytes ?? 0) < (full?.bytes ?? 0) / 2, `${delta?.bytes} of ${full?.bytes} bytes`);
    await verifyCheckpoints(path);
    for (const [i, digest] of digests.entries()) {
      using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
      await other.restore({ path, number: i + 1 });
      assertEquals(other.digest(), digest);
    }
    await compactCheckpoints(path);
    assertEquals(inspectCheckpoints(path).map(({ number, kind, links }) => [number, kind, links]), [[3, "full", 1]]);
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    await other.restore({ path });
    assertEquals(other.digest(), digests[2]);
  });
});

Deno.test("auto writes deltas while they cost less than a full one, then a full one again", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    using store = filled({ trackChanges: true });
    for (let i = 0; i < 12; i++) {
      step(store, KEYS.subarray(0, 1500));
      await store.checkpoint({ path }).write();
    }
    const chain = inspectCheckpoints(path);
    let [full, deltas] = [0, 0];
    for (const { kind, bytes = 0, links } of chain) {
      assertEquals(kind, full > 0 && deltas < full ? "delta" : "full");
      [full, deltas] = kind === "full" ? [bytes, 0] : [full, deltas + bytes];
      if (kind === "full") assertEquals(links, 1);
    }
    assert(chain.filter(({ kind }) => kind === "full").length > 2);
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    await other.restore({ path });
    assertEquals(other.digest(), store.digest());
  });
});

Deno.test("one flipped bit of a checkpoint is named, by verify and by restore", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    using store = filled();
    await store.checkpoint({ path }).write();
    const data = `${path}/00000001.ckpt`;
    const bytes = await Deno.readFile(data);
    const flip = (): void => {
      bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1;
      Deno.writeFileSync(data, bytes);
    };
    flip();
    const error = await assertRejects(() => verifyCheckpoints(path), TierstoreError, "00000001.ckpt");
    assertEquals(error.status, "TS_EFORMAT");
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    await assertRejects(() => other.restore({ path }), TierstoreError, "00000001.ckpt");
    flip();
    await other.restore({ path }); // it is as empty as it was
    assertEquals(other.digest(), store.digest());
  });
});

Deno.test("a checkpoint that is cancelled, closed or forgotten leaves nothing, and the next delta has its changes", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    using store = filled({ trackChanges: true });
    await store.checkpoint({ path }).write();
    step(store, KEYS.subarray(0, 500));
    {
      using _given_up = store.checkpoint({ path, kind: "delta" });
    }
    const controller = new AbortController();
    const onProgress = (): void => controller.abort(new Error("enough"));
    const run = { signal: controller.signal, onProgress, intervalMs: 0 };
    const cancelled = store.checkpoint({ path, kind: "full" });
    await assertRejects(() => cancelled.write({ signal: AbortSignal.abort(new Error("not now")) }), Error, "not now");
    assert(cancelled.closed);
    const late = store.checkpoint({ path, kind: "full" });
    await late.write(run).catch((error) => assertEquals((error as Error).message, "enough"));
    assert(late.closed);
    await assertRejects(() => late.write(), Error, "Cannot write the checkpoint: the checkpoint is closed");
    const names = [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) => name.endsWith(".manifest"));
    assertEquals(names.length, inspectCheckpoints(path).length);
    await store.checkpoint({ path, kind: "delta" }).write();
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    await other.restore({ path });
    assertEquals(other.digest(), store.digest());
  });
});

Deno.test("checkpoint() and restore() refuse what they cannot do, in words", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/chain`;
    using store = filled();
    assertThrows(() => store.checkpoint({ path, kind: "delta" }), TierstoreError, "track_changes");
    assertThrows(() => store.checkpoint({ path: `${folder}/no/such` }), TierstoreError, "no/such");
    assertThrows(() => store.checkpoint({ path, kinds: "full" } as never), TypeError, 'did you mean "kind"');
    await assertRejects(() => store.restore({ path, id: 1 } as never), TypeError, '"id"');
    await assertRejects(() => store.restore({ path: `${folder}/none` }), TierstoreError, "none");
    assertThrows(() => inspectCheckpoints(`${folder}/none`), TierstoreError, "none");
    await store.checkpoint({ path }).write();
    await assertRejects(() => store.restore({ path }), TierstoreError, "rows");
    using other = EmbeddingStore.open({ storage: "DRAM", seed: 4 });
    await assertRejects(() => other.restore({ path }), TierstoreError, "seed");
    const first = store.checkpoint({ path });
    assertThrows(() => store.checkpoint({ path }), TierstoreError);
    first.close();
    first.close();
    // deno-lint-ignore no-explicit-any
    assertThrows(() => new (PendingCheckpoint as any)(1n), TypeError, "Cannot construct a PendingCheckpoint");
  });
});

Deno.test("closing the store while a checkpoint is written stops that and frees both", async () => {
  await inFolder(async (folder) => {
    const store = filled();
    const checkpoint = store.checkpoint({ path: `${folder}/chain` });
    const writing = assertRejects(() => checkpoint.write(), Error, "was closed under way");
    store.close();
    assert(checkpoint.closed && store.closed);
    await writing;
  });
});

Deno.test("a trainer goes on from a checkpoint as if it had not stopped, on another storage type", async () => {
  await inFolder(async (folder) => {
    const [data, path] = [`${folder}/train.bin`, `${folder}/chain`];
    await generateData({ out: data, rows: 4096, scale: 0.0005, seed: 1 });
    const options: TrainerOptions = { data, batch: 64, hidden: [8], seed: 5, deepOptimizer: "adam" };
    using store = EmbeddingStore.open({ storage: "DRAM", trackChanges: true });
    const trainer = WdlTrainer.open(store, options);
    await trainer.train(7);
    const checkpoint = trainer.checkpoint({ path });
    const [first] = await Promise.all([trainer.train(5), checkpoint.write()]);
    assertEquals(inspectCheckpoints(path).map(({ step, kind }) => [step, kind]), [[7, "full"]]);
    const second = trainer.checkpoint({ path });
    const digest = await trainer.digest();
    const more = await trainer.train(5);
    trainer.close();
    await second.write(); // does not need its trainer
    for (const [number, wanted] of [[1, [7, first.loss]], [2, [12, more.loss]]] as const) {
      using other = EmbeddingStore.open({ storage: "DRAM_SSDHASH", path: folder, size: [1 << 16], sizeCounts: "rows" });
      using resumed = WdlTrainer.open(other, { ...options, threads: 2, executor: "cost-model" });
      await resumed.restore({ path, number });
      assertEquals<readonly number[]>([resumed.step, (await resumed.train(5)).loss], wanted);
      if (number === 1) assertEquals(await resumed.digest(), digest);
    }
    using other = EmbeddingStore.open({ storage: "DRAM" });
    using unlike = WdlTrainer.open(other, { ...options, batch: 32 });
    await assertRejects(() => unlike.restore({ path }), TierstoreError, 'option "batch" is 32 here and 64');
    assertEquals(unlike.step, 0);
  });
});
