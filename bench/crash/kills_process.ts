/**
 * The process that `kills.ts` kills: takes up the newest checkpoint or restore point, if there is one, and trains on to the
 * end, making another every few steps. Its only word is a {@linkcode Life} as JSON; each line it prints is a
 * {@linkcode LifeLine}, out before the next step begins.
 *
 * @module
 */

import { compactCheckpoints, inspectCheckpoints } from "../../ffi/checkpoint.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";

/** What a process is to do. */
export interface Life {
  readonly store: StoreOptions;
  readonly trainer: TrainerOptions;
  /** The folder of its checkpoints; absent: none are written, nothing is taken up. */
  readonly path?: string;
  /** Whether the store, which is persistent, makes restore points in place of checkpoints. */
  readonly inPlace?: boolean;
  /** The step that ends it. */
  readonly steps: number;
  /** Steps between two checkpoints. */
  readonly every: number;
}

/** What a process tells. */
export type LifeLine =
  | { readonly opened: true }
  /** It goes on from this step. */
  | { readonly restored: number }
  /** Steps up to this one are done; mean loss of the last `every` of them, all bits of it. */
  | { readonly trained: number; readonly loss: string }
  /** The checkpoint that was cut after this step is durable. */
  | { readonly durable: number }
  | { readonly digest: string };

/** Steps between two compactions of the chain. */
const COMPACT = 12;

/** Restore points that stay; and one in so many is waited for, the others become durable beside what follows. */
const KEEP = 2;
const WAIT = 4;

function tell(line: LifeLine): void {
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(line) + "\n"));
}

/** All bits of a number. */
function bitsOf(value: number): string {
  return new BigUint64Array(new Float64Array([value]).buffer)[0]?.toString(16) ?? "";
}

/** Whether a folder has a checkpoint to go on from. */
function hasCheckpoint(path: string): boolean {
  try {
    Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  return inspectCheckpoints(path).length > 0;
}

/** A life with restore points: each call that makes one says that the one before is durable. */
async function liveInPlace({ store: storage, trainer: model, steps, every }: Life): Promise<void> {
  using store = EmbeddingStore.open(storage);
  const taken = await store.resume();
  using trainer = WdlTrainer.open(store, model);
  tell({ opened: true });
  if (taken > 0) tell({ restored: trainer.step });
  let cut: number | undefined;
  while (trainer.step < steps) {
    const { loss } = await trainer.train(every);
    const { step } = trainer;
    tell({ trained: step, loss: bitsOf(loss) });
    const wait = step / every % WAIT === 0;
    await trainer.persist({ keep: KEEP, wait });
    if (cut !== undefined) tell({ durable: cut });
    if (wait) tell({ durable: step });
    cut = step;
  }
  tell({ digest: await trainer.digest() });
}

async function live({ store: storage, trainer: model, path, steps, every }: Life): Promise<void> {
  using store = EmbeddingStore.open(storage);
  using trainer = WdlTrainer.open(store, model);
  tell({ opened: true });
  let step = 0;
  if (path !== undefined && hasCheckpoint(path)) {
    await trainer.restore({ path });
    step = trainer.step;
    tell({ restored: step });
  }
  let writing: Promise<void> = Promise.resolve();
  while (step < steps) {
    const [{ loss }] = await Promise.all([trainer.train(every), writing]);
    step += every;
    tell({ trained: step, loss: bitsOf(loss) });
    if (path === undefined) continue;
    if (step % COMPACT === 0) await compactCheckpoints(path);
    const cut = step;
    const checkpoint = trainer.checkpoint({ path });
    writing = checkpoint.write().then(() => tell({ durable: cut }));
  }
  await writing;
  tell({ digest: await trainer.digest() });
}

if (import.meta.main) {
  const life = JSON.parse(Deno.args[0] ?? "") as Life;
  await (life.inPlace === true ? liveInPlace(life) : live(life));
}
