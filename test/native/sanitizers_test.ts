/** The nets under the native library: each catches what it is there for, and what they instrument compiles. */

import { assertEquals, assertStringIncludes } from "../assert.ts";

const native = decodeURIComponent(new URL("../../native", import.meta.url).pathname);

async function make(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout, stderr } = await new Deno.Command("make", {
    args: ["-s", `-j${navigator.hardwareConcurrency}`, "-C", native, ...args],
    stdin: "null",
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("every sanitizer catches a seeded bug of each kind that it is there for", async () => {
  const { code, text } = await make("nets");
  assertEquals(code, 0, text);
  const caught = [...text.matchAll(/^caught: (\S+) by build\/(\w+)\//gm)].map(([, bug, net]) => `${net}: ${bug}`);
  assertEquals(caught.sort(), [
    "address: after-block",
    "address: after-piece",
    "address: after-rows",
    "address: after-small-piece",
    "address: heap-overflow",
    "address: leak",
    "address: returned-block",
    "address: returned-piece",
    "address: returned-rows",
    "address: use-after-free",
    "thread: lock-order",
    "thread: race",
    "undefined: misaligned",
    "undefined: signed-overflow",
    "undefined: wide-shift",
  ]);
});

Deno.test("a net that catches nothing is noticed", async () => {
  // What `make net` runs, over a program that nothing ends.
  const { code, stdout } = await new Deno.Command(`${native}/test/nets.sh`, {
    args: ["true", "race:data_race"],
    env: { RUN: "" },
    stdin: "null",
  }).output();
  assertEquals(code, 1);
  assertStringIncludes(new TextDecoder().decode(stdout), 'true: race was not caught as "data race"');
});

Deno.test("the library compiles where nothing is optimised away, as under a sanitizer", async () => {
  const { code, text } = await make("unoptimized");
  assertEquals(code, 0, text);
});

Deno.test("make check counts and names what C tests skip", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const programs: Readonly<Record<string, string>> = {
      all: "CHECK(1);",
      some: 'SKIP("some_test: part", "no %s", "PMEM");',
      none: 'SKIP_ALL("none_test", "no LevelDB");',
    };
    const paths: string[] = [];
    for (const [name, body] of Object.entries(programs)) {
      const path = `${folder}/${name}`;
      await Deno.writeTextFile(
        `${path}.c`,
        `#include "test/check.h"\nint main(void) { ${body} return test_result(); }`,
      );
      await new Deno.Command("cc", { args: ["-I", native, "-o", path, `${path}.c`], stdin: "null" }).output();
      paths.push(path);
    }
    const { code, text } = await make("check", `TESTS=${paths.join(" ")}`, `BUILD=${folder}`);
    assertEquals(code, 0, text);
    assertStringIncludes(text, "skipped: some_test: part (no PMEM)\n");
    assertStringIncludes(text, "skipped: none_test (no LevelDB)\n");
    assertStringIncludes(text, "C tests: 2 passed, 0 failed, 2 skipped\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
