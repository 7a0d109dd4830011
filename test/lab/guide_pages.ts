/**
 * The commands of the pages on provisioning, as readers copy them: which case runs those of which section, and the named
 * list of those that no case can run. `test/docs/guide_commands_test.ts` compares both with the pages.
 *
 * @module
 */

import type { Step } from "../../machines/provisioning/contract.ts";
import { assert } from "../assert.ts";
import { blocksOf } from "../docs/page.ts";
import { type Guest, quote } from "./guest.ts";

/** Why a line may be left out; the planner says the same of its steps. */
export type Outside = NonNullable<Step["outsideLab"]>;

/** Lines that cannot run in a guest, by their first word. Nothing else is left out, of pages or plans. */
export const OUTSIDE: Readonly<Record<Outside, RegExp>> = {
  "ipmctl": /^ipmctl /,
  "boot loader": /^(update-grub$|grub2-mkconfig |grubby )/,
  "container engine": /^docker /,
  "package manager": /^dnf /,
};

/**
 * Sections whose machine is another one than the lab's, and the case that runs what is printed for the lab's: two expanders
 * behind two host bridges, on Debian 13.
 */
export const AS_PRINTED: Readonly<Record<string, string>> = {
  "cxl-kmem: Bare metal / Volatile memory": "cxl_volatile_test.ts",
};

/** Sections, each `page: heading / heading`, and the file of the case that runs their commands. */
export const RUN_BY = {
  "memory-mode: Bare metal": "profiles_test.ts",
  "memory-mode: Bare metal / Where there are namespaces": "provision_interrupted_test.ts",
  "fsdax: Bare metal / Regions": "provision_fsdax_test.ts",
  "fsdax: Bare metal / Namespace, file system, mount": "provision_fsdax_test.ts",
  "fsdax: Cloud VM / Virtual NVDIMMs": "provision_fsdax_test.ts",
  "fsdax: Cloud VM / Memory of a node": "cloud_vm_test.ts",
  "fsdax: Cloud VM / The same on systems like RHEL": "cloud_vm_test.ts",
  "fsdax: Taking it back": "provision_interrupted_test.ts",
  "kmem-dax: Bare metal": "provision_kmem_test.ts",
  "kmem-dax: Cloud VM / Memory of a node": "cloud_vm_test.ts",
  "kmem-dax: Cloud VM / Memory that was set aside for fsdax": "cloud_vm_test.ts",
  "kmem-dax: Taking it back": "provision_interrupted_test.ts",
  "cxl-kmem: Bare metal / Promotion and demotion": "cxl_tiering_test.ts",
  "cxl-kmem: Bare metal / Persistent memory": "cxl_kmem_test.ts",
  "cxl-kmem: Taking it back": "cxl_kmem_test.ts",
} as const;

/** A section whose commands are run. */
export type GuideSection = keyof typeof RUN_BY;

/** What keeps a line from being run; `undefined`: nothing. */
export function outside(line: string): Outside | undefined {
  return (Object.keys(OUTSIDE) as Outside[]).find((name) => OUTSIDE[name].test(line));
}

/** The blocks of commands in a section, without the lines that cannot run in a guest. */
export async function guideBlocks(section: GuideSection): Promise<string[]> {
  const [page = "", path = ""] = section.split(": ");
  const text = await Deno.readTextFile(new URL(`../../docs/provisioning/${page}.md`, import.meta.url));
  const blocks = blocksOf(text, path, "sh")
    .map((block) => block.split("\n").filter((line) => outside(line) === undefined).join("\n"))
    .filter((block) => block !== "");
  assert(blocks.length > 0, `${page}.md has no commands in "${path}" that can run here`);
  return blocks;
}

/** Runs blocks as a reader does who copies each into a shell; the first line that fails ends it. */
export async function runBlocks(guest: Guest, blocks: readonly string[]): Promise<void> {
  for (const block of blocks) await guest.output(`sh -ec ${quote(block)}`, { timeoutMs: 300_000 });
}

/** Runs all commands of a section. */
export async function runGuide(guest: Guest, section: GuideSection): Promise<void> {
  await runBlocks(guest, await guideBlocks(section));
}
