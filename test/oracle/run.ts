/**
 * Trains a case with the library and writes down what PyTorch needs to train the same: data and initial values.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { Table } from "../../ffi/table.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { optionsOf, type OracleCase, parameterNames, TEST_ROWS, TRAIN_ROWS } from "./cases.ts";

/** What a training run says, ours as PyTorch's. */
export interface OracleRun {
  /** Mean logloss of each step's batch, before its update. */
  readonly losses: readonly number[];
  /** Of the test file, after the last step. */
  readonly auc: number;
  /** Of the test file, after the last step. */
  readonly logloss: number;
  /** Euclidean norm of each parameter's way from its initial values; `C1` to `C26` are the embedding tables. */
  readonly moved: Readonly<Record<string, number>>;
}

type Floats = Float32Array<ArrayBuffer>;

/** Writes `train.bin` and `test.bin` to a folder. */
export async function writeData(folder: string): Promise<void> {
  const [train, test] = [`${folder}/train.bin`, `${folder}/test.bin`];
  await generateData({ out: train, rows: TRAIN_ROWS, scale: 0.0005, seed: 3 });
  await generateData({ out: test, rows: TEST_ROWS, scale: 0.0005, seed: 3, split: "test", train });
}

/**
 * Trains a case on the data of a folder, and writes `case.json` and `initial/` there before the first step.
 *
 * @returns The run, and a digest of all that goes into it: settings, rows of both files, initial values.
 */
export async function trainOurs(settings: OracleCase, folder: string): Promise<{ run: OracleRun; inputs: string }> {
  using store = EmbeddingStore.open({ storage: "DRAM", seed: 7 });
  using trainer = WdlTrainer.open(store, optionsOf(settings, `${folder}/train.bin`));
  await trainer.fill();
  // The trainer's tables are the first of the store, in the order of the columns.
  const tables = settings.dims.map((dim, c) => new Table(store, c, `C${c + 1}`, dim, 1));
  const keys = tables.map((table) => table.keys().sort());
  const values = (): Map<string, Floats> =>
    new Map([
      ...parameterNames(settings).map((name) => [name, trainer.parameters(name)] as const),
      ...tables.map((table, c) => [table.name, table.find(keys[c] ?? []).rows] as const),
    ]);
  const initial = values();
  const inputs = await writeInputs(settings, folder, initial, keys);
  const losses: number[] = [];
  for (let step = 0; step < settings.steps; step++) losses.push((await trainer.train(1)).loss);
  const { auc, logloss } = await trainer.evaluate(`${folder}/test.bin`);
  const moved = [...values()].map(([name, value]) => [name, distance(value, initial.get(name) ?? value)] as const);
  return { run: { losses, auc, logloss, moved: Object.fromEntries(moved) }, inputs };
}

async function writeInputs(
  settings: OracleCase,
  folder: string,
  initial: ReadonlyMap<string, Floats>,
  keys: readonly BigInt64Array<ArrayBuffer>[],
): Promise<string> {
  const text = JSON.stringify(settings);
  const digest = createHash("sha256").update(text);
  // Headers have figures about the rows as well; only the rows count.
  for (const file of ["train.bin", "test.bin"]) {
    digest.update((await Deno.readFile(`${folder}/${file}`)).subarray(4096));
  }
  await Deno.writeTextFile(`${folder}/case.json`, text);
  await Deno.remove(`${folder}/initial`, { recursive: true }).catch(() => {});
  await Deno.mkdir(`${folder}/initial`);
  for (const [c, column] of keys.entries()) {
    await Deno.writeFile(`${folder}/initial/C${c + 1}.keys`, new Uint8Array(column.buffer));
  }
  for (const [name, value] of initial) {
    const bytes = new Uint8Array(value.buffer);
    digest.update(name).update(bytes);
    await Deno.writeFile(`${folder}/initial/${name}.f32`, bytes);
  }
  return digest.digest("hex");
}

function distance(a: Floats, b: Floats): number {
  return Math.sqrt(a.reduce((sum, x, i) => sum + (x - (b[i] ?? NaN)) ** 2, 0));
}
