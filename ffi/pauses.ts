/**
 * Trainings that wait for their caller between two steps.
 *
 * @module
 */

import { native } from "./library.ts";
import { CANCEL, HOLD } from "./run.ts";

/** Where a training waits for its caller. */
export interface Pauses {
  /** Counted steps between two pauses; the first is before the first counted step. */
  readonly every: number;
  /**
   * Called in each pause; training goes on when its promise resolves, and fails with its error if it rejects.
   *
   * @param done Counted steps so far.
   */
  readonly until: (done: number) => Promise<void>;
}

/**
 * Makes a call that pauses.
 *
 * @param control The words of the call.
 * @param units Units before the first pause, and in all.
 * @param pauses Where it waits.
 * @param call Makes the call.
 * @returns The status of the call.
 * @throws What `until` threw, when the call has ended.
 */
export async function pausing(
  control: BigUint64Array,
  { before, all }: { readonly before: number; readonly all: number },
  { every, until }: Pauses,
  call: () => Promise<number>,
): Promise<number> {
  const { ts_control_wait, ts_control_pass } = native();
  Atomics.store(control, HOLD, BigInt(before + 1));
  let ended = false;
  const end = call().finally(() => ended = true);
  let waiting: Promise<unknown> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;
  try {
    for (let at = before; at < all; at += every) {
      waiting = ts_control_wait(control, BigInt(at));
      await Promise.race([waiting, end]);
      if (ended || Atomics.load(control, CANCEL) !== 0n) break;
      await Promise.race([until(at - before), end]); // a call that was stopped in its pause has ended
      ts_control_pass(control, at + every < all ? BigInt(at + every + 1) : 0n);
    }
  } catch (error) {
    failure = { error };
    Atomics.store(control, CANCEL, 1n);
  }
  const status = await end;
  Atomics.store(control, CANCEL, 1n); // of a wait for what will not come
  await waiting;
  if (failure !== undefined) throw failure.error;
  return status;
}
