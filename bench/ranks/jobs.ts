/**
 * Jobs of ranks on this machine: which MPIs are here, how their launchers are called, what the ranks report.
 *
 * @module
 */

import { type Mpi, shimOf } from "../../ffi/ranks.ts";
import { run } from "../program.ts";
import type { RankJob, RankReport } from "./rank.ts";

/**
 * The MPIs whose launcher and shim are here, Open MPI first.
 *
 * @throws {Error} If there is none.
 */
export async function installedMpis(): Promise<Mpi[]> {
  const found: Mpi[] = [];
  for (const mpi of ["openmpi", "mpich"] as const) {
    try {
      Deno.statSync(shimOf(mpi));
      await run(`mpirun.${mpi}`, ["--version"]);
      found.push(mpi);
    } catch {
      // Not this one.
    }
  }
  if (found.length > 0) return found;
  throw new Error("Cannot run bench:ranks: no MPI; install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev");
}

/**
 * Words that start so many ranks of a program on this machine, also as root and where there are fewer CPUs. Ranks that have a
 * CPU each ask for messages without a pause, as MPI does; more of them than CPUs take turns.
 */
export function launch(mpi: Mpi, ranks: number): string[] {
  const yields = ranks > navigator.hardwareConcurrency ? "1" : "0";
  const openmpi = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", yields];
  return ["-n", `${ranks}`, ...(mpi === "openmpi" ? [...openmpi, "--allow-run-as-root"] : [])];
}

/**
 * Runs a job.
 *
 * @param mpi What starts it; absent: one rank alone, without a launcher.
 * @returns Its reports, rank by rank.
 */
export async function train(mpi: Mpi | undefined, ranks: number, job: Omit<RankJob, "mpi">): Promise<RankReport[]> {
  const script = decodeURIComponent(new URL("rank.ts", import.meta.url).pathname);
  const words = ["run", "-A", "--no-check", script, JSON.stringify(mpi === undefined ? job : { ...job, mpi })];
  const printed = mpi === undefined
    ? await run(Deno.execPath(), words)
    : await run(`mpirun.${mpi}`, [...launch(mpi, ranks), Deno.execPath(), ...words]);
  const reports = printed.trim().split("\n").map((line) => JSON.parse(line) as RankReport);
  if (reports.length !== ranks) throw new Error(`Cannot compare a job of ${ranks} ranks: ${reports.length} reported`);
  return reports.sort((a, b) => a.rank - b.rank);
}
