/**
 * The read-only disk with the suite: this Deno, this working tree, the built native library, and the npm packages of
 * the lock file, so that `tierbench` runs in a guest that has no network and no compiler.
 *
 * @module
 */

import { BUILT_LIBRARY } from "../../../base/native_build.ts";
import { ROOT } from "../../../setup/state.ts";
import { program } from "./program.ts";

/** What {@linkcode writeSuite} writes. */
export const SUITE_FILES: readonly string[] = ["suite.ext4"];

/** Of no use in a guest. */
const LEFT_OUT = /^(\.ci|\.github|docs|test)\/|\.md$/;

/** Files of the working tree that git knows or would take up. */
async function workingTree(): Promise<string[]> {
  const command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const names = (await program("list the working tree", command)).split("\0");
  const files: string[] = [];
  for (const name of new Set(names)) {
    if (name === "" || LEFT_OUT.test(name)) continue;
    try {
      if ((await Deno.lstat(`${ROOT}/${name}`)).isFile) files.push(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // git still has what was removed here
    }
  }
  return files.sort();
}

/** All that goes in. */
export async function suiteKey(): Promise<(string | Uint8Array)[]> {
  const key: (string | Uint8Array)[] = [Deno.version.deno, await Deno.readTextFile(new URL(import.meta.url))];
  for (const name of await workingTree()) key.push(name, await Deno.readFile(`${ROOT}/${name}`));
  try {
    key.push(await Deno.readFile(BUILT_LIBRARY));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // set-up builds it before the image
  }
  return key;
}

/**
 * Writes the disk into an empty folder.
 *
 * @throws {SetupError} If a program fails.
 */
export async function writeSuite(folder: string): Promise<void> {
  const content = `${folder}/content`;
  for (const name of await workingTree()) {
    await put(`${ROOT}/${name}`, `${content}/suite/${name}`);
  }
  await put(BUILT_LIBRARY, `${content}/suite/${BUILT_LIBRARY.slice(ROOT.length + 1)}`);
  await put(Deno.execPath(), `${content}/bin/deno`);
  // The disk is read-only: what the suite keeps (training data) goes where Deno's cache is.
  await Deno.symlink("/var/cache/tierbench", `${content}/suite/.cache`);
  const install = [Deno.execPath(), "install", "--quiet", "--frozen", "--entrypoint", "cli.ts"];
  await program("fetch the npm packages", install, {
    cwd: `${content}/suite`,
    env: { DENO_DIR: `${content}/deno-dir` },
  });
  await transpile(content);
  const kilobytes = Number((await program("measure the suite", ["du", "-sk", content])).split("\t")[0]);
  const size = `${Math.ceil(kilobytes * 1.1 / 1024) + 16}M`;
  const options = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-L", "suite", "-d", content];
  await program("write the suite's disk", ["mke2fs", ...options, `${folder}/suite.ext4`, size]);
  await Deno.remove(content, { recursive: true });
}

/**
 * Puts JavaScript of all modules where Deno will look for it in a guest. It takes the half of the first start there.
 * Deno keeps it below the module's path and knows it by a hash of the source; where it is wrong, it transpiles again.
 */
async function transpile(content: string): Promise<void> {
  const env = { DENO_DIR: `${content}/deno-dir`, NO_COLOR: "1" };
  const modules = (await workingTree()).filter((name) =>
    /^(base|cli|ffi|machines|models|reports|scenarios)\/.*[^.]\.ts$/.test(name)
  );
  const file = `${content}/suite/all.ts`;
  // Never called: Deno transpiles what a program could import.
  await Deno.writeTextFile(
    file,
    `export async function all() {\n${modules.map((name) => `  await import("./${name}");\n`).join("")}}\n`,
  );
  await program("transpile the suite", [Deno.execPath(), "run", "--quiet", "--cached-only", file], { env });
  await Deno.remove(file);
  const kept = `${content}/deno-dir/gen/file`;
  await Deno.mkdir(`${kept}/opt/tierbench`, { recursive: true });
  await Deno.rename(`${kept}${content}/suite`, `${kept}/opt/tierbench/suite`);
}

async function put(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  await Deno.copyFile(from, to);
}
