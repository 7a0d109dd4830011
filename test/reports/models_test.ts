/** What a report says of media models: bandwidth against their limit, and how far they are from what was published. */

import { reanalyse } from "../../reports/reanalyse/reanalyse.ts";
import { significant } from "../../base/numbers.ts";
import { pageData } from "../../reports/html/page_data.ts";
import { renderReport, summarise, toMarkdown } from "../../reports/report.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

Deno.test("a report sets the bytes moved against the recorded limit of the media model", () => {
  const summary = summarise(fixtureResult({ work: true, models: true }));
  const fsdax = summary.cases.find(({ name }) => name === "fsdax")?.traffic[0];
  assert(fsdax?.limit !== undefined && fsdax.readPerSecond > 0 && fsdax.writtenPerSecond > 0);
  assertAlmostEquals(fsdax.limit.readShare, fsdax.readPerSecond / 4e9, 1e-12);
  assertAlmostEquals(fsdax.limit.writeShare, fsdax.writtenPerSecond / 1e9, 1e-12);
  const page = renderReport(fixtureResult({ work: true, models: true }));
  const [, limits = ""] = page.split("<caption>Bandwidth of the lower tiers against its limit</caption>");
  for (const text of ["fsdax, tier", "kmem-dax, tier", "rows of 64 B, 2 threads"]) {
    assertStringIncludes(limits.slice(0, limits.indexOf("</table>")).replaceAll(/<[^>]*>/g, ""), text);
  }
  for (const share of [fsdax.limit.readShare, fsdax.limit.writeShare]) {
    assertStringIncludes(limits, `<td>${significant(100 * share)}</td>`);
  }
  assert(!page.includes("recorded no limit"));
});

Deno.test("a report shows the band of each media model, and that Memory Mode has none", () => {
  const fixture = fixtureResult({ models: true });
  const [model = ""] = Object.keys(fixture.run.modelBands ?? {});
  // As a run records it: the name of the model alone.
  const samples = fixture.samples.map((one) => ({
    ...one,
    tiers: one.tiers.map((tier) => tier.emulates === undefined ? tier : { ...tier, emulates: model }),
  }));
  const result = { ...fixture, samples };
  const summary = summarise(result);
  assertEquals(summary.models.map(({ memoryMode, cases, bands }) => [memoryMode, cases, bands.length]), [
    [true, ["memory-mode"], 0],
    [false, ["fsdax", "kmem-dax"], 2],
  ]);
  const { rows = [] } = pageData(summary).more.floating["model-bands"] ?? {};
  assertEquals(rows.map(({ from, to }) => [from, to]), [[-20, 25], [100 / 1.5 - 100, 50]]);
  const page = renderReport(result);
  assertStringIncludes(page, 'id="chart-model-bands"');
  assertStringIncludes(page, "model ÷ 1.50 to model × 1.50");
  assertStringIncludes(page, "its own figures of this kind");
  assertStringIncludes(page, "Memory Mode: not calibrated, ratios only");
  assert(reanalyse(page, "models.html").same);
  assert(toMarkdown(summary).length > 0);
});

Deno.test("a report lists what emulated runs asked the media models, each question once, with the figures that back it", () => {
  const fixture = fixtureResult({ models: true, work: true });
  assert(!renderReport(fixture).includes("Questions to the media models"), "earlier versions recorded none");
  const of = (operation: "load" | "nt-store", figures: number) => ({
    ...{ media: "optane-100-6x256", operation, bytes: 64, threads: 2, depth: 1, devices: 1, hops: 0, prefetch: true },
    ...{ ahead: operation === "load", region: 0, sequential: false, fenced: false, figures, alike: 37 },
  });
  const questions = [of("load", 0), of("nt-store", 5)];
  const samples = fixture.samples.map((one) => ({
    ...one,
    tiers: one.tiers.map((tier) => tier.modelLimit === undefined ? tier : { ...tier, questions }),
  }));
  const result = { ...fixture, samples };
  const told = summarise(result).models.flatMap(({ memoryMode, questions }) => memoryMode ? [] : questions);
  assertEquals(told, questions);
  const page = renderReport(result);
  assertStringIncludes(page, "Questions to the media models");
  assertEquals(page.match(/load, asked ahead/g)?.length, 1);
  assert(reanalyse(page, "models.html").same);
  const wrong = samples.map((one) => ({
    ...one,
    tiers: one.tiers.map((tier) =>
      tier.modelLimit === undefined ? tier : { ...tier, questions: [{ ...of("load", 0), bytes: 0 }] }
    ),
  }));
  assertStringIncludes(
    assertThrows(() => summarise({ ...fixture, samples: wrong }), RangeError).message,
    "questions[0].bytes: expected a number above 0",
  );
});

Deno.test("a report of a model without a published figure says so and draws no bar", () => {
  const result = fixtureResult({ models: true });
  const bare = { ...result, run: { ...result.run, modelBands: {} } };
  const page = renderReport(bare);
  assertStringIncludes(page, "none: no published figure to compare with");
  assert(!page.includes('id="chart-model-bands"'));
});

Deno.test("results that recorded neither limit nor bands read as before", () => {
  const page = renderReport(fixtureResult({ work: true }));
  assertStringIncludes(page, "The run recorded no limit to set them against.");
  assert(!page.includes("Bandwidth of the lower tiers against its limit"));
  for (const id of ["chart-model-bands", "models"]) assert(!page.includes(`id="${id}"`), id);
});

Deno.test("a band below 1 or a limit of 0 cannot be reported", () => {
  const result = fixtureResult({ work: true, models: true });
  const { modelBands = {} } = result.run;
  const bands = Object.fromEntries(
    Object.entries(modelBands).map(([name, list]) => [name, list.map((one) => ({ ...one, factor: 0.5 }))]),
  );
  const error = assertThrows(() => summarise({ ...result, run: { ...result.run, modelBands: bands } }), RangeError);
  assertStringIncludes(error.message, "factor: expected a factor, 1 or above, found 0.5");
  const samples = result.samples.map((one) => ({
    ...one,
    tiers: one.tiers.map((tier) =>
      tier.modelLimit === undefined ? tier : { ...tier, modelLimit: { ...tier.modelLimit, readBytesPerSecond: 0 } }
    ),
  }));
  assertStringIncludes(
    assertThrows(() => summarise({ ...result, samples }), RangeError).message,
    "modelLimit.readBytesPerSecond: expected a number above 0, at most 1e24, found 0",
  );
});
