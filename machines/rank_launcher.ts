/**
 * How ranks are started: which MPI is here, and the words of its launcher.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UnavailableError } from "../base/unavailable.ts";
import { type Mpi, RANK_WATCH, shimOf } from "../ffi/ranks.ts";

/** What starts ranks; `none`: nothing, one rank alone. */
export type RankLauncher = "mpirun" | "srun" | "none";

/** An MPI by its name; `auto`: the first that is here. */
export type RankMpi = "auto" | Mpi;

/** Ranks to be started. */
export interface WantedRanks {
  /** Processes in all. */
  readonly ranks: number;
  /** What starts them. */
  readonly launcher: RankLauncher;
  /** Whose launcher. */
  readonly mpi: RankMpi;
}

/** Program and first words that start ranks; the command of one rank follows. */
export interface RankStart {
  /** The MPI that the ranks join; absent: one rank alone, which needs none. */
  readonly mpi?: Mpi;
  /** What starts them. */
  readonly launcher: RankLauncher;
  /** The launcher with its words; empty without one. */
  readonly words: readonly string[];
  /** What the launcher finds in its environment beside what a worker has. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What of this machine says how ranks are started; tests give their own. */
export interface LauncherMachine {
  /** Path of a program, undefined if there is none. */
  readonly find: (program: string) => string | undefined;
  /** Whether the library of an MPI was compiled. */
  readonly hasShim: (mpi: Mpi) => boolean;
  /** What a launcher prints for `--version`. */
  readonly version: (program: string) => string;
  readonly isRoot: boolean;
  readonly cpus: number;
  /** Variables of this process. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables by which sites and launchers say where ranks go: of MPI implementations, Slurm, and their transports. */
const LAUNCHERS_OWN = /^(OMPI|PMIX|PRTE|PMI|HYDRA|MPICH|MPIEXEC|I_MPI|SLURM|UCX|FI|LSB|PBS|KUBERNETES)_/;

/** This machine. */
export function thisLauncherMachine(): LauncherMachine {
  const environment = Deno.env.toObject();
  const isFile = (path: string): boolean => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  };
  return {
    find: (program) => (environment["PATH"] ?? "").split(":").map((folder) => join(folder, program)).find(isFile),
    hasShim: (mpi) => isFile(shimOf(mpi)),
    version: (program) => {
      const { stdout } = new Deno.Command(program, { args: ["--version"], stdin: "null", stderr: "null" }).outputSync();
      return new TextDecoder().decode(stdout);
    },
    isRoot: Deno.uid() === 0,
    cpus: navigator.hardwareConcurrency,
    environment,
  };
}

const INSTALL = "install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev (Debian), then run " +
  '"deno task build"';

/**
 * How ranks are started here.
 *
 * @throws {UnavailableError} naming the packages if there is no MPI, or the launcher that is missing.
 */
export function rankStart(ranksWanted: WantedRanks, machine: LauncherMachine = thisLauncherMachine()): RankStart {
  const { ranks, launcher, mpi: wanted } = ranksWanted;
  if (ranks === 1) return { launcher: "none", words: [], environment: {} };
  const environment = Object.fromEntries(
    Object.entries(machine.environment).filter(([name]) => LAUNCHERS_OWN.test(name)),
  );
  const compiled = (wanted === "auto" ? ["openmpi", "mpich", "mpi"] as const : [wanted]).filter(machine.hasShim);
  if (compiled.length === 0) {
    const which = wanted === "auto" ? "MPI" : `library for the MPI "${wanted}"`;
    throw new UnavailableError(
      `Cannot start ${ranks} ranks: no ${which} was found when tierbench was built; ${INSTALL}`,
    );
  }
  if (launcher === "srun") {
    const program = machine.find("srun");
    const [mpi] = compiled;
    if (program === undefined || mpi === undefined) {
      throw new UnavailableError(
        `Cannot start ${ranks} ranks: no "srun"; it is Slurm's, mpirun starts ranks without it`,
      );
    }
    // Only rank 0 has standard input; a rank that fails ends the step.
    const words = [program, `--ntasks=${ranks}`, "--kill-on-bad-exit=1", "--input=0"];
    const pmi = mpi === "mpi" ? [] : [`--mpi=${mpi === "openmpi" ? "pmix" : "pmi2"}`];
    return { mpi, launcher, words: [...words, ...pmi], environment };
  }
  for (const mpi of compiled) {
    const program = machine.find(mpi === "mpi" ? "mpirun" : `mpirun.${mpi}`) ?? machine.find("mpirun");
    if (program === undefined) continue;
    const isOpenMpi = /Open MPI|OpenRTE|prte/i.test(machine.version(program));
    if (mpi !== "mpi" && isOpenMpi !== (mpi === "openmpi")) continue; // another MPI's launcher
    const first = [program, "-n", `${ranks}`];
    return { mpi, launcher, words: [...first, ...(isOpenMpi ? openMpiWords(ranks, machine) : [])], environment };
  }
  throw new UnavailableError(`Cannot start ${ranks} ranks: no "mpirun" of ${compiled.join(" or ")}; ${INSTALL}`);
}

/** Open MPI: more ranks than CPUs; ranks that may have no CPU of their own give way to one another; ranks on any CPU; as root where this is root. */
function openMpiWords(ranks: number, { isRoot, cpus }: LauncherMachine): string[] {
  return [
    ...["--oversubscribe", "--bind-to", "none"],
    ...(ranks >= cpus ? ["--mca", "mpi_yield_when_idle", "1"] : []),
    ...(isRoot ? ["--allow-run-as-root"] : []),
  ];
}

/** The command of one rank that runs a script, which says how it ended: no configuration, no lock file, no network, as other workers. */
export function rankCommand(script: URL): string[] {
  return [
    RANK_WATCH,
    Deno.execPath(),
    "run",
    "-A",
    "--no-config",
    "--no-lock",
    "--no-remote",
    "--no-npm",
    "--no-check",
    fileURLToPath(script),
  ];
}
