/**
 * One rank of a measured job: trains with the others and prints one line of JSON. Argument: JSON of {@linkcode RankJob}.
 *
 * @module
 */

import { EmbeddingStore } from "../../ffi/store.ts";
import { type Mpi, Ranks } from "../../ffi/ranks.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { mean, quantile } from "../../base/statistics.ts";

/** Where a rank has its rows. */
export type RankStorage = "DRAM" | "DRAM_PMEM" | "DRAM_SSDHASH";

/** What a rank does. */
export interface RankJob {
  /** The MPI that starts it; absent: one rank alone. */
  readonly mpi?: Mpi;
  /** How many ranks, the last ones, are servers. */
  readonly servers: number;
  /** What it trains. */
  readonly trainer: TrainerOptions;
  /** Steps before those that count, and those. */
  readonly steps: readonly [number, number];
  /** Storage types, given to the ranks that hold rows in turn; absent: DRAM. */
  readonly storages?: readonly RankStorage[];
  /** Where tiers below DRAM are. */
  readonly folder?: string;
  /** How ranks wait for messages; absent: as MPI does. */
  readonly waits?: "poll" | "yield";
  /** The rank that is slow: from outside it is stopped half of the time. Absent: none. */
  readonly slow?: number;
}

/** What it prints. */
export interface RankReport {
  /** Its number. */
  readonly rank: number;
  /** Wall time of the median step that counts, nanoseconds. */
  readonly stepNs: number;
  /** The mean of them: of asynchronous steps, which end in pairs, what the median does not tell. */
  readonly meanNs: number;
  /** Asynchronous: share of the steps that each rank took. */
  readonly shares?: readonly number[];
  /** Digest of all rows and dense weights. */
  readonly digest: string;
  /** Mean loss of the steps that count. */
  readonly loss: number;
  /** Rows of this rank in tiers below the first. */
  readonly rowsBelow: number;
}

/** Bytes of rows in the first tier, little enough that most rows leave it, and below. */
const SIZES = [200_000, 64_000_000];

/** A rank's store. */
function storeOf(rank: number, { storages = [], folder = "" }: RankJob): EmbeddingStore {
  const storage = storages[rank % storages.length] ?? "DRAM";
  if (storage === "DRAM") return EmbeddingStore.open({ storage, seed: 5 });
  const pmem = storage === "DRAM_PMEM" ? { pmem: "libpmem" } as const : {};
  if (storage === "DRAM_PMEM") Deno.env.set("PMEM_IS_PMEM_FORCE", "1"); // its files are on any disk here
  return EmbeddingStore.open({ storage, seed: 5, size: SIZES, sizeCounts: "rows", path: folder, ...pmem });
}

/** Rows in tiers below the first. */
function rowsBelow(trainer: WdlTrainer): number {
  const counts = trainer.tables.map((name) => trainer.table(name).rows().slice(1));
  return counts.flat().reduce((sum, rows) => sum + rows, 0);
}

/** Milliseconds for which a slow rank is stopped, and then goes on: some steps. */
const STOPPED = 20;

/** Stops this process and lets it go on in turn, until it is disposed of. */
class Slowness implements Disposable {
  readonly #shell: Deno.ChildProcess;

  constructor() {
    const [pause, stop, go] = [`sleep ${STOPPED / 1000}`, `kill -STOP ${Deno.pid}`, `kill -CONT ${Deno.pid}`];
    const script = `trap '${go}; exit' TERM; while ${stop}; do ${pause}; ${go}; ${pause}; done`;
    this.#shell = new Deno.Command("sh", { args: ["-c", script], stdin: "null", stderr: "null" }).spawn();
  }

  [Symbol.dispose](): void {
    this.#shell.kill("SIGTERM");
  }
}

/** Trains, and prints the report. */
async function main(job: RankJob): Promise<void> {
  const { mpi, servers, trainer: options, steps: [warmup, steps], waits } = job;
  using ranks = Ranks.open(mpi === undefined ? {} : { mpi, servers, ...(waits === undefined ? {} : { waits }) });
  try {
    using store = storeOf(ranks.describe().rank, job);
    using trainer = WdlTrainer.open(store, options, ranks);
    const { rank } = ranks.describe();
    using _slowness = rank === job.slow ? new Slowness() : undefined;
    const { stepNs, loss } = await trainer.train(steps, { warmup });
    // A short line: launchers cut long ones and mix them with those of other ranks.
    const digest = await trainer.digest();
    const batches = trainer.describe()["ranks_batches"]?.split(",").map(Number);
    const report: RankReport = {
      rank,
      stepNs: quantile(stepNs, 0.5),
      meanNs: mean(stepNs),
      ...(batches === undefined ? {} : { shares: batches.map((count) => count / (warmup + steps)) }),
      digest,
      loss,
      rowsBelow: rowsBelow(trainer),
    };
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    ranks.abort(1);
    Deno.exitCode = 1;
  }
}

if (import.meta.main) await main(JSON.parse(Deno.args[0] ?? "") as RankJob);
