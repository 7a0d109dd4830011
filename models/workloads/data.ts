/**
 * Prepares the data of a run once: generated or imported into the binary cache, `.cache/data` in the project's folder,
 * under a name that is a digest of everything the content depends on.
 *
 * @module
 */

import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DataDescription, describeData, generateData, importCriteo, verifyData } from "../../ffi/data.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { digestOf } from "../../base/canonical.ts";
import { FileLock } from "../../base/lock.ts";
import { MissingFileError } from "../../base/user_file.ts";
import type { ResolvedCriteoData, ResolvedSyntheticData, ResolvedWorkload } from "./workload.ts";

/** Changes whenever the native library writes other bytes for the same options. */
const CACHE_VERSION = 4;

/** As many threads as the library lets share the files. */
const MOST_READERS = 256;

/** A data set in the binary cache. */
export interface DataRecord {
  /** `synthetic` or `criteo`. */
  readonly kind: "synthetic" | "criteo";
  /** What the user named: a scale of Criteo Kaggle, or a file name. */
  readonly source: string;
  /** Rows for training. */
  readonly trainRows: number;
  /** Held-out rows. */
  readonly testRows: number;
  /** Digest of the key stream (hex), equal on every machine for equal seeds. */
  readonly digest: string;
  /** Distinct keys per categorical column. */
  readonly cardinalities: readonly number[];
  /** What the model gets for a numeric value: `log` or `min-max`. Absent in older records: `log`. */
  readonly numerics?: string;
  /** Lines of a file that were left out, by kind. Only if there are some. */
  readonly skipped?: {
    readonly lines: number;
    readonly kinds: Readonly<Record<string, number>>;
    readonly first?: string;
  };
  /** Bytes of all rows of all embedding tables when every key has one (padded weights and slots). */
  readonly tableBytes: number;
  /** Best reachable AUC, on the held-out rows: that of the planted model. Synthetic data only. */
  readonly plantedAuc?: number;
  /** AUC of the planted model's numeric part alone. Synthetic data only. */
  readonly numericAuc?: number;
  /** Share of the planted logit's variance that the categorical columns carry. Synthetic data only. */
  readonly categoricalVariance?: number;
  /** Share of held-out (row, column) pairs whose key the training rows never show. */
  readonly unseenShare?: number;
}

/** Data that samples can train on. */
export interface PreparedData {
  /** Cache file of the training rows. */
  readonly train: string;
  /** Cache file of the held-out rows. */
  readonly test: string;
  /** What it is; without the bytes of tables, which depend on the model. */
  readonly record: Omit<DataRecord, "tableBytes">;
  /** True if it was in the cache already. */
  readonly reused: boolean;
}

/** Options of {@linkcode prepareData}. */
interface PrepareOptions {
  readonly seed: number;
  readonly threads: number;
  /** Folder of the cache. */
  readonly cache?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Units done of all; `what` says which file is being made. */
  readonly onProgress?: (what: string, done: number, total: number) => void;
  /** Told that kept files were broken. */
  readonly onNotice?: (message: string) => void;
}

/** The cache in the project's folder. */
const CACHE_FOLDER: string = fileURLToPath(new URL("../../.cache/data", import.meta.url));

/**
 * Makes the data of a workload, or finds it in the cache.
 *
 * @throws {TierstoreError} `TS_EFORMAT` naming file and line of broken rows, `TS_EIO` for a full disk.
 * @throws {Deno.errors.NotFound} if a file of real rows does not exist.
 */
export async function prepareData(data: ResolvedWorkload["data"], options: PrepareOptions): Promise<PreparedData> {
  const cache = options.cache ?? CACHE_FOLDER;
  await Deno.mkdir(cache, { recursive: true });
  const key = "criteo" in data ? await criteoKey(data) : { ...data, seed: options.seed };
  const name = digestOf({ version: CACHE_VERSION, ...key }).slice(0, 24);
  const files = { train: join(cache, `${name}.train.tbc`), test: join(cache, `${name}.test.tbc`) };
  await removeParts(cache);
  const reused = await isKept(files.train, options) && await isKept(files.test, options);
  if (!reused) {
    if ("criteo" in data) await importFile(data, files, options);
    else await generate(data, files, options);
  }
  return { ...files, reused, record: recordOf(data, describeData(files.train), describeData(files.test)) };
}

type Files = { readonly train: string; readonly test: string };

