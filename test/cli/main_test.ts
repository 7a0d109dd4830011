import "../native_library.ts";
import { scenarioTemplate } from "../../cli/init_template.ts";
import { parseScenario } from "../../scenarios/load.ts";
import { configurations, contributionOf, inspectMachine, parsePage, renderContribution } from "../../mod.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { EXIT } from "../../cli/exit_codes.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand, type Said } from "./command.ts";

/** What the command says and returns. */
function tierbench(...args: string[]): Promise<Said> {
  return runCommand(args, 120);
}

Deno.test("tierbench without words, and with --help, explains itself, its verbs and its exit codes", async () => {
  for (const words of [[], ["--help"], ["help"]]) {
    const { code, out } = await tierbench(...words);
    assertEquals(code, 0);
    for (
      const verb of [
        "run",
        "init",
        "list",
        "validate",
        "report",
        "verify",
        "reanalyse",
        "rerun",
        "compare",
        "baselines",
        "merge",
        "publish",
        "claim",
        "prices",
        "doctor",
        "provision",
        "schema",
        "curve",
        "cache",
        "export",
        "inspect",
        "plan",
        "size",
        "validate-models",
        "profile",
        "calibrate",
        "checkpoint",
      ]
    ) {
      assertMatch(out, new RegExp(`^  ${verb}\\b`, "m"));
    }
    assertMatch(out, /130 +interrupted; complete records stay/);
    assertStringIncludes(out, "tierbench run --quick");
  }
});

Deno.test("tierbench <verb> --help has examples", async () => {
  for (
    const verb of [
      "run",
      "init",
      "validate",
      "report",
      "verify",
      "reanalyse",
      "rerun",
      "compare",
      "merge",
      "publish",
      "claim",
      "prices",
      "provision",
      "calibrate",
      "checkpoint",
    ]
  ) {
    const { code, out } = await tierbench(verb, "--help");
    assertEquals(code, 0);
    assertMatch(out, /Examples?:\n +tierbench /);
  }
});

Deno.test("tierbench --version names the suite, its library and the runtime", async () => {
  const { code, out } = await tierbench("--version");
  assertEquals(code, 0);
  assertMatch(out, /^tierbench \d+\.\d+\.\d+\nlibtierstore \d.*\ndeno \d.*\n$/);
});

for (
  const [words, text] of [
    [["rnu"], "error: unknown command 'rnu'\n(Did you mean run?)\n"],
    [["run", "--qiuck"], "error: unknown option '--qiuck'\n(Did you mean --quick?)\n"],
    [["run", "pmem-mode"], 'Unknown scenario "pmem-mode": did you mean "pmem-modes"?'],
    [["run", "no/such.jsonc"], 'Cannot read the scenario: "no/such.jsonc" does not exist'],
    [["run", "--require", "simulated"], 'Cannot require "simulated": expected "measured"'],
    [["run", "--seed", "1.5"], 'Cannot use the seed "1.5"'],
    [["run", "a", "b"], "error: too many arguments"],
    [["run", "--preset", "share"], 'Unknown preset "share": expected "contribute"'],
    [["run", "pmem-modes", "--preset", "contribute"], 'Cannot run "pmem-modes": --preset contribute runs its own'],
    [
      ["run", "--preset", "contribute", "--data", "x"],
      "Cannot use --data: --preset contribute trains on generated rows",
    ],
    [["run", "--note", "x"], "Cannot use --note or --answers: they belong to --preset contribute"],
    [["run", "--preset", "contribute", "--note", "idle: "], 'Cannot use the answer "idle": it is empty'],
    [["run", "--preset", "contribute", "--answers", "no.json"], 'Cannot read the answers: "no.json" does not exist'],
    [["run", "--set", "workload.batch"], 'Cannot set "workload.batch": expected field=value'],
    [["run", "--set", "workload.bacth=4"], 'workload.bacth: unknown field "bacth"'],
    [["validate"], "error: missing required argument 'scenario'"],
  ] as const
) {
  Deno.test(`tierbench ${words.join(" ")} is refused with exit code 2`, async () => {
    const { code, err } = await tierbench(...words);
    assertEquals(code, 2);
    assertStringIncludes(err, text);
  });
}

Deno.test.each([
  "run no/such.jsonc",
  "run --quick --data no/such.tsv",
  "run --baseline no/such",
  "validate no/such.jsonc",
  "report no/such",
  "verify no/such.html",
  "reanalyse no/such.html",
  "rerun no/such.html",
  "compare no/such.html no/other.html",
  "merge no/such",
  "publish no/such",
  "claim no/such",
  "prices no/such.csv",
  "ask no/such.jsonc",
  "plan no/such.jsonc",
  "size no/such.jsonc",
  "curve no/such.csv",
  "inspect no/such",
  "profile no/such.csv",
  "checkpoint verify no/such",
].map((words) => ({ words })))(
  "tierbench $words says in one line what is not there, with exit code 2",
  async ({ words }) => {
    const { code, err } = await tierbench(...words.split(" "));
    assertEquals(code, 2);
    assertMatch(err, /^[^\n]*"[^"]*no\/such[^"]*"[^\n]*(does not exist|there is no such folder)[^\n]*\n$/);
  },
);

