/** Single plans: commands, losses, warnings, refusals. */

import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import type { Inventory } from "../../../machines/inventory/inventory.ts";
import { known, unknown } from "../../../machines/inventory/tool.ts";
import type { Plan, ProvisionRequest, Refusal, Step } from "../../../machines/provisioning/contract.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import { renderPlan } from "../../../machines/provisioning/render.ts";
import { bareInventory, bus, namespace, region } from "./inventories.ts";

const GIB = 1024 ** 3;

function planned(inventory: Inventory, request: ProvisionRequest): Plan {
  const plan = provisionPlan(inventory, request);
  if (plan.kind === "refusal") throw new Error(`Refused: ${plan.reason}`);
  return plan;
}

function refused(inventory: Inventory, request: ProvisionRequest): Refusal {
  const plan = provisionPlan(inventory, request);
  if (plan.kind === "plan") throw new Error(`Not refused: ${plan.summary}`);
  return plan;
}

function stepOf(plan: Plan, id: string): Step {
  const step = plan.steps.find((one) => one.id === id);
  if (step === undefined) throw new Error(`No step ${id} among ${plan.steps.map((one) => one.id)}`);
  return step;
}

/** Two NVDIMMs without labels, one raw namespace each. */
const raw = (parts: Partial<Inventory> = {}, facts: Record<string, string> = {}) =>
  bareInventory(facts, {
    ndctl: known([
      bus("ACPI.NFIT", [
        region("region1", [namespace("namespace1.0")]),
        region("region0", [namespace("namespace0.0")]),
      ]),
    ]),
    ...parts,
  });

const block = (name: string, fileSystem: string | undefined, mountPoints: string[] = [], label?: string) => ({
  name,
  size: GIB,
  fileSystem,
  label,
  mountPoints,
});

Deno.test("fsdax: a raw namespace without labels is converted, and named as lost with nothing found", () => {
  const plan = planned(raw(), { target: "fsdax" });
  assertEquals(plan.steps.map((one) => one.id), [
    "packages",
    "namespace-region0",
    "filesystem-region0",
    "mount-region0",
    "namespace-region1",
    "filesystem-region1",
    "mount-region1",
  ]);
  const step = stepOf(plan, "namespace-region0");
  assertEquals(step.commands, [
    "wipefs -a /dev/pmem0",
    "ndctl create-namespace -f -e namespace0.0 --mode=fsdax --map=dev --align=2M --name=tierbench",
    "wipefs -a /dev/pmem0",
  ]);
  assertEquals(step.destroys, [{ device: "namespace0.0", found: undefined }]);
  assertEquals(stepOf(plan, "filesystem-region1").commands, [
    "mkfs.ext4 -q -b 4096 -E stride=512,stripe_width=512 -L tierbench1 /dev/pmem1",
    "udevadm settle",
  ]);
  assertEquals(plan.results, { mounts: ["/mnt/pmem0", "/mnt/pmem1"], nodes: [] });
});

Deno.test("fsdax: without ndctl, a region without labels is as full as its raw namespace, whatever sysfs calls free", () => {
  const facts = {
    "library.libpmem.available": "no",
    "pmem.region0.provider": "ACPI.NFIT",
    "pmem.region0.size": String(GIB),
    "pmem.region0.available": String(GIB),
    "pmem.namespace0.0.region": "region0",
    "pmem.namespace0.0.mode": "raw",
    "pmem.namespace0.0.size": String(GIB),
    "pmem.namespace0.0.block": "pmem0",
  };
  const parts = { ndctl: undefined, tools: [{ name: "ndctl", installed: false }] as const };
  const plan = planned(bareInventory(facts, { ...parts, blocks: known([block("pmem0", undefined)]) }), {
    target: "fsdax",
  });
  const packages = stepOf(plan, "packages");
  assertEquals(packages.commands, ["apt-get update", "apt-get install -y --no-install-recommends ndctl libpmem1"]);
  assertEquals(packages.outsideLab, undefined);
  assertEquals(
    stepOf(plan, "namespace-region0").commands,
    stepOf(planned(raw(), { target: "fsdax" }), "namespace-region0").commands,
  );
});

