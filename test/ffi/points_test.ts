import "../native_library.ts";
import { generateData } from "../../ffi/data.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
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

const TABLE = { name: "t", dim: 4, optimizer: "adagrad" } as const;
const KEYS = BigInt64Array.from({ length: 5000 }, (_, i) => BigInt(i) * 7919n - 9999n);
const STEP = Float32Array.from({ length: KEYS.length * 4 }, (_, i) => Math.sin(i));

/** Options of each storage type with PMEM below, as few machines have it: a file for libpmem, an ordinary node for HBM. */
const IN_PMEM: readonly Partial<StoreOptions>[] = [
  { storage: "PMEM_LIBPMEM", size: ["256 MiB"] },
  { storage: "DRAM_PMEM", pmem: "libpmem", size: ["64 MiB", "256 MiB"] },
  { storage: "HBM_DRAM_PMEM", hbm: "mbind", hbmNodes: [0], pmem: "libpmem", size: ["1 MiB", "64 MiB", "256 MiB"] },
];

function options(path: string, more: Partial<StoreOptions> = {}): StoreOptions {
  return { storage: "DRAM_SSDHASH", path, size: ["64 MiB", "256 MiB"], persistent: true, seed: 3, ...more };
}

Deno.test("a persistent store goes on from its newest restore point, an older one by number, on a new timeline", async () => {
  await inFolder(async (folder) => {
    const digests: string[] = [];
    {
      using store = EmbeddingStore.open(options(folder));
      assertEquals([await store.resume(), store.restorePoints()], [0, []]);
      const table = store.table(TABLE);
      for (let point = 1; point <= 3; point++) {
        table.update(KEYS, STEP);
        digests.push(store.digest());
        assertEquals(await store.persist({ keep: 2, wait: point === 3 }), point);
      }
      table.update(KEYS, STEP);
      assertEquals(store.restorePoints().map(({ number, state }) => [number, state]), [[2, "whole"], [3, "whole"]]);
    }
    {
      using store = EmbeddingStore.open(options(folder, { shards: 4, storage: "SSDHASH", size: ["256 MiB"] }));
      const seen: number[] = [];
      assertThrows(() => store.table(TABLE), TierstoreError, "take one up first");
      assertEquals(await store.resume({}, { intervalMs: 1, onProgress: (done) => seen.push(done) }), 3);
      assert((seen.at(-1) ?? 0) > KEYS.length * 32, "progress counts what is read");
      assertEquals(store.digest(), digests[2]);
      assertThrows(() => store.table({ ...TABLE, dim: 8 }), TierstoreError, `option "dim" is 8 in the call and 4`);
      store.table(TABLE);
      assertThrows(() => store.table(TABLE), TierstoreError, "the store has one of this name");
    }
    {
      using store = EmbeddingStore.open(options(folder));
      await assertRejects(() => store.resume({ number: 1 }), TierstoreError, "dropped or never complete");
      assertEquals(await store.resume({ number: 2 }), 2);
      assertEquals(store.digest(), digests[1]);
      store.table(TABLE).remove(KEYS.subarray(0, 10));
      digests.push(store.digest());
      assertEquals(await store.persist({ wait: true }), 4); // 3 was of the timeline that was abandoned
    }
    using store = EmbeddingStore.open(options(folder));
    assertEquals([await store.resume(), store.digest()], [4, digests[3]]);
  });
});

Deno.test("stores go on from restore points in PMEM of libpmem, each on another type with the same last tier", async () => {
  await inFolder(async (folder) => {
    let digest = "";
    for (const [life, type] of [...IN_PMEM, ...IN_PMEM].entries()) {
      using store = EmbeddingStore.open(options(folder, { ...type, shards: 1 << life % 3 }));
      assertEquals(await store.resume(), life);
      if (life > 0) assertEquals(store.digest(), digest);
      const table = store.table(TABLE);
      table.update(KEYS, STEP);
      digest = store.digest();
      assertEquals(await store.persist({ wait: true }), life + 1);
      const last = store.describe().at(-1);
      assertEquals([last?.type, last?.medium], ["PMEM_LIBPMEM", "PMEM"]);
      assert(last?.facts["folder"]?.startsWith(`${folder}/tierstore-kept/`));
      table.update(KEYS, STEP); // which no point has
    }
    using other = EmbeddingStore.open(options(folder));
    await assertRejects(() => other.resume(), TierstoreError, `table "t"`); // whose rows are not in SSDHASH
    other.close();
    using again = EmbeddingStore.open(options(folder, IN_PMEM[1]));
    assertEquals([await again.resume(), again.digest()], [2 * IN_PMEM.length, digest]);
  });
});

