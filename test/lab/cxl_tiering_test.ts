/** The kernel's promotion and demotion, switched as printed, still so after a restart, and taken back. */

import { assertEquals } from "../assert.ts";
import { Guest } from "./guest.ts";
import { runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { pending, planOf, provisioned } from "./provisioning.ts";

const WORDS = "cxl-kmem --bare-metal --tiering on";
const VALUES = "cat /proc/sys/kernel/numa_balancing /sys/kernel/mm/numa/demotion_enabled";
const FILES = "ls /etc/sysctl.d /etc/tmpfiles.d | grep -c tierbench || true";

labCase(
  "cxl-kmem --tiering: the page's lines are the planner's, last over a restart, and are taken back",
  async (t) => {
    await using guest = await Guest.boot({ profile: "cxl" });
    // As kernels with several nodes start.
    const before = "1\nfalse\n";
    await guest.output("echo 1 > /proc/sys/kernel/numa_balancing; echo false > /sys/kernel/mm/numa/demotion_enabled");

    await t.step("the lines of the page switch both on, and the plan takes its steps for done", async () => {
      await runGuide(guest, "cxl-kmem: Bare metal / Promotion and demotion");
      assertEquals(await guest.output(VALUES), "2\ntrue\n");
      const left = pending(await planOf(guest, WORDS));
      assertEquals(left.filter((id) => id === "promotion" || id === "demotion"), []);
    });

    await t.step("after a restart both are on", async () => {
      await guest.reboot();
      assertEquals(await guest.output(VALUES), "2\ntrue\n");
    });

    await t.step("taken back without the option, both are as before, and no file is left", async () => {
      await provisioned(guest, "cxl-kmem --bare-metal --undo --yes");
      assertEquals(await guest.output(VALUES), before);
      assertEquals(await guest.output(FILES), "0\n");
    });
  },
);
