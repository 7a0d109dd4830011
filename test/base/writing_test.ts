import { writeReport } from "../../reports/write.ts";
import { ResultFolder } from "../../base/result_folder.ts";

import { writing } from "../../base/writing.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

Deno.test("writing() names the file and what to do when the disk is full", async () => {
  const error = await assertRejects(() => writing("r.jsonl", () => Deno.writeTextFile("/dev/full", "x")), Error);
  const text = 'Cannot write "r.jsonl": no space left on device; free some space or choose another folder';
  assertEquals((error as Error).message, text);
  assert((error as Error).cause instanceof Error);
  const other = new Error("no");
  assertEquals(await assertRejects(() => writing("r", () => Promise.reject(other)), Error), other);
});

Deno.test("results and reports name the place they cannot be written to", async () => {
  const file = await Deno.makeTempFile();
  try {
    for (const write of [() => ResultFolder.take(`${file}/result.jsonl`), () => writeReport(fixtureResult(), file)]) {
      const error = await assertRejects(write, Error, `Cannot write "${file}`);
      assert((error as Error).message.endsWith("; choose another folder"));
    }
  } finally {
    await Deno.remove(file);
  }
});
