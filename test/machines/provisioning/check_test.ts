import "../../native_library.ts";
import { checkTarget } from "../../../machines/provisioning/check/check_target.ts";
import type { CheckLine, Plan } from "../../../machines/provisioning/contract.ts";
import { processVerify, type Verify } from "../../../machines/provisioning/verify.ts";
import type { DaxDeviceListing, Inventory, NdNamespace } from "../../../machines/inventory/inventory.ts";
import { probeMachine } from "../../../ffi/machine.ts";
import { machineFacts } from "../../fixtures/machine_tree.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../../assert.ts";

type Pairs = Readonly<Record<string, string>>;

const NOTHING: Inventory = {
  facts: {},
  os: { known: false, reason: "not read", raw: "" },
  tools: [],
  ndctl: undefined,
  daxctl: undefined,
  cxl: undefined,
  ipmctl: undefined,
  blocks: undefined,
  files: {},
  units: {},
  root: true,
};

function space(more: Partial<NdNamespace> = {}): NdNamespace {
  return {
    dev: "namespace0.0",
    mode: "fsdax",
    map: "dev",
    size: 1071644672,
    uuid: "f4e9b3c2-25f5-4e27-9056-36b98ac0501a",
    sectorSize: 512,
    align: 2097152,
    blockdev: "pmem0",
    chardev: undefined,
    name: undefined,
    targetNode: 2,
    numaNode: 0,
    disabled: false,
    ...more,
  };
}

function ndctl(...namespaces: NdNamespace[]): Inventory["ndctl"] {
  const region = {
    dev: "region0",
    size: 1073741824,
    align: 16777216,
    availableSize: 0,
    maxAvailableExtent: 0,
    type: "pmem",
    persistenceDomain: "memory_controller",
    targetNode: 2,
    numaNode: 0,
    isetId: undefined,
    dimms: [],
    namespaces,
    disabled: false,
  };
  return { known: true, value: [{ dev: "ndbus0", provider: "ACPI.NFIT", dimms: [], regions: [region] }] };
}

const MOUNT_UNIT = "[Mount]\nWhat=/dev/pmem0\nWhere=/mnt/pmem0\nType=ext4\nOptions=dax=always\n";

const FSDAX: Inventory = {
  ...NOTHING,
  facts: machineFacts("fsdax"),
  ndctl: ndctl(space()),
  files: { "/etc/systemd/system/mnt-pmem0.mount": MOUNT_UNIT },
  units: { "mnt-pmem0.mount": "enabled" },
};

const GOOD_DAX: Pairs = {
  "folder.owner": "1000",
  "folder.mode": "0755",
  "file_system.block_size": "4096",
  "file.created": "yes",
  "file.removed": "yes",
  "map_sync": "yes",
  "map.faults": "4",
  "map.page_size": "2097152",
  "pmem.library": "yes",
  "pmem.map_file": "yes",
  "pmem.map_file_is_pmem": "yes",
  "pmem.is_pmem": "yes",
  "pmem.aligned_2m": "yes",
  "persist.by": "pmem_persist",
  "persist.bytes": "1048576",
  "persist.read_back": "yes",
};

const GOOD_NODE: Pairs = { "node.cpus": "", "bind.allowed": "yes", "bind.pages": "2:2048", "bind.landed": "yes" };

function verify(dax: Pairs = GOOD_DAX, node: (asked: string | undefined) => Pairs = goodNode): Verify {
  return { dax: () => Promise.resolve(dax), node: (_, asked) => Promise.resolve(node(asked)) };
}

function goodNode(asked: string | undefined): Pairs {
  return {
    ...GOOD_NODE,
    "memkind.library": "yes",
    "memkind.dax_kmem": "yes",
    "memkind.landed": asked === undefined ? "no" : "yes",
  };
}

const MOUNTED: Plan["results"] = { mounts: ["/mnt/pmem0"], nodes: [] };

/** The lines that failed, by id. */
const failed = (lines: readonly CheckLine[]) =>
  Object.fromEntries(lines.filter(({ ok }) => !ok).map(({ id, text }) => [id, text]));

Deno.test("checkTarget() finds fsdax in order when every link of the proof holds", async () => {
  const lines = await checkTarget("fsdax", FSDAX, verify(), MOUNTED, { owner: { name: "ada", uid: 1000 } });
  assertEquals(failed(lines), {});
  assertEquals(
    lines.map(({ id }) => id),
    [
      "mounted",
      "dax",
      "medium",
      "alignment",
      "block-size",
      "map-sync",
      "is-pmem",
      "huge-pages",
      "persist",
      "writable",
      "restart",
    ]
      .map((id) => `${id} /mnt/pmem0`),
  );
  assertStringIncludes(lines.find(({ id }) => id.startsWith("medium"))?.text ?? "", "may be virtual");
});

