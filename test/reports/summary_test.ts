import fc from "fast-check";
import type { Result, SampleRecord, TierRecord } from "../../scenarios/record.ts";
import { renderReport, renderTerminal, summarise, type Summary } from "../../reports/report.ts";
import type { CaseSummary } from "../../reports/report.ts";
import { fixtureResult, fromJsonLines, toJsonLines } from "../fixtures/result_fixture.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "../assert.ts";

function caseOf(summary: Summary, name: string): CaseSummary {
  const found = summary.cases.find((one) => one.name === name);
  assert(found !== undefined, `no case "${name}"`);
  return found;
}

function withSamples(result: Result, change: (sample: SampleRecord) => SampleRecord): Result {
  return { ...result, samples: result.samples.map(change) };
}

Deno.test("summarise() recomputes from result.jsonl alone, byte for byte", () => {
  const result = fixtureResult({ failed: true });
  const again = fromJsonLines(toJsonLines(result));
  assertEquals(JSON.stringify(summarise(again)), JSON.stringify(summarise(result)));
});

Deno.test("summarise() computes throughput as samples over time of the counted steps", () => {
  const result = fixtureResult();
  const dram = caseOf(summarise(result), "dram");
  const samples = result.samples.filter((one) => one.case === "dram");
  const steps = samples.reduce((sum, one) => sum + one.stepNs.length, 0);
  const seconds = samples.reduce((sum, one) => sum + one.stepNs.reduce((a, b) => a + b, 0), 0) / 1e9;
  assertAlmostEquals(dram.throughput?.value ?? 0, steps * 2048 / seconds, 1e-6);
  assertEquals(dram.step?.steps, 300);
});

Deno.test("summarise() does not depend on the order of samples in the file beyond case order", () => {
  const result = fixtureResult();
  const value = (of: Result): unknown =>
    summarise(of).cases.map((one) => [one.name, one.throughput?.value.toPrecision(12), one.cost?.offer.pricePerHour]);
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...result.samples], {
        minLength: result.samples.length,
        maxLength: result.samples.length,
      }),
      (samples) => assertEquals(value({ ...result, samples }), value(result)),
    ),
    { numRuns: 5 },
  );
});

Deno.test("summarise() takes hits as a share of looked-up keys, and of lines in Memory Mode", () => {
  const result = fixtureResult();
  const summary = summarise(result);
  const of = (name: string): SampleRecord[] => result.samples.filter((one) => one.case === name);
  const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const stat = (one: SampleRecord, name: string): number => one.statistics[name] ?? NaN;
  const fsdax = mean(of("fsdax").map((one) => stat(one, "tier0_hits") / stat(one, "lookup_keys")));
  assertAlmostEquals(caseOf(summary, "fsdax").hits?.ratio.value ?? 0, fsdax, 1e-12);
  assertStringIncludes(caseOf(summary, "fsdax").hits?.denominator ?? "", "looked-up keys");
  assertEquals(caseOf(summary, "dram").hits, undefined);
  assertStringIncludes(caseOf(summary, "memory-mode").hits?.denominator ?? "", "64-byte lines");
});

