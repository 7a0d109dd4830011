import "../native_library.ts";
import { probeMachine } from "../../ffi/machine.ts";
import { collectInventory, COMMANDS } from "../../machines/tools/collect.ts";
import { doctor, inspectMachine } from "../../machines/machine.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { machineFacts } from "../fixtures/machine_tree.ts";
import { type Recording, replayedSystem } from "./replayed_system.ts";
import { textOf } from "./tools/outputs.ts";

// Opens the native library before the first test: it stays open, which a test may not be the cause of.
probeMachine();

type Changes = Readonly<Record<string, string | undefined>>;
type Answers = NonNullable<Recording["commands"]>;

interface Machine {
  /** Name in test/fixtures/machine. */
  readonly tree?: string;
  readonly changes?: Changes;
  /** Captured outputs by what is asked, or texts. */
  readonly tools?: Partial<Record<keyof typeof COMMANDS, string>>;
  readonly commands?: Answers;
  readonly files?: Recording["files"];
  readonly root?: boolean;
}

/** Lines of one section as `label: text [level] next`. */
async function section(title: string, machine: Machine): Promise<string[]> {
  const { tree = "bare", changes = {}, tools = {}, commands = {}, files = {}, root = true } = machine;
  const facts = Object.fromEntries(
    Object.entries({ ...machineFacts(tree), ...changes }).filter((pair): pair is [string, string] =>
      pair[1] !== undefined
    ),
  );
  const answers = Object.fromEntries(
    Object.entries(tools).map(([name, text]) => [
      COMMANDS[name as keyof typeof COMMANDS].join(" "),
      /^[\w.-]+\/[\w./-]+\.txt$/.test(text) ? textOf(text) : text,
    ]),
  );
  const system = replayedSystem({ commands: { ...answers, ...commands }, files, root });
  const report = doctor(inspectMachine(facts), await collectInventory(system, facts));
  assertEquals(JSON.parse(JSON.stringify(report)), report);
  return (report.sections.find((one) => one.title === title)?.lines ?? [])
    .map(({ label, text, level, next }) => `${label}: ${text} [${level}]${next === undefined ? "" : ` ${next}`}`);
}

const lsblk = (...devices: object[]) => JSON.stringify({ blockdevices: devices });
const pmem0 = { name: "pmem0", size: 1071644672, fstype: null, mountpoints: [null] };
const pmem1 = { ...pmem0, name: "pmem1", mountpoints: ["/mnt/pmem1"], fstype: "xfs" };
const nothingOn = (name: string): Answers => ({ [`blkid -p -o export /dev/${name}`]: { code: 2 } });
const FSDAX = "6.1/fsdax/ndctl-list-BDNR.txt";

/** The one bus of a capture, with one region and namespaces as given. */
function oneRegion(provider: string, region: object): string {
  const common = { dev: "region0", size: 1073741824, available_size: 0, type: "pmem" };
  return JSON.stringify([{ provider, dev: "ndbus0", regions: [{ ...common, ...region }] }]);
}

Deno.test("doctor tells windows of CXL, the node that firmware made in one, and the kernel's tiering", async () => {
  assertEquals((await section("CXL", { tree: "cxl-firmware" })).slice(0, 2), [
    "mem0: 1 GiB volatile [ok]",
    "decoder0.0: window of 2 GiB [ok]",
  ]);
  const numa = await section("NUMA", { tree: "cxl-firmware" });
  assertStringIncludes(
    numa.join("\n"),
    "CXL memory that firmware mapped (in CXL window decoder0.0, 250 ns and 30000 MB/s",
  );
  assertStringIncludes(numa.join("\n"), "weight 1 of interleaved pages");
  assertEquals(numa.filter((one) => /^(promotion|demotion)/.test(one)), [
    "promotion: numa_balancing is 2: memory tiering: hot pages are promoted [ok]",
    "demotion: on: what reclaim takes from DRAM goes to slower nodes [ok]",
  ]);
});