const daxFacts = (change: Pairs): Inventory => ({ ...FSDAX, facts: { ...FSDAX.facts, ...change } });

const fsdaxCases: Readonly<Record<string, readonly [Inventory, Pairs, string, RegExp]>> = {
  "DAX off": [
    daxFacts({ "mount.1.dax": "never" }),
    { ...GOOD_DAX, "map_sync": "no", "map_sync.error": "Operation not supported", "pmem.is_pmem": "no" },
    "dax,is-pmem,map-sync",
    /^DAX is off: mounted with dax=never; next: umount \/mnt\/pmem0 && mount -o dax=always \/dev\/pmem0 \/mnt\/pmem0/,
  ],
  "DAX by file": [daxFacts({ "mount.1.dax": "inode" }), GOOD_DAX, "dax", /dax=inode/],
  "wrong alignment": [
    { ...FSDAX, ndctl: ndctl(space({ align: 4096 })) },
    { ...GOOD_DAX, "map.page_size": "4096" },
    "alignment,huge-pages",
    /^wrong alignment: namespace0\.0 is aligned to 4 KiB.*--align=2M \(erases namespace0\.0\)/,
  ],
  "blocks smaller than pages": [
    FSDAX,
    { ...GOOD_DAX, "file_system.block_size": "1024" },
    "block-size",
    /1024 bytes.*-b 4096/,
  ],
  "a forced answer of libpmem": [FSDAX, { ...GOOD_DAX, "pmem.force": "1" }, "is-pmem", /PMEM_IS_PMEM_FORCE=1.*nothing/],
  "no libpmem": [
    FSDAX,
    { ...GOOD_DAX, "pmem.library": "no", "pmem.is_pmem": "no", "pmem.error": "install libpmem1" },
    "is-pmem",
    /install libpmem1/,
  ],
  "bytes that do not come back": [FSDAX, { ...GOOD_DAX, "persist.read_back": "no" }, "persist", /not read back/],
  "a full file system": [
    FSDAX,
    { "file.created": "no", "file.error": "No space left on device", "folder.owner": "1000", "folder.mode": "0755" },
    "tried",
    /No space left on device/,
  ],
  "another owner": [
    FSDAX,
    { ...GOOD_DAX, "folder.owner": "0" },
    "writable",
    /ada cannot write: it belongs to user 0.*chown ada/,
  ],
  "a unit that is not enabled": [
    { ...FSDAX, units: { "mnt-pmem0.mount": "disabled" } },
    GOOD_DAX,
    "restart",
    /mnt-pmem0\.mount is disabled.*systemctl enable mnt-pmem0\.mount/,
  ],
  "no unit": [{ ...FSDAX, files: {} }, GOOD_DAX, "restart", /no systemd mount unit/],
  "virtio-pmem": [
    daxFacts({ "pmem.region0.provider": "virtio-pmem" }),
    { ...GOOD_DAX, "map_sync": "no", "map_sync.error": "Operation not supported" },
    "map-sync,medium",
    /refused \(Operation not supported\)/,
  ],
  "DRAM set aside": [
    daxFacts({ "pmem.region0.provider": "e820" }),
    GOOD_DAX,
    "medium",
    /DRAM.*memmap=.*remove memmap=/,
  ],
  "an unknown medium": [daxFacts({ "pmem.region0.provider": "new" }), GOOD_DAX, "medium", /"new"/],
};

for (const [what, [inventory, found, ids, text]] of Object.entries(fsdaxCases)) {
  Deno.test(`checkTarget() recognises at fsdax: ${what}`, async () => {
    const lines = await checkTarget("fsdax", inventory, verify(found), MOUNTED, { owner: { name: "ada", uid: 1000 } });
    const bad = failed(lines);
    assertEquals(Object.keys(bad).map((id) => id.split(" ")[0]).sort().join(","), ids);
    assert(Object.values(bad).some((one) => text.test(one)), JSON.stringify(bad));
  });
}

