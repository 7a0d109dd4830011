/**
 * The root file systems, the kernel and the initramfs, by mmdebstrap (its manual page explains the options).
 *
 * @module
 */

import { HOST_RELEASE, KERNEL, type RootVariant } from "./guest_packages.ts";
import { SetupError } from "../../../setup/system.ts";
import { program } from "./program.ts";

/** What {@linkcode writeRoot} writes. */
export const ROOT_FILES: readonly string[] = ["vmlinuz", "kernel-version", "initramfs", "base.ext4", "tools.ext4"];

const HERE = decodeURIComponent(new URL(".", import.meta.url).pathname);

/** Nobody reads them in a guest; they are a fifth of it. */
const LEFT_OUT: readonly string[] = ["/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*"];

/** Options that say what goes in. */
function contentOf({ installed }: RootVariant): string[] {
  return [
    "--variant=minbase",
    "--format=null",
    `--include=${installed.join(",")}`,
    "--dpkgopt=force-unsafe-io", // waits for the disk at the end only; an image that was cut short is thrown away
    ...LEFT_OUT.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
  ];
}

/** Where {@linkcode writeRoot} unpacks a QEMU: the tree of its packages. */
export const QEMU_FOLDER = "qemu";

/** All that goes in, except for the versions of the packages. */
export async function rootKey(variant: RootVariant): Promise<(string | Uint8Array)[]> {
  const { release, offered, qemu } = variant;
  const key: (string | Uint8Array)[] = [...contentOf(variant), ...offered, KERNEL, release, ...qemuPackages(qemu)];
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
export async function writeRoot(folder: string, variant: RootVariant): Promise<void> {
  const { release, offered, qemu } = variant;
  const [script, ...args] = [
    `${HERE}finish_root.sh`,
    folder,
    offered.join(" "),
    KERNEL,
    qemuPackages(qemu).join(" "),
  ].map(quote);
  await program("build the root file system", [
    "mmdebstrap",
    `--mode=${Deno.uid() === 0 ? "root" : "fakechroot"}`,
    ...contentOf(variant),
    `--customize-hook=${script} "$1" ${args.join(" ")}`,
    release,
    "/dev/null",
    ...await debianSources(release, qemu === undefined ? [] : [qemu.suite]),
  ], { env: { LC_ALL: "C.UTF-8" } });
}

/** Packages of a QEMU with their suite, as apt wants them. */
function qemuPackages(qemu: RootVariant["qemu"]): string[] {
  return (qemu?.packages ?? []).map((name) => `${name}/${qemu?.suite}`);
}

/** One word for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Debian's signatures, by the package `debian-archive-keyring`. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Lines for `sources.list` of a release and of more suites, from where apt of this machine has its own; none, i.e. mmdebstrap's
 * own, for its own release if apt says nothing.
 *
 * @throws {SetupError} Where apt does not say and another release is wanted.
 */
async function debianSources(release: string, suites: readonly string[]): Promise<string[]> {
  const format = "deb [signed-by=$(SIGNED_BY)] $(REPO_URI) $(CODENAME) $(COMPONENT)";
  const command = ["apt-get", "indextargets", "--format", format, "Origin: Debian", "Created-By: Packages"];
  // Where apt is not told the key, it leaves the word as it is.
  const text = (await program("ask apt for its sources", command)).replaceAll("$(SIGNED_BY)", KEYRING);
  const wanted = [...new Set(text.split("\n"))].filter((line) => /^deb \[signed-by=\/\S+\] \S+ \S+ \S+$/.test(line))
    .filter((line) => line.split(" ")[3]?.startsWith(HOST_RELEASE));
  const own = wanted.filter((line) => line.includes(` ${HOST_RELEASE} `));
  if (release === HOST_RELEASE && suites.length === 0) return own.length === 0 ? [] : wanted;
  if (own.length === 0) {
    throw new SetupError(
      `Cannot build a root of ${release}: apt of this machine does not say where Debian's packages are`,
    );
  }
  return [release, ...suites].flatMap((suite) => own.map((line) => line.replace(` ${HOST_RELEASE} `, ` ${suite} `)));
}