Deno.test("tierbench report of a contribution rebuilds the report and shows the checklist, or names what is damaged", async () => {
  const made = fixtureResult();
  const result = { ...made, samples: made.samples.map((one) => ({ ...one, evidence: "measured" as const })) };
  const page = renderContribution(await contributionOf(result, { answers: { idle: "yes" }, notes: [] }));
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/c.html`, page);
    const { code, out, err } = await tierbench("report", `${folder}/c.html`, "--out", `${folder}/again`);
    assertEquals([code, err], [0, ""]);
    assertMatch(out, /^\? Modules on channels /m);
    assertMatch(out, /^\+ idle +yes$/m);
    const read = parsePage(await Deno.readTextFile(`${folder}/again/index.html`), "index.html");
    assertEquals(read.result.samples.length, result.samples.length);
    const place = page.indexOf('"id":"fsdax#2"') + 200;
    await Deno.writeTextFile(`${folder}/c.html`, `${page.slice(0, place)}~${page.slice(place + 1)}`);
    const bad = await tierbench("report", `${folder}/c.html`);
    assertEquals([bad.code, bad.out], [1, ""]);
    assertStringIncludes(bad.err, 'c.html": the sample "fsdax#2" is damaged');
    assertEquals((await tierbench("report", `${folder}/none.html`)).code, 2);
  });
});

const measurable = configurations(inspectMachine()).filter(({ state }) => state === "measured")
  .map(({ configuration }) => configuration).filter((name) => name !== "dram");
const contributes = "tierbench run --preset contribute is refused with exit code 3 where only DRAM can be measured" +
  (measurable.length === 0 ? "" : ` (skipped: ${measurable.join(", ")} can be measured here, so it would run)`);

Deno.test(contributes, { ignore: measurable.length > 0 }, async () => {
  const { code, out, err } = await tierbench("run", "--preset", "contribute", "--note", "idle: yes");
  assertEquals([code, out], [3, ""]);
  assertStringIncludes(err, "tierbench provision fsdax");
});

Deno.test("tierbench list shows the shipped scenarios, for people and for machines", async () => {
  assertMatch((await tierbench("list")).out, /^pmem-modes {2,}Wide & Deep/m);
  const list = JSON.parse((await tierbench("list", "--json")).out) as { name: string }[];
  assert(list.some(({ name }) => name === "pmem-modes"));
});

Deno.test("tierbench init writes a scenario that validates and says every field's default, and never overwrites", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/my own.jsonc`;
    const { code, out } = await tierbench("init", file);
    assertEquals(code, 0);
    assertStringIncludes(out, file);
    assertEquals((await tierbench("validate", file)).out, `${file}: valid, 3 cases × 3 samples\n`);
    await Deno.writeTextFile(file, "mine");
    const again = await tierbench("init", file);
    assertEquals(again.code, 2);
    assertStringIncludes(again.err, "it exists; choose another name or remove it");
    assertEquals(await Deno.readTextFile(file), "mine");
    assertEquals((await tierbench("init", `${folder}/no/x.jsonc`)).code, 2);
  });
  const place = { file: "x", directory: "/" };
  const written = await parseScenario(scenarioTemplate("x", "s"), place);
  const bare = await parseScenario(
    `{"name": "x", "about": ${JSON.stringify(written.about)}, "configurations": ${
      JSON.stringify(written.configurations)
    }}`,
    place,
  );
  assertEquals(written, bare, "the template shows another value than the default");
});

