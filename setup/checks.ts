/**
 * Runs all tests: those of the native library, the checks of the code, and those of the suite. At the end every test that
 * was skipped or failed is named, so that the end alone of a long log tells what is wrong; the last line says how many
 * passed, failed and were skipped.
 *
 * @module
 */

import { ROOT } from "./state.ts";
import { labelled, secondsSince } from "./system.ts";

/** How many tests passed, failed and were skipped, and which were skipped or failed. */
export interface Counts {
  /** Tests that passed. */
  readonly passed: number;
  /** Tests that failed. */
  readonly failed: number;
  /** Tests that were skipped. */
  readonly skipped: number;
  /** Their names, and why where they say it. */
  readonly skips: readonly string[];
  /** The names of those that failed, and what they said first where that is known. */
  readonly failures: readonly string[];
}

const NONE: Counts = { passed: 0, failed: 0, skipped: 0, skips: [], failures: [] };

/** One that failed. */
function failedOne(name: string): Counts {
  return { ...NONE, failed: 1, failures: [name] };
}

/** Checks of the code, each of which counts as a test. */
const CHECKS: readonly (readonly string[])[] = [
  ["check"],
  ["fmt", "--check"],
  ["lint"],
  ["doc", "--lint", "mod.ts"],
  ["publish", "--dry-run", "--allow-dirty"],
];

/**
 * Runs the tests.
 *
 * @param args Arguments for `deno test`. If there are any, only `deno test` runs.
 * @returns The exit code: 0 if nothing failed.
 */
export async function runTests(args: readonly string[]): Promise<number> {
  const parts: Counts[] = [];
  if (args.length === 0) {
    parts.push(await runNativeTests());
    for (const check of CHECKS) parts.push(await runCheck(check));
  }
  parts.push(await runDenoTests(args));
  const total = parts.reduce(addCounts, NONE);
  for (const skip of total.skips) console.log(`skipped: ${skip}`);
  for (const failure of total.failures) console.log(`failed: ${failure}`);
  console.log(formatCounts(total));
  return total.failed === 0 ? 0 : 1;
}

/** The sum. */
export function addCounts(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    skips: [...a.skips, ...b.skips],
    failures: [...a.failures, ...b.failures],
  };
}

/** The line that ends a test run. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed` + (skipped > 0 ? `, ${skipped} skipped` : "");
}

/** C programs that run at a time, at most: each may take a few hundred MiB. */
const MOST_AT_ONCE = 4;

