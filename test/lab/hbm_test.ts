/** HBM in flat mode, as far as a guest can have it: recognised by its bandwidth, found by memkind, trained on to the bit. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { Guest } from "./guest.ts";
import { labCase } from "./lab_case.ts";
import type { HbmRun } from "../ffi/hbm_program.ts";

labCase("hbm: flat mode is recognised by its bandwidth, and rows train there to the bit", async (t) => {
  await using guest = await Guest.boot({ profile: "hbm" });

  await t.step("doctor takes node 1 for HBM, on a medium that may be virtual, and for nothing else", async () => {
    const { configurations } = JSON.parse(await guest.output("tierbench doctor --json")) as {
      readonly configurations: readonly {
        readonly configuration: string;
        readonly state: string;
        readonly because: string;
        readonly nodes?: readonly number[];
        readonly virtual?: boolean;
      }[];
    };
    const found = configurations.find(({ configuration }) => configuration === "hbm");
    assertEquals([found?.state, found?.nodes, found?.virtual], ["measured", [1], true]);
    assertMatch(found?.because ?? "", /node 1 without CPUs, \d+ MB\/s by HMAT where DRAM has \d+ MB\/s/);
    const kmem = configurations.find(({ configuration }) => configuration === "kmem-dax");
    assertEquals(kmem?.state, "emulated");
    assertStringIncludes(kmem?.because ?? "", "no DAX device");
  });

  await t.step(
    "provision hbm has nothing to make, and --check has both bandwidths and pages that lie there",
    async () => {
      assertStringIncludes(await guest.output("tierbench provision hbm"), "nothing has to be made of it");
      const checked = await guest.output("tierbench provision hbm --check");
      assertMatch(checked, /\+ bandwidth 1 +node 1 without CPUs, \d+ MB\/s by HMAT .* the medium may be virtual/);
      assertMatch(checked, /\+ pages 1 +8 MiB bound to it lie on it/);
    },
  );

  await t.step("memkind finds it without a variable, and every type has the rows of DRAM", async () => {
    const suite = "/opt/tierbench/suite";
    const program = await Deno.readTextFile(new URL("../ffi/hbm_program.ts", import.meta.url));
    await guest.writeFile("/root/hbm.ts", program.replaceAll('"../../ffi/', `"${suite}/ffi/`));
    const deno = "DENO_DIR=/var/cache/tierbench /opt/tierbench/bin/deno run --quiet -A --cached-only";
    const all = JSON.parse(
      await guest.output(`${deno} --config ${suite}/deno.json /root/hbm.ts 1`, { timeoutMs: 600_000 }),
    ) as HbmRun[];
    // The guest has no OpenCL device; memory that the CPU addresses is what this case is about.
    const said = all.filter(({ hbm }) => hbm !== "opencl");
    for (const { hbm, why } of all) if (hbm === "opencl") assertMatch(why ?? "", /OpenCL/);
    const [dram, ...others] = said.filter(({ why }) => why === undefined);
    for (const { storage, why } of said) {
      // The guest has no LevelDB; nothing else may be missing.
      assert(why === undefined || storage.endsWith("LEVELDB"), `${storage}: ${why}`);
    }
    assert(others.length >= 6, JSON.stringify(said));
    for (const { storage, type, pages, digests } of others) {
      assertEquals(digests, dram?.digests, storage);
      assertMatch(type ?? "", /^HBM_(MEMKIND|MBIND)$/);
      assertMatch(pages ?? "", /^1:\d+$/, `${storage}: pages of the first tier lie on ${pages}`);
    }
  });
});
