/** From bare NVDIMMs to file systems with DAX by the commands of page and planner; reboot, training, power cut, and back. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { runGuide } from "./guide_pages.ts";
import { labCase } from "./lab_case.ts";
import { checkPasses, pending, planOf, provisioned, runAsPrinted, unfinished } from "./provisioning.ts";
import { assertWithheld, type SmallRun, smallRun, smallScenario } from "./small_run.ts";

const FSDAX = "fsdax --bare-metal --owner alice";
const UNITS = ["mnt-pmem0.mount", "mnt-pmem1.mount"];

/** Namespaces by device, with what tells one from another made later. */
async function namespaces(guest: Guest): Promise<string[]> {
  const listed = JSON.parse(await guest.output("ndctl list -N")) as { dev: string; uuid: string; mode: string }[];
  return listed.map(({ dev, uuid, mode }) => `${dev} ${mode} ${uuid}`).sort();
}

/** Bytes that files take on region 0's file system. */
async function usedBytes(guest: Guest): Promise<number> {
  return Number((await guest.output("df --output=used -B1 /mnt/pmem0 | tail -n 1")).trim());
}

/** Waits until a worker trains with its pool on the file system, and for it to store some more. */
async function training(guest: Guest): Promise<void> {
  const mapped = "grep -qs 'tierstore-.*[.]pool' /proc/[0-9]*/maps";
  await guest.output(`until ${mapped}; do kill -0 "$(cat cut.pid)" || { cat cut.log; exit 1; }; sleep 0.2; done`);
  await guest.output(`sleep 3; ${mapped}`); // it has not ended meanwhile
}

labCase("fsdax by page and as printed: check, reboot, small run, power cut while training, undo", async (t) => {
  await using guest = await Guest.boot({ profile: "nvdimm", system: "base" });

  assert(
    await t.step(
      "the page's commands run on a system without the tools, for an NVDIMM that was never used",
      async () => {
        assertEquals((await guest.run("ndctl --version")).code, 127);
        await guest.output("useradd -m alice");
        await runGuide(guest, "fsdax: Bare metal / Regions");
        await runGuide(guest, "fsdax: Cloud VM / Virtual NVDIMMs");
        const listed = JSON.parse(await guest.output("ndctl list -N -r region0")) as { mode: string }[];
        assertEquals(listed.map(({ mode }) => mode), ["fsdax"]);
      },
    ),
  );

  assert(
    await t.step("they run where the firmware made the region; for the other one, those that are printed", async () => {
      const [dimm = {}] = JSON.parse(await guest.output("ndctl list -D -r region0")) as { dev?: string }[];
      await guest.output("ndctl destroy-namespace -f namespace0.0 && ndctl disable-region region0");
      await guest.output(`ndctl init-labels -f ${dimm.dev} && ndctl enable-region region0 && udevadm settle`);
      await runGuide(guest, "fsdax: Bare metal / Namespace, file system, mount");
      assertStringIncludes(await guest.output("findmnt -no OPTIONS /mnt/pmem0"), "dax=always");
      const ran = await runAsPrinted(guest, FSDAX);
      for (const command of ["ndctl create-namespace -f -e namespace1.0", "mkfs.ext4", "systemctl enable"]) {
        assert(ran.some((line) => line.startsWith(command)), `none of the commands begins with "${command}"`);
      }
      assertEquals(ran.filter((line) => /region0|pmem0|namespace0/.test(line)), [], "the page has done them");
      await checkPasses(guest, FSDAX);
      await guest.output(`systemd-analyze verify ${UNITS.map((unit) => `/etc/systemd/system/${unit}`).join(" ")}`);
    }),
  );

  assert(
    await t.step("mounts come back by themselves", async () => {
      await guest.reboot();
      assertEquals(await guest.output("systemctl is-active mnt-pmem0.mount mnt-pmem1.mount"), "active\nactive\n");
      await checkPasses(guest, FSDAX);
      assertEquals(await unfinished(guest), []);
    }),
  );

  let first: SmallRun | undefined;
  assert(
    await t.step("a small run takes the way of a measurement; its report shows neither speed nor price", async () => {
      first = await smallRun(guest, "fsdax", "first");
      assertWithheld(first, "fsdax");
      const facts = first.result.samples.flatMap(({ tiers }) => tiers.filter(({ type }) => type === "PMEM_LIBPMEM"));
      assertEquals(facts.map(({ medium, facts }) => [medium, facts["is_pmem"]]), Array(3).fill(["fsdax", "1"]));
    }),
  );

  assert(
    await t.step("a power cut while training leaves nothing behind that a new run could take for data", async () => {
      const [before, used] = [await namespaces(guest), await usedBytes(guest)];
      await guest.writeFile("/root/long.json", smallScenario(["fsdax"], 1_000_000));
      await guest.output("setsid tierbench run long.json --out cut > cut.log 2>&1 & echo $! > cut.pid; sleep 1");
      await training(guest);
      await guest.powerCut();
      await guest.start();
      await checkPasses(guest, FSDAX);
      assertEquals(await namespaces(guest), before);
      assertEquals(await guest.output("find /mnt/pmem0 -type f"), "", "files of the killed run");
      assertEquals(await usedBytes(guest), used, "bytes of the killed run's pool");
      // As a pool would look that lost the power before its name was removed.
      const stale = "/mnt/pmem0/tierstore-1-0000000001.pool";
      await guest.output(`head -c 64M /dev/urandom > ${stale} && sync ${stale}`);
      const sum = await guest.output(`sha256sum ${stale}`);
      const second = await smallRun(guest, "fsdax", "second");
      assertWithheld(second, "fsdax");
      const digests = (run: SmallRun | undefined) => new Set(run?.result.samples.map(({ digest }) => digest));
      assertEquals([digests(second).size, digests(second)], [1, digests(first)]);
      assertEquals(await guest.output(`sha256sum ${stale}`), sum);
    }),
  );

  assert(
    await t.step("undo asks for the data that it would destroy, and takes everything back", async () => {
      const { outcome } = await provisioned(guest, `${FSDAX} --undo --yes`, "refused");
      for (const text of ["ext4", "/mnt/pmem0", "--erase"]) assertStringIncludes(outcome.message, text);
      await provisioned(guest, `${FSDAX} --undo --yes --erase namespace0.0,namespace1.0,pmem0,pmem1`);
      assertEquals((await guest.run("findmnt -t ext4 -S /dev/pmem0")).code, 1);
      assertEquals(await guest.output("ls /etc/systemd/system | grep pmem || true"), "");
      assertEquals(await guest.output("ndctl list -N"), "");
      const plan = await planOf(guest, FSDAX);
      assertEquals(pending(plan), plan.steps.map(({ id }) => id).filter((id) => id !== "packages"));
      // In the order in which the kernel found them.
      assertEquals((await unfinished(guest)).map((text) => text.replace(/ \(.*\)/, "")).sort(), [
        "fsdax: region0 has no namespace",
        "fsdax: region1 has no namespace",
      ]);
    }),
  );
});
