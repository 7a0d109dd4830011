/**
 * The process of one sample: reads a {@linkcode WorkerSpec} from standard input, opens a store and a trainer, trains,
 * and writes progress and the outcome to standard output. It reads no scenario and knows no configuration, and imports
 * nothing but `ffi/` and files without imports, so that it starts fast and every sample starts alike.
 *
 * @module
 */

import { storeMetrics, trainerMetrics } from "../../ffi/metrics.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { type Reopened, withRestore } from "./worker_checkpoints.ts";
import {
  METRICS_LINE,
  type QualityOutcome,
  type SpeedOutcome,
  type WorkerMessage,
  type WorkerSpec,
} from "./worker_protocol.ts";
import { quality, speed, type TaskTools } from "./worker_tasks.ts";

function say(message: WorkerMessage): void {
  const bytes = new TextEncoder().encode(JSON.stringify(message) + "\n");
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

/** Locks the files that say whose the folders are, until this process ends. */
async function own(files: readonly string[]): Promise<void> {
  for (const path of files) {
    const file = await Deno.open(path, { read: true, write: true });
    if (!(await file.tryLock(false))) throw new Error(`Cannot start the worker: "${path}" is being removed`);
  }
}

/** Opens a store and a trainer; a persistent store goes on from the newest restore point, if there is one. */
async function open(spec: WorkerSpec, signal: AbortSignal): Promise<Reopened> {
  const store = EmbeddingStore.open(spec.store);
  try {
    const start = performance.now();
    if (spec.store.persistent === true) await store.resume({}, { signal });
    const resumeNs = (performance.now() - start) * 1e6;
    return { store, trainer: WdlTrainer.open(store, spec.trainer), resumeNs };
  } catch (error) {
    store.close();
    throw error;
  }
}

type Tools = Pick<TaskTools, "signal" | "turn">;

/** What is open now, and can tell what it counts. */
let opened: Pick<Reopened, "store" | "trainer"> | undefined;

function tellMetrics(): void {
  const families = opened === undefined ? [] : [...storeMetrics(opened.store), ...trainerMetrics(opened.trainer)];
  say({ type: "metrics", families });
}

async function train(spec: WorkerSpec, given: Tools): Promise<SpeedOutcome | QualityOutcome> {
  const { store, trainer } = await open(spec, given.signal);
  using _store = store;
  using _trainer = trainer;
  const tools = { ...given, trainer, say };
  opened = { store, trainer };
  try {
    return spec.task === "speed" ? await speed(spec, store, tools) : await quality(spec, tools);
  } finally {
    opened = undefined;
  }
}

async function work(spec: WorkerSpec, tools: Tools): Promise<SpeedOutcome | QualityOutcome> {
  await own(spec.owners ?? []);
  const outcome = await train(spec, tools);
  if (spec.task !== "speed" || outcome.task !== "speed") return outcome;
  const { signal } = tools;
  return await withRestore(spec, outcome, () => open(spec, signal), signal);
}

/** Standard input, a line at a time. */
class Input {
  readonly #chunks = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  #text = "";

  /** The next line; undefined at the end. */
  async line(): Promise<string | undefined> {
    while (!this.#text.includes("\n")) {
      const { value, done } = await this.#chunks.read();
      if (done) return undefined;
      this.#text += value;
    }
    const end = this.#text.indexOf("\n");
    const line = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 1);
    return line;
  }
}

/** The first line, and the turns that the lines after it give; `gone` aborts when the input ends: the run is gone then. */
async function readSpec(
  gone: AbortController,
): Promise<{ readonly spec: WorkerSpec; readonly turn: () => Promise<void> }> {
  const input = new Input();
  const first = await input.line();
  if (first === undefined) throw new Error("Cannot start the worker: its input ended before a line was read");
  let [given, taken] = [0, 0];
  let wake = () => {};
  const untilEnd = async () => {
    for (let line = await input.line(); line !== undefined; line = await input.line()) {
      if (line === METRICS_LINE) tellMetrics();
      else {
        given++;
        wake();
      }
    }
    gone.abort(new Error("Cannot go on: the run that started this worker is gone"));
    wake();
  };
  void untilEnd();
  const turn = async () => {
    say({ type: "turn" });
    while (given === taken && !gone.signal.aborted) await new Promise<void>((resolve) => wake = resolve);
    gone.signal.throwIfAborted();
    taken++;
  };
  return { spec: JSON.parse(first) as WorkerSpec, turn };
}

if (import.meta.main) {
  // Ctrl-C reaches every process of the terminal; the run decides what becomes of its workers.
  Deno.addSignalListener("SIGINT", () => {});
  const gone = new AbortController();
  let code = 0;
  try {
    const { spec, turn } = await readSpec(gone);
    say({ type: "outcome", outcome: await work(spec, { signal: gone.signal, turn }) });
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