Deno.test("checkTarget() says what keeps fsdax away where nothing is mounted", async () => {
  const inventory: Inventory = {
    ...NOTHING,
    facts: machineFacts("kmem"),
    ndctl: ndctl(
      space({ mode: "devdax", blockdev: undefined, chardev: "dax0.0" }),
      space({ dev: "namespace0.4", mode: "raw", size: 0, blockdev: undefined }),
    ),
    blocks: {
      known: true,
      value: [
        { name: "pmem0.1", size: 1, fileSystem: "LVM2_member", mountPoints: [] },
        { name: "pmem0.2", size: 1, fileSystem: "xfs", mountPoints: ["/srv"] },
        { name: "pmem0.3", size: 1, fileSystem: undefined, mountPoints: [] },
        { name: "pmem1", size: 1, fileSystem: "xfs", mountPoints: ["/of/another/region"] },
      ],
    },
  };
  const bad = failed(await checkTarget("fsdax", inventory, verify(), MOUNTED));
  assertEquals(Object.keys(bad), ["mounted /mnt/pmem0", "in-use namespace0.0", "in-use pmem0.1", "in-use pmem0.2"]);
  assertStringIncludes(bad["in-use namespace0.0"] ?? "", "--erase namespace0.0");
  assertStringIncludes(bad["in-use pmem0.2"] ?? "", "xfs, mounted on /srv");
});

Deno.test("checkTarget() takes DRAM of a cloud VM for what it is, aligned by its range", async () => {
  const inventory: Inventory = {
    ...FSDAX,
    facts: machineFacts("memmap"),
    ndctl: ndctl(space({ align: undefined, uuid: undefined, map: "mem" })),
  };
  const cloud = await checkTarget("fsdax", inventory, verify(), MOUNTED, { place: "cloud-vm" });
  assertEquals(failed(cloud), {});
  assertMatch(cloud.find(({ id }) => id.startsWith("medium"))?.text ?? "", /DRAM.*lost at power-off/);
  assertEquals(Object.keys(failed(await checkTarget("fsdax", inventory, verify(), MOUNTED))), ["medium /mnt/pmem0"]);
  const facts = { ...inventory.facts };
  delete facts["kernel.cmdline_memmap"];
  const unknown = await checkTarget("fsdax", { ...inventory, facts }, verify(), MOUNTED, { place: "cloud-vm" });
  assertEquals(Object.keys(failed(unknown)), ["alignment /mnt/pmem0"]);
});

const DEVICE: DaxDeviceListing = {
  chardev: "dax0.0",
  size: 1071644672,
  targetNode: 2,
  align: 2097152,
  mode: "system-ram",
  onlineMemblocks: 7,
  totalMemblocks: 7,
  movable: true,
  disabled: false,
};
const RULE = 'ACTION=="add", SUBSYSTEM=="dax", KERNEL=="dax0.0", TAG+="systemd", ' +
  'ENV{SYSTEMD_WANTS}+="tierbench-kmem@dax0.0.service"\n';
const SERVICE = "[Service]\nType=oneshot\nExecStart=/usr/bin/daxctl reconfigure-device --mode=system-ram %i\n";
const RULE_PATH = "/etc/udev/rules.d/99-tierbench-dax0.0.rules";
const KMEM: Inventory = {
  ...NOTHING,
  facts: machineFacts("kmem"),
  daxctl: { known: true, value: [DEVICE] },
  files: { [RULE_PATH]: RULE, "/etc/systemd/system/tierbench-kmem@.service": SERVICE },
};
const NODE: Plan["results"] = { mounts: [], nodes: [2] };

Deno.test("checkTarget() finds kmem-dax in order when every link of the proof holds", async () => {
  const lines = await checkTarget("kmem-dax", KMEM, verify(), NODE);
  assertEquals(failed(lines), {});
  assertEquals(lines.map(({ id }) => id), [
    "system-ram dax0.0",
    "online dax0.0",
    "movable dax0.0",
    "node 2",
    "no-cpus 2",
    "pages 2",
    "memkind 2",
    "restart dax0.0",
    "medium node 2",
    "auto-online",
  ]);
  // Without nodes in the plan, those of the devices are looked at.
  assert((await checkTarget("kmem-dax", KMEM, verify(), MOUNTED)).some(({ id }) => id === "pages 3"));
});

const kmemFacts = (change: Pairs): Inventory => ({ ...KMEM, facts: { ...KMEM.facts, ...change } });
const listed = (change: Partial<DaxDeviceListing>): Inventory => ({
  ...KMEM,
  daxctl: { known: true, value: [{ ...DEVICE, ...change }] },
});

