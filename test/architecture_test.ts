/** Dependencies point one way: cli -> mod.ts -> reports, scenarios -> ffi -> native. */

import { assert, assertEquals } from "./assert.ts";

const root = new URL("../", import.meta.url);

/** What the files of a room may import from other rooms. */
const ALLOWED: Readonly<Record<string, readonly RegExp[]>> = {
  ffi: [/^base\//],
  scenarios: [/^(base|ffi|machines|models)\//, /^deno\.json$/],
  // What a run writes, what the variants in it are, and how it is read back and checked; never what runs it.
  reports: [/^(base|models)\//, /^scenarios\/(contribution\/)?\w+\.ts$/],
  // Beside the library: what only a command needs, and its own version.
  cli: [/^mod\.ts$/, /^deno\.json$/, /^base\//, /^scenarios\/emit_schema\.ts$/],
};

function* sources(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* sources(`${folder}${name}/`);
    else if (name.endsWith(".ts")) yield `${folder}${name}`;
  }
}

/** Paths of the project's files that a source imports, statically or not. Comments do not count. */
function importsOf(file: string): string[] {
  const code = Deno.readTextFileSync(new URL(file, root)).replaceAll(/^\s*(\*|\/\*|\/\/).*$/gm, "");
  const imports = code.matchAll(/(?:\bfrom|^\s*import|\bimport\()\s*"(\.[^"]+)"/gm);
  return [...imports].map(([, path = ""]) => new URL(path, new URL(file, root)).href.slice(root.href.length));
}

Deno.test.each(Object.entries(ALLOWED))("%s imports no room above it", (room, allowed) => {
  const files = [...sources(`${room}/`)];
  const crossings = files.flatMap((file) => importsOf(file).map((path) => ({ file, path })))
    .filter(({ path }) => !path.startsWith(`${room}/`));
  assertEquals(crossings.filter(({ path }) => !allowed.some((pattern) => pattern.test(path))), []);
  // A rule that nothing uses is out of date, and would not see anything.
  for (const pattern of allowed) assert(crossings.some(({ path }) => pattern.test(path)), `Nothing imports ${pattern}`);
});

Deno.test("only ffi opens native libraries", () => {
  const openers = ["base/", "cli/", "ffi/", "machines/", "models/", "reports/", "scenarios/"].flatMap((
    folder,
  ) => [...sources(folder)])
    .filter((file) => /\bDeno\.dlopen\(/.test(Deno.readTextFileSync(new URL(file, root))));
  assertEquals(openers, ["ffi/library.ts"]);
});