Deno.test("fsdax, kmem-dax: a namespace that is disabled is enabled first, and nothing is planned for it unseen", () => {
  const ndctl = known([
    bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", { blockdev: undefined, disabled: true })])]),
  ]);
  for (const target of ["fsdax", "kmem-dax"] as const) {
    const plan = planned(raw({ ndctl }), { target });
    assertEquals([plan.partial, plan.steps.map((one) => one.id)], [true, ["packages", "enable-namespace0.0"]]);
    assertEquals(stepOf(plan, "enable-namespace0.0").commands, [
      "ndctl enable-namespace namespace0.0",
      "udevadm settle",
    ]);
    assertStringIncludes(renderPlan(plan), "Then make the plan again");
    const inside = planned(raw({ ndctl }), { target, place: "container" });
    assertEquals(inside.steps.map((one) => one.id), ["packages", "enable-namespace0.0"]);
  }
});

Deno.test("fsdax: what is on a raw namespace is found, with its mount", () => {
  const inventory = raw({ blocks: known([block("pmem0", "xfs", ["/old data"]), block("pmem1p1", "vfat")]) });
  const plan = planned(inventory, { target: "fsdax" });
  assertEquals(stepOf(plan, "namespace-region0").destroys, [
    { device: "namespace0.0", found: "xfs, mounted on /old data" },
  ]);
  assertEquals(stepOf(plan, "namespace-region0").commands[0], "umount '/old data'");
  assertEquals(stepOf(plan, "namespace-region1").destroys, [{ device: "namespace1.0", found: "vfat on pmem1p1" }]);
});

Deno.test("fsdax: a partition of pmem1 is none of pmem10", () => {
  const inventory = bareInventory({}, {
    ndctl: known([bus("ACPI.NFIT", [region("region1", [namespace("namespace1.0")])])]),
    blocks: known([block("pmem10", "ext4"), block("pmem10p1", "vfat")]),
  });
  assertEquals(stepOf(planned(inventory, { target: "fsdax" }), "namespace-region1").destroys, [
    { device: "namespace1.0", found: undefined },
  ]);
});

Deno.test("fsdax: without lsblk nothing is taken for empty", () => {
  assertStringIncludes(refused(raw({ blocks: undefined }), { target: "fsdax" }).reason, "lsblk is missing");
  const odd = refused(raw({ blocks: unknown("no JSON", "?") }), { target: "fsdax" });
  assertStringIncludes(odd.reason, "not understood (no JSON)");
});

Deno.test("fsdax: free space is used before a namespace is given up", () => {
  const inventory = bareInventory({}, {
    ndctl: known([
      bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", { mode: "sector", size: GIB / 2 })])]),
    ]),
  });
  const plan = planned(inventory, { target: "fsdax" });
  assertEquals(
    stepOf(plan, "namespace-region0").commands[0],
    "ndctl create-namespace --region=region0 --mode=fsdax --map=dev --align=2M --name=tierbench",
  );
  assertEquals(stepOf(plan, "namespace-region0").destroys, []);
  assertEquals(plan.results.mounts, ["/mnt/pmem0.1"]);
});

Deno.test("fsdax: between several namespaces of a full region the user has to choose", () => {
  const half = { mode: "sector", size: GIB / 2 };
  const inventory = bareInventory({}, {
    ndctl: known([
      bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", half), namespace("namespace0.1", half)])]),
    ]),
  });
  const { reason, instead } = refused(inventory, { target: "fsdax" });
  assertStringIncludes(reason, "namespace0.0 (sector) and namespace0.1 (sector)");
  assertStringIncludes(instead ?? "", "ndctl destroy-namespace -f");
});

