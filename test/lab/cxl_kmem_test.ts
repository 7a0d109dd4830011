/** CXL memory from bare devices to a node without processors that comes back at every start. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { guideBlocks, runBlocks, runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, pending, planOf, provisioned, runAsPrinted } from "./provisioning.ts";
import { assertWithheld, smallRun } from "./small_run.ts";

const WORDS = "cxl-kmem --bare-metal";
const NODE = "/sys/devices/system/node/node1";

labCase("cxl-kmem: as printed, checked, run, back after a restart, taken back", async (t) => {
  await using guest = await Guest.boot({ profile: "cxl" });

  const page = await guideBlocks("cxl-kmem: Bare metal / Persistent memory");
  await t.step("every printed command runs, they are those of the page, and the check passes", async () => {
    await guest.output("echo online > /sys/devices/system/memory/auto_online_blocks"); // as newer kernels start
    assertEquals((await runAsPrinted(guest, WORDS)).join("\n"), page.join("\n"));
    await checkPasses(guest, WORDS);
  });

  await t.step("a run takes it, is recorded as emulated on a virtual medium, and shows no speed", async () => {
    assertWithheld(await smallRun(guest, "kmem-dax", "out"), "kmem-dax");
  });

  await t.step("after a restart the region has another UUID, and the node is back", async () => {
    const uuid = await guest.readFile("/sys/bus/cxl/devices/region0/uuid");
    const namespace = await guest.output("ndctl list -N");
    await guest.reboot();
    assert(await guest.readFile("/sys/bus/cxl/devices/region0/uuid") !== uuid, "cxl chooses a UUID for each region");
    const of = (text: string) => /"uuid":"([\da-f-]+)"/.exec(text)?.[1];
    assertEquals(of(await guest.output("ndctl list -N")), of(namespace), "the same namespace, from its label");
    assertEquals(await guest.readFile(`${NODE}/cpulist`), "\n");
    assertMatch(await guest.readFile(`${NODE}/meminfo`), /MemTotal: +[1-9]\d{5} kB/);
    assertEquals(pending(await planOf(guest, WORDS)), []);
    await checkPasses(guest, WORDS);
  });

  await t.step("taken back, neither node nor region is there, nor files", async () => {
    await provisioned(guest, `${WORDS} --undo --yes`);
    assertEquals(await guest.output("cxl list -R 2> /dev/null"), "[\n]\n");
    assertEquals((await guest.run(`grep -q "MemTotal: *[1-9]" ${NODE}/meminfo`)).code !== 0, true);
    const files = await guest.output("ls /etc/systemd/system /etc/udev/rules.d");
    assert(!files.includes("tierbench"), files);
    const plan = await planOf(guest, WORDS);
    assertStringIncludes(pending(plan).join(), "pmem-mem0,namespace-region0,system-ram-region0");
  });

  await t.step("the page's commands lead there again, and its way back from there", async () => {
    await runBlocks(guest, page);
    assertMatch(await guest.readFile(`${NODE}/meminfo`), /MemTotal: +[1-9]\d{5} kB/);
    await runGuide(guest, "cxl-kmem: Taking it back");
    assertEquals(await guest.output("ndctl list -N; daxctl list; cxl list -R 2> /dev/null"), "[\n]\n");
  });
});
