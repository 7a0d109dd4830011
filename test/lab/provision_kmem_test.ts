/** From bare NVDIMMs to memory nodes without processors by `--apply`; erasing what is there, contribution, and back. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, provisioned, runAsPrinted, unfinished } from "./provisioning.ts";
import { assertWithheld, SMALL, smallRun } from "./small_run.ts";

const FSDAX = "fsdax --bare-metal";
const KMEM = "kmem-dax --bare-metal";
const UNDO = `${KMEM} --undo --yes --erase namespace0.0,namespace1.0`;

/** Kibibytes of memory of nodes 2 and 3, which NVDIMMs become. */
async function nodes(guest: Guest): Promise<(number | undefined)[]> {
  return await Promise.all([2, 3].map(async (node) => {
    const text = await guest.output(`cat /sys/devices/system/node/node${node}/meminfo 2>/dev/null || true`);
    const [, kibibytes] = /MemTotal: +(\d+) kB/.exec(text) ?? [];
    return kibibytes === undefined ? undefined : Number(kibibytes);
  }));
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
          ...["namespace-region1", "filesystem-region1", "mount-region1"],
        ]);
        await checkPasses(guest, FSDAX);
        assertEquals((await provisioned(guest, `${FSDAX} --apply --yes`, "nothing")).outcome.ran, []);
      }),
    );

    assert(
      await t.step("kmem-dax asks for what is on the devices, and takes them when it is told to", async () => {
        await guest.output("echo kept > /mnt/pmem1/file");
        const { outcome } = await provisioned(guest, `${KMEM} --apply --yes`, "refused");
        assertEquals(outcome.ran, []);
        for (const text of ["namespace0.0: ", "ext4", "/mnt/pmem1", "--erase namespace0.0 namespace1.0"]) {
          assertStringIncludes(outcome.message, text);
        }
        const one = await provisioned(guest, `${KMEM} --apply --yes --erase namespace0.0`, "refused");
        assertMatch(one.outcome.message, /^ {2}namespace1\.0: .*ext4/m);
        assert(!/^ {2}namespace0\.0/m.test(one.outcome.message), one.outcome.message);
        assertEquals(await guest.readFile("/mnt/pmem1/file"), "kept\n");
        await provisioned(guest, `${KMEM} --apply --yes --erase namespace0.0,namespace1.0`);
        await checkPasses(guest, KMEM);
        assertEquals(await guest.output("ls /etc/systemd/system | grep -E 'mount|kmem'"), "tierbench-kmem@.service\n");
      }),
    );

    assert(
      await t.step("nodes come back by themselves", async () => {
        await guest.output("systemd-analyze verify /etc/systemd/system/tierbench-kmem@.service");
        const before = await nodes(guest);
        await guest.reboot();
        assertEquals(await nodes(guest), before);
        assert(before.every((kibibytes) => (kibibytes ?? 0) > 2 ** 19), `memory of nodes 2 and 3: ${before}`);
        await checkPasses(guest, KMEM);
        assertEquals(await unfinished(guest), []);
      }),
    );

    assert(
      await t.step("a small run takes the way of a measurement; its report shows neither speed nor price", async () => {
        const run = await smallRun(guest, "kmem-dax", "small");
        assertWithheld(run, "kmem-dax");
        const tiers = run.result.samples.flatMap(({ tiers }) => tiers.filter(({ type }) => type === "PMEM_MEMKIND"));
        assertEquals(tiers.map(({ facts }) => ["2", "3"].includes(facts["node"] ?? "")), Array(3).fill(true));
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
      await t.step("undo takes everything back, and the printed commands lead there again", async () => {
        await provisioned(guest, UNDO);
        assertEquals(await nodes(guest), [undefined, undefined]);
        assertEquals(await guest.output("ls /etc/systemd/system /etc/udev/rules.d | grep tierbench || true"), "");
        assertEquals(await guest.output("ndctl list -N"), "");
        const ran = await runAsPrinted(guest, KMEM);
        assert(ran.some((line) => line.startsWith("daxctl reconfigure-device --mode=system-ram")));
        await checkPasses(guest, KMEM);
      }),
    );
  },
);
