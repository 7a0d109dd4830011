/**
 * What a worker does for its outcome: trains and counts, or trains and scores; alone or as one of several ranks. It imports
 * nothing but `ffi/` and files without imports, as the worker.
 *
 * @module
 */

import process from "node:process";
import type { Ranks, RanksDescription } from "../../ffi/ranks.ts";
import type { EmbeddingStore } from "../../ffi/store.ts";
import type { WdlTrainer } from "../../ffi/trainer.ts";
import { scoringSeconds } from "./budget.ts";
import { trainWithCheckpoints } from "./worker_checkpoints.ts";
import type { QualityOutcome, SpeedOutcome, WorkerMessage, WorkerPhase, WorkerSpec } from "./worker_protocol.ts";

/** What a task works with. */
export interface TaskTools {
  readonly trainer: WdlTrainer;
  /** The ranks that this worker is one of; absent: none. */
  readonly ranks?: Ranks;
  readonly signal: AbortSignal;
  /** Where progress goes. */
  readonly say: (message: WorkerMessage) => void;
  /** Waits for the next turn of a worker that trains in turns; absent of ranks. */
  readonly turn?: () => Promise<void>;
}

/** Progress and cancellation of a native call of some phase. */
function reporting(phase: WorkerPhase, { signal, say }: TaskTools, before = 0, total?: number) {
  return {
    signal,
    onProgress: (done: number, all: number) =>
      say({ type: "progress", phase, done: before + done, total: total ?? all }),
  };
}

/** A worker's spec with one of its tasks. */
export type Spec<T extends WorkerSpec["task"]> = WorkerSpec & { readonly task: T };

/** What was sent in the counted steps. */
function sentIn(before: RanksDescription, after: RanksDescription): NonNullable<SpeedOutcome["exchange"]> {
  return {
    messages: after.messages - before.messages,
    sentBytes: after.sentBytes - before.sentBytes,
    receivedBytes: after.receivedBytes - before.receivedBytes,
    messageNs: after.messageNs - before.messageNs,
    waitingNs: after.waitingNs - before.waitingNs,
    movingNs: after.movingNs - before.movingNs,
  };
}

/** Steps since the trainer was opened that ranks trained asynchronously; undefined in step. */
function asynchronousSteps(trainer: WdlTrainer): SpeedOutcome["asynchronous"] {
  const { ranks_batches: batches, ranks_missed: missed } = trainer.describe();
  const numbers = (text: string) => text.split(",").map(Number);
  return batches === undefined || missed === undefined
    ? undefined
    : { batches: numbers(batches), missed: numbers(missed) };
}

function asynchronousIn(trainer: WdlTrainer, before: SpeedOutcome["asynchronous"]): Pick<SpeedOutcome, "asynchronous"> {
  const after = asynchronousSteps(trainer);
  if (before === undefined || after === undefined) return {};
  const since = (what: "batches" | "missed") => after[what].map((count, i) => count - (before[what][i] ?? 0));
  return { asynchronous: { batches: since("batches"), missed: since("missed") } };
}

/** Nanoseconds of processor time that this process has taken. */
function processorNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/** Warms up and trains the counted steps, so many at a turn. What other threads of this process do meanwhile is told. */
async function trainInTurns(
  { warmup, steps }: Spec<"speed">,
  every: number,
  { trainer, signal, turn }: TaskTools,
  onProgress: (done: number) => void,
) {
  if (turn === undefined) throw new Error("Cannot train in turns: nobody gives them");
  let waitingCpuNs = 0;
  const until = async () => {
    const before = processorNs();
    await turn();
    waitingCpuNs += processorNs() - before;
  };
  const result = await trainer.train(steps, { warmup, signal, onProgress, pauses: { every, until } });
  return { result, written: [], waitingCpuNs };
}

/** Warms up and trains the counted steps. Over ranks in two calls, so that what they sent in the counted steps is known. */
async function trainCounted(spec: Spec<"speed">, store: EmbeddingStore, tools: TaskTools) {
  const { trainer, ranks, signal, say } = tools;
  const { warmup, steps, checkpoint } = spec;
  const training = { trainer, store, names: spec.trainer.tables.map(({ name }) => name) };
  const onWarmup = (done: number) => say({ type: "progress", phase: "warmup", done, total: warmup });
  const onStep = (done: number) => say({ type: "progress", phase: "train", done, total: steps });
  if (ranks !== undefined) {
    if (warmup > 0) await trainer.train(warmup, { signal, onProgress: onWarmup });
    store.resetStatistics();
    ranks.compare();
    const before = ranks.describe();
    const stepsBefore = asynchronousSteps(trainer);
    const trained = checkpoint === undefined
      ? { result: await trainer.train(steps, { signal, onProgress: onStep }), written: [] }
      : await trainWithCheckpoints(training, { warmup: 0, steps }, checkpoint, { signal, onProgress: onStep });
    ranks.compare();
    return { ...trained, exchange: sentIn(before, ranks.describe()), ...asynchronousIn(trainer, stepsBefore) };
  }
  const onProgress = (done: number) => done < warmup ? onWarmup(done) : onStep(done - warmup);
  if (spec.turn !== undefined) return await trainInTurns(spec, spec.turn, tools, onProgress);
  return checkpoint === undefined
    ? { result: await trainer.train(steps, { warmup, signal, onProgress }), written: [] }
    : await trainWithCheckpoints(training, spec, checkpoint, { signal, onProgress });
}

/**
 * Fills the tables, warms up, trains and counts.
 *
 * @param store The store of the trainer.
 */
export async function speed(spec: Spec<"speed">, store: EmbeddingStore, tools: TaskTools): Promise<SpeedOutcome> {
  const { trainer } = tools;
  await trainer.fill(reporting("fill", tools));
  store.resetStatistics(); // a warm-up does so as well, if there is one
  const { checkpoint } = spec;
  const { result: { stepNs, phaseNs, loss }, written, ...others } = await trainCounted(spec, store, tools);
  const statistics = store.statistics();
  const tables = spec.trainer.tables.map(({ name, dim }) => ({
    dim,
    distinct: trainer.table(name).statistics()["update_distinct"] ?? 0,
  }));
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
    tables,
    tableBytes,
    digest,
    ...others,
    ...(waiting === undefined ? {} : { waitingKeys: waiting }),
    ...(checkpoint === undefined
      ? {}
      : { checkpoint: { every: checkpoint.every, written, restoreNs: 0, restoredBytes: 0 } }),
  };
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

/** Trains, and scores held-out rows along the way. Ranks have no limit of time, which they would reach at different steps. */
export async function quality(spec: Spec<"quality">, tools: TaskTools): Promise<QualityOutcome> {
  const { trainer } = tools;
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
      await trainer.train(block, reporting("train", tools, steps, spec.steps));
      trained += elapsed() - before;
      steps += block;
    }
    const seconds = elapsed();
    const run = { ...reporting("evaluate", tools), maxRows: spec.testRows };
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
