/**
 * Who may import whom: rooms point down, folders have no circles, and so it is with the folders of `native/`. What the
 * rules are is in docs/architecture.md; a rule that nothing uses any more fails, too.
 */

import { assert, assertEquals } from "./assert.ts";

const root = new URL("../", import.meta.url);

/** What the files of a room, or of a folder of `models/`, may import beside their own: rooms, or files by path. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: ["deno.json"],
  ffi: ["base"],
  machines: ["base", "ffi"],
  "models/media": ["base", "ffi"],
  "models/workloads": ["base", "ffi"],
  "models/costs": ["base"],
  "models/simulation": ["base", "ffi", "models/costs", "models/media", "models/workloads"],
  "models/planning": ["base", "ffi", "models/costs", "models/media", "models/simulation", "models/workloads"],
  "models/host": ["base", "ffi", "machines", "models/media", "models/simulation"],
  "models/validation": ["base", "ffi", "models/media", "models/simulation", "models/workloads"],
  scenarios: [
    "base",
    "ffi",
    "machines",
    "models/costs",
    "models/media",
    "models/planning",
    "models/simulation",
    "models/workloads",
  ],
  // Reads what runs and simulations wrote and computes from it; asks no machine and opens no library.
  reports: ["base", "models/costs", "models/planning", "models/simulation", "scenarios"],
  "mod.ts": [
    ...[
      "base",
      "ffi",
      "machines",
      "models/host",
      "models/media",
      "models/planning",
      "models/simulation",
      "models/validation",
    ],
    ...["models/workloads", "scenarios", "reports"],
  ],
  cli: ["mod.ts"],
  "cli.ts": ["cli"],
  // Drives what is built in native/bench; takes from anywhere below.
  bench: [
    "base",
    "cli",
    "ffi",
    "machines",
    "models/host",
    "models/media",
    "models/planning",
    "models/simulation",
    "models/validation",
    "models/workloads",
    "reports",
    "scenarios",
    "setup",
  ],
  setup: ["base"],
};

/** What the folders of `native/` may include beside their own files and `tierstore.h`. */
const MAY_INCLUDE: Readonly<Record<string, readonly string[]>> = {
  base: [],
  checkpoint: ["base", "store"],
  optimizers: ["base"],
  cache: ["base"],
  machine: ["base"],
  media: ["base"],
  emulation: ["media"],
  index: ["base", "optimizers"],
  ranks: ["base"],
  "ranks/shim": ["ranks"],
  "ranks/watch": [],
  kernels: ["base", "optimizers"],
  tiers: ["base", "emulation"],
  "tiers/leveldb": ["base", "tiers"],
  "tiers/ssdhash": ["base", "index", "tiers"],
  "tiers/opencl": ["base", "optimizers", "tiers"],
  "tiers/pmem": ["base", "index", "tiers"],
  store: ["base", "cache", "emulation", "index", "kernels", "optimizers", "tiers"],
  "wdl/common": ["base"],
  "wdl/input": ["base", "wdl/common"],
  "wdl/dense": ["base", "optimizers", "ranks", "wdl/common"],
  "wdl/layers": ["base", "wdl/common", "wdl/input"],
  "wdl/schedule": ["base", "store", "wdl/common", "wdl/input"],
  wdl: [
    "base",
    "checkpoint",
    "kernels",
    "optimizers",
    "ranks",
    "store",
    "wdl/common",
    "wdl/dense",
    "wdl/input",
    "wdl/layers",
    "wdl/schedule",
  ],
  simulator: ["base", "cache", "media"],
  gauge: ["base", "tiers/ssdhash"],
};

/** Source files below a folder with one of these endings, as paths from the root. */
function* sources(folder: string, ending: RegExp): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* sources(`${folder}${name}/`, ending);
    else if (ending.test(name)) yield `${folder}${name}`;
  }
}

/** A file that names another. */
interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The room of a file: its first folder, of `models/` the first two, or the file itself. */
function roomOf(file: string): string {
  const parts = file.split("/");
  return parts.slice(0, parts[0] === "models" ? 2 : 1).join("/");
}

function folderOf(file: string): string {
  return file.slice(0, Math.max(0, file.lastIndexOf("/")));
}

/** Files of the project that a source imports, statically or not. Comments do not count. */
function importsOf(file: string, text: string): Edge[] {
  const code = text.replaceAll(/^\s*(\*|\/\*|\/\/).*$/gm, "");
  const imports = code.matchAll(/(?:\bfrom|^\s*import|\bimport\()\s*"(\.[^"]+)"/gm);
  return [...imports].map(([, path = ""]) => ({
    from: file,
    to: new URL(path, new URL(file, root)).href.slice(root.href.length),
  }));
}