Deno.test("summarise() copes with three tiers and says what each answered", () => {
  const disk = (sample: SampleRecord): SampleRecord => {
    const [dram, pmem] = sample.tiers;
    if (sample.case !== "fsdax" || dram === undefined || pmem === undefined) return sample;
    const { emulates: _, ...ssd } = { ...pmem, tier: 2, type: "SSDHASH", medium: "ext4 on /dev/sda1" };
    const { tier0_hits: first = 0, lookup_keys: all = 0 } = sample.statistics;
    const statistics = { ...sample.statistics, tier1_hits: Math.round((all - first) * 0.75), tier2_hits: 100 };
    return { ...sample, tiers: [dram, pmem, ssd], statistics };
  };
  const result = withSamples(fixtureResult(), disk);
  const summary = summarise(result);
  const fsdax = caseOf(summary, "fsdax");
  const samples = result.samples.filter((one) => one.case === "fsdax");
  const share = (name: string) =>
    samples.reduce(
      (sum, { statistics }) => sum + (statistics[name] ?? NaN) / (statistics["lookup_keys"] ?? NaN),
      0,
    ) /
    samples.length;
  assertEquals(fsdax.tiers.map(({ type }) => type), ["DRAM", "PMEM_LIBPMEM", "SSDHASH"]);
  assertAlmostEquals(fsdax.hits?.ratio.value ?? NaN, share("tier0_hits"), 1e-12);
  assertEquals(fsdax.hits?.below.length, 2);
  assertAlmostEquals(fsdax.hits?.below[0] ?? NaN, share("tier1_hits"), 1e-12);
  assertAlmostEquals(fsdax.hits?.below[1] ?? NaN, share("tier2_hits"), 1e-12);
  // No machines with disks in the price book: its speed is shown, a price is not.
  assertEquals([fsdax.holding, fsdax.cost], ["other", undefined]);
  assert((fsdax.throughput?.value ?? 0) > 0);
  assertStringIncludes(fsdax.costMissing ?? "", "No price: the price book has no machines for this storage type");
  assert(caseOf(summary, "kmem-dax").cost !== undefined);
  const page = renderReport(result);
  assertStringIncludes(page, "third tier");
  assertStringIncludes(page, "ext4 on /dev/sda1");
  assertStringIncludes(page, "fsdax, tier 2");
});

Deno.test("summarise() never prices CXL memory as a machine with PMEM modules", () => {
  const of = (kind: "pmem" | "cxl") => {
    const result = withSamples(fixtureResult(), (sample) => ({
      ...sample,
      tiers: sample.tiers.map((tier) => tier.type.startsWith("PMEM_") ? { ...tier, kind } : { ...tier, kind: "dram" }),
    }));
    return caseOf(summarise(result), "kmem-dax");
  };
  assertEquals([of("pmem").holding, of("pmem").cost !== undefined], ["pmem", true]);
  assertEquals([of("cxl").holding, of("cxl").cost], ["cxl", undefined]);
});

Deno.test("summarise() gives rows that the kernel places the DRAM that they had, and no price where that was all there is", () => {
  const of = (dramBytes: number) => {
    const result = withSamples(fixtureResult(), (sample) => {
      if (sample.case !== "kmem-dax") return sample;
      const purposes = { rows: 1000, index: 100, policy: 0 };
      return {
        ...sample,
        tiers: [{ ...sample.tiers[0], type: "DRAM", kind: "cxl", purposes } as TierRecord],
        dramBytes,
      };
    });
    return caseOf(summarise(result), "kmem-dax");
  };
  // 200 of 1,000 bytes of rows in DRAM, the others behind CXL: as much of the tables that are priced.
  const one = of(300);
  assertEquals(one.holding, "cxl");
  assertStringIncludes(one.costMissing ?? "", "No public price of CXL memory");
  const all = of(1300);
  assertStringIncludes(all.costMissing ?? "", "The kernel had more DRAM in the run than the tables take");
});

Deno.test("summarise() takes hits as a share of distinct keys in results of a library that counted those", () => {
  const result = withSamples(fixtureResult(), (sample) => {
    const { lookup_keys = NaN, ...others } = sample.statistics;
    const distinct = { lookup_distinct: lookup_keys / 2, tier0_hits: (others["tier0_hits"] ?? NaN) / 2 };
    return { ...sample, statistics: { lookup_keys, ...others, ...distinct } };
  });
  const samples = result.samples.filter((one) => one.case === "kmem-dax");
  const shares = samples.map(({ statistics: { tier0_hits = NaN, lookup_distinct = NaN } }) =>
    tier0_hits / lookup_distinct
  );
  const { hits } = caseOf(summarise(result), "kmem-dax");
  assertAlmostEquals(hits?.ratio.value ?? NaN, shares.reduce((a, b) => a + b, 0) / shares.length, 1e-12);
  assertEquals(hits?.denominator, "distinct keys of each batch, those of new rows included");
});

