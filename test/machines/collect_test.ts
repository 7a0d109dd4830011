import "../native_library.ts";
import { collectInventory, COMMANDS } from "../../machines/tools/collect.ts";
import { TIMED_OUT } from "../../machines/inventory/system.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { type Recording, replayedSystem } from "./replayed_system.ts";
import { captured, plain, textOf } from "./tools/outputs.ts";

const command = (name: keyof typeof COMMANDS) => COMMANDS[name].join(" ");

const LSBLK = JSON.stringify({
  blockdevices: [
    { name: "vda", size: 1, fstype: null, mountpoints: ["/"] },
    { name: "pmem0", size: 1071644672, fstype: null, mountpoints: [null] },
  ],
});

const blkid = (device: string) => `blkid -p -o export /dev/${device}`;

const FSDAX = {
  [command("ndctl")]: textOf("6.1/fsdax/ndctl-list-BDNR.txt"),
  "ndctl --version": "76.1\n",
  [command("lsblk")]: LSBLK,
  [blkid("pmem0")]: "DEVNAME=/dev/pmem0\nUUID=9ab1\nTYPE=ext4\nUSAGE=filesystem\n",
};

function collect(recording: Recording, facts = {}) {
  return collectInventory(replayedSystem(recording), facts);
}

const expectedOf = (path: string) => captured().find((one) => one.path === path)?.value;

Deno.test("collectInventory() of a system without any tool knows that, and nothing else", async () => {
  const inventory = await collect({});
  assertEquals(inventory.tools.map(({ installed }) => installed), [false, false, false, false, false]);
  for (const part of ["ndctl", "daxctl", "cxl", "ipmctl", "numactl", "blocks"] as const) {
    assertEquals(inventory[part], undefined);
  }
  assert(!inventory.os.known);
});

