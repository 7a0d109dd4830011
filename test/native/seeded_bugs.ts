/**
 * Calls one of the bugs of `seeded_bugs.c`: `deno run -A seeded_bugs.ts LIBRARY BUG`.
 *
 * @module
 */

const [library = "", bug = ""] = Deno.args;
const { symbols } = Deno.dlopen(library, { seeded_bug: { parameters: ["buffer", "i32"], result: "i32" } });
Deno.exitCode = symbols.seeded_bug(new TextEncoder().encode(`${bug}\0`), 1);
