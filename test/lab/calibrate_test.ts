/** `tierbench calibrate` on a machine with several media: each has its file, every file is a medium; nothing of it is believed. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { parseMedia } from "../../models/media/media.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";

const OUT = "/root/calibration", TIMEOUT = { timeoutMs: 900_000 };

labCase(
  "calibrate: nodes with and without CPUs, PMEM by DAX and a drive are measured, and simulated from",
  async (t) => {
    await using guest = await Guest.boot({ profile: "hmat" });

    await t.step("a file system without DAX is refused before anything is measured", async () => {
      const { code, stderr } = await guest.run(`tierbench calibrate --quick --node 0 --file /root --out ${OUT}`);
      assertEquals(code, 4, stderr);
      assertStringIncludes(stderr, "maps no memory of its own (DAX)");
      assertEquals((await guest.run(`ls ${OUT}`)).code, 2);
    });

    await t.step("each medium has a file with intervals, which says that the machine is a virtual one", async () => {
      const make =
        "ndctl create-namespace -f -e namespace0.0 --mode fsdax && udevadm settle && mkfs.ext4 -q /dev/pmem0";
      await guest.output(`${make} && mkdir /mnt/pmem0 && mount -o dax=always /dev/pmem0 /mnt/pmem0`);
      const media = "--node 0 --node 1 --file /mnt/pmem0 --drive /root --node-kind cxl";
      const text = await guest.output(
        `tierbench calibrate --quick --bytes "4 MiB" ${media} --out ${OUT} --json 2>/dev/null`,
        TIMEOUT,
      );
      const { media: found, software } = JSON.parse(text);
      assertEquals(found.map(({ name, kind, virtual }: Record<string, unknown>) => [name, kind, virtual]), [
        ["node0", "dram", true],
        ["node1", "cxl", true],
        ["file-mnt-pmem0", "pmem", true],
        ["drive-root", "ssd", true],
      ]);
      assertStringIncludes(software.path, "software.jsonc");
      for (const { name, path } of found as { name: string; path: string }[]) {
        const written = await guest.output(`cat ${path}`);
        assertStringIncludes(written, "Not to be believed");
        const { measured, parameters } = parseMedia(written, path);
        assertEquals([measured?.virtual, measured?.points?.every(({ low = 0, high = 0 }) => low < high)], [true, true]);
        assert((parameters["read_bandwidth"]?.value ?? 0) > 0, name);
      }
      assertEquals(
        (await guest.run("ls -A /mnt/pmem0 | grep -v lost+found")).code,
        1,
        "files are gone with the process",
      );
    });

    await t.step("a simulation takes all of them and the prices, from another folder", async () => {
      const tier = (media: string, size?: string) => ({ media: `calibration/${media}.jsonc`, ...(size && { size }) });
      const two = (media: string) => [tier("node0", "16 MiB"), tier(media)];
      const simulation = {
        kind: "simulation",
        name: "own",
        steps: 4,
        workload: { batch: 256, tables: [{ name: "ids", rows: 1e5, dim: 64, lookups: 1, law: { s: 1.05 } }] },
        compute: { dense: 0, source: "an example" },
        software: "calibration/software.jsonc",
        cluster: { cores: 1 },
        configurations: {
          cxl: { mode: "cxl", tiers: two("node1") },
          fsdax: { mode: "fsdax", tiers: two("file-mnt-pmem0") },
          ssd: { mode: "ssd", tiers: [tier("node0", "16 MiB"), tier("drive-root")] },
        },
      };
      await guest.writeFile("/root/own.jsonc", JSON.stringify(simulation));
      await guest.output("cd / && tierbench run /root/own.jsonc --out /root/own", TIMEOUT);
      const lines = (await guest.output("cat /root/own/result.jsonl")).trim().split("\n").map((line) =>
        JSON.parse(line)
      );
      const cases = lines.filter(({ type }) => type === "simulated");
      assertEquals(cases.map(({ configuration }) => configuration), ["cxl", "fsdax", "ssd"]);
      assert(cases.every(({ samplesPerSecond }) => samplesPerSecond > 0));
    });
  },
);