Deno.test("collectInventory() asks each tool once, and keeps versions, listings, facts", async () => {
  const system = replayedSystem({
    commands: {
      ...FSDAX,
      [command("daxctl")]: textOf("6.1/kmem/daxctl-list-systemram.txt"),
      [command("cxl")]: textOf("6.1/cxl/cxl-list.txt"),
      [command("numactl")]: textOf("6.1/kmem/numactl-H-kmem.txt"),
      [command("resources")]: textOf("ipmctl-written/v3-memoryresources-mixed.txt"),
      [command("modules")]: textOf("ipmctl-written/v3-show-dimm.txt"),
      "ipmctl version": textOf("bare/ipmctl-version.txt"),
    },
    files: { "/etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky 9"\n' },
  });
  const inventory = await collectInventory(system, { "cpu.virtual": "no" });
  assertEquals(inventory.facts, { "cpu.virtual": "no" });
  assertEquals(inventory.os, {
    known: true,
    value: { id: "rocky", like: ["rhel", "centos", "fedora"], version: "9.4", name: "Rocky 9" },
  });
  assertEquals(inventory.tools.find(({ name }) => name === "ndctl"), {
    name: "ndctl",
    installed: true,
    version: "76.1",
  });
  assertEquals(inventory.tools.find(({ name }) => name === "ipmctl")?.version, "03.00.00.0468-1");
  assertEquals(inventory.tools.find(({ name }) => name === "numactl"), { name: "numactl", installed: true });
  assert(inventory.ndctl?.known && inventory.daxctl?.known && inventory.cxl?.known && inventory.numactl?.known);
  assertEquals(
    plain(inventory.ndctl.value),
    (expectedOf("6.1/fsdax/ndctl-list-BDNR.txt") as { buses: unknown }).buses,
  );
  assertEquals(plain(inventory.daxctl.value), expectedOf("6.1/kmem/daxctl-list-systemram.txt"));
  assertEquals(plain(inventory.cxl.value), expectedOf("6.1/cxl/cxl-list.txt"));
  assertEquals(plain(inventory.numactl.value), expectedOf("6.1/kmem/numactl-H-kmem.txt"));
  assert(inventory.ipmctl?.resources.known && inventory.ipmctl.modules.known);
  assertEquals(inventory.ipmctl.modules.value.length, 4);
  assertEquals(inventory.blocks, {
    known: true,
    value: [{ name: "pmem0", size: 1071644672, fileSystem: "ext4", mountPoints: [] }],
  });
  const listings = system.asked.filter((one) => one !== command("numactl"));
  assertEquals(new Set(listings).size, listings.length);
});

Deno.test("collectInventory(): a tool that fails, hangs or is refused is unknown, with its text and why", async () => {
  const cases: [Partial<{ code: number; stdout: string; stderr: string }>, string][] = [
    [{ code: 129, stderr: "Error: unknown switch `v'\n" }, "ended with status 129"],
    [{ code: TIMED_OUT, stdout: "[\n" }, "did not end in time"],
    [{ code: 1, stderr: "ndctl: Permission denied\n" }, "root sees more"],
    [{ code: 0, stdout: "[\n  {\n" }, "is not understood: it is no JSON"],
    [{ code: 0, stdout: textOf("6.1/fsdax/ndctl-list-NR.txt") }, "outside a bus"],
  ];
  for (const [output, reason] of cases) {
    const { ndctl, blocks } = await collect({ commands: { ...FSDAX, [command("ndctl")]: output } });
    assert(ndctl !== undefined && !ndctl.known, reason);
    assertStringIncludes(ndctl.reason, reason);
    assertEquals(ndctl.raw, `${output.stdout ?? ""}${output.stderr ?? ""}`);
    assert(blocks?.known, "the others are asked all the same");
  }
});

Deno.test("collectInventory(): what is on a device is read from it, or known from udev, or unknown", async () => {
  const device = async (answer: Recording["commands"], recording: Recording = {}) =>
    (await collect({ ...recording, commands: { [command("lsblk")]: LSBLK, ...answer } })).blocks;
  const nothing = { [blkid("pmem0")]: { code: 2 } };
  const refused = { [blkid("pmem0")]: { code: 2, stderr: "blkid: error: /dev/pmem0: Permission denied\n" } };
  const empty = await device(nothing);
  assert(empty?.known);
  assertEquals(empty.value[0]?.fileSystem, undefined);
  const hidden = await device(refused, { root: false });
  assert(hidden !== undefined && !hidden.known);
  assertStringIncludes(hidden.reason, "what is on /dev/pmem0 cannot be told: no udev runs, and only root may read it");
  assert((await device(refused, { root: false, files: { "/run/udev/data/b259:0": "" } }))?.known);
  const table = await device({ [blkid("pmem0")]: "DEVNAME=/dev/pmem0\nPTTYPE=gpt\n" });
  assert(table?.known);
  assertEquals(table.value[0]?.fileSystem, "gpt");
  for (const junk of ["DEVNAME=/dev/pmem0\n", "TYPE=ext4", "TYPE=ext4\nTYPE=xfs\n", "\u0000\n"]) {
    assert(!(await device({ [blkid("pmem0")]: junk }))?.known, junk);
  }
});

Deno.test("collectInventory() asks an older lsblk for the one mount point that it knows", async () => {
  const older = command("lsblk").replace("MOUNTPOINTS", "MOUNTPOINT");
  const device = { name: "pmem0", size: "1071644672", fstype: "xfs", mountpoint: "/mnt/pmem0" };
  const { blocks } = await collect({
    commands: {
      [command("lsblk")]: { code: 1, stderr: "lsblk: unknown column: MOUNTPOINTS\n" },
      [older]: JSON.stringify({ blockdevices: [device] }),
    },
  });
  assertEquals(blocks, {
    known: true,
    value: [{ name: "pmem0", size: 1071644672, fileSystem: "xfs", mountPoints: ["/mnt/pmem0"] }],
  });
});

Deno.test("collectInventory(): ipmctl without modules is an answer of its own, unless only root could see them", async () => {
  const nothing = { code: 1, stdout: textOf("bare/ipmctl-show-dimm.txt") };
  const commands = { [command("resources")]: nothing, [command("modules")]: nothing };
  const none = (await collect({ commands })).ipmctl;
  assert(none?.modules.known && none.resources.known);
  assertEquals(none.modules.value, []);
  assertEquals(none.resources.value.physicalPmem, 0);
  const hidden = (await collect({ commands, root: false }, { "pmem.modules": "2" })).ipmctl;
  assert(hidden !== undefined && !hidden.modules.known && !hidden.resources.known);
  assertStringIncludes(hidden.modules.reason, "only root");
  const other = { code: 1, stdout: "Initialization failed. No functional PMem modules in the system.\n" };
  const broken = (await collect({ commands: { ...commands, [command("modules")]: other } })).ipmctl;
  assert(broken !== undefined && !broken.modules.known);
  assertEquals(broken.modules.raw, other.stdout);
});

Deno.test("collectInventory() keeps the files that provisioning writes, with the states of their units", async () => {
  const files = {
    "/etc/systemd/system/mnt-pmem0.mount": "[Mount]\nWhat=/dev/pmem0\n",
    "/etc/systemd/system/other.service": "# written by tierbench\n",
    "/etc/systemd/system/nginx.service": "[Service]\n",
    "/etc/systemd/system/pmem-secret.service": new Error("not yours"),
    "/etc/udev/rules.d/99-tierbench.rules": 'SUBSYSTEM=="dax"\n',
    "/etc/default/grub": "GRUB_TIMEOUT=1\n",
    "/etc/default/grub.d/README": "tierbench",
    "/etc/default/grub.d/tierbench.cfg": 'GRUB_CMDLINE_LINUX="memmap=1G!4G"\n',
    "/etc/sysctl.d/99-sysctl.conf": "vm.swappiness = 1\n",
    "/etc/sysctl.d/99-tierbench-promotion.conf": "kernel.numa_balancing = 2\n",
    "/etc/tmpfiles.d/tierbench-demotion.conf": "w /sys/kernel/mm/numa/demotion_enabled - - - - true\n",
  };
  const commands = {
    "systemctl is-enabled mnt-pmem0.mount": { code: 1, stdout: "disabled\n" },
    "systemctl is-enabled other.service": "enabled\n",
  };
  const inventory = await collect({ files, commands });
  assertEquals(Object.keys(inventory.files).sort(), [
    "/etc/default/grub",
    "/etc/default/grub.d/tierbench.cfg",
    "/etc/sysctl.d/99-tierbench-promotion.conf",
    "/etc/systemd/system/mnt-pmem0.mount",
    "/etc/systemd/system/other.service",
    "/etc/tmpfiles.d/tierbench-demotion.conf",
    "/etc/udev/rules.d/99-tierbench.rules",
  ]);
  assertEquals(inventory.units, { "mnt-pmem0.mount": "disabled", "other.service": "enabled" });
  assertEquals(inventory.unread, ["/etc/systemd/system/pmem-secret.service cannot be read: not yours"]);
});
