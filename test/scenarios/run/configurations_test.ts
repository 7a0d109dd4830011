import type { Availability } from "../../../machines/availability.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { UnavailableError } from "../../../base/unavailable.ts";
import { decideCases, environmentOf, howText } from "../../../scenarios/run/configurations.ts";
import type { Configuration, Scenario } from "../../../scenarios/scenario.ts";
import { tableBytes } from "../../../models/workloads/sizes.ts";
import { dramBudget, roomFor, tierSizes } from "../../../scenarios/run/tier_sizes.ts";
import { fillDefaults } from "../../../scenarios/resolve.ts";
import { rowBytes } from "../../../models/workloads/row_bytes.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { ALL_PMEM, casesOf, FOUR, NO_PMEM } from "../fakes.ts";

function decide(configuration: Configuration, here: Availability, more: Partial<Scenario> = {}) {
  const { runnable: [one] } = decideCases(casesOf({ ...FOUR, configurations: { one: configuration }, ...more }), here);
  assert(one !== undefined);
  return one;
}

Deno.test("decideCases() measures where the medium is and emulates where it is not", () => {
  const of = (here: Availability) =>
    decideCases(casesOf(FOUR), here).runnable.map((
      { decision: { evidence, place, media } },
    ) => [evidence, place.kind, media]);
  assertEquals(of(ALL_PMEM), [
    ["measured", "none", undefined],
    ["measured", "memory-mode", undefined],
    ["measured", "directory", undefined],
    ["measured", "nodes", undefined],
  ]);
  assertEquals(of(NO_PMEM), [
    ["measured", "none", undefined],
    ["emulated", "memory-mode", "optane-100-6x256"],
    ["emulated", "scratch", "optane-100-6x256"],
    ["emulated", "nodes", "optane-100-6x256"],
  ]);
});

Deno.test("decideCases() never takes a path or a node for PMEM that is none", () => {
  const inside = decide({ storage: "PMEM_LIBPMEM", path: "/mnt/pmem0/pool" }, ALL_PMEM);
  assertEquals([inside.decision.evidence, environmentOf(inside)], ["measured", {}]);
  const two: Availability = {
    ...ALL_PMEM,
    fsdax: { ...ALL_PMEM.fsdax, others: ["/mnt/pmem1"] } as Availability["fsdax"],
  };
  assertEquals(decide({ storage: "PMEM_LIBPMEM", path: "/mnt/pmem1/pool" }, two).decision.evidence, "measured");
  const out = decide({ storage: "PMEM_LIBPMEM", path: "/mnt/pmem1/../x" }, two);
  assertEquals(out.decision.evidence, "emulated");
  const outside = decide({ storage: "PMEM_LIBPMEM", path: "/mnt/pmem01" }, ALL_PMEM);
  assertEquals([outside.decision.evidence, environmentOf(outside)], ["emulated", { PMEM_IS_PMEM_FORCE: "1" }]);
  assertStringIncludes(howText(outside.decision, 0), "/mnt/pmem01, which is no PMEM");
  assertEquals(decide({ storage: "PMEM_MEMKIND", nodes: [2] }, ALL_PMEM).decision.evidence, "measured");
  assertEquals(decide({ storage: "PMEM_MEMKIND", nodes: [0, 2] }, ALL_PMEM).decision.evidence, "emulated");
});

Deno.test("decideCases() slows no rows down that outlive the process, and says so", () => {
  const points = { storage: "DRAM_PMEM", pmem: "libpmem", path: "auto", checkpoint: "in-place" } as const;
  const found = decide(points, NO_PMEM, { checkpoint: { interval: 0.5 } });
  assertEquals([found.decision.evidence, found.decision.media], ["emulated", undefined]);
  assertEquals(environmentOf(found), { PMEM_IS_PMEM_FORCE: "1" });
  assertStringIncludes(howText(found.decision, 0), "at its own speed, since nothing slows records down");
  const real = decide(points, ALL_PMEM, { checkpoint: { interval: 0.5 } });
  assertEquals([real.decision.evidence, environmentOf(real)], ["measured", {}]);
});