Deno.test("summarise() prices every case on machines that hold the model", () => {
  const summary = summarise(fixtureResult());
  const choice = (name: string): string => {
    const offer = caseOf(summary, name).cost?.offer;
    return `${offer?.machines} ${offer?.instance.name}`;
  };
  assertEquals(choice("dram"), "2 ecs.r6e.13xlarge");
  for (const name of ["memory-mode", "fsdax", "kmem-dax"]) assertEquals(choice(name), "1 ecs.re6p.13xlarge");
  const { cost, relative, throughput } = caseOf(summary, "fsdax");
  assert(cost !== undefined && relative !== undefined && throughput !== undefined && cost.saved !== undefined);
  assertAlmostEquals(cost.perMillion.value, 3.80 / (throughput.value * 3600) * 1e6, 1e-9);
  assertAlmostEquals(cost.saved.value, 1 - (3.80 / 6.07) / relative.value, 1e-9);
  assertAlmostEquals(cost.flip?.value ?? 0, 1 - cost.saved.value, 1e-9);
  assertEquals(summary.pricing?.stale, true);
  assertEquals(summary.pricing?.otherOffers.map(({ offer }) => offer.instance.name), ["r7i.24xlarge"]);
});

Deno.test("summarise() counts index and policy but neither buffers nor slack into the priced size", () => {
  const cost = caseOf(summarise(fixtureResult()), "fsdax").cost;
  assertAlmostEquals(cost?.overhead ?? 0, 12 / 86, 1e-9);
  assertAlmostEquals(cost?.need.pmemBytes ?? 0, 5e11, 1);
  assertAlmostEquals(cost?.need.dramBytes ?? 0, 5e11 * 12 / 86, 1);
});