const kmemCases: Readonly<Record<string, readonly [Inventory, (asked: string | undefined) => Pairs, string, RegExp]>> =
  {
    "a node with CPUs": [kmemFacts({ "node.2.cpus": "2-3" }), goodNode, "no-cpus", /node 2 has CPUs 2-3/],
    "a device that is no memory": [
      kmemFacts({ "dax.dax0.0.driver": "device_dax" }),
      goodNode,
      "system-ram",
      /next: daxctl reconfigure-device --mode=system-ram dax0\.0/,
    ],
    "memory blocks offline": [
      listed({ onlineMemblocks: 5 }),
      goodNode,
      "online",
      /5 of 7.*daxctl online-memory dax0\.0/,
    ],
    "memory that is not movable": [listed({ movable: false }), goodNode, "movable", /not movable/],
    "a tool that says nothing": [{ ...KMEM, daxctl: undefined }, goodNode, "movable,online", /unknown/],
    "a kernel that puts memory online": [
      kmemFacts({ "kernel.auto_online_blocks": "online" }),
      goodNode,
      "auto-online",
      /echo offline > \/sys\/devices\/system\/memory\/auto_online_blocks/,
    ],
    "pages that land elsewhere": [
      KMEM,
      (asked) => ({ ...goodNode(asked), "bind.landed": "no", "bind.pages": "0:2048" }),
      "pages",
      /node:pages 0:2048/,
    ],
    "a policy that is refused": [
      KMEM,
      (asked) => {
        const { "bind.landed": _, "bind.pages": __, ...rest } = goodNode(asked);
        return { ...rest, "bind.allowed": "no", "bind.error": "Operation not permitted" };
      },
      "pages",
      /Operation not permitted; in a container: --cap-add SYS_NICE/,
    ],
    "a node that memkind does not take": [
      KMEM,
      () => ({ ...GOOD_NODE, "memkind.dax_kmem": "no", "memkind.error": "kind is not available" }),
      "memkind",
      /kind is not available/,
    ],
    "no node online": [kmemFacts({ "node.2.total": "0" }), goodNode, "node", /no memory online/],
    "nothing for the next start": [{ ...KMEM, files: {} }, goodNode, "restart", /no systemd service unit/],
    "a rule without its unit": [
      { ...KMEM, files: { [RULE_PATH]: RULE } },
      goodNode,
      "restart",
      /names a unit that is not there/,
    ],
    "DRAM set aside": [kmemFacts({ "pmem.region0.provider": "e820" }), goodNode, "medium", /only DRAM/],
  };

for (const [what, [inventory, node, ids, text]] of Object.entries(kmemCases)) {
  Deno.test(`checkTarget() recognises at kmem-dax: ${what}`, async () => {
    const bad = failed(await checkTarget("kmem-dax", inventory, verify(GOOD_DAX, node), NODE));
    assertEquals(Object.keys(bad).map((id) => id.split(" ")[0]).sort().join(","), ids);
    assert(Object.values(bad).some((one) => text.test(one)), JSON.stringify(bad));
  });
}

Deno.test("checkTarget() tells memkind that needs its variable from memkind that does not", async () => {
  const text = async (auto: string) => {
    const node = (asked: string | undefined) => ({
      ...goodNode(asked),
      ...(asked === undefined ? { "memkind.dax_kmem": auto } : {}),
    });
    const lines = await checkTarget("kmem-dax", KMEM, verify(GOOD_DAX, node), NODE);
    return lines.find(({ id }) => id === "memkind 2");
  };
  assertMatch((await text("yes"))?.text ?? "", /finds it without that variable/);
  const named = await text("no");
  assertEquals(named?.ok, true);
  assertMatch(named?.text ?? "", /MEMKIND_DAX_KMEM_NODES=2.*keep it set/);
});

