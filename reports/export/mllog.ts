/**
 * Results as MLPerf's log lines (`:::MLLOG {json}`), with keys of `mlperf_logging.mllog.constants`: a log for each sample and
 * for each longer run that gives an AUC, since MLPerf's tools take one run a log.
 *
 * These are no submissions: the benchmark they name is the scenario, which MLPerf's compliance checker does not know, and it
 * asks for a division, caches that were cleared, and more, of which nothing is said here. Its parser, and whatever else reads
 * such lines, takes them.
 *
 * @module
 */

import type { QualityRecord, Result, RunRecord, SampleRecord } from "../../scenarios/record.ts";

/** One run's log. */
export interface MlLog {
  /** The sample or the longer run, as the result file calls it. */
  readonly id: string;
  /** Its lines, each with its end. */
  readonly text: string;
}

/** Logs of a result. */
export interface MlLogs {
  /** Of each run. */
  readonly logs: readonly MlLog[];
  /** What was left out and why, sentence by sentence. */
  readonly lost: readonly string[];
}

type Value = string | number | null;
type Fields = Readonly<Record<string, Value>>;

/** Names of optimizers where MLPerf's are others than a scenario's. */
const OPTIMIZERS: Readonly<Record<string, string>> = { adamW: "adamw", rowwiseAdagrad: "RowWiseAdagrad" };

/** Lines of one run, in the order of their times. */
class Lines {
  readonly #namespace: string;
  readonly #lines: { readonly ms: number; readonly text: string }[] = [];

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  #add(ms: number, type: string, key: string, value: Value, metadata: Fields): void {
    const line = { namespace: this.#namespace, time_ms: Math.round(ms), event_type: type, key, value, metadata };
    this.#lines.push({ ms, text: `:::MLLOG ${JSON.stringify(line)}\n` });
  }

  event(ms: number, key: string, value: Value, metadata: Fields = {}): void {
    this.#add(ms, "POINT_IN_TIME", key, value, metadata);
  }

  start(ms: number, name: string, metadata: Fields = {}): void {
    this.#add(ms, "INTERVAL_START", `${name}_start`, null, metadata);
  }

  stop(ms: number, name: string, metadata: Fields = {}): void {
    this.#add(ms, "INTERVAL_END", `${name}_stop`, null, metadata);
  }

  text(): string {
    return this.#lines.map(({ text }) => text).join("");
  }
}

/** `opt_name` and more, if the scenario says which. */
function optimizersOf({ scenario: { workload } }: RunRecord): (readonly [string, Value])[] {
  const told = (prefix: string, optimizer: object | undefined): (readonly [string, Value])[] =>
    Object.entries(optimizer ?? {}).flatMap(([name, { learningRate }]) => [
      [`${prefix}_name`, OPTIMIZERS[name] ?? name] as const,
      [`${prefix}_base_learning_rate`, learningRate] as const,
    ]);
  // Results of earlier versions have no optimizers.
  const { deep, embedding } = (workload as Partial<RunRecord["scenario"]["workload"]>).optimizer ?? {};
  return [...told("opt", deep), ...told("opt_sparse", embedding ?? deep)];
}

/** What every log begins with. */
function begun(
  { id, run, record, from }: {
    readonly id: string;
    readonly run: RunRecord;
    readonly record: SampleRecord | QualityRecord;
    readonly from: number;
  },
): Lines {
  const lines = new Lines(id);
  lines.event(from, "submission_benchmark", run.scenario.name, { configuration: record.configuration });
  lines.event(from, "submission_platform", run.machine.cpu, { evidence: record.evidence });
  lines.start(from, "init");
  lines.event(from, "seed", "seed" in record ? record.seed : run.scenario.seed);
  lines.event(from, "global_batch_size", record.batch);
  lines.event(from, "train_samples", run.data.trainRows);
  lines.event(from, "eval_samples", run.data.testRows);
  // Cases of a matrix may have other optimizers than the scenario says.
  const own = Object.keys(record.point ?? {}).some((field) => field.startsWith("workload.optimizer"));
  for (const [key, value] of own ? [] : optimizersOf(run)) lines.event(from, key, value);
  return lines;
}

/** The log of a sample: the counted steps end with its process, and what comes before them is initialisation. */
function sampleLog(run: RunRecord, record: SampleRecord): MlLog {
  const { id, batch, stepNs } = record, from = Date.parse(record.started);
  const end = from + 1e3 * record.processSeconds;
  const start = Math.max(from, end - stepNs.reduce((sum, ns) => sum + ns, 0) / 1e6);
  const lines = begun({ id, run, record, from }), count = batch * stepNs.length;
  lines.stop(start, "init");
  lines.start(start, "run");
  lines.start(start, "block", { samples_count: 0 });
  lines.stop(end, "block", { samples_count: count });
  lines.event(end, "trained_samples", count);
  lines.stop(end, "run", { status: "success", samples_count: count });
  return { id, text: lines.text() };
}

/** The log of a run that gives an AUC: its time is that of its process, held-out points included. */
function qualityLog(run: RunRecord, record: QualityRecord): MlLog {
  const { id = "quality", curve, steps, batch } = record, from = Date.parse(record.started);
  const lines = begun({ id, run, record, from });
  lines.stop(from, "init");
  lines.start(from, "run");
  let done = 0, trained = 0;
  for (const [i, { samples, seconds, trainSeconds, auc }] of curve.entries()) {
    const at = from + 1e3 * seconds;
    const took = trainSeconds === undefined ? undefined : trainSeconds - trained;
    const before = i === 0 ? from : from + 1e3 * (curve[i - 1]?.seconds ?? 0);
    // Held-out rows are scored at the end of the time since the last point.
    const evaluates = took === undefined ? at : Math.max(before, Math.min(at, before + 1e3 * took));
    trained = trainSeconds ?? 0;
    lines.start(before, "block", { samples_count: done });
    lines.stop(evaluates, "block", { samples_count: samples });
    lines.start(evaluates, "eval", { samples_count: samples });
    if (auc !== null) lines.event(at, "eval_accuracy", auc, { samples_count: samples });
    lines.stop(at, "eval", { samples_count: samples });
    done = samples;
  }
  lines.event(from + 1e3 * record.seconds, "trained_samples", steps * batch);
  lines.stop(from + 1e3 * record.seconds, "run", { status: "success", samples_count: steps * batch });
  return { id, text: lines.text() };
}

/** Logs of every run of a result: those that give an AUC first, then its samples. Samples on virtual media, which have no speed, are left out. */
export function mlLogs(result: Result): MlLogs {
  const { run, samples, again = [], qualities, failed } = result;
  const speeds = [...samples, ...again], real = speeds.filter(({ virtual }) => !virtual);
  const lost = [
    ...(real.length < speeds.length
      ? [`${speeds.length - real.length} samples on virtual media have no speed, and no log.`]
      : []),
    ...(failed.length > 0 ? [`${failed.length} failed samples have no log.`] : []),
  ];
  return {
    logs: [...qualities.map((one) => qualityLog(run, one)), ...real.map((one) => sampleLog(run, one))],
    lost,
  };
}
