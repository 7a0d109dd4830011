/**
 * Emulated against modelled: does a store that is slowed down to a medium take the time that the model gives? Batches of
 * rows in PMEM of their own (PMEM_LIBPMEM on a file), one and two threads, median batch. Rows of `bench:simulator`.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import { evaluateMedia, type MediaQuery } from "../../ffi/media.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import type { BenchRow } from "../rows.ts";
import { loadMedia, mediaNativeOptions, mediaOptions } from "../../models/media/media.ts";

/** Emulated / modelled median batch times, by medium and threads. */
type EmulationRatios = Readonly<Record<string, number>>;

const DIM = 64, BATCH = 4096, ROWS = 1 << 17, ROUNDS = 41;

/** Distinct keys of a batch, spread over the rows. */
function batchOf(round: number): BigInt64Array<ArrayBuffer> {
  return BigInt64Array.from({ length: BATCH }, (_, i) => BigInt((i * 31 + round * 7919) % ROWS));
}

/** Emulated / modelled median time of a lookup of {@linkcode BATCH} rows. */
async function lookupRatio(medium: string, threads: number, folder: string): Promise<number> {
  const media = await loadMedia(medium);
  const path = `${folder}/${medium}-${threads}`;
  await Deno.mkdir(path, { recursive: true });
  const store = EmbeddingStore.open({
    storage: "PMEM_LIBPMEM",
    path,
    size: [256 * 2 ** 20],
    native: mediaNativeOptions(media, { prefix: "emulate", threads }),
  });
  const table = store.table({ name: "rows", dim: DIM });
  for (let round = 0; round < Math.ceil(ROWS / BATCH); round++) {
    table.lookup(BigInt64Array.from({ length: BATCH }, (_, i) => BigInt(round * BATCH + i)));
  }
  const times: number[] = [];
  // A new array for every answer would be a tenth of the time.
  const out = new Float32Array(BATCH * DIM);
  for (let round = 0; round < ROUNDS; round++) {
    const keys = batchOf(round);
    const start = performance.now();
    table.lookupInto(keys, out);
    times.push((performance.now() - start) * 1e6);
  }
  store.close();
  const query: MediaQuery = { ask: "bandwidth", operation: "load", bytes: DIM * 4, threads, prefetch: true };
  const [rate = NaN] = evaluateMedia(mediaOptions(media), [query]);
  return median(times) / (BATCH * DIM * 4 * threads / rate * 1e9);
}

/**
 * Measures emulated against modelled batch times.
 *
 * @param folder Where the files of the emulated medium are put; a memory file system keeps the machine out of it.
 */
export async function emulationRatios(folder: string = "/dev/shm/tierbench-emulation"): Promise<EmulationRatios> {
  const ratios: Record<string, number> = {};
  try {
    for (const medium of ["optane-100-1x256", "optane-100-6x256", "cxl-type3-ddr4"]) {
      for (const threads of [1, 2]) {
        ratios[`${medium}, ${threads} thread${threads === 1 ? "" : "s"}`] = await lookupRatio(medium, threads, folder);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return ratios;
}

/**
 * The row: how far the worst of them is from the model, as a ratio of 1 or more. Every ratio is in the note.
 *
 * @throws {RangeError} If one is no positive number.
 */
export function emulationRow(ratios: EmulationRatios): BenchRow {
  const all = Object.entries(ratios);
  const bad = all.find(([, ratio]) => !(ratio > 0 && Number.isFinite(ratio)));
  if (bad !== undefined || all.length === 0) {
    throw new RangeError(`Cannot make the row "emulation/model": ${bad?.join(" gave ") ?? "it has no ratios"}`);
  }
  return {
    name: "emulation/model",
    value: Math.max(...all.map(([, ratio]) => Math.max(ratio, 1 / ratio))),
    low: null,
    high: null,
    unit: "ratio",
    atMost: 1.05,
    note: `worst of median batches: ${all.map(([name, ratio]) => `${name} ${ratio.toFixed(3)}`).join("; ")}`,
  };
}
