/**
 * A Debian guest in QEMU, with systemd and udev, on a virtual machine with the memory that is asked for.
 *
 * Always by translation (TCG): the presence of `/dev/kvm` does not say that a guest would run, and the lab needs the
 * same machine everywhere. Nothing that is timed in a guest says anything about hardware.
 *
 * @module
 */

import { AgentError, GuestAgent } from "./guest_agent.ts";
import { type Boot, findImage, type Image } from "./image/image.ts";
import { type Profile, type ProfileName, PROFILES } from "./profiles.ts";

/** How to boot. */
export interface BootOptions {
  /** The machine. */
  readonly profile: ProfileName;
  /** `"tools"`: ndctl, daxctl, cxl, numactl, libpmem, memkind are installed; `"base"`: apt can install them. */
  readonly system?: "tools" | "base";
  /** Options for the kernel, besides those of the profile. */
  readonly kernelOptions?: string;
  /** The file of one more disk, to read: `/dev/vdc` in the guest. */
  readonly disk?: string;
}

/** What a shell command did. */
export interface CommandResult {
  /** Exit code. */
  readonly code: number;
  /** What it printed. */
  readonly stdout: string;
  /** What it complained about. */
  readonly stderr: string;
}

/** How to run a command. */
export interface RunOptions {
  /** The command has to end in this time; 120 s by default. */
  readonly timeoutMs?: number;
  /** What it reads. */
  readonly stdin?: string;
}

/** A guest that ended or hangs; the message ends with the last lines of its console. */
export class GuestError extends Error {
  /** Always `"GuestError"`. */
  override readonly name = "GuestError";
}

/**
 * The variable with the folder in which `deno task lab` keeps what guests wrote to their consoles, and the seconds that
 * each boot and command took.
 */
export const CONSOLES_VARIABLE = "TIERBENCH_LAB_CONSOLES";

/** A busy machine of two cores takes 15 s. */
const BOOT_MS = 180_000;
const SHUTDOWN_MS = 90_000;
const COMMAND_MS = 120_000;

/** As in a login shell of root, which guides are written for. */
const ENVIRONMENT: readonly string[] = [
  "HOME=/root",
  "LANG=C.UTF-8",
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  "SHELL=/bin/bash",
  "TERM=dumb",
  "USER=root",
];

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch { /* it has ended */ }
}

/** QEMU at work. */
interface Machine {
  readonly child: Deno.ChildProcess;
  readonly agent: GuestAgent;
  /** What QEMU complains about, when it ends. */
  readonly complaints: Promise<string>;
  readonly bootSeconds: number;
}

/**
 * A guest. It lives in a temporary folder of its own, which holds its root disk (the differences to the image) and its
 * devices, until it is disposed of.
 */
export class Guest implements AsyncDisposable {
  readonly #image: Image;
  readonly #options: BootOptions;
  readonly #folder: string;
  #machine: Machine | undefined;
  readonly #times: string[] = [];

  private constructor(image: Image, options: BootOptions, folder: string) {
    this.#image = image;
    this.#options = options;
    this.#folder = folder;
  }

