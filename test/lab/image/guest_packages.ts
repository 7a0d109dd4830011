/**
 * The Debian packages of the guests.
 *
 * @module
 */

/** In every guest: the system itself and the channel to it. */
const SYSTEM: readonly string[] = [
  "e2fsprogs",
  "kmod",
  "libleveldb1d",
  "libnuma1",
  "mount",
  "procps",
  "qemu-guest-agent",
  "systemd",
  "systemd-sysv",
  "udev",
  "util-linux",
  "zlib1g",
];

/** A root file system with its kernel, and perhaps a QEMU for it. */
export interface RootVariant {
  /** The release of Debian. */
  readonly release: string;
  /** Installed: the system, and what the native library opens. */
  readonly installed: readonly string[];
  /**
   * What guides tell users to install: in the guest's own package repository, and installed where a test asks for tools. In
   * Debian 12 the program `cxl` comes with `ndctl`.
   */
  readonly offered: readonly string[];
  /** The QEMU that is unpacked beside the file systems: its packages, and the suite they are of; absent: this machine's own. */
  readonly qemu?: { readonly suite: string; readonly packages: readonly string[] };
}

/** Depends on the kernel of the release. The cloud kernel has all of NVDIMM, DAX and CXL, and boots faster. */
export const KERNEL = "linux-image-cloud-amd64";

/** The release of the machine that the lab runs on. */
export const HOST_RELEASE = "bookworm";

/**
 * `root`: Debian 12. `newer`: Debian 13 and a QEMU of 12's backports, for volatile CXL memory: Linux makes regions of it from 6.3
 * on, cxl from 77, and QEMU has it from 8.1. Debian 13 has neither memkind nor ipmctl.
 */
export const ROOTS: Readonly<Record<"root" | "newer", RootVariant>> = {
  root: {
    release: HOST_RELEASE,
    installed: [...SYSTEM, "libdnnl2"],
    offered: ["ndctl", "daxctl", "numactl", "ipmctl", "libpmem1", "libmemkind0"],
  },
  newer: {
    release: "trixie",
    installed: [...SYSTEM, "libdnnl3.6"],
    offered: ["ndctl", "daxctl", "cxl", "numactl", "libpmem1"],
    qemu: {
      suite: `${HOST_RELEASE}-backports`,
      packages: ["qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"],
    },
  },
};
