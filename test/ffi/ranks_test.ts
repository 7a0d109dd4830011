import "../native_library.ts";
import { inspectCheckpoints, verifyCheckpoints } from "../../ffi/checkpoint.ts";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { type Mpi, Ranks, shimOf } from "../../ffi/ranks.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";
import type { RankResult, RankTask } from "./ranks_program.ts";

const MODEL = { batch: 256, dim: 4, hidden: [16, 8], wideBuckets: 200, seed: 1 } as const;
const PROGRAM = decodeURIComponent(new URL("ranks_program.ts", import.meta.url).pathname);

/** Why ranks of this MPI cannot be started here; `undefined`: they can. */
function missing(mpi: Mpi): string | undefined {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      Deno.statSync(`${folder}/mpirun.${mpi}`);
      Deno.statSync(shimOf(mpi));
      return undefined;
    } catch {
      // Not there.
    }
  }
  return `mpirun.${mpi} or the library of ${mpi} is missing`;
}

/** Starts ranks of the test program on this machine, more than it has CPUs. */
function start(mpi: Mpi, count: number, task: Omit<RankTask, "mpi">): Deno.Command {
  const root = { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
  const many = mpi === "openmpi" ? ["--oversubscribe", "--bind-to", "none"] : [];
  const args = ["-n", String(count), ...many, Deno.execPath(), "run", "-A", "--no-check", PROGRAM];
  return new Deno.Command(`mpirun.${mpi}`, {
    args: [...args, JSON.stringify({ ...task, mpi })],
    env: { ...root, PMEM_IS_PMEM_FORCE: "1", NO_COLOR: "1", OMPI_MCA_mpi_yield_when_idle: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function run(mpi: Mpi, count: number, task: Omit<RankTask, "mpi">): Promise<RankResult[]> {
  const { code, stdout, stderr } = await start(mpi, count, task).output();
  const text = new TextDecoder();
  assertEquals(code, 0, text.decode(stderr));
  const lines = text.decode(stdout).trim().split("\n").map((line) => JSON.parse(line) as RankResult);
  return lines.sort((a, b) => a.rank - b.rank);
}

/** Digest, loss of the last call and AUC of one rank alone, without MPI, after calls of so many steps each. */
async function alone(data: string, steps: number, every = steps): Promise<[string, number, number]> {
  using ranks = Ranks.open();
  using store = EmbeddingStore.open({ storage: "DRAM", seed: 5 });
  using trainer = WdlTrainer.open(store, { ...MODEL, data }, ranks);
  await trainer.fill();
  let loss = NaN;
  while (trainer.step < steps) loss = (await trainer.train(every)).loss;
  const { auc } = await trainer.evaluate(data, { maxRows: 1000 });
  return [await trainer.digest(), loss, auc];
}

async function withData(test: (data: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await generateData({ out: `${folder}/train.bin`, rows: 5000, scale: 0.001 });
    await test(`${folder}/train.bin`, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const mpi of ["openmpi", "mpich"] as const) {
  const reason = missing(mpi);
  const name = `processes of ${mpi} train the same bits as one rank alone`;
  Deno.test(
    reason === undefined ? name : `${name} (skipped: ${reason})`,
    { ignore: reason !== undefined },
    async () => {
      await withData(async (data, folder) => {
        const steps = 10;
        const one = await alone(data, steps);
        const task = { trainer: { ...MODEL, data }, steps, folder, storages: ["DRAM"] } as const;
        const jobs = [
          [2, { ...task, storages: ["DRAM_PMEM", "DRAM_SSDHASH"] }],
          [4, { ...task, storages: ["DRAM", "DRAM_SSDHASH", "DRAM_PMEM"], servers: 2 }],
          [2, { ...task, trainer: { ...task.trainer, ranksAhead: "rows", threads: 2 }, waits: "yield" }],
          [4, { ...task, trainer: { ...task.trainer, ranksStaleness: 0 }, servers: 2 }],
        ] as const;
        for (const [count, job] of jobs) {
          const results = await run(mpi, count, job);
          assertEquals(
            results.map(({ rank, size }) => [rank, size]),
            Array.from({ length: count }, (_, i) => [i, count]),
          );
          for (const { digest, loss, auc } of results) assertEquals([digest, loss, auc], one);
          assert(results.every(({ library, sentBytes }) => /mpi/i.test(library) && sentBytes > 0), results[0]?.library);
        }
      });
    },
  );
}

for (const mpi of ["openmpi", "mpich"] as const) {
  const reason = missing(mpi);
  const name = `processes of ${mpi} train asynchronously, each step once and none staler than it may be`;
  Deno.test(
    reason === undefined ? name : `${name} (skipped: ${reason})`,
    { ignore: reason !== undefined },
    async () => {
      await withData(async (data, folder) => {
        const trainer = { ...MODEL, data, ranksStaleness: 3, ranksRows: "bf16" } as const;
        const task = { trainer, steps: 24, folder, storages: ["DRAM", "DRAM", "DRAM_SSDHASH"] } as const;
        for (const [ranks, servers, waits] of [[3, 1, "yield"], [4, 2, "poll"]] as const) {
          const results = await run(mpi, ranks, { ...task, servers, waits });
          for (const { digest, loss, auc, batches = [], missed = [], sentBytes } of results) {
            assertEquals([digest, loss, auc], [results[0]?.digest, results[0]?.loss, results[0]?.auc]);
            assertEquals([batches.length, missed.length], [ranks - servers, 4]);
            for (const counts of [batches, missed]) assertEquals(counts.reduce((all, one) => all + one, 0), 24);
            assert(sentBytes > 0 && loss > 0.1 && loss < 1, `loss ${loss}`);
          }
        }
      });
    },
  );
}

/** Processes whose command line has these words: their ids and states. */
function processesWith(words: string): number[] {
  return [...Deno.readDirSync("/proc")].filter(({ name }) => /^\d+$/.test(name)).flatMap(({ name }) => {
    try {
      return Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(words) ? [Number(name)] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}

/** Kills the second of `count` ranks while they train: with servers asynchronously, without in step. */
async function killed(mpi: Mpi, data: string, folder: string, count: number, servers: number): Promise<void> {
  const trainer = { ...MODEL, data, ...(servers === 0 ? {} : { ranksStaleness: 2 }) };
  const task = { trainer, servers, steps: 1_000_000, folder, storages: ["DRAM"], tells: true } as const;
  using child = new Disposing(start(mpi, count, task).spawn());
  let told = "";
  const reader = child.process.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (told.split("training").length < count + 1) {
    const { value, done } = await reader.read();
    assert(!done, told);
    told += value;
  }
  // Ranks, and the launcher, have the folder's name in their command line.
  const ranks = processesWith(folder).filter((id) => commandOf(id).startsWith(Deno.execPath()));
  assertEquals(ranks.length, count);
  const since = performance.now();
  Deno.kill(ranks[1] ?? 0, "SIGKILL");
  const { code } = await child.process.status;
  assert(performance.now() - since < 10_000, `ended after ${performance.now() - since} ms`);
  assert(code !== 0);
  for (let read = await reader.read(); !read.done; read = await reader.read()) told += read.value;
  for await (const chunk of child.process.stdout.pipeThrough(new TextDecoderStream())) told += chunk;
  // The launcher names a process; MPICH's at times one of those that it ended itself.
  assert(/process rank [0-9]\b/.test(told) || ranks.some((id) => told.includes(String(id))), told);
  assertEquals(processesWith(folder), []);
}

for (const mpi of ["openmpi", "mpich"] as const) {
  const reason = missing(mpi);
  const skipped = reason === undefined ? "" : ` (skipped: ${reason})`;
  const asTest = { ignore: reason !== undefined };

  for (const [how, count, servers] of [["in step", 2, 0], ["asynchronously", 3, 1]] as const) {
    const name = `${mpi}: a rank that trains ${how} and is killed ends all of them within ten seconds${skipped}`;
    Deno.test(name, asTest, () => withData((data, folder) => killed(mpi, data, folder, count, servers)));
  }

  Deno.test(
    `${mpi}: a job that is killed goes on from its last checkpoint on other ranks${skipped}`,
    asTest,
    async () => {
      await withData(async (data, folder) => {
        const path = `${folder}/checkpoints`;
        const task = { trainer: { ...MODEL, data }, steps: 9, folder, storages: ["DRAM_SSDHASH", "DRAM"] } as const;
        const never = await alone(data, 9, 3);
        {
          const checkpoints = { path, every: 3, restore: false };
          using child = new Disposing(start(mpi, 2, { ...task, checkpoints, stopsAt: 2 }).spawn());
          let told = "";
          const reader = child.process.stderr.pipeThrough(new TextDecoderStream()).getReader();
          while (told.split("written").length < 3) {
            const { value, done } = await reader.read();
            assert(!done, told);
            told += value;
          }
          const ranks = processesWith(folder).filter((id) => commandOf(id).startsWith(Deno.execPath()));
          Deno.kill(ranks[1] ?? 0, "SIGKILL");
          assert((await child.process.status).code !== 0);
          while (!(await reader.read()).done);
          await child.process.stdout.cancel();
        }
        const left = [...Deno.readDirSync(path)].map(({ name }) => name).sort();
        assertEquals(left.filter((name) => name.startsWith("00000002")), ["00000002.0001.ckpt", "00000002.ckpt"]);
        const [committed, ...others] = inspectCheckpoints(path);
        assertEquals([committed?.number, committed?.step, committed?.shares, others], [1, 3, 2, []]);

        const checkpoints = { path, every: 3, restore: true };
        const results = await run(mpi, 4, { ...task, checkpoints, servers: 2, storages: ["DRAM", "DRAM_PMEM"] });
        for (const { from, digest, loss, auc } of results) assertEquals([from, digest, loss, auc], [3, ...never]);
        await verifyCheckpoints(path);
        const chain = inspectCheckpoints(path).map(({ number, step, shares }) => [number, step, shares]);
        assertEquals(chain, [[1, 3, 2], [3, 6, 4]]);
        assert([...Deno.readDirSync(path)].every(({ name }) => !name.startsWith("00000002"))); // what was left is gone
      });
    },
  );

  Deno.test(
    `${mpi}: ranks that differ are refused before the first step, all by one message${skipped}`,
    asTest,
    async () => {
      await withData(async (data, folder) => {
        const task = { trainer: { ...MODEL, data, microBatch: 3 }, steps: 5, folder, storages: ["DRAM"] } as const;
        const { code, stderr, stdout } = await start(mpi, 2, task).output();
        assert(code !== 0);
        assertEquals(new TextDecoder().decode(stdout), "");
        assert(new TextDecoder().decode(stderr).includes("Rank 0 of 2: Cannot open trainer over ranks"));
        assertEquals(processesWith(folder), []);
      });
    },
  );
}

for (const mpi of ["openmpi", "mpich"] as const) {
  const reason = missing(mpi);
  const skipped = reason === undefined ? "" : ` (skipped: ${reason})`;
  const asTest = { ignore: reason !== undefined };

  Deno.test(`${mpi}: training that is cancelled on one rank ends on all of four${skipped}`, asTest, async () => {
    await withData(async (data, folder) => {
      const task = { trainer: { ...MODEL, data }, steps: 1_000_000, folder, storages: ["DRAM"], cancels: 2 } as const;
      const { code, stderr } = await start(mpi, 4, { ...task, waits: "yield" }).output();
      const told = new TextDecoder().decode(stderr);
      assertEquals(code, 0, told);
      assertEquals(told.split("Training was cancelled by rank 2 of 4 after ").length, 4, told); // and the signal's reason
      assertEquals(processesWith(folder), []);
    });
  });

  Deno.test(`${mpi}: a rank whose store is full ends all before the first step${skipped}`, asTest, async () => {
    await withData(async (data, folder) => {
      const task = { trainer: { ...MODEL, data }, steps: 5, folder, storages: ["DRAM"], tells: true } as const;
      const { code, stdout, stderr } = await start(mpi, 2, { ...task, sizeOfRank1: 20_000 }).output();
      const told = new TextDecoder().decode(stderr);
      // MPICH's launcher may say there that ranks were ended; a result would be a line of JSON.
      const printed = new TextDecoder().decode(stdout);
      assert(code !== 0 && !printed.includes("{") && told.includes("Rank 1 of 2: "), `${code}: ${printed}\n${told}`);
      assert(!told.includes("training"), told);
      assertEquals(processesWith(folder), []);
    });
  });
}

/** The command line of a process, `""` if it is gone. */
function commandOf(id: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${id}/cmdline`);
  } catch {
    return "";
  }
}

/** A process that does not outlive its test. */
class Disposing implements Disposable {
  readonly process: Deno.ChildProcess;
  constructor(process: Deno.ChildProcess) {
    this.process = process;
  }
  [Symbol.dispose](): void {
    try {
      this.process.kill("SIGTERM");
    } catch {
      // It ended.
    }
  }
}

Deno.test("a trainer over one rank alone closes with its ranks, and asks for ranks", async () => {
  await withData(async (data) => {
    using store = EmbeddingStore.open({ storage: "DRAM" });
    const ranks = Ranks.open();
    assertEquals({ ...ranks.describe(), messageNs: 0 }, {
      ...{ rank: 0, size: 1, trainers: 1, owners: 1, library: "none" },
      ...{ messages: 0, sentBytes: 0, receivedBytes: 0, messageNs: 0, waitingNs: 0, movingNs: 0 },
    });
    const trainer = WdlTrainer.open(store, { ...MODEL, data, ranksMessages: "separate", ranksRows: "bf16" }, ranks);
    await trainer.train(2);
    ranks.close();
    assertEquals(trainer.closed, true);
    await assertRejects(() => trainer.train(1), Error, "the group of ranks is closed");
    assertThrows(() => WdlTrainer.open(store, { ...MODEL, data }, ranks), Error, "is closed");
    assertThrows(() => WdlTrainer.open(store, { ...MODEL, data }, {} as Ranks), TypeError, "as a group of ranks");
    assertThrows(() => WdlTrainer.open(store, { ...MODEL, data, ranksRows: "bf16" }), TierstoreError, "ranks_rows");
  });
});

Deno.test("ranks of an MPI that is not there are refused with the packages", () => {
  const error = assertThrows(() => Ranks.open({ mpi: "none" as Mpi }), TierstoreError, "libmpich-dev");
  assertEquals(error.status, "TS_EUNAVAILABLE");
  assertThrows(() => Ranks.open({ server: 1 } as never), TypeError, "servers");
  assertThrows(() => Ranks.open({ servers: 1 }), TierstoreError, "one must train");
  assertThrows(() => Ranks.open({ waits: "sleep" as "yield" }), TierstoreError, 'unknown waits "sleep"');
});
