/**
 * Training of a sample that writes checkpoints meanwhile, and the restore of the newest of them.
 *
 * @module
 */

import { inspectCheckpoints } from "../../ffi/checkpoint.ts";
import type { RunOptions } from "../../ffi/run.ts";
import type { EmbeddingStore } from "../../ffi/store.ts";
import type { TrainResult, WdlTrainer } from "../../ffi/trainer.ts";
import type { SpeedOutcome, WorkerCheckpoints, WorkerSpec } from "./worker_protocol.ts";

type Written = NonNullable<SpeedOutcome["checkpoint"]>["written"][number];

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

/** What is known of a checkpoint that is durable. */
interface Durable extends Pick<Written, "bytes" | "rows"> {
  /** When it was. */
  readonly at: number;
}

/** A checkpoint whose state is held. */
interface Held {
  readonly kind: Written["kind"];
  /** Waits until it is durable, while no call of the trainer is under way. */
  settle(): Promise<Durable>;
}

/** Holds the state of this moment; what is left to do is done while training goes on. */
type Cut = (first: boolean) => Promise<Held>;

/** The time when a promise resolved. What goes wrong is told where it is awaited. */
function timeOf(promise: Promise<void>): Promise<number> {
  const time = promise.then(() => performance.now());
  time.catch(() => {});
  return time;
}

/** Checkpoints in files; one of ranks is durable when all of them have committed it. */
function intoFiles(trainer: WdlTrainer, kind: "full" | "delta", path: string, signal: AbortSignal): Cut {
  return (first) => {
    const asked = first ? "full" : kind;
    const checkpoint = trainer.checkpoint({ path, kind: asked });
    const writing = timeOf(checkpoint.write({ signal }));
    const settle = async (): Promise<Durable> => {
      await Promise.allSettled([writing]);
      const ofRanks = !checkpoint.closed;
      await trainer.commit(checkpoint); // a share that could not be written fails here, on all ranks
      return { at: ofRanks ? performance.now() : await writing, bytes: inspectCheckpoints(path).at(-1)?.bytes ?? 0 };
    };
    return Promise.resolve({ kind: asked, settle });
  };
}

/** Restore points in the last tier. */
function inPlace(trainer: WdlTrainer, store: EmbeddingStore, names: readonly string[], signal: AbortSignal): Cut {
  /** Rows that were put down so far, and their bytes. */
  const putDown = (): { readonly rows: number; readonly bytes: number } => {
    const tables = names.map((name) => trainer.table(name));
    const rows = tables.map((table) => table.statistics()["persisted"] ?? 0);
    const sum = (of: (i: number) => number): number => rows.reduce((all, _, i) => all + of(i), 0);
    return { rows: sum((i) => rows[i] ?? 0), bytes: sum((i) => (rows[i] ?? 0) * (tables[i]?.rowBytes ?? 0)) };
  };
  return async () => {
    const before = putDown();
    await trainer.persist();
    const durable = timeOf(store.persisted({ signal }));
    const settle = async (): Promise<Durable> => {
      const at = await durable;
      const { rows, bytes } = putDown();
      const beside = store.restorePoints().at(-1)?.bytes ?? 0;
      return { at, rows: rows - before.rows, bytes: bytes - before.bytes + beside };
    };
    return { kind: "in-place", settle };
  };
}

/** Who trains, and the store and names of its tables. */
export interface Training {
  readonly trainer: WdlTrainer;
  readonly store: EmbeddingStore;
  readonly names: readonly string[];
}

/**
 * Trains, and cuts a checkpoint after every so many counted steps. It is made durable while training goes on; who comes to the
 * next cut before it is durable waits. Ranks commit one before the cut of the next, and are together then.
 *
 * @param training Who trains.
 * @param counts Steps before the counted ones, and those.
 * @param checkpoints What is made.
 * @param run Cancellation, and progress in steps, those of the warm-up included.
 */
