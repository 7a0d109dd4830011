/** Columns of Parquet files: read to what pyarrow put in, or refused with the words that choose. */

import "../../../native_library.ts";
import { gzipSync } from "node:zlib";
import { TraceError } from "../../../../models/workloads/trace/batch.ts";
import { parseColumns } from "../../../../models/workloads/trace/columns.ts";
import { unpackLz4, unpackOldLz4 } from "../../../../models/workloads/trace/lz4_block.ts";
import { inspectTrace, readTrace } from "../../../../models/workloads/trace/read.ts";
import { hashOf } from "../../../../models/workloads/trace/word_hash.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../assert.ts";

const FIXTURES = new URL("../../../fixtures/traces/", import.meta.url).pathname;

async function read(path: string, columns?: string): Promise<string[]> {
  const lines: string[] = [];
  const options = columns === undefined ? {} : { columns: parseColumns(columns) };
  for await (const { table, keys, bags } of readTrace(path, { inOrder: true, ...options })) {
    lines.push(`${table} ${keys.join(",")}${bags === undefined ? "" : ` / ${bags.join(",")}`}`);
  }
  return lines;
}

async function refusal(path: string, columns?: string): Promise<string> {
  return (await assertRejects(() => read(path, columns), TraceError)).message;
}

Deno.test("readTrace() takes columns of a Parquet file by name or number, and lists as samples", async () => {
  const odd = `${FIXTURES}odd.parquet`;
  assertEquals(await read(odd, "key=user_id"), ["keys 1,2"]);
  assertEquals(await read(odd, "key=1,table=user_id,time=when"), ["1 1", "2 2"]);
  const hash = BigInt.asIntN(64, hashOf("seven"));
  assertEquals(await read(odd, "key=word,sample=user_id"), [`keys 7,${hash} / 1,1`]);
  assertEquals(await read(odd, "key=times,key=user_id"), ["times 1 / 1", "user_id 1", "times 2 / 1", "user_id 2"]);
  const [lists = ""] = await read(`${FIXTURES}lists.parquet`);
  assertStringIncludes(lists, " / 1,2,3,1,2,3");
});

Deno.test("inspectTrace() tells the columns of a Parquet file", async () => {
  const facts = await inspectTrace(`${FIXTURES}flat.parquet`);
  assertEquals([facts.format, facts.columns], ["parquet", "table: feature; keys: item_id; time: time"]);
  assertEquals(facts.tables.map(({ name, lookups }) => [name, lookups]).sort(), [["item", 329], ["user", 271]]);
});

Deno.test("readTrace() refuses Parquet columns that are no keys, and missing values", async () => {
  const odd = `${FIXTURES}odd.parquet`;
  for (
    const [columns, message] of [
      [undefined, "--columns key=user_id,key=item_id if both have keys of tables of their own"],
      ["key=item_id", "row 2: the key is empty"],
      ["key=score", "the column score has values of type DOUBLE, expected whole numbers or words"],
      ["key=when", "the column when has values of type TIMESTAMP"],
      ["key=pair", "the column pair has columns inside it"],
      ["key=nested", "the column nested has lists of lists"],
      ["key=user_id,time=times", "the column times has lists and cannot be the time"],
      ["key=user_id,sample=item_id", "row 2: the sample is empty"],
      ["key=none", 'there is no column "none"; it has the columns user_id, item_id'],
    ] as const
  ) assertStringIncludes(await refusal(odd, columns), message);
});

Deno.test("readTrace() refuses Parquet files that are cut, damaged, or packed as a whole", async () => {
  const folder = await Deno.makeTempDir(), path = `${folder}/t`;
  const whole = await Deno.readFile(`${FIXTURES}lists.parquet`), changed = whole.slice();
  try {
    const of = async (data: Uint8Array) => {
      await Deno.writeFile(path, data);
      return await refusal(path);
    };
    assertStringIncludes(await of(whole.slice(0, -1)), "it is cut short: PAR1 is missing at its end");
    assertStringIncludes(await of(whole.slice(0, 12)), "it is cut short");
    assertStringIncludes(await of(gzipSync(whole)), "it is packed with gzip as a whole; unpack it first");
    changed[changed.length - 8] = 255;
    changed[changed.length - 7] = 255;
    assertStringIncludes(await of(changed), "its last part has");
    const seen = new Set<string>();
    for (let at = 500; at < 900; at += 20) {
      const page = whole.slice();
      page[at]! ^= 1;
      await Deno.writeFile(path, page);
      await read(path).catch((error: Error) => seen.add(error.message.slice(error.message.indexOf(": ") + 2)));
    }
    assert(seen.has("a page is damaged: its checksum is another"), [...seen].join());
    assertStringIncludes(await of(new TextEncoder().encode("PARE....")), "whose columns are encrypted");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("unpackLz4() unpacks literals and matches that reach into themselves, and refuses damaged blocks", () => {
  const block = Uint8Array.of(0x32, 1, 2, 3, 2, 0, 0x10, 9);
  assertEquals(unpackLz4(block, 10), Uint8Array.of(1, 2, 3, 2, 3, 2, 3, 2, 3, 9));
  const zeros = Uint8Array.of(0x1f, 0, 1, 0, 255, 30, 0x10, 7);
  assertEquals(unpackLz4(zeros, 306), Uint8Array.from({ length: 306 }, (_, i) => i < 305 ? 0 : 7));
  for (const size of [9, 11, 1e9]) assertEquals(unpackLz4(block, size), undefined);
  for (let cut = 0; cut < block.length; cut++) assertEquals(unpackLz4(block.subarray(0, cut), 10), undefined);
  assertEquals(unpackLz4(Uint8Array.of(0x32, 1, 2, 3, 4, 0, 0x10, 9), 10), undefined); // before the beginning
  assertEquals(unpackLz4(Uint8Array.of(0x32, 1, 2, 3, 0, 0, 0x10, 9), 10), undefined); // no way back
  assertEquals(unpackLz4(Uint8Array.of(0xf0, 255, 255), 1000), undefined);
});

Deno.test("unpackOldLz4() takes Hadoop's frames or a block without, and refuses damaged ones", () => {
  const block = Uint8Array.of(0x32, 1, 2, 3, 2, 0, 0x10, 9), wanted = [1, 2, 3, 2, 3, 2, 3, 2, 3, 9];
  const frame = [0, 0, 0, 10, 0, 0, 0, block.length, ...block];
  assertEquals(unpackOldLz4(block, 10), Uint8Array.from(wanted));
  assertEquals(unpackOldLz4(Uint8Array.from(frame), 10), Uint8Array.from(wanted));
  assertEquals(unpackOldLz4(Uint8Array.from([...frame, ...frame]), 20), Uint8Array.from([...wanted, ...wanted]));
  for (let cut = 0; cut < frame.length; cut++) {
    assertEquals(unpackOldLz4(Uint8Array.from(frame.slice(0, cut)), 10), undefined, `cut at ${cut}`);
  }
  for (const size of [9, 11, 1e9]) assertEquals(unpackOldLz4(Uint8Array.from(frame), size), undefined);
});
