/**
 * Runs a scenario: one worker process a sample, every record on the disk as soon as it is complete.
 *
 * @module
 */

import type { RunMetrics } from "./run_metrics.ts";
import { readUserText } from "../../base/user_file.ts";
import { basename, join, resolve } from "node:path";
import { digestOf } from "../../base/canonical.ts";
import { defaultDependencies } from "./dependencies.ts";
import type { RunEvent } from "./events.ts";
import { loadScenario, resolveScenario } from "../load.ts";
import { pointText } from "../../base/matrix.ts";
import { Pace } from "./pace.ts";
import { paddingOf, type PlannedSample, planSamples } from "../plan.ts";
import { type Shard, shardOf, shardText } from "../shard.ts";
import { type Preparation, type PreparedCase, prepareRun, qualityCase, type RunDependencies } from "./prepare.ts";
import {
  type FailedRecord,
  isDeterministic,
  type Result,
  type ResultRecord,
  type RunRecord,
  type SampleRecord,
} from "../record.ts";
import { ResultFolder } from "../../base/result_folder.ts";
import { QUALITY_ID, readFolder, resultOf, ResultWriter } from "../result.ts";
import { checkpointTask, qualityRecord, sampleRecord, takeSample } from "./sample.ts";
import { curveRecord } from "./miss_curve.ts";
import { type QualityRun, qualityRuns } from "./quality_runs.ts";
import type { ResolvedScenario, Scenario } from "../scenario.ts";
import { RESERVE, scoredRows, sizeRun, wantedSteps } from "./steps.ts";
import { conditionsBetween, counters } from "./conditions.ts";
import { Sharing } from "./sharing.ts";
import { Timeline } from "./timeline.ts";
import { type Turn, Turns } from "./turns.ts";
import { MOST_ROUNDS, type Until } from "./until.ts";
import { quickScenario, withData, withFields } from "../variations.ts";
import { type Vouch, vouchedConfigurations } from "./vouch.ts";
import type { QualityOutcome, SpeedOutcome } from "./worker_protocol.ts";

/** Options of {@linkcode runScenario}. */
export interface RunScenarioOptions {
  /** Told what happens. */
  readonly onProgress?: (event: RunEvent) => void;
  /** Stops the run: the worker is stopped, complete records stay, {@linkcode RunInterrupted} is thrown. */
  readonly signal?: AbortSignal;
  /** Answers what the stores and trainers of this run count while it goes on; not of runs over ranks. */
  readonly metrics?: RunMetrics;
  /** Folder of `result.jsonl`. Default: `reports/out/<name>` in the working directory. */
  readonly out?: string;
  /** `measured`: a medium that is not here is an error. One that its owner vouches for is here. */
  readonly require?: "measured";
  /**
   * What the owner of this machine says that media are, where nothing here proves it: such a medium is measured, and its
   * figures say whose word that is. It is a fact of the machine, so no scenario can say it.
   */
  readonly vouch?: readonly Vouch[];
  /** A small version of the scenario that ends within 30 s. */
  readonly quick?: boolean;
  /** One share of the run; {@linkcode mergeResults} joins the results of all. Default: the whole run. */
  readonly shard?: Shard;
  /** Goes on with an interrupted run in the same folder. */
  readonly resume?: boolean;
  /**
   * Takes rounds until this says that they are enough, or the budget has no room for another, {@linkcode Result.end} says
   * which; asked after each round from the scenario's `repetitions` on. {@linkcode preciseTo} makes one. Not with `shard`.
   */
  readonly until?: Until;
  /** Rows in Criteo's format to train on instead of the scenario's data. */
  readonly data?: string;
  /** Another seed than the scenario's. */
  readonly seed?: number;
  /**
   * Called with the scenario that will run, every option in it, and its files of prices, before anything is made; what it
   * throws ends the run.
   */
  readonly onResolved?: (
    scenario: ResolvedScenario,
    priceFiles: readonly { readonly name: string; readonly text: string }[],
  ) => void | Promise<void>;
  /** Other values of dotted fields than the scenario's, such as `{ "workload.batch": 64 }`; they count last. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** False: the run may have more samples than any that was meant so far. Default true. */
  readonly limit?: boolean;
}

