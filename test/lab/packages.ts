/**
 * The Debian packages that the lab needs on this machine, on top of those of `setup/packages.txt`.
 *
 * @module
 */

import type { Package } from "../../setup/packages.ts";

/** What `deno task lab` installs. */
export const HOST_PACKAGES: readonly Package[] = [
  { name: "qemu-system-x86", group: "test", why: "virtual machines" },
  { name: "qemu-utils", group: "test", why: "their disks" },
  { name: "mmdebstrap", group: "test", why: "their root file system" },
  { name: "fakechroot", group: "test", why: "the same without root" },
  { name: "fakeroot", group: "test", why: "file owners without root" },
  { name: "e2fsprogs", group: "test", why: "ext4 images" },
  { name: "buildah", group: "test", why: "the container image" },
  { name: "debootstrap", group: "test", why: "its base" },
  { name: "debian-archive-keyring", group: "test", why: "Debian's signatures" },
];
