/** What is wrong with a machine is recognised, said in these words, and nothing is touched. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { provision, type Provisioned, provisioned } from "./provisioning.ts";

/** The text of a check that has to have failed. */
function failed({ checks = [] }: Provisioned, id: string): string {
  const found = checks.find((one) => one.id === id);
  assert(found !== undefined && !found.ok, `${id} should have failed: ${JSON.stringify(checks, undefined, 1)}`);
  return found.text;
}

/** The command that a check says comes next. */
function next(text: string): string {
  return /; next: (.*?)(?: \(erases .*\))?$/.exec(text)?.[1] ?? "";
}

function warnings({ plan }: Provisioned): string {
  return plan.kind === "plan" ? plan.warnings.join("\n") : "";
}

function refusal({ plan, code }: Provisioned): string {
  assert(plan.kind === "refusal", "it should have been refused");
  assertEquals(code, 3);
  return `${plan.reason} ${plan.instead}`;
}

/** Everything that doctor says, a line each. */
async function doctor(guest: Guest): Promise<string> {
  const report = JSON.parse(await guest.output("tierbench doctor --json")) as {
    readonly sections: readonly {
      readonly title: string;
      readonly lines: readonly { readonly label: string; readonly text: string }[];
    }[];
  };
  return report.sections.flatMap(({ title, lines }) => lines.map(({ label, text }) => `${title}: ${label}: ${text}`))
    .join("\n");
}

/** Puts a program before the one of the same name. */
async function fake(guest: Guest, name: string, script: string): Promise<void> {
  await guest.writeFile(`/usr/local/bin/${name}`, `#!/bin/sh\n${script}\n`);
  await guest.output(`chmod +x /usr/local/bin/${name}`);
}

const check = (guest: Guest, words: string) => provision(guest, `${words} --bare-metal --check`);

