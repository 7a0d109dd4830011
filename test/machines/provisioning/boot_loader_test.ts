/** Setting memory aside: the range, and each system's way to the kernel's command line. */

import { assertEquals, assertStringIncludes } from "../../assert.ts";
import type { OsRelease } from "../../../machines/inventory/inventory.ts";
import { known } from "../../../machines/inventory/tool.ts";
import { updateLines } from "../../../machines/provisioning/boot_loader.ts";
import type { ProvisionRequest } from "../../../machines/provisioning/contract.ts";
import { familyOf, packageManager } from "../../../machines/provisioning/packages.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import { bareInventory, bus, namespace, region } from "./inventories.ts";

const GIB = 1024 ** 3;

/** The shape of Alibaba's re7p: RAM of node 1, which has no CPUs, from 257 GiB on. */
const RE7P: Readonly<Record<string, string>> = {
  "cpu.virtual": "yes",
  "memory.total": String(1265 * GIB),
  "memory.ram.0.start": String(1024 ** 2),
  "memory.ram.0.end": String(2 * GIB),
  "memory.ram.1.start": String(4 * GIB),
  "memory.ram.1.end": String(257 * GIB),
  "memory.ram.2.start": String(257 * GIB),
  "memory.ram.2.end": String(1265 * GIB),
  "node.0.cpus": "0-63",
  "node.0.total": String(255 * GIB),
  "node.1.cpus": "",
  "node.1.total": String(1008 * GIB),
  "node.1.start": String(257 * GIB),
  "node.1.end": String(1265 * GIB),
};

function commands(os: OsRelease, request: Partial<ProvisionRequest> = {}): string[] {
  const plan = provisionPlan(bareInventory(RE7P, { os: known(os) }), { target: "fsdax", ...request });
  if (plan.kind === "refusal") throw new Error(plan.reason);
  return plan.steps.filter((one) => one.id.startsWith("boot-")).flatMap((one) => one.commands);
}

function reason(facts: Record<string, string>, request: Partial<ProvisionRequest>): string {
  const plan = provisionPlan(bareInventory(facts), { target: "fsdax", ...request });
  return plan.kind === "refusal" ? `${plan.reason} ${plan.instead ?? ""}` : `not refused: ${plan.summary}`;
}

const os = (id: string, version: string | undefined, like: string[] = []): OsRelease => ({
  id,
  version,
  like,
  name: id,
});

Deno.test("a cloud VM's node without CPUs is set aside as in DeepRec's guide", () => {
  assertEquals(commands(os("debian", "12")), [
    "mkdir -p /etc/default/grub.d",
    "cat > /etc/default/grub.d/tierbench.cfg <<'EOF'\n" +
    'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX memmap=1008G!257G"\nEOF',
    "update-grub",
  ]);
  assertEquals(commands(os("alinux", "3", ["rhel", "fedora", "centos", "anolis"])), [
    "grep -q '^GRUB_CMDLINE_LINUX=.*memmap=1008G!257G' /etc/default/grub || " +
    `sed -i 's/^GRUB_CMDLINE_LINUX="/&memmap=1008G!257G /' /etc/default/grub`,
    'grub2-mkconfig -o "$(readlink -e /etc/grub2$(test -d /sys/firmware/efi && echo -efi).cfg)"',
    "grubby --update-kernel=ALL --args='memmap=1008G!257G'",
  ]);
});

Deno.test("the plan says that the memory is DRAM, and which steps the lab leaves out", () => {
  const plan = provisionPlan(bareInventory(RE7P), { target: "fsdax" });
  if (plan.kind === "refusal") throw new Error(plan.reason);
  assertStringIncludes(plan.warnings.join("\n"), "is DRAM to this machine: its file system is lost at power-off");
  assertEquals(plan.steps.filter((one) => one.outsideLab === "boot loader").map((one) => [one.id, one.reboot]), [
    ["boot-loader", true],
  ]);
});

