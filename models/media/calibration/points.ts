/**
 * What each published figure is to a media model: which model, which platform, which question. A row that no rule
 * takes is not compared; {@linkcode NOT_COMPARED} says why.
 *
 * @module
 */

import type { MediaOperation, MediaQuery } from "../../../ffi/media.ts";
import { BANDWIDTH_UNITS, type CalibrationRow, isVerified } from "./calibration.ts";

/** Kinds of figures that share an error: a band is made of the residuals of its kind. */
export type FigureKind = "latency" | "read" | "write" | "mixed" | "percentile" | "amplification";

/** One comparison. */
export interface CalibrationPoint {
  /** The row. */
  readonly id: string;
  /** Rows that differ in threads or load only, or in size where that is the axis. */
  readonly curve: string;
  /** Name of the media model. */
  readonly medium: string;
  /** A platform of that model's file. */
  readonly platform: string;
  /** What kind of figure. */
  readonly kind: FigureKind;
  /** The question. */
  readonly query: MediaQuery;
  /** Published: ns or bytes a second. */
  readonly value: number;
  /** For threads of two kinds: how many read. The share of the bytes follows from what each does alone. */
  readonly readers?: number;
}

type Groups = Readonly<Record<string, string>>;
type Rule = {
  readonly match: RegExp;
  readonly medium: string | ((g: Groups) => string | undefined);
  readonly platform: string | ((g: Groups) => string);
  readonly query: (g: Groups, row: CalibrationRow) =>
    | MediaQuery & {
      readonly readers?: number;
      /** Bytes that the source counted for each byte of distinct lines; 1, if absent. */
      readonly counted?: number;
    }
    | undefined;
};

const OPERATIONS: Readonly<Record<string, MediaOperation>> = {
  Load: "load",
  Read: "load",
  R: "load",
  read: "load",
  reads: "load",
  NTStore: "nt-store",
  Writentstore: "nt-store",
  ntstore: "nt-store",
  W: "nt-store",
  nocache: "nt-store",
  Store: "cached-store",
  store: "cached-store",
  none: "cached-store",
  write: "cached-store",
  "Store+Flush": "flushed-store",
  Writeclwb: "flushed-store",
  "store+clwb": "flushed-store",
  cache: "flushed-store",
};

function operation(word: string | undefined): MediaOperation {
  const found = OPERATIONS[word ?? ""];
  if (found === undefined) throw new Error(`Cannot compare with published figures: no operation "${word}"`);
  return found;
}

const number = (text: string | undefined): number => Number(text ?? "1");
/** A number of a row's condition, with a unit after it; NaN without one. */
export const inCondition = (row: CalibrationRow, pattern: RegExp): number => Number(pattern.exec(row.condition)?.[1]);

const bandwidth = (word: string | undefined, g: Groups, more: Partial<MediaQuery> = {}): MediaQuery => ({
  ask: "bandwidth",
  operation: operation(word),
  bytes: number(g["bytes"] ?? "256"),
  threads: number(g["threads"]),
  ...more,
});

const latency = (word: string, more: Partial<MediaQuery> = {}): MediaQuery => ({
  ask: "latency",
  operation: operation(word),
  bytes: 64,
  threads: 1,
  ...more,
});

const OS_MEDIA: Groups = {
  dram: "ddr4-2666-6ch",
  dram6: "ddr4-2666-6ch",
  dram6R: "ddr4-2666-6ch",
  DRAM: "ddr4-2666-6ch",
  o1: "optane-100-1x256",
  pmem1: "optane-100-1x256",
  o6: "optane-100-6x256",
  pmem6: "optane-100-6x256",
  Optane: "optane-100-6x256",
  pmem: "optane-100-6x256",
};
const PB_MEDIA: Groups = {
  "A-DRAM256": "ddr4-2666-6ch",
  "B-DRAM": "ddr4-3200-8ch",
  "A-256": "optane-100-6x256",
  "a-256": "optane-100-6x256",
  "A-128": "optane-100-6x128",
  "A-512": "optane-100-6x512",
  "A-1DIMM": "optane-100-1x256",
  "A-2DIMM": "optane-100-2x256",
  "B-256": "optane-200-8x256",
};
const os = (g: Groups): string | undefined => OS_MEDIA[g["on"] ?? ""];
const pb = (g: Groups): string | undefined => PB_MEDIA[g["on"] ?? ""];

