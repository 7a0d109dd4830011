import { parseResultText, resultOf, ResultWriter } from "../../scenarios/result.ts";
import type { ResultRecord } from "../../scenarios/record.ts";
import { assertEquals, assertRejects, assertThrows } from "../assert.ts";

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

Deno.test("ResultWriter lets one run write to a file at a time", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/result.jsonl`;
    using writer = await ResultWriter.create(path);
    await writer.append(RUN as unknown as ResultRecord);
    await assertRejects(() => ResultWriter.create(path), Error, "another run writes to");
    assertEquals(await Deno.readTextFile(path), lines(RUN));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
