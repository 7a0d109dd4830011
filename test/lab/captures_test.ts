/**
 * What the tools print in guests means to the parsers what the guest was given. With `deno task lab --recapture
 * <folder>` the texts are kept, in the layout of `test/fixtures/tools`.
 */

import "../native_library.ts";
import { collectInventory, COMMANDS } from "../../machines/tools/collect.ts";
import type { Inventory, NdBus, NdRegion } from "../../machines/inventory/inventory.ts";
import type { Parsed } from "../../machines/inventory/tool.ts";
import { assert, assertEquals } from "../assert.ts";
import { Guest } from "./guest.ts";
import { guestSystem } from "./guest_system.ts";
import { labCase } from "./lab_case.ts";
import { RECAPTURE_VARIABLE } from "./recapture.ts";

const GIB = 2 ** 30;

/** The value of an output that has to be understood. */
function value<T>(what: string, parsed: Parsed<T> | undefined): T {
  assert(parsed !== undefined, `${what} was not asked`);
  assert(parsed.known, `${what} is unknown: ${parsed.known ? "" : `${parsed.reason}\n${parsed.raw}`}`);
  return parsed.value;
}

/** Regions in the order of their names: ndctl lists them in that in which the kernel found them. */
function regionsOf(buses: readonly NdBus[]): NdRegion[] {
  return buses.flatMap(({ regions }) => regions).sort((a, b) => a.dev < b.dev ? -1 : 1);
}

/** Reads the inventory of a guest; keeps what its tools printed, if that is asked for. */
async function capture(guest: Guest, name: string): Promise<Inventory> {
  const system = guestSystem(guest);
  const inventory = await collectInventory(system, {});
  const asked = system.outputs.map(({ command }) => command.join(" "));
  for (const command of Object.values(COMMANDS)) assert(asked.includes(command.join(" ")), `not asked: ${command}`);
  const folder = Deno.env.get(RECAPTURE_VARIABLE);
  if (folder === undefined) return inventory;
  await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  for (const { command, stdout } of system.outputs) {
    if (!Object.values(COMMANDS).some((one) => one.join(" ") === command.join(" "))) continue;
    const file = command.join("-").replaceAll(/-+/g, "-").replaceAll(/[^\w.-]/g, "_").slice(0, 60);
    await Deno.writeTextFile(`${folder}/${name}/${file}.txt`, stdout);
  }
  return inventory;
}

