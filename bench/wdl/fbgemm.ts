/**
 * The Python of the strongest peer: PyTorch with FBGEMM's table-batched embeddings, in an environment that the bench makes.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { NATIVE_FOLDER } from "../../base/native_build.ts";
import { ROOT } from "../../setup/state.ts";
import { ContenderError } from "../contender.ts";
import { makePython, type PythonEnvironment, pythonHere } from "../python_environment.ts";

/** What is installed, each with its version: figures are of these. Their own needs come with them. */
export const PACKAGES: readonly string[] = ["torch==2.14.1", "fbgemm-gpu-cpu==1.9.0", "numpy==2.4.6"];

/** Where it stays between runs. */
const FOLDER = `${ROOT}/.cache/bench-fbgemm`;

/** A place for the peer's files. */
export interface Fbgemm {
  /** The Python that has the packages. */
  readonly python: string;
  /** PyTorch's library with MKL in it. */
  readonly mkl: string;
  /** Variables of a process that multiplies with this MKL. */
  readonly env: Readonly<Record<string, string>>;
}

const environmentOf = (folder: string, packages: readonly string[]): PythonEnvironment => ({
  name: "fbgemm",
  folder,
  packages,
  size: "up to 3 GB, 6 GB unpacked",
});

/** What of the environment under `folder` the peer takes; undefined without its libraries. */
function placesOf(python: string, folder: string): Fbgemm | undefined {
  const lib = `${folder}/lib`;
  const [version] = existsSync(lib) ? [...Deno.readDirSync(lib)].filter(({ name }) => name.startsWith("python3")) : [];
  if (version === undefined) return undefined;
  return {
    python,
    mkl: `${lib}/${version.name}/site-packages/torch/lib/libtorch_cpu.so`,
    env: {
      LD_PRELOAD: `${NATIVE_FOLDER}/build/bench/mkl_every_cpu.so`,
      // Memory of a step stays mapped, and tables lie on huge pages, as ours do.
      MALLOC_MMAP_THRESHOLD_: `${2 ** 30}`,
      MALLOC_TRIM_THRESHOLD_: `${2 ** 32}`,
      THP_MEM_ALLOC_ENABLE: "1",
    },
  };
}

/** The environment, if an earlier run has made it. */
export function fbgemmHere(): Fbgemm | undefined {
  const python = pythonHere(environmentOf(FOLDER, PACKAGES));
  return python === undefined ? undefined : placesOf(python, FOLDER);
}

/** How {@linkcode makeFbgemm} works. */
interface Making {
  /** Tells what is downloaded. */
  readonly say: (text: string) => void;
  readonly packages?: readonly string[];
  readonly folder?: string;
  /** Has `venv`. */
  readonly python?: string;
}

/**
 * The environment, made if need be: a Python environment with {@linkcode PACKAGES} from where this machine's pip has them.
 *
 * @throws {ContenderError} If Python or its `venv` is missing, or the packages cannot be had.
 */
export function makeFbgemm(
  { say, packages = PACKAGES, folder = FOLDER, python = "python3" }: Making,
): Fbgemm {
  if (Deno.build.arch !== "x86_64") {
    throw new ContenderError(`Cannot compare with FBGEMM on ${Deno.build.arch}: PyTorch has MKL on x86-64 alone`);
  }
  const made = placesOf(makePython(environmentOf(folder, packages), say, python), folder);
  if (made !== undefined) return made;
  throw new ContenderError(`Cannot find the packages in ${folder}: remove it and run again`);
}

/** The fastest branch of MKL on a CPU with these flags of `/proc/cpuinfo`: the least that counts. */
function wantedBranch(flags: ReadonlySet<string>): "avx512" | "avx2" | undefined {
  if (["avx512f", "avx512bw", "avx512dq", "avx512vl"].every((flag) => flags.has(flag))) return "avx512";
  return flags.has("avx2") ? "avx2" : undefined;
}

/** Flags of this machine's CPU. */
export function cpuFlags(): ReadonlySet<string> {
  const line = /^flags\s*: (.*)$/m.exec(Deno.readTextFileSync("/proc/cpuinfo"))?.[1] ?? "";
  return new Set(line.split(" "));
}

/**
 * Why a PyTorch with MKL does not count, or `undefined`.
 *
 * @param blas What the contender says: `mkl-<version>:<instructions>`.
 * @param flags Of the CPU.
 */
export function mklProblem(blas: string, flags: ReadonlySet<string>): string | undefined {
  const branch = /^mkl-[^:]*:(.+)$/.exec(blas)?.[1];
  if (branch === undefined) return `PyTorch multiplies with ${blas}, which is not MKL: the pinned wheel has it`;
  const wanted = wantedBranch(flags);
  if (wanted === undefined || branch.startsWith(wanted)) return undefined;
  return `MKL multiplies with ${branch} where this CPU has ${wanted}: mkl_every_cpu.so was not loaded`;
}
