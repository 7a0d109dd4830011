/** Jobs of real ranks: what they give back, and what is left when one of them fails. */

import "../../native_library.ts";
import { processesWith } from "../../../bench/ranks/kills.ts";
import { generateData } from "../../../ffi/data.ts";
import { type RankStart, rankStart } from "../../../machines/rank_launcher.ts";
import { runRanks } from "../../../scenarios/run/rank_process.ts";
import { summedOutcome } from "../../../scenarios/run/rank_record.ts";
import { UnavailableError } from "../../../base/unavailable.ts";
import type { RankJob, SpeedOutcome } from "../../../scenarios/run/worker_protocol.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const STORE = { storage: "DRAM", size: [2 ** 27], sizeCounts: "all", seed: 5, native: {} } as const;

/** How ranks of an MPI are started here, or why they cannot be. */
function startOf(mpi: "openmpi" | "mpich", ranks: number): RankStart | string {
  try {
    return rankStart({ ranks, launcher: "mpirun", mpi });
  } catch (error) {
    if (error instanceof UnavailableError) return error.message;
    throw error;
  }
}

async function withData(test: (data: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench-ranks-" });
  try {
    await generateData({ out: `${folder}/train.bin`, rows: 4096, scale: 0.001, seed: 1 });
    await test(`${folder}/train.bin`, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function jobOf(
  start: RankStart,
  data: string,
  more: { servers?: number; steps?: number; store?: object; checkpoint?: object; ranksStaleness?: number } = {},
): RankJob {
  const tables = Array.from({ length: 26 }, (_, i) => ({ name: `C${i + 1}`, dim: 4, columns: [`C${i + 1}`] }));
  const trainer = { data, tables, batch: 256, hidden: [16, 8], wideBuckets: 200, threads: 1, seed: 1 };
  const { servers = 0, steps = 4, store = STORE, ranksStaleness, ...others } = more;
  const asynchronous = ranksStaleness === undefined ? {} : { ranksStaleness };
  const spec = {
    task: "speed",
    warmup: 1,
    steps,
    store,
    trainer: { ...trainer, ...asynchronous },
    ...others,
  } as unknown as RankJob["spec"];
  return { ...(start.mpi === undefined ? {} : { mpi: start.mpi }), servers, spec, empty: STORE };
}

for (const mpi of ["openmpi", "mpich"] as const) {
  const start = startOf(mpi, 2);
  const why = typeof start === "string" ? ` (skipped: ${start})` : "";
  const ignore = typeof start === "string";
  const started = start as RankStart;

  Deno.test(
    `${mpi}: ranks give one outcome with each rank's, to the bits of one rank alone${why}`,
    { ignore },
    async () => {
      await withData(async (data, folder) => {
        const alone = rankStart({ ranks: 1, launcher: "mpirun", mpi });
        const one = await runRanks(jobOf(alone, data), { start: alone, count: 1, environment: {} }) as SpeedOutcome;
        const store = { ...STORE, storage: "DRAM_SSDHASH", size: [2 ** 18, 2 ** 31], sizeCounts: "rows", path: folder };
        const layouts = [{}, { servers: 1, store }] as const;
        for (const layout of layouts) {
          const options = { start: started, count: 2, environment: {} };
          const two = await runRanks(jobOf(started, data, layout), options) as SpeedOutcome;
          assertEquals([two.digest, two.loss], [one.digest, one.loss]);
          assertEquals(summedOutcome(two).tables, summedOutcome(one).tables);
          assert(two.tables.length > 0);
          const ranks = two.cluster?.ranks ?? [];
          assertEquals(ranks.map(({ hello: { rank, host } }) => [rank, host]), [0, 1].map((i) => [i, Deno.hostname()]));
          const [a, b] = ranks.map(({ outcome }) => outcome.exchange);
          assert(a !== undefined && b !== undefined && a.sentBytes > 0 && a.sentBytes === b.receivedBytes);
          assert(a.messages > 0 && a.messageNs > 0);
          for (const { waitingNs, movingNs, messageNs } of [a, b]) {
            assert(movingNs > 0);
            assertEquals(waitingNs + movingNs, messageNs);
          }
          assertEquals(ranks.map(({ outcome }) => outcome.tiers.length), "servers" in layout ? [1, 2] : [1, 1]);
        }
        assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["train.bin"]);
        assertEquals(processesWith(data), []);
      });
    },
  );

  Deno.test(
    `${mpi}: ranks with checkpoints train the same, tell of each and of the restore, in outcomes of any length${why}`,
    { ignore },
    async () => {
      await withData(async (data, folder) => {
        const steps = 300; // outcomes of many lines
        const checkpoint = { every: 100, kind: "full", path: `${folder}/checkpoints` };
        const options = { start: started, count: 2, environment: {} };
        const plain = await runRanks(jobOf(started, data, { steps }), options) as SpeedOutcome;
        const outcome = await runRanks(jobOf(started, data, { steps, checkpoint }), options) as SpeedOutcome;
        assertEquals([outcome.digest, outcome.stepNs.length], [plain.digest, steps]);
        const { written = [], restoreNs = 0, restoredBytes } = outcome.checkpoint ?? {};
        assertEquals(written.map(({ step, kind }) => [step, kind]), [100, 200, 300].map((step) => [step, "full"]));
        assert(written.every(({ durableNs, bytes }) => durableNs > 0 && bytes > 100_000) && restoreNs > 0);
        assertEquals(restoredBytes, written.at(-1)?.bytes);
      });
    },
  );

  Deno.test(
    `${mpi}: ranks that train asynchronously tell who took the counted steps and what these missed${why}`,
    { ignore },
    async () => {
      await withData(async (data, folder) => {
        const three = startOf(mpi, 3) as RankStart;
        const checkpoint = { every: 8, kind: "full", path: `${folder}/checkpoints` };
        const job = jobOf(three, data, { servers: 1, steps: 24, ranksStaleness: 2, checkpoint });
        const outcome = await runRanks(job, { start: three, count: 3, environment: {} }) as SpeedOutcome;
        const { batches = [], missed = [] } = outcome.asynchronous ?? {};
        assertEquals([batches.length, missed.length, outcome.stepNs.length], [2, 3, 24]);
        for (const counts of [batches, missed]) assertEquals(counts.reduce((sum, count) => sum + count, 0), 24);
        assert(outcome.stepNs.every((ns) => ns >= 0) && outcome.trainer["deterministic"] === "0");
        assertEquals(outcome.checkpoint?.written.map(({ step }) => step), [8, 16, 24]);
        assert((outcome.checkpoint?.restoreNs ?? 0) > 0);
        const ranks = outcome.cluster?.ranks ?? [];
        assertEquals(ranks.map(({ outcome: { digest } }) => digest), Array.from({ length: 3 }, () => outcome.digest));
        const [sent, received] = (["sentBytes", "receivedBytes"] as const).map((field) =>
          ranks.reduce((sum, { outcome: { exchange } }) => sum + (exchange?.[field] ?? 0), 0)
        );
        assert(sent === received && (sent ?? 0) > 0, `${sent} bytes sent, ${received} received`);
      });
    },
  );

  Deno.test(
    `${mpi}: a store that is full and one that cannot open fail by the rank, before a step${why}`,
    { ignore },
    async () => {
      await withData(async (data) => {
        for (
          const [store, expected] of [
            [{ size: [2 ** 16], sizeCounts: "rows" }, /full|no room|no tier/i],
            [{ size: [1] }, /below the minimum/],
          ] as const
        ) {
          const phases = new Set<string>();
          const job = jobOf(started, data, { store: { ...STORE, ...store } });
          const { message } = await assertRejects(
            () =>
              runRanks(job, { start: started, count: 2, environment: {}, onProgress: (phase) => phases.add(phase) }),
            Error,
          );
          assert(/^Rank [01] of 2/.test(message) && expected.test(message), message);
          assert(!phases.has("warmup") && !phases.has("train"), [...phases].join());
          assertEquals(processesWith(data), []);
        }
      });
    },
  );

  Deno.test(`${mpi}: a job whose run is stopped leaves nobody${why}`, { ignore }, async () => {
    await withData(async (data) => {
      const stop = new AbortController();
      await assertRejects(
        () =>
          runRanks(jobOf(started, data, { steps: 1_000_000 }), {
            start: started,
            count: 2,
            environment: {},
            signal: stop.signal,
            onProgress: (phase) => phase === "train" ? stop.abort(new Error("stopped")) : undefined,
          }),
        Error,
        "stopped",
      );
      assertEquals(processesWith(data), []);
    });
  });
}

Deno.test("a launcher that cannot start ranks is quoted, with the ranks that did not start", async () => {
  await withData(async (data) => {
    const start = { mpi: "openmpi", launcher: "mpirun", words: ["sh", "-c", "echo no slots >&2; exit 3"] } as const;
    const { message } = await assertRejects(
      () =>
        runRanks(jobOf({ ...start, environment: {} }, data), {
          start: { ...start, environment: {} },
          count: 2,
          environment: {},
        }),
      Error,
    );
    assertEquals(message, "Rank 0, 1 of 2 did not start: the launcher ended with exit code 3; it said: no slots");
  });
});
