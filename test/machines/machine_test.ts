import "../native_library.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../assert.ts";
import { probeMachine } from "../../ffi/machine.ts";
import { machineFacts } from "../fixtures/machine_tree.ts";
import {
  availability,
  type ConfigurationName,
  configurations,
  type ConfigurationState,
  doctor,
  inspectMachine,
  machineText,
} from "../../machines/machine.ts";

// Opens the native library before the first test: it stays open, which a test may not be the cause of.
probeMachine();

/** Facts of a captured machine (test/fixtures/machine), with changes; `undefined` removes a fact. */
function facts(tree: string, changes: Record<string, string | undefined> = {}): Record<string, string> {
  const all = Object.entries({ ...machineFacts(tree), ...changes });
  return Object.fromEntries(all.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function state(
  tree: string,
  name: ConfigurationName,
  changes: Record<string, string | undefined> = {},
): ConfigurationState {
  const found = configurations(inspectMachine(facts(tree, changes))).find((one) => one.configuration === name);
  assert(found !== undefined);
  return found;
}

Deno.test("inspectMachine() counts DRAM without the nodes that came from DAX devices", () => {
  const machine = inspectMachine(facts("kmem"));
  assertEquals(machine.memoryBytes, (3281156 - 2 * 917504) * 1024);
  assertEquals(machine.nodes, 4);
  assertEquals(machine.cpus, 2);
  assertEquals(machine.kernel, "6.1.0-56-cloud-amd64");
  assertEquals(
    machineText(inspectMachine(facts("bare"))),
    "AMD EPYC, 2 CPUs, 23.5 GiB DRAM, 1 NUMA node · no PMEM, no CXL, no GPU",
  );
  assertThrows(() => inspectMachine({}), Error, "Cannot inspect the machine");
});

Deno.test("inspectMachine() reads this machine", () => {
  const machine = inspectMachine();
  assert(machine.cpus >= 1 && machine.memoryBytes > 0 && machine.nodes >= 1);
  const names = ["dram", "memory-mode", "fsdax", "kmem-dax", "hbm"];
  assertEquals(configurations(machine).map((one) => one.configuration), names);
});

Deno.test("configurations() of a bare machine: DRAM measured, the rest emulated with the reason", () => {
  assertEquals(state("bare", "dram").state, "measured");
  for (const name of ["memory-mode", "fsdax", "kmem-dax"] as const) assertEquals(state("bare", name).state, "emulated");
  assertStringIncludes(state("bare", "fsdax").because, "no PMEM region");
  assertStringIncludes(state("bare", "kmem-dax").because, "no DAX device");
  assertEquals(state("bare", "kmem-dax").nodes, [0]);
});

Deno.test("configurations(): kmem-dax is measured on nodes that a DAX device of PMEM became", () => {
  const found = state("kmem", "kmem-dax");
  assertEquals(found.state, "measured");
  assertEquals(found.nodes, [2, 3]);
  assertEquals(found.virtual, true);
  assertStringIncludes(found.because, "dax0.0");
  assertEquals(state("kmem", "kmem-dax", { "cpu.virtual": "no" }).virtual, false);
  assertEquals(state("kmem", "kmem-dax", { "cpu.virtual": undefined }).virtual, true);
  const cxl = state("cxl", "kmem-dax");
  assertEquals([cxl.state, cxl.nodes], ["measured", [1]]);
  assertStringIncludes(cxl.because, "CXL");
});

Deno.test("configurations(): kmem-dax needs every link of the proof", () => {
  const gone = { "dax.dax1.0.driver": "device_dax" };
  assertEquals(state("kmem", "kmem-dax", gone).nodes, [2]);
  const cases: [Record<string, string | undefined>, string][] = [
    [{ ...gone, "dax.dax0.0.driver": "device_dax" }, "is a device, not memory"],
    [{ ...gone, "node.2.cpus": "3" }, "has CPUs"],
    [{ ...gone, "node.2.total": "0" }, "none of it online"],
    [{ ...gone, "node.2.cpus": undefined }, "could not be read"],
    [{ ...gone, "dax.dax0.0.origin": "hmem" }, "special purpose"],
    [{ ...gone, "dax.dax0.0.origin": undefined }, "no PMEM or CXL region"],
    [{ ...gone, "pmem.region0.provider": "e820" }, "memmap="],
    [{ ...gone, "pmem.region0.provider": undefined }, "cannot be found"],
  ];
  for (const [changes, because] of cases) {
    const found = state("kmem", "kmem-dax", changes);
    assertEquals(found.state, "emulated", because);
    assertStringIncludes(found.because, because);
    assertEquals(found.nodes, [0]);
  }
  const waiting = { ...gone, "dax.dax0.0.driver": "device_dax" };
  assertEquals(state("kmem", "kmem-dax", waiting).next, "tierbench provision kmem-dax --cloud-vm");
  const places: [Record<string, string | undefined>, string][] = [
    [{ "cpu.virtual": "no" }, " --bare-metal"],
    [{ "cpu.virtual": undefined }, ""],
    [{ "container.kind": "docker" }, " --container"],
    [{ "cpu.virtual": "no", "container.kind": "none" }, " --bare-metal"],
  ];
  for (const [changes, flag] of places) {
    assertEquals(
      state("kmem", "kmem-dax", { ...waiting, ...changes }).next,
      `tierbench provision kmem-dax${flag}`,
    );
  }
  const expander = { "dax.dax0.0.origin": "cxl" };
  assertEquals(
    state("kmem", "kmem-dax", { ...waiting, ...expander }).next,
    "tierbench provision cxl-kmem --cloud-vm",
  );
});

Deno.test("configurations(): a node without CPUs on a cloud machine proves nothing", () => {
  const found = state("cloud", "kmem-dax");
  assertEquals(found.state, "emulated");
  assertStringIncludes(found.because, "node 1 has memory and no CPUs");
  assertStringIncludes(found.because, "not proven");
  assertEquals(found.nodes, [0]);
});

Deno.test("configurations(): fsdax is measured on a writable DAX mount of real PMEM", () => {
  const found = state("fsdax", "fsdax");
  assertEquals([found.state, found.mount, found.virtual], ["measured", "/mnt/pmem0", true]);
  assertStringIncludes(found.because, "ACPI.NFIT");
  assertEquals(state("fsdax", "fsdax", { "mount.1.dax": "dax" }).state, "measured");
  const cases: [Record<string, string | undefined>, string, string | undefined][] = [
    [{ "mount.1.dax": "inode" }, "dax=inode", "tierbench provision fsdax --cloud-vm"],
    [{ "mount.1.dax": undefined }, "without DAX", "tierbench provision fsdax --cloud-vm"],
    [{ "mount.1.writable": "no" }, "not writable", "tierbench provision fsdax --cloud-vm"],
    [{ "mount.1.device": "/dev/mapper/x" }, "cannot be traced", undefined],
    [{ "pmem.region0.provider": undefined }, "cannot be found", "tierbench run --vouch <medium>"],
  ];
  for (const [changes, because, next] of cases) {
    const other = state("fsdax", "fsdax", changes);
    assertEquals(other.state, "emulated", because);
    assertStringIncludes(other.because, because);
    assertEquals(other.next, next);
    assertEquals(other.mount, undefined);
  }
});

Deno.test("configurations(): DAX mounts that are no PMEM are not measured", () => {
  const set = state("memmap", "fsdax");
  assertEquals(set.state, "emulated");
  assertStringIncludes(set.because, "memmap=");
  const host = state("virtio-pmem", "fsdax");
  assertEquals(host.state, "emulated");
  assertStringIncludes(host.because, "MAP_SYNC");
});

Deno.test("configurations(): fsdax names the next step on the way to a mount", () => {
  const unmounted = Object.fromEntries(
    ["path", "device", "filesystem", "dax", "writable"].map((key) => [`mount.1.${key}`, undefined]),
  );
  for (const found of [state("fsdax", "fsdax", unmounted), state("kmem", "fsdax")]) {
    assertEquals(found.next, "tierbench provision fsdax --cloud-vm");
  }
  assertStringIncludes(state("fsdax", "fsdax", unmounted).because, "/dev/pmem0 is not mounted");
  assertStringIncludes(state("kmem", "fsdax").because, "no namespace is in fsdax mode (namespace0.0: dax)");
});

Deno.test("configurations(): Memory Mode needs a cache in front of memory and PMEM modules", () => {
  const bare = { "cpu.virtual": "no" };
  const found = state("side-cache", "memory-mode", bare);
  assertEquals([found.state, found.cacheBytes, found.virtual], ["measured", 67108864, false]);
  assertEquals(state("side-cache", "dram", bare).state, "unavailable");
  // What a hypervisor's firmware lists says nothing of the host, to which Memory Mode belongs.
  const guest = state("side-cache", "memory-mode");
  assertEquals([guest.state, state("side-cache", "dram").state], ["emulated", "measured"]);
  assertStringIncludes(guest.because, "no guest can tell");
  const other = state("side-cache", "memory-mode", { ...bare, "pmem.modules": undefined });
  assertEquals(other.state, "emulated");
  assertStringIncludes(other.because, "HBM");
  assertEquals(state("kmem", "memory-mode").state, "emulated");
  // The guests of a machine cannot change how its modules are used.
  assertEquals(state("kmem", "memory-mode").next, undefined);
  assertEquals(
    state("kmem", "memory-mode", { "cpu.virtual": "no" }).next,
    "tierbench provision memory-mode --bare-metal",
  );
});

/** Xeon Max in flat mode, as far as facts go: node 1 is HBM. */
const FLAT = {
  "cpu.virtual": "no",
  "node.0.read_bandwidth_mb_s": "260000",
  "node.1.cpus": "",
  "node.1.total": "68719476736",
  "node.1.read_bandwidth_mb_s": "1000000",
};

Deno.test("configurations(): hbm is measured where firmware gives a node without CPUs more bandwidth than DRAM", () => {
  const found = state("bare", "hbm", FLAT);
  assertEquals([found.state, found.nodes, found.virtual], ["measured", [1], false]);
  assertStringIncludes(found.because, "node 1 without CPUs, 1000000 MB/s by HMAT where DRAM has 260000 MB/s");
  assert(!found.because.includes("MEMKIND_HBW_NODES") && !found.because.includes("mbind alone"));
  const slow = state("bare", "hbm", {
    ...FLAT,
    "node.0.read_bandwidth_mb_s": "90000",
    "node.1.read_bandwidth_mb_s": "180000",
  });
  assertStringIncludes(slow.because, "set MEMKIND_HBW_NODES=1");
  assertStringIncludes(state("bare", "hbm", { ...FLAT, "library.memkind.available": "no" }).because, "by mbind alone");
  // Nobody can vouch for it as PMEM or CXL memory.
  assertEquals(availability(inspectMachine(facts("bare", FLAT))).unproven.kmemDax.possible, false);
  assertStringIncludes(state("bare", "kmem-dax", FLAT).because, "no DAX device");
  const { memoryBytes } = inspectMachine(facts("bare", { ...FLAT, "memory.total": "100000000000" }));
  assertEquals(memoryBytes, 100000000000 - 68719476736);
  const guest = state("bare", "hbm", { ...FLAT, "cpu.virtual": "yes" });
  assertEquals(guest.virtual, true);
  assertStringIncludes(guest.because, "no speed of it counts as that of HBM");
});

Deno.test("configurations(): hbm needs every link of the proof, and what else it may be is named", () => {
  const cases: [Record<string, string | undefined>, string][] = [
    [{}, "no plain NUMA node has memory and no CPUs"],
    [{ ...FLAT, "node.1.cpus": "9" }, "no plain NUMA node"],
    [{ ...FLAT, "node.1.total": "0" }, "no plain NUMA node"],
    [{ ...FLAT, "node.1.read_bandwidth_mb_s": "260000" }, "it has 260000 MB/s by HMAT, and DRAM 260000 MB/s"],
    [{ ...FLAT, "node.1.read_bandwidth_mb_s": undefined }, "firmware does not say how fast"],
    [{ ...FLAT, "node.0.read_bandwidth_mb_s": undefined }, "firmware does not say how fast"],
    [{ "cpu.virtual": "no", "node.0.side_cache_size": "68719476736" }, "HBM in cache mode"],
  ];
  for (const [changes, because] of cases) {
    const found = state("bare", "hbm", changes);
    assertEquals(found.state, "unavailable", JSON.stringify(changes));
    assertStringIncludes(found.because, because);
  }
  // Memory that came from PMEM or CXL is never called HBM, whatever firmware says of its speed.
  const mapped = { "node.0.read_bandwidth_mb_s": "1", "node.1.read_bandwidth_mb_s": "9" };
  assertEquals(state("cxl-firmware", "hbm", { "cpu.virtual": "no", ...mapped }).state, "unavailable");
  const fast = {
    "node.0.read_bandwidth_mb_s": "1",
    "node.1.read_bandwidth_mb_s": "2",
    "node.2.read_bandwidth_mb_s": "9",
  };
  assertEquals(state("cxl", "hbm", { "cpu.virtual": "no", ...fast }).state, "unavailable");
  const set = { "dax.dax0.0.origin": "hmem", "dax.dax0.0.driver": "device_dax", "dax.dax0.0.target_node": "1" };
  const waiting = state("bare", "hbm", set);
  assertEquals([waiting.state, waiting.next], [
    "unavailable",
    "tierbench provision hbm --cloud-vm",
  ]);
  const became = { ...FLAT, ...set, "dax.dax0.0.driver": "kmem" };
  assertEquals(state("bare", "hbm", became).state, "measured");
});

Deno.test("configurations(): a missing library makes its configuration unavailable", () => {
  const changes = { "library.libpmem.available": "no", "library.libpmem.error": "no such file" };
  const found = state("fsdax", "fsdax", changes);
  assertEquals([found.state, found.next], ["unavailable", "apt-get install libpmem1"]);
  assertStringIncludes(found.because, "no such file");
  assertEquals(state("kmem", "kmem-dax", { "library.memkind.available": "no" }).state, "unavailable");
});

Deno.test("configurations(): memory that firmware mapped behind CXL is proven by its addresses", () => {
  const mapped = state("cxl-firmware", "kmem-dax", { "cpu.virtual": "no" });
  assertEquals([mapped.state, mapped.nodes, mapped.cxlNodes, mapped.virtual], ["measured", [1], [1], false]);
  assertStringIncludes(
    mapped.because,
    "node 1, CXL memory that firmware mapped (in CXL window decoder0.0, 250 ns and 30000 MB/s by HMAT or CDAT)",
  );
  // DRAM is what is not behind CXL.
  const machine = inspectMachine({ ...facts("cxl-firmware"), "cpu.virtual": "no" });
  assertEquals(machine.memoryBytes, 2995200 * 1024 - 1030196 * 1024);
  const here = availability(machine);
  assert(here.kmemDax.available);
  assertEquals([here.kmemDax.cxl, here.unproven.kmemDax.possible], [[1], false]);
  assertEquals(state("cxl-firmware", "kmem-dax", { "cpu.virtual": "yes" }).virtual, true);
  // A region of the kernel's own says it, too, and every user may read that.
  const region = { "cxl.region0.start": "4294967296", "cxl.region0.size": "1073741824" };
  const hidden = { "cpu.virtual": "no", "cxl.decoder0.0.start": undefined };
  assertStringIncludes(state("cxl-firmware", "kmem-dax", { ...hidden, ...region }).because, "in region region0");
  // What lies outside, in part or as a whole, is not proven; nor is what may not be read.
  for (
    const [changes, why] of [
      [{ "cpu.virtual": "no", "cxl.decoder0.0.size": "1000000000" }, /not proven to be PMEM or CXL memory$/],
      [{ "cpu.virtual": "no", "cxl.decoder0.0.start": "5368709120" }, /not proven to be PMEM or CXL memory$/],
      [hidden, /where the windows of CXL begin, only root may read: try as root$/],
    ] as const
  ) {
    const { state: found, because, next } = state("cxl-firmware", "kmem-dax", changes);
    assertEquals([found, next], ["emulated", "tierbench run --vouch <medium>"]);
    assertMatch(because, why);
  }
});

Deno.test("availability() says the same to the planner", () => {
  const kmem = availability(inspectMachine(facts("kmem")));
  assertEquals(kmem.kmemDax, { available: true, nodes: [2, 3], virtual: true });
  assertEquals(kmem.dram, { available: true });
  assertEquals(kmem.existingNode, 0);
  assert(!kmem.fsdax.available && kmem.fsdax.reason.length > 0);
  const fsdax = availability(inspectMachine(facts("fsdax")));
  assertEquals(fsdax.fsdax, { available: true, path: "/mnt/pmem0", virtual: true });
  const second = { path: "/mnt/pmem1", device: "/dev/pmem1", filesystem: "xfs", dax: "always", writable: "yes" };
  const both = Object.fromEntries(Object.entries(second).map(([key, value]) => [`mount.7.${key}`, value]));
  assertEquals(availability(inspectMachine(facts("fsdax", both))).fsdax, {
    available: true,
    path: "/mnt/pmem0",
    others: ["/mnt/pmem1"],
    virtual: true,
  });
  const expander = availability(inspectMachine(facts("cxl-firmware")));
  assertEquals([expander.dramNodes, expander.weights], [[0], { 0: 3, 1: 1 }]);
  assertEquals(expander.tiering, { available: true, dramBytes: (2995200 - 1030196) * 1024 });
  const off = availability(inspectMachine(facts("cxl-firmware", { "noise.numa_balancing": "1" }))).tiering;
  assert(!off.available && off.reason === "hot pages are not promoted (numa_balancing is 1, 2 is needed)");
  const cached = availability(inspectMachine({ ...facts("side-cache"), "cpu.virtual": "no" }));
  assertEquals(cached.memoryMode, { available: true, cacheBytes: 67108864, virtual: false });
  assert(!cached.dram.available);
});

Deno.test("doctor() is plain data with every section, on every captured machine", () => {
  for (const tree of ["kmem", "fsdax", "side-cache", "cloud", "memmap", "virtio-pmem", "cxl", "cxl-firmware", "bare"]) {
    const report = doctor(inspectMachine(facts(tree)));
    assertEquals(JSON.parse(JSON.stringify(report)), report);
    const titles = report.sections.map((section) => section.title);
    for (const title of ["Configurations", "Processor", "Memory", "NUMA", "PMEM", "DAX", "CXL", "GPU", "Noise"]) {
      assert(titles.includes(title), `${tree}: ${title}`);
    }
    for (const { lines } of report.sections) for (const { label, text } of lines) assert(label !== "" && text !== "");
  }
});

Deno.test("doctor() tells what matters on a bare machine", () => {
  const { sections } = doctor(inspectMachine(facts("bare")));
  const text = (title: string) =>
    (sections.find((section) => section.title === title)?.lines ?? [])
      .map(({ label, text, level }) => `${label}: ${text} [${level}]`).join("\n");
  assertStringIncludes(text("Memory"), "limit of this process: 8 GiB");
  assertStringIncludes(text("Memory"), "huge pages of 2 MiB: 8 reserved, 6 free");
  assertStringIncludes(text("NUMA"), "the kernel sets memory up late [note]");
  assertStringIncludes(text("Noise"), "CPU time taken by the host: 1 % since boot [ok]");
  assertStringIncludes(text("Noise"), "hypervisor: yes");
  const missing = doctor(inspectMachine(facts("bare", { "library.zlib.available": "no" })));
  const libraries = missing.sections.find((section) => section.title === "Libraries")?.lines ?? [];
  assertEquals(libraries.map(({ label, level, next }) => [label, level, next]), [
    ["zlib", "warning", "apt-get install zlib1g"],
  ]);
});
