import { readTrace } from "../../scenarios/workloads/trace.ts";
import { assertEquals, assertNotEquals, assertRejects } from "../assert.ts";

async function read(text: string | Uint8Array, name = "t.csv"): Promise<bigint[]> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/${name}`, typeof text === "string" ? new TextEncoder().encode(text) : text);
    return [...(await readTrace(`${folder}/${name}`)).keys];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readTrace() reads one key a line, with and without a header, and raw keys", async () => {
  assertEquals(await read("5\n-9223372036854775808\r\n\n7"), [5n, -(2n ** 63n), 7n]);
  assertEquals(await read("key\n5\n"), [5n]);
  assertEquals(await read(""), []);
  assertEquals(await read(new Uint8Array(new BigInt64Array([3n, -4n]).buffer), "t.i64"), [3n, -4n]);
});

Deno.test("readTrace() tells the rows of tables apart", async () => {
  const [a, b, again] = await read("table,key,sample\nuser,5,0\nitem,5,0\nuser,5,1\n");
  assertNotEquals(a, b);
  assertEquals(a, again);
});

Deno.test("readTrace() names the line that it cannot read", async () => {
  await assertRejects(() => read("1\nx\n"), SyntaxError, 'line 2 has the key "x"');
  await assertRejects(() => read("1\n9223372036854775808\n"), SyntaxError, "more than 64 bits");
  await assertRejects(() => read("a,1\n2\n"), SyntaxError, "line 2 has 1 columns");
  await assertRejects(() => read("row,key\n1,2\n"), SyntaxError, 'columns "row,key"');
  await assertRejects(() => read(new Uint8Array(7), "t.i64"), SyntaxError, "7 bytes");
});