for (
  const [name, machine, expected] of [
    [
      "a namespace without file system",
      {
        tools: { ndctl: FSDAX, lsblk: lsblk(pmem0, pmem1) },
        commands: nothingOn("pmem0"),
        changes: {
          "mount.8.path": "/mnt/pmem1",
          "mount.8.device": "/dev/pmem1",
          "mount.8.dax": "always",
          "mount.8.writable": "yes",
        },
      },
      ["fsdax: namespace0.0 is in fsdax mode, /dev/pmem0 has no file system [note] tierbench provision fsdax --cloud-vm"],
    ],
    [
      "a file system that is not mounted, and one that is without DAX",
      {
        tools: { ndctl: FSDAX, lsblk: lsblk({ ...pmem0, fstype: "ext4" }, pmem1) },
        changes: { "cpu.virtual": "no", "mount.8.path": "/mnt/pmem1", "mount.8.device": "/dev/pmem1" },
      },
      [
        "fsdax: xfs on /dev/pmem1, mounted on /mnt/pmem1 without DAX [note] tierbench provision fsdax --bare-metal",
        "fsdax: ext4 on /dev/pmem0, not mounted [note] tierbench provision fsdax --bare-metal",
      ],
    ],
    [
      "a file system on a partition",
      {
        tools: {
          ndctl: oneRegion("ACPI.NFIT", {
            namespaces: [{ dev: "namespace0.0", mode: "fsdax", size: 1, blockdev: "pmem0" }],
          }),
          lsblk: lsblk({ ...pmem0, pttype: "gpt", children: [{ ...pmem0, name: "pmem0p1", fstype: "ext4" }] }),
        },
      },
      ["fsdax: ext4 on /dev/pmem0p1, not mounted [note] tierbench provision fsdax --cloud-vm"],
    ],
    [
      "regions without namespace",
      { tools: { ndctl: "6.1/fsdax/ndctl-list-BDR-labelled.txt" }, changes: { "container.kind": "podman" } },
      [
        "fsdax: region1 (1 GiB) has no namespace [note] tierbench provision fsdax --container",
        "fsdax: region0 (1 GiB) has no namespace [note] tierbench provision fsdax --container",
      ],
    ],
    [
      "namespaces in modes without DAX, and disabled ones",
      {
        tools: {
          ndctl: oneRegion("ACPI.NFIT", {
            namespaces: [
              { dev: "namespace0.0", mode: "raw", size: 4096, blockdev: "pmem0" },
              { dev: "namespace0.1", mode: "sector", size: 4096, blockdev: "pmem0.1s" },
              { dev: "namespace0.2", mode: "fsdax", size: 4096, state: "disabled" },
              { dev: "namespace0.3", mode: "raw", size: 0, state: "disabled" },
            ],
          }),
        },
      },
      [
        "fsdax: namespace0.0 is in raw mode, which has no DAX [note] tierbench provision fsdax --cloud-vm",
        "fsdax: namespace0.1 is in sector mode, which has no DAX [note] tierbench provision fsdax --cloud-vm",
        "fsdax: namespace0.2 is in fsdax mode and disabled: no driver uses it [note] tierbench provision fsdax --cloud-vm",
      ],
    ],
    [
      "devices that are no memory",
      { tools: { daxctl: "6.1/kmem/daxctl-list-devdax.txt" }, changes: { "dax.dax1.0.origin": "cxl" } },
      [
        "cxl-kmem: dax1.0 is a device, not memory [note] tierbench provision cxl-kmem --cloud-vm",
        "kmem-dax: dax0.0 is a device, not memory [note] tierbench provision kmem-dax --cloud-vm",
      ],
    ],
    [
      "memory that is online in part, and a device without driver",
      {
        tools: {
          daxctl: JSON.stringify([
            { chardev: "dax0.0", size: 4096, mode: "system-ram", online_memblocks: 3, total_memblocks: 7 },
            { chardev: "dax1.0", size: 4096, mode: "devdax", state: "disabled" },
          ]),
        },
      },
      [
        "kmem-dax: dax0.0 is memory, but 3 of its 7 blocks are online [note] tierbench provision kmem-dax --cloud-vm",
        "kmem-dax: dax1.0 is disabled: no driver uses it, neither as a device nor as memory [note] tierbench provision kmem-dax --cloud-vm",
      ],
    ],
    [
      "CXL memory without region",
      { tools: { cxl: "6.1/cxl/cxl-list.txt" } },
      ["cxl-kmem: CXL memory mem0 (512 MiB) without region [note] tierbench provision cxl-kmem --cloud-vm"],
    ],
    [
      "CXL regions that are not in use",
      {
        tools: {
          cxl: JSON.stringify([
            {
              regions: [
                { region: "region0", size: 4096, type: "ram", decode_state: "reset", mappings: [{ memdev: "mem0" }] },
                { region: "region1", size: 4096, type: "ram", decode_state: "commit", mappings: [{ memdev: "mem1" }] },
              ],
            },
          ]),
        },
      },
      [
        "cxl-kmem: CXL region region0 is not committed (reset) [note] tierbench provision cxl-kmem --cloud-vm",
        "cxl-kmem: CXL region region1 has no DAX device [note] tierbench provision cxl-kmem --cloud-vm",
      ],
    ],
    [
      "App Direct capacity without region",
      {
        tools: {
          ndctl: "",
          resources: "ipmctl-written/v3-memoryresources-appdirect.txt",
          modules: "ipmctl-written/v3-show-dimm.txt",
        },
        changes: { "cpu.virtual": "no" },
      },
      ["fsdax: 756 GiB of PMEM is App Direct capable but has no region: ipmctl goal [note] tierbench provision fsdax --bare-metal"],
    ],
    [
      "files that do not work yet",
      {
        files: {
          "/etc/systemd/system/mnt-pmem0.mount": "[Mount]\n",
          "/etc/default/grub.d/tierbench.cfg": 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX memmap=1G\\!4G"\n',
        },
        commands: { "systemctl is-enabled mnt-pmem0.mount": { code: 1, stdout: "disabled\n" } },
      },
      [
        "next start: mnt-pmem0.mount is written, but not enabled (disabled) [warning] tierbench provision fsdax --cloud-vm",
        "next start: /etc/default/grub.d/tierbench.cfg has memmap=1G!4G, but the running kernel does not: the boot loader " +
        "was not updated, or the machine has not started again [warning]",
      ],
    ],
    [
      "memory that nothing makes again at the next start",
      {
        tree: "kmem",
        tools: { daxctl: "6.1/kmem/daxctl-list-systemram.txt", cxl: "[]", numactl: "6.1/kmem/numactl-H-kmem.txt" },
        files: {
          "/etc/systemd/system/tierbench-kmem@.service": "ExecStart=daxctl reconfigure-device --mode=system-ram %i\n",
          "/etc/udev/rules.d/99-tierbench-dax0.0.rules": 'KERNEL=="dax0.0"\n',
        },
      },
      [
        "kmem-dax: dax1.0 is memory, but only until the next start: no udev rule or unit in /etc names it [note] " +
        "tierbench provision kmem-dax --cloud-vm",
      ],
    ],
    [
      "CXL memory whose region nothing makes again at the next start",
      {
        tree: "kmem",
        tools: { daxctl: "6.1/kmem/daxctl-list-systemram.txt", cxl: "[]", numactl: "6.1/kmem/numactl-H-kmem.txt" },
        changes: { "dax.dax0.0.origin": "cxl", "dax.dax1.0.origin": "cxl" },
        files: {
          "/etc/udev/rules.d/99-tierbench-dax0.0.rules": 'KERNEL=="dax0.0"\n',
          "/etc/udev/rules.d/99-tierbench-dax1.0.rules": 'KERNEL=="dax1.0"\n',
          "/etc/systemd/system/tierbench-cxl.service": "ExecStart=until test -e /sys/bus/cxl/devices/region0 || cxl\n",
        },
        commands: { "systemctl is-enabled tierbench-cxl.service": "enabled\n" },
      },
      [
        "cxl-kmem: dax1.0 is memory, but only until the next start: no unit in /etc makes CXL region1 again [note] " +
        "tierbench provision cxl-kmem --cloud-vm",
      ],
    ],
    [
      "nothing, where all is done",
      {
        tree: "kmem",
        tools: { daxctl: "6.1/kmem/daxctl-list-systemram.txt", cxl: "[]", numactl: "6.1/kmem/numactl-H-kmem.txt" },
        files: {
          "/etc/udev/rules.d/99-tierbench-dax0.0.rules": 'KERNEL=="dax0.0"\n',
          "/etc/udev/rules.d/99-tierbench-dax1.0.rules": 'KERNEL=="dax1.0"\n',
          "/etc/systemd/system/mnt-pmem0.mount": "[Mount]\n",
          "/etc/default/grub.d/tierbench.cfg": 'GRUB_CMDLINE_LINUX="memmap=1G!4G"\n',
          "/etc/default/grub": "# memmap=2G!8G\n",
        },
        commands: { "systemctl is-enabled mnt-pmem0.mount": "enabled\n" },
        changes: { "kernel.cmdline_memmap": "1G!4G" },
      },
      [],
    ],
  ] as [string, Machine, string[]][]
) {
  Deno.test(`doctor() names half-done states: ${name}`, async () => {
    assertEquals(await section("Unfinished", machine), expected);
  });
}

