/**
 * The Debian packages of the guests.
 *
 * @module
 */

/** Installed in every guest: the system itself, the channel to it, and what the native library opens. */
export const INSTALLED: readonly string[] = [
  "e2fsprogs",
  "kmod",
  "libdnnl2",
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

/**
 * What guides tell users to install: in the guest's own package repository, and installed where a test asks for tools.
 * The program `cxl` comes with `ndctl`.
 */
export const OFFERED: readonly string[] = ["ndctl", "daxctl", "numactl", "ipmctl", "libpmem1", "libmemkind0"];

/** Depends on the kernel of the release. The cloud kernel has all of NVDIMM, DAX and CXL, and boots faster. */
export const KERNEL = "linux-image-cloud-amd64";

/** The release of Debian. */
export const RELEASE = "bookworm";
