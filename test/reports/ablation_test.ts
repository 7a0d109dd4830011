import { ablation } from "../../reports/summary/ablation.ts";
import { resultsText } from "../../reports/summary/ablation_words.ts";
import type { AblationGroup, AblationRow } from "../../reports/summary/summary_types.ts";
import { renderReport, renderTerminal, summarise, toCsv, toMarkdown } from "../../reports/report.ts";
import { parseCsv } from "../../models/costs/csv.ts";
import { ablationResult, SPEEDS } from "../fixtures/ablation_fixture.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";

function groupsOf(...given: Parameters<typeof ablationResult>): readonly AblationGroup[] {
  return summarise(ablationResult(...given)).ablation?.groups ?? [];
}

function row(group: AblationGroup | undefined, variant: string): AblationRow {
  const found = group?.rows.find((one) => one.variant === variant);
  assert(found !== undefined, `no variant "${variant}"`);
  return found;
}

Deno.test("ablation() compares every variant with none of its own configuration", () => {
  const groups = groupsOf();
  assertEquals(groups.map(({ name, evidence }) => [name, evidence]), [["dram", "measured"], ["fsdax", "emulated"]]);
  const product = Object.values(SPEEDS).reduce((a, b) => a * b);
  for (const group of groups) {
    assertEquals(group.rows.length, 1 + 6 + 1 + 6);
    assertEquals(row(group, "none").relative, undefined);
    for (const [name, speed] of Object.entries(SPEEDS)) {
      const alone = name === "smartStage" ? speed * (SPEEDS["stage"] ?? NaN) : speed;
      assertAlmostEquals(row(group, name).relative?.value ?? NaN, alone, 0.02);
      const without = name === "stage" ? speed * (SPEEDS["smartStage"] ?? NaN) : speed;
      assertAlmostEquals(row(group, `all-but-${name}`).relative?.value ?? NaN, product / without, 0.03);
    }
    assertAlmostEquals(row(group, "all").relative?.value ?? NaN, product, 0.03);
    const { low = NaN, high = NaN, value = NaN } = row(group, "bf16").relative ?? {};
    assert(low < value && value < high);
  }
});

Deno.test("ablation() says which switches keep results, and gives the others the AUC of their own rows", () => {
  const [dram] = groupsOf();
  for (const name of ["stage", "smartStage", "embeddingFusion", "memoryReuse"]) {
    assertEquals(resultsText(row(dram, name)), "keeps results");
    assertEquals(row(dram, name).auc, row(dram, "none").auc);
  }
  assertMatch(resultsText(row(dram, "asyncEmbedding")), /^changes results: AUC 0\.\d{4} \(−0\.0021\)$/);
  assertMatch(resultsText(row(dram, "bf16")), /\(\+0\.0003\)$/);
  assertMatch(resultsText(row(dram, "all")), /\(−0\.0018\)$/);
  assertMatch(resultsText(row(dram, "all-but-bf16")), /\(−0\.0021\)$/); // shares the run of asyncEmbedding
  assertMatch(resultsText(row(groupsOf({ quality: false })[0], "bf16")), /AUC not measured/);
});

Deno.test("ablation() tells of old rows, page faults and what was prepared ahead where they belong", () => {
  const [dram] = groupsOf();
  assertEquals(row(dram, "asyncEmbedding").staleShare, 0.0625);
  assertEquals(row(dram, "stage").staleShare, undefined);
  assertAlmostEquals(row(dram, "none").faultsPerStep ?? NaN, 54000 / 45);
  assertAlmostEquals(row(dram, "memoryReuse").faultsPerStep ?? NaN, 2);
  assertEquals([row(dram, "none").staged, row(dram, "stage").staged, row(dram, "smartStage").staged], [
    undefined,
    "input",
    "lookup",
  ]);
});

Deno.test("ablation() does not call results equal after different steps", () => {
  const result = ablationResult();
  const samples = result.samples.map((one) =>
    one.point["ablation"] === "stage" ? { ...one, stepNs: one.stepNs.slice(1) } : one
  );
  const dram = summarise({ ...result, samples }).ablation?.groups[0];
  assertEquals(row(dram, "stage").keepsResults, undefined);
  assertEquals(row(dram, "memoryReuse").keepsResults, true);
});