Deno.test("doctor() finds no disagreement between sysfs and tools that were captured together", async () => {
  const kmem = { daxctl: "6.1/kmem/daxctl-list-systemram.txt", numactl: "6.1/kmem/numactl-H-kmem.txt" };
  assertEquals(await section("Disagreements", { tree: "kmem", tools: kmem }), []);
  assertEquals(
    await section("Disagreements", { tree: "memmap", tools: { ndctl: "6.1/memmap/ndctl-list-BDNR.txt" } }),
    [],
  );
  const host = { ndctl: "6.1/virtio-pmem/ndctl-list-BDNR.txt" };
  assertEquals(await section("Disagreements", { tree: "virtio-pmem", tools: host }), []);
});

Deno.test("doctor() names both sides of every disagreement", async () => {
  const tools = {
    daxctl: "6.1/kmem/daxctl-list-devdax.txt",
    numactl: "6.1/kmem/numactl-H-after-back.txt",
    ndctl: "6.1/memmap/ndctl-list-BDNR.txt",
    cxl: "6.1/cxl/cxl-list.txt",
  };
  const lines = await section("Disagreements", { tree: "kmem", tools, changes: { "node.3.cpus": "7" } });
  for (
    const line of [
      "dax0.0: sysfs says system-ram, daxctl says devdax [warning]",
      "namespace0.0: sysfs says devdax, ndctl says fsdax [warning]",
      "region1: sysfs lists it, ndctl does not [warning]",
      "mem0: cxl lists it, sysfs does not [warning]",
      "node 3: sysfs says CPUs, numactl says no CPUs [warning]",
    ]
  ) assert(lines.includes(line), `${line}\n${lines.join("\n")}`);
  const mounted = await section("Disagreements", { tools: { lsblk: lsblk(pmem1) } });
  assertEquals(mounted, [
    "/mnt/pmem1: lsblk says that /dev/pmem1 is mounted there, /proc/self/mounts says nothing [warning]",
  ]);
});

