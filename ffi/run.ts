/**
 * Long native runs: nonblocking calls with progress and cancellation through `control`, a few words of memory that
 * both sides touch while the call runs.
 *
 * @module
 */

import { MessageBuffer, statusName } from "./errors.ts";
import type { NativeHandle } from "./handle.ts";

/** What every long run takes. */
export interface RunOptions {
  /**
   * Stops the run at its next safe point; the promise then rejects with the signal's reason. A run that had come to its end by
   * then resolves: what it did is done.
   */
  readonly signal?: AbortSignal;
  /**
   * Called from time to time while the run goes on, and once at its end.
   *
   * @param done Units done so far: rows, bytes or steps, as the function says.
   * @param total Units in all, 0 if not known; more may become known on the way. At the end both are equal.
   */
  readonly onProgress?: (done: number, total: number) => void;
  /**
   * Milliseconds between two calls of `onProgress`.
   *
   * @default {200}
   */
  readonly intervalMs?: number;
}

/** Words of `control`, as in `tierstore.h`. Not 0: the call is to stop. */
export const CANCEL = 0;
const DONE = 1;
const TOTAL = 2;
/** The number of the step before which a training waits. */
export const HOLD = 3;
const WORDS = 4;

/** Units that a call has done so far. */
export function doneOf(control: BigUint64Array): number {
  return Number(Atomics.load(control, DONE));
}

/** A nonblocking native call, given `control` and the buffer for its message. */
export type LongCall = (
  control: BigUint64Array,
  message: MessageBuffer,
  address: bigint,
) => Promise<number>;

/**
 * Makes a long call.
 *
 * @param action What is asked, e.g. `train`.
 * @param handle What it works on; `undefined` if on nothing.
 * @param options Progress and cancellation.
 * @param call The call.
 * @throws {TierstoreError} If the library refuses.
 * @throws The signal's reason if that stopped it.
 * @throws {Error} If the object was closed under way.
 */
export async function runLong(
  action: string,
  handle: NativeHandle | undefined,
  options: RunOptions,
  call: LongCall,
): Promise<void> {
  const { signal, onProgress, intervalMs = 200 } = options;
  signal?.throwIfAborted();
  const control = new BigUint64Array(new SharedArrayBuffer(WORDS * BigUint64Array.BYTES_PER_ELEMENT));
  const message = new MessageBuffer();
  const cancel = (): void => void Atomics.store(control, CANCEL, 1n);
  let failure: { readonly error: unknown } | undefined;
  const report = (): void => {
    if (failure !== undefined) return;
    try {
      onProgress?.(doneOf(control), Number(Atomics.load(control, TOTAL)));
    } catch (error) {
      failure = { error };
      cancel();
    }
  };
  signal?.addEventListener("abort", cancel);
  const timer = onProgress === undefined ? undefined : setInterval(() => signal?.aborted || report(), intervalMs);
  let status: number;
  try {
    const made = (address: bigint): Promise<number> => call(control, message, address);
    status = await (handle === undefined ? made(0n) : handle.run(action, cancel, made));
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", cancel);
  }
  if (statusName(status) === "TS_ECANCELLED") signal?.throwIfAborted();
  else {
    message.check(status, action);
    report();
  }
  if (failure !== undefined) throw failure.error;
  if (handle?.closed) throw new Error(`Cannot ${action} to the end: the ${handle.what} was closed under way`);
  message.check(status, action);
}
