/** A cloud machine whose node 1 is memory without processors: as such, and set aside as if it were PMEM. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, pending, planOf, provision, runAsPrinted } from "./provisioning.ts";

const DROP_IN = "/etc/default/grub.d/tierbench.cfg";

labCase("cloud VM: node 1 is used as it is, then set aside with memmap= for fsdax, then given back", async (t) => {
  await using guest = await Guest.boot({ profile: "re7p" });

  await t.step("kmem-dax: nothing is to be done, memkind is told the node, the check passes", async () => {
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

  let option = "";
  await t.step("fsdax: all lines but update-grub run, and GRUB's settings name the range of node 1", async () => {
    const plan = await planOf(guest, "fsdax --cloud-vm");
    const written = plan.steps.find(({ id }) => id === "boot-option");
    for (const line of written?.commands ?? []) await guest.output(line);
    const left = plan.steps.find(({ id }) => id === "boot-loader");
    assertEquals([left?.commands, left?.outsideLab, left?.reboot], [["update-grub"], "boot loader", true]);
    // As grub-mkconfig reads it.
    const line = await guest.output(`GRUB_CMDLINE_LINUX=quiet; . ${DROP_IN}; echo "$GRUB_CMDLINE_LINUX"`);
    assertEquals(line, "quiet memmap=1G!4G\n");
    option = line.trim().slice("quiet ".length);
  });

  await t.step("after a restart with it fsdax works, and is said to be DRAM", async () => {
    await guest.reboot(option);
    await runAsPrinted(guest, "fsdax --cloud-vm");
    const { code, checks = [], plan } = await provision(guest, "fsdax --cloud-vm --check");
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
      for (const line of step?.commands ?? []) await guest.output(`${line} || test ! -e /etc/default/grub`);
      assertEquals((await guest.run(`test -e ${DROP_IN}`)).code, 1);
      await guest.reboot();
      await checkPasses(guest, "kmem-dax --cloud-vm");
    },
  );
});
