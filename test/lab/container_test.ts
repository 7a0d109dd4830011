/** A container with the DAX mount of an NVDIMM: what docs/provisioning/README.md says it has to be given is enough. */

import type { Summary } from "../../reports/summary/summary_types.ts";
import type { Result } from "../../scenarios/record.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { Images, requireTools } from "../container/buildah.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { smallScenario } from "./small_run.ts";

/** The number of the container's user. */
const USER = 1000;

/** What a container is begun from. */
interface Origin {
  /** The folder with its system's files, which stay as they are. */
  readonly root: string;
  /** What is done in its own copy before it starts. */
  readonly prepare: string;
  /** Its user's folder, where the guest's `/root/out` is mounted. */
  readonly home: string;
  /** Its variables, each `NAME=value`. */
  readonly variables: string;
}

/** This system itself, by hand. */
const BY_HAND: Origin = {
  root: "/",
  prepare: `mount --bind /opt/tierbench opt/tierbench
rm -rf var/cache/tierbench # what Deno keeps, made again by the container's user
chmod 1777 var/cache`,
  home: "/home/user",
  variables: 'PATH="$PATH"',
};

/**
 * A container as engines make one: namespaces of its own, files with a layer above them, devices that hold nothing, /sys
 * to read, no capability, and the mount.
 */
function container({ root, prepare, home, variables }: Origin): string {
  return `#!/bin/sh
set -eu
if [ "\${1:-}" != inside ]; then exec unshare --mount --pid --ipc --uts --fork sh "$0" inside "$@"; fi
shift
mount -t tmpfs none /srv
mkdir /srv/upper /srv/work /srv/root
mount -t overlay -o lowerdir=${root},upperdir=/srv/upper,workdir=/srv/work none /srv/root
cd /srv/root
mount -t proc proc proc
mount --rbind -o ro /sys sys
mount -t tmpfs -o mode=755 none dev
for device in null zero full random urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/shm
mount -t tmpfs -o mode=1777,size=64m none dev/shm
${prepare}
mkdir -p mnt/pmem0
mount --bind /mnt/pmem0 mnt/pmem0
mkdir -p .${home}
mount --bind /root/out .${home}
chown ${USER}:${USER} .${home}
touch .dockerenv
exec chroot . setpriv --reuid ${USER} --regid ${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
  env -i -C ${home} ${variables} HOME=${home} "$@"
`;
}

/** A guest with an NVDIMM's DAX mount, and what starts a container in it. */
async function guestWith(origin: Origin, disk?: string): Promise<[Guest, (words: string) => Promise<string>]> {
  const guest = await Guest.boot({ profile: "nvdimm", ...disk === undefined ? {} : { disk } });
  try {
    await guest.output("ndctl create-namespace -f -e namespace0.0 --mode=fsdax", { timeoutMs: 60_000 });
    await guest.output("mkfs.ext4 -q -b 4096 /dev/pmem0 && mkdir -p /mnt/pmem0 /root/out");
    await guest.output(`mount -o dax=always /dev/pmem0 /mnt/pmem0 && chown ${USER} /mnt/pmem0`);
    if (disk !== undefined) await guest.output(`mkdir ${origin.root} && mount -o ro /dev/vdc ${origin.root}`);
    await guest.writeFile("/root/container", container(origin));
  } catch (error) {
    await guest[Symbol.asyncDispose]();
    throw error;
  }
  return [guest, (words) => guest.output(`sh /root/container ${words}`, { timeoutMs: 900_000 })];
}

/** All samples are there, with the same rows; those of fsdax lie on the mount and are called virtual. */
function assertOnMount({ samples, failed }: Result): void {
  assertEquals(failed, []);
  assertEquals(new Set(samples.map(({ digest }) => digest)).size, 1);
  const fsdax = samples.filter(({ configuration }) => configuration === "fsdax");
  assert(fsdax.length > 0);
  for (const { evidence, virtual, tiers: [, pmem] } of fsdax) {
    const { medium, facts } = pmem ?? {};
    const seen = [evidence, virtual, medium, facts?.["is_pmem"], facts?.["path"]?.startsWith("/mnt/pmem0/")];
    assertEquals(seen, ["emulated", true, "fsdax", "1", true]);
  }
}

labCase(
  "a container that is given the DAX mount of an NVDIMM finds it and trains there, the way of a measurement",
  async (t) => {
    const [booted, inside] = await guestWith(BY_HAND);
    await using guest = booted;

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
      assertOnMount(resultOf(parseResultText(text, "result.jsonl").records));
      const summary = JSON.parse(await guest.readFile("/root/out/small/summary.json")) as Summary;
      const shown = summary.cases.find(({ configuration }) => configuration === "fsdax");
      assertEquals([shown?.throughput, shown?.cost], [undefined, undefined]);
      assertEquals(await guest.output("find /mnt/pmem0 -type f"), "");
    });
  },
);

labCase("the container image runs with the DAX mount of an NVDIMM, as on a host that has one", async () => {
  await requireTools();
  await using images = await Images.make();
  await images.makeBase();
  await images.build(USER);
  const folder = await Deno.makeTempDir({ prefix: "tierbench-lab-image-" });
  try {
    const disk = `${folder}/image.ext4`;
    const { Env = [], WorkingDir = "/", Entrypoint = [] } = await images.disk("tierbench", disk);
    const results = `${WorkingDir}/reports/out`;
    const image: Origin = {
      root: "/image",
      prepare: `mkdir -p .${WorkingDir}/reports && chown ${USER}:${USER} .${WorkingDir}/reports`,
      home: results,
      variables: Env.map((variable) => `'${variable}'`).join(" "),
    };
    const [booted, inside] = await guestWith(image, disk);
    await using guest = booted;
    assertStringIncludes(await inside(`${Entrypoint.join(" ")} doctor`), "/mnt/pmem0");
    await guest.writeFile("/root/out/small.json", smallScenario(["dram", "fsdax"], 10));
    await inside(`${Entrypoint.join(" ")} run small.json --out small`);
    const text = await guest.readFile("/root/out/small/result.jsonl");
    assertOnMount(resultOf(parseResultText(text, "result.jsonl").records));
    assertEquals(await guest.output("find /mnt/pmem0 -type f"), "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, { root: true });
