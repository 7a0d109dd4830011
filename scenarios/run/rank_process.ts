/**
 * Runs the ranks of one sample to their end: starts the launcher, hears every rank, and leaves no process behind.
 *
 * @module
 */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { workerEnvironment } from "../../base/worker_environment.ts";
import { rankCommand, type RankStart } from "../../machines/rank_launcher.ts";
import { failureText, QUOTED, type RankError } from "./rank_failure.ts";
import { type RankEnd, rankEnd, RankReader } from "./rank_lines.ts";
import { linesOf } from "./worker_process.ts";
import type {
  QualityOutcome,
  RankHello,
  RankJob,
  SpeedOutcome,
  WorkerMessage,
  WorkerPhase,
} from "./worker_protocol.ts";

/** Milliseconds that the others have to end when a rank failed or the run is stopped, before they are killed. */
const PATIENCE = 4000;
/** Milliseconds between two looks at what is left of the job. */
const LOOK = 100;

/** Options of {@linkcode runRanks}. */
interface RanksOptions {
  readonly start: RankStart;
  readonly count: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly onProgress?: (phase: WorkerPhase, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Variables that Open MPI hands on to ranks on other machines only when told to. */
function handedOn({ mpi, launcher }: RankStart, names: readonly string[]): string[] {
  return mpi === "openmpi" && launcher === "mpirun" ? names.flatMap((name) => ["-x", name]) : [];
}

/**
 * Runs the ranks of a job.
 *
 * @param job What they are to do.
 * @returns The outcome of rank 0; of a speed sample with those of all ranks in `cluster`.
 * @throws {Error} naming the rank that failed. No process of the job is left on this machine then.
 * @throws The signal's reason when aborted.
 */
export async function runRanks(
  job: RankJob,
  { start, count, environment, onProgress, signal }: RanksOptions,
): Promise<SpeedOutcome | QualityOutcome> {
  signal?.throwIfAborted();
  const id = crypto.randomUUID(); // in the command line of the launcher and of every rank
  const own = workerEnvironment(environment);
  const words = [...start.words, ...(start.words.length === 0 ? [] : handedOn(start, Object.keys(own)))];
  const [program = "", ...args] = [
    ...words,
    ...rankCommand(new URL("./rank_worker.ts", import.meta.url)),
    JSON.stringify(job),
    id,
  ];
  const child = new Deno.Command(program, {
    args,
    cwd: dirname(fileURLToPath(import.meta.url)),
    clearEnv: true,
    env: { ...start.environment, ...own },
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" } as const,
  }).spawn();
  const input = child.stdin; // rank 0 ends the others when this does
  const ending = new Ending(id);
  const stop = () => {
    input.close().catch(() => {}); // it may be gone already
    ending.begin();
  };
  signal?.addEventListener("abort", stop, { once: true });
  const hellos = new Map<number, RankHello>();
  const errors = new Map<number, RankError>();
  const ends: RankEnd[] = [];
  const outcomes = new Map<number, SpeedOutcome | QualityOutcome>();
  let printed = "";
  const print = (line: string) => printed = `${printed}${line}\n`.slice(-4 * QUOTED);
  const hear = (rank: number, message: WorkerMessage) => {
    if (message.type === "progress") onProgress?.(message.phase, message.done, message.total);
    else if (message.type === "rank") hellos.set(rank, message.hello);
    else if (message.type === "outcome") outcomes.set(rank, message.outcome);
    else if (message.type === "error") {
      errors.set(rank, message);
      ending.begin();
    }
  };
  const reader = new RankReader();
  const listen = async () => {
    for await (const line of linesOf(child.stderr)) {
      const end = rankEnd(line);
      if (end !== undefined) {
        if (!ending.kills) ends.push(end);
        ending.begin();
        continue;
      }
      const read = reader.read(line);
      if (read === undefined) print(line);
      else if (read !== "more") hear(read.rank, read.message);
    }
  };
  const listenToOutput = async () => {
    for await (const line of linesOf(child.stdout)) print(line);
  };
  const heard = Promise.all([listen(), listenToOutput()]);
  const status = await child.status;
  signal?.removeEventListener("abort", stop);
  await ending.end();
  await heard;
  if (signal?.aborted !== true) await input.close().catch(() => {});
  signal?.throwIfAborted();
  const how = status.signal === null ? `exit code ${status.code}` : status.signal;
  if (!status.success || outcomes.size < count) {
    throw new Error(failureText({ count, hellos, errors, ends, printed, how }));
  }
  return joined(hellos, outcomes);
}

/** Rank 0's outcome with what all ranks said. */
function joined(
  hellos: ReadonlyMap<number, RankHello>,
  outcomes: ReadonlyMap<number, SpeedOutcome | QualityOutcome>,
): SpeedOutcome | QualityOutcome {
  const ranks = [...outcomes].sort(([a], [b]) => a - b).flatMap(([rank, outcome]) => {
    const hello = hellos.get(rank);
    return hello === undefined ? [] : [{ hello, outcome }];
  });
  const [first] = ranks;
  if (first === undefined) throw new Error("Cannot join the outcomes of ranks: there are none");
  if (first.outcome.task === "quality") return first.outcome;
  const library = first.hello.library;
  return { ...first.outcome, cluster: { library, ranks: ranks as { hello: RankHello; outcome: SpeedOutcome }[] } };
}

/** Processes of this machine, other than this one, whose command line has the id of a job. */
function processesOf(id: string): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    if (!(pid > 0) || pid === Deno.pid) return false;
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes(id); // of a process that ended it is empty
    } catch {
      return false;
    }
  });
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The end of a job: whoever is left of it some seconds after it began is killed. */
class Ending {
  readonly #id: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether processes of the job were killed here. */
  kills = false;

  constructor(id: string) {
    this.#id = id;
  }

  #killAll(): void {
    this.kills = true;
    for (const pid of processesOf(this.#id)) kill(pid);
  }

  /** A rank failed, or the run is stopped: the launcher has some seconds to end the others. */
  begin(): void {
    this.#timer ??= setTimeout(() => this.#killAll(), PATIENCE);
  }

  /** The launcher ended: returns when no process of the job is left. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    const started = performance.now();
    while (processesOf(this.#id).length > 0) {
      if (performance.now() - started > PATIENCE / 2) this.#killAll();
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  }
}
