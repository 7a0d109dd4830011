/**
 * The published measurements that media models are fitted to and judged by: `models/media/calibration/calibration.csv`.
 *
 * @module
 */

const FILE = new URL("./calibration.csv", import.meta.url);

/** Bytes a second in one unit of the sources: theirs differ. */
export const BANDWIDTH_UNITS: Readonly<Record<string, number>> = {
  "MB/s": 1e6,
  "MiB/s": 2 ** 20,
  "GiB/s": 2 ** 30,
  "GB/s": 1e9,
  "TB/s": 1e12,
};

/** One published figure. */
export interface CalibrationRow {
  /** Names it in media files and reports. */
  readonly id: string;
  /** As published; most are numbers. */
  readonly value: string;
  /** Unit of the source. */
  readonly unit: string;
  /** Family: `dram`, `pmem`, `cxl`, … */
  readonly medium: string;
  /** Which product. */
  readonly generation: string;
  /** What was measured. */
  readonly metric: string;
  /** Under which conditions. */
  readonly condition: string;
  /** How it was read, and remarks. */
  readonly note: string;
}

/** Whether a row was read in its source: rows from memory calibrate nothing. */
export function isVerified(row: CalibrationRow): boolean {
  return row.note.startsWith("verified");
}

/** The cells of one line; a cell with commas is quoted, no cell holds a line end. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>
    quoted?.replaceAll('""', '"') ?? plain ?? ""
  );
}

/** All rows, in the order of the file. */
export async function loadCalibration(): Promise<CalibrationRow[]> {
  const [header = [], ...lines] = (await Deno.readTextFile(FILE)).trim().split("\n").map(cellsOf);
  return lines.map((cells) =>
    Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ""])) as unknown as CalibrationRow
  );
}