Deno.test("decideCases() takes memory of the kind that is asked for; PMEM where both are here and neither is", () => {
  const both: Availability = { ...ALL_PMEM, kmemDax: { available: true, nodes: [2, 3], cxl: [3], virtual: false } };
  const nodes = (more: Partial<Configuration>, here = both) => {
    const { decision } = decide({ storage: "DRAM_PMEM", pmem: "mbind", ...more }, here);
    return [decision.evidence, decision.medium, "nodes" in decision.place ? decision.place.nodes : undefined];
  };
  assertEquals(nodes({}), ["measured", "pmem", [2]]);
  assertEquals(nodes({ medium: "cxl" }), ["measured", "cxl", [3]]);
  assertEquals(nodes({ nodes: [3] }), ["measured", "cxl", [3]]);
  assertEquals(nodes({ nodes: [2], medium: "cxl" }), ["emulated", undefined, [2]]);
  assertEquals(nodes({ nodes: [2, 3] }), ["emulated", undefined, [2, 3]]);
  assertEquals(nodes({ medium: "cxl" }, ALL_PMEM), ["emulated", undefined, [0]]);
  const emulated = decide({ storage: "PMEM_MBIND", medium: "cxl" }, ALL_PMEM).decision;
  assertEquals([emulated.media, emulated.missing], ["cxl-type3-ddr4", "node 2 is not CXL memory"]);
  assertEquals(howText(emulated, 0), "mbind on node 0, which is DRAM, slowed to cxl-type3-ddr4");
  assertEquals(
    howText(decide({ storage: "PMEM_MBIND", medium: "cxl" }, both).decision, 0),
    "mbind on CXL node 3, wall clock",
  );
  const files: Availability = {
    ...ALL_PMEM,
    fsdax: { available: true, path: "/mnt/pmem0", others: ["/mnt/pmem1"], cxl: ["/mnt/pmem1"], virtual: false },
  };
  const file = (more: Partial<Configuration>) => decide({ storage: "PMEM_LIBPMEM", ...more }, files).decision;
  assertEquals([file({}).medium, file({ path: "/mnt/pmem1/a" }).medium], ["pmem", "cxl"]);
  assertEquals(file({ medium: "cxl" }).place, { kind: "directory", path: "/mnt/pmem1" });
  assertEquals(file({ medium: "cxl", path: "/mnt/pmem0" }).missing, '"/mnt/pmem0" is on PMEM, not on CXL memory');
});

Deno.test("decideCases() measures interleaved pages by the kernel's weights, and says which to write where they differ", () => {
  const cxl: Availability = { ...ALL_PMEM, kmemDax: { available: true, nodes: [2], cxl: [2], virtual: false } };
  const of = (weights: number[], here: Availability) =>
    decide({ storage: "DRAM", memory: "weighted-interleave", weights }, here).decision;
  const measured = of([1, 4], cxl);
  assertEquals([measured.evidence, measured.medium, measured.place], [
    "measured",
    "cxl",
    { kind: "interleaved", nodes: [0, 2], slower: [2], share: 0.8 },
  ]);
  assertStringIncludes(howText(measured, 0), "over nodes 0, 2 by the kernel's weights, 80 % on CXL node 2");
  const other = of([1, 7], cxl);
  assertEquals([other.evidence, other.place], ["emulated", {
    kind: "interleaved",
    nodes: [],
    slower: [],
    share: 0.875,
  }]);
  assertStringIncludes(other.missing ?? "", "echo 7 > /sys/kernel/mm/mempolicy/weighted_interleave/node2");
  const { weights: _, ...old } = cxl;
  assertStringIncludes(of([1, 4], old).missing ?? "", "Linux 6.9");
  // Two sockets with DRAM and one expander: a third of the pages less is behind it.
  const two = { ...cxl, dramNodes: [0, 1], weights: { 0: 1, 1: 1, 2: 4 } };
  assertEquals((of([1, 4], two).place as { share: number }).share, 4 / 6);
  assertEquals(of([1, 4], NO_PMEM).media, "cxl-type3-ddr4");
});