async function criteoKey(data: ResolvedCriteoData): Promise<object> {
  const paths = pathsOf(data);
  return { ...data, files: await Promise.all(paths.map(fileKey)) };
}

/** What tells that a file is still the same. */
async function fileKey(path: string): Promise<object> {
  try {
    const { size, mtime, isFile } = await Deno.stat(path);
    if (!isFile) throw new TypeError(`Cannot read the rows: "${path}" is a directory, expected a file`);
    return { size, changed: mtime?.getTime() ?? 0 };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new MissingFileError(`Cannot read the rows: "${path}" does not exist`, { cause: error });
  }
}

function pathsOf({ criteo }: ResolvedCriteoData): readonly string[] {
  return typeof criteo === "string" ? [criteo] : criteo;
}

/** Names of the files, without their folders. */
function namesOf(data: ResolvedCriteoData): string {
  const [first = "", ...others] = pathsOf(data).map((path) => basename(path));
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

/** Whether a cache file is there and every byte is what was written; one that is broken is removed, and said to be. */
async function isKept(path: string, { signal, onProgress, onNotice }: PrepareOptions): Promise<boolean> {
  try {
    await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  try {
    await verifyData(path, {
      ...(signal === undefined ? {} : { signal }),
      onProgress: (done, total) => onProgress?.("checking kept rows", done, total),
    });
    return true;
  } catch (error) {
    if (!(error instanceof TierstoreError) || error.status !== "TS_EFORMAT") throw error;
    onNotice?.(`kept rows cannot be used and are made again: ${error.message}`);
    await Deno.remove(path);
    return false;
  }
}

/** What the library calls a cache file until it is in place. */
const PART = /\.tbc\.part-\w{6}$/;

/** Removes what processes that are gone were writing; what one writes is locked. */
async function removeParts(cache: string): Promise<void> {
  for await (const { name } of Deno.readDir(cache)) {
    if (!PART.test(name)) continue;
    using lock = await FileLock.take(join(cache, name));
    if (lock !== undefined) await Deno.remove(join(cache, name));
  }
}

async function generate(data: ResolvedSyntheticData, files: Files, options: PrepareOptions): Promise<void> {
  const { scale, skew, rows, testRows, numerics } = data;
  const shared = {
    scale,
    skewS: skew.s,
    skewQ: skew.q,
    skewRows: skew.rows,
    numerics,
    seed: options.seed,
    threads: options.threads,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
  const progress = (before: number) => (done: number) =>
    options.onProgress?.("generating rows", before + done, rows + testRows);
  await generateData({ ...shared, out: files.train, rows, split: "train", onProgress: progress(0) });
  await generateData({
    ...shared,
    out: files.test,
    rows: testRows,
    split: "test",
    train: files.train,
    onProgress: progress(rows),
  });
}

async function importFile(data: ResolvedCriteoData, files: Files, options: PrepareOptions): Promise<void> {
  await importCriteo({
    in: data.criteo,
    trainOut: files.train,
    testOut: files.test,
    format: data.format,
    testEvery: data.testEvery,
    maxRows: data.maxRows,
    onError: data.onError,
    numerics: data.numerics,
    readers: Math.min(options.threads, MOST_READERS),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    onProgress: (done, total) => options.onProgress?.(`reading ${namesOf(data)}`, done, total),
  });
}

function recordOf(
  data: ResolvedWorkload["data"],
  train: DataDescription,
  test: DataDescription,
): Omit<DataRecord, "tableBytes"> {
  const { plantedAuc, numericAuc, categoricalVariance, unseenShare } = test;
  return {
    kind: "criteo" in data ? "criteo" : "synthetic",
    source: "criteo" in data ? namesOf(data) : `${data.synthetic} × ${data.scale}`,
    trainRows: train.rows,
    testRows: test.rows,
    digest: train.digest,
    cardinalities: train.cardinalities,
    ...(train.numerics === undefined ? {} : { numerics: train.numerics }),
    ...(train.skipped === undefined || train.skipped.lines === 0 ? {} : { skipped: train.skipped }),
    ...(plantedAuc === undefined ? {} : { plantedAuc }),
    ...(numericAuc === undefined ? {} : { numericAuc }),
    ...(categoricalVariance === undefined ? {} : { categoricalVariance }),
    ...(unseenShare === undefined ? {} : { unseenShare }),
  };
}