/** Media of the systems that Mess measured. */
export const MESS_MEDIA: Groups = {
  EPEEC4: "ddr4-2933-6ch",
  MN5GPP: "ddr5-4800-8ch-1dpc",
  MN5ACC: "ddr5-4800-8ch-2dpc",
  CTEAMD: "ddr4-3200-8ch-zen2",
  GRACE: "lpddr5x-grace",
  MN5HBM: "hbm2e-xeon-max",
};

/** Traffic beside a latency of Mess, GB/s, in a row's condition. */
export const MESS_TRAFFIC: RegExp = /reads, ([\d.]+) GB/;

/** What PerMA-Bench's timer and fence add to a latency: its DRAM row less the idle latency of such DRAM (trap 6). */
export const PERMA_TIMER_NS: number = 37.1;
/** PerMA-Bench reads from regions of this size: far larger than what a module keeps near. */
export const PERMA_REGION: number = 2 ** 35;

/** Threads that go through memory in order, prefetchers on. */
const STREAM: Partial<MediaQuery> = { sequential: true, prefetch: true };

const RULES: readonly Rule[] = [
  {
    match: /^OS-TAIL-(?<region>\d+)-p99\.999$/,
    medium: "optane-100-1x256",
    platform: "optanestudy",
    query: (g) => latency("ntstore", { fenced: true, region: number(g["region"]), percentile: 99.999 }),
  },
  {
    match: /^OS-WA-(?<region>\d+)$/,
    medium: "optane-100-1x256",
    platform: "optanestudy",
    query: (g) => ({ ...latency("ntstore", { bytes: 128, region: number(g["region"]) }), ask: "amplification" }),
  },
  {
    match: /^OS-EWR-(?<op>NTStore|Store)-(?<on>1|6)DIMM-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: (g) => `optane-100-${g["on"]}x256`,
    platform: "optanestudy",
    query: (g) => ({ ...bandwidth(g["op"], g), ask: "amplification" }),
  },
  {
    match: /^OS-flush_instr_lat-(?<op>ntstore|store\+clwb)-(?<bytes>\d+)$/,
    medium: "optane-100-6x256",
    platform: "optanestudy",
    query: (g) => latency(g["op"] ?? "", { bytes: number(g["bytes"]), sequential: true, fenced: true }),
  },
  {
    match: /^OS-flush_instr_bw-(?<op>ntstore|store\+clwb|store)-(?<bytes>\d+)$/,
    medium: "optane-100-6x256",
    platform: "optanestudy",
    query: (g) =>
      bandwidth(g["op"], { ...g, threads: "6" }, g["op"] === "store" ? {} : { sequential: true, fenced: true }),
  },
  {
    match: /^OS-SFENCE-clwb(?:every_64B|write_size)-(?<bytes>\d+)$/,
    medium: "optane-100-1x256",
    platform: "optanestudy",
    query: (g) => bandwidth("cache", { ...g, threads: "1" }, { sequential: true, fenced: true }),
  },
  {
    match: /^CXL-LAT-randomread-(?<on>local|remote-socket|CXL)-p50$/,
    medium: (g) => g["on"] === "CXL" ? "cxl-type3-ddr4" : "ddr5-4800-8ch",
    platform: "cxlbench",
    query: (g) => latency("read", { prefetch: true, hops: g["on"] === "local" ? 0 : 1, percentile: 50 }),
  },
  {
    match: /^SSD-P4800X-QD1-P99$/,
    medium: "optane-ssd",
    platform: "p4800x",
    query: () => latency("read", { bytes: 4096, depth: 1, percentile: 99 }),
  },
  {
    match: /^SSD-(?<on>P3700|9100MAX)-QD1-P99$/,
    medium: "nvme-mlc",
    platform: (g) => g["on"] === "P3700" ? "P3700800GB" : "9100MAX",
    query: () => latency("read", { bytes: 4096, depth: 1, percentile: 99 }),
  },
  {
    match: /^OS-LAT-(?<on>\w+)-Read-(?<how>Sequential|Random)$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => latency("Read", { sequential: g["how"] === "Sequential" }),
  },
  {
    match: /^OS-LAT-(?<on>\w+)-Write-(?<how>ntstore|clwb)$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => latency(g["how"] === "clwb" ? "cache" : "nocache"),
  },
  {
    match: /^OS-THR-(?<on>\w+)-(?<op>\w+)-(?<threads>\d+)T$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => bandwidth(g["op"], g, { sequential: true }),
  },
  {
    match: /^OS-SIZE-(?<on>\w+)-(?<op>\w+)-(?<bytes>\d+)B$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => {
      const op = operation(g["op"]);
      const best: Groups = g["on"] === "dram"
        ? {}
        : g["on"] === "o6"
        ? { load: "16", "nt-store": "4", "flushed-store": "12" }
        : { load: "4", "nt-store": "1", "flushed-store": "2" };
      return bandwidth(g["op"], { ...g, threads: best[op] ?? "24" });
    },
  },
  {
    match: /^OS-RAND-(?<on>\w+)-(?<op>[\w+]+)-(?:0|15)W-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => bandwidth(g["op"], g, { hops: g["on"] === "dram6R" ? 1 : 0 }),
  },
  {
    match: /^OS-RAND-(?<on>\w+)-(?<op>[\w+]+)-12.5W-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: os,
    platform: "optanestudy-12.5w",
    query: (g) => bandwidth(g["op"], g),
  },
  {
    match: /^OS-LOADED-(?<on>DRAM|Optane)(?<remote>-Remote)?-M\d+$/,
    medium: os,
    platform: "optanestudy",
    query: (g, row) =>
      latency("ntstore", {
        ask: "latency-at",
        load: inCondition(row, /bandwidth ([\d.]+) GiB/) * 2 ** 30,
        bytes: 64,
        sequential: true,
        hops: g["remote"] === undefined ? 0 : 1,
      }),
  },
  {
    match: /^OS-MIX-PM-(?<on>LDRAM|RDRAM|Optane)-(?<readers>\d+)-(?<writers>\d+)$/,
    medium: (g) => g["on"] === "Optane" ? "optane-100-6x256" : "ddr4-2666-6ch",
    platform: "optanestudy",
    query: (g) => ({
      ...bandwidth("read", { bytes: "64", threads: "16" }, { hops: g["on"] === "RDRAM" ? 1 : 0 }),
      readers: number(g["readers"]),
    }),
  },
  {
    match: /^OS-NUMA-(?<on>Optane)(?<remote>-Remote)?-(?<threads>\d+)-(?<op>R|W)$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => bandwidth(g["op"], g, { ...STREAM, hops: g["remote"] === undefined ? 0 : 1 }),
  },
  {
    // A thread loads lines and stores to some of them through its caches; a line that it stores to counts twice.
    match: /^OS-NUMA-(?<on>Optane)-(?<threads>\d+)-RW_(?<r>\d)(?<w>\d)$/,
    medium: os,
    platform: "optanestudy",
    query: (g) => {
      const r = number(g["r"]), w = number(g["w"]);
      return { ...bandwidth("store", g, STREAM), readShare: (r - w) / r, counted: (r + w) / r };
    },
  },
  {
    match: /^OS-SFENCE-(?<op>ntstore)-(?<bytes>\d+)$/,
    medium: "optane-100-1x256",
    platform: "optanestudy",
    query: (g) => bandwidth(g["op"], { ...g, threads: "1" }, { sequential: true, fenced: true }),
  },
  {
    match: /^VANS-PC-NI-(?<op>R|W)-(?<region>\d+)$/,
    medium: "optane-100-1x256",
    platform: "optanestudy",
    query: (g) => latency(g["op"] ?? "", { region: number(g["region"]) }),
  },
  {
    match: /^PB-(?<on>[AB]-\w+)-(?<how>random|sequential)_reads-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: pb,
    platform: "perma",
    query: (g) => bandwidth("reads", g, { sequential: g["how"] === "sequential", prefetch: true }),
  },
  {
    match: /^PB-(?<on>[AB]-\w+)-(?<how>random|sequential)_writes-(?<op>\w+)-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: pb,
    platform: "perma",
    query: (g) =>
      bandwidth(g["op"], g, {
        sequential: g["how"] === "sequential",
        prefetch: true,
        fenced: g["op"] !== "none",
      }),
  },
  {
    match: /^PB-PF-(?<on>a-256)-pf-(?<pf>on|off)-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: pb,
    platform: "perma",
    query: (g) => bandwidth("reads", g, { prefetch: g["pf"] === "on" }),
  },
  {
    match: /^PB-LAT-(?<on>[AB]-\w+)-rp_(?<bytes>\d+)-1T-avg$/,
    medium: pb,
    platform: "perma",
    query: (g) => latency("reads", { bytes: number(g["bytes"]), region: PERMA_REGION, prefetch: true }),
  },
  {
    match: /^CXL-BW-(?<how>random|sequential)(?<op>read|write)-(?<devices>1|4)dev-(?<bytes>\d+)B-(?<threads>\d+)T$/,
    medium: (g) => g["devices"] === "4" ? "cxl-type3-ddr4-4x" : "cxl-type3-ddr4",
    platform: "cxlbench",
    query: (g) => bandwidth(g["op"], g, { sequential: g["how"] === "sequential", prefetch: true }),
  },
  {
    match: /^CXL-SPLIT-random(?<op>read|write)-(?<bytes>\d+)B-(?<threads>\d+)T-(?<pct>0|100)pct$/,
    medium: (g) => g["pct"] === "0" ? "ddr5-4800-8ch" : "cxl-type3-ddr4",
    platform: "cxlbench",
    query: (g) => bandwidth(g["op"], g, { prefetch: true, hops: g["pct"] === "0" ? 0 : 1 }),
  },
  {
    match: /^CXL-LAT-(?<how>random|sequential)read-(?<on>local|remote-socket|CXL)-avg$/,
    medium: (g) => g["on"] === "CXL" ? "cxl-type3-ddr4" : "ddr5-4800-8ch",
    platform: "cxlbench",
    query: (g) =>
      latency("read", {
        sequential: g["how"] === "sequential",
        prefetch: true,
        hops: g["on"] === "local" ? 0 : 1,
      }),
  },
  {
    match: /^CXL-CZ120-R67-MAX$/,
    medium: "cxl-type3-micron",
    platform: "vendor",
    query: () => latency("read", { ask: "peak", readShare: 2 / 3 }),
  },
  { match: /^CXL-E3S-LAT$/, medium: "cxl-type3-ddr5", platform: "cachelib", query: () => latency("read") },
  {
    match: /^CXL-E3S-all reads$/,
    medium: "cxl-type3-ddr5",
    platform: "cachelib",
    query: () => ({ ...latency("read"), ask: "peak", bytes: 4096, sequential: true }),
  },
  {
    match: /^MESS-(?<on>EPEEC4|MN5GPP|MN5ACC|CTEAMD|GRACE|MN5HBM)-R(?<r>\d+)-BW\d+$/,
    medium: (g) => MESS_MEDIA[g["on"] ?? ""],
    platform: "mess",
    query: (g, row) =>
      latency("read", {
        ask: "latency-at",
        readShare: number(g["r"]) / 100,
        load: inCondition(row, MESS_TRAFFIC) * 1e9,
      }),
  },
  {
    match: /^MESS-(?<on>EPEEC4|MN5GPP|MN5ACC|GRACE|MN5HBM)-R(?<r>\d+)-MAX$/,
    medium: (g) => MESS_MEDIA[g["on"] ?? ""],
    platform: "mess",
    query: (g) => latency("read", { ask: "peak", readShare: number(g["r"]) / 100 }),
  },
  {
    match: /^MESS-(?<on>SKXNUMA|SKX|CXL)-R(?<r>\d+)-(?<load>[\d.]+)$/,
    medium: (g) => g["on"] === "CXL" ? "cxl-type3-micron" : "ddr4-2666-6ch",
    platform: "mess-skx",
    query: (g) =>
      latency("read", {
        ask: "latency-at",
        sequential: false,
        readShare: number(g["r"]) / 100,
        load: number(g["load"]) * 1e9,
        hops: g["on"] === "SKXNUMA" ? 1 : 0,
      }),
  },
  { match: /^GH-LAT-local$/, medium: "lpddr5x-grace", platform: "mess", query: () => latency("read") },
  { match: /^GH-LAT-c2c$/, medium: "hbm3-gh200-c2c", platform: "gh200", query: () => latency("read") },
  {
    match: /^GH-GPUMEM-(?<how>sequential|random)-(?<op>read|write)-(?<threads>\d+)T$/,
    medium: "hbm3-gh200-c2c",
    platform: "gh200",
    query: (g) => bandwidth(g["op"], { ...g, bytes: "64" }, { sequential: g["how"] === "sequential", prefetch: true }),
  },
  {
    match: /^GH-(?<op>host_to_device|device_to_host)_memcpy_ce$/,
    medium: "link-nvlink-c2c",
    platform: "gh200",
    query: (g) => ({
      ...latency(g["op"] === "host_to_device" ? "write" : "read"),
      ask: "peak",
      bytes: 4096,
      sequential: true,
    }),
  },
  {
    match: /^SSD-(?<on>OptaneP4800X)-QD(?<threads>\d+)-LAT$/,
    medium: "optane-ssd",
    platform: "p4800x",
    query: () => latency("read", { bytes: 4096 }),
  },
  {
    match: /^SSD-(?<on>OptaneP4800X)-QD(?<threads>\d+)-IOPS$/,
    medium: "optane-ssd",
    platform: "p4800x",
    query: (g) => bandwidth("read", { ...g, bytes: "4096" }),
  },
  {
    match: /^SSD-(?<on>P3700800GB|9100MAX)-QD1-LAT$/,
    medium: "nvme-mlc",
    platform: (g) => g["on"] ?? "",
    query: () => latency("read", { bytes: 4096 }),
  },
  {
    match: /^SSD-(?<on>P3700800GB|9100MAX)-QD1-IOPS$/,
    medium: "nvme-mlc",
    platform: (g) => g["on"] ?? "",
    query: () => bandwidth("read", { threads: "1", bytes: "4096" }),
  },
  {
    match: /^SSD-PM9A3-(?<how>sequential|random_4K)_(?<op>read|write)$/,
    medium: "nvme-tlc",
    platform: "vendor",
    query: (g) => ({
      ...latency(g["op"] ?? ""),
      ask: "peak",
      bytes: g["how"] === "sequential" ? 131072 : 4096,
      sequential: g["how"] === "sequential",
    }),
  },
];

