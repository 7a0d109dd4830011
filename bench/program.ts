/**
 * What the programs of the benches share: running others, facts on the machine, the file with the result.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { BUILT_LIBRARY } from "../base/native_build.ts";
import { ROOT } from "../setup/state.ts";
import { type BenchResult, type BenchRow, keptRows, resultJson } from "./rows.ts";

/** Facts that a reader of the result needs. */
export type Facts = Record<string, string | number | boolean>;

/** Where a bench works, and what it measures unless it is told otherwise. */
interface Places {
  readonly scratch: string;
  readonly library: string;
  readonly out: string;
}

/**
 * The plan of a bench's words.
 *
 * @param bench Its name, as in `reports/out/bench-<name>.json`.
 * @param parse Reads the words.
 * @returns Undefined for words that it does not know: they were told, and the exit code is 2.
 */
export function planOrUsage<P>(bench: string, parse: (places: Places) => P): P | undefined {
  try {
    return parse({ scratch: `${ROOT}/.cache`, library: BUILT_LIBRARY, out: `${ROOT}/reports/out/bench-${bench}.json` });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    console.error(error.message);
    Deno.exitCode = 2;
    return undefined;
  }
}

/** Runs a program; what it printed. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], stdin: "null" }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run "${program} ${args.join(" ")}": ${new TextDecoder().decode(stderr).trim()}`);
}

/**
 * A processor's name, with family and model where the kernel tells them: virtual machines call several generations alike
 * ("AMD EPYC"), and rows of one must not stand beside rows of another.
 *
 * @param cpuinfo The text of `/proc/cpuinfo`.
 * @returns Empty without a name.
 */
export function processorName(cpuinfo: string): string {
  const value = (key: string): string | undefined => new RegExp(`^${key}\\s*: (.*)$`, "m").exec(cpuinfo)?.[1];
  const name = value("model name") ?? "", family = value("cpu family"), model = value("model");
  return family === undefined ? name : `${name} (family ${family}, model ${model})`;
}

/**
 * Facts on machine and library.
 *
 * @param library Path of the one that is measured.
 */
export function machineFacts(library: string): Facts {
  const line = (path: string, pattern: RegExp): string => pattern.exec(Deno.readTextFileSync(path))?.[1] ?? "";
  return {
    library: library === BUILT_LIBRARY ? "of the project" : library,
    cpu: processorName(Deno.readTextFileSync("/proc/cpuinfo")),
    cores: navigator.hardwareConcurrency,
    memory_bytes: Number(line("/proc/meminfo", /^MemTotal:\s+(\d+)/m)) * 1024,
    kernel: Deno.osRelease(),
    huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled", /\[(\w+)\]/),
    load_before: Deno.loadavg()[0] ?? 0,
    interval: "95 % bootstrap interval of the median over rounds",
  };
}

/** Writes the result. */
export function writeResult(out: string, facts: Facts, rows: readonly BenchRow[]): void {
  Deno.mkdirSync(dirname(out), { recursive: true });
  Deno.writeTextFileSync(out, resultJson(facts, rows));
}

/**
 * The rows of a run of some of a bench's parts, with those of the others from the file that it is to write: of an earlier run
 * on the same kind of machine.
 *
 * @param out The file.
 * @param facts Of this run; rows of another CPU, or another number of cores, are left out and told.
 * @param rows That were made now.
 * @param stays Whether an earlier row is of a part that was not run now.
 */
export function withEarlierRows(
  out: string,
  { cpu, cores }: Facts,
  rows: readonly BenchRow[],
  stays: (name: string) => boolean,
): BenchRow[] {
  if (!existsSync(out)) return [...rows];
  const before = JSON.parse(Deno.readTextFileSync(out)) as BenchResult;
  if (before.machine["cpu"] === cpu && before.machine["cores"] === cores) return keptRows(before.rows, rows, stays);
  console.error(`Rows of another machine are left out of ${out}: ${before.machine["cpu"]}`);
  return [...rows];
}
