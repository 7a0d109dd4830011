/**
 * Files of other people's packages: fetched by the packages' own tools, in fixed versions, and listed.
 *
 * @module
 */

import { ContenderError } from "../contender.ts";

/** A package that has files of a form that is read, among its tests or its data. */
export interface FoundPackage {
  /** Whose tool fetches it. */
  readonly by: "go" | "cargo" | "pip";
  readonly name: string;
  readonly version: string;
}

/** The packages, in the order in which they are told. Their files were made by other tools, for other ends. */
export const FOUND: readonly FoundPackage[] = [
  // Arrays of every type and order, by NumPy.
  { by: "go", name: "github.com/sbinet/npyio", version: "v0.6.0" },
  { by: "go", name: "github.com/kshedden/gonpy", version: "v0.0.0-20210519231815-fa3c8dd8e59b" },
  // Tensors of every type by each protocol of pickle, by PyTorch.
  { by: "go", name: "github.com/nlpodyssey/gopickle", version: "v0.2.0" },
  // Parquet by Spark, Impala, Arrow, Rust and Go, with those of apache/parquet-testing.
  { by: "go", name: "github.com/parquet-go/parquet-go", version: "v0.32.0" },
  { by: "go", name: "github.com/segmentio/parquet-go", version: "v0.0.0-20230622230624-510764ae9e80" },
  // The trace of a cache, `gli` of LIRS.
  { by: "go", name: "github.com/dgraph-io/ristretto/v2", version: "v2.4.2" },
  { by: "cargo", name: "npyz", version: "0.9.1" },
  { by: "cargo", name: "ndarray-npy", version: "0.10.0" },
  { by: "cargo", name: "parquet2", version: "0.17.2" },
  // MovieLens 100K; tables of scikit-learn; archives of SciPy.
  { by: "pip", name: "recbole", version: "1.2.1" },
  { by: "pip", name: "scikit-learn", version: "1.9.1" },
  { by: "pip", name: "scipy", version: "1.17.1" },
];

/** Endings of files that `found.py` knows a reader for. */
const ENDINGS = /\.(npy|npz|pt|pth|parquet|inter|csv|lirs\.gz)$/;
/** Larger ones would take most of the time. */
const LARGEST = 32 << 20;

/** A file of a package. */
export interface FoundFile {
  readonly file: string;
  readonly package: string;
}

async function output(program: string, args: readonly string[], cwd: string): Promise<string> {
  let ran: Deno.CommandOutput;
  try {
    ran = await new Deno.Command(program, { args: [...args], cwd, stdin: "null" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new ContenderError(`"${program}" is not installed`);
    throw error;
  }
  const text = new TextDecoder();
  if (ran.success) return text.decode(ran.stdout);
  const told = `${text.decode(ran.stderr)}\n${text.decode(ran.stdout)}`.split("\n").map((line) => line.trim());
  throw new ContenderError(told.findLast((line) => /error/i.test(line)) ?? told[0] ?? "it failed without a word");
}

/** How each tool fetches a package: the folder that has its files. */
const FETCH: Readonly<
  Record<FoundPackage["by"], (one: FoundPackage, folder: string, python: string) => Promise<string>>
> = {
  async go({ name, version }, folder) {
    const told = await output("go", ["mod", "download", "-json", `${name}@${version}`], folder);
    return (JSON.parse(told) as { readonly Dir: string }).Dir;
  },
  async cargo({ name, version }, folder) {
    await Deno.mkdir(`${folder}/src`);
    await Deno.writeTextFile(`${folder}/src/lib.rs`, "");
    await Deno.writeTextFile(
      `${folder}/Cargo.toml`,
      `[package]\nname = "found"\nversion = "0.0.0"\n[dependencies]\n"${name}" = "=${version}"\n[workspace]\n`,
    );
    await output("cargo", ["vendor", "--quiet", "vendor"], folder);
    return `${folder}/vendor/${name}`;
  },
  async pip({ name, version }, folder, python) {
    const words = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", `${name}==${version}`];
    await output(python, words, folder);
    const wheel = [...Deno.readDirSync(folder)].find((entry) => entry.name.endsWith(".whl"));
    if (wheel === undefined) throw new ContenderError("pip left no wheel");
    await output(python, ["-m", "zipfile", "-e", wheel.name, "files"], folder);
    return `${folder}/files`;
  },
};

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory, isFile }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return filesIn(path);
    return isFile && ENDINGS.test(name) && Deno.statSync(path).size <= LARGEST ? [path] : [];
  }).sort();
}

/**
 * Fetches a package and lists its files.
 *
 * @param folder An empty folder of its own.
 * @param python Has pip.
 * @throws {ContenderError} If the tool is missing or cannot have it, or it has no such file.
 */
export async function fetchFound(one: FoundPackage, folder: string, python: string): Promise<FoundFile[]> {
  const files = filesIn(await FETCH[one.by](one, folder, python));
  if (files.length === 0) throw new ContenderError(`${one.name} ${one.version} has no file that is known`);
  return files.map((file) => ({ file, package: one.name }));
}
