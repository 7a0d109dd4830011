// Traces of several blocks, whose numbers and lines the ends of reads cut, and lines that are read from bytes: against plain loops over the same values.

import "../../../native_library.ts";
import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { keyOf } from "../../../../models/workloads/trace/words.ts";
import { parseColumns, readTrace, type TraceOptions } from "../../../../mod.ts";
import { assert, assertEquals, assertRejects } from "../../../assert.ts";
import { inFolder } from "../../../cli/command.ts";
import { randomNumbers } from "../../../../base/random.ts";

const COUNT = 700_001;

async function keysOf(path: string, options: TraceOptions = {}): Promise<bigint[]> {
  const [kept, used]: [bigint[], bigint[]] = [[], []];
  for (const [all, reuse] of [[kept, false], [used, true]] as const) {
    const held: BigInt64Array[] = [];
    for await (const { keys } of readTrace(path, { ...options, inOrder: true, reuse })) {
      if (reuse) { for (const key of keys) all.push(key); }
      else held.push(keys);
    }
    // Keys that were given away stay what they were.
    for (const keys of held) for (const key of keys) all.push(key);
  }
  assertSame(used, kept, `${path}, in memory that is used again`);
  return kept;
}

/** The same number in every place where two lists differ, if they do. */
function assertSame(found: readonly bigint[], wanted: readonly bigint[], what: string): void {
  assertEquals(found.length, wanted.length, what);
  const at = wanted.findIndex((key, i) => key !== found[i]);
  assert(at < 0, `${what}: key ${at} is ${found[at]}, expected ${wanted[at]}`);
}

Deno.test("arrays of every width are read to the last number, wherever in memory they begin", async () => {
  const next = randomNumbers(7);
  await inFolder(async (folder) => {
    for (
      const [kind, width, start] of [["i", 8, 128], ["i", 8, 127], ["u", 4, 129], ["i", 4, 128], ["i", 2, 131], [
        "u",
        1,
        128,
      ]] as const
    ) {
      const head = new TextEncoder().encode(
        `{'descr': '<${kind}${width}', 'fortran_order': False, 'shape': (${COUNT},), }`.padEnd(start - 11) + "\n",
      );
      const file = new Uint8Array(start + COUNT * width), view = new DataView(file.buffer);
      file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
      view.setUint16(8, head.length, true);
      file.set(head, 10);
      for (let at = start; at < file.length; at++) file[at] = Math.floor(256 * next());
      const wanted = Array.from({ length: COUNT }, (_, i) => {
        let value = 0n;
        for (let k = width - 1; k >= 0; k--) value = value << 8n | BigInt(file[start + i * width + k] ?? 0);
        return kind === "i" ? BigInt.asIntN(8 * width, value) : value;
      });
      const path = `${folder}/${kind}${width}-${start}`;
      await Deno.writeFile(path, file);
      assertSame(await keysOf(path), wanted, path);
      await Deno.writeFile(path, gzipSync(file, { level: 1 }));
      assertSame(await keysOf(path), wanted, `${path}, packed`);
    }
  });
});

Deno.test("oracleGeneral keeps all 64 bits of an id, and names the record whose next access lies behind", async () => {
  const n = 100_000, file = new Uint8Array(24 * n), view = new DataView(file.buffer);
  const ids = Array.from({ length: n }, (_, i) => BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n));
  ids.forEach((id, i) => {
    view.setUint32(24 * i, i >> 4, true);
    view.setBigInt64(24 * i + 4, id, true);
    view.setBigInt64(24 * i + 16, i % 3 === 0 ? -1n : BigInt(i) + 2n ** 40n, true);
  });
  await inFolder(async (folder) => {
    const path = `${folder}/t.oracleGeneral`;
    await Deno.writeFile(path, file);
    assertSame(await keysOf(path), ids, "oracleGeneral");
    for (const wrong of [70_000n, -2n, -(2n ** 40n)]) {
      view.setBigInt64(24 * 80_000 + 16, wrong, true);
      await Deno.writeFile(path, file);
      await assertRejects(() => keysOf(path), Error, `record 80001 of oracleGeneral: the next access is ${wrong}`);
    }
  });
});

