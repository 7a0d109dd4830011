/** The commands of the pages on provisioning, run as they stand there; then their checks, and the way back. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { blocksOf } from "../docs/page.ts";
import { Guest, quote } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses } from "./provisioning.ts";

/** What cannot run in a guest; the whole block is left out. */
const OUTSIDE = /^(ipmctl|update-grub|grub2-mkconfig|docker|dnf)\b/m;

/** The blocks of commands in a section of a page. */
async function commands(page: string, section: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(`../../docs/provisioning/${page}.md`, import.meta.url));
  const blocks = blocksOf(text, section, "sh");
  assert(blocks.length > 0, `${page}.md has no commands in "${section}"`);
  return blocks.filter((block) => !OUTSIDE.test(block));
}

/** Runs blocks as a reader does who copies each into a shell; the first line that fails ends it. */
async function run(guest: Guest, blocks: readonly string[]): Promise<void> {
  for (const block of blocks) await guest.output(`sh -ec ${quote(block)}`, { timeoutMs: 300_000 });
}

labCase("guides: PMEM to fsdax and back, and to kmem-dax and back, by the commands of the pages", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm", system: "base" });
  await guest.output("useradd -m alice");

  assert(
    await t.step("packages, and an NVDIMM that was never used", async () => {
      await run(guest, await commands("fsdax", "Bare metal / Regions"));
      await run(guest, await commands("fsdax", "Cloud VM / Virtual NVDIMMs"));
      const listed = JSON.parse(await guest.output("ndctl list -N")) as { dev: string; mode: string }[];
      assertEquals(listed.find(({ dev }) => dev === "namespace0.0")?.mode, "fsdax");
      // From here on as on a server whose firmware made the regions.
      await guest.output("ndctl destroy-namespace -f namespace0.0 && ndctl disable-region all");
      await guest.output("ndctl init-labels -f all && ndctl enable-region all && udevadm settle");
    }),
  );

  assert(
    await t.step("fsdax", async () => {
      await run(guest, await commands("fsdax", "Bare metal / Namespace, file system, mount"));
      assertStringIncludes(await guest.output("findmnt -no OPTIONS /mnt/pmem0"), "dax=always");
      await checkPasses(guest, "fsdax --bare-metal --owner alice --only region0");
      await run(guest, await commands("fsdax", "Taking it back"));
      assertEquals((await guest.output("ndctl list -N")).trim(), "");
    }),
  );

  assert(
    await t.step("kmem-dax", async () => {
      await run(guest, await commands("kmem-dax", "Bare metal"));
      await checkPasses(guest, "kmem-dax --bare-metal --only region0");
      await run(guest, await commands("kmem-dax", "Taking it back"));
      assertEquals((await guest.output("ndctl list -N; daxctl list")).trim(), "");
    }),
  );
});

labCase("guides: CXL memory to a node without CPUs and back, by the commands of the page", async () => {
  await using guest = await Guest.boot({ profile: "cxl", system: "tools" });
  await run(guest, await commands("cxl-kmem", "Bare metal / Persistent memory"));
  await checkPasses(guest, "cxl-kmem --bare-metal");
  await run(guest, await commands("cxl-kmem", "Taking it back"));
  assertEquals((await guest.output("ndctl list -N; daxctl list")).trim(), "");
});

labCase("guides: memory that is set aside to fsdax, and given back, by the commands of the pages", async () => {
  await using guest = await Guest.boot({ profile: "re7p-memmap", system: "base" });
  await guest.output("useradd -m alice && echo 'GRUB_CMDLINE_LINUX=\"quiet\"' > /etc/default/grub");
  await run(guest, await commands("fsdax", "Cloud VM / Memory of a node"));
  assertStringIncludes(await guest.readFile("/etc/default/grub.d/tierbench.cfg"), "memmap=1008G!257G");
  await checkPasses(guest, "fsdax --cloud-vm --owner alice");
  await run(guest, await commands("kmem-dax", "Cloud VM / Memory of a node"));
  await run(guest, await commands("kmem-dax", "Cloud VM / Memory that was set aside for fsdax"));
  assertEquals((await guest.run("ls /etc/default/grub.d/tierbench.cfg")).code, 2);
  assertEquals((await guest.run("findmnt /mnt/pmem0")).code, 1);
});
