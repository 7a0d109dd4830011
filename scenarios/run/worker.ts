/**
 * The process of one sample: reads a {@linkcode WorkerSpec} from standard input, opens a store and a trainer, trains,
 * and writes progress and the outcome to standard output. It reads no scenario and knows no configuration, and imports
 * nothing but `ffi/` and files without imports, so that it starts fast and every sample starts alike.
 *
 * @module
 */

import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { scoringSeconds } from "./budget.ts";
import { restoreNewest, trainWithCheckpoints } from "./worker_checkpoints.ts";
import type { QualityOutcome, SpeedOutcome, WorkerMessage, WorkerPhase, WorkerSpec } from "./worker_protocol.ts";

function say(message: WorkerMessage): void {
  const bytes = new TextEncoder().encode(JSON.stringify(message) + "\n");
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

/** Progress and cancellation of a native call of some phase. */
function reporting(phase: WorkerPhase, signal: AbortSignal, before = 0, total?: number) {
  return {
    signal,
    onProgress: (done: number, all: number) =>
      say({ type: "progress", phase, done: before + done, total: total ?? all }),
  };
}

type Spec<T extends WorkerSpec["task"]> = WorkerSpec & { readonly task: T };

async function speed(
  spec: Spec<"speed">,
  store: EmbeddingStore,
  trainer: WdlTrainer,
  signal: AbortSignal,
): Promise<SpeedOutcome> {
  await trainer.fill(reporting("fill", signal));
  store.resetStatistics(); // a warm-up does so as well, if there is one
  const { warmup, steps, checkpoint } = spec;
  const run = {
    signal,
    onProgress: (done: number) =>
      done < warmup
        ? say({ type: "progress", phase: "warmup", done, total: warmup })
        : say({ type: "progress", phase: "train", done: done - warmup, total: steps }),
  };
  const { result: { stepNs, phaseNs, loss }, written } = checkpoint === undefined
    ? { result: await trainer.train(steps, { warmup, ...run }), written: [] }
    : await trainWithCheckpoints(trainer, spec, checkpoint, run);
  const statistics = store.statistics();
  const rows = tierRows(spec, store, trainer);
  const memory = store.memory().tiers;
  const tiers = store.describe().map((tier) => {
    const { limitBytes = 0, usedBytes = 0, purposes = {} } = memory[tier.tier] ?? {};
    return { ...tier, limitBytes, usedBytes, purposes, rows: rows[tier.tier] ?? 0 };
  });
  const tableBytes = tiers.reduce((sum, tier) => sum + (tier.purposes["rows"] ?? 0), 0);
  const facts = trainer.describe();
  const digest = await trainer.digest();
  const waiting = waitingKeys(spec, trainer);
  return {
    task: "speed",
    stepNs,
    phaseNs,
    loss,
    trainer: facts,
    statistics,
    tiers,
    tableBytes,
    digest,
    ...(waiting === undefined ? {} : { waitingKeys: waiting }),
    ...(checkpoint === undefined
      ? {}
      : { checkpoint: { every: checkpoint.every, written, restoreNs: 0, restoredBytes: 0 } }),
  };
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

/** Keys that were looked up and have no row yet, of all tables that count them; undefined if none does. */
function waitingKeys({ trainer: { tables } }: WorkerSpec, trainer: WdlTrainer): number | undefined {
  const counted = tables.filter(({ admission }) => typeof admission === "object" && "counter" in admission);
  if (counted.length === 0) return undefined;
  let sum = 0;
  for (const { name } of counted) for (const { keys } of trainer.table(name).waiting(65_536)) sum += keys.length;
  return sum;
}

/** Rows in each tier, of all tables. */
function tierRows({ trainer: { tables } }: WorkerSpec, store: EmbeddingStore, trainer: WdlTrainer): number[] {
  const tiers = store.describe().length;
  const counts = tables.map(({ name }) => trainer.table(name).rows());
  return Array.from({ length: tiers }, (_, tier) => counts.reduce((sum, rows) => sum + (rows[tier] ?? 0), 0));
}

/** Steps between two looks at the clock, where there is a limit; the first of a call never has old rows. */
const BLOCK = 16;

async function quality(spec: Spec<"quality">, trainer: WdlTrainer, signal: AbortSignal): Promise<QualityOutcome> {
  const curve: QualityOutcome["curve"][number][] = [];
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  let steps = 0;
  let testRows = 0;
  let trained = 0; // seconds in training
  let scoring: number | undefined; // seconds of one evaluation
  /** Whether another block, and the evaluation that must follow it, would end too late. */
  const late = () => {
    if (spec.seconds === undefined || steps === 0) return false;
    const step = trained / steps;
    return elapsed() + BLOCK * step + (scoring ?? scoringSeconds(step, spec.testRows, spec.trainer.batch)) >
      spec.seconds;
  };
  for (let point = 1; point <= spec.evaluations && !late(); point++) {
    const until = Math.round(spec.steps * point / spec.evaluations);
    while (steps < until && !late()) {
      const block = spec.seconds === undefined ? until - steps : Math.min(BLOCK, until - steps);
      const before = elapsed();
      await trainer.train(block, reporting("train", signal, steps, spec.steps));
      trained += elapsed() - before;
      steps += block;
    }
    const seconds = elapsed();
    const run = { ...reporting("evaluate", signal), maxRows: spec.testRows };
    const { logloss, auc, rows } = await trainer.evaluate(spec.testData, run);
    scoring = elapsed() - seconds;
    // A NaN would be null in JSON without anybody having meant it.
    const defined = Number.isNaN(auc) ? null : auc;
    curve.push({ samples: steps * spec.trainer.batch, seconds, trainSeconds: trained, logloss, auc: defined });
    testRows = rows;
  }
  const facts = trainer.describe();
  return { task: "quality", steps, curve, testRows, trainer: facts, digest: await trainer.digest() };
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
  return spec.task === "speed" ? await speed(spec, store, trainer, signal) : await quality(spec, trainer, signal);
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
