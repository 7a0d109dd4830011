/** Memory that traces take: bounded, however long they are. */

import { fileURLToPath } from "node:url";
import "../../../native_library.ts";
import { assert, assertEquals } from "../../../assert.ts";

const PROGRAM = fileURLToPath(new URL("memory_program.ts", import.meta.url));
const MIB = 2 ** 20;

interface Answer {
  readonly rate: number;
  readonly took: number;
  readonly lookups: number;
  readonly most: number;
}

async function ran(...args: string[]): Promise<Answer> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROGRAM, ...args],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Raw keys of three million rows. */
async function writeKeys(path: string, count: number): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  const block = new BigInt64Array(1 << 16);
  for (let at = 0, key = 1n; at < count; at += block.length) {
    for (let i = 0; i < block.length; i++) block[i] = (key = key * 48271n % 2147483647n) % 3_000_000n;
    await file.write(new Uint8Array(block.buffer, 0, 8 * Math.min(block.length, count - at)));
  }
}

Deno.test("a curve of a trace four times as long takes no more memory", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const counts = [4_000_000, 16_000_000], answers: Answer[] = [];
    for (const count of counts) {
      await writeKeys(`${folder}/${count}.i64`, count);
      answers.push(await ran("curve", `${folder}/${count}.i64`, String(24 * MIB)));
    }
    const [short, long] = answers;
    assert(short !== undefined && long !== undefined);
    assertEquals(answers.map(({ lookups }) => lookups), counts);
    assert(short.took <= 24 * MIB && long.took <= 24 * MIB && long.rate < short.rate && short.rate < 1);
    // Kept whole, the long one would have 92 MiB more of keys alone.
    assert(long.most - short.most < 48 * MIB, `${short.most / MIB} and ${long.most / MIB} MiB`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