/** Verified rows that are not compared, by what their ids begin with, and why. */
const NOT_COMPARED: readonly { readonly match: RegExp; readonly why: string }[] = [
  { match: /^(PB-APP|CXL-FPTREE|OS-PMEMKV|APP-|NOVA|HKV-)/, why: "throughput of applications" },
  {
    match: /^PB-(hash|tree|hybrid)/,
    why: "chains of reads and writes that touch less memory than they say: up to 162 GB/s of DRAM whose bus has 128",
  },
  { match: /^(PB-PRICE|CXL-PRICE|PM\d+-TDP|PENG|VANS-CFG|DAX-GRAN|XI-)/, why: "prices, power, other simulators" },
  { match: /^(BPS-GAIN|CXLDM|INTEL-MMHIT)/, why: "ratios, neither latency nor bandwidth" },
  {
    match: /^(OS-TAIL-.*max|VANS-OW|CXL-LAT-sequentialread-.*p50)/,
    why:
      "the largest of a run; stalls that set the model's; the median of a stream, which is that of lines fetched ahead",
  },
  { match: /^SSD-P5800X/, why: "measured on another system" },
  { match: /^PB-LAT-.*wp_/, why: "latency of an operation that loads and stores" },
  {
    match: /^PB-SCANAGG/,
    why: "DRAM and PMEM behind one memory controller at once: no model knows what they take from each other",
  },
  {
    match: /^OS-CONT/,
    why: "threads pinned to modules, or 24 threads of which each uses some modules: not a way rows are read or written",
  },
  {
    match: /^(GH-STREAM|POND|MELODY|IZR|INTEL-LAT|ALI|HBM-|PCIE|GPU-)/,
    why: "one figure of another method, vendor or range",
  },
  { match: /-endurance$/, why: "endurance" },
];

