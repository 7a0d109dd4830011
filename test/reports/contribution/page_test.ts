import { DamagedPageError } from "../../../reports/capsule/damaged_page.ts";
import { parsePage } from "../../../reports/capsule/read.ts";
import { renderContribution } from "../../../reports/contribution/page.ts";
import { renderChecklist } from "../../../reports/contribution/text.ts";
import { renderReport } from "../../../reports/html/render.ts";
import { contributionName, contributionOf } from "../../../scenarios/contribution/contribution.ts";
import type { Contribution } from "../../../scenarios/contribution/record.ts";
import type { Result } from "../../../scenarios/record.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../../assert.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { ADA, both, onMachine } from "../../scenarios/contribution/machines.ts";

function measured(result: Result): Result {
  return { ...result, samples: result.samples.map((one) => ({ ...one, evidence: "measured" as const })) };
}

const SAID = { answers: { modules: "6 × 128 GB at adalovelace's </script>" }, notes: ["<b>cold</b>"] };

async function made(): Promise<{ contribution: Contribution; page: string }> {
  const contribution = await contributionOf(measured(fixtureResult({ failed: true })), SAID, ADA);
  return { contribution, page: renderContribution(contribution) };
}

Deno.test("a contribution is one page that gives back everything it was made of, and the same page again", async () => {
  const { contribution, page } = await made();
  const read = parsePage(page, "c.html");
  assertEquals(read.contribution, JSON.parse(JSON.stringify(contribution)));
  assertEquals(renderContribution(read.contribution as Contribution), page);
  assertEquals(renderReport(read.result), renderReport(contribution.result));
  for (const { title } of contribution.checklist) assertStringIncludes(page, `<span>${title.split(" ")[0]}</span>`);
  assertStringIncludes(page, "&lt;b&gt;cold&lt;/b&gt;");
  assert(!page.includes("adalovelace"));
});

Deno.test("parsePage() reads an ordinary report and says that it is none of a contribution", () => {
  const result = fixtureResult();
  const read = parsePage(renderReport(result), "r.html");
  assertEquals([read.result, read.contribution], [JSON.parse(JSON.stringify(result)), undefined]);
});

Deno.test("parsePage() names the part that is damaged, wherever a character changes", async () => {
  const { page } = await made();
  const lines = page.slice(page.indexOf('id="result">\n') + 'id="result">\n'.length).split("\n");
  const at = (text: string, from = 0): number => {
    const place = page.indexOf(text, from);
    assert(place >= 0, text);
    return place;
  };
  const changed = (place: number): string => page.slice(0, place) + "\u00bf" + page.slice(place + 1);
  const places: [number, string][] = [
    [at(lines[0] ?? "") + 30, "the run record"],
    [at(lines[1] ?? "") + 500, 'the sample "dram#1"'],
    [at(lines[1] ?? ""), 'the sample "dram#1"'], // no JSON any more
    [at(lines[12 + 1] ?? "") + 90, 'the failed sample "fsdax#4"'],
    [at(lines[12 + 2] ?? "") + 90, "the quality record"],
    [at('"checklist":[') + 20, "the checklist"],
    [at("<h1>") + 5, "the text of the heading"],
    [at("<table>") + 300, 'the text of the section "overview"'],
    [at('data-sha256="') + 20, "the table of sums"],
  ];
  for (const [place, part] of places) {
    const error = assertThrows(() => parsePage(changed(place), "c.html"), DamagedPageError);
    assertEquals(error.part, part, error.message);
    assertStringIncludes(error.message, 'Cannot read the report in "c.html"');
  }
});

Deno.test("parsePage() names what is missing of a page that was cut, at every length", async () => {
  const { page } = await made();
  for (let length = 0; length < page.length; length += Math.ceil(page.length / 60)) {
    assertThrows(() => parsePage(page.slice(0, length), "c.html"), DamagedPageError);
  }
  const lines = page.split("\n");
  const second = lines.findIndex((line) => line.includes('"id":"dram#1"') && line.startsWith("{"));
  const without = lines.toSpliced(second, 1).join("\n");
  assertEquals(assertThrows(() => parsePage(without, "c.html"), DamagedPageError).part, 'the sample "dram#1"');
  const twice = lines.toSpliced(second + 13, 0, lines[second] ?? "").join("\n");
  assertThrows(() => parsePage(twice, "c.html"), DamagedPageError);
  assertThrows(() => parsePage(page.replaceAll("\n", "\r\n"), "c.html"), DamagedPageError);
});

