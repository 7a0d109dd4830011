/** Pages of strangers: what they may make the command do, print and write. */

import { checkPage, renderReport, runSimulation, summarise, toCsv, toMarkdown } from "../../mod.ts";
import { sha256Hex } from "../../reports/capsule/tree.ts";
import { renderSimulation, simulationCsv, simulationMarkdown, summariseSimulation } from "../../reports/report.ts";
import type { Result } from "../../scenarios/record.ts";
import { digestOf } from "../../base/canonical.ts";
import { resolveScenario } from "../../scenarios/load.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { mutationsOf, RUNTIME_WORDS } from "../mutations.ts";
import "../native_library.ts";
import { inFolder, runCommand } from "./command.ts";

const PAGE = renderReport(fixtureResult({ samples: 1, steps: 3 }));

Deno.test("tierbench verify looks at every file, whatever is wrong with one before it", async () => {
  await inFolder(async (folder) => {
    const files = ["a", "none", "c", "folder", "e"].map((name) => `${folder}/${name}.html`);
    const [a = "", none = "", c = "", other = "", e = ""] = files;
    await Deno.writeTextFile(a, PAGE);
    await Deno.writeTextFile(c, PAGE.replace("pmem-modes", "pmem-model"));
    await Deno.mkdir(other);
    await Deno.writeTextFile(e, PAGE);
    const { code, out, err } = await runCommand(["verify", ...files], 160);
    assertEquals(code, 1);
    assertEquals(out.split("\n").filter((line) => line.includes(": whole, ")).length, 2);
    for (const [file, words] of [[none, "does not exist"], [c, "SHA-256"], [other, "irectory"]] as const) {
      assert(err.split("\n").some((line) => line.startsWith(`${file}: `) && line.includes(words)), `${file}\n${err}`);
    }
    assertEquals((await runCommand(["verify", a, e], 160)).code, 0);
    const json = JSON.parse((await runCommand(["verify", ...files, "--json"], 160)).out) as { file: string }[];
    assertEquals(json.map(({ file }) => file), files);
  });
});

Deno.test("a crafted table of sums is damage with a name, never an error of the runtime", () => {
  const TABLE = /(<script type="application\/json" id="capsule" data-sha256=")[0-9a-f]{64}(">)([^<]*)(<)/;
  const table = JSON.parse(TABLE.exec(PAGE)?.[3] ?? "");
  const crafted = [
    ...mutationsOf({ ...table, parts: table.parts.slice(0, 2) }, 400, "sums").map(({ value }) => JSON.stringify(value)),
    "null",
    "[]",
    "{",
    '{"format":1,"root":"x","parts":null}',
  ];
  for (const text of crafted) {
    const sums = text.replaceAll("<", "\\u003c");
    const page = PAGE.replace(TABLE, (_, a, b, _old, d) => `${a}${sha256Hex(sums)}${b}${sums}${d}`);
    const { damage, sealed } = checkPage(page);
    assert(sealed && damage.length > 0, text.slice(0, 200));
    for (const { part, found } of damage) {
      assert(!RUNTIME_WORDS.test(`${part} ${found.replaceAll(/"[^"]*"|found .*$/gs, "")}`), `${part} ${found}`);
    }
  }
});

Deno.test("tierbench rerun uses no file or folder that a report names unless it is told to", async () => {
  await inFolder(async (folder) => {
    const scenario = await resolveScenario({
      name: "strange",
      workload: { data: { criteo: `${folder}/secret.tsv` }, steps: 1 },
      configurations: {
        ssd: { storage: "DRAM_SSDHASH", ssdPath: `${folder}/elsewhere` },
        pmem: { storage: "DRAM_PMEM", pmem: "libpmem" },
      },
      matrix: { "configurations.pmem.path": [`${folder}/pool`, "auto"] },
    });
    const made = fixtureResult({ samples: 1, steps: 3 });
    const result = { ...made, run: { ...made.run, scenario, scenarioDigest: digestOf(scenario) } } as Result;
    await Deno.writeTextFile(`${folder}/result.jsonl`, toJsonLines(result));
    await Deno.writeTextFile(`${folder}/page.html`, renderReport(result));
    for (const file of ["result.jsonl", "page.html"]) {
      const { code, err } = await runCommand(["rerun", `${folder}/${file}`, "--out", `${folder}/again`], 160);
      assertEquals(code, 2);
      for (const place of ["workload.data.criteo", "configurations.ssd.ssdPath", "matrix.configurations.pmem.path"]) {
        assertStringIncludes(err, place);
      }
      assertStringIncludes(err, "--use-paths");
    }
    const told = await runCommand(["rerun", `${folder}/page.html`, "--use-paths", "--out", `${folder}/again`], 160);
    assert(told.code !== 0 && !told.err.includes("--use-paths"), told.err);
    assertStringIncludes(told.err, "elsewhere");
    const simulated = await runSimulation({
      kind: "simulation",
      name: "strange",
      steps: 1,
      warmup: 0,
      workload: { batch: 10, tables: [{ name: "ids", rows: 100, dim: 4, lookups: 1, law: { s: 1 } }] },
      compute: { dense: "1 ms", source: "a test" },
      configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
    });
    const traced = {
      ...simulated.run.scenario,
      workload: { ...simulated.run.scenario.workload, trace: `${folder}/secret.csv` },
    };
    const run = { ...simulated.run, scenario: traced, scenarioDigest: digestOf(traced) };
    await Deno.writeTextFile(`${folder}/simulation.html`, renderSimulation({ ...simulated, run }));
    const { code, err } = await runCommand(["rerun", `${folder}/simulation.html`], 160);
    assertEquals(code, 2);
    assertStringIncludes(err, "workload.trace");
  });
});

