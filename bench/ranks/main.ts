/**
 * `deno task bench:ranks`: what training over ranks costs on this machine. Messages of a step against bare all-to-all messages
 * of the same bytes, what fusing them and removing duplicates is worth, two ranks of one thread against one of two, and
 * whether all jobs give the same bits. Prints a table and writes `reports/out/bench-ranks.json`. All ranks share one machine:
 * the figures are of software, not of a network. Last, where namespaces are allowed, a step's exchange over limited links beside
 * what the simulator takes it for. `--network`: this alone, kept in `models/validation/exchanges.json` for `docs/accuracy.md`.
 * `--identity`: the jobs that must end with the same bits alone (`identity.ts`). `--kills`: jobs of which a rank is killed
 * (`kills.ts`).
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails, no MPI is installed, with `--identity` bits differ, or with `--kills`
 * a job does not end as it must; 2 for words it does not know.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { tableText } from "../../cli/ui/table.ts";
import { BUILT_LIBRARY, NATIVE_FOLDER } from "../../base/native_build.ts";
import { generateData } from "../../ffi/data.ts";
import { type Mpi, shimOf } from "../../ffi/ranks.ts";
import type { TrainerOptions } from "../../ffi/trainer.ts";
import { ensureBuild } from "../../setup/build.ts";
import { ROOT } from "../../setup/state.ts";
import { type Facts, machineFacts, run, writeResult } from "../program.ts";
import { type BenchRow, tableRows } from "../rows.ts";
import { parseValues } from "../simulator/rows.ts";
import { identityJobs, identityTable, STEPS } from "./identity.ts";
import { killRanks, KILLS, killsTable } from "./kills.ts";
import { installedMpis, launch, train } from "./jobs.ts";
import type { RankReport } from "./rank.ts";
import { measureExchanges } from "./network.ts";
import { EXCHANGES_FILE, type MeasuredExchanges } from "../../models/validation/exchanges.ts";
import {
  exchangeRows,
  identicalRow,
  networkRows,
  type ServedRound,
  servedRows,
  type StepRound,
  stepRows,
  withRow,
} from "./rows.ts";

/** The default scenario's tables and batch. */
const TABLES = 26, BATCH = 2048, DIM = 16, VOCABULARY = 100_000;
const PROGRAM = `${NATIVE_FOLDER}/build/bench/ranks_exchange`;
const ROUNDS = 41, STEP_ROUNDS = 5, COUNTED = [10, 40] as const;
const OUT = `${ROOT}/reports/out/bench-ranks.json`;

/** The priority of this process and all it starts: 0 is the ordinary one. */
function niceness(): number {
  return Number(Deno.readTextFileSync("/proc/self/stat").replace(/^.*\) /, "").split(" ")[16]);
}

/**
 * One rank of two threads and two ranks of one thread, these with nothing, rows and stale rows sent ahead, in turn. Ranks give
 * their processors away while they wait, as threads of one process do that have no work.
 */
async function steps(mpi: Mpi, trainer: TrainerOptions): Promise<BenchRow[]> {
  const rounds: StepRound[] = [];
  const step = async (ranks: number, more: Partial<TrainerOptions>): Promise<number> => {
    const [report] = await train(ranks === 1 ? undefined : mpi, ranks, {
      servers: 0,
      trainer: { ...trainer, ...more },
      steps: COUNTED,
      waits: "yield",
    });
    return report?.stepNs ?? NaN;
  };
  for (let round = 0; round < STEP_ROUNDS; round++) {
    rounds.push({
      one: await step(1, { threads: 2 }),
      two: await step(2, { threads: 1 }),
      ahead: await step(2, { threads: 1, ranksAhead: "rows" }),
      stale: await step(2, { threads: 1, asyncEmbedding: true }),
    });
  }
  return stepRows(rounds);
}

/** How many updates a step of the asynchronous jobs may miss: those of two steps of the other rank. */
const STALENESS = 2;

/** Two ranks that train and a server, in step and asynchronously, with equal ranks and with a slow one, in turn. */
async function served(mpi: Mpi, trainer: TrainerOptions): Promise<BenchRow[]> {
  const rounds: ServedRound[] = [];
  const job = async (asynchronous: boolean, slow?: number): Promise<RankReport> => {
    const [report] = await train(mpi, 3, {
      servers: 1,
      trainer: { ...trainer, threads: 1, ...(asynchronous ? { ranksStaleness: STALENESS } : {}) },
      steps: COUNTED,
      waits: "yield",
      ...(slow === undefined ? {} : { slow }),
    });
    if (report === undefined) throw new Error("Cannot compare a job of ranks: none reported");
    return report;
  };
  for (let round = 0; round < STEP_ROUNDS; round++) {
    const [inStep, asynchronous] = [await job(false), await job(true)];
    const [slowInStep, slowAsynchronous] = [await job(false, 1), await job(true, 1)];
    rounds.push({
      inStep: inStep.meanNs,
      asynchronous: asynchronous.meanNs,
      slowInStep: slowInStep.meanNs,
      slowAsynchronous: slowAsynchronous.meanNs,
      slowShare: slowAsynchronous.shares?.[1] ?? NaN,
    });
  }
  return servedRows(rounds);
}