  /**
   * Boots a new guest.
   *
   * @throws {GuestError} If it does not come up.
   */
  static async boot(options: BootOptions): Promise<Guest> {
    const image = await findImage();
    if (image === undefined) {
      throw new GuestError('Cannot boot a guest without an up-to-date image: build it with "deno task lab"');
    }
    const folder = await Deno.makeTempDir({ prefix: "tierbench-lab-" });
    const guest = new Guest(image, options, folder);
    try {
      await guest.#makeDisks();
      await guest.start(options.kernelOptions);
      return guest;
    } catch (error) {
      await guest[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** How long the last boot took until all units had started, in seconds. */
  get bootSeconds(): number {
    return this.#running("tell the boot time of").bootSeconds;
  }

  /** The folder with the device files. */
  get folder(): string {
    return this.#folder;
  }

  /** What the kernel and systemd wrote to the console since the guest's first boot. */
  async console(): Promise<string> {
    return await Deno.readTextFile(`${this.#folder}/console.txt`).catch(() => "");
  }

  /**
   * Runs a shell command as root, as someone who types it into bash.
   *
   * @returns What it did, also when it failed.
   * @throws {GuestError} If it does not end in time, or the guest went away.
   */
  async run(command: string, { timeoutMs = COMMAND_MS, stdin = "" }: RunOptions = {}): Promise<CommandResult> {
    const { agent } = this.#running(`run "${command}" in`);
    const limit = `${Math.ceil(timeoutMs / 1000)}s`;
    // timeout ends the command if it hangs; the agent itself is given a moment longer to say so.
    const began = performance.now();
    const words = ["/usr/bin/env", "-i", "-C", "/root", ...ENVIRONMENT, "timeout", "-k", "5", limit];
    try {
      const input = new TextEncoder().encode(stdin);
      const result = await agent.run([...words, "bash", "-c", command], input, timeoutMs + 30_000);
      const decoder = new TextDecoder();
      if (result.code === 124) throw new AgentError(`it did not end in ${limit}: ${decoder.decode(result.stdout)}`);
      return { code: result.code, stdout: decoder.decode(result.stdout), stderr: decoder.decode(result.stderr) };
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      throw await this.#failure(`Cannot run "${command}": ${error.message}`, error);
    } finally {
      this.#took(began, command);
    }
  }

  /**
   * Runs a shell command that has to succeed.
   *
   * @returns What it printed.
   * @throws {GuestError} If it fails, with what it said.
   */
  async output(command: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, options);
    if (code === 0) return stdout;
    throw new GuestError(`"${command}" ended with ${code} in the guest\n${stdout}${stderr}`);
  }

  /** Writes a file in the guest. */
  async writeFile(path: string, text: string): Promise<void> {
    await this.output(`cat > ${quote(path)}`, { stdin: text });
  }

  /** Reads a file of the guest. */
  async readFile(path: string): Promise<string> {
    return await this.output(`cat ${quote(path)}`);
  }

  /**
   * Restarts the guest as a user would, on the same disks.
   *
   * @param kernelOptions Options for the kernel, besides those of the profile; what a boot loader's file would hold.
   * @throws {GuestError} If it does not shut down or does not come up again.
   */
  async reboot(kernelOptions?: string): Promise<void> {
    await this.stop();
    await this.start(kernelOptions);
  }

  /** Shuts the guest down as a user would; {@linkcode start} boots it again. */
  async stop(): Promise<void> {
    const { child, agent } = this.#running("stop");
    const began = performance.now();
    try {
      await agent.run(["/usr/bin/systemctl", "--no-block", "poweroff"], new Uint8Array(), COMMAND_MS);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error; // it may be gone before it answers
    }
    if (!await endsWithin(child, SHUTDOWN_MS)) {
      throw await this.#failure(`The guest did not shut down in ${SHUTDOWN_MS / 1000} s`);
    }
    this.#took(began, "(shutdown)");
    await this.#release();
  }

  /** Ends the guest without any notice to it, as a power cut does; {@linkcode start} boots it again. */
  async powerCut(): Promise<void> {
    const { child } = this.#running("cut the power of");
    kill(child);
    await child.status;
    await this.#release();
  }

  /**
   * Boots the guest that was stopped or lost its power, on the same disks.
   *
   * @throws {GuestError} If it does not come up.
   */
  async start(kernelOptions = ""): Promise<void> {
    if (this.#machine !== undefined) throw new GuestError("Cannot start a guest that is running");
    const began = performance.now();
    const command = this.#command(kernelOptions);
    await Deno.writeTextFile(`${this.#folder}/command.txt`, command.join("\n") + "\n");
    const [program = "", ...args] = command;
    const child = new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "piped" }).spawn();
    let ended = false;
    child.status.then(() => ended = true);
    const complaints = new Response(child.stderr).text();
    try {
      const agent = await Promise.race([
        GuestAgent.connect(`${this.#folder}/agent.sock`, BOOT_MS, () => !ended),
        child.status.then(async ({ code }) => {
          throw new AgentError(`QEMU ended with ${code}: ${(await complaints).trim()}`);
        }),
      ]);
      await settle(agent, BOOT_MS - (performance.now() - began));
      this.#machine = { child, agent, complaints, bootSeconds: (performance.now() - began) / 1000 };
      this.#took(began, "(boot)");
    } catch (error) {
      kill(child);
      await child.status;
      await complaints;
      if (!(error instanceof AgentError)) throw error;
      throw await this.#failure(`Cannot boot the guest "${this.#options.profile}": ${error.message}`, error);
    }
  }

  /** Ends the guest and removes its folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#machine !== undefined) {
      kill(this.#machine.child);
      await this.#machine.child.status;
      await this.#release();
    }
    const consoles = Deno.env.get(CONSOLES_VARIABLE);
    if (consoles !== undefined) {
      const name = `${this.#options.profile}-${this.#folder.slice(this.#folder.lastIndexOf("-") + 1)}`;
      await Deno.writeTextFile(`${consoles}/${name}.txt`, await this.console());
      await Deno.writeTextFile(`${consoles}/${name}-times.txt`, this.#times.join(""));
    }
    await Deno.remove(this.#folder, { recursive: true }).catch(() => {});
  }

  #took(began: number, what: string): void {
    this.#times.push(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${what.split("\n")[0]}\n`);
  }

  async #release(): Promise<void> {
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#machine = undefined;
    await machine.child.status;
    await machine.complaints;
    machine.agent[Symbol.dispose]();
    await Deno.remove(`${this.#folder}/agent.sock`).catch(() => {});
  }

  #running(what: string): Machine {
    if (this.#machine !== undefined) return this.#machine;
    throw new GuestError(`Cannot ${what} a guest that is not running: start() boots it`);
  }

  async #makeDisks(): Promise<void> {
    const { profile, system = "tools" } = this.#options;
    const args = ["create", "-q", "-f", "qcow2", "-F", "raw", "-b", this.#boot()[system], `${this.#folder}/root.qcow2`];
    const made = await new Deno.Command("qemu-img", { args, stdin: "null" }).output();
    if (!made.success) {
      throw new GuestError(`Cannot make the guest's disk: ${new TextDecoder().decode(made.stderr).trim()}`);
    }
    const { files = {} }: Profile = PROFILES[profile];
    for (const [name, mebibytes] of Object.entries(files)) {
      using file = await Deno.create(`${this.#folder}/${name}.img`);
      await file.truncate(mebibytes * 1024 * 1024); // sparse: only what the guest writes takes room
    }
  }

  /** What the profile boots from. */
  #boot(): Boot {
    const { newer = false }: Profile = PROFILES[this.#options.profile];
    return this.#image[newer ? "newer" : "root"];
  }

  #command(kernelOptions: string): string[] {
    const { machine, kernelOptions: own = "", hidden = false }: Profile = PROFILES[this.#options.profile];
    const { kernel, initramfs, qemu } = this.#boot();
    const path = (file: string): string => file.replaceAll(",", ",,"); // QEMU's way to write a comma
    const cpu = hidden ? "max,hypervisor=off" : "max";
    const options = "console=ttyS0 panic=-1 quiet mitigations=off nokaslr systemd.show_status=0";
    return [
      // However this process ends, QEMU ends with it.
      ...["setpriv", "--pdeathsig", "KILL"],
      ...(qemu === undefined
        ? ["qemu-system-x86_64"]
        : [`${qemu}/usr/bin/qemu-system-x86_64`, "-L", ...firmware(qemu)]),
      ...["-accel", "tcg,thread=multi", "-cpu", cpu, "-nodefaults", "-no-user-config", "-display", "none"],
      ...["-no-reboot", "-serial", "chardev:console"],
      ...["-chardev", `file,id=console,path=${path(this.#folder)}/console.txt,append=on`],
      ...machine(this.#folder),
      ...["-kernel", kernel, "-initrd", initramfs],
      ...["-append", `${options} ${own} ${kernelOptions}`.trim()],
      // Without a bus of their own, disks land behind the bridge of the CXL profile, which QEMU refuses.
      // unsafe: the guest's flushes reach this system's page cache, which outlives QEMU, and do not wait for the disk.
      ...["-drive", `file=${path(this.#folder)}/root.qcow2,format=qcow2,if=none,id=root,cache=unsafe`],
      ...["-device", "virtio-blk-pci,drive=root,bus=pcie.0"],
      ...["-drive", `file=${path(this.#image.suite)},format=raw,if=none,id=suite,readonly=on`],
      ...["-device", "virtio-blk-pci,drive=suite,bus=pcie.0"],
      ...this.#options.disk === undefined ? [] : [
        ...["-drive", `file=${path(this.#options.disk)},format=raw,if=none,id=more,readonly=on`],
        ...["-device", "virtio-blk-pci,drive=more,bus=pcie.0"],
      ],
      ...["-device", "virtio-serial-pci,bus=pcie.0"],
      ...["-chardev", `socket,id=agent,path=${path(this.#folder)}/agent.sock,server=on,wait=off`],
      ...["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"],
    ];
  }

  async #failure(message: string, cause?: unknown): Promise<GuestError> {
    const tail = (await this.console()).trimEnd().split("\n").slice(-30).join("\n");
    return new GuestError(`${message}\nThe guest's console ends:\n${tail}`, { cause });
  }
}

