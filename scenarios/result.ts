/**
 * Reads and appends `result.jsonl`. A line is written whole and flushed to the disk before the next sample starts, so
 * whatever stops a run, the records of completed samples stay.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { FileLock, lockHolder } from "./run/lock.ts";
import { haveSums, isDamagedEnd, summedLine, unsummedLine } from "../base/line_sum.ts";
import { checkRecord } from "./record_schema.ts";
import { readHead, readUserFile } from "../base/user_file.ts";
import { writing } from "../base/writing.ts";
import type {
  CurveRecord,
  FailedRecord,
  QualityRecord,
  Result,
  ResultRecord,
  RunRecord,
  SampleRecord,
} from "./record.ts";

/** Records of a file, and where its complete lines end. */
export interface ResultText {
  /** Of the complete lines. */
  readonly records: readonly ResultRecord[];
  /** Bytes of the complete lines. */
  readonly completeBytes: number;
  /** True if something stands after them: a line that was being written when its process died. */
  readonly truncated: boolean;
  /** Whether every line has a sum; those of earlier versions have none, so that damage in them cannot be told. */
  readonly sums: boolean;
}

/**
 * Parses the text of a result file.
 *
 * @param text The text.
 * @param name What messages call it.
 * @throws {SyntaxError} naming the line that is broken.
 */
export function parseResultText(text: string, name: string): ResultText {
  const end = text.lastIndexOf("\n") + 1;
  const lines = text.slice(0, end).split("\n").slice(0, -1);
  const tail = text.slice(end);
  const sums = haveSums([...lines, tail.slice(0, -1)]);
  const at = (i: number, error: Error) =>
    new SyntaxError(`Cannot read the results: ${name}:${i + 1}: ${error.message}`, { cause: error });
  const records = lines.map((line, i) => {
    try {
      const record = checkRecord(JSON.parse(unsummedLine(line, sums)));
      if ((record.type === "run") !== (i === 0)) {
        throw new TypeError(i === 0 ? `expected a run record, found a ${record.type}` : "a second run record");
      }
      return record;
    } catch (error) {
      throw at(i, error as Error);
    }
  });
  // A line that was being written when its process died ends before its newline, never with another byte in its place.
  if (isDamagedEnd(tail)) {
    throw at(lines.length, new SyntaxError("the line is damaged: it does not end with a newline"));
  }
  const completeBytes = new TextEncoder().encode(text.slice(0, end)).length;
  return { records, completeBytes, truncated: tail !== "", sums };
}

/** Sorts records by kind. A failed sample that completed later counts as completed; of quality records of an id, the last. */
export function resultOf(records: readonly ResultRecord[]): Result {
  const run = records.find((record): record is RunRecord => record.type === "run");
  if (run === undefined) throw new SyntaxError("Cannot read the results: expected a run record, found none");
  const samples = records.filter((record): record is SampleRecord =>
    record.type === "sample" && record.status === "completed"
  );
  const completed = new Set(samples.map(({ id }) => id));
  const qualities = new Map<string, QualityRecord>();
  for (const record of records) if (record.type === "quality") qualities.set(record.id ?? QUALITY_ID, record);
  for (const id of qualities.keys()) completed.add(id);
  const failed = new Map<string, FailedRecord>();
  for (const record of records) {
    if (record.type === "sample" && record.status === "failed" && !completed.has(record.id)) {
      failed.set(record.id, record);
    }
  }
  const quality = qualities.get(QUALITY_ID);
  const curves = new Map<string, CurveRecord>();
  for (const record of records) if (record.type === "curve") curves.set(JSON.stringify(record.point), record);
  return {
    run,
    samples,
    failed: [...failed.values()],
    quality,
    qualities: [...qualities.values()],
    ...(curves.size === 0 ? {} : { curves: [...curves.values()] }),
  };
}

/** Id of the first quality run. */
export const QUALITY_ID = "quality";

/** Reads a file's records; the text of a line that was cut off is left out. */
export async function readResultText(path: string): Promise<ResultText> {
  try {
    const bytes = await readUserFile(path, "result");
    // Bytes are counted as they are: those that are no UTF-8 have others in the text.
    return { ...parseResultText(new TextDecoder().decode(bytes), path), completeBytes: bytes.lastIndexOf(10) + 1 };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Deno.errors.NotFound(`Cannot read the results: "${path}" does not exist`, { cause: error });
  }
}

/**
 * Reads the results of a run.
 *
 * @param path A `result.jsonl`. A last line that was cut off is left out.
 * @throws {SyntaxError} naming the line that is broken.
 * @throws {Deno.errors.NotFound} if there is no such file.
 *
 * @example
 * ```ts
 * import { readResult } from "../mod.ts";
 *
 * try {
 *   const result = await readResult("reports/out/pmem-modes/result.jsonl");
 *   console.log(result.samples.length, result.quality?.auc);
 * } catch (error) {
 *   if (!(error instanceof Deno.errors.NotFound)) throw error; // nothing was run yet
 * }
 * ```
 */
