/**
 * The process of one sample: reads a {@linkcode WorkerSpec} from standard input, opens a store and a trainer, trains,
 * and writes progress and the outcome to standard output. It reads no scenario and knows no configuration, and imports
 * nothing but `ffi/` and files without imports, so that it starts fast and every sample starts alike.
 *
 * @module
 */

import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { restoreNewest } from "./worker_checkpoints.ts";
import type { QualityOutcome, SpeedOutcome, WorkerMessage, WorkerSpec } from "./worker_protocol.ts";
import { quality, type Spec, speed } from "./worker_tasks.ts";

function say(message: WorkerMessage): void {
  const bytes = new TextEncoder().encode(JSON.stringify(message) + "\n");
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

/** The outcome with what it takes to come back to it, in a store and a trainer of their own. */
async function withRestore(
  { store: storage, trainer: model, ...spec }: Spec<"speed">,
  outcome: SpeedOutcome,
  signal: AbortSignal,
): Promise<SpeedOutcome> {
  const { checkpoint } = outcome;
  const last = checkpoint?.written.at(-1);
  if (checkpoint === undefined || last === undefined || spec.checkpoint === undefined) return outcome;
  using store = EmbeddingStore.open(storage);
  using trainer = WdlTrainer.open(store, model);
  const expected = last.step === outcome.stepNs.length ? outcome.digest : undefined;
  const restored = await restoreNewest(trainer, spec.checkpoint.path, expected, signal);
  return { ...outcome, checkpoint: { ...checkpoint, ...restored } };
}

/** Locks the files that say whose the folders are, until this process ends. */
async function own(files: readonly string[]): Promise<void> {
  for (const path of files) {
    const file = await Deno.open(path, { read: true, write: true });
    if (!(await file.tryLock(false))) throw new Error(`Cannot start the worker: "${path}" is being removed`);
  }
}

async function train(spec: WorkerSpec, signal: AbortSignal): Promise<SpeedOutcome | QualityOutcome> {
  using store = EmbeddingStore.open(spec.store);
  using trainer = WdlTrainer.open(store, spec.trainer);
  const tools = { trainer, signal, say };
  return spec.task === "speed" ? await speed(spec, store, tools) : await quality(spec, tools);
}

async function work(spec: WorkerSpec, signal: AbortSignal): Promise<SpeedOutcome | QualityOutcome> {
  await own(spec.owners ?? []);
  const outcome = await train(spec, signal);
  return spec.task === "speed" && outcome.task === "speed" ? await withRestore(spec, outcome, signal) : outcome;
}

/** The first line of standard input; `gone` aborts when the input ends, since the run that holds it open is gone. */
async function readSpec(gone: AbortController): Promise<WorkerSpec> {
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await lines.read();
    if (done) throw new Error("Cannot start the worker: its input ended before a line was read");
    text += value;
  }
  const untilEnd = async () => {
    while (!(await lines.read()).done);
    gone.abort(new Error("Cannot go on: the run that started this worker is gone"));
  };
  void untilEnd();
  return JSON.parse(text) as WorkerSpec;
}

if (import.meta.main) {
  // Ctrl-C reaches every process of the terminal; the run decides what becomes of its workers.
  Deno.addSignalListener("SIGINT", () => {});
  const gone = new AbortController();
  let code = 0;
  try {
    const spec = await readSpec(gone);
    say({ type: "outcome", outcome: await work(spec, gone.signal) });
  } catch (error) {
    code = 1;
    try {
      say({ type: "error", message: error instanceof Error ? error.message : String(error) });
    } catch {
      // Nobody reads any more.
    }
  }
  Deno.exit(code);
}
