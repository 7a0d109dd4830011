import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { importReuse, ProfileError } from "../../../mod.ts";
import { reuseHistogram } from "../../../models/workloads/reuse.ts";
import { inFolder, runCommand } from "../../cli/command.ts";

/** A batch of 4096 keys: a few hot, many once. */
const KEYS = BigInt64Array.from({ length: 4096 }, (_, i) => BigInt(i % 4 === 0 ? i : i % 64));
const FILE = {
  source: "a test",
  batch: 1024,
  tables: [{ name: "ids", ...reuseHistogram(KEYS, 10) }],
};

Deno.test("importReuse() makes rows of each rate, bags of the mean length, shares that add up", () => {
  const { name, origin, tables: [table] } = importReuse(JSON.stringify(FILE), "a file", "mine");
  assertEquals([name, origin.mark, table?.name, table?.bags], ["mine", "computed", "ids", [[4, 1]]]);
  const steps = table?.popularity.steps ?? [];
  assertEquals(steps.reduce((sum, { rows }) => sum + rows, 0), table?.rows);
  assert(Math.abs(steps.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-6);
  // Three quarters of the lookups are of 48 rows.
  const hot = steps.filter(({ rows, share }) => share / rows > 8 / 4096);
  assert(Math.abs(hot.reduce((sum, { share }) => sum + share, 0) - 0.75) < 0.05);
  assert(hot.reduce((sum, { rows }) => sum + rows, 0) < 100);
});

Deno.test("importReuse() says what is wrong with a histogram", () => {
  const [table] = FILE.tables;
  const wrong = (change: object) => JSON.stringify({ ...FILE, tables: [{ ...table, ...change }] });
  for (
    const [text, words] of [
      ["{", "it is no JSON"],
      [JSON.stringify({ ...FILE, source: undefined }), 'expected a field "source"'],
      [wrong({ rows: 5000 }), "expected at least one a row (5000 rows), found 4096"],
      [wrong({ accessShares: [0.5] }), "tables[0].accessShares: its shares add up to 0.5, expected 1"],
      [wrong({ rowShares: [0.9, 0.9] }), "tables[0].rowShares: its shares add up to 1.8"],
    ] as const
  ) {
    assertThrows(() => importReuse(text, '"x.json"', "x"), ProfileError, words);
  }
});

Deno.test("tierbench profile --reuse writes a profile that curve takes", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/reuse.json`, JSON.stringify(FILE));
    const { code, err, out } = await runCommand([
      "profile",
      "--reuse",
      `${folder}/reuse.json`,
      "--out",
      `${folder}/mine.json`,
    ], 120);
    assertEquals([code, err, out], [0, "", `profile  ${folder}/mine.json\n`]);
    const curve = await runCommand(["curve", `${folder}/mine.json`], 120);
    assertEquals(curve.code, 0);
    const name = `${folder}/reuse.json`;
    for (
      const [words, message] of [
        [["--rows", "5"], "Cannot use --rows with --reuse: it belongs to --from-eeg"],
        [["--eeg", `${folder}/eeg.json`], "Cannot use --eeg with --reuse: it belongs to a trace"],
        [["--columns", "key=1"], "Cannot use --columns with --reuse"],
        [["--out", `${folder}/none/p.json`], "no such file or directory; choose another folder"],
      ] as const
    ) {
      const said = await runCommand(["profile", "--reuse", name, ...words], 120);
      assert(said.code !== 0 && said.out === "" && said.err.includes(message), `${words}: ${said.err}`);
    }
    assertEquals([...Deno.readDirSync(folder)].map((entry) => entry.name).sort(), ["mine.json", "reuse.json"]);
    const both = await runCommand(["profile", "trace.csv", "--reuse", `${folder}/reuse.json`], 120);
    assertEquals(both.code, 2);
  });
});