labCase(
  "recognised on NVDIMMs: no DAX, wrong alignment, devices in use, policies, missing and old tools",
  async (t) => {
    await using guest = await Guest.boot({ profile: "nvdimm" });
    await guest.output("mkdir -p /mnt/pmem0 /mnt/pmem1");
    await guest.output("ndctl create-namespace -f -e namespace0.0 --mode=fsdax --align=2M");
    await guest.output("ndctl create-namespace -f -e namespace1.0 --mode=fsdax --align=4K");
    await guest.output("mkfs.ext4 -q -b 4096 /dev/pmem0 && mkfs.ext4 -q -b 1024 -F /dev/pmem1 2> /dev/null");

    await t.step("DAX is off (dax=never); namespace and blocks are not aligned", async () => {
      await guest.output("mount -o dax=never /dev/pmem0 /mnt/pmem0");
      assertEquals((await guest.run("mount -o dax /dev/pmem1 /mnt/pmem1")).code, 32, "the kernel refuses such blocks");
      await guest.output("mount /dev/pmem1 /mnt/pmem1");
      const both = await check(guest, "fsdax");
      assertEquals(both.code, 1);
      assertStringIncludes(failed(both, "dax /mnt/pmem0"), "DAX is off: mounted with dax=never");
      assertStringIncludes(failed(both, "map-sync /mnt/pmem0"), "MAP_SYNC is refused (Operation not supported)");
      assertStringIncludes(failed(both, "is-pmem /mnt/pmem0"), "libpmem does not take it for persistent memory");
      assertStringIncludes(failed(both, "dax /mnt/pmem1"), "DAX is off: mounted without the option dax");
      assertStringIncludes(failed(both, "block-size /mnt/pmem1"), "blocks of 1024 bytes: DAX needs the size of a page");
      assertStringIncludes(
        failed(both, "alignment /mnt/pmem1"),
        "namespace1.0 is aligned to 4 KiB, so no page of 2 MiB",
      );
      const said = await doctor(guest);
      assertMatch(said, /^DAX: \/mnt\/pmem0: .*dax=never/m);
      assertMatch(said, /^PMEM: namespace1\.0: .*aligned to 4 KiB: pages of 2 MiB may not fit$/m);
      assertMatch(said, /^Unfinished: fsdax: .*\/dev\/pmem0, mounted on \/mnt\/pmem0 without DAX/m);
      // What it says comes next does it.
      await guest.output(next(failed(both, "dax /mnt/pmem0")));
      await guest.output(`umount /mnt/pmem1 && ${next(failed(both, "alignment /mnt/pmem1"))}`);
      await guest.output("mkfs.ext4 -q -b 4096 -F /dev/pmem1 && mount -o dax=inode /dev/pmem1 /mnt/pmem1");
    });

    await t.step("DAX depends on files (dax=inode); what was wrong before is right", async () => {
      const both = await check(guest, "fsdax");
      const { checks = [] } = both;
      assertStringIncludes(failed(both, "dax /mnt/pmem1"), "dax=inode: DAX depends on a flag of each file");
      assertStringIncludes(failed(both, "map-sync /mnt/pmem1"), "MAP_SYNC is refused");
      const bad = checks.filter(({ ok, id }) => !ok && !id.startsWith("restart ")).map(({ id }) => id);
      assertEquals(bad.filter((id) => /pmem0|alignment|block-size/.test(id)), []);
    });

    await t.step("a namespace that is mounted is not given up unless it is named", async () => {
      const { outcome, code } = await provisioned(
        guest,
        "kmem-dax --bare-metal --only region0 --apply --yes",
        "refused",
      );
      assertEquals(code, 3);
      assertStringIncludes(outcome.message, "namespace0.0: namespace in fsdax mode: ext4, mounted on /mnt/pmem0");
      assertStringIncludes(outcome.message, "--erase namespace0.0");
      assertStringIncludes(failed(await check(guest, "kmem-dax --only region0"), "in-use namespace0.0"), "fsdax mode");
    });

    await t.step("a sector namespace has no DAX", async () => {
      await guest.output("umount /mnt/pmem1 && ndctl create-namespace -f -e namespace1.0 --mode=sector");
      await guest.output("mkfs.ext4 -q -b 4096 -F /dev/pmem1s");
      assertEquals((await guest.run("mount -o dax /dev/pmem1s /mnt/pmem1")).code, 32);
      const one = await check(guest, "fsdax --only region1");
      assertEquals(one.checks?.map(({ id }) => id), ["mounted /mnt/pmem1", "in-use namespace1.0"]);
      assertStringIncludes(failed(one, "in-use namespace1.0"), "namespace1.0 is in sector mode");
    });

    await t.step("the kernel would bring memory online itself", async () => {
      await guest.output("ndctl create-namespace -f -e namespace1.0 --mode=devdax --map=mem");
      await guest.output("echo online > /sys/devices/system/memory/auto_online_blocks");
      assertEquals((await guest.run("daxctl reconfigure-device --mode=system-ram dax1.0")).code, 240);
      const one = await check(guest, "kmem-dax --only region1");
      assertStringIncludes(
        failed(one, "auto-online"),
        "auto_online_blocks is online), not movable, and daxctl refuses",
      );
      assertStringIncludes(failed(one, "system-ram dax1.0"), "dax1.0 is a device, not system memory");
      await guest.output(next(failed(one, "auto-online")));
      await guest.output(next(failed(one, "system-ram dax1.0")));
    });

    await t.step("a device that is memory is not given up unless it is named", async () => {
      const { outcome } = await provisioned(guest, "fsdax --bare-metal --only region1 --apply --yes", "refused");
      assertStringIncludes(outcome.message, "namespace1.0: namespace in devdax mode: memory in use by the kernel");
    });

    await t.step("memkind is missing", async () => {
      const library = "/usr/lib/x86_64-linux-gnu/libmemkind.so.0";
      await guest.output(`mkdir away && mv ${library}* away`);
      const one = await check(guest, "kmem-dax --only region1");
      assertStringIncludes(failed(one, "memkind 3"), "Cannot open libmemkind.so.0");
      assertStringIncludes(failed(one, "memkind 3"), "install the package libmemkind0");
      const install = one.plan.kind === "plan" ? one.plan.steps[0] : undefined;
      assertEquals(install?.commands.at(-1), "apt-get install -y --no-install-recommends libmemkind0");
      assertMatch(await doctor(guest), /^Libraries: memkind: .*libmemkind0/m);
      await guest.output(`mv away/* ${library.slice(0, library.lastIndexOf("/"))}`);
    });

    await t.step("Memory Mode is refused in a virtual machine, with the reason", async () => {
      const said = refusal(await provision(guest, "memory-mode"));
      assertStringIncludes(said, "Memory Mode cannot be set in a virtual machine: the firmware of the host sets it");
      assertStringIncludes(said, "emulated");
    });

    await t.step("ndctl and daxctl are too old, or tell no version", async () => {
      const old = (version: string, program: string) =>
        fake(guest, program, `test "$1" != --version || { echo ${version}; exit; }\nexec /usr/bin/${program} "$@"`);
      await old("60", "ndctl");
      await old("65", "daxctl");
      const said = warnings(await provision(guest, "kmem-dax --bare-metal --only region1"));
      assertStringIncludes(
        said,
        "ndctl 60 is here, but ndctl create-namespace --mode=fsdax and --mode=devdax came with 61",
      );
      assertStringIncludes(said, "daxctl 65 is here, but daxctl reconfigure-device --mode=system-ram came with 66");
      await old("unversioned", "ndctl");
      assertStringIncludes(
        warnings(await provision(guest, "fsdax --bare-metal")),
        "the version of ndctl could not be read",
      );
      await guest.output("rm /usr/local/bin/daxctl");
    });

    await t.step("output that is cut short is unknown, kept, and nothing is planned on it", async () => {
      const half = `/usr/bin/ndctl "$@" | head -c 300`;
      await fake(guest, "ndctl", `test "$1" = list || exec /usr/bin/ndctl "$@"\n${half}`);
      const said = refusal(await provision(guest, "fsdax --bare-metal"));
      assertStringIncludes(said, 'What "ndctl list" printed was not understood');
      assertStringIncludes(said, "it is not known what a step would destroy");
      const { code, plan, outcome } = await provision(guest, "fsdax --bare-metal --apply --yes --erase namespace0.0");
      assertEquals([code, plan.kind, outcome?.kind], [3, "refusal", "refused"]);
      const line = (await doctor(guest)).split("\n").find((one) => one.startsWith("Tools: ndctl: ")) ?? "";
      assertStringIncludes(line, "unknown: ");
      assertStringIncludes(line, "is not understood");
      assertEquals((await guest.run("mountpoint -q /mnt/pmem0")).code, 0, "nothing was touched");
      await guest.output("rm /usr/local/bin/ndctl");
    });
  },
);