Deno.test("updateLines() writes where the system's GRUB reads", () => {
  const add = (one: OsRelease) => updateLines(one, familyOf(one) ?? "debian", { add: "4G!8G" });
  const modern = ["grub2-mkconfig -o /boot/grub2/grub.cfg", "grubby --update-kernel=ALL --args='memmap=4G!8G'"];
  assertEquals(add(os("debian", "12")), ["update-grub"]);
  assertEquals(add(os("ubuntu", "24.04", ["debian"])), ["update-grub"]);
  assertEquals(add(os("rhel", "9.4", ["fedora"])), modern);
  assertEquals(add(os("rocky", "9.4", ["rhel", "centos", "fedora"])), modern);
  assertEquals(add(os("fedora", "41")), modern);
  assertEquals(add(os("rhel", "8.10", ["fedora"])).length, 2);
  assertStringIncludes(add(os("rhel", "8.10", ["fedora"]))[0] ?? "", "-efi");
  // No entries of their own for each kernel there.
  assertEquals(add(os("centos", "7", ["rhel", "fedora"])).length, 1);
  assertEquals(
    updateLines(os("rhel", "9"), "redhat", { remove: "4G!8G" })[1],
    "grubby --update-kernel=ALL --remove-args='memmap=4G!8G'",
  );
});

Deno.test("packageManager() is the system's own", () => {
  assertEquals(packageManager(os("debian", "12")), "apt-get");
  assertEquals(packageManager(os("linuxmint", "22", ["ubuntu", "debian"])), "apt-get");
  assertEquals(packageManager(os("rhel", "9.4", ["fedora"])), "dnf");
  assertEquals(packageManager(os("centos", "7", ["rhel", "fedora"])), "yum");
  assertEquals(packageManager(os("alinux", "2.1903", ["rhel", "fedora", "centos", "anolis"])), "yum");
  assertEquals(packageManager(os("alinux", "3", ["rhel", "fedora", "centos", "anolis"])), "dnf");
  assertEquals(packageManager(os("amzn", "2", ["centos", "rhel", "fedora"])), "yum");
  assertEquals(packageManager(os("fedora", "41")), "dnf");
  assertEquals(packageManager(os("arch", undefined)), undefined);
});

Deno.test("a range that is not RAM above 4 GiB is refused, with the RAM there is", () => {
  // A window of devices: the kernel would make a device of it that corrupts what is written.
  assertStringIncludes(reason(RE7P, { memmap: "1G!2G" }), "below 4 GiB are the kernel, devices and firmware");
  assertStringIncludes(reason(RE7P, { memmap: "16G!1260G" }), "not all RAM; System RAM is at");
  assertStringIncludes(reason(RE7P, { memmap: "16G!1260G" }), "4 GiB to 1265 GiB");
  assertStringIncludes(reason(RE7P, { memmap: "1G" }), "must be a range in whole GiB");
  assertStringIncludes(reason(RE7P, { memmap: "0G!4G" }), "must be a range in whole GiB");
  // Neighbouring ranges are one.
  assertStringIncludes(reason(RE7P, { memmap: "16G!250G" }), "not refused");
});

Deno.test("a range is not believed where the kernel hides the RAM", () => {
  const hidden = Object.fromEntries(Object.entries(RE7P).filter(([key]) => !key.startsWith("memory.ram.")));
  assertStringIncludes(reason(hidden, { memmap: "16G!300G" }), "Run it as root");
});

Deno.test("between several nodes without CPUs, or without their addresses, the user names the range", () => {
  assertStringIncludes(
    reason({ ...RE7P, "node.2.cpus": "", "node.2.total": "1" }, {}),
    "2 NUMA nodes have memory and no",
  );
  const nowhere = Object.fromEntries(Object.entries(RE7P).filter(([key]) => !/^node\.1\.(start|end)$/.test(key)));
  assertStringIncludes(reason(nowhere, {}), "Where the memory of node 1 lies could not be read");
});

Deno.test("another range than that of the running kernel is refused", () => {
  const ndctl = known([bus("e820", [region("region0", [namespace("namespace0.0", { mode: "fsdax" })])])]);
  const plan = provisionPlan(
    bareInventory({ "cpu.virtual": "yes", "kernel.cmdline_memmap": "memmap=nopentium memmap=1G!4G" }, { ndctl }),
    { target: "fsdax", memmap: "2G!4G" },
  );
  assertStringIncludes(plan.kind === "refusal" ? plan.reason : "", "The kernel runs with memmap=1G!4G");
});