/** Headers of `native/` that a source includes; those of its own folder have no path. */
function includesOf(file: string, text: string): Edge[] {
  return [...text.matchAll(/^#include "([^"]+)"/gm)].flatMap(([, path = ""]) =>
    path === "tierstore.h" ? [] : [{ from: file, to: path.includes("/") ? path : `${folderOf(file)}/${path}` }]
  );
}

/** Imports that the table does not allow, in words. */
function crossings(edges: readonly Edge[], allowed: typeof ALLOWED, roomOf: (file: string) => string): string[] {
  return edges.flatMap(({ from, to }) => {
    const [mine, theirs] = [roomOf(from), roomOf(to)];
    const may = allowed[mine];
    if (may === undefined) return [`${from}: the table has no "${mine}"`];
    return mine === theirs || may.includes(theirs) || may.includes(to) ? [] : [`${from} imports ${to}`];
  });
}

/** What the table allows and nothing uses. */
function unused(edges: readonly Edge[], allowed: typeof ALLOWED, roomOf: (file: string) => string): string[] {
  return Object.entries(allowed).flatMap(([room, names]) =>
    names.filter((name) => !edges.some(({ from, to }) => roomOf(from) === room && (roomOf(to) === name || to === name)))
      .map((name) => `${room} imports nothing of ${name}`)
  );
}

/** Folders that reach themselves through others. */
function circles(edges: readonly Edge[]): string[] {
  const to = new Map<string, Set<string>>();
  for (const edge of edges) {
    const [a, b] = [folderOf(edge.from), folderOf(edge.to)];
    if (a !== "" && b !== "" && a !== b) to.set(a, (to.get(a) ?? new Set()).add(b));
  }
  return [...to.keys()].filter((start) => {
    const seen = new Set<string>();
    const open = [...to.get(start) ?? []];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (!seen.has(next)) open.push(...to.get(seen.add(next) && next) ?? []);
    }
    return seen.has(start);
  }).sort();
}

const MODULES = [
  "mod.ts",
  "cli.ts",
  ...["base/", "ffi/", "machines/", "models/", "scenarios/", "reports/", "cli/", "bench/", "setup/"]
    .flatMap((folder) => [...sources(folder, /\.ts$/)]),
];
/** Every module with its text; a mutation replaces one. */
const read = (files: readonly string[]) =>
  files.map((file) => [file, Deno.readTextFileSync(new URL(file, root))] as const);
const modules = read(MODULES);
const IMPORTS = modules.flatMap(([file, text]) => importsOf(file, text));

const cSources = read(
  [...sources("native/", /\.[ch]$/)].filter((file) => !/^native\/(build|bench|test|include)\//.test(file)),
)
  .map(([file, text]) => [file.slice("native/".length), text] as const);
const INCLUDES = cSources.flatMap(([file, text]) => includesOf(file, text));

Deno.test("every room imports only what is below it", () => {
  assertEquals(crossings(IMPORTS, ALLOWED, roomOf), []);
  assertEquals(unused(IMPORTS, ALLOWED, roomOf), []);
});

Deno.test("no folder imports itself through others", () => {
  assertEquals(circles(IMPORTS), []);
});

Deno.test("every folder of native/ includes only what the table allows, and none itself through others", () => {
  assertEquals(crossings(INCLUDES, MAY_INCLUDE, folderOf), []);
  assertEquals(unused(INCLUDES, MAY_INCLUDE, folderOf), []);
  assertEquals(circles(INCLUDES), []);
});

Deno.test("an import that points back, a circle and an include against the table are seen", () => {
  const back = importsOf("base/units.ts", 'import { loadScenario } from "../scenarios/load.ts";');
  assertEquals(crossings([...IMPORTS, ...back], ALLOWED, roomOf), ["base/units.ts imports scenarios/load.ts"]);
  const circle = importsOf("scenarios/check.ts", 'import { runScenario } from "./run/run.ts";');
  assertEquals(circles([...IMPORTS, ...circle]), ["scenarios", "scenarios/run"]);
  const include = includesOf("tiers/dram.c", '#include "store/store.h"\n');
  assertEquals(crossings([...INCLUDES, ...include], MAY_INCLUDE, folderOf), ["tiers/dram.c imports store/store.h"]);
});

Deno.test("only ffi opens native libraries", () => {
  const openers = modules.filter(([file, text]) => !file.startsWith("bench/") && /\bDeno\.dlopen\(/.test(text));
  assertEquals(openers.map(([file]) => file), ["ffi/library.ts"]);
});

Deno.test("native/ is C alone", () => {
  assert(sources("native/", /\.(ts|js|py)$/).next().done);
});

Deno.test("every test file whose imports reach ffi/library.ts opens the library before its tests do", () => {
  // What is imported as a type alone does not run.
  const running = (text: string): string => text.replaceAll(/^(import|export) type [^;]*;/gm, "");
  const tests = read([...sources("test/", /\.ts$/)].filter((file) => file !== "test/architecture_test.ts"));
  const next = new Map(
    [...modules, ...tests].map(([file, text]) => [file, importsOf(file, running(text)).map(({ to }) => to)]),
  );
  const without = tests.filter(([file]) => {
    const reached = new Set([file]);
    for (const one of reached) for (const to of next.get(one) ?? []) reached.add(to);
    return file.endsWith("_test.ts") && reached.has("ffi/library.ts") && !reached.has("test/native_library.ts");
  });
  assertEquals(without.map(([file]) => file), [], "run alone, its first test that opens the library would leak it");
});

Deno.test("every package of deno.json is imported", () => {
  const { imports } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root))) as {
    readonly imports: Readonly<Record<string, string>>;
  };
  const all = [...modules, ...read([...sources("test/", /\.ts$/)])].map(([, text]) => text).join("\n");
  const unused = Object.keys(imports).filter((name) => !new RegExp(`["']${name}(["'/])`).test(all));
  assertEquals(unused, []);
});
