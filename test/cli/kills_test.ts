/** Real kills of real processes: no sample is lost, nothing is left for good, nobody trains for nobody. */

import "../native_library.ts";
import { statfsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { childrenOf } from "../../bench/harness/kills.ts";
import { readResult } from "../../scenarios/result.ts";
import { isInMemory } from "../../machines/inventory/file_system.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CLI = file("cli.ts");

const DATA = { synthetic: "criteo-kaggle", scale: 0.01, rows: 4096, testRows: 1024 } as const;

const SLOW: Scenario = {
  name: "slow",
  workload: {
    data: DATA,
    batch: 256,
    steps: 60,
    warmup: 1,
    hidden: [64],
  },
  configurations: { "dram": { storage: "DRAM" } },
  repetitions: 4,
  quality: { samples: 0 },
  seed: 3,
};

interface Place {
  readonly folder: string;
  readonly path: string;
  /** Waits until so many samples are complete. */
  samples(wanted: number): Promise<void>;
  run(...args: string[]): Deno.Command;
}

async function inFolder(scenario: Scenario, body: (place: Place) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/reports/out/slow/result.jsonl`;
  try {
    await Deno.writeTextFile(`${folder}/slow.jsonc`, JSON.stringify(scenario));
    await body({
      folder,
      path,
      samples: (wanted) =>
        until(async () => (await Deno.readTextFile(path).catch(() => "")).split("\n").length - 2 >= wanted),
      run: (...args) => command(folder, "run", "-A", CLI, "run", "slow.jsonc", ...args),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function command(folder: string, ...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args,
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The processes below one. */
function below(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...below(child)]);
}

/** Whether a process has a file of a folder mapped, by which `clean` finds a run. */
function uses(pid: number, folder: string): boolean {
  return Deno.readTextFileSync(`/proc/${pid}/maps`).includes(` ${folder}`);
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

Deno.test("a run whose `deno task` was killed stops after its sample, and resumes", async () => {
  await inFolder(SLOW, async ({ folder, path, samples, run }) => {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      JSON.stringify({ tasks: { go: `deno run -A ${CLI} run slow.jsonc` } }),
    );
    const task = command(folder, "task", "go").spawn();
    await samples(1);
    const runners = below(task.pid);
    assert(runners.length > 0);
    assert(runners.some((pid) => uses(pid, file("native/build/")))); // "deno task clean" is refused meanwhile
    task.kill("SIGKILL");
    await until(() => Promise.resolve(!runners.some(isAlive)));
    const { stdout, stderr } = await task.output();
    assertMatch(
      text(stdout).replace(/\s+/g, " "),
      /"deno task go" \(process \d+\), which started this run, is gone: it stops/,
    );
    assertMatch(text(stderr), /Interrupted: \d of 4 samples are complete/);
    const kept = await Deno.readTextFile(path);
    const before = (await readResult(path)).samples.length;
    assert(before >= 1 && before < 4, `${before} samples`);
    const resumed = await run("--resume").output();
    assertEquals([text(resumed.stderr), resumed.code], ["", 0]);
    assert((await Deno.readTextFile(path)).startsWith(kept));
    assertEquals((await readResult(path)).samples.length, 4);
  });
});

Deno.test("SIGINT to set-up alone stops the run it started, with 130, resumable", async () => {
  await inFolder(SLOW, async ({ folder, samples }) => {
    const main = [file("setup/main.ts"), "tierbench", "--no-install", "run", "slow.jsonc"];
    const child = command(folder, "run", "-A", ...main).spawn();
    await samples(1);
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    assertMatch(text(stderr), /Interrupted: \d of 4 samples are complete/);
    assertEquals(code, 130);
  });
});

/** Owners' files of folders that processes have open, and parts of data that they write. */
function held(pids: readonly number[]): string[] {
  const paths = pids.flatMap((pid) => {
    try {
      return Array.from(Deno.readDirSync(`/proc/${pid}/fd`), ({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/${pid}/fd/${name}`);
        } catch {
          return ""; // it was closed just now
        }
      });
    } catch {
      return [];
    }
  });
  return [...new Set(paths.filter((path) => /[.]tierbench-owner$|[.]part-\w+$/.test(path)))];
}