Deno.test("fsdax: memory that is in use is taken back first", () => {
  const inventory = bareInventory({}, {
    ndctl: known([
      bus("ACPI.NFIT", [
        region("region0", [namespace("namespace0.0", { mode: "devdax", chardev: "dax0.0", blockdev: undefined })]),
      ]),
    ]),
    daxctl: known([{
      chardev: "dax0.0",
      size: GIB,
      targetNode: 2,
      align: 2097152,
      mode: "system-ram",
      onlineMemblocks: 7,
      totalMemblocks: 7,
      movable: true,
      disabled: false,
    }]),
    files: { "/etc/udev/rules.d/99-tierbench-dax0.0.rules": "x\n" },
  });
  const step = stepOf(planned(inventory, { target: "fsdax" }), "namespace-region0");
  assertEquals(step.commands.slice(0, 4), [
    "rm -f /etc/udev/rules.d/99-tierbench-dax0.0.rules",
    "udevadm control --reload",
    "daxctl offline-memory dax0.0",
    "daxctl reconfigure-device --mode=devdax dax0.0",
  ]);
  assertEquals(step.destroys, [{
    device: "namespace0.0",
    found: "namespace in devdax mode: memory in use by the kernel",
  }]);
});

Deno.test("fsdax: the mount comes back at every start, by the label of the file system", () => {
  const plan = planned(raw(), { target: "fsdax", only: ["region0"], owner: "alice", mountParent: "/srv/pmem-data" });
  assertEquals(stepOf(plan, "mount-region0").commands, [
    "mkdir -p /srv/pmem-data/pmem0",
    `cat > '/etc/systemd/system/srv-pmem\\x2ddata-pmem0.mount' <<'EOF'
[Unit]
Description=Embedding tables on PMEM region0 (tierbench)

[Mount]
What=/dev/disk/by-label/tierbench0
Where=/srv/pmem-data/pmem0
Type=ext4
Options=dax=always,noatime,nofail

[Install]
WantedBy=local-fs.target
WantedBy=dev-disk-by\\x2dlabel-tierbench0.device
EOF`,
    "systemctl daemon-reload",
    "systemctl start 'srv-pmem\\x2ddata-pmem0.mount'",
    "chown alice: /srv/pmem-data/pmem0",
    "systemctl enable 'srv-pmem\\x2ddata-pmem0.mount'",
  ]);
});

Deno.test("fsdax: kernels before 5.8, or not known, get the option dax", () => {
  for (const release of ["5.7.19", "4.18.0-553.el8", ""]) {
    const plan = planned(raw({}, { "kernel.release": release }), { target: "fsdax" });
    assertStringIncludes(stepOf(plan, "mount-region0").commands[1] ?? "", "Options=dax,noatime");
  }
});

Deno.test("fsdax: an unwritable or plain mount is not done", () => {
  const spaces = [namespace("namespace0.0", { mode: "fsdax", map: "dev" })];
  const blocks = known([block("pmem0", "ext4", ["/mnt/pmem0"], "tierbench0")]);
  const mount = {
    "mount.0.path": "/mnt/pmem0",
    "mount.0.device": "/dev/pmem0",
    "mount.0.filesystem": "ext4",
    "mount.0.dax": "always",
    "mount.0.writable": "yes",
  };
  const ndctl = known([bus("ACPI.NFIT", [region("region0", spaces)])]);
  const text = /<<'EOF'\n([\s\S]*)EOF$/.exec(
    stepOf(planned(bareInventory({}, { ndctl, blocks }), { target: "fsdax" }), "mount-region0").commands[1] ?? "",
  )?.[1] ?? "";
  const files = { "/etc/systemd/system/mnt-pmem0.mount": text };
  const units = { "mnt-pmem0.mount": "enabled" };
  const done = (facts: Record<string, string>, parts: Partial<Inventory> = {}) =>
    stepOf(
      planned(bareInventory(facts, { ndctl, blocks, files, units, ...parts }), { target: "fsdax" }),
      "mount-region0",
    ).done;
  assertEquals(done(mount), "/dev/pmem0 is mounted with DAX on /mnt/pmem0");
  assertEquals(done({ ...mount, "mount.0.writable": "no" }), undefined);
  assertEquals(done({ ...mount, "mount.0.dax": "never" }), undefined);
  assertEquals(done({ ...mount, "mount.0.dax": "inode" }), undefined);
  assertEquals(
    done(mount, { files: { "/etc/systemd/system/mnt-pmem0.mount": text.replace("dax=", "nodax=") } }),
    undefined,
  );
  assertEquals(done(mount, { units: { "mnt-pmem0.mount": "disabled" } }), undefined);
  assertEquals(done({}), undefined);
});

