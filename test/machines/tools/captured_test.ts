import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { captured, capturedPaths, PARSERS, plain } from "./outputs.ts";

Deno.test("Every captured output has its expected value, and every parser has outputs", () => {
  assertEquals(captured().map((one) => one.path).sort(), capturedPaths());
  assertEquals([...new Set(captured().map((one) => one.parser))].sort(), Object.keys(PARSERS).sort());
});

for (const { path, parser, parse, text, value, unknown } of captured()) {
  Deno.test(`${parser} understands ${path} exactly`, () => {
    const found = parse(text);
    if (unknown === undefined) {
      assert(found.known, found.known ? "" : found.reason);
      assertEquals(plain(found.value), value);
    } else {
      assert(!found.known);
      assertStringIncludes(found.reason, unknown);
      assertEquals(found.raw, text);
    }
  });
}
