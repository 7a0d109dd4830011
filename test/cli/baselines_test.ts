// `tierbench baselines`, and `--baseline` with a name.

import "../native_library.ts";
import { renderReport } from "../../mod.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand } from "./command.ts";

Deno.test("compare takes a baseline by name, a file by path, and says so where a word is both or neither", async () => {
  const before = Deno.cwd();
  await inFolder(async (folder) => {
    const tierbench = (words: string) => runCommand(words.split(" "), 120);
    const result = fixtureResult({ samples: 3, steps: 20 }), { name } = result.run.scenario;
    const kept = `reports/out/baselines/${name}/main`;
    try {
      Deno.chdir(folder);
      assertMatch((await tierbench("baselines")).out, /^none yet: tierbench run --save-baseline/);
      await Deno.mkdir(kept, { recursive: true });
      await Deno.writeTextFile(`${kept}/result.jsonl`, toJsonLines(result));
      await Deno.writeTextFile("after.html", renderReport(result));
      const compared = await tierbench("compare after.html --baseline main");
      assertEquals([compared.code === 0 || compared.code === 6, compared.err], [true, ""]);
      assertStringIncludes(compared.out, "gate    ");
      const unknown = await tierbench("compare after.html --baseline mian");
      assertEquals([unknown.code, unknown.out], [2, ""]);
      assertStringIncludes(unknown.err, `Cannot find the baseline "mian" of ${name}: did you mean "main"?`);
      const early = await tierbench(`run ${before}/scenarios/pmem-modes.jsonc --baseline nightly`);
      assertEquals([early.code, early.out], [2, ""]);
      assertStringIncludes(early.err, 'Cannot find the baseline "nightly" of pmem-modes: ');
      assertEquals((await tierbench("run --save-baseline ../main")).code, 2);
      await Deno.mkdir("main");
      await Deno.copyFile(`${kept}/result.jsonl`, "main/result.jsonl");
      const both = await tierbench("compare after.html --baseline main");
      assertEquals(both.code, 2);
      assertStringIncludes(both.err, `a baseline of ${name} and a file have this name; "./main" is the file`);
      assertEquals((await tierbench("compare after.html --baseline ./main")).code, compared.code);
      assertMatch(
        (await tierbench("baselines")).out,
        new RegExp(`^${name} +main +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +${kept}`, "m"),
      );
      assertEquals(JSON.parse((await tierbench("baselines --json")).out).length, 1);
      assertEquals((await tierbench("baselines --remove main")).out, `removed  ${name}/main\n`);
      const gone = await tierbench("baselines --remove main");
      assertEquals([gone.code, gone.err], [2, 'error    Cannot remove the baseline "main": none is kept\n']);
      assertEquals((await tierbench("compare after.html --baseline main")).code, compared.code, "the file is left");
    } finally {
      Deno.chdir(before);
    }
  });
});