/** Bytes a second or ns; undefined for what is no number. */
export function valueOf(row: CalibrationRow): number | undefined {
  const value = Number(row.value);
  if (!Number.isFinite(value)) return undefined;
  if (row.unit === "ns") return value;
  if (row.unit === "us") return value * 1000;
  if (row.unit === "kIOPS") return value * 1000 * 4096;
  // Effective write ratio: bytes issued over bytes written.
  if (row.unit === "ratio" && row.id.startsWith("OS-EWR-")) return 1 / value;
  if (row.unit === "x" && row.id.startsWith("OS-WA-")) return value;
  const unit = BANDWIDTH_UNITS[row.unit];
  return unit === undefined ? undefined : value * unit;
}

function kindOf(query: MediaQuery, readers: number | undefined): FigureKind {
  if (query.ask === "amplification") return "amplification";
  if (query.percentile !== undefined) return "percentile";
  if (query.ask === "latency" || query.ask === "latency-at") return "latency";
  if (readers !== undefined && readers < query.threads && readers > 0) return "mixed";
  if (query.readShare !== undefined && query.readShare > 0 && query.readShare < 1) return "mixed";
  return query.operation === "load" ? "read" : "write";
}

function pointOf(row: CalibrationRow): CalibrationPoint | undefined {
  if (!isVerified(row)) return undefined;
  for (const rule of RULES) {
    const match = rule.match.exec(row.id);
    if (match === null) continue;
    const groups: Groups = match.groups ?? {};
    const medium = typeof rule.medium === "string" ? rule.medium : rule.medium(groups);
    const found = rule.query(groups, row);
    const value = valueOf(row);
    if (medium === undefined || found === undefined || value === undefined) continue;
    const { readers, counted = 1, ...query } = found;
    const curve = row.id
      .replace(/-?\d+T(-avg)?$/, "").replace(/-\d+T-(\d+pct)$/, "-$1").replace(/-M\d+$/, "").replace(/-BW\d+$/, "")
      .replace(/-(\d+)-(\d+)$/, "")
      .replace(/^(OS-SIZE-.*)-\d+B$/, "$1").replace(/^(VANS-PC.*)-\d+$/, "$1").replace(/^(MESS-.*-R\d+)-[\d.]+$/, "$1")
      .replace(/^(OS-NUMA-Optane(-Remote)?)-\d-.*$/, "$1").replace(/-R\d+-MAX$/, "-MAX")
      .replace(/^(OS-LAT-\w+?)-.*$/, "$1").replace(/^(CXL-LAT-\w+read)-.*$/, "$1").replace(/_\d+-1T-avg$/, "")
      .replace(/^(PB-LAT-.*-rp)_\d+$/, "$1").replace(/^(OS-TAIL)-\d+-(p99\.999)$/, "$1-$2")
      .replace(/^(OS-WA|OS-flush_instr_\w+-[\w+]+)-\d+$/, "$1").replace(/^(OS-SFENCE-\w+)-\d+$/, "$1");
    return {
      id: row.id,
      curve,
      medium,
      platform: typeof rule.platform === "string" ? rule.platform : rule.platform(groups),
      kind: kindOf(query, readers),
      query: readers === undefined || readers === 0 || readers === query.threads
        ? { ...query, operation: readers === 0 ? "nt-store" : query.operation }
        : query,
      value: row.id.startsWith("PB-LAT") ? value - PERMA_TIMER_NS : value / counted,
      ...(readers === undefined || readers === 0 || readers === query.threads ? {} : { readers }),
    };
  }
  return undefined;
}

/** The comparisons that the rows allow. */
export function pointsOf(rows: readonly CalibrationRow[]): CalibrationPoint[] {
  return rows.map(pointOf).filter((point) => point !== undefined);
}

/**
 * Verified rows with a number that are compared with nothing, by reason; `undefined` for those without one.
 *
 * @param elsewhere Ids of rows that are compared otherwise.
 */
export function notCompared(
  rows: readonly CalibrationRow[],
  elsewhere: ReadonlySet<string>,
): Map<string | undefined, string[]> {
  const why = new Map<string | undefined, string[]>();
  for (const row of rows) {
    if (!isVerified(row) || elsewhere.has(row.id) || pointOf(row) !== undefined) continue;
    const reason = NOT_COMPARED.find(({ match }) => match.test(row.id))?.why;
    why.set(reason, [...why.get(reason) ?? [], row.id]);
  }
  return why;
}
