import { requireMedium } from "../../../scenarios/contribution/preset.ts";
import { CONTRIBUTE_FILE, isAsShipped } from "../../../scenarios/contribution/preset.ts";
import { loadScenario } from "../../../scenarios/load.ts";
import { UnavailableError } from "../../../base/unavailable.ts";
import { scenarioFor } from "../../../scenarios/run/run.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../../assert.ts";
import { ALL_PMEM, NO_PMEM } from "../fakes.ts";
import { both, captured, onMachine } from "./machines.ts";

Deno.test("runContribution() measures DRAM, fsdax and kmem-dax of a machine that has them, and nothing else", async () => {
  await onMachine(both(), async ({ run, starts }) => {
    const { samples, failed, quality } = await run();
    assertEquals([failed, quality], [[], undefined]);
    assertEquals(new Set(samples.map((one) => one.configuration)), new Set(["dram", "fsdax", "kmem-dax"]));
    assertEquals(samples.length, 3 * 4 * 4); // configurations, points, repetitions
    // The captured machines are guests: the code path is that of a measurement, and no figure counts as one.
    for (const { configuration, evidence, virtual, how } of samples) {
      const dram = configuration === "dram";
      assertEquals([evidence, virtual], [dram ? "measured" : "emulated", !dram]);
      assert(!how.includes("slowed"), how);
    }
    const points = new Set(samples.map(({ point }) => `${point["workload.data.skew"]} ${point["workload.dim"]}`));
    assertEquals(points, new Set(["criteo 16", "criteo 64", "uniform 16", "uniform 64"]));
    const started = await starts();
    assertEquals(started.filter(({ spec }) => spec.store["path"] === "/mnt/pmem0").length, 16);
    assertEquals(started.filter(({ environment }) => environment["MEMKIND_DAX_KMEM_NODES"] === "3").length, 16);
    assert(started.every(({ environment }) => environment["PMEM_IS_PMEM_FORCE"] === undefined));
  });
});

Deno.test("runContribution() refuses a machine with nothing but DRAM, names what is missing, and starts nothing", async () => {
  for (const tree of ["bare", "cloud", "memmap", "virtio-pmem"]) {
    await onMachine(captured(tree), async ({ run, starts, folder }) => {
      const { message } = await assertRejects(() => run(), UnavailableError);
      for (const name of ["fsdax", "kmem-dax", "memory-mode"]) {
        assertStringIncludes(message, `\n${name}: `);
        assertStringIncludes(message, `tierbench provision ${name}`);
      }
      assertStringIncludes(message, "tierbench doctor");
      assertEquals(await starts(), []);
      assertEquals([...Deno.readDirSync(folder)], []);
    });
  }
});

Deno.test("runContribution() leaves plain DRAM out where it is a cache", async () => {
  const facts = { ...captured("side-cache"), "cpu.virtual": "no" };
  await onMachine(facts, async ({ run }) => {
    const names = new Set((await run()).samples.map(({ configuration }) => configuration));
    assertEquals(names, new Set(["memory-mode", "kmem-dax"]));
  });
});

Deno.test("requireMedium() is content with one medium", () => {
  assertThrows(() => requireMedium(NO_PMEM), UnavailableError, "no region in ndctl");
  for (const name of ["fsdax", "kmemDax", "memoryMode"] as const) requireMedium({ ...NO_PMEM, [name]: ALL_PMEM[name] });
});

Deno.test("isAsShipped() knows the shipped scenario under another seed, and any other change", async () => {
  assert(await isAsShipped(await loadScenario(CONTRIBUTE_FILE)));
  assert(await isAsShipped(await scenarioFor(CONTRIBUTE_FILE, { seed: 5 })));
  assert(!(await isAsShipped(await scenarioFor(CONTRIBUTE_FILE, { quick: true }))));
  assert(!(await isAsShipped(await scenarioFor(CONTRIBUTE_FILE, { set: { "workload.batch": 64 } }))));
});
