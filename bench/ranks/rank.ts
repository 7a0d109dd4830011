/**
 * One rank of a measured job: trains with the others and prints one line of JSON. Argument: JSON of {@linkcode RankJob}.
 *
 * @module
 */

import { EmbeddingStore } from "../../ffi/store.ts";
import { type Mpi, Ranks } from "../../ffi/ranks.ts";
import { type TrainerOptions, WdlTrainer } from "../../ffi/trainer.ts";
import { quantile } from "../../reports/statistics/quantiles.ts";

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
}

/** What it prints. */
export interface RankReport {
  /** Its number. */
  readonly rank: number;
  /** Wall time of the median step that counts, nanoseconds. */
  readonly stepNs: number;
  /** Digest of all rows and dense weights. */
  readonly digest: string;
  /** Mean loss of the steps that count. */
  readonly loss: number;
}

/** Trains, and prints the report. */
async function main({ mpi, servers, trainer: options, steps: [warmup, steps] }: RankJob): Promise<void> {
  using ranks = Ranks.open(mpi === undefined ? {} : { mpi, servers });
  try {
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 5 });
    using trainer = WdlTrainer.open(store, options, ranks);
    const { stepNs, loss } = await trainer.train(steps, { warmup });
    const { rank } = ranks.describe();
    // A short line: launchers cut long ones and mix them with those of other ranks.
    const report: RankReport = { rank, stepNs: quantile(stepNs, 0.5), digest: await trainer.digest(), loss };
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    ranks.abort(1);
    Deno.exitCode = 1;
  }
}

if (import.meta.main) await main(JSON.parse(Deno.args[0] ?? "") as RankJob);
