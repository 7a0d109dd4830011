/**
 * On the SSD: reads of cold rows against what the device gives and against RocksDB, and bytes written for bytes evicted.
 * Data are ten times the first tier (`size_counts` rows: at 128 bytes a row the index alone would be more than a tenth).
 *
 * @module
 */

import { type Answer, Contender, numberOf } from "./contender.ts";
import { RECORD_BYTES, ROW_BYTES } from "./plan.ts";
import { type BenchRow, missingRow, ratioRow, worstRow } from "./rows.ts";
import { type Options, ours, prepare, type Setting, smaller } from "./setting.ts";

/** Reads in flight, for the rate. */
const DEPTH = 128;
/** Reads in flight, for the CPU time. */
const CPU_DEPTH = 32;
/** Keys of a lookup of cold rows: enough that the reads of one call keep the device busy. */
const COLD_BATCH = 16384;
/** Live set of the writing test, as a part of the keys: five times as much has to be written before anything counts. */
const LIVE_PART = { full: 8, short: 20 };
/** Zipf 1.05, in `DISTRIBUTIONS`. */
const SKEWED = 2;

/** Options of a store whose first tier holds a tenth of the rows. */
function tiered(setting: Setting, keys: number, ssdBytes: number, folder: string, more: Options): Options {
  const path = `${setting.scratch}/${folder}`;
  Deno.mkdirSync(path, { recursive: true });
  return ours(setting, "DRAM_SSDHASH", {
    "store.size": `${Math.ceil(keys / 10) * ROW_BYTES},${ssdBytes}`,
    "store.size_counts": "rows",
    "store.path": path,
    ...more,
  });
}

/** CPU time of a row, seconds. */
function cpuOf(answer: Answer): number {
  return numberOf(answer, "cpu") / numberOf(answer, "rows");
}

/** Rows a second. */
function rateOf(answer: Answer, what: "rows" | "reads"): number {
  return numberOf(answer, what) / numberOf(answer, "seconds");
}

/** Cold reads: rate against the device's, CPU time against RocksDB's. */
export async function measureReads(setting: Setting): Promise<BenchRow[]> {
  const { keys, ssdRounds, ssdMs } = setting.plan;
  const room = 4 * keys * RECORD_BYTES;
  const rawBytes = keys * RECORD_BYTES;
  const rows: BenchRow[] = [];
  let dram = 0;
  {
    const options = tiered(setting, keys, room, "read-rate", { "store.ssdhash.depth": DEPTH, "stepped": 0 });
    await using store = (await prepare(setting, "ours", options)).contender;
    dram = numberOf(await store.command("memory"), "all");
    await using raw = new Contender("raw_reads", `${setting.programs}/raw_reads`, [
      `${setting.scratch}/raw`,
      `${Math.ceil(rawBytes / 2 ** 20) * 2 ** 20}`,
      "1",
    ]);
    await raw.answer();
    // The first rounds write what filling left dirty in the first tier, and are not counted.
    for (let i = 0; i < 2; i++) await store.command("cold", { batch: COLD_BATCH, ms: ssdMs });
    const ratios: number[] = [];
    const rates: number[] = [];
    for (let round = 0; round < ssdRounds; round++) {
      const before = rateOf(await raw.send(`${DEPTH} ${ssdMs}`), "reads");
      const mine = rateOf(await store.command("cold", { batch: COLD_BATCH, ms: ssdMs }), "rows");
      const after = rateOf(await raw.send(`${DEPTH} ${ssdMs}`), "reads");
      ratios.push(mine / ((before + after) / 2));
      rates.push(mine * 1e-3);
    }
    rows.push(worstRow("ssd-read/raw", [ratioRow("ssd-read/raw uniform", ratios, `${DEPTH} in flight`)]));
    rows.push({ ...ratioRow("rate ssd-read ours uniform", rates), unit: "thousand rows/s" });
  }
  await Deno.remove(`${setting.scratch}/read-rate`, { recursive: true });
  rows.push(...await measureCpu(setting, room, dram));
  return rows;
}

