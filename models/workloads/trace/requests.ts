/**
 * Lookups of many tables as FBGEMM keeps them: indices of all tables one after the other, and offsets where each bag begins.
 * So are the files of Meta's dlrm_datasets, and those that FBGEMM's benchmarks take as `--requests_data_file`.
 *
 * @module
 */

import type { ArrayHead } from "./array.ts";
import { MOST_BAG, MOST_TABLES, type TraceBatch, TraceError } from "./batch.ts";
import { NumberStream } from "./number_stream.ts";
import { openTensor, readTensors, type Tensor } from "./tensors.ts";

/** How the tensors of a file are read. */
export type TensorLayout =
  /** Keys of one table, a line each, or columns. */
  | { readonly kind: "keys"; readonly tensor: Tensor; readonly little: boolean }
  /** Bags of many tables. */
  | {
    readonly kind: "requests";
    readonly indices: Tensor;
    readonly offsets: Tensor;
    readonly tables: number;
    readonly samples: number;
    readonly little: boolean;
  };

/** Offsets that are looked at together. */
const BAGS = 8192;
/** A batch is given out when it has so many keys. */
const ENOUGH = 32_768;
/** Samples of a batch at most, with keys or without. */
const MOST_BAGS = 1 << 20;

const shapeText = (shape: readonly number[]) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

/**
 * What the tensors of a file are.
 *
 * @param path The file.
 * @throws {TraceError} If they can be read in several ways, or in none.
 */
export async function tensorLayout(path: string): Promise<TensorLayout> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the tensors in "${path}": ${what}`);
  };
  const { tensors, little } = await readTensors(path);
  const words = tensors.map(({ name, tensor }) =>
    `${name === undefined ? "" : `${name} `}${tensor.type} ${shapeText(tensor.shape)}`
  )
    .slice(0, 5).join(", ");
  const [only] = tensors;
  for (const { tensor } of tensors) {
    if (tensor.whole === undefined) refuse(`it has ${words}; expected whole numbers of 8 to 64 bits`);
  }
  if (only !== undefined && tensors.length === 1) return { kind: "keys", tensor: only.tensor, little };
  const named = tensors.every(({ name }) => name !== undefined);
  const by = (name: string, place: number) =>
    named
      ? tensors.find((each) => each.name === name)?.tensor
      : tensors.length > 3
      ? undefined
      : tensors[place]?.tensor;
  const indices = by("indices", 0), offsets = by("offsets", 1), lengths = by("lengths", 2);
  if (indices?.shape.length !== 1 || offsets?.shape.length !== 1) {
    return refuse(
      `it has ${words === "" ? "no tensors" : words}; expected one tensor of keys, or indices, offsets and lengths`,
    );
  }
  const bags = (offsets.shape[0] ?? 0) - 1;
  if (lengths?.shape.length !== 2) {
    return refuse(
      `it has ${words}: ${bags} bags, which may be samples of one table, or of several tables one after the other; say it ` +
        "with lengths of two dimensions: torch.save((indices, offsets, lengths.view(tables, -1)), file)",
    );
  }
  const [tables = 0, samples = 0] = lengths.shape;
  if (tables * samples !== bags) {
    refuse(
      `lengths are ${tables} tables of ${samples} samples, expected ${tables * samples + 1} offsets, found ${bags + 1}`,
    );
  }
  if (tables > MOST_TABLES) refuse(`it has ${tables} tables, expected at most ${MOST_TABLES}`);
  return { kind: "requests", indices, offsets, tables, samples, little };
}

/** A tensor of keys as an array. @throws {TraceError} If it has neither one dimension nor two. */
export function tensorHead(path: string, { tensor, little }: TensorLayout & { readonly kind: "keys" }): ArrayHead {
  const { shape, whole } = tensor, [rows = 0, columns = 1] = shape;
  if (whole === undefined || shape.length < 1 || shape.length > 2 || columns > MOST_TABLES) {
    throw new TraceError(
      `Cannot read the tensor in "${path}": its shape is ${
        shapeText(shape)
      }, expected one dimension, or two with at most ` +
        `${MOST_TABLES} columns`,
    );
  }
  return { what: "tensor", ...whole, little, rows, columns, start: 0 };
}

const streamOf = async (tensor: Tensor, little: boolean) =>
  new NumberStream(await openTensor(tensor), { width: 8, signed: true, ...tensor.whole, little });

/** Reads bags of many tables, table after table. Of a table without keys nothing is given out. @throws {TraceError} If offsets are wrong. */
export async function* readRequests(
  path: string,
  { indices, offsets, tables, samples, little }: TensorLayout & { readonly kind: "requests" },
): AsyncGenerator<TraceBatch> {
  const count = indices.shape[0] ?? 0;
  using keys = await streamOf(indices, little);
  using begins = await streamOf(offsets, little);
  let end = Number((await begins.next(1))[0]), waiting = 0;
  const refuse = (bag: number, what: string): never => {
    throw new TraceError(`Cannot read the tensors in "${path}", offset ${bag} of ${tables * samples + 1}: ${what}`);
  };
  if (end !== 0) refuse(1, `it is ${end}, expected 0`);
  for (let table = 0; table < tables; table++) {
    let bags: number[] = [];
    for (let sample = 0; sample < samples;) {
      const next = await begins.next(Math.min(BAGS, samples - sample));
      for (let i = 0; i < next.length; i++) {
        const offset = Number(next[i]), bag = table * samples + sample++, keysOfBag = offset - end;
        if (keysOfBag < 0) refuse(bag + 2, `it is ${offset}, which is less than the ${end} before it`);
        if (offset > count) refuse(bag + 2, `it is ${offset}, and there are ${count} indices`);
        if (keysOfBag > MOST_BAG) {
          refuse(bag + 2, `the bag before it has ${keysOfBag} keys, expected at most ${MOST_BAG}`);
        }
        end = offset;
        // Samples without keys stand with those before them.
        if ((keysOfBag > 0 && waiting >= ENOUGH) || bags.length === MOST_BAGS) {
          yield { table: `table${table}`, keys: await keys.next(waiting), bags };
          bags = [];
          waiting = 0;
        }
        bags.push(keysOfBag);
        waiting += keysOfBag;
      }
    }
    if (waiting > 0) yield { table: `table${table}`, keys: await keys.next(waiting), bags };
    waiting = 0;
  }
  if (end !== count) refuse(tables * samples + 1, `it is ${end}, and there are ${count} indices`);
  await keys.end();
  await begins.end();
}
