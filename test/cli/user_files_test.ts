/** Files that a user names: too large, with a byte order mark, in UTF-16, no text. */

import { fileURLToPath } from "node:url";
import { renderReport } from "../../mod.ts";
import { ResultFolder } from "../../base/result_folder.ts";
import { ResultWriter } from "../../scenarios/result.ts";

import { readUserText } from "../../base/user_file.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import "../native_library.ts";
import { inFolder, runCommand } from "./command.ts";

const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const HEAD = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const PRICES = `${HEAD}Electricity,,,0.21,,,kWh,USD,2026-01,2026-12,our site,contract of 2026,V,\n`;
const SCENARIO = JSON.stringify({ name: "mine", configurations: { dram: { storage: "DRAM" } } });
const SIMULATION = JSON.stringify({
  kind: "simulation",
  name: "mine",
  steps: 1,
  warmup: 0,
  workload: { batch: 10, tables: [{ name: "ids", rows: 100, dim: 4, lookups: 1, law: { s: 1 } }] },
  compute: { dense: "1 ms", source: "a test" },
  configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
});
const PLAN = JSON.stringify({
  kind: "plan",
  name: "mine",
  tables: { t: { rows: 1000, dim: 4, profile: { s: 1 } } },
  target: { samplesPerSecond: 1 },
});
const PROFILE = await Deno.readTextFile(new URL("../../models/workloads/profiles/oe-retail.json", import.meta.url));

/** Name of a file, a text that is fine, and what reads it. */
const FILES: readonly (readonly [string, string, (file: string) => string[]])[] = [
  ["scenario.jsonc", SCENARIO, (file) => ["validate", file]],
  ["simulation.jsonc", SIMULATION, (file) => ["validate", file]],
  ["plan.jsonc", PLAN, (file) => ["size", file]],
  ["profile.json", PROFILE, (file) => ["curve", file]],
  ["prices.csv", PRICES, (file) => ["prices", file]],
  ["prices-lint.csv", PRICES, (file) => ["prices", file, "--lint"]],
  ["result.jsonl", toJsonLines(fixtureResult({ samples: 1, steps: 3 })), (file) => ["compare", file, file]],
];

const utf16 = (text: string, little: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(2 * text.length + 2));
  view.setUint16(0, 0xfeff, little);
  for (let i = 0; i < text.length; i++) view.setUint16(2 + 2 * i, text.charCodeAt(i), little);
  return new Uint8Array(view.buffer);
};

for (const [name, text, words] of FILES) {
  Deno.test(`a file with a byte order mark reads as without, in UTF-16 it is a clear error: ${name}`, async () => {
    await inFolder(async (folder) => {
      const file = `${folder}/${name}`;
      await Deno.writeTextFile(file, text);
      const plain = await runCommand(words(file), 120);
      assertEquals(plain.code, 0, plain.err);
      await Deno.writeTextFile(file, `\ufeff${text}`);
      assertEquals(await runCommand(words(file), 120), plain);
      if (name.endsWith(".jsonl")) return;
      for (const little of [true, false]) {
        await Deno.writeFile(file, utf16(text, little));
        const { code, err } = await runCommand(words(file), 120);
        assert(code === 1 || code === 2, err);
        assertStringIncludes(err, "is text in UTF-16; save it as UTF-8");
      }
    });
  });
}

Deno.test("a file of 2 GiB is refused at once with the figure, whatever it is given as", async () => {
  await inFolder(async (folder) => {
    const commands = FILES.map(([name, , words]) => [name, words] as const);
    const more: typeof commands = [
      ["report.html", (file) => ["verify", file]],
      ["report.html", (file) => ["report", file]],
      ["report.html", (file) => ["publish", file.slice(0, file.lastIndexOf("/")), "--out", `${file}-site`]],
      ["scenario.jsonc", (file) => ["run", file]],
      ["plan.jsonc", (file) => ["plan", file]],
    ];
    for (const [name, words] of [...commands, ...more]) {
      const file = `${folder}/${name}`;
      await Deno.writeTextFile(file, "{");
      await Deno.truncate(file, 2 ** 31);
      const { code, err } = await runCommand(words(file), 120);
      assert(code === 1 || code === 2, `${words(file)}: ${err}`);
      assertStringIncludes(err, "has 2 GiB, at most ");
      await Deno.remove(file);
    }
    // A pipe has no size: it is read as far as a file of its kind may go.
    const endless = await runCommand(["size", "/dev/zero"], 120);
    assertEquals(endless.code === 0, false);
    assertStringIncludes(endless.err, "has more than 4 MiB, at most 4 MiB are read");
  });
});

