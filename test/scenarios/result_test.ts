import { parseResultText, ResultFolder, resultOf } from "../../scenarios/result.ts";
import type { ResultRecord } from "../../scenarios/record.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";

const RUN = {
  type: "run",
  format: 1,
  started: "2026-11-20T00:00:00Z",
  scenario: {},
  scenarioDigest: "0",
  machine: {},
  data: {},
};
const FAILED = { type: "sample", status: "failed", id: "a#1", case: "a", configuration: "a", error: "a#1: no" };
const lines = (...records: unknown[]) => records.map((record) => JSON.stringify(record) + "\n").join("");

Deno.test("parseResultText() leaves a line out that was cut off, and says where the others end", () => {
  const whole = lines(RUN, FAILED);
  const { records, completeBytes, truncated } = parseResultText(`${whole}{"type":"sam`, "r");
  assertEquals([records.length, completeBytes, truncated], [2, whole.length, true]);
  assertEquals(parseResultText(whole, "r").truncated, false);
});

for (
  const [text, message] of [
    [lines(RUN) + "{oops\n" + lines(FAILED), "Cannot read the results: r:2: "],
    [lines(FAILED), "Cannot read the results: r:1: expected a run record, found a sample"],
    [lines(RUN, RUN), "Cannot read the results: r:2: a second run record"],
    [lines({ ...RUN, format: 2 }), "Cannot read the results: r:1: expected format 1, found 2"],
    [lines(RUN, { type: "x" }), "Cannot read the results: r:2: expected a run, sample, quality or curve record"],
    [
      lines(RUN, { ...FAILED, error: 1 }),
      'Cannot read the results: r:2: expected the field "error" of a failed record, found 1',
    ],
  ] as const
) {
  Deno.test(`parseResultText() refuses: ${message.slice(26)}`, () => {
    assertThrows(() => parseResultText(text, "r"), SyntaxError, message);
  });
}

Deno.test("resultOf() refuses a file without records", () => {
  assertThrows(() => resultOf([]), SyntaxError, "expected a run record, found none");
});

Deno.test("ResultFolder is one run's at a time, whatever its file is called by then, and names the process", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/result.jsonl`;
    {
      using folder = await ResultFolder.take(path);
      using writer = await folder.create();
      await writer.append(RUN as unknown as ResultRecord);
      await Deno.rename(path, `${directory}/moved.jsonl`);
      const said = `another run (process ${Deno.pid}) writes to "${path}"`;
      await assertRejects(() => ResultFolder.take(path), Error, said);
      assertEquals(await Deno.readTextFile(`${directory}/moved.jsonl`), lines(RUN));
    }
    using again = await ResultFolder.take(path);
    assertEquals(await again.read(), undefined);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("ResultFolder keeps what it finds under names of their own, and leaves no folder that it did not fill", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/result.jsonl`;
    for (let n = 0; n < 3; n++) {
      using folder = await ResultFolder.take(path);
      using writer = await folder.create();
      await writer.append(RUN as unknown as ResultRecord); // all with one start time
    }
    const names = Array.from(Deno.readDirSync(directory), ({ name }) => name).filter((name) => name !== ".lock");
    const kept = ["result-2026-11-20T000000Z-2.jsonl", "result-2026-11-20T000000Z.jsonl"];
    assertEquals(names.sort(), [...kept, "result.jsonl"]);
    (await ResultFolder.take(`${directory}/new/result.jsonl`))[Symbol.dispose]();
    await assertRejects(() => Deno.stat(`${directory}/new`), Deno.errors.NotFound);
    await Deno.mkdir(`${directory}/empty`);
    (await ResultFolder.take(`${directory}/empty/result.jsonl`))[Symbol.dispose]();
    assert((await Deno.stat(`${directory}/empty`)).isDirectory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