/**
 * Waits until udev has handled all devices and systemd has started all units: the agent answers before that. A unit that
 * failed is the case's to find.
 *
 * @throws {AgentError} If that takes too long.
 */
async function settle(agent: GuestAgent, timeoutMs: number): Promise<void> {
  const command = "udevadm settle --timeout=120 && { systemctl is-system-running --wait || true; }";
  const { code, stdout, stderr } = await agent.run(["/bin/sh", "-c", command], new Uint8Array(), timeoutMs);
  const decoder = new TextDecoder();
  const state = decoder.decode(stdout).trim();
  if (code === 0 && (state === "running" || state === "degraded")) return;
  throw new AgentError(`it came up as "${state}" ${decoder.decode(stderr)}`.trim());
}

/** Folders of a QEMU that was unpacked and not installed, in which it looks for its firmware. */
function firmware(qemu: string): string[] {
  return [`${qemu}/usr/share/qemu`, "-L", `${qemu}/usr/share/seabios`];
}

async function endsWithin(child: Deno.ChildProcess, milliseconds: number): Promise<boolean> {
  const timer = Promise.withResolvers<boolean>();
  const id = setTimeout(() => timer.resolve(false), milliseconds);
  try {
    return await Promise.race([child.status.then(() => true), timer.promise]);
  } finally {
    clearTimeout(id);
  }
}

/** One word for a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