async function measureCpu(setting: Setting, room: number, dram: number): Promise<BenchRow[]> {
  const name = "ssd-cpu/rocksdb";
  const { keys, ssdRounds, ssdMs } = setting.plan;
  if (!setting.peers.includes("rocksdb")) {
    return [missingRow(name, `rocksdb needs ${setting.absent.get("rocksdb") ?? "its headers"}`)];
  }
  const options = tiered(setting, keys, room, "read-cpu", { "store.ssdhash.depth": CPU_DEPTH, "stepped": 0 });
  await using store = (await prepare(setting, "ours", options)).contender;
  // The same DRAM for its cache as our store has for rows and index together.
  const peerOptions = { path: `${setting.scratch}/rocksdb-cold`, cache: Math.round(dram), direct: 1, stepped: 0 };
  await using peer = (await prepare(setting, "rocksdb", peerOptions)).contender;
  for (let i = 0; i < 2; i++) await store.command("cold", { batch: COLD_BATCH, ms: ssdMs });
  await peer.command("cold", { threads: CPU_DEPTH, ms: ssdMs });
  const ratios: Record<"threads" | "MultiGet", number[]> = { threads: [], MultiGet: [] };
  const mine: number[] = [];
  for (let round = 0; round < ssdRounds; round++) {
    const own = cpuOf(await store.command("cold", { batch: COLD_BATCH, ms: ssdMs }));
    const threads = cpuOf(await peer.command("cold", { threads: CPU_DEPTH, ms: ssdMs }));
    const multi = cpuOf(await peer.command("cold", { threads: CPU_DEPTH, multiget: 1, ms: ssdMs }));
    mine.push(own * 1e6);
    ratios.threads.push(own / threads);
    ratios.MultiGet.push(own / multi);
  }
  const note = `RocksDB: direct reads, ${Math.round(dram / 2 ** 20)} MiB cache, as much as the store holds in DRAM`;
  // RocksDB as it is best: the worse of both ratios has the bar.
  const parts = [
    ratioRow(`${name} ${CPU_DEPTH} threads with Get`, ratios.threads, note),
    ratioRow(`${name} MultiGet of ${CPU_DEPTH} keys`, ratios.MultiGet, note),
  ];
  return [worstRow(name, parts), ...parts, { ...ratioRow("cpu ssd-read ours uniform", mine), unit: "µs/row" }];
}

/** Bytes written to the device for each byte of dirty rows evicted, once the live set was written five times over. */
export async function measureWrites(setting: Setting): Promise<BenchRow[]> {
  const name = "ssd-write-amplification";
  const keys = Math.round(setting.plan.keys / LIVE_PART[setting.plan.full ? "full" : "short"]);
  const options = tiered(setting, keys, 2 * keys * RECORD_BYTES, "writes", {});
  await using store = (await prepare(await smaller(setting, keys, 64), "ours", options)).contender;
  const look = async (): Promise<{ dirty: number; device: number; own: number }> => {
    await store.command("settle");
    const counters = await store.command("statistics");
    return {
      dirty: numberOf(counters, "evicted") - numberOf(counters, "evicted_clean"),
      device: numberOf(await store.command("io"), "written"),
      own: numberOf(counters, "records_written_bytes"),
    };
  };
  const begin = await look();
  let now = begin;
  let step = 0;
  const advance = async (rows: number): Promise<void> => {
    const from = now.dirty;
    while (now.dirty - from < rows) {
      const before = now.dirty;
      await store.command("round", { kind: "step", distribution: SKEWED, threads: 2, ms: 500, first: step++ * 5 });
      now = await look();
      if (now.dirty === before) throw new RangeError("Cannot measure written bytes: updates evict no dirty rows");
    }
  };
  await advance(5 * keys);
  const device: number[] = [];
  const own: number[] = [];
  for (let round = 0; round < 5; round++) {
    const from = now;
    await advance(keys / 4);
    device.push((now.device - from.device) / ((now.dirty - from.dirty) * ROW_BYTES));
    own.push((now.own - from.own) / ((now.dirty - from.dirty) * ROW_BYTES));
  }
  const parts = [ratioRow(`${name} as the kernel counts`, device), ratioRow(`${name} as the store counts`, own)];
  return [worstRow(name, parts), ...parts];
}
