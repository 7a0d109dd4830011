import "../native_library.ts";
import { prepareData } from "../../scenarios/workloads/data.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

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
    assert(log.train !== scaled.train && log.record.skipped === undefined);
    // The version is the 32-bit number after the magic.
    const bytes = await Deno.readFile(log.train);
    new DataView(bytes.buffer).setUint32(8, 2, true);
    await Deno.writeFile(log.train, bytes);
    const again = await prepareData({ ...data, numerics: "log" }, options);
    assertEquals([again.reused, again.train, again.record.digest], [false, log.train, log.record.digest]);
  });
});
