/** Damaged traces: each is an error, or reads to its end; none crashes, hangs, or holds much memory. */

import "../../../native_library.ts";
import { randomNumbers } from "../../../../base/random.ts";
import { TraceError } from "../../../../models/workloads/trace/batch.ts";
import { parseColumns } from "../../../../models/workloads/trace/columns.ts";
import { readTrace } from "../../../../models/workloads/trace/read.ts";
import { assert } from "../../../assert.ts";

const FIXTURES = new URL("../../../fixtures/traces/", import.meta.url).pathname;
/** Files; nightly `TIERBENCH_MUTATIONS=100000`. */
const COUNT = Number(Deno.env.get("TIERBENCH_MUTATIONS") ?? 2000);
/** Bytes outside the heap that reading one of these files may take. */
const MOST_BYTES = 16 * 2 ** 20;

const TEXTS = [
  "table,key,sample\n" + Array.from({ length: 50 }, (_, i) => `${i % 3 ? "a" : "b"},${i},${i >> 2}\n`).join(""),
  Array.from({ length: 400 }, (_, i) => `${i * i * 7919}\n`).join(""),
  "time;id;size\n" + Array.from({ length: 50 }, (_, i) => `${i};${i % 7};9\n`).join(""),
  `${["0", ...Array<string>(13).fill("1"), ...Array<string>(26).fill("0a")].join("\t")}\n`.repeat(5),
];

Deno.test("readTrace() takes thousands of damaged files without a crash and in little memory", async () => {
  const whole: Uint8Array[] = TEXTS.map((text) => new TextEncoder().encode(text));
  for await (const { name } of Deno.readDir(FIXTURES)) {
    if (!/\.(keys|py)$/.test(name)) whole.push(await Deno.readFile(`${FIXTURES}${name}`));
  }
  const next = randomNumbers(20261123), below = (n: number) => Math.floor(next() * n);
  const folder = await Deno.makeTempDir();
  let errors = 0, most = 0;
  try {
    for (let i = 0; i < COUNT; i++) {
      const source = whole[below(whole.length)]!, path = `${folder}/t${below(4) === 0 ? ".i64" : ".csv"}`;
      let data = source.slice();
      for (let changes = 1 + below(4); changes > 0; changes--) {
        // Half of the changes are near the beginning, where heads and magic numbers are.
        const at = below(2) === 0 ? below(Math.min(96, data.length)) : below(data.length), kind = below(5);
        if (kind === 0) data[at] = below(256);
        else if (kind === 1 && data.length > 0) data[at]! ^= 1 << below(8);
        else if (kind === 2) data = data.slice(0, at);
        else if (kind === 3) data = new Uint8Array([...data.subarray(0, at), ...data.subarray(below(data.length))]);
        else data.fill(below(2) === 0 ? 255 : 0, at, at + 1 + below(8));
      }
      await Deno.writeFile(path, data);
      const before = Deno.memoryUsage().external;
      try {
        const columns = below(8) === 0 ? { columns: parseColumns("key=1,key=2") } : {};
        for await (const { keys } of readTrace(path, { inOrder: below(2) === 0, reuse: below(2) === 0, ...columns })) {
          assert(keys.length > 0);
        }
      } catch (error) {
        if (!(error instanceof TraceError)) throw error;
        assert(error.message.length < 1000, error.message);
        errors++;
      }
      most = Math.max(most, Deno.memoryUsage().external - before);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assert(errors > COUNT / 4, `${errors} of ${COUNT} files were refused`);
  assert(most < MOST_BYTES, `${most} bytes were taken for one file`);
});
