import "../../../native_library.ts";
import { readTraceKeys } from "../../../../models/workloads/trace/keys.ts";
import { assertEquals, assertNotEquals, assertRejects } from "../../../assert.ts";

async function read(text: string | Uint8Array, name = "t.csv"): Promise<bigint[]> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/${name}`, typeof text === "string" ? new TextEncoder().encode(text) : text);
    return [...(await readTraceKeys(`${folder}/${name}`)).keys];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readTraceKeys() reads one key a line, with and without a header, and raw keys", async () => {
  assertEquals(await read("5\n-9223372036854775808\r\n7"), [5n, -(2n ** 63n), 7n]);
  assertEquals(await read("key\n5\n"), [5n]);
  assertEquals(await read(new Uint8Array(new BigInt64Array([3n, -4n]).buffer), "t.i64"), [3n, -4n]);
});

Deno.test("readTraceKeys() tells the rows of tables apart and keeps their order", async () => {
  const keys = await read("table,key\nuser,5\nitem,5\nuser,6\nuser,5\nitem,6\n");
  assertEquals([keys[0], keys[2], keys[3]], [5n, 6n, 5n]);
  assertNotEquals(keys[1], 5n);
  assertEquals((keys[1] ?? 0n) ^ 5n, (keys[4] ?? 0n) ^ 6n);
});

Deno.test("readTraceKeys() takes the keys of one table, and tells the tables there are", async () => {
  const trace = new URL("../../../fixtures/traces/requests.pt", import.meta.url).pathname;
  const lines = (await Deno.readTextFile(`${trace}.keys`)).split("\n").filter((line) => line.startsWith("table2,"));
  const { keys, tables } = await readTraceKeys(trace, { table: "table2" });
  assertEquals([[...keys].map((key) => `table2,${key}`), tables], [lines, ["table2"]]);
  await assertRejects(
    () => readTraceKeys(trace, { table: "table3" }),
    Error,
    'no table "table3"; it has table0, table1',
  );
});

Deno.test("readTraceKeys() names the line that it cannot read", async () => {
  await assertRejects(() => read("1\n9223372036854775807000\n"), Error, "line 2: the key 9223372036854775807000");
  await assertRejects(() => read("a,1\n2\n"), Error, "line 2: it has 1 fields");
  await assertRejects(() => read(new Uint8Array(7), "t.i64"), Error, "7 bytes are left over");
});
