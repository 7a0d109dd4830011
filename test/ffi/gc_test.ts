import { assertEquals } from "../assert.ts";

Deno.test("forgotten stores are closed by the garbage collector, but not those with a table in use", async () => {
  const program = decodeURIComponent(new URL("gc_program.ts", import.meta.url).pathname);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--v8-flags=--expose-gc", program],
    stdin: "null",
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { freed: 100, closed: 20, rows: [5, 5] });
});