/** A run was stopped by its signal. Completed samples are in its result file. */
export class RunInterrupted extends Error {
  /** The result file. */
  readonly path: string;
  /** Complete samples in it. */
  readonly completed: number;
  /** Samples of the whole run. */
  readonly planned: number;

  /** The error of a stopped run. @param path The result file. */
  constructor(path: string, completed: number, planned: number) {
    super(
      planned === 0
        ? `Interrupted before the first sample; the same run begins again, with --resume it keeps what "${path}" has`
        : `Interrupted: ${completed} of ${planned} samples are complete in "${path}"; the same run with --resume goes on`,
    );
    this.name = "RunInterrupted";
    [this.path, this.completed, this.planned] = [path, completed, planned];
  }
}

/**
 * Runs a scenario.
 *
 * @param scenario A scenario, as written or resolved, or the path of its file.
 * @param options What to run and whom to tell.
 * @returns What was found; samples that failed are in `failed`.
 * @throws {ScenarioError} if the scenario cannot be used.
 * @throws {UnavailableError} if a configuration cannot run as required, or a medium cannot be vouched for.
 * @throws {VouchError} if the owner's word names a medium or a configuration that does not exist.
 * @throws {RunInterrupted} when stopped by the signal.
 *
 * @example
 * ```ts ignore
 * import { loadScenario, renderReport, runScenario } from "../../mod.ts";
 *
 * const scenario = await loadScenario("scenarios/pmem-modes.jsonc");
 * const result = await runScenario(scenario, { onProgress: (event) => console.log(event.type) });
 * await Deno.writeTextFile("report.html", renderReport(result));
 * ```
 */
export async function runScenario(
  scenario: Scenario | ResolvedScenario | string | URL,
  options: RunScenarioOptions = {},
): Promise<Result> {
  return await runWith(defaultDependencies(), scenario, options);
}

/** The scenario that options ask for. It is checked once as it was written, and again only where options change it. */
export async function scenarioFor(
  scenario: Scenario | ResolvedScenario | string | URL,
  { data, quick, seed, set, limit = true }: Pick<RunScenarioOptions, "data" | "quick" | "seed" | "set" | "limit">,
): Promise<ResolvedScenario> {
  const isFile = typeof scenario === "string" || scenario instanceof URL;
  const written = isFile
    ? await loadScenario(scenario, { limit })
    : await resolveScenario(scenario, Deno.cwd(), { limit });
  let resolved = written;
  if (data !== undefined) resolved = withData(resolved, data);
  if (seed !== undefined) resolved = { ...resolved, seed };
  if (quick === true) resolved = quickScenario(resolved);
  if (set !== undefined) resolved = withFields(resolved, set);
  return resolved === written ? written : await resolveScenario(resolved, Deno.cwd(), { limit });
}