export async function readResult(path: string): Promise<Result> {
  return resultOf((await readResultText(path)).records);
}

/** What is locked in a folder of results. */
const LOCK = ".lock";

/** A folder of results that no other run writes to, from before anything in it is read until the run ends. */
export class ResultFolder implements Disposable {
  /** Its `result.jsonl`. */
  readonly path: string;
  readonly #lock: FileLock;
  readonly #made: boolean;

  private constructor(path: string, lock: FileLock, made: boolean) {
    [this.path, this.#lock, this.#made] = [path, lock, made];
  }

  /**
   * Takes a folder; makes it if there is none. What is locked is a file `.lock` in it, which nobody renames or removes.
   *
   * @param path The `result.jsonl` in it.
   * @throws {Error} if another run has it, with the number of its process.
   */
  static async take(path: string): Promise<ResultFolder> {
    const file = join(dirname(path), LOCK);
    const made = await Deno.lstat(dirname(path)).then(() => false, () => true);
    const lock = await writing(path, async () => {
      await Deno.mkdir(dirname(path), { recursive: true });
      return await FileLock.take(file, { create: true });
    });
    if (lock !== undefined) return new ResultFolder(path, lock, made);
    const holder = await lockHolder(file);
    throw new Error(
      `Cannot write the results: another run${
        holder === undefined ? "" : ` (process ${holder})`
      } writes to "${path}"; ` +
        "wait for it or choose another folder with --out",
    );
  }

  /** What its file holds; nothing if there is none. */
  async read(): Promise<ResultText | undefined> {
    try {
      return await readResultText(this.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** Begins a file; one that is there is kept under a name with its own start time. */
  async create(): Promise<ResultWriter> {
    const file = await writing(this.path, async () => {
      await this.keepEarlier();
      return await Deno.open(this.path, { createNew: true, write: true });
    });
    return new ResultWriter(this.path, file, [], true);
  }

  /** Renames a file that is there to one with its start time, and a number where there is one of that name. */
  async keepEarlier(): Promise<void> {
    const head = await readHead(this.path);
    if (head === undefined) return;
    const started = /^.*?"started":"([\dTZ:.+-]+)"/.exec(head)?.[1] ?? new Date().toISOString();
    const name = this.path.replace(/(\.jsonl)?$/, `-${started.replaceAll(":", "")}`);
    for (let n = 1;; n++) {
      const kept = n === 1 ? `${name}.jsonl` : `${name}-${n}.jsonl`;
      if (await Deno.lstat(kept).then(() => true, () => false)) continue;
      return await Deno.rename(this.path, kept);
    }
  }

  /** Goes on with a file as {@linkcode read} found it: what stands after its last complete line is cut off. */
  async resume({ records, completeBytes, sums }: ResultText): Promise<ResultWriter> {
    const file = await writing(this.path, () => Deno.open(this.path, { write: true }));
    await file.truncate(completeBytes);
    await file.seek(0, Deno.SeekMode.End);
    return new ResultWriter(this.path, file, records, sums);
  }

  /** Gives the folder back; one that was made and that nothing was written to is removed. */
  [Symbol.dispose](): void {
    using _ = this.#lock;
    if (!this.#made) return;
    const folder = dirname(this.path);
    try {
      if ([...Deno.readDirSync(folder)].some(({ name }) => name !== LOCK)) return;
      Deno.removeSync(join(folder, LOCK));
      Deno.removeSync(folder);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // somebody removed or moved it
    }
  }
}

/** Appends records to a result file. */
export class ResultWriter implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #records: ResultRecord[];
  readonly #sums: boolean;

  /** A writer of an open file that has these records, with sums or without. Its {@linkcode ResultFolder} makes it. */
  constructor(path: string, file: Deno.FsFile, records: readonly ResultRecord[], sums: boolean) {
    [this.#path, this.#file, this.#records, this.#sums] = [path, file, [...records], sums];
  }

  /** Every record in the file. */
  get records(): readonly ResultRecord[] {
    return this.#records;
  }

  /** Appends a record and waits until the disk has it. */
  async append(record: ResultRecord): Promise<void> {
    const line = this.#sums ? summedLine(record) : JSON.stringify(record); // a file of an earlier version stays one
    const bytes = new TextEncoder().encode(`${line}\n`);
    await writing(this.#path, async () => {
      for (let written = 0; written < bytes.length;) written += await this.#file.write(bytes.subarray(written));
      await this.#file.sync();
    });
    this.#records.push(record);
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#file.close();
  }
}
