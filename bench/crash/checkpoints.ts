/**
 * What checkpoints cost on this machine: training beside them, a delta's bytes, a restore against reading the file.
 *
 * @module
 */

import { inspectCheckpoints } from "../../ffi/checkpoint.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { loadProfile, type Profile } from "../../models/workloads/profile.ts";
import { generateKeys } from "../../models/workloads/profile_keys.ts";
import { run } from "../program.ts";
import { measureSlowdown, processorSeconds } from "./slowdowns.ts";
import type { CheckpointPlace, IntervalPair } from "./ten_minutes.ts";

/** How large the measurements are. */
export interface CheckpointSizes {
  /** Pairs of intervals of training, and the steps of an interval. */
  readonly intervals: number;
  readonly steps: number;
  /** Rows of the law whose delta is measured. */
  readonly lawRows: number;
  /** Rows that are restored, of 128 bytes. */
  readonly restoreRows: number;
  /** Restores. */
  readonly restores: number;
}

/** What points and files take from training. */
export interface Slowdowns {
  /** Intervals of training with a checkpoint and without, where they go to. */
  readonly slowdowns: Readonly<Record<CheckpointPlace, readonly IntervalPair[]>>;
  /** Steps of an interval. */
  readonly steps: number;
}

/** Bytes of two checkpoints. */
export interface DeltaBytes {
  readonly full: number;
  readonly delta: number;
}

/** What restores take. */
export interface Restores {
  /** Of each: seconds that dd takes to read the file by those of the restore, and processor seconds of both. */
  readonly restores: readonly RestoreCost[];
  /** Bytes of the file that was restored. */
  readonly restoredBytes: number;
}

/** One restore. */
export interface RestoreCost {
  /** Wall clock, seconds. */
  readonly dd: number;
  /** Wall clock, seconds. */
  readonly restore: number;
  /** Processor time of all threads, seconds. */
  readonly restoreProcessor: number;
}

/** Ten minutes of the 5.75 hours that an epoch takes in the paper of the law (OpenEmbedding, ICDE 2023, table V, DRAM). */
const EPOCH_INTERVALS = 5.75 * 6;
/** Lookups of an epoch for each row of the law. Fewer make the table smaller and the delta's share larger. */
const LOOKUPS_A_ROW = 8;
const DIM = 16;

/** The profile with so many rows and the same shape: its shift of ranks is a share of the rows. */
function smaller(profile: Profile, rows: number): Profile {
  const [table] = profile.tables;
  const zipf = table?.popularity.zipf;
  if (table === undefined || zipf === undefined) {
    throw new Error('Cannot scale the profile "oe-retail": it has no Zipf law');
  }
  const popularity = { ...table.popularity, zipf: { ...zipf, q: zipf.q * rows / table.rows } };
  return { ...profile, tables: [{ ...table, rows, popularity }] };
}

/**
 * Bytes of a delta and of the full checkpoint before it, under the law of `oe-retail`.
 *
 * @param folder On the disk that checkpoints are to go to.
 * @param sizes Rows of the law.
 */
export async function measureDelta(folder: string, { lawRows: rows }: CheckpointSizes): Promise<DeltaBytes> {
  const path = `${folder}/law`;
  using store = EmbeddingStore.open({ storage: "DRAM", size: [rows * 400 + 2 ** 28], seed: 7, trackChanges: true });
  const table = store.table({ name: "t", dim: DIM, optimizer: "adagrad" });
  const epoch = rows * LOOKUPS_A_ROW, interval = Math.round(epoch / EPOCH_INTERVALS);
  const profile = smaller(await loadProfile("oe-retail"), rows);
  const train = (first: number, samples: number): void => {
    for (const { keys } of generateKeys(profile, { first, samples, seed: 7 })) {
      table.update(keys, new Float32Array(keys.length * DIM).fill(1));
    }
  };
  train(0, epoch);
  await store.checkpoint({ path, kind: "full" }).write();
  train(epoch, interval);
  await store.checkpoint({ path, kind: "delta" }).write();
  const bytes = inspectCheckpoints(path).map((checkpoint) => checkpoint.bytes ?? 0);
  await Deno.remove(path, { recursive: true });
  return { full: bytes[0] ?? 0, delta: bytes[1] ?? 0 };
}

async function seconds(what: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await what();
  return (performance.now() - begun) / 1000;
}

/**
 * Restores into DRAM beside dd, one after the other, so that both find the machine the same.
 *
 * @param folder On the disk that checkpoints are to go to.
 * @param sizes Rows and how often.
 */
export async function measureRestores(
  folder: string,
  { restoreRows: rows, restores: count }: CheckpointSizes,
): Promise<Restores> {
  const path = `${folder}/recovery`;
  const options = { storage: "DRAM", size: [rows * 200 + 2 ** 28], seed: 7 } as const;
  const piece = 65_536;
  {
    using store = EmbeddingStore.open(options);
    const table = store.table({ name: "t", dim: DIM, optimizer: "adagrad" });
    const keys = new BigInt64Array(piece), out = new Float32Array(piece * DIM);
    for (let at = 0; at < rows; at += piece) {
      table.lookupInto(keys.map((_, i) => BigInt(at + i)), out);
    }
    await store.checkpoint({ path, kind: "full" }).write();
  }
  const file = `${path}/00000001.ckpt`;
  const forget = (): Promise<string> => run("dd", [`if=${file}`, "iflag=nocache", "count=0", "status=none"]);
  const all: RestoreCost[] = [];
  for (let i = 0; i < count; i++) {
    await forget();
    const dd = await seconds(() => run("dd", [`if=${file}`, "of=/dev/null", "bs=1M", "status=none"]));
    await forget();
    using store = EmbeddingStore.open(options);
    const before = processorSeconds();
    const restore = await seconds(() => store.restore({ path }));
    all.push({ dd, restore, restoreProcessor: processorSeconds() - before });
  }
  const restoredBytes = (await Deno.stat(file)).size;
  await Deno.remove(path, { recursive: true });
  return { restores: all, restoredBytes };
}

/**
 * What training loses beside checkpoints, in all three places.
 *
 * @param folder An empty one, on the disk that checkpoints are to go to.
 * @param sizes Intervals and their steps.
 */
export async function measureSlowdowns(folder: string, { intervals, steps }: CheckpointSizes): Promise<Slowdowns> {
  const pairs = async (place: CheckpointPlace): Promise<IntervalPair[]> => {
    const own = `${folder}/slow-${place}`;
    await Deno.mkdir(own);
    const found = await measureSlowdown(own, place, intervals, steps);
    await Deno.remove(own, { recursive: true });
    return found;
  };
  return {
    slowdowns: { SSDHASH: await pairs("SSDHASH"), PMEM: await pairs("PMEM"), files: await pairs("files") },
    steps,
  };
}