Deno.test("a simulation whose name leads elsewhere is not run again", async () => {
  await inFolder(async (folder) => {
    const { run, cases, explanations } = await runSimulation({
      kind: "simulation",
      name: "fine",
      steps: 1,
      warmup: 0,
      workload: { batch: 10, tables: [{ name: "ids", rows: 100, dim: 4, lookups: 1, law: { s: 1 } }] },
      compute: { dense: "1 ms", source: "a test" },
      configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
    });
    const scenario = { ...run.scenario, name: "../../evil" };
    const page = renderSimulation({
      run: { ...run, scenario, scenarioDigest: digestOf(scenario) },
      cases,
      explanations,
    });
    await Deno.writeTextFile(`${folder}/page.html`, page);
    const { code, err } = await runCommand(["rerun", `${folder}/page.html`], 160);
    assertEquals(code, 2);
    assertStringIncludes(err, "its scenario is not valid: name: expected a name of letters");
  });
});

const MARKDOWN = "x|y\\|z <img src=x> [a](b) `c` *d* ~~e~~ &amp; \u202ef\r\n# g";

Deno.test("every field of a summary is escaped in Markdown, and no cell of CSV is a formula", async () => {
  const made = fixtureResult({ samples: 1, steps: 3, failed: true });
  const text = (one: string): string => `${one}${MARKDOWN}`;
  const result = {
    ...made,
    run: {
      ...made.run,
      scenarioDigest: text("1").slice(0, 12),
      scenario: { ...made.run.scenario, name: text("name"), seed: text("7") },
      versions: { tierbench: text("0.1") },
      machine: { ...made.run.machine, cpu: text("cpu") },
    },
    samples: made.samples.map((one, i) => ({
      ...one,
      case: `${["=", "+", "-", "@"][i]}1+cmd|' /C calc'!A0`,
      how: text("h"),
    })),
    failed: made.failed.map((one) => ({ ...one, error: text("error") })),
  } as unknown as Result;
  const head =
    "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note";
  const evil = MARKDOWN.replace("\r\n", " ").replaceAll(",", "");
  const row = (name: string) => `ours,${name},memory,,4096,4096,,1,hour,USD,2026-01,2026-12,here,${evil},V,${evil}`;
  const priced = (name: string) => ({ priceFiles: [{ name: "own.csv", text: `${head}\n${row(name)}\n` }] });
  assertThrows(() => summarise(result, priced(evil)), RangeError, 'Cannot use the prices in "own.csv" line 2: name is');
  const summary = summarise(result, priced("m1"));
  const plain = toMarkdown(summary).replaceAll("<details>", "").replaceAll("</details>", "")
    .replaceAll(/<\/?summary>/g, "");
  assert(plain.includes("&lt;img"));
  assert(!/<|[^\\]\[a\]|[^\\]`c|[^\\]\*d|\u202e|\r|^# g/m.test(plain), plain);
  assert(!/(?<!\\)(\\\\)*\|z/.test(plain), "a bar after a backslash ends a cell");
  for (const line of toCsv(summary).split("\n")) assert(!/^"?[=+@-]/.test(line), line);
  const simulated = await runSimulation({
    kind: "simulation",
    name: "text",
    about: MARKDOWN,
    steps: 1,
    warmup: 0,
    workload: { batch: 10, tables: [{ name: "ids", rows: 100, dim: 4, lookups: 1, law: { s: 1 } }] },
    compute: { dense: "1 ms", source: MARKDOWN },
    configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
    studies: [{ name: `=${MARKDOWN}` }],
  });
  const virtual = summariseSimulation(simulated);
  assert(
    !/<|[^\\]\[a\]|[^\\]`c|[^\\]\*d|\u202e|\r|^# g/m.test(simulationMarkdown(virtual)),
    simulationMarkdown(virtual),
  );
  assertStringIncludes(simulationCsv(virtual), "'=x|y");
});
