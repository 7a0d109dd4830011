// Run by hbm_test.ts, and in a guest of the lab: trains a small model on every storage type with HBM, and prints what came
// of each, as JSON. Its argument is the node that is HBM for mbind; memkind finds its own, or has MEMKIND_HBW_NODES.
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";

/** One type: the digests of its rows and of the trainer, and where its first tier lies; or why it cannot be opened. */
export interface HbmRun {
  readonly storage: string;
  /** How its HBM is held; undefined without one. */
  readonly hbm?: string;
  readonly why?: string;
  readonly type?: string;
  /** `<node>:<sampled pages>`, by commas. */
  readonly pages?: string;
  readonly digests?: readonly string[];
  /** Rows that left the first tier. */
  readonly evicted?: number;
}

const hbmNodes = [Number(Deno.args[0])];
const pmem = { pmem: "mbind", pmemNodes: [0] } as const;
const memkind = { hbm: "memkind" } as const,
  mbind = { hbm: "mbind", hbmNodes } as const,
  opencl = { hbm: "opencl" } as const;
const types: readonly StoreOptions[] = [
  { storage: "DRAM" },
  { storage: "HBM", ...memkind, size: ["64 MiB"] },
  { storage: "HBM_DRAM", ...memkind, size: ["64 KiB", "16 MiB"] },
  { storage: "HBM_DRAM", ...mbind, size: ["64 KiB", "16 MiB"] },
  { storage: "HBM_DRAM_PMEM", ...memkind, ...pmem, size: ["64 KiB", "4 MiB", "16 MiB"] },
  { storage: "HBM_DRAM_SSDHASH", ...memkind, size: ["64 KiB", "16 MiB", "64 MiB"] },
  { storage: "HBM_DRAM_LEVELDB", ...memkind, size: ["64 KiB", "64 MiB", "64 MiB"] },
  { storage: "HBM_DRAM_PMEM_SSDHASH", ...memkind, ...pmem, size: ["64 KiB", "16 MiB", "64 KiB", "64 MiB"] },
  { storage: "HBM_DRAM_PMEM_LEVELDB", ...mbind, ...pmem, size: ["64 KiB", "64 MiB", "64 KiB", "64 MiB"] },
  { storage: "HBM", ...opencl, size: ["64 MiB"] },
  { storage: "HBM_DRAM", ...opencl, size: ["64 KiB", "16 MiB"] },
  { storage: "HBM_DRAM_PMEM", ...opencl, ...pmem, size: ["64 KiB", "4 MiB", "16 MiB"] },
  { storage: "HBM_DRAM_SSDHASH", ...opencl, size: ["64 KiB", "16 MiB", "64 MiB"] },
  { storage: "HBM_DRAM_LEVELDB", ...opencl, size: ["64 KiB", "64 MiB", "64 MiB"] },
  { storage: "HBM_DRAM_PMEM_SSDHASH", ...opencl, ...pmem, size: ["64 KiB", "16 MiB", "64 KiB", "64 MiB"] },
  { storage: "HBM_DRAM_PMEM_LEVELDB", ...opencl, ...pmem, size: ["64 KiB", "64 MiB", "64 KiB", "64 MiB"] },
];

async function trainOn(options: StoreOptions, data: string, path: string): Promise<HbmRun> {
  const { storage } = options;
  const names = options.hbm === undefined ? { storage } : { storage, hbm: options.hbm };
  const found = EmbeddingStore.probe({ ...options, path });
  if (!found.available) return { ...names, why: found.reason };
  using store = EmbeddingStore.open({ ...options, path, seed: 5 });
  using trainer = WdlTrainer.open(store, { data, batch: 64, hidden: [8], seed: 5 });
  await trainer.train(12);
  store.settle();
  const [first] = store.describe();
  const digests = [store.digest(), await trainer.digest()];
  return {
    ...names,
    type: first?.type ?? "",
    pages: first?.facts["pages"] ?? "",
    digests,
    evicted: store.statistics()["evicted"] ?? 0,
  };
}

const folder = await Deno.makeTempDir({ prefix: "tierbench " });
try {
  const data = `${folder}/train.bin`;
  await generateData({ out: data, rows: 2048, scale: 0.0005, seed: 1 });
  const said: HbmRun[] = [];
  for (const options of types) said.push(await trainOn(options, data, folder));
  console.log(JSON.stringify(said));
} finally {
  await Deno.remove(folder, { recursive: true });
}
