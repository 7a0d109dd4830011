/** The cost models run in a browser, too: they know no Deno, and text files come in by one module alone. */

import { assert, assertEquals } from "../../assert.ts";

const room = new URL("../../../models/costs/", import.meta.url);

function* sources(folder: URL): Generator<URL> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sources(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield new URL(name, folder);
  }
}

const files = [...sources(room)].map((url) => ({
  name: url.href.slice(room.href.length),
  code: Deno.readTextFileSync(url).replaceAll(/^\s*(\*|\/\*|\/\/).*$/gm, ""),
}));

Deno.test("models/costs has no Deno, node or clock in it", () => {
  assert(files.length > 10);
  for (const { name, code } of files) {
    assert(!/\bDeno\.|from "node:|\bDate\b|Math\.random/.test(code), `${name} is not pure`);
  }
});

Deno.test("only default_prices.ts imports text, and no model imports it", () => {
  const importers = files.filter(({ code }) => /with \{ type: "text" \}/.test(code)).map(({ name }) => name);
  assertEquals(importers, ["default_prices.ts"]);
  assertEquals(files.filter(({ code }) => code.includes("default_prices.ts")).map(({ name }) => name), []);
});
