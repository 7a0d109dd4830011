/**
 * What the programs of the benches share: running others, facts on the machine, the file with the result.
 *
 * @module
 */

import { dirname } from "node:path";
import { BUILT_LIBRARY } from "../base/native_build.ts";
import { type BenchRow, resultJson } from "./rows.ts";

/** Facts that a reader of the result needs. */
export type Facts = Record<string, string | number | boolean>;

/** Runs a program; what it printed. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], stdin: "null" }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run "${program} ${args.join(" ")}": ${new TextDecoder().decode(stderr).trim()}`);
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
    cpu: line("/proc/cpuinfo", /^model name\s*: (.*)$/m),
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
