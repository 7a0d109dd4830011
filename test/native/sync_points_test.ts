/**
 * @module
 * Every sync point of the library (`native/base/sync_point.h`) is driven by a test: one that holds a thread there, waits
 * for it, or calls back.
 */

import { assertEquals } from "../assert.ts";

const NATIVE = new URL("../../native/", import.meta.url);

/** Not driven yet, with the reason; what is driven leaves the list. */
const EXCEPTIONS: readonly (readonly [RegExp, string])[] = [
  [/^refill:part$/, "a restore is one thread's, which hands nothing over there"],
];

function* sources(folder: URL): Generator<URL> {
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory && entry.name !== "build") yield* sources(new URL(`${entry.name}/`, folder));
    if (entry.isFile && /\.[ch]$/.test(entry.name)) yield new URL(entry.name, folder);
  }
}

/** What the first groups of all matches say. */
function named(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), (match) => match[1]!);
}

Deno.test("sync points are driven by tests, all of them", () => {
  const points = new Set<string>();
  const driven = new Set<string>();
  for (const source of sources(NATIVE)) {
    const text = Deno.readTextFileSync(source);
    if (source.pathname.includes("/native/test/")) {
      if (text.includes("base/sync_point.h")) {
        for (const name of named(text, /"([a-z]+(?::[a-z_]+)+)"/g)) driven.add(name);
      }
    } else {
      for (const name of named(text, /\bTS_SYNC(?:_VALUE)?\("([^"]+)"/g)) points.add(name);
    }
  }
  assertEquals(points.size > 40, true);
  const idle = [...points].filter((name) => !driven.has(name));
  const unexplained = idle.filter((name) => !EXCEPTIONS.some(([pattern]) => pattern.test(name)));
  assertEquals(unexplained.sort(), [], "no test drives these");
  for (const [pattern, reason] of EXCEPTIONS) {
    assertEquals(idle.some((name) => pattern.test(name)), true, `exception that is none any more: ${reason}`);
  }
  assertEquals([...driven].filter((name) => !points.has(name)).sort(), [], "tests drive these, and they are nowhere");
});