Deno.test("a page keeps being whole, and one with a mark before it is told from it", async () => {
  await inFolder(async (folder) => {
    const page = renderReport(fixtureResult({ samples: 1, steps: 3 }));
    await Deno.writeTextFile(`${folder}/page.html`, page);
    assertEquals((await runCommand(["verify", `${folder}/page.html`], 120)).code, 0);
    await Deno.writeTextFile(`${folder}/page.html`, `\ufeff${page}`);
    assertEquals((await runCommand(["verify", `${folder}/page.html`], 120)).code, 1);
  });
});

Deno.test("an earlier result of 2 GiB is kept beside a new one and not read, whichever run comes", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/simulation.jsonc`;
    const out = `${folder}/out`;
    await Deno.writeTextFile(file, SIMULATION);
    await Deno.mkdir(out);
    const head = '{"type":"run","started":"2026-01-02T03:04:05.678Z",\n{"started":"1999-01-01T00:00:00.000Z"}\n';
    await Deno.writeTextFile(`${out}/result.jsonl`, head);
    await Deno.truncate(`${out}/result.jsonl`, 2 ** 31);
    const { code, err } = await runCommand(["run", file, "--out", out], 120);
    assertEquals(code, 0, err);
    assertEquals((await Deno.stat(`${out}/result-2026-01-02T030405.678Z.jsonl`)).size, 2 ** 31);
    assert((await Deno.stat(`${out}/result.jsonl`)).size < 2 ** 20);
    // One of a run, as the runner of scenarios begins its file.
    await Deno.truncate(`${out}/result.jsonl`, 2 ** 31);
    using results = await ResultFolder.take(`${out}/result.jsonl`);
    using writer = await ResultWriter.create(results);
    assertEquals(writer.records, []);
    assertEquals((await Deno.stat(`${out}/result.jsonl`)).size, 0);
  });
});

Deno.test("a result that cannot be read is not written over", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/simulation.jsonc`, SIMULATION);
    await Deno.mkdir(`${folder}/out`);
    await Deno.symlink("result.jsonl", `${folder}/out/result.jsonl`); // a circle
    const { code } = await runCommand(["run", `${folder}/simulation.jsonc`, "--out", `${folder}/out`], 120);
    assertEquals(code, 1);
    assert((await Deno.lstat(`${folder}/out/result.jsonl`)).isSymlink);
  });
});

Deno.test("a media model larger than one can be is refused with the figure", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/large.jsonc`, "{");
    await Deno.truncate(`${folder}/large.jsonc`, 2 ** 31);
    const { message } = await assertRejects(() => readUserText(`${folder}/large.jsonc`, "media"), RangeError);
    assertStringIncludes(message, "Cannot read the media model");
    assertStringIncludes(message, "has 2 GiB, at most 4 MiB are read");
  });
});

Deno.test("an error quotes a file in short, and tells of twenty problems one by one", async () => {
  await inFolder(async (folder) => {
    const long = "x".repeat(20_000);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`c${i}`, { storage: 7 }]));
    const files: readonly (readonly [string, unknown, (file: string) => string[]])[] = [
      ["eeg.json", { T: long, zipf_q: 1, zipf_s: 1, E: 10 }, (file) => ["profile", "--from-eeg", file]],
      ["answers.json", { modules: [long] }, (file) => ["run", "--preset", "contribute", "--answers", file]],
      ["scenario.jsonc", { ...JSON.parse(SCENARIO), configurations: many }, (file) => ["validate", file]],
    ];
    for (const [name, value, words] of files) {
      await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify(value));
      const { code, err } = await runCommand(words(`${folder}/${name}`), 120);
      assertEquals(code, 2, err);
      assert(err.length < 6_000, `${name}: ${err.length} characters: ${err.slice(0, 200)}`);
      assertEquals(err.includes("and 480 more"), name === "scenario.jsonc", err);
      assertEquals(
        err.split('"DRAM_PMEM", ').length,
        name === "scenario.jsonc" ? 2 : 1,
        "the list of names is told once",
      );
      assertEquals(err.split("named above, found 7").length, name === "scenario.jsonc" ? 20 : 1, err);
    }
  });
});

Deno.test("paths that a task is given are of the folder it is asked in", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/mine.jsonc`, SCENARIO);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", "--config", CONFIG, "tierbench", "--no-install", "validate", "mine.jsonc"],
      cwd: folder,
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, 0, said);
    assertStringIncludes(said, "mine");
  });
});
