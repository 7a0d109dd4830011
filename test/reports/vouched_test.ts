import { compareResults } from "../../reports/compare/compare.ts";
import { renderComparison } from "../../reports/compare/text.ts";
import { parsePage } from "../../reports/capsule/read.ts";
import { renderContribution } from "../../reports/contribution/page.ts";
import { pageData } from "../../reports/html/page_data.ts";
import { badgeText } from "../../reports/publish/badge.ts";
import { publishReports } from "../../reports/publish/publish.ts";
import { toCsv, toJson, toMarkdown } from "../../reports/report.ts";
import { renderReport, renderTerminal, summarise } from "../../reports/report.ts";
import { contributionOf } from "../../scenarios/contribution/contribution.ts";
import type { Result, Vouched } from "../../scenarios/record.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../assert.ts";
import { checkRecord } from "../../scenarios/record_schema.ts";
import { type FixtureOptions, fixtureResult } from "../fixtures/result_fixture.ts";
import { ADA } from "../scenarios/contribution/machines.ts";

const WORD = "medium vouched for by the owner: optane-200";
const SHOWS = "/mnt/pmem0: region0 was set aside with the kernel option memmap=; a hypervisor runs this machine";

/** A result whose fsdax was measured on a medium that its owner vouches for. */
function vouchedResult(options: FixtureOptions = {}, medium = "optane-200"): Result {
  const made = fixtureResult({ configurations: ["dram", "fsdax", "kmem-dax"], curve: true, work: true, ...options });
  const vouched: Vouched = { medium, by: "owner", shows: SHOWS };
  return {
    ...made,
    run: { ...made.run, vouched: [{ configuration: "fsdax", ...vouched }] },
    samples: made.samples.map((one) =>
      one.configuration === "fsdax"
        ? {
          ...one,
          evidence: "measured",
          vouched,
          how: `libpmem on /mnt/pmem0; the medium is ${medium} by the owner's word`,
          tiers: one.tiers.map(({ emulates: _, ...tier }) => tier),
        }
        : one
    ),
  };
}

Deno.test("every figure of a medium that its owner vouches for says so on the page", () => {
  const page = renderReport(vouchedResult());
  const captions = [...page.matchAll(/<figcaption>([\s\S]*?)<\/figcaption>/g)].map(([, text = ""]) => text)
    .filter((text) => /(?:Measured|Emulated|measured)/.test(text) && text.includes("fsdax"));
  assert(captions.length > 5, `${captions.length} captions`);
  for (const text of captions) {
    assert(text.includes(WORD), text);
    assert(!/Measured: [^.]*fsdax/.test(text), text); // never beside what was verified
  }
  // Rows of tables: the kind's cell of fsdax carries the word, that of dram and of what is emulated does not.
  const rows = [...page.matchAll(/<tr>((?:(?!<\/tr>)[\s\S])*?class="kind"(?:(?!<\/tr>)[\s\S])*)<\/tr>/g)]
    .map(([, row = ""]) => row.replace(/\s+/g, " "));
  const of = (name: string) => rows.filter((row) => row.includes(`<th scope="row"><span>${name}</span>`));
  assert(of("fsdax").length > 4 && of("dram").length > 2);
  for (const row of of("fsdax")) assertStringIncludes(row, `measured</span><small>${WORD}</small>`);
  for (const row of [...of("dram"), ...of("kmem-dax")]) assert(!row.includes("vouched"), row);
  assertStringIncludes(page, "that the medium is optane-200 is the word of the machine&#39;s owner");
});

Deno.test("the data of every chart carries the owner's word to its tooltips", () => {
  const told: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { name, evidence, vouched } = value as Record<string, unknown>;
    if (typeof name === "string" && name.startsWith("fsdax") && evidence !== undefined) {
      assertEquals(vouched, "optane-200", name);
      told.push(name);
    } else assertEquals(vouched, undefined);
    Object.values(value).forEach(walk);
  };
  walk(pageData(summarise(vouchedResult())));
  assert(told.length > 3, told.join());
});

Deno.test("terminal, Markdown, CSV and JSON say whose word a figure rests on", () => {
  const summary = summarise(vouchedResult());
  const [fsdax] = summary.cases.filter(({ name }) => name === "fsdax");
  assertEquals([fsdax?.evidence, fsdax?.vouched, fsdax?.virtual], ["measured", "optane-200", false]);
  assert(fsdax?.throughput !== undefined && fsdax.cost !== undefined); // measured: with speed and price
  assertMatch(renderTerminal(summary), /^fsdax +measured, optane-200 vouched for /m);
  assertStringIncludes(renderTerminal(summary).replace(/\s+/g, " "), `fsdax (measured, ${WORD})`);
  assertStringIncludes(toMarkdown(summary), `| fsdax | measured, ${WORD} |`);
  const [head = "", ...lines] = toCsv(summary).split("\n").map((line) => line.split(","));
  const at = [...head].indexOf("vouched");
  assertEquals(lines.slice(0, 3).map((line) => [line[0], line[at]]), [
    ["dram", ""],
    ["fsdax", "optane-200"],
    ["kmem-dax", ""],
  ]);
  const json = JSON.parse(toJson(summary)) as { cases: { name: string; vouched?: string }[] };
  assertEquals(json.cases.map(({ vouched }) => vouched), [undefined, "optane-200", undefined]);
});

