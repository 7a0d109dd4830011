/**
 * Training beside checkpoints against training without: two trainings of the same steps in one process, an interval of one and
 * an interval of the other by turns, so that what else the machine does meets both.
 *
 * @module
 */

import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import type { CheckpointPlace, IntervalPair } from "./ten_minutes.ts";

/** Steps before the first interval; the first checkpoint, which has every row, comes after them. */
const WARM = 10;
const BATCH = 2048;

/** Processor seconds of this process so far. */
export function processorSeconds(): number {
  const words = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]?.split(" ") ?? [];
  return (Number(words[11]) + Number(words[12])) / 100; // USER_HZ, which Linux fixes for programs
}

function storeOptions(place: CheckpointPlace, path: string): StoreOptions {
  // A quarter of the rows, counted alone: points have buffers in DRAM, which are next to nothing of 2 GB but half of 5 MiB.
  const size = ["5 MiB", "1 GiB"], sizeCounts = "rows";
  switch (place) {
    case "SSDHASH":
      return { storage: "DRAM_SSDHASH", path, size, sizeCounts, persistent: true, seed: 7 };
    case "PMEM":
      return { storage: "DRAM_PMEM", pmem: "libpmem", path, size, sizeCounts, persistent: true, seed: 7 };
    case "files":
      return { storage: "DRAM", seed: 7, trackChanges: true };
  }
}

/** Begins a checkpoint, whose promise resolves when it is durable; a restore point's state is held by then. */
async function begin(
  place: CheckpointPlace,
  store: EmbeddingStore,
  trainer: WdlTrainer,
  path: string,
): Promise<{ readonly durable: Promise<void> }> {
  if (place === "files") return { durable: trainer.checkpoint({ path: `${path}/chain`, kind: "auto" }).write() };
  await trainer.persist({ keep: 2 });
  return { durable: store.persisted() };
}

/**
 * Trains both by turns.
 *
 * @param folder An empty one, on the disk that checkpoints are to go to.
 * @param place Where they go.
 * @param pairs Pairs of intervals.
 * @param steps Steps of an interval, of 2048 samples.
 */
export async function measureSlowdown(
  folder: string,
  place: CheckpointPlace,
  pairs: number,
  steps: number,
): Promise<IntervalPair[]> {
  const data = `${folder}/train.cache`;
  await generateData({ out: data, rows: 100_000, scale: 0.005 });
  for (const name of ["without", "with"]) await Deno.mkdir(`${folder}/${name}`);
  const model = { data, batch: BATCH, hidden: [256, 128], seed: 7 };
  using plain = EmbeddingStore.open(storeOptions(place, `${folder}/without`));
  using kept = EmbeddingStore.open(storeOptions(place, `${folder}/with`));
  for (const store of place === "files" ? [] : [plain, kept]) await store.resume();
  using without = WdlTrainer.open(plain, model);
  using beside = WdlTrainer.open(kept, model);
  const timed = async (what: () => Promise<unknown>) => {
    const [wall, processor] = [performance.now(), processorSeconds()];
    await what();
    return { wall: (performance.now() - wall) / 1000, processor: processorSeconds() - processor };
  };
  const interval = async () => {
    const { durable } = await begin(place, kept, beside, `${folder}/with`);
    durable.catch(() => {}); // told where it is awaited
    await beside.train(steps);
    await durable;
  };
  await without.train(WARM);
  await beside.train(WARM);
  await interval();
  await without.train(steps);
  const found: IntervalPair[] = [];
  const counts = (): readonly number[] => {
    const { update_distinct: updates = 0, persisted: rows = 0 } = kept.statistics();
    return [updates, rows];
  };
  for (let i = 0; i < pairs; i++) {
    const before = counts();
    // By turns, so that what grows or shrinks meanwhile meets both.
    const first = await timed(i % 2 === 0 ? () => without.train(steps) : interval);
    const second = await timed(i % 2 === 0 ? interval : () => without.train(steps));
    const [updates = 0, rows = 0] = counts().map((count, at) => count - (before[at] ?? 0));
    const [plainly, checkpointed] = i % 2 === 0 ? [first, second] : [second, first];
    found.push({
      without: plainly.wall,
      with: checkpointed.wall,
      withoutProcessor: plainly.processor,
      withProcessor: checkpointed.processor,
      updates,
      rows,
    });
  }
  return found;
}
