/**
 * One rank of a sample's job: a launcher starts as many of this process as the job has ranks, each with the
 * {@linkcode RankJob} as its argument. What it has to say goes to the standard error in short lines with its number
 * (`rank_lines.ts`). Rank 0's standard input is held open by the run; its end means that the run is gone, and ends all ranks.
 *
 * @module
 */

import { TierstoreError } from "../../ffi/errors.ts";
import { Ranks, type RanksDescription } from "../../ffi/ranks.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { rankLines } from "./rank_lines.ts";
import type { QualityOutcome, RankHello, RankJob, SpeedOutcome, WorkerMessage } from "./worker_protocol.ts";
import type { WorkerStore } from "./worker_protocol.ts";
import { withRestore } from "./worker_checkpoints.ts";
import { quality, speed } from "./worker_tasks.ts";

function sayAs(rank: number): (message: WorkerMessage) => void {
  return (message) => {
    for (const line of rankLines(rank, message)) {
      const bytes = new TextEncoder().encode(line);
      for (let written = 0; written < bytes.length;) written += Deno.stderr.writeSync(bytes.subarray(written));
    }
  };
}

function helloOf({ rank, library }: RanksDescription): RankHello {
  const cpu = /^model name\s*:\s*(.*)$/m.exec(Deno.readTextFileSync("/proc/cpuinfo"))?.[1] ?? Deno.build.arch;
  return {
    rank,
    host: Deno.hostname(),
    machine: {
      cpu,
      cpus: navigator.hardwareConcurrency,
      memoryBytes: Deno.systemMemoryInfo().total,
      kernel: Deno.osRelease(),
    },
    pid: Deno.pid,
    library,
  };
}

/** A rank's own folders within those of the job, which other machines may not have; removed with what it wrote. */
class RankFolders implements Disposable {
  readonly store: WorkerStore;
  readonly #folders: string[] = [];

  constructor(store: WorkerStore, rank: number) {
    const own = (path: string): string => {
      const folder = `${path}/rank-${rank}`;
      Deno.mkdirSync(folder, { recursive: true });
      this.#folders.push(folder);
      return folder;
    };
    this.store = {
      ...store,
      ...(store.path === undefined ? {} : { path: own(store.path) }),
      ...(store.ssdPath === undefined ? {} : { ssdPath: own(store.ssdPath) }),
    };
  }

  [Symbol.dispose](): void {
    for (const folder of this.#folders) Deno.removeSync(folder, { recursive: true });
  }
}

async function train(
  { spec, servers, empty }: RankJob,
  ranks: Ranks,
  say: (message: WorkerMessage) => void,
): Promise<SpeedOutcome | QualityOutcome> {
  const { rank, trainers } = ranks.describe();
  const storage = servers > 0 && rank < trainers ? empty : spec.store;
  const { signal } = new AbortController();
  const trained = async (): Promise<SpeedOutcome | QualityOutcome> => {
    using folders = new RankFolders(storage, rank);
    using store = EmbeddingStore.open(folders.store);
    using trainer = WdlTrainer.open(store, spec.trainer, ranks);
    const tools = {
      trainer,
      ranks,
      signal,
      say: (message: WorkerMessage) => rank === 0 ? say(message) : undefined,
    };
    return spec.task === "speed" ? await speed(spec, store, tools) : await quality(spec, tools);
  };
  const outcome = await trained();
  if (spec.task !== "speed" || outcome.task !== "speed") return outcome;
  using folders = new RankFolders(storage, rank);
  return await withRestore(spec, outcome, () => {
    const store = EmbeddingStore.open(folders.store);
    return Promise.resolve({ store, trainer: WdlTrainer.open(store, spec.trainer, ranks), resumeNs: 0 });
  }, signal);
}

/** Locks the files that say whose the job's folders are, until this process ends. */
async function own(files: readonly string[]): Promise<void> {
  for (const path of files) {
    const file = await Deno.open(path, { read: true, write: true });
    if (!(await file.tryLock(false))) throw new Error(`Cannot start rank 0: "${path}" is being removed`);
  }
}

/** Milliseconds from the end of the input until ranks are ended: a launcher that is ending them closes it, too. */
const GRACE = 1000;

/** Ends all ranks when the run that holds rank 0's input open is gone. */
async function untilGone(ranks: Ranks): Promise<void> {
  for await (const _ of Deno.stdin.readable);
  await new Promise((resolve) => setTimeout(resolve, GRACE));
  ranks.abort(1);
  Deno.exit(1);
}

if (import.meta.main) {
  // Ctrl-C reaches every process of the terminal; the run decides what becomes of its ranks.
  Deno.addSignalListener("SIGINT", () => {});
  const job = JSON.parse(Deno.args[0] ?? "") as RankJob;
  let say = sayAs(0);
  let ranks: Ranks | undefined;
  try {
    ranks = Ranks.open(job.mpi === undefined ? {} : { mpi: job.mpi, servers: job.servers });
    const facts = ranks.describe();
    say = sayAs(facts.rank);
    say({ type: "rank", hello: helloOf(facts) });
    if (facts.rank === 0) {
      void untilGone(ranks);
      await own(job.spec.owners ?? []);
    }
    say({ type: "outcome", outcome: await train(job, ranks, say) });
    ranks.close();
  } catch (error) {
    const lost = error instanceof TierstoreError && error.status === "TS_EINTERNAL";
    say({ type: "error", message: error instanceof Error ? error.message : String(error), lost });
    ranks?.abort(1);
    Deno.exit(1);
  }
  Deno.exit(0);
}
