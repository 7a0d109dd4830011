/**
 * The read-only disk with the suite: this Deno, this working tree, the built native library, and the npm packages of
 * the lock file, so that `tierbench` runs in a guest that has no network and no compiler.
 *
 * @module
 */

import { BUILT_LIBRARY } from "../../../ffi/library.ts";
import { ROOT } from "../../../native/setup/state.ts";
import { program } from "./program.ts";

/** What {@linkcode writeSuite} writes. */
export const SUITE_FILES: readonly string[] = ["suite.ext4"];

/** Of no use in a guest. */
const LEFT_OUT = /^(\.ci|\.github|test)\//;

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
  const key: (string | Uint8Array)[] = [Deno.version.deno, import.meta.url.slice(-8)];
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
  const install = [Deno.execPath(), "install", "--quiet", "--frozen", "--entrypoint", "cli.ts"];
  await program("fetch the npm packages", install, {
    cwd: `${content}/suite`,
    env: { DENO_DIR: `${content}/deno-dir` },
  });
  const kilobytes = Number((await program("measure the suite", ["du", "-sk", content])).split("\t")[0]);
  const size = `${Math.ceil(kilobytes * 1.1 / 1024) + 16}M`;
  const options = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-L", "suite", "-d", content];
  await program("write the suite's disk", ["mke2fs", ...options, `${folder}/suite.ext4`, size]);
  await Deno.remove(content, { recursive: true });
}

async function put(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  await Deno.copyFile(from, to);
}
