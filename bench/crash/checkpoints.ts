/**
 * What checkpoints cost on this machine: training beside them, a delta's bytes, a restore against reading the file.
 *
 * @module
 */

import { inspectCheckpoints } from "../../ffi/checkpoint.ts";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { loadProfile, type Profile } from "../../models/workloads/profile.ts";
import { generateKeys } from "../../models/workloads/profile_keys.ts";
import { run } from "../program.ts";

/** How large the measurements are. */
export interface CheckpointSizes {
  /** Pairs of trainings. */
  readonly trainings: number;
  /** Rows of the law whose delta is measured. */
  readonly lawRows: number;
  /** Rows that are restored, of 128 bytes. */
  readonly restoreRows: number;
  /** Restores. */
  readonly restores: number;
}

/** What was measured. */
export interface CheckpointCosts {
  /** Of each pair: time of training with checkpoints by time without. */
  readonly slowdowns: readonly number[];
  /** Bytes of the two checkpoints. */
  readonly delta: { readonly full: number; readonly delta: number };
  /** Of each restore: seconds that dd takes to read the file by those of the restore, and processor seconds of both. */
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

/** Intervals of ten minutes in 80 minutes of training, as `scenarios/checkpointing.jsonc` has them. */
const INTERVALS = 8;
const STEPS_EACH = 12;
const WARM = 10;

/** Milliseconds that training takes, without checkpoints or with one after each interval. */
async function training(data: string, path: string | undefined): Promise<number> {
  using store = EmbeddingStore.open({ storage: "DRAM", seed: 7, trackChanges: true });
  using trainer = WdlTrainer.open(store, { data, batch: 2048, hidden: [256, 128], seed: 7 });
  await trainer.train(WARM);
  let writing: Promise<void> = Promise.resolve();
  const begun = performance.now();
  for (let i = 0; i < INTERVALS; i++) {
    await trainer.train(STEPS_EACH);
    if (path === undefined) continue;
    await writing; // who comes to the next cut before it is durable waits
    writing = trainer.checkpoint({ path }).write();
    writing.catch(() => {}); // told where it is awaited
  }
  const ms = performance.now() - begun;
  await writing;
  return ms;
}

async function slowdowns(folder: string, pairs: number): Promise<number[]> {
  const data = `${folder}/train.cache`;
  await generateData({ out: data, rows: 100_000, scale: 0.005 });
  const ratios: number[] = [];
  await training(data, undefined); // pages of the data come in
  for (let i = 0; i < pairs; i++) {
    const path = `${folder}/slow-${i}`;
    // By turns, so that what grows or shrinks meanwhile meets both.
    const first = i % 2 === 0 ? await training(data, undefined) : await training(data, path);
    const second = i % 2 === 0 ? await training(data, path) : await training(data, undefined);
    ratios.push(i % 2 === 0 ? second / first : first / second);
    await Deno.remove(path, { recursive: true });
  }
  return ratios;
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

async function deltaBytes(folder: string, rows: number): Promise<CheckpointCosts["delta"]> {
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

/** Processor seconds of this process so far. */
function processor(): number {
  const words = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]?.split(" ") ?? [];
  return (Number(words[11]) + Number(words[12])) / 100; // USER_HZ, which Linux fixes for programs
}

async function seconds(what: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await what();
  return (performance.now() - begun) / 1000;
}

async function restores(
  folder: string,
  rows: number,
  count: number,
): Promise<Pick<CheckpointCosts, "restores" | "restoredBytes">> {
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
    const before = processor();
    const restore = await seconds(() => store.restore({ path }));
    all.push({ dd, restore, restoreProcessor: processor() - before });
  }
  const restoredBytes = (await Deno.stat(file)).size;
  await Deno.remove(path, { recursive: true });
  return { restores: all, restoredBytes };
}

/**
 * Measures.
 *
 * @param folder An empty one, on the disk that checkpoints are to go to.
 * @param sizes How much of it.
 */
export async function measureCheckpoints(folder: string, sizes: CheckpointSizes): Promise<CheckpointCosts> {
  return {
    slowdowns: await slowdowns(folder, sizes.trainings),
    delta: await deltaBytes(folder, sizes.lawRows),
    ...await restores(folder, sizes.restoreRows, sizes.restores),
  };
}
