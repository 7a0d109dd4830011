/** Provisioning that stops after every step, or dies while a tool is at work: the doctor names the state, and it goes on. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { Guest, quote } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, provisioned, unfinished } from "./provisioning.ts";

const FSDAX = "fsdax --bare-metal --only region0";
const KMEM = "kmem-dax --bare-metal --only region0";

/** What the doctor says under "Unfinished" of the devices of region 0. */
async function stateOf(guest: Guest): Promise<string> {
  const lines = await unfinished(guest);
  return lines.filter((text) => /region0|namespace0\.|pmem0|dax0\./.test(text)).join("\n");
}

/** Takes everything of region 0 back. */
async function reset(guest: Guest): Promise<void> {
  await guest.output(
    `rm -f /etc/udev/rules.d/99-tierbench-* && udevadm control --reload && systemctl disable --now mnt-pmem0.mount
     rm -f /etc/systemd/system/mnt-pmem0.mount /etc/systemd/system/tierbench-* && systemctl daemon-reload
     if [ -e /sys/bus/dax/drivers/kmem/dax0.0 ]; then
       daxctl offline-memory dax0.0; daxctl reconfigure-device --mode=devdax dax0.0
     fi
     ndctl destroy-namespace -f namespace0.0 && udevadm settle`,
  );
}

/**
 * Applies, and when it comes to `tool` with this first argument, lets it work for some milliseconds and kills it together
 * with the process group of tierbench: nobody has time for a last word.
 */
async function applyKilled(guest: Guest, words: string, tool: string, argument: string, ms: number): Promise<void> {
  const wrapper = `/usr/local/sbin/${tool}`; // in the search path before the tool itself
  await guest.writeFile(
    wrapper,
    `#!/bin/bash
PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "$1" = ${quote(argument)} ] || exec ${tool} "$@"
${tool} "$@" & child=$!
sleep ${ms / 1000}
kill -9 -- "-$(cat /run/apply.pid)" "$child"
`,
  );
  await guest.output(`chmod +x ${wrapper}`);
  const line = `echo $$ > /run/apply.pid; exec tierbench provision ${words} --apply --yes`;
  const { code, stdout } = await guest.run(`setsid --wait sh -c ${quote(line)}`, { timeoutMs: 300_000 });
  assertEquals(code, 137, `it was not killed: ${stdout}`);
  assert(stdout.includes(`\n$ ${tool} ${argument} `), stdout);
  await guest.output(`rm ${wrapper} && udevadm settle`);
}

/** Step by step: the step, and what the doctor says after it. */
const STEPS: readonly (readonly [words: string, steps: readonly (readonly [string, RegExp])[]])[] = [
  [FSDAX, [
    ["namespace-region0", /^fsdax: namespace0\.0 is in fsdax mode, \/dev\/pmem0 has no file system$/],
    ["filesystem-region0", /^fsdax: ext4 on \/dev\/pmem0, not mounted$/],
    ["mount-region0", /^$/],
  ]],
  [KMEM, [
    ["namespace-region0", /^kmem-dax: dax0\.0 is a device, not memory$/],
    ["system-ram-region0", /^kmem-dax: dax0\.0 is memory, but only until the next start: no udev rule/],
    ["boot-unit", /^kmem-dax: dax0\.0 is memory, but only until the next start: no udev rule/],
    ["boot-rule-region0", /^$/],
  ]],
];

/** What a tool may leave that was killed at work. */
const KILLED: readonly (readonly [words: string, tool: string, argument: string, ms: number, state: RegExp])[] = [
  [FSDAX, "ndctl", "create-namespace", 100, /namespace0\.0 (is in raw mode|.*disabled|is in fsdax mode)|no namespace/],
  [FSDAX, "mkfs.ext4", "-q", 100, /\/dev\/pmem0 has no file system|ext4 on \/dev\/pmem0, not mounted/],
  [KMEM, "daxctl", "reconfigure-device", 150, /dax0\.0 (is a device, not memory|is disabled|is memory, but)/],
];

labCase("interrupted --apply: the doctor names the state after every step, and applying again goes on", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm" });

  for (const [words, tool, argument, ms, state] of KILLED) {
    assert(
      await t.step(`${words}: killed while ${tool} ${argument} runs`, async () => {
        await applyKilled(guest, words, tool, argument, ms);
        const found = await stateOf(guest);
        console.log(found);
        assertMatch(found, state);
        await provisioned(guest, `${words} --apply --yes`);
        await checkPasses(guest, words);
        await reset(guest);
      }),
    );
  }

  for (const [words, steps] of STEPS) {
    assert(
      await t.step(`${words}: stopped after every step`, async () => {
        for (const [step, state] of steps) {
          const last = step === steps.at(-1)?.[0];
          await provisioned(guest, `${words} --apply --yes --until ${step}`, last ? "complete" : "until");
          assertMatch(await stateOf(guest), state, `after ${step}`);
        }
        await checkPasses(guest, words);
        await reset(guest);
      }),
    );
  }
});