Deno.test("contributionOf() takes samples on the media themselves only", async () => {
  await assertRejects(() => contributionOf(fixtureResult(), SAID, ADA), TypeError, "found one that is emulated");
  await assertRejects(
    () => contributionOf({ ...fixtureResult(), samples: [] }, SAID, ADA),
    TypeError,
    "without a completed",
  );
  const emulated = fixtureResult({ virtual: ["dram", "memory-mode", "fsdax", "kmem-dax"] });
  await assertRejects(() => contributionOf(emulated, SAID, ADA), TypeError, "found one that is emulated");
  const samples = emulated.samples.map((one) => ({
    ...one,
    evidence: "emulated" as const,
    tiers: one.tiers.map(({ emulates: _, ...tier }) => tier),
  }));
  const contribution = await contributionOf({ ...emulated, samples }, SAID, ADA);
  assertEquals(contribution.result.samples.length, samples.length);
});

Deno.test("contributionName() names CPU and date, and nothing else", () => {
  const { run } = fixtureResult();
  const name = (cpu: string) => contributionName({ ...run, machine: { ...run.machine, cpu } });
  assertEquals(
    name("Intel(R) Xeon(R) Platinum 8260L CPU @ 2.40GHz"),
    "contribution-intel-xeon-platinum-8260l-2026-11-20.html",
  );
  assertEquals(name("AMD EPYC 9654 96-Core Processor"), "contribution-amd-epyc-9654-96-core-2026-11-20.html");
  assertEquals(name("../../etc"), "contribution-etc-2026-11-20.html");
  assertEquals(name("…"), "contribution-unknown-2026-11-20.html");
});

Deno.test("renderChecklist() shows every item with what to do, and asks what is open", async () => {
  const { contribution } = await made();
  const text = renderChecklist(contribution, 100);
  for (const { title } of contribution.checklist) assertStringIncludes(text, ` ${title} `);
  assertStringIncludes(text, 'open; answer with: --note "idle: …"');
  assertStringIncludes(text, "+ modules");
  assert(text.split("\n").every((line) => line.length <= 100));
});

Deno.test("a run of the preset on a machine with fsdax and kmem-dax becomes one file without its owner", async () => {
  const facts = {
    ...both(),
    "cpu.virtual": "no",
    "mount.1.path": "/home/ada lovelace/pmem",
    "cxl.mem0.serial": "0x1234",
    "memory.limit_source": "/sys/fs/cgroup/adalovelace/memory.max",
  };
  await onMachine(facts, async ({ run, folder }) => {
    const result = await run();
    const page = renderContribution(await contributionOf(result, { answers: {}, notes: [] }, ADA));
    for (const name of ["lovelace", "vault7", "0x1234"]) assert(!page.includes(name), name);
    await Deno.writeTextFile(`${folder}/c.html`, page);
    const { result: read, contribution } = parsePage(await Deno.readTextFile(`${folder}/c.html`), "c.html");
    assertEquals(
      read.samples.map(({ id, stepNs, seed }) => [id, stepNs, seed]),
      result.samples.map(({ id, stepNs, seed }) => [id, stepNs, seed]),
    );
    assertEquals(read.run.versions, result.run.versions);
    assertEquals(read.run.scenarioDigest, result.run.scenarioDigest);
    const status = (id: string) => contribution?.checklist.find((item) => item.id === id)?.status;
    assertEquals([status("samples"), status("scenario"), status("persistence")], ["ok", "not ok", "ok"]);
    assertStringIncludes(page, "samples/s");
  }, {});
});

Deno.test("a run of the preset in a guest is marked, and shows neither speed nor price", async () => {
  await onMachine(both(), async ({ run }) => {
    const page = renderContribution(await contributionOf(await run(), { answers: {}, notes: [] }, ADA));
    assertStringIncludes(page, "virtual medium: speed and price withheld");
    const { contribution } = parsePage(page, "c.html");
    assertEquals(contribution?.checklist.find(({ id }) => id === "bare-metal")?.status, "not ok");
  });
});

Deno.test("every contribution that was sent is whole and measured", async () => {
  const folder = new URL("../../../contributions/", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".html")) continue;
    const { contribution, result } = parsePage(await Deno.readTextFile(new URL(name, folder)), name);
    assert(contribution !== undefined, `${name} is an ordinary report`);
    assert(result.samples.every(({ evidence }) => evidence === "measured"), name);
    assertEquals(name, contributionName(result.run));
  }
});
