import "../native_library.ts";
import { type LauncherMachine, rankStart } from "../../machines/rank_launcher.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import { assertEquals, assertThrows } from "../assert.ts";

const CLUSTER = { ranks: 4, servers: 0, mode: "sync", launcher: "mpirun", mpi: "auto" } as const;
const OPENMPI = "mpirun.openmpi (OpenRTE) 4.1.4", MPICH = "HYDRA build details:\n    Version: 4.0.2";

/** A machine with these programs, by what they print for --version, and the libraries of these MPIs. */
function machine(
  programs: Record<string, string>,
  shims: readonly string[],
  more: Partial<LauncherMachine> = {},
): LauncherMachine {
  return {
    find: (program) => Object.hasOwn(programs, program) ? `/bin/${program}` : undefined,
    hasShim: (mpi) => shims.includes(mpi),
    version: (path) => programs[path.slice("/bin/".length)] ?? "",
    isRoot: false,
    cpus: 8,
    environment: {},
    ...more,
  };
}

Deno.test("one rank needs no MPI and no launcher", () => {
  assertEquals(rankStart({ ...CLUSTER, ranks: 1 }, machine({}, [])), { launcher: "none", words: [], environment: {} });
});

Deno.test("a missing MPI is refused with its packages, a missing launcher by its name", () => {
  const nothing = assertThrows(() => rankStart(CLUSTER, machine({}, [])), UnavailableError);
  assertEquals(/openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev/.test(nothing.message), true);
  assertThrows(() => rankStart({ ...CLUSTER, mpi: "mpich" }, machine({}, ["openmpi"])), UnavailableError, '"mpich"');
  assertThrows(() => rankStart(CLUSTER, machine({}, ["openmpi"])), UnavailableError, 'no "mpirun" of openmpi');
  // A launcher of the other MPI would start ranks that do not find one another.
  assertThrows(() => rankStart(CLUSTER, machine({ mpirun: MPICH }, ["openmpi"])), UnavailableError, "openmpi");
  assertThrows(() => rankStart({ ...CLUSTER, launcher: "srun" }, machine({}, ["mpich"])), UnavailableError, '"srun"');
});

Deno.test("launchers get the words of their MPI, as root and with fewer CPUs than ranks too", () => {
  const both = { "mpirun.openmpi": OPENMPI, "mpirun.mpich": MPICH };
  const openmpi = ["/bin/mpirun.openmpi", "-n", "4", "--oversubscribe", "--bind-to", "none"];
  assertEquals(rankStart(CLUSTER, machine(both, ["openmpi", "mpich"])).words, openmpi);
  assertEquals(rankStart(CLUSTER, machine(both, ["openmpi"], { isRoot: true, cpus: 2 })).words, [
    ...openmpi,
    ...["--mca", "mpi_yield_when_idle", "1", "--allow-run-as-root"],
  ]);
  const mpich = rankStart({ ...CLUSTER, mpi: "mpich" }, machine(both, ["openmpi", "mpich"], { isRoot: true }));
  assertEquals([mpich.mpi, ...mpich.words], ["mpich", "/bin/mpirun.mpich", "-n", "4"]);
  const plain = rankStart(CLUSTER, machine({ mpirun: OPENMPI }, ["mpi"]));
  assertEquals([plain.mpi, ...plain.words], ["mpi", "/bin/mpirun", ...openmpi.slice(1)]);
});

Deno.test("srun gives rank 0 the input, ends the step with a rank that fails, and names the wire-up of the MPI", () => {
  const own = { environment: { SLURM_JOB_ID: "7", SECRET: "x", OMPI_MCA_btl: "self" } };
  const { words, environment, mpi } = rankStart(
    { ...CLUSTER, launcher: "srun" },
    machine({ srun: "" }, ["mpich"], own),
  );
  assertEquals(words, ["/bin/srun", "--ntasks=4", "--kill-on-bad-exit=1", "--input=0", "--mpi=pmi2"]);
  assertEquals(mpi, "mpich");
  assertEquals(environment, { SLURM_JOB_ID: "7", OMPI_MCA_btl: "self" });
});
