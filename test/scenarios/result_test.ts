import { ResultFolder } from "../../base/result_folder.ts";
import { parseResultText, readFolder, resultOf, ResultWriter } from "../../scenarios/result.ts";
import type { ResultRecord } from "../../scenarios/record.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";

const { run: RUN, failed: [FAILED] } = fixtureResult({ failed: true });
const lines = (...records: unknown[]) => records.map((record) => JSON.stringify(record) + "\n").join("");

Deno.test("parseResultText() leaves a line out that was cut off, and says where the others end", () => {
  const whole = lines(RUN, FAILED);
  const { records, completeBytes, truncated } = parseResultText(`${whole}{"type":"sam`, "r");
  assertEquals([records.length, completeBytes, truncated], [2, new TextEncoder().encode(whole).length, true]);
  assertEquals(parseResultText(whole, "r").truncated, false);
});

for (
  const [text, message] of [
    [lines(RUN) + "{oops\n" + lines(FAILED), "Cannot read the results: r:2: "],
    [lines(FAILED), "Cannot read the results: r:1: expected a run record, found a sample"],
    [lines(RUN, RUN), "Cannot read the results: r:2: a second run record"],
    [lines({ ...RUN, format: 2 }), "Cannot read the results: r:1: expected format 1, found 2"],
    [lines(RUN, { type: "x" }), "Cannot read the results: r:2: expected a run, sample, quality, curve or end record"],
    [
      lines(RUN, { ...FAILED, error: 1 }),
      "Cannot read the results: r:2: error: expected text, found 1",
    ],
  ] as const
) {
  Deno.test(`parseResultText() refuses: ${message.slice(26)}`, () => {
    assertThrows(() => parseResultText(text, "r"), SyntaxError, message);
  });
}

async function written(...records: unknown[]): Promise<Uint8Array> {
  const directory = await Deno.makeTempDir();
  try {
    using folder = await ResultFolder.take(`${directory}/result.jsonl`);
    using writer = await ResultWriter.create(folder);
    for (const record of records) await writer.append(record as ResultRecord);
    return await Deno.readFile(folder.path);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a flip in any byte of a result file is one error that names its line", async () => {
  const bytes = await written(RUN, FAILED, { ...FAILED, id: "ü#2", case: "ü" }, FAILED);
  assertEquals(parseResultText(new TextDecoder().decode(bytes), "r").records.length, 4);
  let line = 1;
  for (const [i, byte] of bytes.entries()) {
    for (const bit of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const flipped = bytes.with(i, byte ^ 1 << bit);
      const error = assertThrows(() => parseResultText(new TextDecoder().decode(flipped), "r"), SyntaxError);
      const named = /^Cannot read the results: r:(\d+): /.exec((error as Error).message)?.[1];
      // The first line that is not what was written, also where a line end goes or comes.
      assertEquals(Number(named), line, `byte ${i}, bit ${bit}: ${(error as Error).message}`);
    }
    if (byte === 10) line++;
  }
});

Deno.test("a result file without sums is read, is said to have none, and is gone on with as it is", async () => {
  const text = lines(RUN, FAILED);
  assertEquals(parseResultText(text, "r").sums, false);
  assertEquals(parseResultText(new TextDecoder().decode(await written(RUN)), "r").sums, true);
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/result.jsonl`, text + '{"type":"sam');
    using folder = await ResultFolder.take(`${directory}/result.jsonl`);
    const earlier = await readFolder(folder);
    assert(earlier !== undefined);
    using writer = await ResultWriter.resume(folder, earlier);
    await writer.append(FAILED as unknown as ResultRecord);
    assertEquals(await Deno.readTextFile(folder.path), text + lines(FAILED));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("resultOf() refuses a file without records", () => {
  assertThrows(() => resultOf([]), SyntaxError, "expected a run record, found none");
});

Deno.test("ResultFolder is one run's at a time, whatever its file is called by then, and names the process", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/result.jsonl`;
    {
      using folder = await ResultFolder.take(path);
      using writer = await ResultWriter.create(folder);
      await writer.append(RUN as unknown as ResultRecord);
      await Deno.rename(path, `${directory}/moved.jsonl`);
      const said = `another run (process ${Deno.pid}) writes to "${path}"`;
      await assertRejects(() => ResultFolder.take(path), Error, said);
      assertEquals(parseResultText(await Deno.readTextFile(`${directory}/moved.jsonl`), "r").records.length, 1);
    }
    using again = await ResultFolder.take(path);
    assertEquals(await readFolder(again), undefined);
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
      using writer = await ResultWriter.create(folder);
      await writer.append(RUN as unknown as ResultRecord); // all with one start time
    }
    const names = Array.from(Deno.readDirSync(directory), ({ name }) => name).filter((name) => name !== ".lock");
    const kept = ["result-2026-11-20T120000.000Z-2.jsonl", "result-2026-11-20T120000.000Z.jsonl"];
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
