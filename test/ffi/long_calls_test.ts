/** Every public call that takes progress and cancellation: progress rises to its end, and a call that is stopped leaves what was. */

import "../native_library.ts";
import { compactCheckpoints, inspectCheckpoints, verifyCheckpoints } from "../../ffi/checkpoint.ts";
import { generateData } from "../../ffi/data.ts";
import type { RunOptions } from "../../ffi/run.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

const KEYS = BigInt64Array.from({ length: 20_000 }, (_, i) => BigInt(i));
const STEP = Float32Array.from({ length: KEYS.length * 8 }, (_, i) => Math.sin(i));

/** A folder with a chain of two checkpoints of a trainer's store, and two restore points of another's. */
interface Place {
  readonly folder: string;
  readonly chain: string;
  readonly model: TrainerOptions;
  readonly persistent: StoreOptions;
}

/** A call, made ready. */
interface Call {
  /** The call itself. */
  run(options: RunOptions): Promise<unknown>;
  /** What must be as before if it is stopped, in a few words. */
  state(): Promise<string> | string;
  /** Closes what it needs. */
  close(): void;
}

const files = (folder: string): string =>
  [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile).map(({ name }) => {
    return `${name} ${Deno.statSync(`${folder}/${name}`).size}`;
  }).sort().join("\n");

function update(store: EmbeddingStore): void {
  for (const name of ["a", "b"]) store.table({ name, dim: 8, optimizer: "adagrad" }).update(KEYS, STEP);
}

/** A store with two tables, not those of a trainer, that have changed since the last checkpoint. */
async function changed({ chain }: Place, kind: "full" | "delta"): Promise<Call> {
  const store = EmbeddingStore.open({ storage: "DRAM", seed: 3, trackChanges: true });
  update(store);
  const own = `${chain}-own`;
  await store.checkpoint({ path: own, kind: "full" }).write();
  store.existing("a").update(KEYS.subarray(0, 5000), STEP.subarray(0, 40_000));
  return {
    run: (options) => store.checkpoint({ path: own, kind }).write(options),
    state: () => files(own),
    close() {
      store.close();
      Deno.removeSync(own, { recursive: true });
    },
  };
}

async function resumed({ persistent }: Place): Promise<EmbeddingStore> {
  const store = EmbeddingStore.open(persistent);
  await store.resume();
  return store;
}

const CALLS: Readonly<Record<string, (place: Place) => Call | Promise<Call>>> = {
  "store.checkpoint().write() of a full one": (place) => changed(place, "full"),
  "store.checkpoint().write() of a delta": (place) => changed(place, "delta"),
  async "trainer.checkpoint().write()"({ chain, model }) {
    const store = EmbeddingStore.open({ storage: "DRAM", seed: 3, trackChanges: true });
    const trainer = WdlTrainer.open(store, model);
    await trainer.restore({ path: chain });
    await trainer.train(2);
    return {
      run: (options) => trainer.checkpoint({ path: chain }).write(options),
      state: () => files(chain),
      close: () => (trainer.close(), store.close()),
    };
  },
  "store.restore()"({ chain }) {
    const store = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    const empty = store.digest();
    return {
      run: (options) => store.restore({ path: chain }, options),
      state: () => `${store.digest() === empty}`,
      close: () => store.close(),
    };
  },
  "trainer.restore()"({ chain, model }) {
    const store = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
    const trainer = WdlTrainer.open(store, model);
    return {
      run: (options) => trainer.restore({ path: chain }, options),
      state: async () => `step ${trainer.step}, ${await trainer.digest()}`,
      close: () => (trainer.close(), store.close()),
    };
  },
  async "store.persist({ wait })"(place) {
    const store = await resumed(place);
    store.existing("a").update(KEYS, STEP);
    return {
      run: (options) => store.persist({ wait: true, keep: 7 }, options),
      state: () => JSON.stringify(store.restorePoints()),
      close: () => store.close(),
    };
  },
  async "store.persisted()"(place) {
    const store = await resumed(place);
    store.existing("b").update(KEYS, STEP);
    const points = store.restorePoints().length;
    await store.persist({ keep: 7 });
    return {
      run: (options) => store.persisted(options),
      state: () => `${store.restorePoints().length - points} more`,
      close: () => store.close(),
    };
  },
  "store.resume()"({ persistent }) {
    const store = EmbeddingStore.open(persistent);
    return {
      run: (options) => store.resume({}, options),
      state: () => "",
      close: () => store.close(),
    };
  },
  "verifyCheckpoints()": ({ chain }) => ({
    run: (options) => verifyCheckpoints(chain, options),
    state: () => files(chain),
    close() {},
  }),
  "compactCheckpoints()": ({ chain }) => ({
    run: (options) => compactCheckpoints(chain, options),
    state: () => files(chain),
    close() {},
  }),
};

