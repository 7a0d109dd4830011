import { createHash } from "node:crypto";
import { join } from "node:path";
import { thirdPartyPage } from "../../reports/html/build_client.ts";
import { bundled } from "./bundled.ts";
import { html, scriptJson } from "../../reports/text/markup.ts";
import type { pageData } from "../../reports/html/page_data.ts";
import { parseCsv } from "../../models/costs/csv.ts";
import { renderReport, summarise, toCsv, toJson, toMarkdown, writeReport } from "../../reports/report.ts";
import { significant } from "../../base/numbers.ts";
import { estimateText } from "../../reports/text/format.ts";
import { parsePage } from "../../reports/capsule/read.ts";
import { fixtureResult, fromJsonLines, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";

/** Rows of the table with a caption, as text; small print is joined with a space. */
function tableOf(page: string, caption: string): string[][] {
  const start = page.indexOf(`<caption>${caption}</caption>`);
  assert(start >= 0, `no table "${caption}"`);
  const body = page.slice(page.indexOf("<tbody>", start), page.indexOf("</tbody>", start));
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    [...(row as string).matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell]) =>
      (cell as string).replaceAll("<small>", " ").replace(/<[^>]+>/g, "").trim()
    )
  );
}

function embedded(page: string, id: string): unknown {
  const match = new RegExp(`<script type="application/json" id="${id}">([\\s\\S]*?)</script>`).exec(page);
  assert(match !== null, `no embedded "${id}"`);
  return JSON.parse(match[1] as string);
}

Deno.test("renderReport() prints the numbers that result.jsonl gives", () => {
  const result = fromJsonLines(toJsonLines(fixtureResult()));
  const page = renderReport(result);
  const rows = tableOf(page, "Speed, hits and cost of every case");
  assertEquals(rows.length, 4);
  for (const [name, , cost, , rate] of rows) {
    // Recomputed here from the raw records, without the report's own code.
    const samples = result.samples.filter((one) => one.case === name);
    const perSecond = samples.map((one) => one.batch * one.stepNs.length / (one.stepNs.reduce((a, b) => a + b) / 1e9));
    const harmonic = perSecond.length / perSecond.reduce((sum, v) => sum + 1 / v, 0);
    const price = name === "dram" ? 2 * 3.035 : 3.80;
    assertEquals(rate?.split(" ")[0], significant(harmonic / 1e3)); // in thousands
    assertEquals(cost?.split(" ")[0], significant(price / harmonic / 3600 * 1e6));
  }
  const hits = tableOf(page, "First-tier hit ratio, percent");
  for (const [name, , cell, second] of hits.filter((row) => row[0] !== "memory-mode")) {
    const samples = result.samples.filter((one) => one.case === name);
    const ratio = samples.reduce((sum, one) =>
      sum + (one.statistics["tier0_hits"] as number) / (one.statistics["lookup_keys"] as number), 0) /
      samples.length;
    assertEquals(cell?.split(" ")[0], significant(100 * ratio));
    assertEquals(second, significant(100 * (1 - ratio))); // the fixture creates no rows
  }
});

Deno.test("page, Markdown, CSV, JSON and charts agree", () => {
  const result = fixtureResult();
  const summary = summarise(result);
  const page = renderReport(result);
  const csv = parseCsv(toCsv(summary), "summary.csv");
  const json = JSON.parse(toJson(summary));
  const markdown = toMarkdown(summary);
  const speed = tableOf(page, "Throughput");
  const charts = embedded(page, "chart-data") as ReturnType<typeof pageData>;
  summary.cases.forEach((one, i) => {
    const rate = one.throughput;
    assert(rate !== undefined && rate.low !== undefined);
    assertEquals(speed[i]?.[2], estimateText(rate));
    assertEquals(Number(csv[i]?.fields["samples_per_second"]), rate.value);
    assertEquals(Number(csv[i]?.fields["samples_per_second_low"]), rate.low);
    assertEquals(json.cases[i].throughput.value, rate.value);
    assertAlmostEquals(charts.value?.[i]?.rate.low ?? 0, rate.low / 1000, 1e-9);
    assertStringIncludes(markdown, `| ${one.name} | ${one.evidence} | ${significant(rate.value / 1000)} k (`);
  });
  assertEquals(csv.map((row) => row.fields["case"]), summary.cases.map((one) => one.name));
  assertStringIncludes(markdown, summary.verdict.headline);
});

Deno.test("the page carries its data, and the data gives the page", () => {
  const result = fixtureResult({ failed: true });
  const page = renderReport(result);
  const { result: carried } = parsePage(page, "page.html");
  assertEquals(carried, JSON.parse(JSON.stringify(result)));
  assertEquals(renderReport(carried), page);
});

