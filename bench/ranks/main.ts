/**
 * `deno task bench:ranks`: what training over ranks costs on this machine. Messages of a step against bare all-to-all messages
 * of the same bytes, what fusing them and removing duplicates is worth, two ranks of one thread against one of two, and
 * whether all jobs give the same bits. Prints a table and writes `reports/out/bench-ranks.json`. All ranks share one machine:
 * the figures are of software, not of a network. Last, where namespaces are allowed, a step's exchange over limited links beside
 * what the simulator takes it for. `--network`: this alone, kept in `models/validation/exchanges.json` for `docs/accuracy.md`.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails, or no MPI is installed; 2 for words it does not know.
 *
 * @module
 */

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
import type { RankJob, RankReport } from "./rank.ts";
import { measureExchanges } from "./network.ts";
import { EXCHANGES_FILE, type MeasuredExchanges } from "../../models/validation/exchanges.ts";
import { exchangeRows, identicalRow, type Job, networkRows, type StepRound, stepRows } from "./rows.ts";

/** The default scenario's tables and batch. */
const TABLES = 26, BATCH = 2048, DIM = 16, VOCABULARY = 100_000;
const PROGRAM = `${NATIVE_FOLDER}/build/bench/ranks_exchange`;
const ROUNDS = 41, STEP_ROUNDS = 5, STEPS = [10, 40] as const, COMPARED = [0, 300] as const;

/** The MPI whose launcher and shim are here. */
async function installedMpi(): Promise<Mpi> {
  for (const mpi of ["openmpi", "mpich"] as const) {
    try {
      Deno.statSync(shimOf(mpi));
      await run(`mpirun.${mpi}`, ["--version"]);
      return mpi;
    } catch {
      // Not this one.
    }
  }
  throw new Error("Cannot run bench:ranks: no MPI; install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev");
}

/** Words that start so many ranks of a program on this machine, also as root and where there are fewer CPUs. */
function launch(mpi: Mpi, ranks: number): string[] {
  const openmpi = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--allow-run-as-root"];
  return ["-n", `${ranks}`, ...(mpi === "openmpi" ? openmpi : [])];
}

/** A job's reports, rank by rank. */
async function train(mpi: Mpi, ranks: number, job: RankJob): Promise<RankReport[]> {
  const script = decodeURIComponent(new URL("rank.ts", import.meta.url).pathname);
  const words = ["run", "-A", "--no-check", script, JSON.stringify(ranks === 1 ? job : { ...job, mpi })];
  const printed = ranks === 1
    ? await run(Deno.execPath(), words)
    : await run(`mpirun.${mpi}`, [...launch(mpi, ranks), Deno.execPath(), ...words]);
  return printed.trim().split("\n").map((line) => JSON.parse(line) as RankReport).sort((a, b) => a.rank - b.rank);
}

/** One rank of two threads and two ranks of one thread, these with nothing, rows and stale rows sent ahead, in turn. */
async function steps(mpi: Mpi, trainer: TrainerOptions): Promise<BenchRow[]> {
  const rounds: StepRound[] = [];
  const step = async (ranks: number, more: Partial<TrainerOptions>): Promise<number> => {
    const [report] = await train(mpi, ranks, { servers: 0, trainer: { ...trainer, ...more }, steps: STEPS });
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

/** Jobs of all numbers of ranks, with servers and without, on a small model. */
async function identical(mpi: Mpi, data: string): Promise<BenchRow> {
  const trainer = { data, batch: 256, hidden: [16, 8], dim: 4, seed: 1 };
  const jobs: Job[] = [];
  for (const [ranks, servers] of [[1, 0], [2, 0], [4, 0], [8, 0], [2, 1], [4, 2], [6, 2]] as const) {
    const reports = await train(mpi, ranks, { servers, trainer, steps: COMPARED });
    jobs.push({ name: `${ranks} ranks${servers === 0 ? "" : `, ${servers} of them servers`}`, reports });
  }
  return identicalRow(jobs);
}

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
  if (args.length > 1 || args.some((word) => word !== "--network")) {
    console.error(`Cannot run bench:ranks with "${args.join(" ")}": expected nothing, or --network`);
    Deno.exitCode = 2;
    return;
  }
  ensureBuild();
  if (args.length > 0) return await networkAlone();
  const mpi = await installedMpi();
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
      await identical(mpi, data),
      ...await networkRows(await measureExchanges(PROGRAM)),
    ];
    console.log("\nTraining over ranks, all on this machine\n");
    console.log(tableText(tableRows(rows)));
    const out = `${ROOT}/reports/out/bench-ranks.json`;
    const facts: Facts = {
      ...machineFacts(BUILT_LIBRARY),
      mpi,
      tables: TABLES,
      batch: BATCH,
      dim: DIM,
      rounds: ROUNDS,
    };
    writeResult(out, { ...facts, ranks_share_one_machine: true }, rows);
    console.log(`All rows: ${out}`);
  } finally {
    Deno.removeSync(scratch, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
