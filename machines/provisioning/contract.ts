/**
 * What provisioning is made of: a target, the place, a plan of steps.
 *
 * A plan is a pure function of an inventory. Every step of it knows whether it is done already, so a plan made after an
 * interruption says what is left, and a step is verified by making the plan again: the step must now be done, and the
 * commands of those to come must be what was agreed to.
 *
 * @module
 */

/** The configurations a machine can be brought to. */
export type Target = "memory-mode" | "fsdax" | "kmem-dax" | "cxl-kmem" | "hbm";

/** Where the commands run. */
export type Place = "bare-metal" | "cloud-vm" | "container";

/** Whether the kernel itself moves hot pages up to DRAM and cold ones down. */
export type Tiering = "on" | "off";

/** What the user asks for. */
export interface ProvisionRequest {
  /** What the machine shall become. */
  readonly target: Target;
  /** Default: from the probe: in a container, under a hypervisor, or neither. */
  readonly place?: Place;
  /** Only these PMEM or CXL regions or memory devices, e.g. `region0`, `mem0`; default: all. */
  readonly only?: readonly string[];
  /** Parent of mount points (`fsdax`); default `/mnt`. Region 0 is mounted on `/mnt/pmem0`. */
  readonly mountParent?: string;
  /** Owner of the mounted directory (`fsdax`); default: the user who runs it (`SUDO_USER` under sudo). */
  readonly owner?: string;
  /** Cloud VM without virtual NVDIMMs: range of memory to set aside, `[nn]G!mmG`; default: from node 1's range. */
  readonly memmap?: string;
  /** Devices whose data may be destroyed, e.g. `namespace0.0`, `pmem0`. */
  readonly erase?: readonly string[];
  /** Promotion and demotion by the kernel, now and at every start (`cxl-kmem`); default: left as they are. */
  readonly tiering?: Tiering;
}

/** Data that a step destroys. */
export interface Loss {
  /** The device that holds them, e.g. `namespace0.0`. */
  readonly device: string;
  /** What is on it, e.g. `ext4 mounted on /mnt/pmem0`, `namespace in devdax mode`; undefined: nothing was found. */
  readonly found: string | undefined;
}

/** One step. */
export interface Step {
  /** Stable name, e.g. `namespace-region0`. */
  readonly id: string;
  /** What it does, in words. */
  readonly title: string;
  /** Lines for `/bin/sh` as root, run in this order exactly as printed. One line may hold a here-document. */
  readonly commands: readonly string[];
  /** Lines that take it back; empty: nothing to take back. */
  readonly undo: readonly string[];
  /** Why it is done already; undefined: it is not. */
  readonly done: string | undefined;
  /** What its commands destroy. */
  readonly destroys: readonly Loss[];
  /** What is seen when it went well, a line of output or a sentence. */
  readonly expected: string;
  /** The machine has to start again before the next step. */
  readonly reboot: boolean;
  /** In a container: whether the line belongs to the host or into the container. */
  readonly where: "host" | "container";
  /** Why these lines cannot run in the virtual lab, whose guests are Debian: `package manager` is that of others. */
  readonly outsideLab?: "ipmctl" | "boot loader" | "container engine" | "package manager";
}

/** The way to a configuration. */
export interface Plan {
  /** There is a way. */
  readonly kind: "plan";
  /** What the machine becomes. */
  readonly target: Target;
  /** Where the commands run. */
  readonly place: Place;
  /** One sentence: what will be there afterwards. */
  readonly summary: string;
  /** Versions and settings that may stand in the way: kernel, ndctl, alignment, missing sudo. */
  readonly warnings: readonly string[];
  /** In the order in which they are run. */
  readonly steps: readonly Step[];
  /** What comes after these steps shows only when they are done: then the plan has to be made again. */
  readonly partial?: true;
  /** What `--check` will look at afterwards: mount points and NUMA nodes as far as they are known beforehand. */
  readonly results: { readonly mounts: readonly string[]; readonly nodes: readonly number[] };
}

/** There is no way, and why. */
export interface Refusal {
  /** There is none. */
  readonly kind: "refusal";
  /** What was asked for. */
  readonly target: Target;
  /** Where the commands would run. */
  readonly place: Place;
  /** One or two sentences. */
  readonly reason: string;
  /** What to do instead, where there is something. */
  readonly instead: string | undefined;
}

/** One thing that `--check` looked at. */
export interface CheckLine {
  /** Stable name, e.g. `map-sync /mnt/pmem0`. */
  readonly id: string;
  /** It is as it has to be. */
  readonly ok: boolean;
  /** What was found. */
  readonly text: string;
}

/** What a check is told beside the inventory. */
export interface CheckOptions {
  /** In a cloud VM, memory that the hypervisor or `memmap=` offers is what was asked for; elsewhere it is a finding. */
  readonly place?: Place;
  /** Who shall be able to write to mounts. */
  readonly owner?: { readonly name: string; readonly uid: number };
  /** What promotion and demotion shall be; default: what files of an earlier run keep, else only that they agree. */
  readonly tiering?: Tiering;
}
