import "../native_library.ts";
import { NATIVE_FOLDER } from "../../base/native_build.ts";
import { native } from "../../ffi/library.ts";
import { ABI_VERSION, symbols } from "../../ffi/symbols.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const config = `--config=${root}deno.json`;

interface ChildOptions {
  readonly cwd: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program in a Deno of its own and returns what it printed. */
async function child(file: string, options: ChildOptions): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--no-prompt", ...options.flags ?? ["-A"], file],
    cwd: options.cwd,
    env: { NO_COLOR: "1", ...options.env },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Copies the sources and their objects, but not the library, so that a build has only to link. */
async function copySources(folder: string): Promise<void> {
  native();
  const { success } = await new Deno.Command("cp", {
    args: ["-a", `${root}base`, `${root}ffi`, `${root}native`, folder],
  }).output();
  assert(success);
  await Deno.remove(`${folder}/native/build/release/libtierstore.so`);
}

/**
 * A `make` to be put first in PATH that takes its time, and notes it when another one is at work in the same moment.
 * The real one is called by its full path.
 */
async function slowMake(folder: string): Promise<string> {
  const script = `#!/bin/sh
mkdir "${folder}/at work" || touch "${folder}/overlap"
sleep 0.3
/usr/bin/make "$@"
code=$?
rmdir "${folder}/at work"
exit $code
`;
  await Deno.mkdir(`${folder}/bin`);
  await Deno.writeTextFile(`${folder}/bin/make`, script, { mode: 0o755 });
  return `${folder}/bin:${Deno.env.get("PATH")}`;
}

const VERSION = `const { libraryVersion } = await import(Deno.args[0] ?? "");
console.log(libraryVersion());`;

/** A library that has every symbol and another ABI version. */
async function compileStub(folder: string): Promise<string> {
  const names = Object.keys(symbols).filter((name) => name !== "ts_abi_version");
  const source = names.map((name) => `int ${name}(void) { return -10; }`).join("\n") +
    "\nunsigned ts_abi_version(void) { return 999; }\n";
  await Deno.writeTextFile(`${folder}/stub.c`, source);
  const args = ["-shared", "-fPIC", "-w", "-o", `${folder}/stub.so`, `${folder}/stub.c`];
  assert((await new Deno.Command("cc", { args }).output()).success);
  return `${folder}/stub.so`;
}

Deno.test("native() works for a program in another folder, from any working directory", async () => {
  await inFolder(async (folder) => {
    const module = JSON.stringify(new URL("../../ffi/library.ts", import.meta.url).href);
    await Deno.writeTextFile(`${folder}/program.ts`, VERSION.replace('Deno.args[0] ?? ""', module));
    for (const cwd of [folder, "/"]) {
      const { code, out, err } = await child(`${folder}/program.ts`, { cwd });
      assertEquals([code, err], [0, ""]);
      assertStringIncludes(out, "0.2.0");
    }
  });
});

Deno.test("native() builds a missing library; processes that ask at once build one after the other", async () => {
  await inFolder(async (folder) => {
    await copySources(folder);
    const env = { PATH: await slowMake(folder) };
    await Deno.writeTextFile(`${folder}/program.ts`, VERSION.replace('Deno.args[0] ?? ""', '"./ffi/library.ts"'));
    const runs = [1, 2, 3].map(() => child(`${folder}/program.ts`, { cwd: "/", env }));
    for (const { code, out, err } of await Promise.all(runs)) {
      assertEquals([code, err], [0, ""]);
      assertStringIncludes(out, "0.2.0");
    }
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, ["base", "bin", "ffi", "native", "program.ts"]);
  });
});

Deno.test("native() quotes the compiler when the library does not build", async () => {
  await inFolder(async (folder) => {
    await copySources(folder);
    await Deno.writeTextFile(`${folder}/native/base/broken.c`, "int broken(void) { return nothing; }\n");
    await Deno.writeTextFile(`${folder}/program.ts`, VERSION.replace('Deno.args[0] ?? ""', '"./ffi/library.ts"'));
    const { code, err } = await child(`${folder}/program.ts`, { cwd: "/" });
    assertEquals(code, 1);
    assertStringIncludes(err, "NativeLibraryError: Cannot build");
    assertStringIncludes(err, "broken.c:1");
    assertStringIncludes(err, 'run "deno task build"');
  });
});

Deno.test("native() opens what TIERBENCH_LIBRARY names and says when that does not fit", async () => {
  await inFolder(async (folder) => {
    const module = JSON.stringify(new URL("../../ffi/library.ts", import.meta.url).href);
    await Deno.writeTextFile(`${folder}/program.ts`, VERSION.replace('Deno.args[0] ?? ""', module));
    const stub = await compileStub(folder);
    const run = (library: string): ReturnType<typeof child> =>
      child(`${folder}/program.ts`, { cwd: folder, env: { TIERBENCH_LIBRARY: library } });

    const old = await run(stub);
    assertEquals(old.code, 1);
    assertStringIncludes(old.err, `Cannot use "${stub}": its ABI version is 999, expected ${ABI_VERSION}`);
    assertStringIncludes(old.err, "correct or unset TIERBENCH_LIBRARY");

    const missing = await run(`${folder}/no.so`);
    assertEquals(missing.code, 1);
    assertStringIncludes(missing.err, `NativeLibraryError: Cannot open "${folder}/no.so"`);

    await Deno.writeTextFile(`${folder}/text.so`, "not a library");
    const text = await run(`${folder}/text.so`);
    assertStringIncludes(text.err, `NativeLibraryError: Cannot open "${folder}/text.so"`);
  });
});

const STORE = `import { EmbeddingStore } from ${JSON.stringify(new URL("../../ffi/store.ts", import.meta.url).href)};
using store = EmbeddingStore.open({ storage: "DRAM" });
const table = store.table({ name: "t", dim: 2, optimizer: { adagrad: {} }, initializer: 1 });
table.update([1, 2], table.lookup([1, 2]));
store.memory(), store.describe(), store.statistics();
console.log(table.rows());`;

Deno.test("a store needs no more than --allow-ffi of the library's folder", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/program.ts`, STORE);
    const flags = [config, `--allow-ffi=${NATIVE_FOLDER}/build/release`];
    const { code, out, err } = await child(`${folder}/program.ts`, { cwd: folder, flags });
    assertEquals([code, out, err], [0, "[ 2 ]\n", ""]);
  });
});

Deno.test("without --allow-ffi, native() names the flag", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/program.ts`, STORE);
    const { code, err } = await child(`${folder}/program.ts`, { cwd: folder, flags: [config] });
    assertEquals(code, 1);
    assertStringIncludes(err, `add --allow-ffi="${NATIVE_FOLDER}/build/release/libtierstore.so"`);
  });
});

Deno.test("buildLibrary() has nothing to do in a folder that it cannot write to, if the library is up to date", async () => {
  await inFolder(async (folder) => {
    native();
    assert(
      (await new Deno.Command("cp", { args: ["-a", `${root}base`, `${root}ffi`, `${root}native`, folder] }).output())
        .success,
    );
    // A folder in the place of the lock: cannot be opened for writing, not even by root.
    await Deno.remove(`${folder}/native/build/lock`).catch(() => {});
    await Deno.mkdir(`${folder}/native/build/lock`);
    const module = JSON.stringify(new URL(`file://${encodeURI(folder)}/base/native_build.ts`));
    await Deno.writeTextFile(`${folder}/p.ts`, `import { buildLibrary } from ${module}; console.log(buildLibrary());`);
    const { out, err } = await child(`${folder}/p.ts`, { cwd: folder });
    assertEquals(out, "false\n", err);
  });
});