Deno.test("ablation() is there for ablations alone, and withholds the speed of virtual media", () => {
  assertEquals(ablation(fixtureResult(), [], []), undefined);
  const [dram, fsdax] = groupsOf({ virtual: true });
  assert(row(dram, "all").relative !== undefined);
  assertEquals([row(fsdax, "all").relative, row(fsdax, "all").throughput], [undefined, undefined]);
});

Deno.test("page, Markdown, CSV and terminal give the same ratio of an ablation, and the verdict leads with it", () => {
  const result = ablationResult();
  const summary = summarise(result);
  const all = row(summary.ablation?.groups[0], "all");
  const ratio = (all.relative?.value ?? NaN).toPrecision(3);
  assertMatch(renderTerminal(summary), new RegExp(`^all +${ratio} × .*changes results: AUC`, "m"));
  assertStringIncludes(toMarkdown(summary), `| ${ratio} (`);
  const line = parseCsv(toCsv(summary), "summary.csv").find((one) => one.fields["case"] === all.case)?.fields;
  assertEquals(line?.["ablation_ratio_to_none"], `${all.relative?.value}`);
  assertEquals(line?.["keeps_results_of_none"], "false");
  assertStringIncludes(renderReport(result), `<td>${ratio}<small>`);
  assertMatch(
    summary.verdict.headline,
    /^All switches together: dram \(measured\) is [\d.]+ % faster than with none \(95 %/,
  );
  const said = summary.verdict.sentences.join("\n");
  assertMatch(said, /asyncEmbedding reads rows one update early: 6\.3 % of the rows/);
  assertMatch(said, /^stage, smartStage, embeddingFusion and memoryReuse keep results to the bit$/m);
  assertMatch(said, /Results change with asyncEmbedding \(AUC 0\.\d{4}, −0\.0021\) and bf16/);
});

Deno.test("a switch that the machine does not have is named with its reason", () => {
  const result = ablationResult({ leftOut: true });
  const { ablation: found, verdict } = summarise(result);
  assertEquals(found?.switches.map(({ name }) => name).includes("bf16"), false);
  assertStringIncludes(verdict.cautions.join("\n"), "The switch bf16 did not run: Test CPU 9000 lacks avx512_bf16");
  assertStringIncludes(renderReport(result), "bf16 did not run: Test CPU 9000 lacks avx512_bf16");
});

Deno.test("sections that know no ablation show none and all", () => {
  const page = renderReport(ablationResult());
  const overview = page.slice(page.indexOf('id="overview"'), page.indexOf("What else was seen"));
  assertStringIncludes(overview, "<span>ablation=all</span>");
  assert(!overview.includes("ablation=stage"));
});

Deno.test("rows of the fast mode are not expected to be equal", () => {
  const fast = (deterministic: string) => {
    const result = fixtureResult();
    const samples = result.samples.map((one) => ({
      ...one,
      trainer: { deterministic },
      digest: one.configuration,
    }));
    return summarise({ ...result, samples }).identical?.same;
  };
  assertEquals([fast("1"), fast("0")], [false, undefined]);
});

Deno.test("a switch that saves page faults without being about memory is told of, since that part of its speed is not its own", () => {
  const plain = ablationResult();
  const told = (faults: string) => {
    const samples = plain.samples.map((sample) => {
      if (sample.point["ablation"] !== "asyncEmbedding") return sample;
      return { ...sample, trainer: { ...sample.trainer, minor_faults: faults } };
    });
    return toMarkdown(summarise({ ...plain, samples }));
  };
  const sentence = "asyncEmbedding alone also takes page faults on dram from 1,200 to 200 a step, as memoryReuse does";
  assertEquals(told("9000").split(sentence).length, 2);
  assert(!told("54000").includes("page faults on dram"));
  assert(!toMarkdown(summarise(plain)).includes("memoryReuse alone"));
});
