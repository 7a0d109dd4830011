import "../native_library.ts";
import { checkPage, renderReport } from "../../mod.ts";
import type { Result } from "../../scenarios/record.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand, type Said } from "./command.ts";

/** What the command says and returns. */
function tierbench(...args: string[]): Promise<Said> {
  return runCommand(args, 160);
}

function slower(result: Result, factor: number): Result {
  const samples = result.samples.map((one) =>
    one.case === "fsdax" ? { ...one, stepNs: one.stepNs.map((ns) => Math.round(ns * factor)) } : one
  );
  return { ...result, samples };
}

Deno.test("tierbench verify says whole with the root hash, or names the damaged part with exit code 1", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/r.html`;
    const page = renderReport(fixtureResult());
    const { root, parts } = checkPage(page);
    await Deno.writeTextFile(file, page);
    assertEquals(await tierbench("verify", file), {
      code: 0,
      out: `${file}: whole, ${parts.length} parts, root ${root}\n`,
      err: "",
    });
    assertEquals((await tierbench("verify", file, "--root", root?.slice(0, 32) ?? "")).code, 0);
    assertEquals((await tierbench("verify", file, "--root", root?.slice(0, 31) ?? "")).code, 2);
    const other = await tierbench("verify", file, "--root", "0".repeat(32));
    assertEquals(other.code, 1);
    assertStringIncludes(other.err, `is whole, but its root hash is ${root}, expected ${"0".repeat(32)}`);
    assertEquals((await tierbench("verify", file, "--root", "x")).code, 2);
    const bad = `${folder}/bad.html`;
    await Deno.writeTextFile(bad, page.replace('"price":', '"pricf":').replace("3.035", "3.036"));
    const { code, err } = await tierbench("verify", file, bad);
    assertEquals(code, 1);
    assertMatch(err, /^.*bad\.html: .+ is damaged: its SHA-256 differs\n/);
    const json = await tierbench("verify", bad, "--json");
    assertEquals([json.code, JSON.parse(json.out)[0].damage.length > 0], [1, true]);
    await Deno.writeTextFile(bad, "<!DOCTYPE html>");
    assertStringIncludes((await tierbench("verify", bad)).err, "carries no sums");
    assertEquals((await tierbench("verify", `${folder}/none.html`)).code, 2);
  });
});

Deno.test("tierbench reanalyse makes the same bytes, and other prices on request", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/r.html`;
    const page = renderReport(fixtureResult());
    await Deno.writeTextFile(file, page);
    const same = await tierbench("reanalyse", file, "--out", `${folder}/sub/again.html`);
    assertEquals([same.code, same.err], [0, ""]);
    assertStringIncludes(same.out, `same     every byte of ${file}\n`);
    assertEquals(await Deno.readTextFile(`${folder}/sub/again.html`), page);
    const priced = await tierbench("reanalyse", file, "--as-of", "2020", "--out", `${folder}/2020.html`);
    assertEquals(priced.code, 0);
    assertStringIncludes(priced.out, "the options");
    assertStringIncludes(await Deno.readTextFile(`${folder}/2020.html`), "no machine for it as of 2020");
    assertEquals((await tierbench("reanalyse", `${folder}/2020.html`)).code, 0);
    const book = await tierbench("reanalyse", file, "--price-book", "models/costs/prices", "--json");
    assertEquals([book.code, JSON.parse(book.out).pricing.asOf], [0, "2026-11"]);
    const none = await tierbench("reanalyse", file, "--price-book", folder);
    assertEquals(none.code, 2);
    assertStringIncludes(none.err, "found no CSV file in");
    assertEquals((await tierbench("reanalyse", file, "--as-of", "yesterday")).code, 1);
    await Deno.writeTextFile(file, page.replace("</h1>", "</h2>"));
    const damaged = await tierbench("reanalyse", file);
    assertEquals(damaged.code, 1);
    assertStringIncludes(damaged.err, "the text of the heading is damaged");
  });
});

