import "../native_library.ts";
import { assertEquals, assertMatch } from "../assert.ts";

interface Line {
  readonly name: string;
  readonly outcome?: string;
}

Deno.test("nothing that a program hands to the library reaches memory that is not its own", async (t) => {
  const program = decodeURIComponent(new URL("attack_program.ts", import.meta.url).pathname);
  const { stdout, stderr, signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program],
    stdin: "null",
  }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line) as Line);
  assertEquals({ signal, last: lines.at(-1) }, { signal: null, last: { name: "afterwards", outcome: "right" } });
  assertEquals(new TextDecoder().decode(stderr), "");
  for (const { name, outcome } of lines) {
    if (outcome === undefined) continue;
    await t.step(name, () => {
      assertMatch(
        outcome,
        /^right$|^TypeError: (Cannot|Receiver must be) |^RangeError: Cannot |^TierstoreError: Cannot tell repeats: 1 rates and 1 bins|^Error: Cannot .* is closed$/,
      );
    });
  }
});
