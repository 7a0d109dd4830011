/**
 * Reads and appends `result.jsonl`. A line is written whole and flushed to the disk before the next sample starts, so
 * whatever stops a run, the records of completed samples stay.
 *
 * @module
 */

import { summedLine } from "../base/line_sum.ts";
import { ResultFolder } from "../base/result_folder.ts";
import { parseLines } from "../base/result_lines.ts";
import { readUserFile } from "../base/user_file.ts";
import { writing } from "../base/writing.ts";
import { checkRecord } from "./record_schema.ts";
import type {
  CurveRecord,
  EndRecord,
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
  const { records, sums, tail } = parseLines(text, name, (value, first) => {
    const record = checkRecord(value);
    if ((record.type === "run") === first) return record;
    throw new TypeError(first ? `expected a run record, found a ${record.type}` : "a second run record");
  });
  const completeBytes = new TextEncoder().encode(text.slice(0, text.length - tail.length)).length;
  return { records, completeBytes, truncated: tail !== "", sums };
}

/** Sorts records by kind. A failed sample that completed later counts as completed; of quality records of an id, the last. */
export function resultOf(records: readonly ResultRecord[]): Result {
  const run = records.find((record): record is RunRecord => record.type === "run");
  if (run === undefined) throw new SyntaxError("Cannot read the results: expected a run record, found none");
  const taken = records.filter((record): record is SampleRecord =>
    record.type === "sample" && record.status === "completed"
  );
  const { samples = [], again = [] } = Object.groupBy(taken, (one) => one.again === true ? "again" : "samples");
  const completed = new Set(taken.map(({ id }) => id));
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
  const end = records.findLast((record): record is EndRecord => record.type === "end");
  return {
    run,
    samples,
    ...(again.length === 0 ? {} : { again }),
    failed: [...failed.values()],
    quality,
    qualities: [...qualities.values()],
    ...(curves.size === 0 ? {} : { curves: [...curves.values()] }),
    ...(end === undefined ? {} : { end }),
  };
}

/** Id of the first quality run. */
export const QUALITY_ID = "quality";

/** Reads a file's records; the text of a line that was cut off is left out. */
export async function readResultText(path: string): Promise<ResultText> {
  const bytes = await readUserFile(path, "result");
  // Bytes are counted as they are: those that are no UTF-8 have others in the text.
  return { ...parseResultText(new TextDecoder().decode(bytes), path), completeBytes: bytes.lastIndexOf(10) + 1 };
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

/** What a folder's file holds; nothing if there is none. */
export async function readFolder({ path }: ResultFolder): Promise<ResultText | undefined> {
  try {
    return await readResultText(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Appends records to a result file. */
export class ResultWriter implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #records: ResultRecord[];
  readonly #sums: boolean;

  private constructor(path: string, file: Deno.FsFile, records: readonly ResultRecord[], sums: boolean) {
    [this.#path, this.#file, this.#records, this.#sums] = [path, file, [...records], sums];
  }

  /** Begins a file; one that is there is kept under a name with its own start time. */
  static async create(folder: ResultFolder): Promise<ResultWriter> {
    const { path } = folder;
    const file = await writing(path, async () => {
      await folder.keepEarlier();
      return await Deno.open(path, { createNew: true, write: true });
    });
    return new ResultWriter(path, file, [], true);
  }

  /** Goes on with a file as {@linkcode readFolder} found it: what stands after its last complete line is cut off. */
  static async resume({ path }: ResultFolder, { records, completeBytes, sums }: ResultText): Promise<ResultWriter> {
    const file = await writing(path, () => Deno.open(path, { write: true }));
    await file.truncate(completeBytes);
    await file.seek(0, Deno.SeekMode.End);
    return new ResultWriter(path, file, records, sums);
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

/**
 * Writes records as a result file; one that is there is kept under a name with its own start time.
 *
 * @param path The `result.jsonl`, in a folder that is made if there is none.
 * @returns The records by kind.
 * @throws {Error} if another run writes to the folder, or the disk does not take it.
 */
export async function writeResult(path: string, records: readonly ResultRecord[]): Promise<Result> {
  using folder = await ResultFolder.take(path);
  using writer = await ResultWriter.create(folder);
  for (const record of records) await writer.append(record);
  return resultOf(writer.records);
}