export async function trainWithCheckpoints(
  { trainer, store, names }: Training,
  { warmup, steps }: { readonly warmup: number; readonly steps: number },
  checkpoints: WorkerCheckpoints,
  { signal, onProgress }: Required<Pick<RunOptions, "signal" | "onProgress">>,
): Promise<{ readonly result: TrainResult; readonly written: readonly Written[] }> {
  const { every } = checkpoints;
  const hold = checkpoints.kind === "in-place"
    ? inPlace(trainer, store, names, signal)
    : intoFiles(trainer, checkpoints.kind, checkpoints.path, signal);
  const parts: TrainResult[] = [];
  const written: Written[] = [];
  let underWay: (() => Promise<Written>) | undefined;
  const finish = async (): Promise<void> => {
    if (underWay !== undefined) written.push(await underWay());
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
    const { kind, settle } = await hold(written.length === 0);
    const cutEnd = performance.now();
    part.stepNs[some - 1] = Math.round((part.stepNs[some - 1] ?? 0) + (cutEnd - start) * NS);
    const entry = { step: done, kind, waitedNs: (cut - start) * NS, cutNs: (cutEnd - cut) * NS };
    underWay = async () => {
      const { at, ...what } = await settle();
      return { ...entry, durableNs: (at - cut) * NS, ...what };
    };
  }
  await finish();
  return { result: joined(parts), written };
}

/** A store and a trainer that were opened anew, and what came before the state that they are to have. */
export interface Reopened {
  readonly store: EmbeddingStore;
  readonly trainer: WdlTrainer;
  /** Nanoseconds that it took to take up the newest restore point, where the store is persistent. */
  readonly resumeNs: number;
}

/** Bytes on the disk of all files of a folder. */
async function bytesIn(folder: string): Promise<number> {
  let sum = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    sum += isDirectory ? await bytesIn(path) : ((await Deno.stat(path)).blocks ?? 0) * 512;
  }
  return sum;
}

/** Restores the newest checkpoint into a trainer that was just opened. Bytes read are those of it and of what it stands on. */
async function restoreNewest(
  trainer: WdlTrainer,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly restoreNs: number; readonly restoredBytes: number }> {
  const chain = inspectCheckpoints(path);
  const first = chain.findLastIndex(({ kind }) => kind === "full");
  const restoredBytes = chain.slice(first).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const start = performance.now();
  await trainer.restore({ path }, { signal });
  return { restoreNs: (performance.now() - start) * NS, restoredBytes };
}

/** The folder of a store's last tier. */
function lastFolder({ path = "", ssdPath = path }: WorkerSpec["store"]): string {
  return ssdPath;
}

/**
 * The outcome of a training with checkpoints, with what it takes to come back to the newest, in a store and a trainer of their
 * own.
 *
 * @param spec What was asked.
 * @param outcome Of the training, whose store is closed.
 * @param open Opens a store and a trainer as the training's were.
 * @throws {Error} If rows or dense weights are not those that the newest was made of, where training ended with its cut.
 */
export async function withRestore(
  spec: WorkerSpec & { readonly task: "speed" },
  outcome: SpeedOutcome,
  open: () => Promise<Reopened>,
  signal: AbortSignal,
): Promise<SpeedOutcome> {
  const { checkpoint: asked } = spec;
  const { checkpoint } = outcome;
  const last = checkpoint?.written.at(-1);
  if (checkpoint === undefined || last === undefined || asked === undefined) return outcome;
  const left = asked.kind === "in-place" ? await bytesIn(lastFolder(spec.store)) : 0;
  const { store, trainer, resumeNs } = await open();
  using _store = store;
  using _trainer = trainer;
  const restored = asked.kind === "in-place"
    ? { restoreNs: resumeNs, restoredBytes: left }
    : await restoreNewest(trainer, asked.path, signal);
  if (trainer.step !== spec.warmup + last.step) {
    throw new Error(
      `Cannot go on from the newest checkpoint: it is of step ${
        spec.warmup + last.step
      }, the trainer at ${trainer.step}`,
    );
  }
  if (last.step === outcome.stepNs.length) {
    const digest = await trainer.digest();
    if (digest !== outcome.digest) {
      throw new Error(
        `The rows restored from the newest checkpoint are not those it was made of: digest ${digest}, expected ` +
          `${outcome.digest}; this is a bug in checkpoints, or a disk that fails`,
      );
    }
  }
  return { ...outcome, checkpoint: { ...checkpoint, ...restored } };
}