Deno.test("tierbench compare exits with 0 for no difference, 5 for slower, 2 for what is unlike", async () => {
  await inFolder(async (folder) => {
    const result = fixtureResult();
    await Deno.writeTextFile(`${folder}/a.html`, renderReport(result));
    await Deno.writeTextFile(`${folder}/result.jsonl`, toJsonLines(slower(result, 1.2)));
    const same = await tierbench("compare", `${folder}/a.html`, `${folder}/a.html`);
    assertEquals([same.code, same.err], [0, ""]);
    const worse = await tierbench("compare", `${folder}/a.html`, folder);
    assertEquals(worse.code, 5);
    assertStringIncludes(worse.out, "fsdax is 16.7 % slower (95 %: ");
    assertEquals((await tierbench("compare", folder, `${folder}/a.html`)).code, 0);
    const markdown = await tierbench("compare", `${folder}/a.html`, `${folder}/result.jsonl`, "--markdown");
    assertMatch(markdown.out, /^### Compared with the baseline\n\n\*\*fsdax is 16\.7 % slower/);
    const json = await tierbench("compare", `${folder}/a.html`, folder, "--json");
    assertEquals([json.code, JSON.parse(json.out).verdict], [5, "worse"]);
    const other = { ...result, run: { ...result.run, machine: { ...result.run.machine, cpu: "Other CPU" } } };
    await Deno.writeTextFile(`${folder}/b.html`, renderReport(other));
    const unlike = await tierbench("compare", `${folder}/a.html`, `${folder}/b.html`);
    assertEquals(unlike.code, 2);
    assertStringIncludes(unlike.err, "they are unlike in machine.cpu: Test CPU 9000 against Other CPU");
    const labelled = await tierbench("compare", `${folder}/a.html`, `${folder}/b.html`, "--unlike");
    assertEquals(labelled.code, 0);
    assertStringIncludes(labelled.out, "unlike  machine.cpu: Test CPU 9000 against Other CPU");
  });
});

Deno.test("tierbench compare --baseline is a gate: exit codes 0, 5 and 6, and a clear word for what it cannot use", async () => {
  await inFolder(async (folder) => {
    const result = fixtureResult({ samples: 6 });
    const [base, after] = [`${folder}/base.html`, `${folder}/after.html`];
    await Deno.writeTextFile(base, renderReport(result));
    const gate = async (other: Result, ...more: string[]) => {
      await Deno.writeTextFile(after, renderReport(other));
      return await tierbench("compare", after, "--baseline", base, ...more);
    };
    const same = await gate(result);
    assertEquals([same.code, same.err], [0, ""]);
    assertStringIncludes(same.out, "gate    The same: no case can have changed by more than 5");
    const worse = await gate(slower(result, 1.2));
    assertEquals(worse.code, 5);
    assertStringIncludes(worse.out, "gate    Worse: fsdax.");
    const better = await gate(slower(result, 0.8));
    assertEquals(better.code, 0);
    assertStringIncludes(better.out, "gate    Better: fsdax; nothing is worse.");
    const unclear = await gate(result, "--tolerance", "0.01", "--json");
    assertEquals([unclear.code, JSON.parse(unclear.out).gate.verdict], [6, "cannot tell"]);
    for (const bad of ["0", "100", "x", ""]) {
      const { code, err } = await gate(result, "--tolerance", bad);
      assertEquals(code, 2);
      assertStringIncludes(err, `Cannot use the tolerance "${bad}": expected percent above 0 and below 100`);
    }
    assertEquals((await tierbench("compare", base, after, "--tolerance", "5")).code, 2);
    const three = await tierbench("compare", base, after, "--baseline", base);
    assertEquals(three.code, 2);
    assertStringIncludes(three.err, "Cannot compare 3 results: expected two");
    const early = await tierbench("run", "pmem-modes", "--baseline", `${folder}/none.html`);
    assertEquals(early.code, 2);
    assertEquals((await tierbench("run", "pmem-modes", "--tolerance", "5")).code, 2);
    // Another scenario is refused before anything runs.
    const other = await tierbench("run", "pmem-modes", "--baseline", base, "--out", `${folder}/out`);
    assertEquals(other.code, 2);
    assertStringIncludes(other.err, "they are unlike in scenario.");
    await assertRejects(() => Deno.stat(`${folder}/out`), Deno.errors.NotFound);
  });
});

Deno.test("tierbench publish writes the pages and names a report that is damaged with exit code 1", async () => {
  await inFolder(async (folder) => {
    const page = renderReport(fixtureResult());
    await Deno.mkdir(`${folder}/in`);
    await Deno.writeTextFile(`${folder}/in/a.html`, page);
    const { code, out } = await tierbench("publish", `${folder}/in`, "--out", `${folder}/site`);
    assertEquals([code, out], [0, `published  1 reports, 0 with a history: ${folder}/site/index.html\n`]);
    const names = [...Deno.readDirSync(`${folder}/site`)].map(({ name }) => name).sort();
    assertEquals(names, ["badge.svg", "index.html", "reports", "summary.md"]);
    await Deno.writeTextFile(`${folder}/in/b.html`, page.slice(0, -20_000));
    const bad = await tierbench(
      "publish",
      `${folder}/in`,
      "--out",
      `${folder}/site`,
      "--baseline",
      `${folder}/in/a.html`,
    );
    assertEquals(bad.code, 1);
    assertStringIncludes(bad.err, "left out   b.html: ");
    assert((await Deno.readTextFile(`${folder}/site/summary.md`)).includes("Compared with the baseline"));
  });
});

Deno.test("tierbench rerun says clearly what it cannot run", async () => {
  await inFolder(async (folder) => {
    const result = fixtureResult(); // its digest is none of its scenario
    await Deno.writeTextFile(`${folder}/a.html`, renderReport(result));
    const { code, err } = await tierbench("rerun", `${folder}/a.html`);
    assertEquals(code, 2);
    assertStringIncludes(err, "paths were taken out of it before it was sent, or it was edited");
    const other = { ...result.run.scenario, kind: "simulation" } as unknown as Result["run"]["scenario"];
    await Deno.writeTextFile(`${folder}/b.html`, renderReport({ ...result, run: { ...result.run, scenario: other } }));
    const simulation = await tierbench("rerun", `${folder}/b.html`);
    assertEquals(simulation.code, 2);
    assertStringIncludes(simulation.err, 'its scenario is of the kind "simulation"');
    assertEquals((await tierbench("rerun", `${folder}/a.html`, "--require", "emulated")).code, 2);
  });
});

Deno.test("a simulation's page is verified, made again, run again and compared, and never mixed with what was run", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/tiny.jsonc`;
    const simulation = (size: string) => ({
      kind: "simulation",
      name: "tiny",
      steps: 2,
      warmup: 0,
      workload: { batch: 100, tables: [{ name: "ids", rows: 1e6, dim: 16, lookups: 1, law: { s: 1.05 } }] },
      compute: { dense: "10 us", source: "a test" },
      configurations: {
        fsdax: { mode: "fsdax", tiers: [{ media: "ddr4-2666-6ch", size }, { media: "optane-100-6x256" }] },
      },
    });
    const run = async (size: string, out: string) => {
      await Deno.writeTextFile(file, JSON.stringify(simulation(size)));
      assertEquals((await tierbench("run", file, "--out", out)).code, 0);
    };
    const [a, b, page] = [`${folder}/a`, `${folder}/b`, `${folder}/a/index.html`];
    await run("1 MB", a);
    await run("2 MB", b);
    assertMatch((await tierbench("verify", page)).out, /: whole, \d+ parts, root [0-9a-f]{64}\n$/);
    assertEquals(await tierbench("reanalyse", page), { code: 0, out: `same     every byte of ${page}\n`, err: "" });
    assertEquals((await tierbench("reanalyse", page, "--as-of", "2024-06")).code, 2);
    const again = await tierbench("rerun", page, "--out", `${folder}/again`);
    assertEquals(again.code, 0);
    assertStringIncludes(again.out, "same      every byte of 1 case");
    assertEquals((await tierbench("compare", a, `${folder}/again/index.html`)).code, 0);
    const differs = await tierbench("compare", page, b);
    assertEquals(differs.code, 5);
    assertStringIncludes(differs.out, "differs   fsdax: ");
    const real = `${folder}/real.html`;
    await Deno.writeTextFile(real, renderReport(fixtureResult()));
    const mixed = await tierbench("compare", page, real);
    assertEquals(mixed.code, 2);
    assertStringIncludes(mixed.err, "never mixed");
  });
});