/** Words that are plain, and words that are not. */
const keyWord = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 2 ** 31 }).map(String) },
  fc.integer({ min: 0, max: 999_999_999_999_999 }).map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map(String),
  fc.constantFrom("007", "+5", "5.0", "-0", "user-1", "é", '"42"', " 17 "),
);
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "c", "aa") },
  fc.constantFrom("ü", '"b"', " a ", "x".repeat(1100)),
);
const bare = (text: string): string => text.trim().replace(/^"(.*)"$/, "$1").trim();

Deno.test("lines of numbers are read to the same keys, tables and samples as by taking them apart one by one", async () => {
  await inFolder(async (folder) => {
    let file = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(word, keyWord, fc.integer({ min: 0, max: 5 }).map(String)), { minLength: 3, maxLength: 40 }),
        fc.constantFrom("\n", "\r\n"),
        fc.constantFrom(",", ";", "\t"),
        fc.boolean(),
        async (rows, end, separator, closed) => {
          fc.pre(/^\d+$/.test(rows[0]?.[1] ?? "")); // a word above numbers alone would name the column
          const path = `${folder}/${file++}`;
          await Deno.writeTextFile(path, rows.map((row) => row.join(separator)).join(end) + (closed ? end : ""));
          const options = { columns: parseColumns("table=1,key=2,sample=3"), separator, format: "text" as const };
          const found: [string, bigint][] = [], bags: number[] = [];
          for await (const { table, keys, bags: own } of readTrace(path, { ...options, inOrder: true })) {
            for (const key of keys) found.push([table, key]);
            bags.push(...own ?? []);
          }
          assertEquals(found, rows.map(([table, key]) => [bare(table), keyOf(bare(key), "")]));
          // A sample of a table ends where the line before had another of either.
          const begins = rows.filter(([table, , sample], i) => {
            const [before, , other] = rows[i - 1] ?? [];
            return before === undefined || bare(table) !== bare(before) || sample !== other;
          });
          assertEquals(bags.length, begins.length);
          const alone = await keysOf(path, { ...options, columns: parseColumns("key=2") });
          assertEquals(alone, rows.map(([, key]) => keyOf(bare(key), "")));
          await Deno.remove(path);
        },
      ),
      { numRuns: 150 },
    );
  });
});

Deno.test("a long text is read to the last line, and what is no plain line is refused by its number", async () => {
  const keys = Array.from({ length: 400_000 }, (_, i) => BigInt(i) * 7919n % 1_000_003n);
  const lines = keys.map(String), text = (all: readonly string[]) => all.join("\n");
  await inFolder(async (folder) => {
    const path = `${folder}/t.txt`;
    await Deno.writeTextFile(path, text(lines));
    assertSame(await keysOf(path), keys, "text");
    // Lines between them that are no digits alone, and keys of more than 18 digits.
    const odd = ["-5", "  12", "+7", "1234567890123456789", "user-1", '"42"', "9223372036854775807", "007"];
    const mixed = lines.map((line, i) => i % 97 === 0 ? odd[i / 97 % odd.length] ?? "" : line);
    await Deno.writeTextFile(path, `${mixed.join("\r\n")}\r\n`);
    assertSame(await keysOf(path), mixed.map((line) => keyOf(bare(line), "")), "mixed text");
    for (
      const [line, message] of [
        ["1.5", "line 300001: the key 1.5 is a fraction"],
        ["", "line 300001: it is empty"],
        ["# 1", "line 300001: it begins with #"],
        ["1\0", "line 300001: it has NUL characters"],
        ["9".repeat(70_000), "line 300001: it has more than 65536 characters"],
      ] as const
    ) {
      await Deno.writeTextFile(path, text([...lines.slice(0, 300_000), line, ...lines.slice(300_000)]));
      await assertRejects(() => keysOf(path), Error, message);
    }
  });
});