Deno.test("a vouched medium is never averaged, compared or drawn together with one that was verified", () => {
  const [word, other] = [vouchedResult(), vouchedResult({}, "cxl")];
  const verified: Result = { ...word, samples: word.samples.map(({ vouched: _, ...one }) => one) };
  const seen = verified.samples.filter(({ case: name }) => name === "fsdax").map((one) => ({
    ...one,
    id: `${one.id}b`,
  }));
  const mixed = summarise({ ...word, samples: [...word.samples, ...seen] });
  assertEquals(mixed.cases.filter(({ configuration }) => configuration === "fsdax").map(({ name }) => name).sort(), [
    "fsdax (measured)",
    `fsdax (measured, ${WORD})`,
  ]);
  for (const against of [verified, other]) {
    const compared = compareResults(word, against);
    const fsdax = compared.cases.find((one) => one.case === "fsdax");
    assertEquals([fsdax?.verdict, fsdax?.evidence], ["not compared", undefined]);
    assertStringIncludes(fsdax?.why ?? "", `measured, ${WORD} in the first, measured`);
  }
  const same = compareResults(word, word);
  assert(same.cases.every(({ verdict }) => verdict !== "not compared"));
  assertStringIncludes(renderComparison(same, 300), `measured, ${WORD}`);
});

Deno.test("capsules, badges and index pages carry the owner's word", async () => {
  const result = vouchedResult();
  const page = renderReport(result);
  const read = parsePage(page, "r.html");
  assertEquals(read.result.run.vouched, result.run.vouched);
  assertEquals(renderReport(read.result), page);
  const summary = summarise(result);
  const best = summary.cases.find(({ name }) => name === "fsdax");
  assert(best !== undefined);
  const only = { ...summary, cases: summary.cases.filter(({ name }) => name !== "kmem-dax") };
  assertStringIncludes(badgeText(only), WORD);
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/in`);
    await Deno.writeTextFile(`${folder}/in/a.html`, page);
    const later = { ...result, run: { ...result.run, started: "2026-11-21T12:00:00.000Z" } };
    await Deno.writeTextFile(`${folder}/in/b.html`, renderReport(later));
    const { index } = await publishReports(`${folder}/in`, { out: `${folder}/site` });
    const text = await Deno.readTextFile(index);
    assertStringIncludes(text, `Measured, ${WORD}: fsdax`);
    assertStringIncludes(text, `measured</span><small>${WORD}</small>`);
    assertMatch(text, /"name":"fsdax","evidence":"measured","vouched":"optane-200"/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a contribution carries the owner's word, asks how it is known, and gives away no path", async () => {
  const whole = vouchedResult({ configurations: ["dram", "fsdax"] });
  const contribution = await contributionOf(whole, undefined, ADA);
  const medium = contribution.checklist.find(({ id }) => id === "medium");
  assertEquals(medium?.status, "unknown");
  assertStringIncludes(medium?.found ?? "", "by the owner's word alone: fsdax: optane-200; seen: <path>: region0");
  assertEquals(contribution.result.run.vouched?.[0]?.shows.startsWith("<path>: region0"), true);
  assertEquals(
    contribution.result.samples.find(({ configuration }) => configuration === "fsdax")?.vouched?.medium,
    "optane-200",
  );
  assertStringIncludes(renderContribution(contribution), WORD);
  assert(
    !(await contributionOf(fixtureResult({ configurations: ["dram"] }), undefined, ADA)).checklist
      .some(({ id }) => id === "medium"),
  );
});

Deno.test("records with a word that is none, or that stands for no proof of what was measured, are refused", () => {
  const { samples: [, sample], run } = vouchedResult();
  assert(sample?.vouched !== undefined);
  const { vouched } = sample;
  checkRecord(sample);
  checkRecord(run);
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ ...sample, vouched: "optane-200" }, /vouched/],
    [{ ...sample, vouched: { ...vouched, medium: 200 } }, /vouched\.medium: expected text/],
    [{ ...sample, vouched: { ...vouched, by: "vendor" } }, /vouched\.by: expected one of "owner"/],
    [{ ...sample, evidence: "emulated" }, /expected no "vouched" but in what is measured/],
    [{ ...sample, virtual: true }, /expected no "vouched" but in what is measured/],
    [{ ...run, vouched: [vouched] }, /vouched\[0\]\.configuration/],
  ];
  for (const [record, message] of wrong) {
    assertMatch(assertThrows(() => checkRecord(record), TypeError).message, message);
  }
});