Deno.test("doctor() lists tools with what they say; what was not understood with its first line", async () => {
  const lines = await section("Tools", {
    tools: { ndctl: FSDAX, daxctl: "\n  \u001b[31mboom\nmore", numactl: "6.1/kmem/numactl-H-kmem.txt" },
    commands: { "ndctl --version": "76.1\n", "daxctl --version": "76.1\n" },
    files: { "/etc/os-release": "ID=debian\nPRETTY_NAME='Debian 12'\n" },
    root: false,
  });
  const text = lines.join("\n");
  assertStringIncludes(text, "system: Debian 12 [ok]");
  assertStringIncludes(text, "ndctl: 76.1: 2 regions, 2 namespaces [ok]");
  assertStringIncludes(text, 'daxctl list" prints is not understood: it is no JSON');
  assertStringIncludes(text, '"?[31mboom" [warning]');
  assert(!text.includes("boom\\nmore") && !text.includes("\u001b"));
  assertStringIncludes(text, "cxl: not installed [note]");
  assertStringIncludes(text, "numactl: 4 nodes, 2 without CPUs [ok]");
  assertStringIncludes(text, "user: not root");
});

Deno.test("doctor() says how the capacity of modules is used, and which module is ill", async () => {
  const modules = textOf("ipmctl-written/v3-show-dimm.txt").replace("Healthy    ", "Fatal failure");
  const lines = await section("ipmctl", {
    tools: { resources: "ipmctl-written/v3-memoryresources-mixed.txt", modules },
  });
  assertEquals(lines.slice(0, 4), [
    "PMEM as memory (Memory Mode): 378 GiB [ok]",
    "DRAM as its cache: 192 GiB [ok]",
    "App Direct: 378 GiB [ok]",
    "inaccessible: 2.53 GiB [ok]",
  ]);
  assertEquals(lines.filter((one) => one.startsWith("module")).map((one) => one.slice(one.indexOf(","))), [
    ", Fatal failure [warning]",
    ", Healthy [ok]",
    ", Healthy [ok]",
    ", Healthy [ok]",
  ]);
  const none = textOf("bare/ipmctl-show-dimm.txt");
  assertEquals(await section("ipmctl", { tools: { resources: none, modules: none } }), []);
});

