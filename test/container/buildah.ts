/**
 * The container image without a container engine's daemon and without a registry: buildah with chroot isolation, on a
 * Debian 12 that debootstrap makes, under the name that the Containerfile begins from.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertStringIncludes } from "../assert.ts";

/** The base of docs/provisioning/Containerfile. */
export const BASE = "debian:12-slim";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The words after "docker build" on the page, for a user of this number. */
function buildWords(uid: number): string[] {
  const page = Deno.readTextFileSync(`${ROOT}docs/provisioning/README.md`);
  const [, words = ""] = /^docker build (.*)$/m.exec(page) ?? [];
  assertStringIncludes(words, "$(id -u)");
  return words.replace("$(id -u)", `${uid}`).split(" ");
}

const TOOLS = [["buildah", "buildah"], ["debootstrap", "debootstrap"]] as const;

/** What an image says of its containers (the OCI image specification's `config`). */
export interface ImageConfig {
  /** Variables, each `NAME=value`. */
  readonly Env?: readonly string[];
  /** The folder that its program begins in. */
  readonly WorkingDir?: string;
  /** The first words of the program. */
  readonly Entrypoint?: readonly string[];
  /** The other words, where none are given. */
  readonly Cmd?: readonly string[];
}

/** What a command printed, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function started(command: string, args: readonly string[], cwd?: string): Promise<Ended> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "null",
    env: { BUILDAH_ISOLATION: "chroot" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

function checked({ code, out, err }: Ended, what: string): string {
  if (code === 0) return out;
  throw new Error(`Cannot ${what}: exit code ${code}: ${`${out}\n${err}`.trim().split("\n").slice(-25).join("\n")}`);
}

/**
 * Says what is missing before anything is made.
 *
 * @throws {Error} naming the package of a tool that is not there, or that root is needed.
 */
export async function requireTools(): Promise<void> {
  for (const [tool, debian] of TOOLS) {
    try {
      await started(tool, ["--version"]);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw new Error(`Cannot build the image: ${tool} is not installed; apt-get install ${debian}`, { cause: error });
    }
  }
  if (Deno.uid() !== 0) throw new Error("Cannot build the image: debootstrap and chroot isolation need root");
}

/** Images and containers in a folder of their own, which goes with everything in it. */
export class Images implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** An empty store. */
  static async make(): Promise<Images> {
    // Not in /tmp, which may be memory: layers are copied as a whole.
    return new Images(await Deno.makeTempDir({ dir: "/var/tmp", prefix: "tierbench-images-" }));
  }

  /** Runs buildah. @throws {Error} with the end of what it printed if it fails. */
  async buildah(args: readonly string[], cwd?: string): Promise<string> {
    return checked(await this.#started(args, cwd), `run "buildah ${args.join(" ")}"`);
  }

  async #started(args: readonly string[], cwd?: string): Promise<Ended> {
    const at = (name: string) => join(this.#folder, name);
    const store = ["--root", at("images"), "--runroot", at("run"), "--storage-driver", "vfs"];
    return await started("buildah", [...store, ...args], cwd);
  }

  /**
   * Builds `tierbench` by the words of docs/provisioning/README.md on a base made here.
   *
   * @param uid The number of its user.
   */
  async build(uid: number): Promise<void> {
    await this.buildah(["build", "--pull-never", ...buildWords(uid)], ROOT);
  }

  /** Builds `tierbench-cluster` by the words of docs/clusters/Containerfile, on the image that build() made. */
  async buildCluster(): Promise<void> {
    const [, words = ""] = /docker build (.*)$/m.exec(Deno.readTextFileSync(`${ROOT}docs/clusters/Containerfile`)) ??
      [];
    assertStringIncludes(words, "docs/clusters");
    await this.buildah(["build", "--pull-never", ...words.split(" ")], ROOT);
  }

  /** Runs a shell's words in an image, in place of its entry point. */
  async shell(image: string, words: string): Promise<Ended> {
    const container = (await this.buildah(["from", "--pull-never", image])).trim();
    try {
      return await this.#started(["run", container, "--", "sh", "-c", words]);
    } finally {
      await this.buildah(["rm", container]);
    }
  }

  /** Makes the base: Debian's packages by debootstrap, and the certificates that this machine trusts besides. */
  async makeBase(): Promise<void> {
    const base = join(this.#folder, "base");
    checked(await started("debootstrap", ["--variant=minbase", "bookworm", base]), "make a Debian with debootstrap");
    // As in Debian's own image: an image is made anew, never mended.
    await Deno.writeTextFile(join(base, "etc/dpkg/dpkg.cfg.d/unsafe-io"), "force-unsafe-io\n");
    await copyCertificates(join(base, "usr/local/share/ca-certificates"));
    const container = (await this.buildah(["from", "scratch"])).trim();
    await this.buildah(["add", "--quiet", container, base, "/"]);
    await Deno.remove(base, { recursive: true });
    await this.buildah(["config", "--cmd", "bash", "--env", "DENO_TLS_CA_STORE=system,mozilla", container]);
    await this.buildah(["commit", "--quiet", "--rm", container, `localhost/${BASE}`]);
  }

  /**
   * Writes an image's files into a disk of ext4 that an engine somewhere else could begin containers from.
   *
   * @returns What the image says of its containers: variables, folder, entry point.
   */
  async disk(image: string, file: string): Promise<ImageConfig> {
    const container = (await this.buildah(["from", "--pull-never", image])).trim();
    try {
      const root = (await this.buildah(["mount", container])).trim();
      const bytes = checked(await started("du", ["-sk", root]), "measure the image");
      const size = `${Math.ceil(Number(bytes.split("\t")[0]) * 1.1 / 1024) + 64}M`;
      const options = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", root, file, size];
      checked(await started("mke2fs", options), "write the image's disk");
      return await this.#config(container);
    } finally {
      await this.buildah(["rm", container]);
    }
  }

  async #config(container: string): Promise<ImageConfig> {
    const { OCIv1 } = JSON.parse(await this.buildah(["inspect", container])) as {
      readonly OCIv1: { readonly config: ImageConfig };
    };
    return OCIv1.config;
  }

  /** Runs an image as an engine does: its entry point, then the words, or its own words without any. */
  async run(image: string, words: readonly string[], mounts: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const container = (await this.buildah(["from", "--pull-never", image])).trim();
    try {
      const { Entrypoint, Cmd } = await this.#config(container);
      const volumes = Object.entries(mounts).flatMap(([from, to]) => ["--volume", `${from}:${to}`]);
      const command = [...Entrypoint ?? [], ...(words.length > 0 ? words : Cmd ?? [])];
      return await this.#started(["run", ...volumes, container, "--", ...command]);
    } finally {
      await this.buildah(["rm", container]);
    }
  }

  /** Removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started(["rm", "--all"]);
    await this.#started(["rmi", "--all", "--force"]);
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** A network of one's own may have an authority of its own. */
async function copyCertificates(to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  const from = "/usr/local/share/ca-certificates";
  try {
    for await (const { name, isFile } of Deno.readDir(from)) {
      if (isFile && name.endsWith(".crt")) await Deno.copyFile(join(from, name), join(to, name));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
