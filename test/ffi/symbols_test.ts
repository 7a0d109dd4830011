import "../native_library.ts";
import { STATUS_NAMES } from "../../ffi/errors.ts";
import { buildLibrary, BUILT_LIBRARY } from "../../base/native_build.ts";
import { LEVELDB_FIELDS, nativeWord, SSDHASH_FIELDS, storeOptions } from "../../ffi/options.ts";
import { ABI_VERSION, symbols } from "../../ffi/symbols.ts";
import { COMBINERS } from "../../ffi/bags.ts";
import { STORAGE_TYPES } from "../../ffi/storage.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

const header = Deno.readTextFileSync(new URL("../../native/include/tierstore.h", import.meta.url));

interface Binding {
  readonly parameters: readonly string[];
  readonly result: string;
}

const HANDLES = [
  "ts_config",
  "ts_store",
  "ts_checkpoint",
  "ts_trainer",
  "ts_keys",
  "ts_key_sample",
  "ts_stream",
  "ts_gauge",
  "ts_ranks",
];
const SCALARS: Readonly<Record<string, string>> = {
  void: "void",
  int32_t: "i32",
  uint32_t: "u32",
  int64_t: "i64",
  uint64_t: "u64",
  double: "f64",
  float: "f32",
};

/** The FFI type of a C type: a handle is an address in a u64, any other pointer a buffer. */
function ffiType(cType: string): string {
  const type = cType.replaceAll("const", "").replaceAll(" ", "");
  if (type.endsWith("*")) return HANDLES.includes(type.slice(0, -1)) ? "u64" : "buffer";
  const scalar = SCALARS[type];
  if (scalar === undefined) throw new Error(`Cannot map the C type "${cType}"`);
  return scalar;
}

/** What the header declares, by name. */
function parseHeader(text: string): Record<string, Binding> {
  const bindings: Record<string, Binding> = {};
  for (const [, result = "", name = "", list = ""] of text.matchAll(/^TS_API\s+(\w+)\s+(\w+)\(([^)]*)\)\s*;/gm)) {
    const parameters = list.trim() === "void" ? [] : list.split(",").map((parameter) => {
      const [, type = ""] = /^(.*?)\w+$/s.exec(parameter.replaceAll(/\s+/g, " ").trim()) ?? [];
      return ffiType(type);
    });
    bindings[name] = { parameters, result: ffiType(result) };
  }
  return bindings;
}

Deno.test("symbols hold the functions of the header, type by type", () => {
  const declared = parseHeader(header);
  const bound: Record<string, Binding> = {};
  for (const [name, { parameters, result }] of Object.entries(symbols)) bound[name] = { parameters, result };
  assertEquals(bound, declared);
});

Deno.test("parseHeader() sees every TS_API declaration", () => {
  const declarations = header.match(/^TS_API /gm) ?? [];
  assertEquals(Object.keys(parseHeader(header)).length, declarations.length);
  assert(declarations.length > 20);
});

Deno.test("parseHeader() reads declarations over several lines and refuses unknown types", () => {
  assertEquals(parseHeader("TS_API int32_t f(ts_store *s, const float *x,\n    uint64_t n, ts_store **out);"), {
    f: { parameters: ["u64", "buffer", "u64", "buffer"], result: "i32" },
  });
  assertThrows(() => parseHeader("TS_API size_t f(void);"), Error, 'Cannot map the C type "size_t"');
});

Deno.test("ABI_VERSION is that of the header", () => {
  assertEquals(/#define TS_ABI_VERSION (\d+)u/.exec(header)?.[1], String(ABI_VERSION));
});

Deno.test("STATUS_NAMES are those of the header", () => {
  const declared: Record<string, string> = {};
  for (const [, name = "", number = ""] of header.matchAll(/^ {2}(TS_\w+) = (-?\d+)/gm)) declared[number] = name;
  assertEquals<Readonly<Record<string, string>>>(STATUS_NAMES, declared);
});

Deno.test("COMBINERS are those of the header", () => {
  const declared: Record<string, number> = {};
  for (const [, name = "", number = ""] of header.matchAll(/^#define TS_COMBINER_(\w+) (\d+)u/gm)) {
    declared[name.toLowerCase()] = Number(number);
  }
  assertEquals<Record<string, number>>(COMBINERS, declared);
});

/** Text of a comment block of the header, without its stars. */
const manual = header.replaceAll(/^ \* ?/gm, "");

Deno.test("storage types, policies and store options are those of the header's manual", () => {
  assert(/\bNULL\b/.test(manual));
  const [, types = ""] = /storage {6}(DRAM [^(]*)\(required\)/.exec(manual) ?? [];
  assertEquals(types.split("|").map((name) => name.trim()).sort(), [...STORAGE_TYPES].sort());
  const words = storeOptions({
    storage: "DRAM",
    pmem: "libpmem",
    hbm: "mbind",
    hbmNodes: [1],
    hbmDevice: "x",
    hbmPoolSteps: 1,
    hbmHostBytes: 1,
    path: "/",
    ssdPath: "/",
    size: [1],
    sizeCounts: "all",
    seed: 0,
    policy: "lru",
    evictionThreads: 1,
    shards: 1,
    numaNode: 0,
    kernels: "auto",
  });
  for (const word of Object.keys(words)) assert(new RegExp(`^  ${word} `, "m").test(manual), word);
});

const tiers = [
  ["ssdhash", SSDHASH_FIELDS, "tiers/ssdhash/ssdhash.h"],
  ["leveldb", LEVELDB_FIELDS, "tiers/leveldb/leveldb.h"],
] as const;

Deno.test.each(tiers)("options of the tier %s are those of its manual", (tier, fields, file) => {
  const text = Deno.readTextFileSync(new URL(`../../native/${file}`, import.meta.url));
  const declared = [...text.matchAll(new RegExp(`^ \\* {3}${tier}\\.(\\w+) `, "gm"))].map(([, word = ""]) => word);
  assertEquals(Object.keys(fields).map(nativeWord).sort(), declared.sort());
});

Deno.test("the built library exports the functions of the header and nothing else", async () => {
  buildLibrary();
  const nm = new Deno.Command("nm", { args: ["-D", "--defined-only", BUILT_LIBRARY], stdin: "null" });
  const { success, stdout } = await nm.output();
  assert(success);
  const exported = new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.split(" ").at(-1));
  assertEquals(exported.sort(), Object.keys(parseHeader(header)).sort());
});

Deno.test("the built library has no sync points", async () => {
  buildLibrary();
  const nm = new Deno.Command("nm", { args: ["-a", BUILT_LIBRARY], stdin: "null" });
  const { success, stdout } = await nm.output();
  assert(success);
  const names = new TextDecoder().decode(stdout);
  assert(names.includes("ts_epoch_wait"));
  assert(!names.includes("ts_sync_"));
});
