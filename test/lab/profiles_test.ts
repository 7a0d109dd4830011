/** Every machine shows the guest what its name says. */

import { assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";

labCase("plain: one node, no PMEM; apt installs the tools without network", async () => {
  await using guest = await Guest.boot({ profile: "plain", system: "base" });
  assertEquals(await guest.output("ls -d /sys/devices/system/node/node*"), "/sys/devices/system/node/node0\n");
  assertEquals((await guest.run("ndctl --version")).code, 127);
  await guest.output("apt-get update && apt-get install -y ndctl daxctl numactl libpmem1 libmemkind0 ipmctl");
  for (const tool of ["ndctl", "daxctl", "cxl"]) assertMatch(await guest.output(`${tool} --version`), /^\d+/);
});

labCase("nvdimm-eadr: the processors' caches are in the persistence domain", async () => {
  await using guest = await Guest.boot({ profile: "nvdimm-eadr" });
  const domains = await guest.output("cat /sys/bus/nd/devices/region*/persistence_domain");
  assertEquals(domains, "cpu_cache\ncpu_cache\n");
});

labCase("cxl: a memory device becomes a region that keeps data", async () => {
  await using guest = await Guest.boot({ profile: "cxl" });
  assertStringIncludes(await guest.output("cxl list -M"), '"memdev":"mem0"');
  await guest.output("cxl create-region -m -t pmem -d decoder0.0 -w 1 mem0");
  await guest.output("ndctl create-namespace --mode=fsdax && mkfs.ext4 -q -b 4096 /dev/pmem0");
  await guest.output("mount -o dax /dev/pmem0 /mnt && echo kept > /mnt/file && umount /mnt");
  assertEquals(await guest.output("mount -o dax /dev/pmem0 /mnt && cat /mnt/file"), "kept\n");
});

labCase("memmap: DRAM is taken for PMEM, without a label", async () => {
  await using guest = await Guest.boot({ profile: "memmap" });
  const [bus] = JSON.parse(await guest.output("ndctl list -BN")) as { provider: string; namespaces: unknown[] }[];
  assertEquals([bus?.provider, bus?.namespaces.length], ["e820", 1]);
});

labCase("re7p: node 1 is memory without processors; with memmap= it is PMEM", async () => {
  await using guest = await Guest.boot({ profile: "re7p" });
  assertEquals(await guest.output("cat /sys/devices/system/node/node1/cpulist"), "\n");
  assertMatch(await guest.readFile("/sys/devices/system/node/node1/meminfo"), /MemTotal: +\d{6,7} kB/);
  await guest.reboot("memmap=1G!4G");
  assertStringIncludes(await guest.output("ndctl list -v"), '"target_node":1');
});

labCase("virtio-pmem: DAX without a persistence domain of NVDIMMs", async () => {
  await using guest = await Guest.boot({ profile: "virtio-pmem" });
  assertStringIncludes(await guest.output("ndctl list -BN"), '"provider":"virtio-pmem"');
  assertEquals(await guest.output("cat /sys/block/pmem0/queue/dax"), "1\n");
});

labCase("hmat: latencies and memory-side caches", async () => {
  await using guest = await Guest.boot({ profile: "hmat" });
  const node = "/sys/devices/system/node/node1";
  assertEquals(await guest.readFile(`${node}/access0/initiators/read_latency`), "250\n");
  assertEquals(await guest.readFile(`${node}/memory_side_cache/index1/size`), `${256 * 2 ** 20}\n`);
});
