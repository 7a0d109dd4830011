import { TierstoreError } from "../../ffi/errors.ts";
import { NativeHandle } from "../../ffi/handle.ts";
import { assertEquals, assertRejects, assertThrows } from "../assert.ts";

/** A store and a trainer that only note when they are freed. */
function pair(): { store: NativeHandle; trainer: NativeHandle; freed: bigint[] } {
  const freed: bigint[] = [];
  const free = (address: bigint): number => (freed.push(address), 0);
  const store = new NativeHandle("store", 1n, free);
  const trainer = new NativeHandle("trainer", 2n, free, store);
  return { store, trainer, freed };
}

Deno.test("NativeHandle frees once, however often it is closed", () => {
  const { trainer, freed } = pair();
  trainer.close();
  trainer.close();
  assertEquals(freed, [2n]);
});

Deno.test("NativeHandle refuses use after close and says what was closed", () => {
  const { store, trainer } = pair();
  assertEquals([store.shared("look up"), trainer.exclusive("train")], [1n, 2n]);
  store.close();
  assertThrows(() => store.shared("look up"), Error, "Cannot look up: the store is closed");
  assertThrows(() => trainer.exclusive("train"), Error, "Cannot train: the store is closed");
});

Deno.test("NativeHandle frees children before their parent", () => {
  const { store, freed } = pair();
  store.close();
  assertEquals(freed, [2n, 1n]);
});

Deno.test("NativeHandle stays allocated until the call under way ends", async () => {
  const { store, trainer, freed } = pair();
  const { promise, resolve } = Promise.withResolvers<void>();
  let cancelled = false;
  const run = trainer.run("train", () => cancelled = true, () => promise);
  store.close();
  assertEquals({ cancelled, freed: [...freed] }, { cancelled: true, freed: [] });
  resolve();
  await run;
  assertEquals(freed, [2n, 1n]);
});

Deno.test("NativeHandle lets one exclusive call work at a time, across parent and children", async () => {
  const { store, trainer } = pair();
  const other = new NativeHandle("trainer", 3n, () => 0, store);
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = trainer.run("train", () => {}, () => promise);
  assertThrows(() => store.exclusive("describe tiers"), Error, "while another call is under way (train)");
  assertEquals(store.shared("look up"), 1n);
  await assertRejects(() => trainer.run("fill", () => {}, () => promise), Error, "Cannot fill while");
  await assertRejects(() => other.run("fill", () => {}, () => promise), Error, "Cannot fill while");
  resolve();
  await run;
  assertEquals(store.exclusive("describe tiers"), 1n);
  store.close();
});

Deno.test("NativeHandle that works beside its parent leaves it free, is stopped with it, and goes first", async () => {
  const { store, trainer, freed } = pair();
  const checkpoint = new NativeHandle("checkpoint", 3n, (address) => (freed.push(address), 0), store, true);
  const { promise, resolve } = Promise.withResolvers<void>();
  let cancelled = false;
  const writing = checkpoint.run("write the checkpoint", () => cancelled = true, () => promise);
  assertThrows(() => checkpoint.exclusive("write"), Error, "another call is under way (write the checkpoint)");
  await trainer.run("train", () => {}, () => Promise.resolve());
  const train = Promise.withResolvers<void>();
  const training = trainer.run("train", () => {}, () => train.promise);
  assertThrows(() => store.exclusive("describe tiers"), Error, "under way (train)");
  store.close();
  assertEquals({ cancelled, freed: [...freed] }, { cancelled: true, freed: [] });
  train.resolve();
  await training;
  assertEquals(freed, [2n]);
  resolve();
  await writing;
  assertEquals(freed, [2n, 3n, 1n]);
});

Deno.test("NativeHandle reports that freeing failed, once", () => {
  const handle = new NativeHandle("store", 1n, () => -5);
  const error = assertThrows(() => handle.close(), TierstoreError, "Cannot close the store: TS_EIO");
  assertEquals(error.status, "TS_EIO");
  handle.close();
});
