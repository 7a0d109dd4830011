/**
 * The image of the lab: everything that guests boot from, in `.cache/lab/`, made of Debian packages, this Deno and this
 * working tree. Each part lies in a folder named after a hash of what goes into it, so a part is built again exactly
 * when that changes. New versions of Debian packages do not count; `deno task clean` makes room for them.
 *
 * @module
 */

import { ROOT } from "../../../setup/state.ts";
import { labelled, secondsSince, type System } from "../../../setup/system.ts";
import { hash } from "./hash.ts";
import { ROOTS } from "./guest_packages.ts";
import { QEMU_FOLDER, ROOT_FILES, rootKey, writeRoot } from "./root.ts";
import { SUITE_FILES, suiteKey, writeSuite } from "./suite.ts";

/** A kernel with its file systems. */
export interface Boot {
  /** The kernel. */
  readonly kernel: string;
  /** Mounts the disks. */
  readonly initramfs: string;
  /** Root file system with systemd, udev, apt, and the tools waiting in a package repository. */
  readonly base: string;
  /** The same with the tools installed. */
  readonly tools: string;
  /** Folder of the QEMU that it needs, unpacked; absent: this machine's own. */
  readonly qemu?: string;
}

/** The files that guests boot from. */
export interface Image {
  /** Debian as it is. */
  readonly root: Boot;
  /** Its kernel and QEMU those of its backports. */
  readonly newer: Boot;
  /** The suite, for `/opt/tierbench`: Deno, the working tree, the native library, npm packages. */
  readonly suite: string;
}

/** The variable in which `deno task lab` hands the image to the cases, so that files may change while they run. */
export const IMAGE_VARIABLE = "TIERBENCH_LAB_IMAGE";

/** One part: its folder's name, what is in it, and how to make it. */
interface Part {
  readonly name: string;
  readonly key: string;
  readonly files: readonly string[];
  readonly write: (folder: string) => Promise<void>;
}

const CACHE = `${ROOT}/.cache/lab`;

async function rootPart(name: keyof typeof ROOTS): Promise<Part> {
  const variant = ROOTS[name];
  return {
    name,
    key: await hash(await rootKey(variant)),
    files: ROOT_FILES,
    write: (folder) => writeRoot(folder, variant),
  };
}

async function parts(): Promise<readonly [root: Part, newer: Part, suite: Part]> {
  return [
    await rootPart("root"),
    await rootPart("newer"),
    { name: "suite", key: await hash(await suiteKey()), files: SUITE_FILES, write: writeSuite },
  ];
}

function folderOf({ name, key }: Part): string {
  return `${CACHE}/${name}-${key}`;
}

/** The image, or `undefined` if a part of it is missing or out of date. */
export async function findImage(): Promise<Image | undefined> {
  const given = Deno.env.get(IMAGE_VARIABLE);
  if (given !== undefined) return JSON.parse(given) as Image;
  const [root, newer, suite] = await parts();
  for (const part of [root, newer, suite]) {
    try {
      for (const file of part.files) await Deno.stat(`${folderOf(part)}/${file}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }
  return {
    root: bootOf(root),
    newer: { ...bootOf(newer), qemu: `${folderOf(newer)}/${QEMU_FOLDER}` },
    suite: `${folderOf(suite)}/suite.ext4`,
  };
}

function bootOf(part: Part): Boot {
  const folder = folderOf(part);
  return {
    kernel: `${folder}/vmlinuz`,
    initramfs: `${folder}/initramfs`,
    base: `${folder}/base.ext4`,
    tools: `${folder}/tools.ext4`,
  };
}

/**
 * Builds the parts that are missing, and removes those that went out of date.
 *
 * @throws {SetupError} If a part cannot be built.
 */
export async function buildImage(system: System): Promise<Image> {
  for (const part of await parts()) {
    if (await exists(folderOf(part))) continue;
    const start = performance.now();
    system.print(labelled("lab", `building the ${part.name} file system …`));
    await Deno.mkdir(CACHE, { recursive: true });
    // Made beside it and renamed: a part is whole or is not there.
    const temporary = await Deno.makeTempDir({ dir: CACHE, prefix: "building-" });
    try {
      await part.write(temporary);
      await Deno.rename(temporary, folderOf(part));
    } catch (error) {
      system.print("\n");
      await Deno.remove(temporary, { recursive: true }).catch(() => {}); // another run may have been faster
      if (!await exists(folderOf(part))) throw error;
    }
    for await (const { name } of Deno.readDir(CACHE)) {
      const old = name.startsWith(`${part.name}-`) && name !== `${part.name}-${part.key}`;
      if (old) await Deno.remove(`${CACHE}/${name}`, { recursive: true });
    }
    system.print(` done ${secondsSince(start)}\n`);
  }
  const image = await findImage();
  if (image === undefined) {
    throw new Error(`Cannot find the image in "${CACHE}" just after it was built: files changed meanwhile; try again`);
  }
  return image;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