async function runNativeTests(): Promise<Counts> {
  const cores = navigator.hardwareConcurrency;
  const command = new Deno.Command("make", {
    args: ["-s", `-j${cores}`, "-C", `${ROOT}/native`, "check", `AT_ONCE=${Math.min(cores, MOST_AT_ONCE)}`],
    stdin: "null",
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  const text = new TextDecoder().decode(stdout);
  await print(text);
  const counts = parseNativeCounts(text);
  // A test program that does not compile leaves no count.
  if (counts === undefined || (!success && counts.failed === 0)) {
    return failedOne("make -C native check (it ended without a count)");
  }
  return counts;
}

/** Reads what `make check` prints: the counts from its last line, and the lines that say what was skipped or failed. */
export function parseNativeCounts(text: string): Counts | undefined {
  const [, passed, failed, skipped] = /^C tests: (\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(text) ?? [];
  if (passed === undefined) return undefined;
  const names = (mark: RegExp): readonly string[] => [...text.matchAll(mark)].map(([, name = ""]) => name);
  return {
    passed: Number(passed),
    failed: Number(failed),
    skipped: Number(skipped),
    skips: names(/^skipped: (.*)$/gm),
    failures: names(/^FAILED (.*)$/gm),
  };
}

async function runCheck(args: readonly string[]): Promise<Counts> {
  const start = performance.now();
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    stdin: "null",
  }).output();
  if (!success) { for (const bytes of [stdout, stderr]) await print(new TextDecoder().decode(bytes)); }
  const verdict = success ? "ok" : "FAILED";
  console.log(labelled("check", `deno ${args.join(" ")} ${verdict} ${secondsSince(start)}`));
  return success ? { ...NONE, passed: 1 } : failedOne(`deno ${args.join(" ")}`);
}

/** Folders of tests that compute and start few processes: they run beside the others where there are cores for both. */
const BESIDE: readonly string[] = ["test/base", "test/machines", "test/models", "test/reports"];

/** Tests and the examples in the documentation. */
async function runDenoTests(args: readonly string[]): Promise<Counts> {
  if (args.length > 0) return (await runDenoTest(args, "inherit")).counts;
  const shared = navigator.hardwareConcurrency > 1;
  const beside = shared ? runDenoTest(BESIDE, "piped") : undefined;
  const others = runDenoTest([`--ignore=${BESIDE.join(",")}`], "inherit");
  const [one, other] = await Promise.all([others, beside ?? others.then(() => runDenoTest(BESIDE, "inherit"))]);
  await print(other.text);
  return addCounts(one.counts, other.counts);
}

/**
 * Runs `deno test`. Types were checked before; here `--doc` would fail on the imports that it adds to examples itself, which
 * `noUnusedLocals` refuses.
 *
 * @param output Where its words go; piped, they are the text that is returned.
 */
async function runDenoTest(
  args: readonly string[],
  output: "inherit" | "piped",
): Promise<{ readonly counts: Counts; readonly text: string }> {
  const report = await Deno.makeTempFile({ prefix: "tierbench-", suffix: ".xml" });
  try {
    const ended = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "-A",
        "--doc",
        "--no-check",
        "--preload=test/native_library.ts",
        `--junit-path=${report}`,
        ...args,
      ],
      cwd: ROOT,
      stdin: "null",
      stdout: output,
      stderr: output,
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const text = output === "piped" ? decode(ended.stdout) + decode(ended.stderr) : "";
    const counts = parseJunitCounts(await Deno.readTextFile(report));
    // A module that does not load fails the run without a test.
    if (counts === undefined || (!ended.success && counts.failed === 0)) {
      const what = `deno test ${args.join(" ")} (a module did not load, or the run was ended)`;
      return { counts: addCounts(counts ?? NONE, failedOne(what)), text };
    }
    return { counts, text };
  } finally {
    await Deno.remove(report);
  }
}

/** Reads the counts from the report that `deno test --junit-path` writes. */
export function parseJunitCounts(xml: string): Counts | undefined {
  const suites = [...xml.matchAll(/<testsuite [^>]*>/g)].map(([tag]) => tag);
  if (!xml.includes("<testsuites")) return undefined;
  return suites.map((tag) => {
    const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(tag)?.[1] ?? 0);
    const failed = number("failures") + number("errors");
    const skipped = number("disabled");
    return { ...NONE, passed: number("tests") - failed - skipped, failed, skipped };
  }).reduce(addCounts, { ...NONE, skips: parseJunitSkips(xml), failures: parseJunitFailures(xml) });
}

/** The names of skipped tests, with their files. */
function parseJunitSkips(xml: string): readonly string[] {
  return [...xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*>\s*<skipped\b/g)].map(
    ([, name = "", file = ""]) => `${unescapeXml(name)} (${unescapeXml(file)})`,
  );
}

/** Most characters of what a failed test said. */
const SAID_MOST = 200;

/** The names of failed tests, with their files and the first line of what they said. */
function parseJunitFailures(xml: string): readonly string[] {
  const cases = /<testcase name="([^"]*)" classname="([^"]*)"[^>]*>\s*<(?:failure|error)\b(?: message="([^"]*)")?/g;
  return [...xml.matchAll(cases)].map(([, name = "", file = "", said = ""]) => {
    const [line = ""] = unescapeXml(said).split("\n");
    const told = line.length > SAID_MOST ? `${line.slice(0, SAID_MOST)}…` : line;
    return `${unescapeXml(name)} (${unescapeXml(file)})` + (told === "" ? "" : `: ${told}`);
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescapeXml(text: string): string {
  return text.replace(/&(#?)(\w+);/g, (whole, number: string, name: string) => {
    const code = Number(name);
    if (number === "") return ENTITIES[name] ?? whole;
    return Number.isInteger(code) && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

async function print(text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) written += await Deno.stdout.write(bytes.subarray(written));
}
