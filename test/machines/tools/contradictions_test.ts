/** Texts that are well-formed and cannot be true, and layouts that the captures lack. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { PARSERS, plain, textOf } from "./outputs.ts";
import { parseCxl } from "../../../machines/tools/cxl.ts";
import { parseLsblk } from "../../../machines/tools/lsblk.ts";
import { parseNdctl } from "../../../machines/tools/ndctl.ts";
import { parseOsRelease } from "../../../machines/tools/os_release.ts";

const space = { dev: "namespace0.0", mode: "fsdax", size: 4096, blockdev: "pmem0" };
const region = { dev: "region0", size: 8192, available_size: 0 };
const device = { chardev: "dax0.0", size: 4096, mode: "devdax" };
const memdev = { memdev: "mem0", ram_size: 4096, host: "0000:0d:00.0" };
const table = (name: string) => textOf(`ipmctl-written/${name}.txt`);
const nodes = textOf("6.1/kmem/numactl-H-kmem.txt");

for (
  const [parser, text, reason] of [
    ["ndctl", [{ ...space, size: -1 }], "not a whole number"],
    ["ndctl", [{ ...space, size: 1.5 }], "is no number"],
    ["ndctl", `[{"dev":"namespace0.0","size":9007199254740993}]`, "2^53"],
    ["ndctl", `[{"dev":"namespace0.0","size":1e3}]`, "size"],
    ["ndctl", [{ ...space, size: "0x20000000000000" }], "2^53"],
    ["ndctl", [{ ...space, size: "512.00 MiB (999.87 MB)" }], "size"],
    ["ndctl", [{ ...space, align: 3 }], "power of 2"],
    ["ndctl", [{ ...space, mode: "turbo" }], "is no mode"],
    ["ndctl", [{ ...space, state: "enabled" }], "disabled"],
    ["ndctl", [space, { ...space }], '"namespace0.0" is listed twice'],
    ["ndctl", [space, { ...space, dev: "namespace0.1" }], '"pmem0" is listed twice'],
    ["ndctl", [{ ...region, namespaces: [{ ...space, dev: "namespace1.0" }] }], "another region"],
    ["ndctl", [{ ...region, namespaces: [{ ...space, size: 8193 }] }], "more in it than its size"],
    ["ndctl", [{ ...region, available_size: 8193 }], "more in it than its size"],
    ["ndctl", [{ dev: "ndbus0", regions: [] }], "provider"],
    ["ndctl", [{ ...space, siye: 1 }], 'damaged "size"'],
    ["ndctl", [{ regions: [{ ...region, mappings: [{ dimm: "nmem7" }] }], dimms: [{ dev: "nmem0" }] }], '"nmem7"'],
    [
      "ndctl",
      [{ ...space, chardev: "dax0.1", daxregion: { devices: [device] } }],
      "contradicts its DAX region",
    ],
    ["daxctl", [device, device], '"dax0.0" is listed twice'],
    ["daxctl", [{ ...device, online_memblocks: 8, total_memblocks: 7 }], "more memory blocks online"],
    ["daxctl", [{ ...device, target_node: 4096 }], "NUMA node"],
    ["daxctl", [{ ...device, movable: "true" }], "neither true nor false"],
    ["daxctl", [{ path: "/x", id: 1, devices: [device] }], "another region"],
    ["daxctl", [space], "chardev"],
    ["cxl", [memdev, memdev], '"mem0" is listed twice'],
    ["cxl", [{ region: "region0", decode_state: "perhaps" }], "state of a decoder"],
    ["cxl", [{ region: "region0", mappings: [{ memdev: "mem0" }, { memdev: "mem0" }] }], '"mem0" is listed twice'],
    ["cxl", [{ "root decoders": [{ decoder: "decoder0.0", size: 1, max_available_extent: 2 }] }], "more available"],
    ["cxl", [{ bus: "root0", "decoders:root0": {} }], "is no list"],
    ["cxl", "", "it is empty"],
    ["lsblk", { blockdevices: [{ name: "pmem0" }, { name: "pmem0", fstype: "xfs" }] }, "listed twice"],
    // Rounded sizes are not read, and still tell two devices apart.
    ["lsblk", { blockdevices: [{ name: "pmem0", size: "1G" }, { name: "pmem0", size: "2G" }] }, "listed twice"],
    ["lsblk", { blockdevices: [{ name: "pmem0", mountpoints: ["mnt"] }] }, "is no path"],
    ["numactl", nodes.replace("available: 4", "available: 3"), "as many nodes"],
    ["numactl", nodes.replace("node 2 free: 896", "node 2 free: 897"), "more free memory"],
    ["numactl", nodes.replace("node 1 cpus: 1", "node 1 cpus: 0"), "two nodes"],
    ["numactl", nodes.replace("  2:  17", "  2:   9"), "are no distances"],
    ["numactl", nodes.replace("  2:  17  28  10", "  2:  17  28  11"), "are no distances"],
    ["numactl", nodes.replace("  3:  28  17  28  10 \n", ""), "not complete"],
    ["numactl", nodes.replace("node 2 cpus:\n", ""), "not complete"],
    [
      "resources",
      table("v3-memoryresources-mixed").replace("378.000 GiB\n AppDirect", "379.000 GiB\n AppDirect"),
      "the total of Volatile is not the sum",
    ],
    [
      "resources",
      table("v3-memoryresources-appdirect").replace("756.000 GiB | 756.000", "856.000 GiB | 856.000"),
      "more than its Physical",
    ],
    ["resources", table("v3-memoryresources-mixed").replace(/ Cache.*\n/, ""), "rows are not"],
    ["resources", table("v3-memoryresources-mixed").replaceAll("GiB", "Gib"), "not in bytes"],
    [
      "resources",
      table("v3-memoryresources-mixed").replace("378.000 GiB | 378.000", "-378.000 GiB | 378.000"),
      "not in bytes",
    ],
    [
      "resources",
      table("v1-memoryresources").replace("AppDirectCapacity=756", "AppDirectCapacity=856"),
      "more than Capacity",
    ],
    ["resources", table("v1-memoryresources").replace(/ReservedCapacity.*\n/, ""), "is missing"],
    ["modules", table("v3-show-dimm").replace("0x0101", "0x0001"), "comes twice"],
    ["modules", table("v3-show-dimm").replace("Healthy", "Happy  "), "HealthState"],
    ["modules", table("v3-show-dimm").replace("| FWVersion", ""), "does not have 4 cells"],
  ] as [string, unknown, string][]
) {
  const raw = typeof text === "string" ? text : JSON.stringify(text);
  Deno.test(`${parser} does not believe ${raw.replaceAll(/\s+/g, " ").slice(0, 90)}: ${reason}`, () => {
    const found = PARSERS[parser]?.(raw);
    assert(found !== undefined && !found.known, JSON.stringify(found));
    assertStringIncludes(found.reason, reason);
    assertEquals(found.raw, raw);
  });
}

Deno.test("parseNdctl() keeps the 64 bits of an interleave set, in whatever base it is printed", () => {
  for (const printed of ["10248195696374871", '"0x24689d1f58a057"', '"10248195696374871"']) {
    const found = parseNdctl(`{"dev":"region0","iset_id":${printed}}`);
    assert(found.known);
    assertEquals(BigInt(found.value.regions[0]?.isetId ?? 0) > 2n ** 53n, true);
    assertEquals(
      found.value.regions[0]?.isetId,
      printed.includes("x") ? BigInt("0x24689d1f58a057").toString() : "10248195696374871",
    );
  }
});

Deno.test("parseNdctl() reads names of modes before ndctl 60, and one region alone", () => {
  const found = parseNdctl(JSON.stringify({ ...region, namespaces: [{ ...space, mode: "memory" }] }));
  assert(found.known);
  assertEquals(found.value.regions[0]?.namespaces[0]?.mode, "fsdax");
});

Deno.test("parseCxl() finds the same in lists of their own and below their roots", () => {
  const root = { decoder: "decoder0.0", size: 8192, volatile_capable: true };
  const used = { region: "region0", size: 4096, type: "ram", decode_state: "commit", mappings: [{ memdev: "mem0" }] };
  const flat = parseCxl(JSON.stringify([{ memdevs: [memdev] }, { "root decoders": [root] }, { regions: [used] }]));
  const nested = parseCxl(JSON.stringify({
    bus: "root0",
    "decoders:root0": [{ ...root, "regions:decoder0.0": [used] }],
    "ports:root0": [{ port: "port1", "endpoints:port1": [{ endpoint: "endpoint2", memdev }] }],
  }));
  assert(flat.known && nested.known);
  assertEquals(flat.value, nested.value);
  assertEquals(plain(flat.value), {
    memdevs: [{ memdev: "mem0", ramSize: 4096, host: "0000:0d:00.0" }],
    regions: [{ region: "region0", size: 4096, type: "ram", decodeState: "commit", memdevs: ["mem0"] }],
    rootDecoders: [{ decoder: "decoder0.0", size: 8192, pmemCapable: false, volatileCapable: true }],
  });
  const idle = parseCxl(JSON.stringify([{ ...memdev, state: "disabled" }]));
  assert(idle.known && idle.value.memdevs[0]?.disabled === true);
});

Deno.test("parseLsblk() takes a device below two others once", () => {
  const raid = { name: "md0", size: 1, fstype: "ext4", mountpoints: ["/"] };
  const disk = { size: 1, fstype: null, mountpoints: [null], children: [raid] };
  const found = parseLsblk(JSON.stringify({ blockdevices: [{ ...disk, name: "sda" }, { ...disk, name: "sdb" }] }));
  assert(found.known);
  assertEquals(found.value.map(({ name }) => name), ["sda", "md0", "sdb"]);
});

Deno.test("parseOsRelease() reads quotes, comments and defaults; anything else is unknown", () => {
  const found = parseOsRelease('# made\n\nNAME="Amazon \\"Linux\\""\nID=\'amzn\'\nID_LIKE="centos  rhel fedora"\n');
  assertEquals(found, {
    known: true,
    value: { id: "amzn", like: ["centos", "rhel", "fedora"], version: undefined, name: 'Amazon "Linux"' },
  });
  for (
    const text of ["", "NAME=x\n", "ID=Debian Linux\n", "ID=debian\nID=arch\n", "ID=debian\n<html>\n", 'ID="debian\n']
  ) {
    assertEquals(parseOsRelease(text).known, false, text);
  }
});
