/** Volatile CXL expanders on a kernel and tools of now: two devices in one region, a node, back after a restart. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, pending, planOf, provisioned, runAsPrinted } from "./provisioning.ts";

const WORDS = "cxl-kmem --bare-metal";
const NODE = "/sys/devices/system/node/node1";
/** Kilobytes of both devices, but for what page structures take of them. */
const ONLINE = /MemTotal: +1048576 kB/;

labCase("cxl-kmem, volatile: two expanders become a node, checked, back after a restart, taken back", async (t) => {
  await using guest = await Guest.boot({ profile: "cxl-volatile" });

  await t.step("every printed command runs, one region has both, and the check passes", async () => {
    const commands = await runAsPrinted(guest, WORDS);
    assertStringIncludes(commands.join("\n"), "cxl create-region -m -t ram -d decoder0.0 -w 2 mem0 mem1 || ");
    const regions = JSON.parse(await guest.output("cxl list -R")) as { interleave_ways: number; size: number }[];
    assertEquals(regions.map(({ interleave_ways, size }) => [interleave_ways, size]), [[2, 1024 ** 3]]);
    assertEquals(await guest.readFile(`${NODE}/cpulist`), "\n");
    assertMatch(await guest.readFile(`${NODE}/meminfo`), ONLINE);
    await checkPasses(guest, WORDS);
  });

  await t.step("doctor says that it is CXL memory, and what the kernel would do with it", async () => {
    const doctor = await guest.output("tierbench doctor");
    assertMatch(doctor, /^\+ region0 +1 GiB/m);
    assertMatch(doctor, /^\+ decoder0\.0 +window of 4 GiB/m);
  });

  await t.step("after a restart region and node are back by themselves", async () => {
    await guest.reboot();
    // Units that devices start may be under way when the system says that it runs.
    await guest.output(`until grep -q "MemTotal: *[1-9]" ${NODE}/meminfo; do sleep 1; done`);
    assertMatch(await guest.readFile(`${NODE}/meminfo`), ONLINE);
    assertEquals(pending(await planOf(guest, WORDS)), []);
    await checkPasses(guest, WORDS);
  });

  await t.step("taken back, neither node nor region is there, nor files", async () => {
    await provisioned(guest, `${WORDS} --undo --yes`);
    assertEquals((await guest.run("cxl list -R 2> /dev/null")).stdout.includes("region0"), false);
    assertEquals((await guest.run(`grep -q "MemTotal: *[1-9]" ${NODE}/meminfo`)).code !== 0, true);
    const files = await guest.output("ls /etc/systemd/system /etc/udev/rules.d");
    assert(!files.includes("tierbench"), files);
  });
});
