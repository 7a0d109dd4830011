/** A cloud machine whose node 1 is memory without processors: as such, and set aside as if it were PMEM. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { guideBlocks, runBlocks, runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, pending, planOf, provision, runAsPrinted } from "./provisioning.ts";

const DROP_IN = "/etc/default/grub.d/tierbench.cfg";
const GRUB = "/etc/default/grub";
const FSDAX = "fsdax --cloud-vm --owner alice";
/** Range of node 1 here, and on the machine of the pages. */
const [HERE, THERE] = ["memmap=1G!4G", "memmap=1008G!257G"];
/** Lines with the range of this machine as the page has them. */
const asOnPage = (lines: readonly string[] | undefined) => lines?.join("\n").replaceAll(HERE, THERE);

labCase("cloud VM: node 1 is used as it is, then set aside with memmap= for fsdax, then given back", async (t) => {
  await using guest = await Guest.boot({ profile: "re7p" });
  await guest.output(`useradd -m alice && echo 'GRUB_CMDLINE_LINUX="quiet"' > ${GRUB}`);
  assertEquals(await guest.output("cat /sys/devices/system/node/node1/cpulist"), "\n");
  assertMatch(await guest.readFile("/sys/devices/system/node/node1/meminfo"), /MemTotal: +\d{6,7} kB/);

  await t.step("kmem-dax: nothing is to be done, memkind is told the node, the check passes", async () => {
    await runGuide(guest, "kmem-dax: Cloud VM / Memory of a node");
    const plan = await planOf(guest, "kmem-dax --cloud-vm");
    assertEquals([pending(plan), plan.results.nodes], [[], [1]]);
    assertStringIncludes(plan.warnings.join("\n"), "MEMKIND_DAX_KMEM_NODES=1");
    assertStringIncludes(plan.warnings.join("\n"), "not proven to be PMEM");
    const { code, checks = [] } = await provision(guest, "kmem-dax --cloud-vm --check");
    assertEquals([code, checks.filter(({ ok }) => !ok)], [0, []]);
    const text = (id: string) => checks.find((one) => one.id === id)?.text ?? "";
    assertEquals(text("no-cpus 1"), "no CPUs");
    assertStringIncludes(text("memkind 1"), "without that variable it finds no such node: keep it set");
    assertStringIncludes(text("medium node 1"), "no figure of it counts as that of PMEM");
  });

  await t.step("on bare metal it is refused: plain memory is no PMEM", async () => {
    const { code, plan } = await provision(guest, "kmem-dax --bare-metal");
    assert(code === 3 && plan.kind === "refusal");
    assertStringIncludes(plan.reason, "this machine shows no persistent memory");
  });

  await t.step("the page's line for systems without grub.d changes GRUB's settings, once", async () => {
    for (let i = 0; i < 2; i++) await runGuide(guest, "fsdax: Cloud VM / The same on systems like RHEL");
    assertEquals(await guest.readFile(GRUB), `GRUB_CMDLINE_LINUX="${THERE} quiet"\n`);
    await guest.output(`echo 'GRUB_CMDLINE_LINUX="quiet"' > ${GRUB}`);
  });

  const [install = "", setAside = "", ...mount] = await guideBlocks("fsdax: Cloud VM / Memory of a node");
  await t.step("fsdax: all lines but update-grub run, and GRUB's settings name the range of node 1", async () => {
    await runBlocks(guest, [install]);
    const plan = await planOf(guest, FSDAX);
    const written = plan.steps.find(({ id }) => id === "boot-option");
    assertEquals(asOnPage(written?.commands), setAside, "the page's commands, but for the range");
    const left = plan.steps.find(({ id }) => id === "boot-loader");
    assertEquals([left?.commands, left?.outsideLab, left?.reboot], [["update-grub"], "boot loader", true]);
    // The settings as grub-mkconfig reads them.
    const settings = `. ${GRUB}; . ${DROP_IN}; echo "$GRUB_CMDLINE_LINUX"`;
    await runBlocks(guest, [setAside]);
    assertEquals(await guest.output(settings), `quiet ${THERE}\n`);
    await guest.output(`rm ${DROP_IN}`);
    for (const line of written?.commands ?? []) await guest.output(line);
    assertEquals(await guest.output(settings), `quiet ${HERE}\n`);
  });

  await t.step("after a restart with it fsdax works, and is said to be DRAM", async () => {
    await guest.reboot(HERE);
    assertStringIncludes(await guest.output("ndctl list -v"), '"target_node":1');
    assertEquals((await runAsPrinted(guest, FSDAX)).join("\n"), mount.join("\n"), "the page's commands");
    const { code, checks = [], plan } = await provision(guest, `${FSDAX} --check`);
    assertEquals([code, checks.filter(({ ok }) => !ok)], [0, []]);
    const medium = checks.find(({ id }) => id === "medium /mnt/pmem0")?.text ?? "";
    assertStringIncludes(medium, "DRAM that the kernel option memmap= sets aside: lost at power-off");
    assertStringIncludes(plan.kind === "plan" ? plan.warnings.join("\n") : "", "is DRAM to this machine");
    const bare = (await provision(guest, "fsdax --bare-metal --check")).checks ?? [];
    assertEquals(bare.find(({ id }) => id === "medium /mnt/pmem0")?.ok, false, "on bare metal DRAM is a finding");
  });

  await t.step(
    "kmem-dax gives it back: the settings no longer name it, and the node is there after a restart",
    async () => {
      const plan = await planOf(guest, "kmem-dax --cloud-vm");
      const step = plan.steps.find(({ id }) => id === "boot-option");
      assertEquals(step?.destroys.map(({ device }) => device), ["pmem0"]);
      const page = await guideBlocks("kmem-dax: Cloud VM / Memory that was set aside for fsdax");
      assertEquals(asOnPage(step?.commands), page.join("\n"), "the page's commands, but for the range");
      await guest.output(`echo 'GRUB_CMDLINE_LINUX="quiet ${THERE} ${HERE}"' > ${GRUB}`);
      await runBlocks(guest, page);
      assertEquals((await guest.run(`test -e ${DROP_IN}`)).code, 1);
      assertEquals((await guest.run("findmnt /mnt/pmem0")).code, 1);
      const own = (step?.commands ?? []).filter((line) => line.includes(HERE));
      assertEquals(own.length, 1, "the line that names the range");
      for (const line of own) await guest.output(line);
      assertEquals(await guest.readFile(GRUB), 'GRUB_CMDLINE_LINUX="quiet"\n');
      await guest.reboot();
      await checkPasses(guest, "kmem-dax --cloud-vm");
    },
  );
});
