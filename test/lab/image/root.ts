/**
 * The root file systems, the kernel and the initramfs, by mmdebstrap (its manual page explains the options).
 *
 * @module
 */

import { INSTALLED, KERNEL, OFFERED, RELEASE } from "./guest_packages.ts";
import { program } from "./program.ts";

/** What {@linkcode writeRoot} writes. */
export const ROOT_FILES: readonly string[] = ["vmlinuz", "kernel-version", "initramfs", "base.ext4", "tools.ext4"];

const HERE = decodeURIComponent(new URL(".", import.meta.url).pathname);

/** Nobody reads them in a guest; they are a fifth of it. */
const LEFT_OUT: readonly string[] = ["/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*"];

/** Options that say what goes in. */
const CONTENT: readonly string[] = [
  "--variant=minbase",
  "--format=null",
  `--include=${INSTALLED.join(",")}`,
  "--dpkgopt=force-unsafe-io", // waits for the disk at the end only; an image that was cut short is thrown away
  ...LEFT_OUT.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
];

/** All that goes in, except for the versions of the packages. */
export async function rootKey(): Promise<(string | Uint8Array)[]> {
  const key: (string | Uint8Array)[] = [...CONTENT, ...OFFERED, KERNEL, RELEASE];
  for (const file of await filesBelow(HERE)) {
    if (!file.endsWith(".ts")) key.push(file.slice(HERE.length), await Deno.readFile(file));
  }
  return key;
}

async function filesBelow(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) files.push(...await filesBelow(`${folder}${name}/`));
    else files.push(`${folder}${name}`);
  }
  return files.sort();
}

/**
 * Writes the files into an empty folder. Works as root, and without root through fakechroot: a user namespace would run
 * as a user who may not write here.
 *
 * @throws {SetupError} If mmdebstrap fails.
 */
export async function writeRoot(folder: string): Promise<void> {
  const quoted = [`${HERE}finish_root.sh`, folder, OFFERED.join(" "), KERNEL].map(quote);
  const [script, ...args] = quoted;
  await program("build the root file system", [
    "mmdebstrap",
    `--mode=${Deno.uid() === 0 ? "root" : "fakechroot"}`,
    ...CONTENT,
    `--customize-hook=${script} "$1" ${args.join(" ")}`,
    RELEASE,
    "/dev/null",
    ...await debianSources(),
  ], { env: { LC_ALL: "C.UTF-8" } });
}

/** One word for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Lines for `sources.list` as this machine's apt has them; none, i.e. mmdebstrap's own, if it has another release. */
async function debianSources(): Promise<string[]> {
  const format = "deb [signed-by=$(SIGNED_BY)] $(REPO_URI) $(CODENAME) $(COMPONENT)";
  const command = ["apt-get", "indextargets", "--format", format, "Origin: Debian", "Created-By: Packages"];
  const lines = [...new Set((await program("ask apt for its sources", command)).split("\n"))];
  const wanted = lines.filter((line) => /^deb \[signed-by=\/\S+\] \S+ bookworm\S* \S+$/.test(line));
  return wanted.some((line) => line.includes(` ${RELEASE} `)) ? wanted : [];
}