Deno.test("the page is small, fetches nothing and allows only its own script and style", () => {
  const page = renderReport(fixtureResult({ failed: true }));
  assert(page.length < 500_000, `${page.length} bytes`);
  assert(!/(src|href)="(?!#|data:,)/.test(page.replace(/<script>[\s\S]*?<\/script>/, "")));
  assert(!/ on[a-z]+="| style="/.test(page.replace(/<script[\s\S]*?<\/script>/g, "")));
  const hash = (text: string): string => createHash("sha256").update(text).digest("base64");
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] as string;
  const script = /<script>([\s\S]*?)<\/script>/.exec(page)?.[1] as string;
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]?.replaceAll("&#39;", "'") ?? "";
  assertStringIncludes(policy, "default-src 'none'");
  assertStringIncludes(policy, `script-src 'sha256-${hash(script)}'`);
  assertStringIncludes(policy, `style-src 'sha256-${hash(style)}'`);
});

Deno.test("text from results cannot become markup", () => {
  const page = renderReport(fixtureResult({ failed: true }));
  assert(!page.includes("<b>/mnt/pmem0"));
  assertStringIncludes(page, "&lt;b&gt;/mnt/pmem0&lt;/b&gt;");
  const evil = '</script><img src=x onerror="x">&\u2028';
  assertEquals(html`<p title="${evil}">${evil}</p>`.text.match(/<(?!\/?p)/g), null);
  assertEquals(JSON.parse(scriptJson({ evil }).text), { evil });
  assert(!scriptJson({ evil }).text.includes("<"));
});

Deno.test("renderReport() takes results without samples, with one sample, without quality, with a virtual medium", () => {
  const none = renderReport(fixtureResult({ samples: 0, failed: true, quality: false }));
  assertStringIncludes(none, "No sample completed");
  assertStringIncludes(none, "Cannot create the pool file");
  assert(!none.includes("<canvas"));
  assertStringIncludes(renderReport(fixtureResult({ samples: 1 })), "<small>one sample</small>");
  assert(!renderReport(fixtureResult({ quality: false })).includes('id="chart-auc"'));
  assertStringIncludes(renderReport(fixtureResult({ virtual: ["fsdax"] })), "speed and price withheld");
  assertStringIncludes(renderReport(fixtureResult({ prices: "2020" })), "no machine for it as of 2020");
});

const { bundle, skipped } = await bundled();

Deno.test(`client.js is the bundle of client/${skipped}`, { ignore: bundle === undefined }, async () => {
  const kept = await Deno.readTextFile(new URL("../../reports/html/client.js", import.meta.url));
  assert(kept === bundle, 'client.js is old: run "deno task client"');
  for (const text of ["chart.js 4.6.1", "Permission is hereby granted"]) assertStringIncludes(kept, text);
});

Deno.test("THIRD_PARTY.md has the licence of every package in a page's script", async () => {
  const kept = await Deno.readTextFile(new URL("../../THIRD_PARTY.md", import.meta.url));
  assertEquals(kept, await thirdPartyPage(), 'run "deno task client"');
});

Deno.test("writeReport() writes whole files, again over the old ones, and nothing for a broken result", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const result = fixtureResult();
    const files = await writeReport(result, join(directory, "a", "b"));
    assertEquals(await Deno.readTextFile(files.html), renderReport(result));
    await writeReport(result, join(directory, "a", "b"));
    const names = [...Deno.readDirSync(join(directory, "a", "b"))].map((entry) => entry.name).sort();
    assertEquals(names, ["index.html", "summary.csv", "summary.json", "summary.md"]);
    const [first, ...rest] = result.samples;
    const broken = { ...result, samples: [{ ...first as typeof result.samples[0], loss: NaN }, ...rest] };
    await assertRejects(() => writeReport(broken as typeof result, join(directory, "c")), RangeError, "found NaN");
    await assertRejects(() => Deno.stat(join(directory, "c")), Deno.errors.NotFound);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("docs/formats.md explains every column of summary.csv", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/formats.md", import.meta.url));
  const header = (toCsv(summarise(fixtureResult())).split("\n")[0] as string).split(",");
  for (const column of header) {
    const figure = column.replace(/_(low|high)$/, "");
    const name = /^step_(?!p\d)/.test(figure) ? "step_input_seconds" : figure;
    assertStringIncludes(guide, `\`${name}\`${header.includes(`${figure}_low`) ? " ±" : ""}`);
  }
});