Deno.test("PMEM that is to last is not slowed down as another medium, and needs a folder", async () => {
  await inFolder((folder) => {
    for (const type of IN_PMEM) {
      assertThrows(
        () => EmbeddingStore.open({ ...options(folder, type), native: { "emulate.medium": "optane" } }),
        TierstoreError,
        "leave one of the two out",
      );
      const { path: _, ...nowhere } = options(folder, type);
      assertThrows(() => EmbeddingStore.open({ ...nowhere, ssdPath: folder }), TierstoreError, `needs option "path"`);
    }
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("a restore point writes rows above the last tier that changed, and no others", async () => {
  await inFolder(async (folder) => {
    using store = EmbeddingStore.open(options(folder));
    const table = store.table(TABLE);
    const touched = 700;
    table.update(KEYS, STEP);
    for (let point = 0; point < 4; point++) {
      await store.persist({ wait: true });
      table.update(KEYS.subarray(0, touched), STEP.subarray(0, touched * 4));
    }
    assertEquals(store.statistics()["persisted"], KEYS.length + 3 * touched);
  });
});

Deno.test("storage without a tier that lasts refuses to be persistent, and a store that is not refuses restore points", async () => {
  await inFolder(async (folder) => {
    assertThrows(() => EmbeddingStore.open({ storage: "DRAM", persistent: true }), TierstoreError, "volatile");
    assertThrows(
      () => EmbeddingStore.open({ storage: "PMEM_MBIND", pmemNodes: [0], persistent: true }),
      TierstoreError,
      "volatile",
    );
    assertThrows(
      () => EmbeddingStore.open({ storage: "DRAM_PMEM", pmem: "memkind", path: folder, persistent: true }),
      TierstoreError,
      "use SSDHASH or PMEM over libpmem",
    );
    assertThrows(
      () => EmbeddingStore.open({ storage: "DRAM_LEVELDB", path: folder, persistent: true }),
      TierstoreError,
      "LEVELDB of storage DRAM_LEVELDB keeps none",
    );
    using store = EmbeddingStore.open({ storage: "SSDHASH", path: folder });
    await assertRejects(() => store.persist(), TierstoreError, "without persistent=1");
    await assertRejects(() => store.resume(), TierstoreError, "without persistent=1");
    await assertRejects(() => store.persist({ keep: 8 }), TierstoreError);
    using one = EmbeddingStore.open(options(folder));
    assertEquals(await one.resume(), 0);
    assertThrows(() => EmbeddingStore.open(options(folder)), TierstoreError, "another store has");
    await assertRejects(() => one.persist({ keep: 8 }), TierstoreError, "keep");
  });
});

Deno.test("a trainer goes on from a restore point to the bit", async () => {
  await inFolder(async (folder) => {
    const data = `${folder}/train.bin`;
    await generateData({ out: data, rows: 4096, scale: 0.0005 });
    const model: TrainerOptions = { data, batch: 64, hidden: [8], seed: 2, threads: 1 };
    let digest = "";
    let loss = 0;
    {
      using store = EmbeddingStore.open(options(folder));
      await store.resume();
      using trainer = WdlTrainer.open(store, model);
      await trainer.train(10);
      assertEquals(await trainer.persist(), 1);
      ({ loss } = await trainer.train(10)); // while the point becomes durable
      digest = await trainer.digest();
    }
    {
      using store = EmbeddingStore.open(options(folder, { shards: 8 }));
      assertEquals(await store.resume(), 1);
      assertThrows(() => WdlTrainer.open(store, { ...model, batch: 32 }), TierstoreError, "batch");
    }
    {
      using store = EmbeddingStore.open(options(folder, { shards: 8 }));
      await store.resume();
      using trainer = WdlTrainer.open(store, { ...model, threads: 2 });
      assertEquals(trainer.step, 10);
      assertEquals((await trainer.train(10)).loss, loss);
      assertEquals(await trainer.digest(), digest);
      await store.persist({ wait: true });
    }
    using store = EmbeddingStore.open(options(folder));
    await store.resume();
    assertThrows(() => WdlTrainer.open(store, model), TierstoreError, "store without a trainer");
  });
});

Deno.test("a program sees how far a restore point is, and an aborted wait leaves those there were", async () => {
  await inFolder(async (folder) => {
    const digests: string[] = [];
    {
      using store = EmbeddingStore.open(options(folder));
      await store.resume();
      const table = store.table(TABLE);
      await store.persisted(); // none is under way
      table.update(KEYS, STEP);
      digests.push(store.digest());
      const seen: number[][] = [];
      await store.persist({ wait: true }, { onProgress: (done, total) => seen.push([done, total]) });
      assertEquals(seen.at(-1), [KEYS.length, KEYS.length]);
      table.update(KEYS, STEP);
      const gone = AbortSignal.abort(new Error("enough"));
      await assertRejects(() => store.persist({ wait: true }, { signal: gone }), Error, "enough");
      assertEquals(store.restorePoints().length, 1);
    }
    using store = EmbeddingStore.open(options(folder));
    assertEquals([await store.resume(), store.digest()], [1, digests[0]]);
  });
});
