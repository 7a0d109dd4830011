import "../../native_library.ts";
import { prepareData } from "../../../models/workloads/data.ts";
import { vocabularyOf } from "../../../models/workloads/vocabulary.ts";
import { FileLock } from "../../../base/lock.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";

/** One row of Criteo's form with this label. */
function line(label: string, i: number): string {
  return `${label}${`\t${i}`.repeat(13)}${`\t${(i % 50).toString(16).padStart(8, "0")}`.repeat(26)}\n`;
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("prepareData() imports a list of files, tells what was skipped, and makes them again when one changes", async () => {
  await inFolder(async (folder) => {
    const criteo = [`${folder}/a.tsv`, `${folder}/b.tsv`];
    const good = Array.from({ length: 100 }, (_, i) => line(i % 3 === 0 ? "1" : "0", i)).join("");
    for (const path of criteo) await Deno.writeTextFile(path, `${good}${line("7", 1)}`);
    const data = { criteo, format: "auto", testEvery: 10, maxRows: 0, onError: "skip", numerics: "min-max" } as const;
    const options = { seed: 1, threads: 2, cache: `${folder}/cache` };
    const made = await prepareData(data, options);
    const { source, trainRows, testRows, numerics, skipped } = made.record;
    assertEquals([source, trainRows, testRows, numerics], ["a.tsv and 1 more", 180, 20, "min-max"]);
    assertEquals(skipped?.lines, 2);
    assertEquals(skipped?.kinds, { label: 2 });
    assertEquals([made.reused, (await prepareData(data, options)).reused], [false, true]);
    await Deno.writeTextFile(`${folder}/b.tsv`, good + good);
    assertEquals((await prepareData(data, options)).record.trainRows, 270);
    await assertRejects(() => prepareData({ ...data, onError: "error" }, options), Error, "a.tsv:101: the label");
    await assertRejects(() => prepareData({ ...data, criteo: [`${folder}/no`] }, options), Deno.errors.NotFound, "no");
  });
});

Deno.test("prepareData() generates numerics as chosen, and makes a file of another format version again", async () => {
  await inFolder(async (folder) => {
    const skew = { s: 1.15, q: 2.7, rows: 0 };
    const data = { synthetic: "criteo-kaggle", scale: 0.0005, rows: 2000, testRows: 500, skew } as const;
    const options = { seed: 1, threads: 1, cache: `${folder}/cache` };
    const log = await prepareData({ ...data, numerics: "log" }, options);
    const scaled = await prepareData({ ...data, numerics: "min-max" }, options);
    assertEquals([log.record.numerics, scaled.record.numerics], ["log", "min-max"]);
    assertEquals(log.record.digest, scaled.record.digest);
    assertEquals(vocabularyOf(data.scale), log.record.cardinalities); // known before the data are made
    assert(log.train !== scaled.train && log.record.skipped === undefined);
    // The version is the 32-bit number after the magic.
    const bytes = await Deno.readFile(log.train);
    new DataView(bytes.buffer).setUint32(8, 2, true);
    await Deno.writeFile(log.train, bytes);
    const again = await prepareData({ ...data, numerics: "log" }, options);
    assertEquals([again.reused, again.train, again.record.digest], [false, log.train, log.record.digest]);
  });
});

Deno.test("prepareData() makes kept files again in which a byte has changed, and says which rows", async () => {
  await inFolder(async (folder) => {
    const skew = { s: 1.15, q: 2.7, rows: 0 };
    const data = {
      synthetic: "criteo-kaggle",
      scale: 0.0005,
      rows: 3000,
      testRows: 500,
      skew,
      numerics: "log",
    } as const;
    const notices: string[] = [];
    const options = {
      seed: 1,
      threads: 1,
      cache: `${folder}/cache`,
      onNotice: (message: string) => notices.push(message),
    };
    const made = await prepareData(data, options);
    const bytes = await Deno.readFile(made.train);
    assertEquals([(await prepareData(data, options)).reused, notices], [true, []]);
    // A label, a numeric, a key, a sum: of rows 1024 to 2047, but for the last.
    const group = 4096 + 270_336;
    for (const at of [group + 400, group + 5000, group + 200_001, bytes.length - 3]) {
      notices.length = 0;
      await Deno.writeFile(made.train, bytes.with(at, (bytes[at] ?? 0) ^ 1));
      const { reused, record } = await prepareData(data, options);
      assertEquals([reused, record.digest], [false, made.record.digest]);
      assertMatch(
        notices.join(),
        /^kept rows cannot be used and are made again: .*(rows 1024 to 2047 are|sums of its rows are) damaged/,
      );
      assertEquals(await Deno.readFile(made.train), bytes);
    }
  });
});

Deno.test("prepareData() removes what a killed process was writing, and nothing that a living one writes", async () => {
  await inFolder(async (folder) => {
    const cache = `${folder}/cache`;
    await Deno.mkdir(cache);
    const [left, held, other] = [
      `${cache}/a.train.tbc.part-abc123`,
      `${cache}/a.test.tbc.part-XyZ789`,
      `${cache}/notes`,
    ];
    for (const path of [left, held, other]) await Deno.writeTextFile(path, "rows");
    using _ = await FileLock.take(held);
    const skew = { s: 1.15, q: 2.7, rows: 0 };
    const data = { synthetic: "criteo-kaggle", scale: 0.0005, rows: 500, testRows: 50, skew, numerics: "log" } as const;
    await prepareData(data, { seed: 1, threads: 1, cache });
    const names = Array.from(Deno.readDirSync(cache), ({ name }) => name).filter((name) => !name.endsWith(".tbc"));
    assertEquals(names.sort(), ["a.test.tbc.part-XyZ789", "notes"]);
  });
});