Deno.test("doctor() lists CXL regions and windows as the tool has them", async () => {
  const cxl = JSON.stringify([
    { memdevs: [{ memdev: "mem0", ram_size: 536870912 }] },
    { "root decoders": [{ decoder: "decoder0.0", size: 4294967296, max_available_extent: 0, volatile_capable: true }] },
    {
      regions: [{
        region: "region0",
        size: 536870912,
        type: "ram",
        decode_state: "commit",
        mappings: [{ memdev: "mem0" }],
      }],
    },
  ]);
  const lines = await section("CXL", { tools: { cxl } });
  assertEquals(lines, [
    "region0: 512 MiB of ram, committed, on mem0 [ok]",
    "decoder0.0: window of 4 GiB for volatile memory, 0 B free in one piece [ok]",
  ]);
});

Deno.test("doctor() says what a container may do", async () => {
  const changes = {
    "container.kind": "docker",
    "container.evidence": "/.dockerenv",
    "process.sys_nice": "no",
    "memory.lock_limit": "65536",
  };
  assertEquals(await section("Container", { changes }), [
    "container: docker (/.dockerenv) [note]",
    "NUMA policies: may be refused: CAP_SYS_NICE is missing [warning]",
    "memory it may lock: 64 KiB [ok]",
  ]);
  assertEquals(await section("Container", { changes: { "container.kind": "none" } }), ["container: no [ok]"]);
  assertEquals(await section("Container", { changes: { "container.kind": undefined } }), []);
});

Deno.test("doctor() names sockets by their CPUs, which NUMA nodes do not tell", async () => {
  const lines = await section("Processor", { changes: { "node.0.cpus": "0-1" } });
  assert(lines.includes("sockets: 0 (CPUs 0), 1 (CPUs 1) [ok]"), lines.join("\n"));
  assert(!(await section("Processor", { tree: "fsdax" })).some((line) => line.startsWith("sockets")));
});
