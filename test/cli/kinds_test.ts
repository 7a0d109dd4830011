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

Deno.test("init begins a plan with the tables of TorchRec's JSON, which inspect tells", async () => {
  await inFolder(async (folder) => {
    const tables = `${folder}/tables.json`, plan = `${folder}/plan.jsonc`;
    await Deno.writeTextFile(tables, '{"user":{"num_embeddings":1000,"embedding_dim":64,"pooling_factor":3}}');
    const told = await runCommand(["inspect", tables], 200);
    assertStringIncludes(told.out, "tables in the words of TorchRec");
    const words = ["init", "--kind", "plan", "--tables", tables];
    const silent = await runCommand([...words, plan], 200);
    assertEquals(silent.code, 2);
    assertStringIncludes(silent.err, "they do not say how often which row is used; add --profile");
    const begun = await runCommand([...words, "--profile", "uniform", plan], 200);
    assertEquals(begun.code, 0, begun.err);
    assertStringIncludes(begun.out, "1 of TorchRec");
    const size = await runCommand(["size", plan, "--json"], 200);
    assertEquals(size.code, 0, size.err);
    assertStringIncludes(size.out, '"name": "user"');
    await Deno.writeTextFile(tables, "[1, 2]");
    const other = await runCommand([...words, "--profile", "uniform", `${folder}/other.jsonc`], 200);
    assertEquals(other.code, 2);
    assertStringIncludes(other.err, "no JSON of TorchRec (num_embeddings, embedding_dim)");
    assertStringIncludes((await runCommand(["inspect", tables], 200)).err, "it looks like JSON");
  });
});
