import "../native_library.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import type { HbmRun } from "./hbm_program.ts";

Deno.test("training on each type with HBM, from 64 KiB on, has the rows and the trainer of DRAM to the bit", async () => {
  const program = decodeURIComponent(new URL("hbm_program.ts", import.meta.url).pathname);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, "0"],
    env: { MEMKIND_HBW_NODES: "0" }, // ordinary memory stands for HBM: the code path is that of HBM
    stdin: "null",
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  const [dram, ...others] = JSON.parse(new TextDecoder().decode(stdout)) as HbmRun[];
  assertEquals([dram?.storage, others.length], ["DRAM", 15]);
  for (const { storage, why, type, digests, evicted = 0 } of others) {
    if (why !== undefined) {
      assertMatch(why, /libmemkind0|libleveldb1d|ocl-icd-libopencl1|pocl-opencl-icd/, storage);
      continue;
    }
    assertEquals(digests, dram?.digests, storage);
    assertMatch(type ?? "", /^HBM_(MEMKIND|MBIND|OPENCL)$/);
    assert(storage === "HBM" || evicted > 1000, `${storage}: ${evicted} rows left the first tier`);
  }
});
