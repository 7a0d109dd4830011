/** A container with the DAX mount of an NVDIMM: what docs/provisioning/README.md says it has to be given is enough. */

import type { Summary } from "../../reports/summary/summary_types.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { assertEquals, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { smallScenario } from "./small_run.ts";

/** The number of the container's user. */
const USER = 1000;

/**
 * A container by hand, as engines make one: namespaces of its own, this system's files with a layer above them, devices
 * that hold nothing, /sys to read, no capability, and the mount.
 */
const CONTAINER = `#!/bin/sh
set -eu
if [ "\${1:-}" != inside ]; then exec unshare --mount --pid --ipc --uts --fork sh "$0" inside "$@"; fi
shift
mount -t tmpfs none /srv
mkdir /srv/upper /srv/work /srv/root
mount -t overlay -o lowerdir=/,upperdir=/srv/upper,workdir=/srv/work none /srv/root
cd /srv/root
mount -t proc proc proc
mount --rbind -o ro /sys sys
mount -t tmpfs -o mode=755 none dev
for device in null zero full random urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/shm
mount -t tmpfs -o mode=1777,size=64m none dev/shm
mount --bind /opt/tierbench opt/tierbench
mkdir -p mnt/pmem0
mount --bind /mnt/pmem0 mnt/pmem0
mkdir -p home/user
rm -rf var/cache/tierbench # what Deno keeps, made again by the container's user
chmod 1777 var/cache
mount --bind /root/out home/user
chown ${USER}:${USER} home/user
touch .dockerenv
exec chroot . setpriv --reuid ${USER} --regid ${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
  env -i -C /home/user PATH="$PATH" HOME=/home/user "$@"
`;

labCase(
  "a container that is given the DAX mount of an NVDIMM finds it and trains there, the way of a measurement",
  async (t) => {
    await using guest = await Guest.boot({ profile: "nvdimm" });
    await guest.output("ndctl create-namespace -f -e namespace0.0 --mode=fsdax", { timeoutMs: 60_000 });
    await guest.output("mkfs.ext4 -q -b 4096 /dev/pmem0 && mkdir -p /mnt/pmem0 /root/out");
    await guest.output(`mount -o dax=always /dev/pmem0 /mnt/pmem0 && chown ${USER} /mnt/pmem0`);
    await guest.writeFile("/root/container", CONTAINER);
    const inside = (words: string) => guest.output(`sh /root/container ${words}`, { timeoutMs: 600_000 });

    await t.step("it sees the mount, and no device", async () => {
      assertStringIncludes(await inside("grep ' /mnt/pmem0 ' /proc/self/mountinfo"), "dax=always");
      assertEquals(await inside("ls /dev"), "full\nnull\nrandom\nshm\nurandom\nzero\n");
      assertEquals((await inside("sh -c 'id -u; echo $$'")).trim().split("\n")[0], `${USER}`);
      const doctor = await inside("tierbench doctor");
      for (const text of ["Container", "/mnt/pmem0"]) assertStringIncludes(doctor, text);
    });

    await t.step("rows lie on it, and speed and price are withheld: the NVDIMM is virtual", async () => {
      await guest.writeFile("/root/out/small.json", smallScenario(["dram", "fsdax"], 10));
      await inside("tierbench run small.json --out small");
      const text = await guest.readFile("/root/out/small/result.jsonl");
      const { samples, failed } = resultOf(parseResultText(text, "result.jsonl").records);
      assertEquals(failed, []);
      assertEquals(new Set(samples.map(({ digest }) => digest)).size, 1);
      const fsdax = samples.filter(({ configuration }) => configuration === "fsdax");
      const seen = fsdax.map(({ evidence, virtual, tiers: [, pmem] }) => [
        evidence,
        virtual,
        pmem?.medium,
        pmem?.facts["is_pmem"],
        pmem?.facts["path"]?.startsWith("/mnt/pmem0/"),
      ]);
      assertEquals(seen, Array(3).fill(["emulated", true, "fsdax", "1", true]));
      const summary = JSON.parse(await guest.readFile("/root/out/small/summary.json")) as Summary;
      const shown = summary.cases.find(({ configuration }) => configuration === "fsdax");
      assertEquals([shown?.throughput, shown?.cost], [undefined, undefined]);
      assertEquals(await guest.output("find /mnt/pmem0 -type f"), "");
    });
  },
);
