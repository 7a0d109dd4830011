/** Machines that no other case boots show the guest what their names say. */

import { assertEquals, assertMatch } from "../assert.ts";
import { Guest } from "./guest.ts";
import { runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";

labCase("plain: one node, no PMEM; apt installs the tools without network", async () => {
  await using guest = await Guest.boot({ profile: "plain", system: "base" });
  assertEquals(await guest.output("ls -d /sys/devices/system/node/node*"), "/sys/devices/system/node/node0\n");
  for (const tool of ["ndctl --version", "ipmctl version"]) assertEquals((await guest.run(tool)).code, 127);
  await runGuide(guest, "memory-mode: Bare metal");
  assertMatch(await guest.output("ipmctl version"), /Version \d+/);
  await guest.output("apt-get update && apt-get install -y ndctl daxctl numactl libpmem1 libmemkind0 ipmctl");
  for (const tool of ["ndctl", "daxctl", "cxl"]) assertMatch(await guest.output(`${tool} --version`), /^\d+/);
});

labCase("nvdimm-eadr: the processors' caches are in the persistence domain", async () => {
  await using guest = await Guest.boot({ profile: "nvdimm-eadr" });
  const domains = await guest.output("cat /sys/bus/nd/devices/region*/persistence_domain");
  assertEquals(domains, "cpu_cache\ncpu_cache\n");
});

labCase("memmap: DRAM is taken for PMEM, without a label", async () => {
  await using guest = await Guest.boot({ profile: "memmap" });
  const [bus] = JSON.parse(await guest.output("ndctl list -BN")) as { provider: string; namespaces: unknown[] }[];
  assertEquals([bus?.provider, bus?.namespaces.length], ["e820", 1]);
});
