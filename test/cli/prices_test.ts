import "../native_library.ts";
import { main } from "../../cli/main.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";

const HEAD = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const GOOD = "PUE average,,,1.2,,,ratio,,2026-01,2026-06,here,our meter,V,\n";

async function tierbench(colors: boolean, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  const terminal = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    isTerminal: false,
    colors,
    width: 120,
  };
  return { code: await main(args, terminal), out, err };
}

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("tierbench prices shows the book as of a date, old rows amber", async () => {
  const { code, out } = await tierbench(true, "prices", "--as-of", "2026-11");
  assertEquals(code, 0);
  const line = (text: string): string => out.split("\n").find((one) => one.includes(text)) ?? "";
  assert(line("ecs.re6p.13xlarge").startsWith("\x1b[33m"));
  assert(!line("PUE average").includes("\x1b[33m"));
  assertMatch(out, /\d+ prices as of 2026-11, \d+ of them over a year old/);
  const then = await tierbench(true, "prices", "--as-of", "2022-06");
  assert(!(then.out.split("\n").find((one) => one.includes("ecs.re6p")) ?? "").includes("\x1b[33m"));
  assertEquals((await tierbench(false, "prices", "--as-of", "soon")).code, 1);
});

Deno.test("tierbench prices --lint names file and line of what is wrong", async () => {
  assertEquals((await tierbench(false, "prices", "--lint")).code, 0);
  await inFolder(async (folder) => {
    const file = `${folder}/mine.csv`;
    await Deno.writeTextFile(file, HEAD + GOOD);
    assertEquals((await tierbench(false, "prices", "--lint", file)).code, 0);
    assertStringIncludes(
      (await tierbench(false, "prices", file, "--as-of", "2026-11")).out,
      "your file mine.csv: our meter",
    );
    await Deno.writeTextFile(file, HEAD + GOOD.replace("our meter", "") + GOOD.replace("2026-01", ""));
    const { code, err } = await tierbench(false, "prices", "--lint", file);
    assertEquals(code, 2);
    assertEquals(err, '"mine.csv" line 2: source is missing\n"mine.csv" line 3: from is missing\n');
    const report = await tierbench(false, "claim", folder, "--prices", file);
    assertEquals(report.code, 1);
    assertStringIncludes(report.err, '"mine.csv" line 2: source is missing');
    assertStringIncludes(
      (await tierbench(false, "prices", `${folder}/none.csv`)).err,
      `Cannot read the prices: "${folder}/none.csv" does not exist`,
    );
  });
});

Deno.test("tierbench claim takes a published saving apart", async () => {
  const { code, out } = await tierbench(false, "claim", "--published", "openembedding");
  assertEquals(code, 0);
  assertStringIncludes(out, "saving 42.0 %");
  assertMatch(out, /\+31\.0 +11\.0 % +DRAM machines come in sizes/);
  assertStringIncludes(out, "PMem is cheaper below 6.55 $/h");
  const wrong = await tierbench(false, "claim", "--published", "openembeding");
  assertEquals([wrong.code, wrong.err], [
    2,
    'error    Unknown published saving "openembeding": did you mean "openembedding"?\n',
  ]);
});

Deno.test("tierbench claim takes the savings of results apart, at own prices and dates", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/result.jsonl`, toJsonLines(fixtureResult()));
    const all = await tierbench(false, "claim", folder);
    assertEquals(all.code, 0);
    for (const name of ["memory-mode", "fsdax", "kmem-dax"]) assertStringIncludes(all.out, `${name} against dram`);
    assertStringIncludes(all.out, "over a year old");
    const one = await tierbench(
      false,
      "claim",
      `${folder}/result.jsonl`,
      "--case",
      "fsdax",
      "--as-of",
      "2022",
      "--json",
    );
    const [claim, ...more] = JSON.parse(one.out);
    assertEquals([claim.case, more.length], ["fsdax", 0]);
    const none = await tierbench(false, "claim", folder, "--case", "dram");
    assertStringIncludes(none.err, 'no saving of a case "dram"; there are memory-mode, fsdax, kmem-dax');
    const early = await tierbench(false, "claim", folder, "--as-of", "2019");
    assertEquals(early.code, 2);
    assertStringIncludes(early.err, "no machine for it as of 2019");
  });
});

Deno.test("tierbench report prices anew", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/result.jsonl`, toJsonLines(fixtureResult()));
    await Deno.writeTextFile(`${folder}/mine.csv`, HEAD + GOOD);
    const { code, out } = await tierbench(
      false,
      ...["report", folder, "--as-of", "2022-06", "--prices", `${folder}/mine.csv`, "--json"],
    );
    assertEquals(code, 0);
    assertEquals(JSON.parse(out).pricing.asOf, "2022-06");
    assertStringIncludes(await Deno.readTextFile(`${folder}/index.html`), "the latest as of 2022-06");
  });
});