Deno.test("tierbench validate says what is wrong, for people and for machines", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/bad.jsonc`;
    await Deno.writeTextFile(file, '{"name": "x",\n "configurations": {"a": {"storage": "DARM"}}}');
    const said = await tierbench("validate", "pmem-modes", file);
    assertEquals(said.code, 2);
    assertStringIncludes(said.err, `${file}:2:38  configurations.a.storage: unknown storage type "DARM"\n`);
    assertStringIncludes(said.out, "pmem-modes.jsonc: valid, 4 cases × 4 samples\n");
    const json = JSON.parse((await tierbench("validate", "--json", file)).out) as { problems: { place: unknown }[] }[];
    assertEquals(json[0]?.problems[0]?.place, { file, line: 2, column: 38 });
  });
});

Deno.test("tierbench schema prints the schemas that are kept", async () => {
  for (const [file, ...args] of [["scenario"], ["simulation", "simulation"], ["plan", "plan"]]) {
    const kept = await Deno.readTextFile(new URL(`../../scenarios/${file}.schema.json`, import.meta.url));
    assertEquals(JSON.parse((await tierbench("schema", ...args)).out), JSON.parse(kept));
  }
  const said = await tierbench("schema", "report");
  assertEquals(said.code, 2);
  assertStringIncludes(said.err, "scenario, simulation, plan");
});

Deno.test("tierbench doctor says which configurations this machine has", async () => {
  const { code, out } = await tierbench("doctor");
  assertEquals(code, 0);
  const names = ["dram", "memory-mode", "fsdax", "kmem-dax", "hbm"];
  for (const name of names) assertMatch(out, new RegExp(`^. ${name} +\\w`, "m"));
  const json = JSON.parse((await tierbench("doctor", "--json")).out) as {
    configurations: unknown[];
    inventory: { tools: { name: string }[] };
  };
  assertEquals(json.configurations.length, names.length);
  assertEquals(json.inventory.tools.map(({ name }) => name), ["ndctl", "daxctl", "cxl", "ipmctl", "numactl"]);
  assertMatch(out, /^Tools$/m);
});

Deno.test("tierbench inspect says what a file is, and refuses what can be read in several ways", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/ratings.csv`;
    await Deno.writeTextFile(path, "userId,movieId,rating\n1,10,3.5\n2,10,4\n");
    const refused = await tierbench("inspect", path);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.err, "--columns key=userId,key=movieId if both have keys of tables of their own");
    const both = await tierbench("inspect", path, "--columns", "key=userId,key=movieId");
    assertMatch(both.out, /^form +text$/m);
    assertMatch(both.out, /^userId +2 +2$/m);
    assertMatch(both.out, /^movieId +2 +1$/m);
    assertStringIncludes(both.out, '--columns "key=userId,key=movieId"');
    // Two lookups are too few to say of a profile that it is bad.
    for (const [verb, note] of [["curve", false], ["profile", true]] as const) {
      assertEquals((await tierbench(verb, path)).code, EXIT.usage);
      const read = await tierbench(verb, path, "--columns", "key=movieId");
      assertEquals([read.code, read.err.includes("of 2 lookups, chance alone")], [EXIT.ok, note], read.err);
    }
  });
});

Deno.test("tierbench curve: a trace exactly, a law by its formula, and what is wrong", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/t.csv`, "table,key\nu,1\nu,2\nu,1\ni,1\nu,1\nu,3\n");
    const { code, out } = await tierbench("curve", `${folder}/t.csv`, "--sizes", "1,2", "--json");
    assertEquals(code, 0);
    const { curve, optimum } = JSON.parse(out);
    assertEquals([curve.lookups, curve.missRatios, optimum.policy], [6, [1, 4 / 6], "opt"]);
    assertEquals([curve.rate, curve.errors], [1, undefined]);
    const little = await tierbench("curve", `${folder}/t.csv`, "--memory", "5 MB");
    assertEquals([little.code, /--memory 5 MB: give 512 MiB or more/.test(little.err)], [2, true]);
    // More rows than a sample on demand has.
    const keys = BigInt64Array.from({ length: 2 ** 22 }, (_, i) => BigInt(i % 3_000_000));
    await Deno.writeFile(`${folder}/keys.i64`, new Uint8Array(keys.buffer));
    const sampled = ["curve", `${folder}/keys.i64`, "--method", "sampled", "--sizes", "2000000,3000000"];
    const part = JSON.parse((await tierbench(...sampled, "--json")).out).curve;
    assert(part.rate < 1 && part.errors.length === 2 && part.errors[0] < 0.01);
    // A loop: nothing hits before the cache has all its rows.
    assertAlmostEquals(part.missRatios[0], 1, 0.01);
    assertAlmostEquals(part.missRatios[1], 3_000_000 / 2 ** 22, 0.01);
    const { out: told } = await tierbench(...sampled);
    assertMatch(told, /^sample {3}one row in 4 by its hash \(SHARDS\): [\d,]+ of 4,194,304 lookups; errors by/m);
    assertMatch(told, /^memory {3}[\d.]+ MiB for keys and curves$/m);
    assertMatch(told, /^3000000 +0\.715 +71\.\d+ % +\d+\.\d\d % +71\.\d+ %/m);
  });
  const law = await tierbench(
    "curve",
    "--rows",
    "2.1e9",
    "--s",
    "1.346",
    "--q",
    "4300",
    "--batch",
    "10000",
    "--sizes",
    "8388608",
  );
  assertMatch(law.out, /8388608 +2\.00 +9\.60 % +6\.75 %/);
  assertMatch(law.out, /each row counts once in 10000 lookups/);
  const retail = await tierbench("curve", "oe-retail", "--batch", "100000", "--sizes", "8388608", "--json");
  assertEquals(Math.round(1000 * JSON.parse(retail.out).curve.missRatios[0]), 134); // the published law, 2 GiB of 256 B rows
  const both = await tierbench("curve", "t.csv", "--rows", "5");
  assertEquals([both.code, /give either a trace, a profile or --rows/.test(both.err)], [2, true]);
});
