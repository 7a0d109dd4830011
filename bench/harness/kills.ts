/**
 * Runs that are killed at random moments, with all their processes or a worker of theirs alone, and resumed until they are whole: each
 * has the samples of a run that nobody killed, none twice, each with the same rows, and no line that was complete before a kill is
 * lost or changed after it.
 *
 * @module
 */

import { randomNumbers } from "../../base/random.ts";
import { readProcess } from "../../scenarios/run/launchers.ts";
import { readResult } from "../../scenarios/result.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { ROOT } from "../../setup/state.ts";
import { type BenchRow, shareRow } from "../rows.ts";

/** What is run: two configurations, in 2 to 3 seconds. */
const SCENARIO: Scenario = {
  name: "killed",
  workload: {
    data: { synthetic: "criteo-kaggle", scale: 0.004, rows: 4096, testRows: 1024 },
    batch: 256,
    steps: 20,
    warmup: 1,
    hidden: [64],
  },
  configurations: {
    dram: { storage: "DRAM" },
    fsdax: { storage: "DRAM_PMEM", pmem: "libpmem", media: "optane-100-6x256" },
  },
  repetitions: 4,
  quality: { samples: 0 },
  seed: 3,
};

/** What was tried and what went wrong. */
export interface RunKills {
  /** Processes killed, runs and workers. */
  readonly kills: number;
  /** Of them workers alone. */
  readonly workers: number;
  /** Runs that were resumed until they were whole. */
  readonly runs: number;
  /** What was lost, doubled or changed, in words. */
  readonly wrong: readonly string[];
}

/** The child processes of one. */
export function childrenOf(pid: number): number[] {
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter((other) =>
    readProcess(other)?.parent === pid
  );
}

function kill(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // it has ended
  }
}

/** A run in a group of its own, so that all of it can be killed at once. */
function started(folder: string, more: readonly string[]): Deno.ChildProcess {
  const words = [
    Deno.execPath(),
    "run",
    "-A",
    "--no-check",
    `${ROOT}/cli.ts`,
    "run",
    "killed.jsonc",
    "--out",
    "out",
    ...more,
  ];
  return new Deno.Command("setsid", {
    args: ["--wait", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh", ...words],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

/** Complete lines of the results so far. */
function linesIn(folder: string): string[] {
  try {
    return Deno.readTextFileSync(`${folder}/out/result.jsonl`).split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Samples by their names, with the digests of their rows, in the order of the names; and how many lines there are of them. */
async function samplesOf(folder: string): Promise<{ readonly lines: number; readonly samples: string }> {
  const { samples } = await readResult(`${folder}/out/result.jsonl`);
  const told = samples.map(({ id, digest }) => `${id} ${digest}`).sort();
  return { lines: told.length, samples: told.join("\n") };
}

/**
 * Kills runs and workers, so many in all.
 *
 * @param folder Empty; what runs write goes there.
 * @throws {Error} if the run that nobody kills fails.
 */
export async function killRuns(kills: number, seed: number, folder: string): Promise<RunKills> {
  const random = randomNumbers(seed), wrong: string[] = [];
  const place = async (name: string): Promise<string> => {
    await Deno.mkdir(`${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/${name}/killed.jsonc`, JSON.stringify(SCENARIO));
    return `${folder}/${name}`;
  };
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).trim();
  const alone = await place("alone"), begun = performance.now();
  const whole = await started(alone, []).output();
  if (whole.code !== 0) throw new Error(`Cannot kill runs: one that nobody killed failed: ${text(whole.stderr)}`);
  const length = performance.now() - begun, wanted = await samplesOf(alone);
  let [killed, workers, runs] = [0, 0, 0];
  while (killed < kills) {
    const name = `run-${++runs}`, own = await place(name);
    let kept: string[] = [];
    for (let attempt = 0;; attempt++) {
      const child = started(own, attempt === 0 ? [] : ["--resume"]);
      const ended = child.output();
      // After a few kills in a row a run may end.
      const mayKill = killed < kills && attempt < 6;
      if (mayKill) {
        await new Promise((resolve) => setTimeout(resolve, random() * length));
        const pid = Number(await Deno.readTextFile(`${own}/pid`).catch(() => "0"));
        const below = pid === 0 ? [] : childrenOf(pid);
        const worker = random() < 0.4 ? below[Math.floor(random() * below.length)] : undefined;
        if (worker !== undefined && kill(worker)) {
          killed++;
          workers++;
        } else if (pid !== 0 && kill(-pid)) killed++;
      }
      const { code, stderr } = await ended;
      const lines = linesIn(own);
      if (kept.some((line, i) => lines[i] !== line)) wrong.push(`${name}: a complete line was lost or changed`);
      kept = lines;
      if (code === 0) break;
      if (!mayKill) {
        wrong.push(`${name}: it was not killed and failed: ${text(stderr)}`);
        break;
      }
    }
    const found = await samplesOf(own).catch((error) => ({ lines: 0, samples: String(error) }));
    if (found.samples !== wanted.samples) wrong.push(`${name}: other samples:\n${found.samples}`);
    await Deno.remove(own, { recursive: true });
  }
  return { kills: killed, workers, runs, wrong };
}

/** The row of so many kills. @throws {Error} naming what went wrong first. */
export async function killRow(kills: number): Promise<BenchRow> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench-killed-" });
  try {
    const { kills: killed, workers, runs, wrong } = await killRuns(kills, 1, folder);
    for (const problem of wrong) console.error(problem);
    const note = `${killed} kills, ${workers} of workers alone, in ${runs} runs that were resumed until whole`;
    return { ...shareRow("resume/wrong", Math.min(wrong.length, runs), runs, note), atMost: 0 };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