async function inPlace(persistent: Partial<StoreOptions>, test: (place: Place) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    const [data, chain, points] = [`${folder}/train.bin`, `${folder}/chain`, `${folder}/points`];
    await generateData({ out: data, rows: 4096, scale: 0.0005, seed: 1 });
    const model: TrainerOptions = { data, batch: 64, hidden: [8], seed: 5 };
    {
      using store = EmbeddingStore.open({ storage: "DRAM", seed: 3, trackChanges: true });
      using trainer = WdlTrainer.open(store, model);
      for (let i = 0; i < 2; i++) {
        await trainer.train(5);
        await trainer.checkpoint({ path: chain }).write();
      }
    }
    await Deno.mkdir(points);
    const options: StoreOptions = {
      storage: "DRAM_SSDHASH",
      path: points,
      size: ["64 MiB", "256 MiB"],
      persistent: true,
      seed: 3,
      ...persistent,
    };
    {
      using store = EmbeddingStore.open(options);
      await store.resume();
      update(store);
      await store.persist({ wait: true });
      store.existing("a").update(KEYS.subarray(0, 100), STEP.subarray(0, 800));
      await store.persist({ wait: true });
    }
    await test({ folder, chain, model, persistent: options });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const PMEM: Partial<StoreOptions> = { storage: "DRAM_PMEM", pmem: "libpmem", size: ["64 MiB", "256 MiB"] };
const IN_PLACE = ["store.persist({ wait })", "store.persisted()", "store.resume()"];

for (const [name, ready] of Object.entries(CALLS)) {
  for (const storage of IN_PLACE.includes(name) ? [{}, PMEM] : [{}]) {
    const what = storage === PMEM ? `${name} in PMEM` : name;
    Deno.test(`${what} tells progress that rises to its end, and leaves what was where it is stopped`, async () => {
      await inPlace(storage, async (place) => {
        // Stopped before it begins, then at its first word: it is as it was, or, come to its end before, done.
        const reason = new Error("enough");
        for (const early of [true, false]) {
          const call = await ready(place);
          const before = await call.state();
          const stop = new AbortController();
          if (early) stop.abort(reason);
          const seen: number[] = [];
          const options: RunOptions = {
            signal: stop.signal,
            intervalMs: 0,
            onProgress: (done) => (seen.push(done), stop.abort(reason)),
          };
          const outcome = await call.run(options).then(() => "done", (error: unknown) => error);
          assert(outcome === "done" ? !early : outcome === reason, `${outcome}`);
          if (early) assertEquals(seen, []);
          if (outcome !== "done") assertEquals(await call.state(), before);
          call.close();
        }
        const call = await ready(place);
        const seen: (readonly [number, number])[] = [];
        await call.run({ intervalMs: 0, onProgress: (done, total) => seen.push([done, total]) });
        call.close();
        const [done = 0, total = -1] = seen.at(-1) ?? [];
        assertEquals(done, total, "at its end");
        assert(total > 0 || name === "store.persisted()", `${total} units in all`);
        for (const [i, [now, all]] of seen.entries()) {
          assert(now <= all || all === 0, `${now} of ${all}`);
          assert(i === 0 || now >= (seen[i - 1]?.[0] ?? 0), `${now} after ${seen[i - 1]}`);
        }
      });
    });
  }
}

Deno.test("resume() counts all files of all tables, on SSDHASH and in PMEM", async () => {
  for (const storage of [{}, PMEM]) {
    await inPlace(storage, async ({ persistent }) => {
      using store = EmbeddingStore.open(persistent);
      let total = 0;
      await store.resume({}, { onProgress: (_, all) => total = all });
      assert(total >= 2 * KEYS.length * 8 * 2 * 4, `${total} bytes are fewer than the rows of both tables have`);
    });
  }
});

Deno.test("calls that are stopped twice leave nothing that the next one minds", async () => {
  await inPlace({}, async ({ chain }) => {
    for (const call of [verifyCheckpoints, compactCheckpoints]) {
      const stopped = { signal: AbortSignal.abort(new Error("not now")) };
      await assertRejects(() => call(chain, stopped), Error, "not now");
      await call(chain);
    }
    assertEquals(inspectCheckpoints(chain).length, 1);
  });
});
