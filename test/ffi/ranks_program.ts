/**
 * One rank: trains a small model together with the others and prints what came of it, as one line of JSON. Arguments: JSON of
 * {@linkcode RankTask}. What fails is printed to the standard error, and ends all ranks.
 */

import { EmbeddingStore, type Mpi, Ranks, type TrainerOptions, WdlTrainer } from "../../mod.ts";

/** What a rank does. */
export interface RankTask {
  readonly mpi?: Mpi;
  readonly servers?: number;
  readonly waits?: "poll" | "yield";
  readonly trainer: TrainerOptions;
  readonly steps: number;
  /** Where stores with a second tier keep it; their kinds are given to the ranks in turn. */
  readonly folder: string;
  readonly storages: readonly ("DRAM" | "DRAM_PMEM" | "DRAM_SSDHASH")[];
  /** Prints "training" to the standard error before the first step. */
  readonly tells?: boolean;
  /** The rank whose training is cancelled while it is under way; then ranks end by themselves, and say why. */
  readonly cancels?: number;
  /** Bytes of rows that the store of rank 1 has room for. */
  readonly sizeOfRank1?: number;
  /** Goes on from the newest checkpoint there, commits one after `every` steps of the others, until `steps` are trained. */
  readonly checkpoints?: { readonly path: string; readonly every: number; readonly restore: boolean };
  /** Of that number says "written" when each rank's share is on the disk, and commits nothing. */
  readonly stopsAt?: number;
}

/** What a rank prints. */
export interface RankResult {
  readonly rank: number;
  readonly size: number;
  readonly library: string;
  readonly sentBytes: number;
  readonly digest: string;
  readonly loss: number;
  readonly auc: number;
  /** The step from which it trained. */
  readonly from: number;
  /** Asynchronous: steps that each rank took, and that missed 0, 1, ... updates. */
  readonly batches?: readonly number[];
  readonly missed?: readonly number[];
}

/** Trains, with checkpoints if the task has some; the mean loss since the last of them, or in all. */
async function trainOn(
  trainer: WdlTrainer,
  { steps, checkpoints, stopsAt }: RankTask,
  run: { readonly signal?: AbortSignal },
): Promise<number> {
  let loss = NaN;
  for (let number = 1; trainer.step < steps; number++) {
    const some = Math.min(checkpoints?.every ?? steps, steps - trainer.step);
    loss = (await trainer.train(some, run)).loss;
    if (checkpoints === undefined || trainer.step === steps) continue;
    const checkpoint = trainer.checkpoint({ path: checkpoints.path });
    await checkpoint.write();
    if (number === stopsAt) {
      console.error("written");
      await new Promise((resolve) => setTimeout(resolve, 60_000)); // it is killed meanwhile
    }
    await trainer.commit(checkpoint);
  }
  return loss;
}

async function train(task: RankTask, ranks: Ranks): Promise<RankResult> {
  const { rank } = ranks.describe();
  const storage = task.storages[rank % task.storages.length] ?? "DRAM";
  const tiers = storage === "DRAM"
    ? {}
    : { size: [200_000, 64_000_000], sizeCounts: "rows", path: task.folder } as const;
  const pmem = storage === "DRAM_PMEM" ? { pmem: "libpmem" } as const : {};
  const small = rank === 1 && task.sizeOfRank1 !== undefined
    ? { size: [task.sizeOfRank1], sizeCounts: "rows" } as const
    : {};
  using store = EmbeddingStore.open({ storage, seed: 5, ...tiers, ...pmem, ...small });
  using trainer = WdlTrainer.open(store, task.trainer, ranks);
  const { checkpoints } = task;
  if (checkpoints?.restore === true) await trainer.restore({ path: checkpoints.path });
  else await trainer.fill();
  const from = trainer.step;
  if (task.tells === true) console.error("training");
  const loss = await trainOn(trainer, task, task.cancels === rank ? { signal: AbortSignal.timeout(300) } : {});
  const { auc } = await trainer.evaluate(task.trainer.data, { maxRows: 1000 });
  const digest = await trainer.digest();
  const { size, library, sentBytes } = ranks.describe();
  const { ranks_batches: batches, ranks_missed: missed } = trainer.describe();
  const numbers = (text: string) => text.split(",").map(Number);
  const asynchronous = batches === undefined || missed === undefined
    ? {}
    : { batches: numbers(batches), missed: numbers(missed) };
  return { rank, size, library, sentBytes, digest, loss, auc, from, ...asynchronous };
}

if (import.meta.main) {
  const task = JSON.parse(Deno.args[0] ?? "") as RankTask;
  using ranks = Ranks.open({
    ...(task.mpi === undefined ? {} : { mpi: task.mpi }),
    ...(task.servers === undefined ? {} : { servers: task.servers }),
    ...(task.waits === undefined ? {} : { waits: task.waits }),
  });
  try {
    const result = await train(task, ranks);
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(result)}\n`));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    if (task.cancels === undefined) ranks.abort(1);
  }
}
