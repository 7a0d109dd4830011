/** A guest with NVDIMMs: its tools, the suite in it, a reboot and a power cut. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";

/** What `ndctl list -BDR` prints of a bus, as far as it is needed. */
interface Bus {
  readonly provider: string;
  readonly regions: readonly { readonly dev: string; readonly size: number; readonly persistence_domain: string }[];
}

labCase("two NVDIMMs are regions for ndctl and doctor, and outlive reboot and power cut", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm" });
  console.log(`first boot: ${guest.bootSeconds.toFixed(1)} s`);

  await t.step("ndctl lists two regions of 1 GiB", async () => {
    const buses = JSON.parse(await guest.output("ndctl list -BDR")) as Bus[];
    assertEquals(buses.map(({ provider }) => provider), ["ACPI.NFIT"]);
    const regions = buses.flatMap(({ regions }) => regions);
    const seen = regions.map(({ size, persistence_domain }) => ({ size, persistence_domain }));
    assertEquals(seen, Array(2).fill({ size: 2 ** 30, persistence_domain: "memory_controller" }));
  });

  await t.step("tierbench doctor runs from the read-only disk", async () => {
    const { code, stdout, stderr } = await guest.run("tierbench doctor --json");
    assertEquals(code, 0, stderr);
    const text = JSON.stringify(JSON.parse(stdout));
    for (const device of ["region0", "region1"]) assertStringIncludes(text, device);
  });

  await t.step("commands have exit codes, two outputs and a deadline", async () => {
    assertEquals(await guest.run("echo out; echo err >&2; exit 3"), { code: 3, stdout: "out\n", stderr: "err\n" });
    await guest.writeFile("/root/it's here", "text\n");
    assertEquals(await guest.readFile("/root/it's here"), "text\n");
  });

  const mount = "mkdir -p /mnt/pmem && mount -o dax /dev/pmem0 /mnt/pmem";
  await t.step("data on an fsdax namespace outlives a reboot", async () => {
    await guest.output("ndctl create-namespace -f -e namespace0.0 --mode=fsdax", { timeoutMs: 60_000 });
    await guest.output(`mkfs.ext4 -q -b 4096 /dev/pmem0 && ${mount} && echo kept > /mnt/pmem/file`);
    await guest.reboot("tierbench.lab=again");
    console.log(`second boot: ${guest.bootSeconds.toFixed(1)} s`);
    assertStringIncludes(await guest.readFile("/proc/cmdline"), " tierbench.lab=again");
    assertEquals(await guest.output(`${mount} && cat /mnt/pmem/file`), "kept\n");
    assertEquals(await guest.readFile("/root/it's here"), "text\n");
  });

  await t.step("synchronized data outlives a power cut", async () => {
    await guest.output("echo synced > /mnt/pmem/synced && sync /mnt/pmem/synced");
    await guest.powerCut();
    await guest.start();
    console.log(`third boot: ${guest.bootSeconds.toFixed(1)} s`);
    assert(!(await guest.readFile("/proc/cmdline")).includes("tierbench.lab"));
    assertEquals(await guest.output(`${mount} && cat /mnt/pmem/file /mnt/pmem/synced`), "kept\nsynced\n");
  });
});
