/**
 * Training of a sample that writes checkpoints meanwhile, and the restore of the newest of them.
 *
 * @module
 */

import { inspectCheckpoints, type PendingCheckpoint } from "../../ffi/checkpoint.ts";
import type { RunOptions } from "../../ffi/run.ts";
import type { EmbeddingStore } from "../../ffi/store.ts";
import type { TrainResult, WdlTrainer } from "../../ffi/trainer.ts";
import type { SpeedOutcome, WorkerSpec } from "./worker_protocol.ts";

type Written = NonNullable<SpeedOutcome["checkpoint"]>["written"][number];

/** What is written, and how often. */
export interface WorkerCheckpoints {
  readonly every: number;
  readonly kind: "full" | "delta";
  readonly path: string;
}

const NS = 1e6; // of a millisecond

/** Several calls of train() as one. */
function joined(parts: readonly TrainResult[]): TrainResult {
  const [first] = parts;
  if (first === undefined) throw new Error("Cannot join the parts of a training: there are none");
  const steps = parts.reduce((sum, part) => sum + part.steps, 0);
  const phases = Object.keys(first.phaseNs) as (keyof TrainResult["phaseNs"])[];
  const sum = (phase: typeof phases[number]): number => parts.reduce((all, { phaseNs }) => all + phaseNs[phase], 0);
  return {
    steps,
    stepNs: parts.flatMap(({ stepNs }) => stepNs),
    phaseNs: Object.fromEntries(phases.map((phase) => [phase, sum(phase)])) as TrainResult["phaseNs"],
    loss: parts.reduce((all, part) => all + part.loss * part.steps, 0) / steps,
  };
}

/** A checkpoint on its way, and what is known of it. */
interface UnderWay {
  readonly checkpoint: PendingCheckpoint;
  /** The time when it, or this rank's share, was on the disk. */
  readonly writing: Promise<number>;
  readonly cut: number;
  readonly entry: Omit<Written, "durableNs" | "bytes">;
}

/** Waits until a checkpoint is durable: one of ranks is when all of them have committed it. */
async function settle(
  trainer: WdlTrainer,
  path: string,
  { checkpoint, writing, cut, entry }: UnderWay,
): Promise<Written> {
  await Promise.allSettled([writing]);
  const ofRanks = !checkpoint.closed;
  await trainer.commit(checkpoint); // a share that could not be written fails here, on all ranks
  const durable = ofRanks ? performance.now() : await writing;
  return { ...entry, durableNs: (durable - cut) * NS, bytes: inspectCheckpoints(path).at(-1)?.bytes ?? 0 };
}

/**
 * Trains, and cuts a checkpoint after every so many counted steps. It is written while training goes on; who comes to the
 * next cut before it is durable waits. Ranks commit one before the cut of the next, and are together then.
 *
 * @param trainer What trains.
 * @param counts Steps before the counted ones, and those.
 * @param checkpoints What is written.
 * @param run Cancellation, and progress in steps, those of the warm-up included.
 */
export async function trainWithCheckpoints(
  trainer: WdlTrainer,
  { warmup, steps }: { readonly warmup: number; readonly steps: number },
  { every, kind, path }: WorkerCheckpoints,
  { signal, onProgress }: Required<Pick<RunOptions, "signal" | "onProgress">>,
): Promise<{ readonly result: TrainResult; readonly written: readonly Written[] }> {
  const parts: TrainResult[] = [];
  const written: Written[] = [];
  let underWay: UnderWay | undefined;
  const finish = async (): Promise<void> => {
    if (underWay !== undefined) written.push(await settle(trainer, path, underWay));
    underWay = undefined;
  };
  for (let done = 0; done < steps;) {
    const some = Math.min(every, steps - done);
    const before = done === 0 ? 0 : warmup + done;
    const part = await trainer.train(some, {
      warmup: done === 0 ? warmup : 0,
      signal,
      onProgress: (now) => onProgress(before + now, warmup + steps),
    });
    parts.push(part);
    done += some;
    if (some < every) break;
    const start = performance.now();
    await finish();
    const cut = performance.now();
    const asked = written.length === 0 ? "full" : kind;
    const checkpoint = trainer.checkpoint({ path, kind: asked });
    const cutEnd = performance.now();
    part.stepNs[some - 1] = Math.round((part.stepNs[some - 1] ?? 0) + (cutEnd - start) * NS);
    const writing = checkpoint.write({ signal }).then(() => performance.now());
    writing.catch(() => {}); // told where it is awaited
    const entry = { step: done, kind: asked, waitedNs: (cut - start) * NS, cutNs: (cutEnd - cut) * NS };
    underWay = { checkpoint, writing, cut, entry };
  }
  await finish();
  return { result: joined(parts), written };
}

/**
 * Restores the newest checkpoint into a trainer that was just opened.
 *
 * @param trainer The trainer.
 * @param path The folder of the chain.
 * @param expected The digest that it must have afterwards; absent: the cut was before the end.
 * @throws {Error} If it has another.
 */
async function restoreNewest(
  trainer: WdlTrainer,
  path: string,
  expected: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly restoreNs: number; readonly restoredBytes: number }> {
  const chain = inspectCheckpoints(path);
  const first = chain.findLastIndex(({ kind }) => kind === "full");
  const restoredBytes = chain.slice(first).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const start = performance.now();
  await trainer.restore({ path }, { signal });
  const restoreNs = (performance.now() - start) * NS;
  const digest = expected === undefined ? undefined : await trainer.digest();
  if (digest !== expected) {
    throw new Error(
      `The rows restored from the checkpoint in "${path}" are not those it was made of: digest ${digest}, expected ` +
        `${expected}; this is a bug in checkpoints, or a disk that fails`,
    );
  }
  return { restoreNs, restoredBytes };
}

/**
 * The outcome of a training with checkpoints, with what it takes to come back to the newest, in a store and a trainer of their
 * own.
 *
 * @param outcome Of the training, whose store is closed.
 * @param open Opens a store and a trainer as the training's were.
 */
export async function withRestore(
  { checkpoint: asked }: WorkerSpec & { readonly task: "speed" },
  outcome: SpeedOutcome,
  open: () => { readonly store: EmbeddingStore; readonly trainer: WdlTrainer },
  signal: AbortSignal,
): Promise<SpeedOutcome> {
  const { checkpoint } = outcome;
  const last = checkpoint?.written.at(-1);
  if (checkpoint === undefined || last === undefined || asked === undefined) return outcome;
  const { store, trainer } = open();
  using _store = store;
  using _trainer = trainer;
  const expected = last.step === outcome.stepNs.length ? outcome.digest : undefined;
  const restored = await restoreNewest(trainer, asked.path, expected, signal);
  return { ...outcome, checkpoint: { ...checkpoint, ...restored } };
}
