/**
 * The container image without a container engine's daemon and without a registry: buildah with chroot isolation, on a
 * Debian 12 that debootstrap makes, under the name that the Containerfile begins from.
 *
 * @module
 */

import { join } from "node:path";

/** The base of docs/provisioning/Containerfile. */
export const BASE = "debian:12-slim";

const TOOLS = [["buildah", "buildah"], ["debootstrap", "debootstrap"]] as const;

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

  /** Runs an image as an engine does: its entry point, then the words, or its own words without any. */
  async run(image: string, words: readonly string[], mounts: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const container = (await this.buildah(["from", "--pull-never", image])).trim();
    try {
      const { OCIv1: { config: { Entrypoint, Cmd } } } = JSON.parse(await this.buildah(["inspect", container])) as {
        readonly OCIv1: {
          readonly config: { readonly Entrypoint?: readonly string[]; readonly Cmd?: readonly string[] };
        };
      };
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
