/** One vocabulary: what is begun, checked and varied by words, whether it runs here, in virtual time, or is planned. */

import "../native_library.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand } from "./command.ts";

Deno.test("init begins a run, a simulation and a plan; each is valid, and other values are checked like written ones", async () => {
  await inFolder(async (folder) => {
    const valid = { run: "3 cases", simulation: "6 simulated cases", plan: "1 kinds of tables" };
    const wrong = { run: "workload.batch=0", simulation: "workload.batch=0", plan: "batch=0" };
    for (const kind of ["run", "simulation", "plan"] as const) {
      const file = `${folder}/${kind}.jsonc`;
      const begun = await runCommand(["init", "--kind", kind, file], 200);
      assertEquals(begun.code, 0, begun.err);
      const checked = await runCommand(["validate", file], 200);
      assertEquals(checked.code, 0, checked.err);
      assertStringIncludes(checked.out, valid[kind]);
      const refused = await runCommand(["validate", file, "--set", wrong[kind]], 200);
      assertEquals(refused.code, 2);
      assertStringIncludes(refused.err, "batch");
      const again = await runCommand(["init", "--kind", kind, file], 200);
      assertEquals(again.code, 2);
      assertStringIncludes(again.err, "it exists");
    }
    const { code, err } = await runCommand(["init", "--kind", "plans", `${folder}/x.jsonc`], 200);
    assertEquals(code, 2);
    assertStringIncludes(err, "expected run, simulation or plan");
  });
});

Deno.test("what init begins has an answer, and --set gives another", async () => {
  await inFolder(async (folder) => {
    const simulation = `${folder}/simulation.jsonc`, plan = `${folder}/plan.jsonc`;
    await runCommand(["init", "--kind", "simulation", simulation], 200);
    await runCommand(["init", "--kind", "plan", plan], 200);
    const run = (words: readonly string[]) =>
      runCommand(["run", simulation, "--out", `${folder}/out`, "--json", "--set", "steps=4", ...words], 200);
    const speeds = async (words: readonly string[]): Promise<number[]> => {
      const { code, out, err } = await run(words);
      assertEquals(code, 0, err);
      const { studies } = JSON.parse(out) as { studies: { cases: { samplesPerSecond: number }[] }[] };
      return studies.flatMap(({ cases }) => cases.map(({ samplesPerSecond }) => samplesPerSecond));
    };
    const [as, slow] = [await speeds([]), await speeds(["--set", 'compute.dense="100 ms"'])];
    assertEquals(as.length, 6);
    assert(as.every((speed, i) => speed > 2 * (slow[i] ?? 0)), `${as} against ${slow}`);
    const answered = await runCommand(["plan", plan], 200);
    assertEquals(answered.code, 0, answered.err);
    const { code, out } = await runCommand(["plan", plan, "--set", "target.samplesPerSecond=1000000000"], 200);
    assertEquals(code, 1);
    assertStringIncludes(out, "No machine meets the target");
  });
});