/** {@linkcode runScenario} with its dependencies given. */
export async function runWith(
  dependencies: RunDependencies,
  scenario: Scenario | ResolvedScenario | string | URL,
  options: RunScenarioOptions,
): Promise<Result> {
  const start = performance.now();
  const resolved = await scenarioFor(scenario, options);
  const priceFiles = await readPriceFiles(resolved.cost.priceFiles ?? []);
  await options.onResolved?.(resolved, priceFiles);
  const path = resultPath(resolved, options.out, options.shard);
  const emit = options.onProgress ?? (() => {});
  const interrupted = (completed: number, planned: number) => new RunInterrupted(path, completed, planned);
  // Nothing in the folder is read, and no data are made, before the folder is this run's.
  using folder = await ResultFolder.take(path);
  try {
    const earlier = options.resume === true ? await earlierRecords(folder, resolved, emit) : undefined;
    const prepared = await prepareRun(resolved, dependencies, {
      require: options.require,
      vouch: options.vouch,
      signal: options.signal,
      emit,
    });
    const planned = plannedOf(prepared, resolved, options);
    checkSameShard(earlier?.records, options.shard, path);
    checkSameData(earlier?.records, prepared, path);
    checkSameWord(earlier?.records, prepared, path);
    using writer = earlier === undefined
      ? await ResultWriter.create(folder)
      : await ResultWriter.resume(folder, earlier);
    if (writer.records.length === 0) {
      await writer.append({
        ...await runRecord(resolved, prepared, dependencies),
        ...(priceFiles.length === 0 ? {} : { priceFiles }),
        ...(options.shard === undefined ? {} : { shard: { ...options.shard, samples: planned.length } }),
      });
    }
    const elapsed = () => (performance.now() - start) / 1000;
    const { signal } = options;
    const run = new Run({
      scenario: resolved,
      prepared,
      planned,
      shard: options.shard,
      until: options.until,
      metrics: options.metrics,
      dependencies,
      writer,
      signal,
      emit,
      elapsed,
    });
    try {
      await run.all();
      await run.curves();
    } catch (error) {
      if (options.signal?.aborted !== true && !(error instanceof AncestorGone)) throw error;
      if (error instanceof AncestorGone) emit({ type: "notice", message: error.message });
      const { samples, again = [] } = resultOf(writer.records);
      throw interrupted(samples.length + again.length, run.expected());
    }
    return resultOf(writer.records);
  } catch (error) {
    if (options.signal?.aborted === true && !(error instanceof RunInterrupted)) throw interrupted(0, 0);
    throw error;
  }
}

/**
 * The text of a scenario's files of prices.
 *
 * @throws {Error} naming a file that cannot be read.
 */
export async function readPriceFiles(paths: readonly string[]): Promise<{ name: string; text: string }[]> {
  return await Promise.all(paths.map(async (path) => {
    try {
      return { name: basename(path), text: await readUserText(path, "prices") };
    } catch (error) {
      const { message } = error as Error;
      if (message.startsWith("Cannot read the prices")) throw error;
      throw new Error(`Cannot read the prices in "${path}": ${message}`, { cause: error });
    }
  }));
}

/** Where a scenario's results, or those of a share of it, go. */
export function resultPath(scenario: Pick<ResolvedScenario, "name">, out?: string, shard?: Shard): string {
  const share = shard === undefined ? "" : `-shard-${shard.index}-of-${shard.of}`;
  return join(resolve(out ?? join("reports", "out", `${scenario.name}${share}`)), "result.jsonl");
}

/** The samples of a run, or of a share of it. @throws {RangeError} if the share would have none. */
function plannedOf(
  { cases, again }: Preparation,
  { repetitions, seed }: ResolvedScenario,
  { shard, until }: Pick<RunScenarioOptions, "shard" | "until">,
): PlannedSample<PreparedCase>[] {
  if (shard !== undefined && until !== undefined) {
    throw new RangeError("Cannot take a share of a run whose rounds are not known before: leave out shard or until");
  }
  const planned = planSamples([...cases, ...again], until === undefined ? repetitions : MOST_ROUNDS, seed);
  return shard === undefined ? planned : shardOf(planned, shard);
}

/** A share goes on as itself. */
function checkSameShard(records: readonly ResultRecord[] | undefined, shard: Shard | undefined, path: string): void {
  const run = records?.[0];
  if (run?.type !== "run") return;
  const said = (of: Shard | undefined) => of === undefined ? "the whole run" : `shard ${shardText(of)}`;
  const [then, now] = [said(run.shard), said(shard)];
  if (then === now) return;
  throw new UnresumableError(
    `Cannot go on with "${path}": it has ${then}, now ${now} is asked for; name another --out`,
  );
}