Deno.test("decideCases() measures the kernel's tiering where it is on, and leaves it out elsewhere, for it has no emulation", () => {
  const configurations = {
    dram: { storage: "DRAM" },
    one: { storage: "DRAM", memory: "kernel-tiering" },
  } as const;
  const cxl: Availability = { ...ALL_PMEM, kmemDax: { available: true, nodes: [2], cxl: [2], virtual: false } };
  const { runnable } = decideCases(casesOf({ ...FOUR, configurations }), cxl);
  const one = runnable.find(({ configuration }) => configuration === "one")?.decision;
  assertEquals([one?.evidence, one?.medium, one?.cacheBytes, one?.place], [
    "measured",
    "cxl",
    2 ** 30,
    { kind: "tiered", slower: [2] },
  ]);
  const off: Availability = { ...cxl, tiering: { available: false, reason: "numa_balancing is 0" } };
  for (const [here, why] of [[NO_PMEM, "no node without CPUs"], [off, "numa_balancing is 0"]] as const) {
    const { skipped } = decideCases(casesOf({ ...FOUR, configurations }), here);
    assertEquals(skipped.map(({ skipped }) => skipped), [`${why}; kernel tiering has no emulation`]);
    const error = () => decideCases(casesOf({ ...FOUR, configurations, whenUnavailable: "error" }), here);
    assertThrows(error, UnavailableError, `one cannot run here: ${why}`);
  }
});

Deno.test("decideCases() needs memkind for memkind alone", () => {
  const here: Availability = { ...ALL_PMEM, memkind: { available: false, reason: "no libmemkind", emulable: false } };
  assertEquals(decide({ storage: "PMEM_MBIND" }, here).decision.evidence, "measured");
  assertThrows(() => decide({ storage: "PMEM_MEMKIND" }, here), UnavailableError, "one cannot run here: no libmemkind");
});

Deno.test("decideCases() takes the way of a measurement on a medium that may be virtual, and calls it emulated", () => {
  const guest: Availability = {
    ...ALL_PMEM,
    fsdax: { available: true, path: "/mnt/pmem0", virtual: true },
    kmemDax: { available: true, nodes: [2], virtual: true },
  };
  const { runnable } = decideCases(casesOf(FOUR), guest);
  const [dram, , file, nodes] = runnable;
  assert(dram !== undefined && file !== undefined && nodes !== undefined);
  assertEquals([dram.decision.evidence, dram.decision.virtual], ["measured", false]);
  for (const { decision } of [file, nodes]) {
    assertEquals([decision.evidence, decision.virtual, decision.media], ["emulated", true, undefined]);
    assertStringIncludes(decision.missing ?? "", "hypervisor");
  }
  assertEquals(environmentOf(file), {}); // PMEM_IS_PMEM_FORCE would prove nothing
  assertEquals(environmentOf(nodes), { MEMKIND_DAX_KMEM_NODES: "2" });
  assertStringIncludes(howText(file.decision, 0), "/mnt/pmem0, a DAX file system, in a virtual machine");
  const error = assertThrows(() => decideCases(casesOf(FOUR), guest, "measured"), UnavailableError);
  assertEquals(error.message.match(/^[\w-]+(?= cannot be measured here: a hypervisor)/gm), ["fsdax", "kmem-dax"]);
});

Deno.test("decideCases() follows whenUnavailable", () => {
  const skipped = decideCases(casesOf({ ...FOUR, whenUnavailable: "skip" }), NO_PMEM);
  assertEquals(skipped.runnable.map(({ name }) => name), ["dram"]);
  assertEquals(skipped.skipped.map(({ skipped }) => skipped), [
    "no PMEM modules",
    "no region in ndctl",
    "no node without CPUs",
  ]);
  assertThrows(() => decideCases(casesOf({ ...FOUR, whenUnavailable: "error" }), NO_PMEM), UnavailableError);
});

Deno.test("decideCases() has no stand-in for plain DRAM", () => {
  const here = {
    ...ALL_PMEM,
    dram: { available: false, reason: "all DRAM is a cache of Memory Mode", emulable: false },
  } as const;
  const error = assertThrows(() => decideCases(casesOf(FOUR), here), UnavailableError);
  assertStringIncludes(error.message, "dram cannot run here: all DRAM is a cache of Memory Mode");
});

Deno.test("rowBytes() pads weights and slots to 16 bytes each", () => {
  assertEquals([rowBytes(16, "adagrad"), rowBytes(3, "adagrad"), rowBytes(5, "sgd"), rowBytes(1, "sgd")], [
    128,
    32,
    32,
    16,
  ]);
});