/** Jobs of all kinds, each told when it is done. */
async function identical(mpis: readonly Mpi[], scratch: string): Promise<BenchRow> {
  const jobs = await identityJobs(
    mpis,
    scratch,
    ({ name }, seconds) => console.log(`${name}: ${seconds.toFixed(1)} s`),
  );
  console.log(`\n${STEPS} steps of each\n`);
  console.log(tableText(identityTable(jobs)));
  return identicalRow(jobs);
}

/** The jobs that must be equal alone; their row is replaced in the result of the bench, if there is one. */
async function identityAlone(): Promise<void> {
  const scratch = Deno.makeTempDirSync({ prefix: "bench-ranks-" });
  try {
    const row = await identical(await installedMpis(), scratch);
    console.log(tableText(tableRows([row])));
    if (existsSync(OUT)) Deno.writeTextFileSync(OUT, withRow(Deno.readTextFileSync(OUT), row));
    if (row.value !== 1) Deno.exitCode = 1;
  } finally {
    Deno.removeSync(scratch, { recursive: true });
  }
}

/** Jobs of which a rank is killed. */
async function kills(): Promise<void> {
  const made = await killRanks(await installedMpis(), KILLS, "kills", ({ mpi, ranks, servers, mode, when, wrong }) => {
    for (const what of wrong) {
      console.log(`${mpi}, ${ranks} ranks, ${servers} of them servers, ${mode}, killed ${when}: ${what}`);
    }
  });
  console.log(tableText(killsTable(made)));
  const wrong = made.filter((kill) => kill.wrong.length > 0).length;
  console.log(`${made.length} ranks were killed; ${made.length - wrong} jobs ended as they must, ${wrong} did not`);
  if (wrong > 0) Deno.exitCode = 1;
}

/** What the bench does with one word. */
const ALONE: Readonly<Record<string, () => Promise<void>>> = {
  "--network": networkAlone,
  "--identity": identityAlone,
  "--kills": kills,
};

/** The exchanges over limited links, kept for the page on the models' accuracy. */
async function networkAlone(): Promise<void> {
  await run("make", ["-s", "-C", `${NATIVE_FOLDER}/bench`, "ranks"]);
  const exchanges = await measureExchanges(PROGRAM);
  console.log(tableText(tableRows(await networkRows(exchanges))));
  if (typeof exchanges === "string") return;
  const { cpu, cores } = machineFacts(BUILT_LIBRARY);
  const made = new Date().toISOString().slice(0, 10);
  const kept: MeasuredExchanges = { made, machine: `${cpu}, ${cores} CPUs`, mpi: "mpich", exchanges };
  await Deno.writeTextFile(`${ROOT}/${EXCHANGES_FILE}`, `${JSON.stringify(kept, undefined, 2)}\n`);
  console.log(`Kept: ${EXCHANGES_FILE}`);
}

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const [word = ""] = args;
  if (args.length > 1 || (word !== "" && !Object.hasOwn(ALONE, word))) {
    const words = Object.keys(ALONE).join(", ");
    console.error(`Cannot run bench:ranks with "${args.join(" ")}": expected nothing or one of ${words}`);
    Deno.exitCode = 2;
    return;
  }
  ensureBuild();
  if (word !== "") return await ALONE[word]?.();
  const mpis = await installedMpis();
  const [mpi = "openmpi"] = mpis;
  await run("make", ["-s", "-C", `${NATIVE_FOLDER}/bench`, "ranks"]);
  const scratch = Deno.makeTempDirSync({ prefix: "bench-ranks-" });
  try {
    const data = `${scratch}/train.bin`;
    await generateData({ out: data, rows: 120_000, scale: 0.01 });
    const words = [shimOf(mpi), ...[ROUNDS, TABLES, BATCH, DIM, VOCABULARY].map(String)];
    const values = parseValues(await run(`mpirun.${mpi}`, [...launch(mpi, 2), PROGRAM, ...words]));
    const rows = [
      ...exchangeRows(values, 2),
      ...(await steps(mpi, { data, batch: BATCH })),
      ...(await served(mpi, { data, batch: BATCH })),
      await identical(mpis, scratch),
      ...await networkRows(await measureExchanges(PROGRAM)),
    ];
    console.log("\nTraining over ranks, all on this machine\n");
    console.log(tableText(tableRows(rows)));
    const facts: Facts = {
      ...machineFacts(BUILT_LIBRARY),
      mpi,
      tables: TABLES,
      batch: BATCH,
      dim: DIM,
      rounds: ROUNDS,
      nice: niceness(),
    };
    writeResult(OUT, { ...facts, ranks_share_one_machine: true }, rows);
    console.log(`All rows: ${OUT}`);
  } finally {
    Deno.removeSync(scratch, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