async function earlierRecords(folder: ResultFolder, scenario: ResolvedScenario, emit: (event: RunEvent) => void) {
  const { path } = folder;
  const earlier = await readFolder(folder);
  if (earlier === undefined) {
    emit({ type: "notice", message: `nothing to go on with: "${path}" does not exist; the run begins` });
  }
  if (earlier === undefined) return undefined;
  const [run] = earlier.records;
  if (run === undefined) return undefined;
  if (run.type !== "run" || run.scenarioDigest !== digestOf(scenario)) {
    throw new UnresumableError(
      `Cannot go on with "${path}": it was made by another scenario or with other options; run without --resume ` +
        "(it will be kept under another name) or choose another folder with --out",
    );
  }
  if (!earlier.sums) {
    emit({
      type: "notice",
      message: `the lines of ${path} have no sums (an earlier version's): damage cannot be told`,
    });
  }
  if (earlier.truncated) {
    emit({ type: "notice", message: `dropped the last line of ${path}: it was cut off while being written` });
  }
  return earlier;
}

/** A result file that a run cannot go on with. */
export class UnresumableError extends Error {
  /** The error. @param message What was found and what to do. */
  constructor(message: string) {
    super(message);
    this.name = "UnresumableError";
  }
}

function checkSameData(records: readonly ResultRecord[] | undefined, { data }: Preparation, path: string): void {
  const run = records?.[0];
  if (run?.type !== "run" || run.data.digest === data.digest) return;
  throw new UnresumableError(
    `Cannot go on with "${path}": its data had the digest ${run.data.digest}, now it has ${data.digest}`,
  );
}

/** What the owner said of the media belongs to the samples that are there. */
function checkSameWord(records: readonly ResultRecord[] | undefined, { cases }: Preparation, path: string): void {
  const run = records?.[0];
  if (run?.type !== "run") return;
  const said = (vouched: RunRecord["vouched"] = []) =>
    vouched.map(({ configuration, medium }) => `${configuration}=${medium}`).sort().join(", ") || "nothing";
  const [then, now] = [said(run.vouched), said(vouchedConfigurations(cases))];
  if (then === now) return;
  throw new UnresumableError(
    `Cannot go on with "${path}": it was begun with --vouch for ${then}, now it is ${now}; say the same, or run ` +
      "without --resume",
  );
}

async function runRecord(
  scenario: ResolvedScenario,
  prepared: Preparation,
  dependencies: RunDependencies,
): Promise<RunRecord> {
  const media = [...new Set(prepared.cases.flatMap(({ decision }) => decision.media ?? []))];
  const vouched = vouchedConfigurations(prepared.cases);
  const { missing } = dependencies.readEnergy();
  const bands = await Promise.all(media.map(async (name) => [name, await dependencies.modelBands(name)] as const));
  return {
    type: "run",
    format: 1,
    started: new Date().toISOString(),
    scenario,
    scenarioDigest: digestOf(scenario),
    machine: prepared.machine,
    versions: dependencies.versions(prepared.machine),
    data: prepared.data,
    ...(prepared.leftOut.length === 0 ? {} : { leftOut: prepared.leftOut }),
    ...(bands.length === 0 ? {} : { modelBands: Object.fromEntries(bands) }),
    ...(missing === undefined ? {} : { energyMissing: missing }),
    ...(vouched.length === 0 ? {} : { vouched }),
  };
}

/** Nobody waits for the run any more. */
class AncestorGone extends Error {
  constructor(what: string) {
    super(`${what}, which started this run, is gone: it stops after its sample`);
    this.name = "AncestorGone";
  }
}

/** What a run under way works with. */
interface RunContext {
  readonly scenario: ResolvedScenario;
  readonly prepared: Preparation;
  /** The samples to take. */
  readonly planned: readonly PlannedSample<PreparedCase>[];
  readonly dependencies: RunDependencies;
  readonly writer: ResultWriter;
  readonly shard: Shard | undefined;
  readonly until: Until | undefined;
  readonly metrics: RunMetrics | undefined;
  readonly signal: AbortSignal | undefined;
  readonly emit: (event: RunEvent) => void;
  /** Seconds since the run began. */
  readonly elapsed: () => number;
}

/** Point and steps: samples in which both are equal must end with the same rows. */
function stepsKey({ point, warmupSteps, stepNs, cluster }: SampleRecord): string {
  // All numbers of ranks end with the same bits; they are not those of a process without ranks.
  const fields = Object.entries(point).filter(([field]) => !field.startsWith("cluster."));
  const ranks = cluster === undefined ? "" : " over ranks";
  return `${warmupSteps + stepNs.length}${ranks} ${pointText(Object.fromEntries(fields))}`;
}

