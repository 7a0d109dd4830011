/**
 * `deno task bench:ranks --kills`: a rank of a job that trains is killed (SIGKILL) at a random moment, again and again: under each
 * MPI that is here, with 2, 3, 4 and 8 ranks, in both layouts, in step and asynchronously, while ranks start and while they train.
 * Each job must end within {@linkcode LIMIT} with one message that names the rank and its process, and leave no process behind.
 *
 * @module
 */

import { generateData } from "../../ffi/data.ts";
import type { Mpi } from "../../ffi/ranks.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { type RankStart, rankStart } from "../../machines/rank_launcher.ts";
import { runRanks } from "../../scenarios/run/rank_process.ts";
import type { RankJob } from "../../scenarios/run/worker_protocol.ts";

/** Seconds in which a job must end whose rank was killed. */
export const LIMIT = 10;
/** Kills under each MPI. */
export const KILLS = 50;
/** Every so many kills one is made while ranks start. */
const AT_START = 3;
/** The latest kill, milliseconds after a job has all its ranks or has begun to train. */
const LATEST = 300;
/** Milliseconds between two looks at which ranks there are. */
const LOOK = 20;
/** Steps of a job that does not end by itself. */
const ENDLESS = 1_000_000;

/** Ranks of a job, how many of them are servers, and updates that steps may miss of asynchronous ones. */
const SHAPES: readonly { readonly ranks: number; readonly servers: number; readonly staleness?: number }[] = [
  { ranks: 3, servers: 1, staleness: 2 },
  { ranks: 4, servers: 0 },
  { ranks: 3, servers: 2 },
  { ranks: 2, servers: 0 },
  { ranks: 8, servers: 4 },
  { ranks: 3, servers: 1 },
  { ranks: 2, servers: 1 },
  { ranks: 8, servers: 0 },
  { ranks: 4, servers: 2, staleness: 2 },
];

/** A job whose rank was killed. */
export interface RankKill {
  readonly mpi: Mpi;
  readonly ranks: number;
  readonly servers: number;
  readonly mode: "in step" | "async";
  readonly when: "at start" | "training";
  /** From the kill to the end of the job. */
  readonly seconds: number;
  /** What was not as it must be; empty: nothing. */
  readonly wrong: readonly string[];
}