Deno.test("summarise() says why a case has no price", () => {
  const early = summarise(fixtureResult({ prices: "2020" }));
  assertEquals(early.pricing, undefined);
  assertStringIncludes(caseOf(early, "fsdax").costMissing ?? "", "no machine for it as of 2020");
  const virtual = caseOf(summarise(fixtureResult({ virtual: ["fsdax"] })), "fsdax");
  assertEquals([virtual.throughput, virtual.step, virtual.cost, virtual.relative], [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assertStringIncludes(virtual.costMissing ?? "", "virtual");
  const curve = (options: Parameters<typeof fixtureResult>[0]) =>
    summarise(fixtureResult(options)).quality?.curve ?? [];
  assert(curve({}).length > 0 && curve({}).every(({ seconds }) => seconds !== undefined));
  assert(curve({ virtual: ["dram"] }).every(({ seconds }) => seconds === undefined));
});

Deno.test("verdict: a difference below the run's noise floor is not called one", () => {
  const plain = fixtureResult({ samples: 4, configurations: ["dram", "fsdax", "kmem-dax"] });
  // dram and fsdax agree to a promille but for 2 %; kmem-dax shows that the machine's noise is several percent.
  const wobble: Readonly<Record<string, readonly number[]>> = {
    "dram": [1, 1.001, 0.999, 1],
    "fsdax": [1.02, 1.0205, 1.0195, 1.02],
    "kmem-dax": [1, 1.08, 0.93, 1.05],
  };
  const samples = plain.samples.map((one) => ({
    ...one,
    stepNs: one.stepNs.map(() => 40e6 * ((wobble[one.configuration] as readonly number[])[one.sample - 1] as number)),
  }));
  const { verdict } = summarise({ ...plain, samples });
  const said = [verdict.headline, ...verdict.sentences].find((text) => text.startsWith("fsdax (emulated)"));
  assertMatch(
    said ?? "",
    /^fsdax \(emulated\) is 1\.9\d % slower than dram \(95 %: 1\.8\d to 2\.\d+; the error of the emulation is not known\), less than this run's noise of \d+(\.\d)? %: no difference is claimed, and /,
  );
});

Deno.test("verdict: slower and cheaper, with intervals, kinds and the age of prices", () => {
  const { verdict } = summarise(fixtureResult());
  assertMatch(
    verdict.headline,
    /^fsdax \(emulated\) is 1\d\.\d % slower than dram \(measured\) \(95 %: [\d.]+ to [\d.]+; the error of the emulation is not known\) but 2\d\.\d % cheaper per sample \(95 %: [\d.]+ to [\d.]+\); [\d.]+ \$ a million samples for the parameter servers alone at the old prices of 2021 to 2022 \(ecs\.re6p\.13xlarge: its memory is not sold new since 2025-12\)$/,
  );
  assertMatch(
    verdict.sentences[0] as string,
    /^1 × p4d\.24xlarge is 79 % of its whole bill; on the whole bill fsdax is \d+\.\d % dearer per sample \(95 %: /,
  );
  assertMatch(
    verdict.sentences[1] as string,
    /^Embedding work \(lookup, update, eviction\) is 33 % of a dram step: it takes 1\.\d\d times as long in fsdax \(95 %: [\d.]+ to [\d.]+\), /,
  );
  assert(verdict.sentences.some((text) => /^fsdax stays cheaper until DRAM machines cost \d\d % of their/.test(text)));
  assert(verdict.sentences.some((text) => text.includes("same rows, to the bit")));
  assert(
    verdict.cautions.some((text) => text.includes("emulated") && text.includes("the error of the model beside it")),
  );
  assert(verdict.cautions.some((text) => text.includes("Few samples (3 a case)")));
  assert(verdict.cautions.some((text) => text.includes("more than a year old")));
});

Deno.test("verdict: the whole bill comes first where a scenario names no boundary, and the servers alone next", () => {
  const result = fixtureResult({ slower: 0.9 });
  const { cost, ...scenario } = result.run.scenario as unknown as { cost: Record<string, unknown> };
  const { boundary: _, ...others } = cost;
  const run = { ...result.run, scenario: { ...scenario, cost: others } as never };
  const { verdict, cases, pricing } = summarise({ ...result, run });
  assertEquals(pricing?.boundary, "checkpoints");
  const whole = cases.find(({ name }) => name === "fsdax")?.cost;
  assertEquals(whole?.saved?.value, whole?.savedWithin.at(-1)?.saved?.value);
  assertStringIncludes(verdict.headline, " on the whole bill at the old prices of ");
  assertMatch(
    verdict.sentences[0] ?? "",
    /; for the parameter servers alone fsdax is \d\d\.\d % cheaper per sample \(95 %: /,
  );
});

Deno.test("verdict: says no difference where the interval holds none", () => {
  const { verdict, cases } = summarise(fixtureResult({ slower: 0.868 }));
  const fsdax = cases.find((one) => one.name === "fsdax")?.relative;
  assert(fsdax?.low !== undefined && fsdax.low < 1 && (fsdax.high as number) > 1);
  assertStringIncludes(verdict.headline, "fsdax (emulated) is as fast as dram (measured) within the noise (95 %: ");
  assertMatch(
    verdict.headline,
    /slower to [\d.]+ % faster; the error of the emulation is not known\) and 3\d\.\d\d? % cheaper per sample/,
  );
});

Deno.test("verdict: says that DRAM is cheapest where it is", () => {
  const { verdict } = summarise(fixtureResult({ slower: 2 }));
  assertStringIncludes(verdict.headline, "dram (measured) is the cheapest: fsdax (emulated) is ");
  assertStringIncludes(verdict.headline, "dearer per sample");
  assert(!verdict.sentences.some((text) => text.includes("stays cheaper")));
});

Deno.test("verdict: one sample has no interval, no sample no verdict, no DRAM no comparison", () => {
  const one = summarise(fixtureResult({ samples: 1 }));
  assertStringIncludes(one.verdict.headline, "(one sample, no interval)");
  assertStringIncludes(renderTerminal(one), "one sample");
  const none = summarise(fixtureResult({ samples: 0, failed: true, quality: false }));
  assertEquals(none.verdict.headline, "No sample completed, so there is nothing to compare");
  assertStringIncludes(renderTerminal(none), "failed  fsdax#4: Cannot create the pool file");
  const alone = summarise(fixtureResult({ configurations: ["fsdax"] }));
  assertStringIncludes(alone.verdict.headline, "there is no DRAM case to compare with");
});

Deno.test("verdict: names configurations that never completed, and only those compared are said to agree", () => {
  const whole = fixtureResult({ failed: true });
  const { verdict } = summarise({ ...whole, samples: whole.samples.filter((one) => one.configuration !== "fsdax") });
  assertEquals(verdict.cautions[0], "fsdax: no sample completed, so nothing above speaks of it");
  assert(verdict.sentences.includes("dram, memory-mode and kmem-dax ended with the same rows, to the bit"));
});

Deno.test("summarise() compares within a matrix point", () => {
  const summary = summarise(fixtureResult({ batches: [512, 2048] }));
  assertEquals(summary.cases.length, 8);
  for (const one of summary.cases) {
    if (one.baseline !== undefined) assertEquals(caseOf(summary, one.baseline).point, one.point);
  }
  assert(summary.verdict.sentences.some((text) => text.includes("workload.batch=2048")));
});

Deno.test("summarise() never averages kinds of evidence together", () => {
  const mixed = withSamples(
    fixtureResult(),
    (one) => one.id === "fsdax#3" ? { ...one, evidence: "measured" } : one,
  );
  const names = summarise(mixed).cases.map((one) => one.name);
  assert(names.includes("fsdax (emulated)") && names.includes("fsdax (measured)") && !names.includes("fsdax"));
});

Deno.test("summarise() reports rows that differ", () => {
  const result = withSamples(fixtureResult(), (one) => one.id === "fsdax#2" ? { ...one, digest: "dead" } : one);
  const summary = summarise(result);
  assertEquals(summary.identical?.same, false);
  assert(summary.verdict.cautions.some((text) => text.includes("do not trust")));
});

Deno.test("summarise() refuses numbers that are none", () => {
  const broken = (change: (sample: SampleRecord) => SampleRecord): () => Summary => () =>
    summarise(withSamples(fixtureResult(), (one) => one.id === "fsdax#2" ? change(one) : one));
  assertThrows(
    broken((one) => ({ ...one, stepNs: [1, NaN] })),
    RangeError,
    '"fsdax#2": stepNs[1]: expected a number above 0, at most 1e24, found NaN',
  );
  assertThrows(broken((one) => ({ ...one, stepNs: [] })), RangeError, "stepNs: expected at least one, found []");
  assertThrows(
    broken((one) => ({ ...one, loss: Infinity })),
    RangeError,
    "loss: expected a number from 0 to 1e24, found Infinity",
  );
  assertThrows(
    broken((one) => ({ ...one, statistics: { tier0_hits: -1 } })),
    RangeError,
    "statistics.tier0_hits: expected a number from 0 to 1e24, found -1",
  );
  assertThrows(broken((one) => ({ ...one, id: "dram#1" })), RangeError, "twice in the file");
});

Deno.test("summarise() refuses sizes and dates it cannot read", () => {
  const withCost = (cost: unknown): Result => {
    const result = fixtureResult();
    const scenario = { ...result.run.scenario as unknown as Record<string, unknown>, cost };
    return { ...result, run: { ...result.run, scenario: scenario as unknown as Result["run"]["scenario"] } };
  };
  assertThrows(() => summarise(withCost({ priceFor: "lots" })), RangeError, 'found "lots"');
  assertThrows(() => summarise(withCost({ prices: "soon" })), RangeError, 'the date "soon"');
  assertEquals(summarise(withCost({ priceFor: "1 TiB" })).pricing?.modelBytes, 2 ** 40);
  assertEquals(summarise(withCost(undefined)).pricing?.modelBytes, 5e11);
});

Deno.test("renderTerminal() prints one line a case with the summary's numbers", () => {
  const summary = summarise(fixtureResult());
  const lines = renderTerminal(summary).split("\n");
  assertMatch(lines[0] as string, /^configuration +kind +samples\/s +95 % +embedding +step p99 +first-tier hits +AUC/);
  for (const [i, one] of summary.cases.entries()) {
    assertStringIncludes(lines[i + 1] as string, one.name);
    assertStringIncludes(lines[i + 1] as string, `${((one.throughput?.value ?? 0) / 1e3).toFixed(1)} k`);
  }
  lines.forEach((line) => assert(line.length <= 120));
});

Deno.test("renderTerminal() leaves columns out of its table, and never breaks it, where the terminal is narrow", () => {
  const summary = summarise(fixtureResult());
  const header = (width: number): string => renderTerminal(summary, width).split("\n")[0] ?? "";
  assertStringIncludes(header(120), "step p99");
  assert(!header(80).includes("step p99"));
  assertStringIncludes(header(80), "$/M samples");
  for (const line of renderTerminal(summary, 80).split("\n")) assert(line.length <= 80, line);
});