/** Points of a matrix that get a curve: each takes some tenths of a second. */
const MOST_CURVES = 4;

/** One run under way. */
class Run {
  readonly planned: readonly PlannedSample<PreparedCase>[];
  readonly #context: RunContext;
  readonly #timeline: Timeline;
  /** First sample with these steps at this point. */
  readonly #digests = new Map<string, SampleRecord>();

  constructor(context: RunContext) {
    this.#context = context;
    this.planned = context.planned;
    this.#timeline = new Timeline(context.emit, (planned) => this.#samplesAt(planned));
  }

  async all(): Promise<void> {
    const { samples: own, again = [], quality, qualities, end } = resultOf(this.#context.writer.records);
    const samples = [...own, ...again];
    for (const record of samples.filter(isDeterministic)) {
      const key = stepsKey(record);
      if (!this.#digests.has(key)) this.#digests.set(key, record);
    }
    const done = new Set(samples.map(({ id }) => id));
    const { until, scenario: { repetitions } } = this.#context;
    const left = end === undefined ? this.planned.filter(({ id }) => !done.has(id)) : [];
    // Of rounds that may not come nothing is expected.
    const expected = left.filter(({ sample }) => sample <= repetitions);
    const sizing = await sizeRun(
      {
        ...this.#context,
        samples,
        left: expected,
        manyRounds: until !== undefined,
        qualityDone: (this.#context.shard?.index ?? 1) > 1 ||
          (quality !== undefined && qualities.length >= this.#qualities()),
      },
      this.#context.dependencies,
      this.#context,
    );
    this.#timeline.expect(expected.map((planned) => ({ ...planned, steps: sizing.steps(planned.case) })), sizing);
    const { prepared: { cases, again: repeated } } = this.#context;
    const pace = new Pace({ ...this.#context, cases: [...cases, ...repeated], sizing, samples });
    const sharing = new Sharing(this.#context);
    let ended = left.length === 0;
    let round = { number: 0, since: this.#context.elapsed(), seconds: 0 };
    for (const group of sharing.groups(left)) {
      this.#checkAncestors();
      const [{ sample = 1 } = {}] = group;
      if (sample !== round.number) {
        const now = this.#context.elapsed();
        round = { number: sample, since: now, seconds: round.number === 0 ? 0 : now - round.since };
        ended = sample > repetitions && await this.#isEnough(sample - 1, round.seconds, sizing.qualitySeconds ?? 0);
        if (ended) break;
      }
      const every = sharing.turnSteps(group, pace);
      if (every === undefined) await this.#whole(group, pace);
      else sharing.learn(group, await this.#inTurns(group, pace, every));
    }
    if (!ended) await this.#isEnough(MOST_ROUNDS, 0, 0);
    // One share gives the AUC.
    if (this.#context.scenario.quality.samples === 0 || (this.#context.shard?.index ?? 1) > 1) return;
    if (quality === undefined && sizing.qualitySteps === 0) return;
    const complete = new Set(qualities.map(({ id }) => id ?? QUALITY_ID));
    const { samples: taken } = resultOf(this.#context.writer.records);
    for (const run of qualityRuns(qualityCase(cases), cases, taken)) {
      if (complete.has(run.id)) continue;
      this.#checkAncestors();
      await this.#quality(run, pace);
    }
  }

  /**
   * Whether a run whose rounds are open ends here, which it writes down.
   *
   * @param rounds Rounds so far.
   * @param seconds What the last one took.
   * @param quality Seconds of the quality run that comes after them.
   */
  async #isEnough(rounds: number, seconds: number, quality: number): Promise<boolean> {
    const { until, writer, scenario: { budget }, elapsed } = this.#context;
    if (until === undefined) return false;
    const { enough, words } = until(resultOf(writer.records));
    const isLate = elapsed() + seconds + quality > budget * (1 - RESERVE);
    if (!enough && !isLate && rounds < MOST_ROUNDS) return false;
    await writer.append({ type: "end", rounds, why: enough ? "enough" : isLate ? "budget" : "most", words });
    return true;
  }

  /** Stops between two samples if whoever started this process is gone. */
  #checkAncestors(): void {
    const gone = this.#context.dependencies.goneAncestor();
    if (gone !== undefined) throw new AncestorGone(gone);
  }

  /** Records the miss-ratio curve of every point that has a case with more than one tier, and none yet. */
  async curves(): Promise<void> {
    const { samples, curves = [] } = resultOf(this.#context.writer.records);
    const done = new Set(curves.map(({ point }) => pointText(point)));
    for (const sample of samples) {
      const key = pointText(sample.point);
      if (done.has(key) || sample.tiers.length < 2 || done.size >= MOST_CURVES) continue;
      const scenario = this.#context.prepared.cases.find(({ name }) => name === sample.case)?.scenario;
      if (scenario === undefined) continue;
      done.add(key);
      const record = curveRecord(sample, scenario, this.#context.prepared.data.cardinalities);
      if (record !== undefined) await this.#context.writer.append(record);
    }
  }

  /** Quality runs that there are at least; of an ablation it is known only when its samples are there. */
  #qualities(): number {
    const { ablation } = this.#context.scenario;
    const { cases } = this.#context.prepared;
    return ablation !== undefined ? Infinity : qualityRuns(qualityCase(cases), cases, []).length;
  }

  /** One process after the other. */
  async #whole(group: readonly PlannedSample<PreparedCase>[], pace: Pace): Promise<void> {
    for (const planned of group) {
      this.#checkAncestors();
      await this.#keep(planned, await this.#take(planned, pace), pace);
    }
  }

  /** All at once, so many steps each in turn. What the machine did meanwhile is theirs together. */
  async #inTurns(group: readonly PlannedSample<PreparedCase>[], pace: Pace, every: number): Promise<SampleRecord[]> {
    const { scenario: { seed }, signal } = this.#context;
    const turns = new Turns(group.map(({ id }) => id), seed + (group[0]?.position ?? 0));
    const [before, start] = [counters(), performance.now()];
    const settled = await Promise.allSettled(
      group.map((planned) => this.#take(planned, pace, { every, turn: turns.of(planned.id) })),
    );
    signal?.throwIfAborted();
    const after = counters();
    const conditions = before && after && conditionsBetween(before, after, (performance.now() - start) / 1000);
    const completed: SampleRecord[] = [];
    for (const [i, one] of settled.entries()) {
      if (one.status === "rejected") throw one.reason;
      const { conditions: _, ...alone } = one.value as SampleRecord;
      const record = one.value.status === "failed" || conditions === undefined ? one.value : { ...alone, conditions };
      await this.#keep(group[i] as PlannedSample<PreparedCase>, record, pace);
      if (record.status === "completed") completed.push(record);
    }
    return completed;
  }

  /** Takes a sample. What goes wrong is its record. */
  async #take(
    planned: PlannedSample<PreparedCase>,
    pace: Pace,
    shared?: { readonly every: number; readonly turn: Turn },
  ): Promise<SampleRecord | FailedRecord> {
    const warmup = planned.case.scenario.workload.warmup;
    const steps = pace.steps(planned);
    const started = new Date().toISOString();
    const turn = shared === undefined ? {} : { turn: shared.every };
    const layout = planned.case.ranks === undefined ? { padding: paddingOf(planned, this.#context.scenario.seed) } : {};
    const task = { task: "speed", warmup, steps, ...turn, ...checkpointTask(planned.case, steps) } as const;
    const progress = this.#timeline.begin(planned, planned.case.scenario.workload.batch);
    try {
      const taken = await takeSample(planned.case, task, this.#context.dependencies, {
        signal: this.#context.signal,
        metrics: this.#context.metrics,
        onProgress: progress,
        ...layout,
        ...(shared === undefined ? {} : { turn: shared.turn }),
      });
      const speed = { ...taken, outcome: taken.outcome as SpeedOutcome };
      const record = await sampleRecord(planned, speed, { warmup, ...turn, ...layout }, this.#context.dependencies);
      this.#checkDigest(record);
      return record;
    } catch (error) {
      this.#context.signal?.throwIfAborted();
      return this.#failure(planned, started, error);
    }
  }

  /** Writes a sample's record down. */
  async #keep(planned: PlannedSample<PreparedCase>, record: SampleRecord | FailedRecord, pace: Pace): Promise<void> {
    if (record.status === "completed") pace.took(record);
    await this.#context.writer.append(record);
    const seconds = record.status === "completed" ? record.turns?.seconds ?? record.processSeconds : undefined;
    this.#timeline.end(planned, seconds);
    if (record.status === "completed") {
      this.#context.emit({ type: "sample", record, samples: this.#samplesAt(planned) });
    } else this.#context.emit({ type: "failed", record });
  }

  /** Samples of the run, as far as is known now. */
  expected(): number {
    const { samples } = resultOf(this.#context.writer.records);
    return this.#samplesAt({ sample: Math.max(0, ...samples.map(({ sample }) => sample)) });
  }

  /** Samples of the run; where its rounds are open, those of the rounds until this sample's. */
  #samplesAt({ sample }: Pick<PlannedSample, "sample">): number {
    const { until, scenario: { repetitions } } = this.#context;
    if (until === undefined) return this.planned.length;
    return this.planned.length / MOST_ROUNDS * Math.max(repetitions, sample);
  }

  /** Rows must be equal to the bit on every configuration after equal steps. */
  #checkDigest(record: SampleRecord): void {
    const { digest } = record;
    if (!isDeterministic(record)) return;
    const first = this.#digests.get(stepsKey(record));
    if (first === undefined) {
      this.#digests.set(stepsKey(record), record);
    } else if (first.digest !== digest) {
      throw new Error(
        `The rows differ from those of ${first.id} after the same steps: digest ${digest}, expected ${first.digest}; ` +
          "this is a bug in the store, or memory that fails",
      );
    }
  }

  async #quality({ id, case: one }: QualityRun, pace: Pace): Promise<void> {
    const started = new Date().toISOString();
    const { evaluations } = this.#context.scenario.quality;
    const { steps: planned, seconds } = pace.quality(one);
    const task = {
      task: "quality",
      steps: planned,
      evaluations: Math.min(evaluations, planned),
      testData: one.data.test,
      testRows: scoredRows(this.#context.scenario, one),
      ...(seconds === undefined ? {} : { seconds }),
    } as const;
    const run = { id, case: one, sample: 0, position: this.expected() };
    const progress = this.#timeline.begin(run, one.scenario.workload.batch);
    let record: ResultRecord;
    try {
      const taken = await takeSample(one, task, this.#context.dependencies, {
        signal: this.#context.signal,
        metrics: this.#context.metrics,
        onProgress: progress,
      });
      record = qualityRecord(id, one, { ...taken, outcome: taken.outcome as QualityOutcome });
      const { steps, batch } = record;
      const wanted = wantedSteps(this.#context.scenario, one);
      if (steps < wanted) {
        const [taken, all] = [steps, wanted].map((n) => (n * batch).toLocaleString("en-US"));
        const message = `the quality run took ${taken} of ${all} samples: the budget holds no more`;
        this.#context.emit({ type: "notice", message });
      }
    } catch (error) {
      this.#context.signal?.throwIfAborted();
      record = { ...this.#failure(run, started, error), case: id, position: 0 };
    }
    await this.#context.writer.append(record);
    if (record.type === "quality") this.#context.emit({ type: "quality", record });
    else if (record.type === "sample" && record.status === "failed") this.#context.emit({ type: "failed", record });
  }

  #failure(planned: PlannedSample<PreparedCase>, started: string, error: unknown): FailedRecord {
    const { case: one, id, sample, position } = planned;
    return {
      type: "sample",
      id,
      case: one.name,
      configuration: one.configuration,
      point: one.point,
      sample,
      ...(one.again === undefined ? {} : { again: true } as const),
      position,
      status: "failed",
      started,
      error: error instanceof Error ? error.message : String(error),
    };
  }
}
