import {
  compareResults,
  parsePage,
  renderComparison,
  renderReport,
  renderTerminal,
  summarise,
  toCsv,
  toJson,
  toMarkdown,
} from "../../reports/report.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { EDGE_CASES } from "./edge_cases.ts";

/** The page without its scripts, as a reader sees it. */
function readable(page: string): string {
  return page.replace(/<(script|style)[\s\S]*?<\/\1>/g, "").replace(/<pre[\s\S]*?<\/pre>/g, "").replace(
    /<[^>]+>/g,
    " ",
  );
}

for (const [name, make] of Object.entries(EDGE_CASES)) {
  Deno.test(`every report of "${name}" is whole: no broken number, word, link or chart`, () => {
    const result = make();
    const summary = summarise(result);
    const page = renderReport(result);
    const { headline, sentences, cautions } = summary.verdict;
    for (const text of [readable(page), toMarkdown(summary), renderTerminal(summary), toCsv(summary)]) {
      assertEquals(/\b(NaN|Infinity|undefined|null|\[object)\b/.exec(text)?.[0], undefined);
    }
    const json = toJson(summary).replaceAll(/"(auc|aucChange|best)": null/g, ""); // of which null is a value
    assert(!/: ?(null|NaN)\b/.test(json), "a number was lost in JSON");
    for (const text of [headline, ...sentences, ...cautions]) {
      assertMatch(text, /^\S.*[^.\s]$/);
      assert(!/ {2}|\(\)|, ,|−\d[^)]*% (faster|slower|cheaper|dearer)|\.\./.test(text), text);
    }
    const markup = page.replace(/<script>[\s\S]*?<\/script>/, "");
    for (const [, id] of markup.matchAll(/href="#([^"]+)"/g)) {
      assertEquals(markup.split(` id="${id}"`).length - 1, 1, `places called "${id}"`);
    }
    const data = JSON.parse(/id="chart-data">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "{}") as Record<string, unknown>;
    const more = data["more"] as Record<"floating" | "lines", Record<string, unknown>>;
    for (const [, id] of page.matchAll(/<canvas id="chart-([^"]+)"/g)) {
      const key = /^(auc|logloss)(-seconds)?$/.test(id as string)
        ? "quality"
        : id === "what-if-value"
        ? "whatIf"
        : id as string;
      assert(
        data[key] !== undefined || more.floating[key] !== undefined || more.lines[key] !== undefined,
        `the chart "${key}" has no data`,
      );
    }
    assert(!/<tbody>\s*<\/tbody>/.test(page), "a table is empty");
    const withoutData = page.replace(/<script type="[^"]*" id="(result|prices|capsule)"[\s\S]*?<\/script>/g, "");
    assert(withoutData.length < 600_000, `${withoutData.length} characters without data`);
  });
}

function verdictOf(name: string): { headline: string; all: string } {
  const { headline, sentences, cautions } = summarise((EDGE_CASES[name] as () => never)()).verdict;
  return { headline, all: [headline, ...sentences, ...cautions].join("\n") };
}

Deno.test("an AUC of one class is a value of its own in every report", () => {
  const words = "AUC not defined (labels of one class)";
  for (const [name, make] of Object.entries(EDGE_CASES).filter(([name]) => name.startsWith("labels of one class"))) {
    const result = make();
    const summary = summarise(result);
    assertEquals([summary.quality?.auc, summary.quality?.curve.at(-1)?.auc], [null, null], name);
    const page = readable(renderReport(result));
    for (const text of [page, toMarkdown(summary), renderTerminal(summary)]) {
      assertStringIncludes(text.replace(/\s+/g, " "), words, name);
    }
    assert(!renderReport(result).includes('id="chart-auc"'), "a chart of nothing");
    assertStringIncludes(toJson(summary), '"auc": null', name);
    assert(!toCsv(summary).includes("null"));
    const [again] = [compareResults(result, result)];
    assertEquals(again.checks.filter(({ status }) => status === "differs"), [], name);
    assertStringIncludes(renderComparison(again, 100).replace(/\s+/g, " "), "AUC not defined", name);
    assertEquals(parsePage(renderReport(result), name).result.quality?.auc, null);
  }
  const { quality } = summarise(EDGE_CASES["labels of one class, a target AUC"]?.() ?? fixtureResult());
  assertEquals([quality?.target?.reached, quality?.targetElsewhere], ["not", []]);
});

Deno.test("verdicts at the edge say what is missing", () => {
  assertStringIncludes(verdictOf("one configuration failed entirely").all, "fsdax: no sample completed");
  assertStringIncludes(verdictOf("DRAM failed entirely").headline, "there is no DRAM case to compare with");
  assertStringIncludes(verdictOf("virtual media alone").headline, "virtual medium");
  assertMatch(verdictOf("one sample").headline, /slower than .* but .* cheaper .* \(one sample, no interval\)$/);
  assertStringIncludes(verdictOf("DRAM alone").headline, "there is no other case to compare with");
  assertStringIncludes(verdictOf("a virtual baseline").headline, "DRAM is not compared");
  assertMatch(verdictOf("six cases of a matrix").headline, /^At workload\.batch=512: fsdax \(emulated\) is 14/);
  assertMatch(verdictOf("six cases of a matrix").all, /^At workload\.batch=2048: fsdax \(emulated\) is 1/m);
  assert(!verdictOf("real data").all.includes("the model that made the labels"));
  assert(!verdictOf("no time in embedding phases").all.includes("Embedding work"));
  assert(verdictOf("equal samples").headline.includes("is as fast as dram (measured) within the noise"));
});

Deno.test("a round that is incomplete is compared as independent groups, and the page says so", () => {
  const result = (EDGE_CASES["one round incomplete"] as () => Parameters<typeof summarise>[0])();
  const { cases } = summarise(result);
  assertEquals(cases.map((one) => one.comparison), [undefined, "by round", "independent", "by round"]);
  assertStringIncludes(renderReport(result), "fsdax: not every round is complete on both sides");
});