Deno.test("dramBudget() is at most a quarter of the tables", () => {
  const scenario = fillDefaults(FOUR, "/");
  const tables = tableBytes([600_000, 200_000], scenario.workload);
  assertEquals(tables, 102_400_000);
  assertEquals(dramBudget(scenario, tables), 390 * 65_536);
  assertEquals(dramBudget({ ...scenario, dram: tables / 4 }, tables), tables / 4);
  assertThrows(() => dramBudget({ ...scenario, dram: tables / 4 + 1 }, tables), ScenarioError, "expected at most");
  const only = fillDefaults({ ...FOUR, configurations: { dram: { storage: "DRAM" } } }, "/");
  assertEquals(dramBudget({ ...only, dram: tables }, tables), tables);
});

Deno.test("tierSizes() fills a list up with 1 GiB, and leaves room for all rows without one", () => {
  const { configurations } = fillDefaults(FOUR, "/");
  const { fsdax, dram } = configurations;
  assert(fsdax !== undefined && dram !== undefined);
  assertEquals(tierSizes({ ...fsdax, size: [5] }, 5, 1e9), [5, 2 ** 30]);
  assertEquals(tierSizes(fsdax, 5, 1e9), [5, roomFor(1e9)]);
  assertEquals(tierSizes(dram, 5, 1e9), [roomFor(1e9)]);
  assert(roomFor(1e9) > 1e9);
});

Deno.test("decideCases() measures a tier on a disk, also below PMEM that is emulated", () => {
  const disk = decide({ storage: "DRAM_SSDHASH", ssdPath: "/mnt/ssd" }, NO_PMEM);
  assertEquals(disk.decision, {
    evidence: "measured",
    place: { kind: "none" },
    ssd: { tier: "SSDHASH", directory: "/mnt/ssd" },
    virtual: false,
  });
  assertEquals(howText(disk.decision, 0), "SSDHASH in files in /mnt/ssd, on its disk, wall clock");
  const both = decide({ storage: "DRAM_PMEM_LEVELDB", pmem: "memkind" }, NO_PMEM);
  assertEquals([both.decision.evidence, both.decision.ssd], ["emulated", { tier: "LEVELDB" }]);
  assertEquals(
    howText(both.decision, 0),
    "memkind on node 0, which is DRAM, slowed to optane-100-6x256; LEVELDB in files in the project's cache folder, " +
      "on its disk",
  );
  assertEquals(environmentOf(both), { MEMKIND_DAX_KMEM_NODES: "0" });
  assertEquals(decide({ storage: "DRAM_PMEM_LEVELDB", pmem: "memkind" }, ALL_PMEM).decision.evidence, "measured");
});

Deno.test("decideCases() asks for each disk, and has no stand-in for one", () => {
  const asked: unknown[] = [];
  const here: Availability = {
    ...NO_PMEM,
    ssd: (...what) => {
      asked.push(what);
      return { available: false, reason: "libleveldb cannot be opened" };
    },
  };
  const configurations = {
    dram: { storage: "DRAM" },
    one: { storage: "DRAM_LEVELDB", ssdPath: "/mnt/ssd" },
    two: { storage: "SSDHASH" },
  } as const;
  const error = assertThrows(() => decideCases(casesOf({ ...FOUR, configurations }), here), UnavailableError);
  assertStringIncludes(error.message, "one cannot run here: libleveldb cannot be opened\ntwo cannot run here");
  assertEquals(asked, [["LEVELDB", "/mnt/ssd"], ["SSDHASH", undefined]]);
  const { runnable, skipped } = decideCases(casesOf({ ...FOUR, configurations, whenUnavailable: "skip" }), here);
  assertEquals([runnable.map(({ name }) => name), skipped.map(({ name }) => name)], [["dram"], ["one", "two"]]);
});

Deno.test("tierSizes() of three tiers: the budget, half of the rows, room for all on the disk", () => {
  const { configurations: { one, two } } = fillDefaults({
    ...FOUR,
    configurations: { one: { storage: "DRAM_PMEM_SSDHASH", pmem: "libpmem" }, two: { storage: "LEVELDB" } },
  }, "/");
  assert(one !== undefined && two !== undefined);
  assertEquals(tierSizes(one, 5, 2 ** 27), [5, 2 ** 26, roomFor(2 ** 27, "disk")]);
  assertEquals(tierSizes({ ...one, size: [5, 6] }, 5, 1e9), [5, 6, 2 ** 30]);
  assertEquals(tierSizes(two, 5, 1e9), [roomFor(1e9, "disk")]);
  assert(roomFor(1e9, "disk") > 2 * 1e9);
});

