/**
 * `deno task bench:ranks --identity`: the same 300 steps on 1, 2, 4 and 8 ranks, with servers and without, on every storage type
 * and on mixed ones, under each MPI that is here; the bits of all of them against those of one rank alone.
 *
 * @module
 */

import { generateData } from "../../ffi/data.ts";
import type { Mpi } from "../../ffi/ranks.ts";
import { train } from "./jobs.ts";
import type { RankStorage } from "./rank.ts";
import { hasBitsOf, type Job } from "./rows.ts";

/** Steps of each job. */
export const STEPS = 300;

const TRAINER = { batch: 256, hidden: [16, 8], dim: 4, seed: 1 } as const;

/** Storage types of the ranks, in turn. */
const STORAGES: readonly (readonly RankStorage[])[] = [
  ["DRAM"],
  ["DRAM_PMEM"],
  ["DRAM_SSDHASH"],
  ["DRAM", "DRAM_PMEM", "DRAM_SSDHASH"],
];

/** A job that is compared. */
export interface IdentityJob extends Job {
  readonly mpi: Mpi | "none";
  readonly ranks: number;
  readonly servers: number;
  readonly storages: string;
}

/** What is compared with one rank alone. One rank that holds rows has no mixed types. */
function* plans(mpis: readonly Mpi[]) {
  for (const mpi of mpis) {
    for (const ranks of [1, 2, 4, 8]) {
      for (const servers of ranks === 1 ? [0] : [0, ranks / 2]) {
        for (const storages of STORAGES) {
          if (storages.length === 1 || (servers || ranks) > 1) yield { mpi, ranks, servers, storages };
        }
      }
    }
  }
}

/**
 * Trains all jobs; the first is one rank alone, which every other is compared with.
 *
 * @param mpis MPIs that start them.
 * @param scratch A folder for data and tiers.
 * @param onJob Called after each job.
 */
export async function identityJobs(
  mpis: readonly Mpi[],
  scratch: string,
  onJob: (job: IdentityJob, seconds: number) => void = () => {},
): Promise<IdentityJob[]> {
  const data = `${scratch}/identity.bin`;
  await generateData({ out: data, rows: 100_000, scale: 0.01 });
  const job = { trainer: { ...TRAINER, data }, steps: [0, STEPS], folder: scratch, waits: "yield" } as const;
  const jobs: IdentityJob[] = [];
  const add = async (mpi: Mpi | undefined, ranks: number, servers: number, storages: readonly RankStorage[]) => {
    const start = performance.now();
    const reports = await train(mpi, ranks, { ...job, servers, storages });
    const how = `${ranks} ranks${servers === 0 ? "" : `, ${servers} of them servers`}`;
    const types = storages.join(", ");
    const one = { name: `${mpi ?? "alone"}: ${how}, ${types}`, reports };
    jobs.push({ ...one, mpi: mpi ?? "none", ranks, servers, storages: types });
    onJob(jobs.at(-1) as IdentityJob, (performance.now() - start) / 1000);
  };
  await add(undefined, 1, 0, ["DRAM"]);
  for (const { mpi, ranks, servers, storages } of plans(mpis)) await add(mpi, ranks, servers, storages);
  return jobs;
}

/** The jobs as a table: what each had, and whether its bits are those of the first. */
export function identityTable(jobs: readonly IdentityJob[]): string[][] {
  const head = ["MPI", "ranks", "servers", "storage of the ranks in turn", "rows below DRAM", "digest", "loss", "same"];
  const [first] = jobs;
  return [
    head,
    ...jobs.map((job) => {
      const [report] = job.reports;
      const below = job.reports.reduce((sum, { rowsBelow }) => sum + rowsBelow, 0);
      const same = first === undefined || job === first ? "–" : hasBitsOf(job, first) ? "yes" : "NO";
      return [
        ...[job.mpi, `${job.ranks}`, `${job.servers}`, job.storages, below.toLocaleString("en-US")],
        ...[report?.digest ?? "–", report?.loss.toFixed(6) ?? "–", same],
      ];
    }),
  ];
}
