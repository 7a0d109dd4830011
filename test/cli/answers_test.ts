// What verbs print with --json is what their schemas say. runCommand() compares every such output; here are those that no other
// test of the command asks for.

import "../native_library.ts";
import { answerSchemas, answerSchemasText } from "../../cli/emit_answers.ts";
import { ANSWERS_FILE, readAnswerSchemas } from "../../cli/answers_schema.ts";
import { renderReport } from "../../mod.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";
import { checkAnswer } from "./answer.ts";
import { inFolder, runCommand } from "./command.ts";

/** Verbs without `--json`: a shell reads what completions prints, and schema prints JSON anyway. */
const WITHOUT = ["completions", "schema"];

/** What a verb prints with `--json`, as a value; `runCommand` compares it with its schema. */
async function answered(words: string, codes: readonly number[] = [0]): Promise<Record<string, unknown>> {
  const { code, out, err } = await runCommand([...words.split(" "), "--json"], 120);
  assert(codes.includes(code), `${words}: ${code} ${err}`);
  return JSON.parse(out);
}

Deno.test("answers.schema.json is current", async () => {
  const made = answerSchemasText(answerSchemas());
  assert(made === await Deno.readTextFile(ANSWERS_FILE), 'the types of answers have changed: run "deno task schema"');
});

Deno.test("plan tells the five-minute rule for its rows, with the price at which it turns", async () => {
  const words = "plan scenarios/plans/retail.jsonc", { rowRule } = await answered(words);
  assertStringIncludes(String(rowRule), "belongs in DRAM");
  assertStringIncludes(String(rowRule), "belongs there below");
  assertStringIncludes((await runCommand(words.split(" "), 120)).out, `\n${rowRule}.\n`);
});

Deno.test("every verb has --json and a schema that tierbench schema --of prints, or is known to have none", async () => {
  const { verbs: schemas } = await readAnswerSchemas();
  const verbs = await answered("manual") as unknown as { name: string; options: { long: string }[] }[];
  const names = verbs.map(({ name }) => name).filter((name) => !WITHOUT.includes(name));
  assertEquals([...names, "version"].sort(), Object.keys(schemas).sort());
  for (const { name, options } of verbs) {
    assertEquals(options.some(({ long }) => long === "--json"), !WITHOUT.includes(name), name);
  }
  for (const name of names) {
    const { code, out } = await runCommand(["schema", "--of", name], 120);
    const { $schema, definitions = {}, title } = JSON.parse(out);
    assertEquals([code, $schema], [0, "http://json-schema.org/draft-07/schema#"], title);
    for (const [, used] of out.matchAll(/"#\/definitions\/(\w+)"/g)) {
      assert(Object.hasOwn(definitions, used ?? ""), used);
    }
  }
  const unknown = await runCommand(["schema", "--of", "ruin"], 120);
  assertEquals(unknown.code, 2);
  assertStringIncludes(
    unknown.err,
    'Cannot print the schema of "ruin": it is no verb that has --json; did you mean "run"?',
  );
  assertEquals((await runCommand(["schema", "plan", "--of", "run"], 120)).code, 2);
});

Deno.test("an answer with a field too many, or of another type, is not what its schema says", () => {
  checkAnswer("init", '{"file": "a", "kind": "run", "next": "b"}');
  for (const wrong of ['{"file": "a", "kind": "run"}', '{"file": "a", "kind": "walk", "next": "b"}']) {
    assertThrows(() => checkAnswer("init", wrong), Error, "differs from its schema");
  }
  assertThrows(() => checkAnswer("init", '{"file": "a", "kind": "run", "next": "b", "more": 1}'), Error, "differs");
});

Deno.test("verbs about files, tables and this machine answer as their schemas say", async () => {
  await inFolder(async (folder) => {
    assertEquals((await answered("--version"))["deno"], Deno.version.deno);
    assertEquals((await answered(`init ${folder}/mine.jsonc`))["kind"], "run");
    const installed = await answered(`install --prefix ${folder}/usr`);
    assertEquals([(installed["written"] as string[]).length, installed["inPath"]], [5, false]);
    const removed = await answered(`install --prefix ${folder}/usr --remove`);
    assertEquals([removed["written"], removed["removed"]], [[], installed["written"]]);
    const retail = "scenarios/plans/retail.jsonc";
    await answered(`size ${retail}`);
    await answered(`size ${retail} --hits 0.9`);
    await answered("prices");
    await answered("claim --published openembedding");
    await answered("profile --list");
    await Deno.writeTextFile(`${folder}/t.csv`, "key\n1\n2\n1\n3\n");
    assertEquals((await answered(`cache ${folder}/t.csv --hit 0.9`))["sizes"] !== undefined, true);
    await answered(`inspect ${folder}/t.csv`);
    await answered(`profile ${folder}/t.csv`);
    await answered("provision fsdax", [0, 3]);
    await answered("export torchrec scenarios/plans/hbm.jsonc");
    await answered("export eeg scenarios/plans/mlperf-dlrmv2.jsonc");
  });
});

Deno.test("verbs about results answer as their schemas say", async () => {
  await inFolder(async (folder) => {
    const result = fixtureResult({
      samples: 2,
      steps: 20,
      failed: true,
      quality: true,
      curve: true,
      work: true,
      models: true,
    });
    const page = `${folder}/in/a.html`;
    await Deno.mkdir(`${folder}/in/results`, { recursive: true });
    await Deno.writeTextFile(page, renderReport(result));
    await Deno.writeTextFile(`${folder}/in/results/result.jsonl`, toJsonLines(result));
    await answered(`report ${folder}/in/results`);
    await answered(`reanalyse ${page}`);
    await answered(`compare ${page} ${page}`);
    await answered(`verify ${page}`);
    const { reports, index, histories } = await answered(`publish ${folder}/in --out ${folder}/site`);
    assertEquals([reports, index, histories], [
      ["a.html", "results/index.html"],
      `${folder}/site/index.html`,
      [["results/index.html", "a.html"]],
    ]);
    const run = { ...result.run, shard: { index: 1, of: 1, samples: result.samples.length } };
    await Deno.writeTextFile(`${folder}/in/results/result.jsonl`, toJsonLines({ ...result, run }));
    const merged = await answered(`merge ${folder}/in/results --out ${folder}/merged --allow-missing`);
    assertEquals(merged["report"], `${folder}/merged/index.html`);
  });
});
