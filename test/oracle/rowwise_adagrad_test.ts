// Row-wise Adagrad against a recording of FBGEMM's EXACT_ROWWISE_ADAGRAD (rowwise_adagrad.py).

import "../native_library.ts";
import { assert, assertEquals } from "../assert.ts";
import { EmbeddingStore } from "../../mod.ts";

interface Recording {
  readonly rows: number;
  readonly steps: number;
  readonly learningRate: number;
  readonly epsilon: number;
  /** Weights and sums as little-endian floats in base64. */
  readonly cases: readonly {
    readonly dim: number;
    readonly states: readonly { readonly step: number; readonly weights: string; readonly sums: string }[];
  }[];
}

const file = new URL("../fixtures/rowwise_adagrad.json", import.meta.url);
const recording: Recording = JSON.parse(await Deno.readTextFile(file));

/** As the script draws it: 24 random bits, smaller for later rows. */
function gradient(row: number, element: number, step: number): number {
  const x = BigInt(row * 7919 + element * 104729 + step * 1299709 + 12345) * 2654435761n % 2n ** 32n;
  return (Number(x >> 8n) / 2 ** 23 - 1) * 2 ** (-3 * row);
}

/** The bits of floats, in base64. */
function bits(floats: Float32Array): string {
  return btoa(String.fromCharCode(...new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength)));
}

Deno.test.each(recording.cases)("rows of $dim weights step as FBGEMM's, to the last bit", ({ dim, states }) => {
  const { rows, learningRate, epsilon } = recording;
  using store = EmbeddingStore.open({ storage: "DRAM", size: ["16 MiB"] });
  const rowwiseAdagrad = { learningRate, epsilon };
  const table = store.table({ name: "t", dim, optimizer: { rowwiseAdagrad }, initializer: 0.5 });
  const keys = BigInt64Array.from([...Array(rows).keys(), rows - 1], BigInt);
  const known = keys.slice(0, rows);
  table.lookup(known);
  let compared = 0;
  for (let step = 1; step <= recording.steps; step++) {
    table.update(
      keys,
      Float32Array.from({ length: keys.length * dim }, (_, at) => gradient(Math.floor(at / dim), at % dim, step)),
    );
    const state = states.find((one) => one.step === step);
    if (state === undefined) continue;
    assertEquals(bits(table.find(known).rows), state.weights);
    const sums = table.find(known, { slot: 1 }).rows;
    assertEquals(bits(sums.filter((_, at) => at % dim === 0)), state.sums);
    assert(sums.every((sum, at) => sum === sums[at - at % dim]), "a row's sum stands in each place");
    compared++;
  }
  assert(compared === states.length && compared > 0);
});