Deno.test("fsdax: a mount with DAX that others made is taken as it is", () => {
  const inventory = bareInventory({
    "mount.0.path": "/pmem",
    "mount.0.device": "/dev/pmem0",
    "mount.0.filesystem": "xfs",
    "mount.0.dax": "always",
    "mount.0.writable": "yes",
  }, {
    ndctl: known([bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", { mode: "fsdax" })])])]),
    blocks: known([block("pmem0", "xfs", ["/pmem"])]),
  });
  const plan = planned(inventory, { target: "fsdax" });
  assertEquals(plan.steps.filter((one) => one.done === undefined), []);
  assertEquals(plan.results.mounts, ["/pmem"]);
});

Deno.test("kmem-dax: the namespace, the kernel's policy, the device, and all of it at every start", () => {
  const plan = planned(raw(), { target: "kmem-dax", only: ["region1"] });
  assertEquals(plan.steps.map((one) => one.id), [
    "packages",
    "namespace-region1",
    "auto-online",
    "system-ram-region1",
    "boot-unit",
    "boot-rule-region1",
  ]);
  assertEquals(plan.steps.slice(1, 4).flatMap((one) => one.commands), [
    "wipefs -a /dev/pmem1",
    "ndctl create-namespace -f -e namespace1.0 --mode=devdax --map=mem --align=2M --name=tierbench",
    "echo offline > /sys/devices/system/memory/auto_online_blocks",
    "daxctl reconfigure-device --mode=system-ram dax1.0",
  ]);
  assertEquals(stepOf(plan, "auto-online").undo, ["echo online > /sys/devices/system/memory/auto_online_blocks"]);
  assertStringIncludes(
    stepOf(plan, "boot-rule-region1").commands[0] ?? "",
    'KERNEL=="dax1.0", TAG+="systemd", ENV{SYSTEMD_WANTS}+="tierbench-kmem@dax1.0.service"',
  );
  assertEquals(plan.results, { mounts: [], nodes: [3] });
});

Deno.test("kmem-dax: device DAX of others may hold data; one with our name does not", () => {
  const with_ = (name: string | undefined) =>
    bareInventory({}, {
      ndctl: known([
        bus("ACPI.NFIT", [
          region("region0", [
            namespace("namespace0.0", { mode: "devdax", chardev: "dax0.0", blockdev: undefined, name }),
          ]),
        ]),
      ]),
      daxctl: known([{
        chardev: "dax0.0",
        size: GIB,
        targetNode: 2,
        align: 2097152,
        mode: "devdax",
        onlineMemblocks: undefined,
        totalMemblocks: undefined,
        movable: undefined,
        disabled: false,
      }]),
    });
  const loss = (name: string | undefined) =>
    stepOf(planned(with_(name), { target: "kmem-dax" }), "system-ram-region0").destroys;
  assertEquals(loss("tierbench"), [{ device: "dax0.0", found: undefined }]);
  assertStringIncludes(loss(undefined)[0]?.found ?? "", "namespace0.0 was in devdax mode before");
});

Deno.test("kmem-dax: page structures that take much of the DRAM are warned of", () => {
  const large = { size: 512 * GIB };
  const inventory = (total: number) =>
    bareInventory({ "memory.total": String(total) }, {
      ndctl: known([bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", large)], large)])]),
    });
  const warnings = (total: number) => planned(inventory(total), { target: "kmem-dax" }).warnings.join("\n");
  assertStringIncludes(warnings(16 * GIB), "page structures of 512 GiB take 8 GiB of the 16 GiB of DRAM");
  assertEquals(warnings(256 * GIB), "");
});

Deno.test("cxl-kmem: the region, its namespace and its device are named beforehand", () => {
  const inventory = bareInventory({}, {
    cxl: known({
      memdevs: [{ memdev: "mem0", pmemSize: GIB / 2, ramSize: undefined, host: "0000:0d:00.0", numaNode: undefined }],
      regions: [],
      rootDecoders: [{
        decoder: "decoder0.0",
        size: 4 * GIB,
        maxAvailableExtent: 4 * GIB,
        pmemCapable: true,
        volatileCapable: true,
        interleaveWays: 1,
      }],
    }),
  });
  // As a cxl leaves it that is killed after its first write (captured in the lab).
  const begun = { region: "region0", size: 0, type: undefined, decodeState: "reset", memdevs: [] };
  if (inventory.cxl?.known !== true) throw new Error("cxl says nothing");
  const first = planned({ ...inventory, cxl: known({ ...inventory.cxl.value, regions: [begun] }) }, {
    target: "cxl-kmem",
  });
  assertEquals([first.partial, first.steps.map(({ id }) => id)], [true, ["packages", "begun-region0"]]);
  assertEquals(stepOf(first, "begun-region0").commands, [
    "echo region0 > /sys/bus/cxl/devices/region0/../delete_region",
  ]);
  const plan = planned(inventory, { target: "cxl-kmem" });
  assertEquals(plan.steps.slice(1, 5).flatMap((one) => one.commands), [
    "echo offline > /sys/devices/system/memory/auto_online_blocks",
    "cxl create-region -m -t pmem -d decoder0.0 -w 1 mem0",
    "ndctl create-namespace --region=region0 --mode=devdax --map=mem --align=2M --name=tierbench",
    "daxctl reconfigure-device --mode=system-ram dax0.0",
  ]);
  assertStringIncludes(stepOf(plan, "boot-regions").commands.join("\n"), "/usr/bin/cxl create-region -m -t pmem -d");
  const withSerial = (serial: string) =>
    planned({ ...inventory, facts: { ...inventory.facts, "cxl.mem0.serial": serial } }, { target: "cxl-kmem" });
  assertStringIncludes(withSerial("0x0").warnings.join("\n"), "mem0 has no serial number");
  assertEquals(withSerial("0xc1e0001").warnings.filter((one) => one.includes("serial")), []);
  const old = planned({ ...inventory, facts: { ...inventory.facts, "kernel.release": "5.15.0" } }, {
    target: "cxl-kmem",
  });
  assertStringIncludes(
    old.warnings.join("\n"),
    "kernel 5.15.0 is here, but CXL regions of persistent memory came with 6.0",
  );
});

Deno.test("cxl-kmem: volatile devices of one size share a region; others, and those without room, have their own", () => {
  const of = (sizes: readonly number[], room: number) => {
    const inventory = bareInventory({ "kernel.memmap_on_memory": "N" }, {
      cxl: known({
        memdevs: sizes.map((ramSize, i) => ({
          memdev: `mem${i}`,
          pmemSize: undefined,
          ramSize,
          host: `0000:0${i}:00.0`,
          numaNode: undefined,
        })),
        regions: [],
        rootDecoders: [{
          decoder: "decoder0.0",
          size: 64 * GIB,
          maxAvailableExtent: room,
          pmemCapable: false,
          volatileCapable: true,
          interleaveWays: 1,
        }],
      }),
    });
    const plan = planned(inventory, { target: "cxl-kmem" });
    const made = plan.steps.flatMap(({ commands }) => commands).filter((one) => one.startsWith("cxl create-region"));
    return { plan, made: made.map((one) => one.slice("cxl create-region -m -t ram -d decoder0.0 ".length)) };
  };
  const { plan, made } = of([GIB, 2 * GIB, GIB, GIB, GIB, GIB], 64 * GIB);
  assertEquals(made, ["-w 4 mem0 mem2 mem3 mem4", "-w 1 mem1", "-w 1 mem5"]);
  assertStringIncludes(
    stepOf(plan, "ram-mem0-mem2-mem3-mem4").title,
    "4 GiB, interleaved: if one fails, all of it is gone",
  );
  assertStringIncludes(stepOf(plan, "boot-regions").commands.join("\n"), "-w 4 mem0 mem2 mem3 mem4");
  assertStringIncludes(
    plan.warnings.join("\n"),
    "the kernel option memory_hotplug.memmap_on_memory=1 puts them on the device",
  );
  assertEquals(of([GIB, GIB], 2 * GIB).made, ["-w 2 mem0 mem1"]);
  assertEquals(of([GIB, GIB], 1.5 * GIB).made, ["-w 1 mem0", "-w 1 mem1"]);
});

Deno.test("cxl-kmem: nothing has to be made of an expander that firmware mapped", () => {
  const inventory = bareInventory({
    "node.1.cpus": "",
    "node.1.total": String(GIB),
    "node.1.start": String(4 * GIB),
    "node.1.end": String(5 * GIB),
    "node.1.read_latency_ns": "250",
    "cxl.decoder0.0.start": String(4 * GIB),
    "cxl.decoder0.0.size": String(2 * GIB),
  }, {
    cxl: known({
      memdevs: [{ memdev: "mem0", pmemSize: 0, ramSize: GIB, host: "0000:0d:00.0", numaNode: undefined }],
      regions: [],
      rootDecoders: [],
    }),
  });
  const plan = planned(inventory, { target: "cxl-kmem" });
  assertEquals([plan.steps.map(({ id }) => id), plan.results.nodes], [["packages"], [1]]);
  assertStringIncludes(plan.summary, "firmware made the CXL memory node 1");
  assertStringIncludes(plan.warnings.join("\n"), "in CXL window decoder0.0, 250 ns by HMAT or CDAT");
});

Deno.test("memory-mode: what the modules hold is listed, and taken out of use", () => {
  const inventory = bareInventory({ "pmem.modules": "2" }, {
    ndctl: known([bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", { mode: "fsdax" })])])]),
    blocks: known([block("pmem0", "ext4", ["/mnt/pmem0"])]),
    files: { "/etc/systemd/system/mnt-pmem0.mount": "x\n" },
  });
  const step = stepOf(planned(inventory, { target: "memory-mode" }), "goal");
  assertEquals(step.commands, [
    "systemctl disable --now mnt-pmem0.mount",
    "rm -f /etc/systemd/system/mnt-pmem0.mount",
    "systemctl daemon-reload",
    "ndctl destroy-namespace -f namespace0.0",
    "ipmctl create -f -goal MemoryMode=100",
  ]);
  assertEquals(step.destroys, [{
    device: "namespace0.0",
    found: "namespace in fsdax mode: ext4, mounted on /mnt/pmem0",
  }]);
  assertEquals([step.reboot, step.outsideLab], [true, "ipmctl"]);
});

Deno.test("container: the host's steps, then the line with what the container has to be given", () => {
  const plan = planned(raw({}, { "node.0.total": "1", "node.0.cpus": "0" }), {
    target: "kmem-dax",
    place: "container",
  });
  assert(plan.steps.every((one) => one.where === "host"));
  const step = stepOf(plan, "container");
  assertEquals([step.outsideLab, step.done], ["container engine", undefined]);
  assertEquals(step.commands, [
    "docker run --rm -it --cap-add SYS_NICE --security-opt seccomp=unconfined --ulimit memlock=-1:-1 --shm-size 2g " +
    "--cpuset-mems 0,2,3 -e MEMKIND_DAX_KMEM_NODES=2,3 tierbench doctor",
  ]);
  const inside = planned(raw({}, { "container.kind": "podman" }), { target: "fsdax" });
  assertEquals(inside.place, "container");
  assertStringIncludes(inside.warnings.join("\n"), "this is inside a container (podman)");
  assertStringIncludes(stepOf(inside, "container").commands[0] ?? "", "podman run");
  assertStringIncludes(
    stepOf(inside, "container").commands[0] ?? "",
    "-v /mnt/pmem0:/mnt/pmem0 -v /mnt/pmem1:/mnt/pmem1",
  );
});

const virtio = known([bus("virtio-pmem", [region("region0", [namespace("namespace0.0")])])]);
const REFUSALS: readonly [string, Inventory, ProvisionRequest, string][] = [
  ["no PMEM at all", bareInventory(), { target: "fsdax" }, "No PMEM region is in /sys/bus/nd"],
  ["no NVDIMM for kmem-dax", bareInventory(), { target: "kmem-dax" }, "No region of NVDIMMs"],
  ["no CXL", bareInventory(), { target: "cxl-kmem" }, "No CXL memory device"],
  ["no modules", bareInventory(), { target: "memory-mode" }, "No PMEM module"],
  ["virtio-pmem, fsdax", bareInventory({}, { ndctl: virtio }), { target: "fsdax" }, "MAP_SYNC"],
  ["virtio-pmem, kmem-dax", bareInventory({}, { ndctl: virtio }), { target: "kmem-dax" }, "MAP_SYNC"],
  ["virtio-pmem in a VM", bareInventory({ "cpu.virtual": "yes" }, { ndctl: virtio }), { target: "fsdax" }, "MAP_SYNC"],
  [
    "ndctl not understood",
    bareInventory({}, { ndctl: unknown("it is no JSON", "?") }),
    { target: "fsdax" },
    "not understood (it is no JSON)",
  ],
  [
    "daxctl not understood",
    bareInventory({}, {
      ndctl: known([
        bus("ACPI.NFIT", [region("region0", [namespace("namespace0.0", { mode: "devdax", chardev: "dax0.0" })])]),
      ]),
      daxctl: unknown("it is no JSON", "?"),
    }),
    { target: "kmem-dax" },
    "not understood (it is no JSON)",
  ],
  ["cxl not understood", bareInventory({}, { cxl: unknown("it is no JSON", "?") }), { target: "cxl-kmem" }, "cxl list"],
  [
    "a region that is not there",
    raw(),
    { target: "fsdax", only: ["region7"] },
    "region7 is not here; there are region0 and region1",
  ],
  ["Memory Mode in a VM", bareInventory({ "cpu.virtual": "yes" }), { target: "memory-mode" }, "firmware of the host"],
  [
    "Memory Mode in a container",
    bareInventory({ "container.kind": "docker" }),
    { target: "memory-mode" },
    "firmware of the host",
  ],
  ["place not known", bareInventory({ "cpu.virtual": "?" }), { target: "fsdax" }, "Whether a hypervisor runs"],
  ["memmap on bare metal", raw(), { target: "fsdax", memmap: "4G!4G" }, "shows nothing about PMEM on bare metal"],
  ["a VM with nothing to set aside", bareInventory({ "cpu.virtual": "yes" }), { target: "fsdax" }, "no NUMA node"],
  [
    "a missing tool on a system not known",
    raw({ tools: [], os: known({ id: "arch", like: [], version: undefined, name: "Arch Linux" }) }),
    { target: "fsdax" },
    "ndctl missing. Arch Linux is not known here",
  ],
];

Deno.test.each(REFUSALS.map(([name, inventory, request, reason]) => ({ name, inventory, request, reason })))(
  "provisionPlan() refuses: $name",
  ({ inventory, request, reason }) => assertStringIncludes(refused(inventory, request).reason, reason),
);

Deno.test("provisionPlan() lets nothing of the user's into a line that the shell would read otherwise", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.constantFrom("owner", "mountParent", "memmap", "only"), (text, key) => {
      const value = key === "only" ? [text] : text;
      const plan = provisionPlan(raw({}, { "cpu.virtual": "yes" }), { target: "fsdax", [key]: value });
      if (plan.kind === "refusal") return;
      // What got through is one word of harmless characters.
      assert(/^[A-Za-z0-9_./!-]+$/.test(text), JSON.stringify(text));
    }),
    { numRuns: 500 },
  );
  for (const owner of ["$(reboot)", "a b", "a;b", "-R", "", "a\nb", "root:x"]) {
    assertStringIncludes(refused(raw(), { target: "fsdax", owner }).reason, "owner is");
  }
  for (const mountParent of ["mnt", "/mnt/../etc", "/mnt/.", "/mnt/", "/m nt", "/$x", "/"]) {
    assertStringIncludes(refused(raw(), { target: "fsdax", mountParent }).reason, "mountParent is");
  }
  for (const erase of ["pmem0; reboot", "sda", "dax0", "namespace0"]) {
    assertStringIncludes(refused(raw(), { target: "fsdax", erase: [erase] }).reason, "erase is");
  }
  const fine = { target: "fsdax", owner: "_svc.user-1", mountParent: "/mnt/a.b", erase: ["pmem0", "dax0.0"] } as const;
  assertEquals(planned(raw(), fine).kind, "plan");
});

Deno.test("commands need root, and it is said while some are to be run", () => {
  assertStringIncludes(planned(raw({ root: false }), { target: "fsdax" }).warnings[0] ?? "", "sudo -i");
  assert(!planned(raw(), { target: "fsdax" }).warnings.some((one) => one.includes("sudo")));
});

Deno.test("packages are those of the release: Debian 13 has cxl in a package of its own, no memkind, no ipmctl", () => {
  const trixie = known({ id: "debian", like: [], version: "13", name: "Debian GNU/Linux 13 (trixie)" });
  const memdev = { memdev: "mem0", pmemSize: undefined, ramSize: GIB, host: "0000:00:00.0", numaNode: undefined };
  const cxl = known({
    memdevs: [memdev],
    regions: [],
    rootDecoders: [
      {
        decoder: "decoder0.0",
        size: 4 * GIB,
        maxAvailableExtent: 4 * GIB,
        pmemCapable: false,
        volatileCapable: true,
        interleaveWays: 1,
      },
    ],
  });
  const bare = { "library.memkind.available": "no" };
  const none = ["ndctl", "daxctl", "cxl"].map((name) => ({ name: name as "ndctl", installed: false }));
  const plan = planned(bareInventory(bare, { os: trixie, tools: none, cxl }), { target: "cxl-kmem" });
  assertEquals(stepOf(plan, "packages").commands, [
    "apt-get update",
    "apt-get install -y --no-install-recommends cxl ndctl daxctl",
  ]);
  assertStringIncludes(
    plan.warnings.join("\n"),
    `memkind is in no package of Debian GNU/Linux 13 (trixie): "pmem": "mbind"`,
  );
  const twelve = planned(bareInventory(bare, { tools: none, cxl }), { target: "cxl-kmem" });
  assertStringIncludes(stepOf(twelve, "packages").commands.join(), "ndctl daxctl libmemkind0");
  assert(!twelve.warnings.join().includes("in no package"));
  // Once its tools are there nothing is left to install, and a memkind that was built by hand is not asked for.
  const done = planned(bareInventory(bare, { os: trixie, cxl }), { target: "cxl-kmem" });
  assertEquals(stepOf(done, "packages").commands, []);
});

Deno.test("a tool that no package of the release has is a refusal with a way on", () => {
  const trixie = known({ id: "debian", like: [], version: "13", name: "Debian GNU/Linux 13 (trixie)" });
  const { reason, instead } = refused(bareInventory({ "pmem.modules": "2" }, { os: trixie }), {
    target: "memory-mode",
  });
  assertEquals(reason, "ipmctl is missing, and in no package of Debian GNU/Linux 13 (trixie).");
  assertStringIncludes(instead ?? "", "Build ipmctl from its source");
});

Deno.test("cxl-kmem: a window over two host bridges takes a pair, in either order; one device alone makes no region in it", () => {
  const of = (devices: number) =>
    bareInventory({}, {
      cxl: known({
        memdevs: Array.from({ length: devices }, (_, i) => ({
          memdev: `mem${i}`,
          pmemSize: undefined,
          ramSize: GIB,
          host: `0000:0${i}:00.0`,
          numaNode: undefined,
        })),
        regions: [],
        rootDecoders: [{
          decoder: "decoder0.0",
          size: 8 * GIB,
          maxAvailableExtent: 8 * GIB,
          pmemCapable: true,
          volatileCapable: true,
          interleaveWays: 2,
        }],
      }),
    });
  const plan = planned(of(2), { target: "cxl-kmem" });
  // Names follow the order in which drivers find devices, which changes from start to start (seen in the lab).
  const [line] = stepOf(plan, "ram-mem0-mem1").commands;
  assertEquals(
    line,
    "cxl create-region -m -t ram -d decoder0.0 -w 2 mem0 mem1 || cxl create-region -m -t ram -d decoder0.0 -w 2 mem1 mem0",
  );
  assertStringIncludes(
    stepOf(plan, "boot-regions").commands.join("\n"),
    "-w 2 mem0 mem1 || /usr/bin/cxl create-region -m -t ram -d decoder0.0 -w 2 mem1 mem0; do sleep 1",
  );
  const { reason, instead } = refused(of(1), { target: "cxl-kmem" });
  assertStringIncludes(reason, "decoder0.0 is dealt out over 2 host bridges");
  assertStringIncludes(instead ?? "", "cxl list -D -d root -T");
});