/** How a run is started, and what of it is killed. */
const KILLS: readonly {
  readonly name: string;
  readonly start: (folder: string) => Deno.Command;
  readonly kill: (pid: number) => void;
}[] = [
  {
    name: "the process group",
    start: (folder) =>
      new Deno.Command("setsid", {
        args: [
          "--wait",
          "sh",
          "-c",
          'echo $$ > pid; exec "$@"',
          "sh",
          Deno.execPath(),
          "run",
          "-A",
          CLI,
          "run",
          "slow.jsonc",
        ],
        cwd: folder,
        env: { NO_COLOR: "1" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }),
    kill: (pid) => Deno.kill(-pid, "SIGKILL"),
  },
  {
    name: "npm",
    start: (folder) => {
      const scripts = { go: `echo $PPID > pid; "${Deno.execPath()}" run -A "${CLI}" run slow.jsonc` };
      Deno.writeTextFileSync(`${folder}/package.json`, JSON.stringify({ scripts }));
      return new Deno.Command("npm", {
        args: ["run", "--silent", "go"],
        cwd: folder,
        env: { NO_COLOR: "1", npm_config_update_notifier: "false" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      });
    },
    kill: (pid) => Deno.kill(pid, "SIGKILL"),
  },
];

Deno.test.each(KILLS)(
  "kill -9 of $name loses and doubles no sample, and the next run leaves nothing behind",
  async (how) => {
    const pmem: Scenario = {
      ...SLOW,
      configurations: { fsdax: { storage: "DRAM_PMEM", pmem: "libpmem", media: "optane-100-6x256" } },
      repetitions: 3,
    };
    await inFolder(pmem, async ({ folder, path, samples, run }) => {
      const child = how.start(folder).spawn();
      const output = child.output();
      await samples(1);
      const pid = Number(await Deno.readTextFile(`${folder}/pid`));
      const all = [pid, ...below(pid)];
      await until(() => Promise.resolve(held(below(pid)).length > 0));
      const left = held(below(pid));
      how.kill(pid);
      await output;
      await until(() => Promise.resolve(!all.some(isAlive)));
      const kept = await Deno.readTextFile(path);
      const whole = kept.slice(0, kept.lastIndexOf("\n") + 1);
      const { code, stderr } = await run("--resume").output();
      assertEquals([text(stderr), code], ["", 0]);
      assert((await Deno.readTextFile(path)).startsWith(whole));
      const { samples: taken } = await readResult(path);
      assertEquals(taken.map(({ id }) => id).sort(), ["fsdax#1", "fsdax#2", "fsdax#3"]);
      for (const owner of left) assert(await Deno.stat(owner).then(() => false, () => true), owner);
    });
  },
);

const temporary = Deno.makeTempDirSync();
const onDisk = !isInMemory(statfsSync(temporary));
Deno.removeSync(temporary);
const left = "what a killed run and worker leave on the user's disk is removed by the next run, and nothing else" +
  (onDisk ? "" : " (skipped: temporary files are in memory here)");

Deno.test(left, { ignore: !onDisk }, async () => {
  const ssd: Scenario = {
    ...SLOW,
    workload: { ...SLOW.workload, data: { ...DATA, scale: 0.004 }, steps: 6 },
    repetitions: 3,
    configurations: { disk: { storage: "DRAM_SSDHASH", ssdPath: "ssd" } },
  };
  await inFolder(ssd, async ({ folder, path, run }) => {
    const disk = `${folder}/ssd`;
    await Deno.mkdir(`${disk}/tierbench-mine`, { recursive: true });
    await Deno.writeTextFile(`${disk}/tierbench-mine/rows`, "mine");
    const left = () =>
      Array.from(Deno.readDirSync(disk), ({ name }) => name).filter((name) => name !== "tierbench-mine");
    const child = run().spawn();
    const output = child.output();
    const filled = async () => {
      const [name] = left();
      if (name === undefined) return false;
      return await Deno.stat(`${disk}/${name}`).then(
        () => [...Deno.readDirSync(`${disk}/${name}`)].length > 1,
        () => false,
      );
    };
    await until(filled);
    const workers = below(child.pid);
    child.kill("SIGKILL");
    for (const pid of workers) if (isAlive(pid)) Deno.kill(pid, "SIGKILL");
    await output;
    await until(() => Promise.resolve(!workers.some(isAlive)));
    assertEquals(left().length, 1);
    const { code, stdout, stderr } = await run("--resume").output();
    assertEquals([text(stderr), code], ["", 0]);
    assertStringIncludes(text(stdout), "removed what runs that were killed left: 1 folder");
    assertEquals([left(), await Deno.readTextFile(`${disk}/tierbench-mine/rows`)], [[], "mine"]);
    assertEquals((await readResult(path)).samples.length, 3);
  });
});