labCase("recognised: virtio-pmem cannot be mapped with MAP_SYNC", async () => {
  await using guest = await Guest.boot({ profile: "virtio-pmem" });
  assertStringIncludes(await guest.output("ndctl list -BN"), '"provider":"virtio-pmem"');
  assertEquals(await guest.output("cat /sys/block/pmem0/queue/dax"), "1\n");
  await guest.output("mkfs.ext4 -q -b 4096 /dev/pmem0 && mkdir /mnt/pmem0 && mount -o dax /dev/pmem0 /mnt/pmem0");
  const fsdax = await provision(guest, "fsdax --cloud-vm --check");
  assertEquals(fsdax.code, 1);
  assertEquals(fsdax.checks?.find(({ id }) => id === "dax /mnt/pmem0")?.ok, true, "mounted with DAX it is");
  assertStringIncludes(failed(fsdax, "medium /mnt/pmem0"), "a file of the host (virtio-pmem)");
  assertStringIncludes(failed(fsdax, "map-sync /mnt/pmem0"), "MAP_SYNC is refused");
  assertStringIncludes(failed(fsdax, "is-pmem /mnt/pmem0"), "pmem_is_pmem is 0");
  assertStringIncludes(refusal(await provision(guest, "fsdax")), "no store to it can be made durable from here");
  assertMatch(await doctor(guest), /^Configurations: fsdax: emulated: /m);
});

labCase("recognised: memory that gets into the node of the processors", async () => {
  await using guest = await Guest.boot({ profile: "nvdimm-near" });
  await guest.output("ndctl create-namespace -f -e namespace0.0 --mode=devdax --map=mem");
  await guest.output("daxctl reconfigure-device --mode=system-ram dax0.0");
  const found = await check(guest, "kmem-dax");
  assertEquals(found.code, 1);
  assertStringIncludes(failed(found, "no-cpus 0"), "node 0 has CPUs 0-1: its memory cannot be told from DRAM");
  assertStringIncludes(warnings(found), "memory of dax0.0 gets into node 0, which has CPUs 0-1");
  assertMatch(await doctor(guest), /^Configurations: kmem-dax: emulated: /m);
});

labCase("recognised: memory-side caches without modules are not taken for Memory Mode", async () => {
  await using guest = await Guest.boot({ profile: "hmat" });
  const node = "/sys/devices/system/node/node1";
  assertEquals(await guest.readFile(`${node}/access0/initiators/read_latency`), "250\n");
  assertEquals(await guest.readFile(`${node}/memory_side_cache/index1/size`), `${256 * 2 ** 20}\n`);
  const said = await doctor(guest);
  assertMatch(said, /^NUMA: node 0: .*80 ns by firmware \(HMAT\), .* MB\/s by firmware, behind a cache of 64 MiB$/m);
  assertMatch(said, /^NUMA: node 1: .*250 ns by firmware \(HMAT\), .* MB\/s by firmware, behind a cache of 256 MiB$/m);
  assertMatch(said, /^Tools: ipmctl: .*0 modules$/m);
  assertMatch(said, /^Configurations: dram: measured: /m);
  assertMatch(said, /^Configurations: memory-mode: emulated: /m);
  const mode = await provision(guest, "memory-mode --bare-metal --check");
  assertStringIncludes(mode.plan.kind === "refusal" ? mode.plan.reason : "", "No PMEM module");
  assertStringIncludes(failed(mode, "ipmctl"), "not in Memory Mode");
  assertEquals(mode.code, 1);
});
