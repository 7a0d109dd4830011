/** Provisioning that stops after every step, or dies while a tool is at work: the doctor names the state, and it goes on. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { Guest, quote } from "./guest.ts";
import { type GuideSection, runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, provisioned, unfinished } from "./provisioning.ts";

const FSDAX = "fsdax --bare-metal --only region0";
const KMEM = "kmem-dax --bare-metal --only region0";
const CXL = "cxl-kmem --bare-metal";

/** What the doctor says under "Unfinished" of the devices of region 0. */
async function stateOf(guest: Guest): Promise<string> {
  const lines = await unfinished(guest);
  return lines.filter((text) => /region0|namespace0\.|pmem0|dax0\./.test(text)).join("\n");
}

/** Takes everything of region 0 back by the commands of a page. */
async function takeBack(guest: Guest, section: GuideSection): Promise<void> {
  await runGuide(guest, section);
  await guest.output("udevadm settle");
  assertEquals(await guest.output("ndctl list -N -r region0; daxctl list; findmnt /mnt/pmem0 || true"), "");
  const files = await guest.output("ls /etc/systemd/system /etc/udev/rules.d | grep -E 'tierbench|pmem' || true");
  assertEquals(files, "", "what a take-back leaves");
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

/** Steps of a plan with what the doctor says after each; then the section of a page that takes all of it back. */
interface Way {
  readonly words: string;
  readonly steps: readonly (readonly [step: string, state: RegExp])[];
  readonly back: GuideSection;
}

const UNTIL_NEXT_START = /: dax0\.0 is memory, but only until the next start: no udev rule/;

const WAYS: readonly Way[] = [
  {
    words: FSDAX,
    steps: [
      ["namespace-region0", /^fsdax: namespace0\.0 is in fsdax mode, \/dev\/pmem0 has no file system$/],
      ["filesystem-region0", /^fsdax: ext4 on \/dev\/pmem0, not mounted$/],
      ["mount-region0", /^$/],
    ],
    back: "fsdax: Taking it back",
  },
  {
    words: KMEM,
    steps: [
      ["namespace-region0", /^kmem-dax: dax0\.0 is a device, not memory$/],
      ["system-ram-region0", UNTIL_NEXT_START],
      ["boot-unit", UNTIL_NEXT_START],
      ["boot-rule-region0", /^$/],
    ],
    back: "kmem-dax: Taking it back",
  },
];

const CXL_WAY: Way = {
  words: CXL,
  steps: [
    ["pmem-mem0", /^cxl-kmem: region0 \(512 MiB\) has no namespace$/],
    ["namespace-region0", /^cxl-kmem: dax0\.0 is a device, not memory$/],
    ["system-ram-region0", UNTIL_NEXT_START],
    ["boot-unit", UNTIL_NEXT_START],
    [
      "boot-rule-region0",
      /^cxl-kmem: dax0\.0 is memory, but only until the next start: no unit in \/etc makes CXL region0/,
    ],
    ["boot-regions", /^$/],
  ],
  back: "cxl-kmem: Taking it back",
};

/** Applies step by step; each time the doctor names the state, and the next call goes on. */
async function stopAfterEveryStep(guest: Guest, { words, steps, back }: Way): Promise<void> {
  for (const [step, state] of steps) {
    const last = step === steps.at(-1)?.[0];
    await provisioned(guest, `${words} --apply --yes --until ${step}`, last ? "complete" : "until");
    assertMatch(await stateOf(guest), state, `after ${step}`);
  }
  await checkPasses(guest, words);
  await takeBack(guest, back);
}

/** What a tool may leave that was killed at work. */
const KILLED: readonly {
  readonly words: string;
  readonly tool: string;
  readonly argument: string;
  readonly ms: number;
  readonly state: RegExp;
  readonly back: GuideSection;
}[] = [
  {
    ...{ words: FSDAX, tool: "ndctl", argument: "create-namespace", ms: 100 },
    state: /namespace0\.0 (is in raw mode|.*disabled|is in fsdax mode)|no namespace/,
    back: "fsdax: Taking it back",
  },
  {
    ...{ words: FSDAX, tool: "mkfs.ext4", argument: "-q", ms: 100 },
    state: /\/dev\/pmem0 has no file system|ext4 on \/dev\/pmem0, not mounted/,
    back: "memory-mode: Bare metal / Where there are namespaces",
  },
  {
    ...{ words: KMEM, tool: "daxctl", argument: "reconfigure-device", ms: 150 },
    state: /dax0\.0 (is a device, not memory|is disabled|is memory, but)/,
    back: "kmem-dax: Taking it back",
  },
];

labCase("interrupted --apply: the doctor names the state after every step, and applying again goes on", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm" });

  for (const { words, tool, argument, ms, state, back } of KILLED) {
    assert(
      await t.step(`${words}: killed while ${tool} ${argument} runs`, async () => {
        await applyKilled(guest, words, tool, argument, ms);
        const found = await stateOf(guest);
        console.log(found);
        assertMatch(found, state);
        await provisioned(guest, `${words} --apply --yes`);
        await checkPasses(guest, words);
        await takeBack(guest, back);
      }),
    );
  }

  for (const way of WAYS) {
    assert(await t.step(`${way.words}: stopped after every step`, () => stopAfterEveryStep(guest, way)));
  }
});

labCase("interrupted --apply: CXL memory, from a region that was only begun", async () => {
  await using guest = await Guest.boot({ profile: "cxl" });
  // The first thing that cxl create-region does; if it is killed then, nothing has been given to the region.
  await guest.output("echo region0 > /sys/bus/cxl/devices/decoder0.0/create_pmem_region");
  assertMatch(await stateOf(guest), /^cxl-kmem: CXL region region0 is not committed \(reset\)$/);
  await stopAfterEveryStep(guest, CXL_WAY);
});