/** Processes of this machine whose command line has these words. */
export function processesWith(words: string): number[] {
  return [...Deno.readDirSync("/proc")].filter(({ name }) => /^\d+$/.test(name)).flatMap(({ name }) => {
    try {
      return Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(words) ? [Number(name)] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}

/** Ranks of a job by what launchers tell them; not what starts them. */
function ranksOf(words: string): { readonly pid: number; readonly rank: number }[] {
  return processesWith(words).flatMap((pid) => {
    try {
      if (!Deno.readTextFileSync(`/proc/${pid}/cmdline`).startsWith(Deno.execPath())) return [];
      const environment = Deno.readTextFileSync(`/proc/${pid}/environ`);
      const [, rank] = /(?:^|\0)(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)/.exec(environment) ?? [];
      return rank === undefined ? [] : [{ pid, rank: Number(rank) }];
    } catch {
      return []; // gone meanwhile
    }
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A small model without an end. */
function endlessJob(start: RankStart, servers: number, data: string, staleness: number | undefined): RankJob {
  const tables = Array.from({ length: 26 }, (_, i) => ({ name: `C${i + 1}`, dim: 4, columns: [`C${i + 1}`] }));
  const store = { storage: "DRAM", size: [2 ** 27], sizeCounts: "all", seed: 5, native: {} } as const;
  const asynchronous = staleness === undefined ? {} : { ranksStaleness: staleness };
  const trainer = { data, tables, batch: 256, hidden: [16, 8], wideBuckets: 200, threads: 1, seed: 1, ...asynchronous };
  const spec = { task: "speed", warmup: 1, steps: ENDLESS, store, trainer } as unknown as RankJob["spec"];
  return { ...(start.mpi === undefined ? {} : { mpi: start.mpi }), servers, spec, empty: store };
}

/** Starts a job, kills one of its ranks and waits for its end. */
async function killOne(
  mpi: Mpi,
  { ranks, servers, staleness }: typeof SHAPES[number],
  when: RankKill["when"],
  { data, random }: { readonly data: string; readonly random: () => number },
): Promise<RankKill> {
  const cluster = { ranks, servers, mode: "sync", launcher: "mpirun", mpi } as const;
  const start = rankStart(cluster);
  let training = () => {};
  const begun = new Promise<void>((resolve) => training = resolve);
  const options = {
    ...{ start, count: ranks, environment: {} },
    onProgress: (phase: string) => phase === "train" ? training() : undefined,
  };
  let over = false;
  const ended = runRanks(endlessJob(start, servers, data, staleness), options)
    .then(() => "it ended without an error", (error: unknown) => error instanceof Error ? error.message : `${error}`)
    .finally(() => over = true);
  if (when === "training") await Promise.race([begun, ended]);
  while (!over && ranksOf(data).length < ranks) await pause(LOOK);
  await Promise.race([pause(random() * LATEST), ended]);
  const there = ranksOf(data);
  const victim = there[Math.floor(random() * there.length)];
  const killed = performance.now();
  const mode = staleness === undefined ? "in step" : "async";
  if (over || victim === undefined) {
    return { mpi, ranks, servers, mode, when, seconds: NaN, wrong: [`ended before it was killed: ${await ended}`] };
  }
  Deno.kill(victim.pid, "SIGKILL");
  const message = await ended;
  const seconds = (performance.now() - killed) / 1000;
  const { pid, rank } = victim;
  const expected = new RegExp(
    `^Rank ${rank} of ${ranks} on "[^"]+" \\(process ${pid}\\) (ended without a word|did not start) \\(signal 9\\); ` +
      "the others were ended$",
  );
  const left = processesWith(data);
  return {
    ...{ mpi, ranks, servers, mode, when, seconds },
    wrong: [
      ...(expected.test(message) ? [] : [`rank ${rank}, process ${pid}, was killed, but: ${message}`]),
      ...(seconds < LIMIT ? [] : [`it ended after ${seconds.toFixed(1)} s`]),
      ...(left.length === 0 ? [] : [`processes ${left.join(", ")} were left`]),
    ],
  };
}

/**
 * Kills ranks of so many jobs under each MPI, in turn of all shapes.
 *
 * @param mpis MPIs that start them.
 * @param kills Jobs under each.
 * @param seed Where chance begins: the same ranks and moments, as far as the machine runs the same.
 * @param onKill Called after each.
 */
export async function killRanks(
  mpis: readonly Mpi[],
  kills: number,
  seed: string,
  onKill: (kill: RankKill) => void = () => {},
): Promise<RankKill[]> {
  const folder = Deno.makeTempDirSync({ prefix: "tierbench-killed-ranks-" });
  const random = seededRandom(seed);
  const done: RankKill[] = [];
  try {
    const data = `${folder}/train.bin`;
    await generateData({ out: data, rows: 4096, scale: 0.001, seed: 1 });
    for (const mpi of mpis) {
      for (let i = 0; i < kills; i++) {
        const shape = SHAPES[i % SHAPES.length] as typeof SHAPES[number];
        const turn = i + Math.floor(i / SHAPES.length); // every shape is killed at both moments
        const kill = await killOne(mpi, shape, turn % AT_START === 1 ? "at start" : "training", { data, random });
        done.push(kill);
        onKill(kill);
      }
    }
    return done;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** The kills as a table: by MPI and shape of the job how many there were, how many ended as they must, and the longest. */
export function killsTable(kills: readonly RankKill[]): string[][] {
  const groups = Map.groupBy(kills, ({ mpi, ranks, servers, mode }) => [mpi, ranks, servers, mode].join());
  const head = ["MPI", "ranks", "servers", "mode", "killed", "at start", "as they must", "longest"];
  return [
    head,
    ...[...groups.values()].map((group) => {
      const [{ mpi, ranks, servers, mode }] = group as [RankKill];
      const counts = [
        group.length,
        group.filter(({ when }) => when === "at start").length,
        group.filter(({ wrong }) => wrong.length === 0).length,
      ];
      const longest = Math.max(...group.map(({ seconds }) => seconds));
      return [mpi, `${ranks}`, `${servers}`, mode, ...counts.map(String), `${longest.toFixed(1)} s`];
    }),
  ];
}