Deno.test("decideCases() does not emulate without the library", () => {
  const here = { ...NO_PMEM, fsdax: { available: false, reason: "libpmem is missing", emulable: false } } as const;
  const error = assertThrows(() => decideCases(casesOf(FOUR), here), UnavailableError);
  assertStringIncludes(error.message, "fsdax cannot run here: libpmem is missing\n");
});

Deno.test("decideCases() measures HBM on a GPU and on nodes that are faster than DRAM, and calls a CPU's device emulated", () => {
  const opencl = { storage: "HBM_DRAM", hbm: "opencl" } as const;
  const gpu = decide(opencl, ALL_PMEM).decision;
  assertEquals([gpu.evidence, gpu.missing], ["measured", undefined]);
  assertStringIncludes(howText(gpu, 0), "rows on the OpenCL device H100 (driver 550, OpenCL_3.0), wall clock");
  const device = { name: "pthread", platform: "PoCL", driver: "3.1", version: "OpenCL_3.0", isCpu: true };
  const cpu: Availability = { ...ALL_PMEM, hbmDevice: () => ({ available: true, device }) };
  const on = decide(opencl, cpu).decision;
  assertEquals([on.evidence, on.media, on.virtual], ["emulated", undefined, false]);
  assertStringIncludes(on.missing ?? "", '"pthread" is a CPU');
  const over = decide({ ...opencl, storage: "HBM_DRAM_PMEM", pmem: "libpmem" }, {
    ...NO_PMEM,
    hbmDevice: cpu.hbmDevice,
  });
  assertEquals([over.decision.evidence, over.decision.media], ["emulated", "optane-100-6x256"]);
  assertEquals(over.decision.missing, `no region in ndctl; ${on.missing}`);
  const real = decide({ ...opencl, storage: "HBM_DRAM_PMEM", pmem: "libpmem" }, cpu);
  assertEquals([real.decision.evidence, environmentOf(real)], ["emulated", {}]);
  assertStringIncludes(howText(real.decision, 0), "libpmem on /mnt/pmem0, a DAX file system, wall clock");
  const cases = (whenUnavailable: "skip" | "error") =>
    casesOf({ ...FOUR, whenUnavailable, configurations: { opencl, dram: { storage: "DRAM" } } });
  assertEquals(decideCases(cases("skip"), cpu).skipped.map(({ skipped }) => skipped), [on.missing]);
  assertThrows(() => decideCases(cases("error"), cpu), UnavailableError, "opencl cannot be measured here");
  assertThrows(() => decideCases(cases("skip"), cpu, "measured"), UnavailableError, "opencl cannot be measured here");

  const bound = decide({ storage: "HBM_DRAM", hbm: "memkind" }, ALL_PMEM);
  assertEquals([bound.decision.evidence, environmentOf(bound)], ["measured", { MEMKIND_HBW_NODES: "4" }]);
  const wrong = () => decide({ storage: "HBM", hbm: "mbind", hbmNodes: [0] }, ALL_PMEM);
  assertThrows(wrong, UnavailableError, "one cannot run here: node 0 is not HBM: that is node 4");
  assertThrows(() => decide({ storage: "HBM", hbm: "mbind" }, NO_PMEM), UnavailableError, "no node has more bandwidth");
  assertThrows(() => decide(opencl, NO_PMEM), UnavailableError, "pocl-opencl-icd");
});

Deno.test("tierSizes() gives HBM an eighth of the rows, and DRAM below it its budget", () => {
  const sizes = (configuration: Configuration) => {
    const one = fillDefaults({ ...FOUR, configurations: { one: configuration } }, "/").configurations["one"];
    assert(one !== undefined);
    return tierSizes(one, 2 ** 20, 2 ** 30);
  };
  const hbm = { hbm: "opencl" } as const;
  assertEquals(sizes({ storage: "HBM", ...hbm }), [roomFor(2 ** 30)]);
  assertEquals(sizes({ storage: "HBM_DRAM", ...hbm }), [2 ** 27, roomFor(2 ** 30)]);
  assertEquals(sizes({ storage: "HBM_DRAM_PMEM_SSDHASH", pmem: "mbind", ...hbm }), [
    2 ** 27,
    2 ** 20,
    2 ** 29,
    roomFor(2 ** 30, "disk"),
  ]);
});
