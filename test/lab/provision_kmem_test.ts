/** From bare NVDIMMs to memory nodes without processors by `--apply`; erasing what is there, contribution, and back. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { guideBlocks } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, provisioned, runAsPrinted, unfinished } from "./provisioning.ts";
import { assertWithheld, SMALL, smallRun } from "./small_run.ts";

const FSDAX = "fsdax --bare-metal --only region0";
const KMEM = "kmem-dax --bare-metal --only region0";

/** Kibibytes of memory of node 2, which the first NVDIMM becomes; undefined: there is no such node. */
async function nodeMemory(guest: Guest): Promise<number | undefined> {
  const text = await guest.output("cat /sys/devices/system/node/node2/meminfo 2>/dev/null || true");
  const [, kibibytes] = /MemTotal: +(\d+) kB/.exec(text) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes);
}

labCase(
  "kmem-dax by --apply on what was fsdax: erase, reboot, small run, contribution, undo, as printed",
  async (t) => {
    await using guest = await Guest.boot({ profile: "nvdimm", system: "base" });

    assert(
      await t.step("--apply makes fsdax of a fresh machine, tools included", async () => {
        const { outcome } = await provisioned(guest, `${FSDAX} --apply --yes`);
        assertEquals(outcome.ran, [
          "packages",
          ...["namespace-region0", "filesystem-region0", "mount-region0"],
        ]);
        await checkPasses(guest, FSDAX);
        assertEquals((await provisioned(guest, `${FSDAX} --apply --yes`, "nothing")).outcome.ran, []);
      }),
    );

    assert(
      await t.step("kmem-dax asks for what is on the devices, and takes them when it is told to", async () => {
        await guest.output("echo kept > /mnt/pmem0/file");
        const { outcome } = await provisioned(guest, `${KMEM} --apply --yes`, "refused");
        assertEquals(outcome.ran, []);
        for (const text of ["namespace0.0: ", "ext4", "/mnt/pmem0", "--erase namespace0.0"]) {
          assertStringIncludes(outcome.message, text);
        }
        const other = await provisioned(guest, `${KMEM} --apply --yes --erase namespace1.0`, "refused");
        assertMatch(other.outcome.message, /^ {2}namespace0\.0: .*ext4/m);
        assertEquals(await guest.readFile("/mnt/pmem0/file"), "kept\n");
        await provisioned(guest, `${KMEM} --apply --yes --erase namespace0.0`);
        await checkPasses(guest, KMEM);
        assertEquals(
          await guest.output("ls /etc/systemd/system | grep -E 'mnt|tierbench'"),
          "tierbench-kmem@.service\n",
        );
      }),
    );

    assert(
      await t.step("nodes come back by themselves", async () => {
        await guest.output("systemd-analyze verify /etc/systemd/system/tierbench-kmem@.service");
        const before = await nodeMemory(guest);
        await guest.reboot();
        assertEquals(await nodeMemory(guest), before);
        assert((before ?? 0) > 2 ** 19, `memory of node 2: ${before} kB`);
        await checkPasses(guest, KMEM);
        assertEquals((await unfinished(guest)).filter((text) => /region0|namespace0|dax0/.test(text)), []);
      }),
    );

    assert(
      await t.step("a small run takes the way of a measurement; its report shows neither speed nor price", async () => {
        const run = await smallRun(guest, "kmem-dax", "small");
        assertWithheld(run, "kmem-dax");
        const tiers = run.result.samples.flatMap(({ tiers }) => tiers.filter(({ type }) => type === "PMEM_MEMKIND"));
        assertEquals(tiers.map(({ facts }) => facts["node"]), Array(3).fill("2"));
      }),
    );

    assert(
      await t.step("the preset for contributions makes one page, which a report reads back", async () => {
        const fields = { ...SMALL, "workload.dim": 16, "workload.data.skew": "criteo" };
        const words = Object.entries(fields).map(([name, value]) => `--set '${name}=${JSON.stringify(value)}'`).join(
          " ",
        );
        await guest.output(`tierbench run --preset contribute ${words} --note "idle: yes" --out sent/run`, {
          timeoutMs: 600_000,
        });
        const pages = (await guest.output("find sent -name 'contribution-*.html'")).trim().split("\n");
        assertEquals(pages.length, 1, `${pages}`);
        const { stdout, stderr, code } = await guest.run(`tierbench report ${pages[0]} --out sent/report`);
        assertEquals(code, 0, stderr);
        for (const text of ["emulated, virtual", "a hypervisor runs this machine", "idle"]) {
          assertStringIncludes(stdout, text);
        }
        const report = JSON.parse(await guest.readFile("/root/sent/report/summary.json")) as {
          readonly cases: readonly {
            readonly configuration: string;
            readonly virtual: boolean;
            throughput?: unknown;
          }[];
        };
        const shown = report.cases.map(({ configuration, throughput }) => [configuration, throughput !== undefined]);
        assertEquals(shown, [["dram", true], ["kmem-dax", false]]);
      }),
    );

    assert(
      await t.step(
        "undo takes everything back, and the printed commands, those of the page, lead there again",
        async () => {
          await provisioned(guest, `${KMEM} --undo --yes`);
          assert([undefined, 0].includes(await nodeMemory(guest)), "node 2 still has memory");
          assertEquals(await guest.output("ls /etc/systemd/system /etc/udev/rules.d | grep tierbench || true"), "");
          assertEquals(await guest.output("ndctl list -N -r region0"), "");
          await guest.output("echo online > /sys/devices/system/memory/auto_online_blocks"); // as newer kernels start
          const ran = await runAsPrinted(guest, KMEM);
          const page = await guideBlocks("kmem-dax: Bare metal");
          assert(page[0]?.startsWith("apt-get update\n"), page[0]); // by --apply, in the first step
          assertEquals(ran.join("\n"), page.slice(1).join("\n"));
          await checkPasses(guest, KMEM);
        },
      ),
    );
  },
);
