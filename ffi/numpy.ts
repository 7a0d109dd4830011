/**
 * Tables as NumPy arrays: files in NumPy's `.npy` format, version 1.0, written row by row.
 *
 * @module
 */

import type { Table } from "./table.ts";

/** What {@linkcode exportNumpy} wrote. */
export interface NumpyExport {
  /** The file of keys: int64, one dimension. */
  readonly keys: string;
  /** The file of weights: float32, keys × dim, in the order of the keys. */
  readonly rows: string;
  /** How many rows there are. */
  readonly count: number;
}

/** Bytes of the header, which is written again when the number of rows is known. */
const HEADER = 128;

/** The header of an array of these elements and dimensions. */
function header(type: string, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const dimensions = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${dimensions}), }`;
  const bytes = new Uint8Array(HEADER).fill(0x20);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  new DataView(bytes.buffer).setUint16(8, HEADER - 10, true);
  bytes.set(new TextEncoder().encode(text), 10);
  bytes[HEADER - 1] = 0x0a;
  return bytes;
}

async function write(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}

/**
 * Writes a table's keys and weights for NumPy: `np.load("user_id.keys.npy")`, `np.load("user_id.rows.npy")`. Rows are read some
 * at a time, as {@linkcode Table.entries} does, and nothing is changed. The files appear under their names when they are
 * whole.
 *
 * @example
 * ```ts ignore
 * import { EmbeddingStore, exportNumpy } from "../mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM" });
 * const table = store.table({ name: "user_id", dim: 16 });
 * table.lookup([1, 2, 3]);
 * console.log((await exportNumpy(table, "export")).count); // 3
 * ```
 *
 * @param table A table of a store, or of a trainer: `trainer.table("C1")`.
 * @param folder Where `<name>.keys.npy` and `<name>.rows.npy` are written; it must be there. Letters of the name that no file
 * may have become `_`.
 * @throws {Deno.errors.NotFound} If the folder is not there.
 */
export async function exportNumpy(table: Table, folder: string): Promise<NumpyExport> {
  const base = `${folder}/${table.name.replaceAll(/[^A-Za-z0-9._-]/g, "_")}`;
  const paths = { keys: `${base}.keys.npy`, rows: `${base}.rows.npy` };
  const part = (path: string) => `${path}.part-${crypto.randomUUID()}`;
  const parts = { keys: part(paths.keys), rows: part(paths.rows) };
  try {
    let count = 0;
    {
      using keys = await Deno.open(parts.keys, { write: true, createNew: true });
      using rows = await Deno.open(parts.rows, { write: true, createNew: true });
      for (const file of [keys, rows]) await write(file, new Uint8Array(HEADER));
      for (const some of table.entries()) {
        await write(keys, new Uint8Array(some.keys.buffer));
        await write(rows, new Uint8Array(some.rows.buffer));
        count += some.keys.length;
      }
      for (const file of [keys, rows]) await file.seek(0, Deno.SeekMode.Start);
      await write(keys, header("<i8", [count]));
      await write(rows, header("<f4", [count, table.dim]));
    }
    await Deno.rename(parts.keys, paths.keys);
    await Deno.rename(parts.rows, paths.rows);
    return { ...paths, count };
  } catch (error) {
    for (const path of Object.values(parts)) await Deno.remove(path).catch(() => {});
    throw error;
  }
}
