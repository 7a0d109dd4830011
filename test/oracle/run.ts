/**
 * Trains a case with the library and writes down what PyTorch needs to train the same: data and initial values.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { generateData, importCriteo } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { optionsOf, type OracleCase, parameterNames, tablesOf, TEST_ROWS, TEXT_ROWS, TRAIN_ROWS } from "./cases.ts";

/** What a training run says, ours as PyTorch's. */
export interface OracleRun {
  /** Mean logloss of each step's batch, before its update. */
  readonly losses: readonly number[];
  /** Of the test file, after the last step. */
  readonly auc: number;
  /** Of the test file, after the last step. */
  readonly logloss: number;
  /** Euclidean norm of each parameter's way from its initial values; tables by their names. */
  readonly moved: Readonly<Record<string, number>>;
}

type Floats = Float32Array<ArrayBuffer>;

/** Bytes of a data file's header, and of a group of 1024 rows: a label, 13 numbers and 26 keys each (docs/formats.md). */
const PAGE = 4096, GROUP_BYTES = 1024 * (4 + 13 * 4 + 26 * 8);

/**
 * Writes `train.bin` and `test.bin` of a case to a folder; of a case with text, from `rows.tsv`, which PyTorch's side
 * reads instead of them.
 */
export async function writeData({ text: numerics }: OracleCase, folder: string): Promise<void> {
  const [train, test] = [`${folder}/train.bin`, `${folder}/test.bin`];
  if (numerics !== undefined) {
    await Deno.writeTextFile(`${folder}/rows.tsv`, criteoText(TEXT_ROWS));
    await importCriteo({ in: `${folder}/rows.tsv`, trainOut: train, testOut: test, testEvery: 10, numerics });
    return;
  }
  await generateData({ out: train, rows: TRAIN_ROWS, scale: 0.0005, seed: 3 });
  await generateData({ out: test, rows: TEST_ROWS, scale: 0.0005, seed: 3, split: "test", train });
}

/**
 * Rows whose label depends on some of their ids and numbers. A quarter of ids and a tenth of numbers are missing; columns
 * have ids in common; numbers may be negative, large, or have decimals.
 */
function criteoText(rows: number): string {
  let state = 20261122;
  const random = (): number => { // mulberry32 (Ettinger 2017)
    state = (state + 0x6D2B79F5) | 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  const SCALE = [1539, 22069, 65535, 561, 2655388, 233523, 26297, 5106, 24376, 9, 181, 1807, 6879];
  const number = (scale: number): string => {
    const x = random() ** 4 * scale - (random() < 0.1 ? 3 : 0);
    return random() < 0.1 ? "" : random() < 0.2 ? x.toFixed(3) : Math.round(x).toString();
  };
  const line = (): string => {
    const numbers = SCALE.map(number);
    const ids = Array.from({ length: 26 }, (_, c) => Math.floor(random() ** 2 * (20 + 7 * c)));
    const known = ids.map((id) => random() < 0.25 ? "" : id.toString(16).padStart(8, "0"));
    const logit = Math.log1p(Math.max(0, Number(numbers[0]))) / 8 - 1.5 +
      ids.slice(0, 19).reduce((sum, id, c) => sum + (known[c] === "" ? 0 : Math.sin(id * 2.4)), 0) / 4;
    return [random() < 1 / (1 + Math.exp(-logit)) ? 1 : 0, ...numbers, ...known].join("\t");
  };
  return Array.from({ length: rows }, line).join("\n") + "\n";
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
  const tables = tablesOf(settings).map(({ name }) => trainer.table(name));
  const keys = tables.map((table) => table.keys().sort());
  const values = (): Map<string, Floats> =>
    new Map([
      ...parameterNames(settings).map((name) => [name, trainer.parameters(name)] as const),
      ...tables.map((table, c) => [table.name, table.find(keys[c] ?? []).rows] as const),
    ]);
  const initial = values();
  const inputs = await writeInputs(settings, folder, initial, new Map(tables.map(({ name }, i) => [name, keys[i]])));
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
  keys: ReadonlyMap<string, BigInt64Array<ArrayBuffer> | undefined>,
): Promise<string> {
  const text = JSON.stringify(settings);
  const digest = createHash("sha256").update(text);
  // Headers have figures about the rows as well, and sums of the groups of rows follow them; only the rows count.
  for (const file of ["train.bin", "test.bin"]) {
    const bytes = await Deno.readFile(`${folder}/${file}`);
    const groups = Math.floor((bytes.length - PAGE) / GROUP_BYTES);
    digest.update(bytes.subarray(PAGE, PAGE + groups * GROUP_BYTES));
  }
  await Deno.writeTextFile(`${folder}/case.json`, text);
  await Deno.remove(`${folder}/initial`, { recursive: true }).catch(() => {});
  await Deno.mkdir(`${folder}/initial`);
  for (const [name, ids] of keys) {
    await Deno.writeFile(`${folder}/initial/${name}.keys`, new Uint8Array(ids?.buffer ?? new ArrayBuffer()));
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