Deno.test("checkTarget() takes a plain node without CPUs in a cloud VM alone, and CXL memory from its own bus", async () => {
  const plain: Inventory = { ...NOTHING, facts: machineFacts("cloud") };
  const at1: Plan["results"] = { mounts: [], nodes: [1] };
  assertEquals(failed(await checkTarget("kmem-dax", plain, verify(), at1, { place: "cloud-vm" })), {});
  assertEquals(Object.keys(failed(await checkTarget("kmem-dax", plain, verify(), at1))), ["device"]);
  // Nothing to look at is never in order.
  const none = await checkTarget("kmem-dax", NOTHING, verify(), { mounts: [], nodes: [] }, { place: "cloud-vm" });
  assertEquals(Object.keys(failed(none)), ["node"]);
  assertEquals(Object.keys(failed(await checkTarget("fsdax", NOTHING, verify(), { mounts: [], nodes: [] }))), [
    "mounted",
  ]);
  const service = "[Service]\nExecStart=/bin/sh -c 'until test -e /sys/bus/cxl/devices/region0; do sleep 1; done'\n";
  const cxl: Inventory = {
    ...KMEM,
    facts: machineFacts("cxl"),
    daxctl: { known: true, value: [{ ...DEVICE, targetNode: 1 }] },
    files: { ...KMEM.files, "/etc/systemd/system/tierbench-cxl.service": service },
    units: { "tierbench-cxl.service": "enabled" },
  };
  const lines = await checkTarget("cxl-kmem", cxl, verify(), MOUNTED);
  assertEquals(Object.keys(failed(lines)).filter((id) => id !== "auto-online"), []);
  assertMatch(lines.find(({ id }) => id === "medium node 1")?.text ?? "", /CXL/);
  // What firmware mapped needs no device, no unit and nobody's word; a kernel that tiers one way only is told.
  const firmware: Inventory = { ...NOTHING, facts: machineFacts("cxl-firmware") };
  const mapped = await checkTarget("cxl-kmem", firmware, verify(), { mounts: [], nodes: [] });
  assertEquals(failed(mapped), {});
  assertMatch(
    mapped.find(({ id }) => id === "medium node 1")?.text ?? "",
    /firmware mapped .* comes back at every start/,
  );
  const halves = { ...firmware, facts: { ...firmware.facts, "noise.numa_balancing": "0" } };
  const half = failed(await checkTarget("cxl-kmem", halves, verify(), { mounts: [], nodes: [] }));
  assertMatch(half["tiering"] ?? "", /demotes cold pages and promotes none.*sysctl kernel.numa_balancing=2/);
  const elsewhere = { ...firmware, facts: { ...firmware.facts, "cxl.decoder0.0.start": "68719476736" } };
  const bare = failed(await checkTarget("cxl-kmem", elsewhere, verify(), { mounts: [], nodes: [1] }));
  assert("device" in bare, JSON.stringify(bare));
  const off = failed(await checkTarget("cxl-kmem", { ...cxl, units: {} }, verify(), MOUNTED));
  assertMatch(off["restart cxl-regions"] ?? "", /systemctl enable tierbench-cxl\.service/);
});

Deno.test("checkTarget() believes Memory Mode only if sysfs and ipmctl agree", async () => {
  const GIB = 2 ** 30;
  const resources = (cacheDdr: number | undefined, volatilePmem: number | undefined): Inventory["ipmctl"] => ({
    modules: { known: true, value: [] },
    resources: {
      known: true,
      value: {
        layout: "3.x",
        volatilePmem,
        volatileDdr: 0,
        appDirect: 0,
        cacheDdr,
        inaccessible: 0,
        physicalPmem: GIB,
        physicalDdr: GIB,
      },
    },
  });
  const facts = {
    "node.0.cpus": "0-3",
    "node.0.total": String(4 * GIB),
    "node.0.side_cache_size": String(GIB),
    "cpu.virtual": "no",
  };
  const check = async (ipmctl: Inventory["ipmctl"], more: Pairs = {}) =>
    failed(await checkTarget("memory-mode", { ...NOTHING, facts: { ...facts, ...more }, ipmctl }, verify(), MOUNTED));
  assertEquals(await check(resources(GIB, 4 * GIB)), {});
  assertMatch((await check(resources(8 * GIB, 4 * GIB)))["agree"] ?? "", /do not agree/);
  assertMatch((await check(resources(undefined, 0)))["ipmctl"] ?? "", /not in Memory Mode/);
  assertEquals(Object.keys(await check(undefined)), ["ipmctl"]);
  const raw = { known: false, reason: "no table", raw: "Initialization failed." } as const;
  assertMatch((await check({ resources: raw, modules: raw }))["ipmctl"] ?? "", /no table: Initialization failed/);
  assertEquals(Object.keys(await check(resources(GIB, GIB), { "node.0.side_cache_size": "0" })), ["side-cache"]);
  assertEquals(Object.keys(await check(resources(GIB, GIB), { "cpu.virtual": "yes" })), ["bare-metal"]);
});

Deno.test("processVerify() tries this machine: a folder here, a node in a process with its own variable", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { dax, node } = processVerify();
    const found = await dax(folder);
    assertEquals([found["file.created"], found["folder.mode"]], ["yes", "0700"]);
    await assertRejects(() => dax(`${folder}/no`), Error, "No such file");
    await assertRejects(() => node(1023, undefined), Error, "Cannot verify NUMA node 1023");
    if (probeMachine()["node.online"] !== undefined) {
      const named = await node(0, "0");
      assertEquals(named["memkind.library"] === "yes" ? named["memkind.nodes_asked"] : "0", "0");
      assertEquals((await node(0, undefined))["memkind.nodes_asked"], undefined);
    }
  } finally {
    await Deno.remove(folder);
  }
});
