import { TierstoreError } from "../../ffi/errors.ts";
import { NativeHandle } from "../../ffi/handle.ts";
import { type LongCall, runLong } from "../../ffi/run.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

const CANCELLED = -7;

/** Behaves as a native run: counts to its total, one a millisecond, and stops when asked to. */
function counting(total: number): LongCall {
  return async (control) => {
    Atomics.store(control, 2, BigInt(total));
    for (let done = 1; done <= total; done++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (Atomics.load(control, 0) !== 0n) return CANCELLED;
      Atomics.store(control, 1, BigInt(done));
    }
    return 0;
  };
}

Deno.test("runLong() reports progress up to the end", async () => {
  const seen: number[] = [];
  await runLong("count", undefined, {
    intervalMs: 2,
    onProgress: (done, total) => {
      assertEquals(total, seen.length === 0 && done === 0 ? total : 20);
      seen.push(done);
    },
  }, counting(20));
  assertEquals(seen.at(-1), 20);
  assert(seen.length > 1);
  assertEquals(seen, seen.toSorted((a, b) => a - b));
});

Deno.test("runLong() stops on abort and rejects with the signal's reason", async () => {
  const controller = new AbortController();
  const onProgress = (): void => controller.abort();
  const run = { signal: controller.signal, onProgress, intervalMs: 1 };
  const error = await assertRejects(() => runLong("count", undefined, run, counting(10_000)), DOMException);
  assertEquals(error.name, "AbortError");
});

Deno.test("runLong() does not begin when the signal is aborted already", async () => {
  let begun = false;
  const signal = AbortSignal.abort(new Error("not now"));
  await assertRejects(
    () => runLong("count", undefined, { signal }, () => (begun = true, Promise.resolve(0))),
    Error,
    "not now",
  );
  assert(!begun);
});

Deno.test("runLong() stops when onProgress throws, with that error", async () => {
  const onProgress = (): void => {
    throw new Error("display is gone");
  };
  await assertRejects(
    () => runLong("count", undefined, { onProgress, intervalMs: 1 }, counting(10_000)),
    Error,
    "display is gone",
  );
});

Deno.test("runLong() turns a status into a TierstoreError with the message of C", async () => {
  const call: LongCall = (_control, message) => {
    new TextEncoder().encodeInto("Cannot read line 7\0", message.bytes);
    return Promise.resolve(-6);
  };
  const error = await assertRejects(() => runLong("import", undefined, {}, call), TierstoreError, "Cannot read line 7");
  assertEquals([error.code, error.status], [-6, "TS_EFORMAT"]);
});

Deno.test("runLong() says that its object was closed under way", async () => {
  const handle = new NativeHandle("trainer", 1n, () => 0);
  const run = runLong("train", handle, {}, counting(10_000));
  handle.close();
  await assertRejects(() => run, Error, "Cannot train to the end: the trainer was closed under way");
});
