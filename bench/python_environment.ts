/**
 * Environments of Python with other people's packages, which benches make once.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { ContenderError } from "./contender.ts";

/** Letters of what a program that failed said: as many as a table can show. */
const SHOWN = 300;

/** A step of making an environment. */
interface Step {
  /** What it does, for its error. */
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  /** What to do if it fails. */
  readonly remedy: string;
}

/** An environment. */
export interface PythonEnvironment {
  /** Whom it is for, in what is told. */
  readonly name: string;
  /** Where it stays between runs. */
  readonly folder: string;
  /** What is installed, each with its version: figures are of these. Their own needs come with them. */
  readonly packages: readonly string[];
  /** What is installed without its own needs, which are among the others: two packages of one file are two that overwrite each other. */
  readonly alone?: readonly string[];
  /** How much is downloaded. */
  readonly size: string;
}

function runStep({ what, program, args, remedy }: Step): void {
  const fail = (detail: string): never => {
    const lines = detail.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    const told = lines.findLast((line) => line.startsWith("ERROR: ")) ?? lines.at(-1) ?? "it failed without a word";
    throw new ContenderError(`Cannot ${what}: ${told.replace("ERROR: ", "").slice(0, SHOWN)}; ${remedy}`);
  };
  try {
    const { success, stdout, stderr } = new Deno.Command(program, { args: [...args], stdin: "null" }).outputSync();
    if (!success) fail(new TextDecoder().decode(stderr.length > 0 ? stderr : stdout));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) fail(`"${program}" is not installed`);
    throw error;
  }
}

const markOf = ({ packages, alone = [] }: PythonEnvironment): string => JSON.stringify([...packages, ...alone]);

/** The Python of an environment, if an earlier run has made it with these packages. */
export function pythonHere(environment: PythonEnvironment): string | undefined {
  const mark = `${environment.folder}/packages.json`;
  const made = existsSync(mark) && Deno.readTextFileSync(mark) === markOf(environment);
  return made ? `${environment.folder}/bin/python` : undefined;
}

/**
 * The Python of an environment, made if need be from where this machine's pip has the packages.
 *
 * @param say Tells what is downloaded.
 * @param python Has `venv`.
 * @throws {ContenderError} If Python or its `venv` is missing, or the packages cannot be had.
 */
export function makePython(environment: PythonEnvironment, say: (text: string) => void, python = "python3"): string {
  const here = pythonHere(environment);
  if (here !== undefined) return here;
  const { name, folder, packages, alone = [], size } = environment;
  say(`  ${name}: downloads ${[...packages, ...alone].join(", ")} and what they need (${size}) into ${folder}, once`);
  Deno.mkdirSync(dirname(folder), { recursive: true });
  runStep({
    what: "make a Python environment",
    program: python,
    args: ["-m", "venv", "--clear", folder],
    remedy: "apt-get install python3-venv",
  });
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries=1"];
  for (const [words, these] of [[pip, packages], [[...pip, "--no-deps"], alone]] as const) {
    if (these.length === 0) continue;
    runStep({
      what: `install ${these.join(", ")}`,
      program: `${folder}/bin/python`,
      args: [...words, ...these],
      remedy: "a machine that reaches Python's packages is needed",
    });
  }
  Deno.writeTextFileSync(`${folder}/packages.json`, markOf(environment));
  return `${folder}/bin/python`;
}