labCase("captures: two NVDIMMs, as they come, and one each as file system and as memory", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm" });

  assert(
    await t.step("as they come", async () => {
      const inventory = await capture(guest, "nvdimm-raw");
      const buses = value("ndctl", inventory.ndctl);
      assertEquals(buses.map(({ provider, dimms }) => [provider, dimms.length]), [["ACPI.NFIT", 2]]);
      const regions = regionsOf(buses);
      assertEquals(
        regions.map(({ dev, size, type, persistenceDomain, numaNode, targetNode, disabled, dimms }) => (
          { dev, size, type, persistenceDomain, numaNode, targetNode, disabled, dimms: dimms.length }
        )),
        [0, 1].map((number) => ({
          dev: `region${number}`,
          size: GIB,
          type: "pmem",
          persistenceDomain: "memory_controller",
          numaNode: number,
          targetNode: 2 + number,
          disabled: false,
          dimms: 1,
        })),
      );
      const spaces = regions.flatMap(({ namespaces }) => namespaces.filter(({ size }) => size !== 0));
      assertEquals(spaces.map(({ dev, mode, size, blockdev }) => [dev, mode, size, blockdev]), [
        ["namespace0.0", "raw", GIB, "pmem0"],
        ["namespace1.0", "raw", GIB, "pmem1"],
      ]);
      assertEquals(value("daxctl", inventory.daxctl), []);
      assertEquals(value("cxl", inventory.cxl), { memdevs: [], regions: [], rootDecoders: [] });
      assertEquals(value("ipmctl", inventory.ipmctl?.modules), []);
      const blocks = value("lsblk", inventory.blocks).toSorted((a, b) => a.name < b.name ? -1 : 1); // as the kernel found them
      assertEquals(blocks.map(({ name, size, fileSystem, mountPoints }) => [name, size, fileSystem, mountPoints]), [
        ["pmem0", GIB, undefined, []],
        ["pmem1", GIB, undefined, []],
      ]);
      assertEquals(value("numactl", inventory.numactl).map(({ node, cpus }) => [node, cpus]), [[0, [0]], [1, [1]]]);
    }),
  );

  assert(
    await t.step("as file system and as memory", async () => {
      await guest.output(
        "ndctl create-namespace -f -e namespace0.0 --mode=fsdax --map=dev --name=tierbench && " +
          "mkfs.ext4 -q -b 4096 -L data /dev/pmem0 && mount -o dax /dev/pmem0 /mnt && " +
          "ndctl create-namespace -f -e namespace1.0 --mode=devdax --map=mem && udevadm settle && " +
          "echo offline > /sys/devices/system/memory/auto_online_blocks && " +
          "daxctl reconfigure-device --mode=system-ram dax1.0 && udevadm settle",
      );
      const inventory = await capture(guest, "nvdimm-fsdax-kmem");
      const regions = regionsOf(value("ndctl", inventory.ndctl));
      const spaces = regions.flatMap(({ namespaces }) => namespaces.filter(({ size }) => size !== 0));
      assertEquals(
        spaces.map(({ dev, mode, map, name, blockdev, chardev, align, targetNode, disabled }) => (
          { dev, mode, map, name, blockdev, chardev, align, targetNode, disabled }
        )),
        [
          {
            ...{ dev: "namespace0.0", mode: "fsdax", map: "dev", name: "tierbench", blockdev: "pmem0" },
            ...{ chardev: undefined, align: 2 ** 21, targetNode: 2, disabled: false },
          },
          {
            ...{ dev: "namespace1.0", mode: "devdax", map: "mem", name: undefined, blockdev: undefined },
            ...{ chardev: "dax1.0", align: 2 ** 21, targetNode: 3, disabled: false },
          },
        ],
      );
      // Of 1 GiB, 2 MiB are metadata, and only whole blocks of 128 MiB become memory.
      const devices = value("daxctl", inventory.daxctl);
      assertEquals(
        devices.map((
          { chardev, mode, targetNode, onlineMemblocks, totalMemblocks, movable, disabled },
        ) => [chardev, mode, targetNode, onlineMemblocks, totalMemblocks, movable, disabled]),
        [["dax1.0", "system-ram", 3, 7, 7, true, false]],
      );
      const [block] = value("lsblk", inventory.blocks);
      assertEquals([block?.name, block?.fileSystem, block?.label, block?.mountPoints], ["pmem0", "ext4", "data", [
        "/mnt",
      ]]);
      const nodes = value("numactl", inventory.numactl);
      assertEquals(nodes.map(({ node, cpus }) => [node, cpus]), [[0, [0]], [1, [1]], [3, []]]);
    }),
  );
});

labCase("captures: a CXL memory device without and with a region", async (t) => {
  await using guest = await Guest.boot({ profile: "cxl" });
  const device = { memdev: "mem0", pmemSize: GIB / 2 };

  assert(
    await t.step("without a region", async () => {
      const inventory = await capture(guest, "cxl-bare");
      const { memdevs, regions, rootDecoders } = value("cxl", inventory.cxl);
      assertEquals(memdevs.map(({ memdev, pmemSize }) => ({ memdev, pmemSize })), [device]);
      assertEquals(regions, []);
      assertEquals(rootDecoders.map(({ decoder, size, pmemCapable }) => [decoder, size, pmemCapable]), [
        ["decoder0.0", 4 * GIB, true],
      ]);
    }),
  );

  assert(
    await t.step("with a region", async () => {
      await guest.output("cxl create-region -m -t pmem -d decoder0.0 -w 1 mem0 && udevadm settle");
      await guest.output("ndctl create-namespace --mode=fsdax && udevadm settle");
      const inventory = await capture(guest, "cxl-region");
      const { memdevs, regions, rootDecoders } = value("cxl", inventory.cxl);
      assertEquals(memdevs.map(({ memdev, pmemSize }) => ({ memdev, pmemSize })), [device]);
      assertEquals(regions.map(({ region, size, decodeState, memdevs }) => [region, size, decodeState, memdevs]), [
        ["region0", GIB / 2, "commit", ["mem0"]],
      ]);
      assertEquals(rootDecoders.length, 1);
      const buses = value("ndctl", inventory.ndctl).filter(({ regions }) => regions.length > 0);
      assertEquals(buses.map(({ provider, regions }) => [provider, regions.map(({ dev, size }) => [dev, size])]), [
        ["CXL", [["region0", GIB / 2]]],
      ]);
    }),
  );

  assert(
    await t.step("the region keeps data", async () => {
      await guest.output("mkfs.ext4 -q -b 4096 /dev/pmem0 && mount -o dax /dev/pmem0 /mnt && echo kept > /mnt/file");
      await guest.output("umount /mnt && echo 3 > /proc/sys/vm/drop_caches");
      assertEquals(await guest.output("mount -o dax /dev/pmem0 /mnt && cat /mnt/file"), "kept\n");
    }),
  );
});
