/**
 * Restore points: checkpoints that stay in the last tier of a persistent store.
 *
 * @module
 */

import { checkFields, type FieldsOf } from "../base/fields.ts";
import type { MessageBuffer } from "./errors.ts";
import { NativeHandle } from "./handle.ts";
import { native } from "./library.ts";
import { createConfig, nativeOptions } from "./options.ts";
import { runLong, type RunOptions } from "./run.ts";

/** What {@linkcode EmbeddingStore.persist} and {@linkcode WdlTrainer.persist} take. */
export interface PersistOptions {
  /**
   * How many restore points stay, the newest, from 1 to 7; older ones are dropped when the new one is durable.
   *
   * @default {2}
   */
  readonly keep?: number;
  /**
   * Whether the promise resolves when the point is durable; else when its state is held, and what is left to do is done
   * beside whatever comes next.
   *
   * @default {false}
   */
  readonly wait?: boolean;
}

const FIELDS: FieldsOf<PersistOptions> = { keep: true, wait: true };

/**
 * Makes a restore point.
 *
 * @param options What was asked.
 * @param handle What persists: a store or a trainer.
 * @param store The store.
 * @param run Progress and cancellation of the wait.
 * @param persist Calls C.
 * @returns The point's number.
 */
export async function runPersist(
  options: PersistOptions,
  handle: NativeHandle,
  store: NativeHandle,
  run: RunOptions,
  persist: (address: bigint, config: bigint, number: BigUint64Array, message: MessageBuffer) => Promise<number>,
): Promise<number> {
  checkFields("persist()", options, FIELDS);
  run.signal?.throwIfAborted();
  const { keep, wait = false } = options;
  const number = new BigUint64Array(1);
  const config = createConfig(nativeOptions({ keep }));
  try {
    await runLong("make a restore point", handle, {}, (_control, message, address) => {
      return persist(address, config, number, message);
    });
  } finally {
    native().ts_config_free(config);
  }
  if (wait) await untilDurable(store, run);
  return Number(number[0]);
}

/**
 * Waits until the newest restore point is durable, beside other calls of the store.
 *
 * @param store The store.
 * @param run Progress and cancellation, which gives the point up.
 */
export async function untilDurable(store: NativeHandle, run: RunOptions): Promise<void> {
  const point = new NativeHandle("restore point", store.shared("wait for a restore point"), () => 0, store, true);
  try {
    await runLong("wait for a restore point", point, run, (control, { bytes, capacity }, address) => {
      return native().ts_store_persisted(address, control, bytes, capacity);
    });
  } finally {
    point.close();
  }
}
