/**
 * Broken runs that are flagged with the right code, and sound ones that are not: the table of
 * `test/reports/findings_test.ts`, counted.
 *
 * @module
 */

import { ROOT } from "../../setup/state.ts";
import { type BenchRow, shareRow } from "../rows.ts";

/** Tests of runs that passed and failed, by how their names begin. */
export function countTests(report: string, begin: string): { readonly passed: number; readonly all: number } {
  const cases = [...report.matchAll(/<testcase name="([^"]*)"[^>]*?(\/>|>([^]*?)<\/testcase>)/g)]
    .filter(([, name = ""]) => name.startsWith(begin));
  return { passed: cases.filter(([, , , body = ""]) => !body.includes("<failure")).length, all: cases.length };
}

/** The rows of the table. @throws {Error} if it could not be run. */
export async function crimeRows(): Promise<BenchRow[]> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--reporter=junit", "test/reports/findings_test.ts"],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const report = new TextDecoder().decode(stdout);
  const [broken, sound] = [
    countTests(report, "a broken run is flagged"),
    countTests(report, "a sound run stays silent"),
  ];
  if (broken.all === 0 || sound.all === 0) {
    throw new Error(`Cannot count findings: the test of them printed no results: ${new TextDecoder().decode(stderr)}`);
  }
  return [
    { ...shareRow("crimes/found", broken.passed, broken.all, "recorded results, each broken in one way"), atLeast: 1 },
    { ...shareRow("crimes/false", sound.all - sound.passed, sound.all, "sound results, near the bounds"), atMost: 0 },
  ];
}
