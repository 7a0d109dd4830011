/** Traces in every form: read to the keys that their own tools gave, or refused in words that help. */

import "../../../native_library.ts";
import { TraceError } from "../../../../models/workloads/trace/batch.ts";
import { parseColumns } from "../../../../models/workloads/trace/columns.ts";
import { inspectTrace, readTrace, type TraceOptions } from "../../../../models/workloads/trace/read.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../../../assert.ts";

const FIXTURES = new URL("../../../fixtures/traces/", import.meta.url).pathname;

/** `table,key` a line, in order; of the only table, keys alone. */
async function linesOf(path: string, options: TraceOptions = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const { table, keys } of readTrace(path, { ...options, inOrder: true })) {
    for (const key of keys) lines.push(table === "keys" ? String(key) : `${table},${key}`);
  }
  return lines;
}

async function withFile<T>(data: string | Uint8Array, use: (path: string) => Promise<T>, name = "t.csv"): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/${name}`, typeof data === "string" ? new TextEncoder().encode(data) : data);
    return await use(`${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const read = (data: string | Uint8Array, options?: TraceOptions, name?: string) =>
  withFile(data, (path) => linesOf(path, options), name);

async function refusal(data: string | Uint8Array, options?: TraceOptions, name?: string): Promise<string> {
  const error = await assertRejects(() => read(data, options, name), TraceError);
  return error.message;
}

Deno.test("readTrace() reads files that numpy, torch, pyarrow, DuckDB and zstandard wrote to the keys that were put in", async () => {
  let files = 0;
  for await (const { name } of Deno.readDir(FIXTURES)) {
    if (!name.endsWith(".keys") || name.startsWith("floats")) continue;
    const expected = (await Deno.readTextFile(`${FIXTURES}${name}`)).split("\n").slice(0, -1);
    const columns = name.startsWith("pairs_by_column") ? "key=2" : name.startsWith("pairs") ? "key=1,key=2" : undefined;
    const options = columns === undefined ? {} : { columns: parseColumns(columns) };
    assertEquals(await linesOf(`${FIXTURES}${name.slice(0, -".keys".length)}`, options), expected, name);
    files++;
  }
  assertEquals(files, 38);
});

Deno.test("readTrace() takes separators, comments, byte order marks, quotes and line ends for what they are", async () => {
  const rows = ["a,1", "b,2", "a,3"], expected = rows;
  for (const separator of [",", ";", "::", "\t", " ", "|", " , "]) {
    assertEquals(await read(rows.map((row) => row.replace(",", separator)).join("\n")), expected, separator);
  }
  assertEquals(await read("\ufefftable,key\na,1\n"), ["a,1"]);
  assertEquals(await read('"table","key"\n"a","1"\n'), ["a,1"]);
  assertEquals(await read("# made by a tool\n# 2026\n5\n6\n"), ["5", "6"]);
  assertEquals(await read("5\r6\r7\r"), ["5", "6", "7"]);
  assertEquals(await read("5.0\n6.0\n"), ["5", "6"]);
  for (const header of ["key", "item_id", "obj_id", "object", "itemId", "anything"]) {
    assertEquals(await read(`${header}\n5\n6\n`), ["5", "6"], header);
  }
});

Deno.test("readTrace() takes a word above the numbers of a column that was chosen by its number for its name", async () => {
  // scikit-learn's files begin so: counts, then the names of classes.
  const titled = "150,4,setosa,red\n5,3,0,a\n4,3,1,b\n";
  assertEquals(await read(titled, { columns: parseColumns("key=3") }), ["0", "1"]);
  assertEquals((await read(titled, { columns: parseColumns("key=4") })).length, 3); // words below words
  assertEquals(await read(titled, { columns: parseColumns("key=2") }), ["4", "3", "3"]);
  assertEquals(await read("at,7\n1,8\n2,9\n", { columns: parseColumns("time=1,key=2") }), ["8", "9"]);
});

Deno.test("readTrace() reads one column of an array whose columns stand one after the other, and refuses several", async () => {
  const file = `${FIXTURES}pairs_by_column.npy`, whole = await Deno.readFile(file);
  const [a, b] = await Promise.all(
    ["key=1", "key=2"].map((columns) => linesOf(file, { columns: parseColumns(columns) })),
  );
  assertEquals(a?.toReversed(), b);
  const one = { columns: parseColumns("key=1") };
  for (const columns of ["key=1,key=2", "key=*", "key=1,sample=2", "key=*,sample=*", "key=1,time=2"]) {
    assertStringIncludes(await refusal(whole, { columns: parseColumns(columns) }, "t"), "choose one alone, or save");
  }
  assertStringIncludes(await refusal(whole.slice(0, -8), one, "t"), "it ends after");
  assertStringIncludes(await refusal(whole.slice(0, -1), one, "t"), "it ends within a number");
  assertStringIncludes(await refusal(new Uint8Array([...whole, ...whole.slice(-8)]), one, "t"), "bytes are left over");
});

Deno.test("readTrace() takes columns by a header that tells them", async () => {
  assertEquals(await read("time,id,size\n1,5,100\n2,6,100\n"), ["5", "6"]);
  assertEquals(await read("request_id,feature,row\n1,u,5\n1,i,6\n"), ["u,5", "i,6"]);
  assertStringIncludes(await refusal("time,id,size\n2,5,100\n1,6,100\n"), "line 3: the time goes back from 2 to 1");
});

Deno.test("readTrace() refuses what can be read in several ways, with the words that choose", async () => {
  const ratings = "userId,movieId,rating\n1,10,3.5\n2,10,4\n";
  assertStringIncludes(await refusal(ratings), "--columns key=userId,key=movieId if both");
  assertEquals(await read(ratings, { columns: parseColumns("key=userId,key=movieId") }), [
    "userId,1",
    "movieId,10",
    "userId,2",
    "movieId,10",
  ]);
  assertEquals(await read(ratings, { columns: parseColumns("key=2,sample=userId") }), ["10", "10"]);
  assertStringIncludes(await refusal("user,item\n1,10\n"), "--columns key=item if only that has keys");
  assertStringIncludes(await refusal("1,10\n2,11\n"), "--columns table=1,key=2");
  assertStringIncludes(await refusal("17 5 100\n18 6 100\n"), "can be read in several ways");
  const words = Array.from({ length: 20 }, (_, i) => `user${i},${i}`).join("\n");
  assertStringIncludes(await refusal(words), "can be read in several ways");
  assertStringIncludes(await refusal("a,1;5\nb,2;6\n"), '--separator ","');
  assertEquals(await read("a,1;5\na,2;6\n", { separator: ";", columns: parseColumns("key=2") }), ["5", "6"]);
  assertStringIncludes(await refusal(ratings, { columns: parseColumns("key=item") }), 'there is no column "item"');
  assertThrows(() => parseColumns("keys=1"), TraceError, "none of table=…, key=…");
});

Deno.test("readTrace() takes nothing for keys that are none", async () => {
  for (
    const [data, message] of [
      ["[1, 2, 3]", "JSON"],
      ['{"key": 1}\n', "JSON"],
      ["1 3:0.5 7:1\n0 4:1 9:2\n", "libsvm"],
      ["<html>", "HTML"],
      ["# nothing\n", "nothing but lines that begin with #"],
      ["5\n# late\n", "line 2: it begins with #"],
      ["0.25\n0.5\n", "the key 0.25 is a fraction"],
      ["", "it is empty"],
      [new Uint8Array([0xff, 0xfe, 0x31, 0, 0x0a, 0]), "UTF-16"],
      [new Uint8Array(new Int32Array([1, 2, 3, 4]).buffer), "binary data that do not say what they are"],
      [new TextEncoder().encode("PAR1...."), "Parquet"],
      [new Uint8Array([0x80, 4, 0x95, 0, 0]), "pickle"],
      [`1\n${"x".repeat(70_000)}`, "more than 65536 characters"],
      [`${"5\n".repeat(70_000)}\0\n`, "NUL"],
    ] as const
  ) assertStringIncludes(await refusal(data), message);
  assertStringIncludes(await refusal("12345678", {}, "t.i64"), "it looks like text");
  const small = new Uint8Array(Int32Array.from({ length: 64 }, (_, i) => (i * 37) % 101).buffer);
  assertStringIncludes(await refusal(small, {}, "t.i64"), "--format i32");
  assertEquals((await read(small, { format: "i32" })).slice(0, 3), ["0", "37", "74"]);
  const many = Array.from({ length: 5000 }, (_, i) => `t${i},1\n`).join("");
  assertStringIncludes(await refusal(many, { columns: parseColumns("table=1,key=2") }), "more than 4096 tables");
  await assertRejects(() => linesOf(`${FIXTURES}floats.npy`), TraceError, "its elements are <f8");
  await assertRejects(() => linesOf(`${FIXTURES}pairs.npy`), TraceError, "--columns key=1,key=2");
});

Deno.test("readTrace() refuses cut and damaged binary files", async () => {
  const whole = async (name: string) => await Deno.readFile(`${FIXTURES}${name}`);
  const oracle = await whole("skewed.oracleGeneral");
  assertStringIncludes(await refusal(oracle.slice(0, -1), { format: "oracleGeneral" }), "bytes are left over");
  const behind = oracle.slice();
  new DataView(behind.buffer).setBigInt64(24 * 500 + 16, 3n, true);
  assertStringIncludes(await refusal(behind, { format: "oracleGeneral" }), "the next access is 3, which lies behind");
  const npy = await whole("int64.npy");
  assertStringIncludes(await refusal(npy.slice(0, -8)), "it ends after 99 of 100 lines");
  assertStringIncludes(
    await refusal(new Uint8Array([...npy, 1, 2, 3, 4, 5, 6, 7, 8])),
    "left over behind the 100 lines",
  );
  for (const name of ["text.csv.zst", "two_frames.csv.zst", "two_members.csv.gz", "skewed.oracleGeneral.zst"]) {
    assertStringIncludes(await refusal((await whole(name)).slice(0, -3)), "damaged or cut short");
  }
});

Deno.test("readTrace() holds little memory, however large the trace, and keeps samples whole", async () => {
  // 300 tables of 40,000 lookups: 12 M keys, 96 MB of them; samples of three keys.
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/t.csv`;
    using file = await Deno.open(path, { write: true, create: true });
    const encoder = new TextEncoder();
    for (let sample = 0; sample < 2000; sample++) {
      let text = sample === 0 ? "table,key,sample\n" : "";
      for (let table = 0; table < 300; table++) text += `t${table},${sample % 97},s${sample}\n`.repeat(3);
      await file.write(encoder.encode(text));
    }
    let lookups = 0, samples = 0;
    for await (const { keys, bags } of readTrace(path)) {
      assert(keys.length <= 65_536);
      assertEquals(bags?.every((bag) => bag === 3), true);
      lookups += keys.length;
      samples += bags?.length ?? 0;
    }
    assertEquals([lookups, samples], [1_800_000, 600_000]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("inspectTrace() tells form, columns, tables, lookups and keys", async () => {
  const facts = await inspectTrace(`${FIXTURES}skewed.oracleGeneral.zst`);
  const keys = new Set((await Deno.readTextFile(`${FIXTURES}skewed.oracleGeneral.keys`)).split("\n").slice(0, -1)).size;
  assertEquals([facts.format, facts.packing, facts.tables], ["oracleGeneral", "zstd", [{
    name: "keys",
    lookups: 600,
    keys,
  }]]);
  const text = await withFile("table,key,sample\na,1,0\na,1,0\nb,2,0\n", (path) => inspectTrace(path));
  assertEquals(text.columns, "table: table; keys: key; sample: sample");
  assertEquals(text.tables, [{ name: "a", lookups: 2, keys: 1, samples: 1 }, {
    name: "b",
    lookups: 1,
    keys: 1,
    samples: 1,
  }]);
  const many = new Uint8Array(BigInt64Array.from({ length: 400_000 }, (_, i) => BigInt(i >> 1) << 20n).buffer);
  const [table] = (await withFile(many, (path) => inspectTrace(path, { format: "i64" }))).tables;
  assert(Math.abs((table?.keys ?? 0) / 200_000 - 1) < 0.06, `${table?.keys}`);
});

Deno.test("readTrace() reads archives of NumPy arrays, a table each, and refuses to guess which have keys", async () => {
  const hot = `${FIXTURES}multi_hot.npz`, named = `${FIXTURES}named.npz`;
  const batches = await Array.fromAsync(readTrace(hot));
  assertEquals(batches.map(({ table }) => table), Array.from({ length: 11 }, (_, i) => String(i)));
  assertEquals([batches[0]?.bags?.[39], batches[1]?.bags, batches[1]?.keys.length], [3, undefined, 40]);
  assertEquals((await linesOf(hot, { columns: parseColumns("key=2,key=10") })).slice(0, 3).map((line) => line[0]), [
    "2",
    "2",
    "1",
  ]);
  assertEquals((await linesOf(hot, { columns: parseColumns("key=*") })).length, 40 * 22);
  assertStringIncludes((await inspectTrace(hot)).columns, "arrays: 0 (3 a line), 1 (1 a line)");
  const message = async (columns?: string) =>
    (await assertRejects(
      () => linesOf(named, columns === undefined ? {} : { columns: parseColumns(columns) }),
      TraceError,
    ))
      .message;
  assertStringIncludes(await message(), "the arrays X_cat, X_int, y, which can be read in several ways");
  assertStringIncludes(await message("key=*"), "its elements are <f8");
  assertStringIncludes(await message("key=X_cat,sample=X_int"), "its arrays can be chosen as keys only");
  assertEquals((await linesOf(named, { columns: parseColumns("key=X_cat") })).length, 120);
  const cut = await Deno.readFile(`${FIXTURES}packed.npz`);
  assertStringIncludes(await refusal(cut.slice(0, -30)), "an archive's directory is missing at its end");
});

Deno.test("readTrace() takes all columns as keys of their own tables with key=*", async () => {
  assertEquals(
    await linesOf(`${FIXTURES}pairs.npy`, { columns: parseColumns("key=*") }),
    (await Deno.readTextFile(
      `${FIXTURES}pairs.npy.keys`,
    )).split("\n").slice(0, -1),
  );
  assertEquals(await read("t,a,b\n1,5,6\n", { columns: parseColumns("key=*,time=t") }), ["a,5", "b,6"]);
  assertStringIncludes(
    await refusal("t,a,b\n1,5,6\n", { columns: parseColumns("key=*,table=t") }),
    "with several columns of keys, each is a table",
  );
});

Deno.test("readTrace() takes a line as a sample of one table with sample=*", async () => {
  const columns = parseColumns("key=*,sample=*"), pairs = `${FIXTURES}pairs.npy`;
  const keys = (await Deno.readTextFile(`${pairs}.keys`)).split("\n").slice(0, -1).map((line) => line.split(",")[1]);
  assertEquals(await linesOf(pairs, { columns }), keys);
  const [batch] = await Array.fromAsync(readTrace(pairs, { columns }));
  assertEquals(batch?.bags, Array<number>(300).fill(2));
  assertEquals((await linesOf(pairs, { columns: parseColumns("key=2,key=1,sample=*") })).slice(0, 2), [
    keys[1],
    keys[0],
  ]);
  assertStringIncludes((await inspectTrace(pairs, { columns })).columns, "a line is a sample");
  await assertRejects(() => linesOf(pairs), TraceError, "--columns key=*,sample=* if a line is a sample of one table");
  const bags = async (data: string, words: string) =>
    await withFile(
      data,
      async (path) =>
        (await Array.fromAsync(readTrace(path, { columns: parseColumns(words) }))).map(({ table, keys, bags }) =>
          `${table} ${keys.join(" ")} / ${bags?.join(" ")}`
        ),
    );
  assertEquals(await bags("5 6 7\n5 8 9\n", "key=*,sample=*"), ["keys 5 6 7 5 8 9 / 3 3"]);
  assertEquals(await bags("a,5,6\nb,7,8\n", "table=1,key=2,key=3,sample=*"), ["a 5 6 / 2", "b 7 8 / 2"]);
});
