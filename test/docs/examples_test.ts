/** The programs of docs/examples, run as a reader would, from another folder. */

import { fileURLToPath } from "node:url";
import "../native_library.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { assert, assertEquals } from "../assert.ts";

const EXPECTED: Readonly<Record<string, string>> = {
  "multi_tier_variable.ts": "weights 0.901227, accumulators 4.1\nall equal: true\nrows by tier: 4 + 2\n",
  "multi_tier_columns.ts": "loss 36\nweights 0.901227\naccumulators 4.1\nrows by tier: 4 + 2\n",
};

const FOLDER = new URL("../../docs/examples/", import.meta.url);

Deno.test("every program of docs/examples is tested", async () => {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) names.push(name);
  assertEquals(names.sort(), [...Object.keys(EXPECTED), "read_checkpoint.ts"].sort());
});

for (const [name, expected] of Object.entries(EXPECTED)) {
  Deno.test(`docs/examples/${name} prints what DeepRec computes`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const program = fileURLToPath(new URL(name, FOLDER));
      const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", program], cwd: folder });
      const { code, stdout, stderr } = await command.output();
      assertEquals([new TextDecoder().decode(stderr), new TextDecoder().decode(stdout), code], ["", expected, 0]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** What the program prints of a chain: weights by "table key". */
async function printed(path: string, number: number): Promise<Map<string, number[]>> {
  const program = fileURLToPath(new URL("read_checkpoint.ts", FOLDER));
  const args = ["run", `--allow-read=${path}`, "--no-prompt", program, path, String(number)];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  assertEquals([new TextDecoder().decode(stderr), code], ["", 0]);
  const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
  const rows = new Map(lines.map(({ table, key, weights }) => [`${table} ${key}`, weights as number[]]));
  assertEquals(rows.size, lines.length); // none twice
  return rows;
}

/** The same of a store. */
function held(store: EmbeddingStore): Map<string, number[]> {
  return new Map(["user = \\id", "halves"].flatMap((name) => {
    const table = store.existing(name);
    return [...table.keys()].map((key): [string, number[]] => [`${name} ${key}`, [...table.find([key]).rows]]);
  }));
}

Deno.test("docs/examples/read_checkpoint.ts reads a chain from its description alone", async () => {
  const text = await Deno.readTextFile(new URL("read_checkpoint.ts", FOLDER));
  assert(text.split("\n").length <= 101 && !/import /.test(text));
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/chain`;
    using store = EmbeddingStore.open({ storage: "DRAM", seed: 1, trackChanges: true });
    const table = store.table({ name: "user = \\id", dim: 3, optimizer: "adam", recordVersion: true });
    store.table({ name: "halves", dim: 5, dtype: "bf16" }).lookup(
      BigInt64Array.from({ length: 200 }, (_, i) => BigInt(i)),
    );
    const keys = BigInt64Array.from(
      { length: 3000 },
      (_, i) => (-1n) ** BigInt(i) * (2n ** BigInt(i % 63)) + BigInt(i),
    );
    table.lookup(keys);
    const states: Map<string, number[]>[] = [];
    for (let i = 0; i < 3; i++) {
      const pending = store.checkpoint({ path });
      states.push(held(store));
      const some = keys.subarray(i * 500, i * 500 + 700);
      table.update(some, Float32Array.from({ length: some.length * 3 }, (_, k) => Math.cos(k + i)));
      table.remove(keys.subarray(i * 400, i * 400 + 100));
      table.lookup([10_000n + BigInt(i)]);
      await pending.write();
    }
    for (const [i, state] of states.entries()) assertEquals(await printed(path, i + 1), state);
    assert(new Set(states.map(({ size }) => size)).size > 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
