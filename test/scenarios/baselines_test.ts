// Results that are kept under a name.

import { findBaseline, listBaselines, removeBaseline, saveBaseline } from "../../scenarios/baselines.ts";
import { assertEquals, assertRejects } from "../assert.ts";

Deno.test("a baseline is kept whole, found, replaced and removed; a name that is none, or of several, is one clear error", async () => {
  const folder = await Deno.makeTempDir(), root = `${folder}/kept`, results = `${folder}/result.jsonl`;
  try {
    const save = (scenario: string, name: string) => saveBaseline(results, { scenario, name }, root);
    const told = async () => (await listBaselines(root)).map(({ scenario, name, bytes }) => [scenario, name, bytes]);
    assertEquals(await told(), []);
    await Deno.writeTextFile(results, "first\n");
    assertEquals(await save("modes", "main"), `${root}/modes/main/result.jsonl`);
    await save("modes", "v1.0");
    await Deno.writeTextFile(results, "second, longer\n");
    await save("modes", "main");
    await save("other", "main");
    assertEquals(await told(), [["modes", "main", 15], ["modes", "v1.0", 6], ["other", "main", 15]]);
    const { file } = await findBaseline({ scenario: "modes", name: "main" }, root);
    assertEquals(await Deno.readTextFile(file), "second, longer\n");
    const refused = (work: Promise<unknown>, text: string) => assertRejects(() => work, Error, text);
    const find = (scenario: string, name: string) => findBaseline({ scenario, name }, root);
    await refused(find("modes", "mian"), 'Cannot find the baseline "mian" of modes: did you mean "main"?');
    await refused(find("modes", "nightly"), 'of modes: there are "main", "v1.0"');
    await refused(find("third", "main"), "third has none yet (one of that name is of modes, other)");
    for (const name of ["", "../out", "a/b", ".hidden", "x".repeat(101)]) {
      await refused(save("modes", name), `Cannot name a baseline "${name}"`);
    }
    await refused(removeBaseline("main", root), '2 scenarios have one; say "modes/main" or "other/main"');
    await refused(removeBaseline("manes/main", root), 'did you mean "modes/main"?');
    await removeBaseline("modes/main", root);
    await removeBaseline("main", root);
    assertEquals(await told(), [["modes", "v1.0", 6]]);
    assertEquals([...Deno.readDirSync(root)].map(({ name }) => name), ["modes"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
