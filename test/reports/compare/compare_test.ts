import { compareResults } from "../../../reports/compare/compare.ts";
import { type ComparedCase, type ResultComparison, UnlikeResultsError } from "../../../reports/compare/comparison.ts";
import { comparisonJson, comparisonMarkdown, renderComparison } from "../../../reports/compare/text.ts";
import { seededRandom } from "../../../reports/statistics/random.ts";
import { benjaminiHochberg, floorBetween, welchTest } from "../../../reports/statistics/tests.ts";
import type { Result, SampleRecord } from "../../../scenarios/record.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

/** A result whose samples are off by noise of a standard deviation, and by the factors of their cases. */
function noisy(seed: string, spread: number, factors: Readonly<Record<string, number>> = {}, samples = 6): Result {
  const random = seededRandom(seed);
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const result = fixtureResult({ samples, steps: 8 });
  return withSamples(result, (one) => {
    const factor = (factors[one.case] ?? 1) * Math.exp(spread * gauss());
    return { ...one, stepNs: one.stepNs.map(() => Math.round(3.35e7 * factor)) };
  });
}

function withSamples(result: Result, change: (sample: SampleRecord) => SampleRecord): Result {
  return { ...result, samples: result.samples.map(change) };
}

function withRun(result: Result, change: object): Result {
  return { ...result, run: { ...result.run, ...change } };
}

function withScenario(result: Result, change: object): Result {
  const scenario = { ...result.run.scenario, ...change };
  return withRun(result, { scenario, scenarioDigest: "77".repeat(32) });
}

function caseOf({ cases }: ResultComparison, name: string): ComparedCase {
  const found = cases.find((one) => one.case === name);
  assert(found !== undefined, `no case "${name}"`);
  return found;
}

Deno.test("compareResults() finds an injected effect, with the right sign, size and interval, and only that", () => {
  const before = noisy("before", 0.01);
  const { cases, verdict, headline } = compareResults(before, noisy("after", 0.01, { fsdax: 1.08 }));
  assertEquals(cases.map((one) => [one.case, one.verdict]), [
    ["dram", "no difference"],
    ["memory-mode", "no difference"],
    ["fsdax", "slower"],
    ["kmem-dax", "no difference"],
  ]);
  const { ratio, q } = cases[2] as ComparedCase;
  assert(ratio?.low !== undefined && ratio.low < 1 / 1.08 && (ratio.high ?? 0) > 1 / 1.08, JSON.stringify(ratio));
  assert(q !== undefined && q < 0.01);
  assertEquals(verdict, "worse");
  assertStringIncludes(headline, "fsdax is ");
  assertStringIncludes(headline, "% slower (95 %: ");
  assertEquals(compareResults(before, noisy("after", 0.01, { fsdax: 0.9 })).verdict, "better");
  assertEquals(compareResults(before, noisy("after", 0.01, { fsdax: 0.9, dram: 1.1 })).verdict, "mixed");
  assertEquals(compareResults(before, before).verdict, "no difference");
});

Deno.test("of 150 comparisons of equal programs few find a difference, and of 30 with an effect most do", () => {
  let alarms = 0;
  for (let i = 0; i < 150; i++) {
    const { verdict } = compareResults(noisy(`a ${i}`, 0.02), noisy(`b ${i}`, 0.02));
    if (verdict !== "no difference") alarms++;
  }
  assert(alarms <= 8, `${alarms} false alarms in 150`); // 5 % of tables at most, and the floor makes them fewer
  let found = 0;
  for (let i = 0; i < 30; i++) {
    if (compareResults(noisy(`a ${i}`, 0.02), noisy(`b ${i}`, 0.02, { fsdax: 1.1 })).verdict === "worse") found++;
  }
  assert(found >= 25, `${found} of 30 found`);
});

Deno.test("a small difference of two quiet cases is none where the others are noisy, nor is one of many by chance", () => {
  const noisyBut = (seed: string, factor: number): Result => {
    const quiet = noisy(seed, 0, { fsdax: factor });
    const rest = noisy(seed, 0.06);
    const samples = rest.samples.map((one, i) => one.case === "fsdax" ? quiet.samples[i] as SampleRecord : one);
    return withSamples(
      { ...rest, samples },
      (one) => one.case === "fsdax" ? { ...one, stepNs: one.stepNs.map((ns) => ns + one.sample * 1000) } : one,
    );
  };
  const { ratio, q, floor, verdict } = caseOf(compareResults(noisyBut("a", 1), noisyBut("b", 1.01)), "fsdax");
  assert((ratio?.high ?? 1) < 1 && (q ?? 1) < 0.001 && (floor ?? 1) > 1.02, JSON.stringify({ ratio, q, floor }));
  assertEquals(verdict, "no difference");
  // Without one sample the rounds are not complete, and the floor is that between the runs alone.
  const partly = (seed: string): Result => {
    const result = noisy(seed, 0.02);
    return { ...result, samples: result.samples.filter(({ id }) => id !== "dram#6") };
  };
  let byChance = 0;
  for (let i = 0; i < 60; i++) {
    for (const one of compareResults(partly(`c ${i}`), partly(`d ${i}`)).cases) {
      const { ratio, floor = 1, q = 1 } = one;
      const clear = (ratio?.low ?? 0) > 1 || (ratio?.high ?? 2) < 1;
      if (!clear || Math.abs(Math.log(ratio?.value ?? 1)) < Math.log(floor) || q < 0.05) continue;
      byChance++;
      assertEquals(one.verdict, "no difference");
    }
  }
  assert(byChance > 0, "no difference by chance was seen, so nothing was tested");
});

Deno.test("compareResults() refuses other machines, scenarios and key streams, unless they are asked for", () => {
  const result = fixtureResult();
  const { machine, data, scenario } = result.run;
  const others: readonly (readonly [Result, string])[] = [
    [withRun(result, { machine: { ...machine, cpu: "Other CPU" } }), "machine.cpu: Test CPU 9000 against Other CPU"],
    [withRun(result, { machine: { ...machine, cpus: 4 } }), "machine.cpus: 2 against 4"],
    [withRun(result, { machine: { ...machine, memoryBytes: 2 ** 34 } }), "machine.memory: 23.0 GiB against 16.0 GiB"],
    [withRun(result, { data: { ...data, digest: "00" } }), "key stream: a1b2c3d4e5f60718 against 00"],
    [
      withScenario(result, { workload: { ...scenario.workload, batch: 512 } }),
      "scenario.workload.batch: 2048 against 512",
    ],
    [
      withScenario(result, {
        configurations: { ...scenario.configurations, fsdax: { storage: "DRAM_PMEM", pmem: "memkind" } },
      }),
      'scenario.configurations.fsdax.pmem: "libpmem" against "memkind"',
    ],
  ];
  for (const [other, text] of others) {
    const error = assertThrows(
      () => compareResults(result, other, { names: ["a.html", "b.html"] }),
      UnlikeResultsError,
    );
    assertStringIncludes(error.message, `Cannot compare "a.html" with "b.html": they are unlike in ${text}`);
    const labelled = compareResults(result, other, { unlike: true });
    assert(labelled.unlike.some(({ weight }) => weight === "refused"));
    assertStringIncludes(labelled.cautions[0] ?? "", "The results are unlike in ");
    for (const show of [comparisonMarkdown, renderComparison, comparisonJson]) {
      assertStringIncludes(show(labelled), labelled.unlike[0]?.what ?? "?");
    }
  }
  assertThrows(
    () => compareResults(result, withScenario(result, { kind: "simulation" }), { unlike: true }),
    RangeError,
    "Cannot compare a training with a simulation",
  );
});

Deno.test("compareResults() labels versions, seeds and prices without refusing, and lists cases of one side", () => {
  const result = fixtureResult();
  const newer = withRun(result, { versions: { ...result.run.versions, tierbench: "0.2.0", extra: "1" } });
  assertEquals(
    compareResults(result, newer).unlike.map(({ what, a, b, weight }) => [what, a, b, weight]),
    [["version of tierbench", "0.1.0", "0.2.0", "labelled"], ["version of extra", "absent", "1", "labelled"]],
  );
  const seeded = withRun(withScenario(result, { seed: 7 }), { data: { ...result.run.data, digest: "07" } });
  assertEquals(compareResults(result, seeded).unlike.map(({ what }) => what), ["seed", "key stream"]);
  assertEquals(compareResults(result, withScenario(result, { cost: {}, about: "x", name: "y" })).unlike, []);
  const fewer = fixtureResult({ configurations: ["dram", "fsdax"] });
  const { onlyA, onlyB, cases } = compareResults(result, fewer);
  assertEquals([onlyA, onlyB, cases.map((one) => one.case)], [["memory-mode", "kmem-dax"], [], ["dram", "fsdax"]]);
});

Deno.test("compareResults() labels settings of the machine that both results tell of, and nothing that comes and goes", () => {
  const result = fixtureResult();
  const withFacts = (facts: Readonly<Record<string, string>>): Result => ({
    ...result,
    run: { ...result.run, machine: { ...result.run.machine, facts } },
  });
  const one = {
    "cpu.microcode": "0x1",
    "hugepages.transparent": "madvise",
    "noise.loadavg": "0.1",
    "cpu.quota": "1.50",
  };
  const other = {
    ...{ "cpu.microcode": "0x2", "hugepages.transparent": "madvise", "noise.loadavg": "3.1" },
    ...{ "cpu.mitigations.mds": "Vulnerable", "memory.limit": "1073741824", "memory.available": "1" },
  };
  assertEquals(compareResults(withFacts(one), withFacts(other)).unlike, [
    { what: "machine.cpu.microcode", a: "0x1", b: "0x2", weight: "labelled" },
    { what: "machine.memory.limit", a: "none", b: "1073741824", weight: "labelled" },
  ]);
  assertEquals(compareResults(withFacts(other), withFacts(other)).unlike, []);
});

Deno.test("compareResults() compares no kinds of evidence with each other, no virtual medium, no single sample", () => {
  const result = fixtureResult();
  const measured = withSamples(result, (one) => ({ ...one, evidence: "measured" }));
  const mixed = compareResults(result, measured);
  assertEquals(caseOf(mixed, "fsdax").verdict, "not compared");
  assertEquals(caseOf(mixed, "fsdax").why, "emulated in the first, measured in the second");
  assertEquals(caseOf(mixed, "dram").verdict, "no difference");
  const virtual = compareResults(result, fixtureResult({ virtual: ["fsdax"] }));
  assertEquals([caseOf(virtual, "fsdax").a, caseOf(virtual, "fsdax").verdict], [undefined, "not compared"]);
  const single = compareResults(fixtureResult({ samples: 1 }), fixtureResult({ samples: 1 }));
  assertEquals([single.verdict, single.cases[0]?.verdict], ["cannot tell", "cannot tell"]);
  const simulated = (factor: number): Result =>
    withSamples(fixtureResult({ samples: 1 }), (one) => ({
      ...one,
      evidence: "simulated",
      stepNs: one.stepNs.map((ns) => Math.round(ns * factor)),
    }));
  assertEquals(compareResults(simulated(1), simulated(1)).verdict, "no difference");
  assertEquals(compareResults(simulated(1), simulated(1.001)).verdict, "worse");
});

Deno.test("what ought to be equal to the bit is compared where it can be", () => {
  const status = (a: Result, b: Result): string[] =>
    compareResults(a, b, { unlike: true }).checks.map(({ what, status }) => `${what}: ${status}`);
  const result = fixtureResult();
  assertEquals(status(result, result), ["key stream: same", "rows and dense parameters: same", "quality: same"]);
  const [rows, quality] = ["rows and dense parameters", "quality"];
  const other = withSamples(result, (one) => one.case === "fsdax" ? { ...one, digest: "bad" } : one);
  assert(status(result, other).includes(`${rows}: differs`));
  assertStringIncludes(renderComparison(compareResults(result, other)), "other digests after equal steps: fsdax");
  const fast = withSamples(other, (one) => ({ ...one, trainer: { deterministic: "0" } }));
  assert(status(fast, fast).includes(`${rows}: not comparable`));
  const longer = withSamples(result, (one) => ({ ...one, stepNs: [...one.stepNs, 1e7] }));
  assert(status(result, longer).includes(`${rows}: not comparable`));
  const elsewhere = withRun(other, { machine: { ...result.run.machine, cpu: "Other CPU" } });
  assertEquals(status(result, elsewhere).slice(1), [`${rows}: not comparable`, `${quality}: not comparable`]);
  const qualities = result.qualities.map((one) => ({ ...one, auc: 0.7 }));
  assert(status(result, { ...result, qualities }).includes(`${quality}: differs`));
  const keys = withRun(result, { data: { ...result.run.data, digest: "00" } });
  assertEquals(status(result, keys)[0], "key stream: differs");
});

Deno.test("welchTest(), benjaminiHochberg() and floorBetween() give values worked out by hand", () => {
  // Means 1 and 4 of logarithms, variances 2, n 2: t = 3/√2 with 2 degrees of freedom, p = 1 − t/√(t² + 2).
  const [a, b] = [[0, 2].map(Math.exp), [3, 5].map(Math.exp)];
  assertAlmostEquals(welchTest(a, b), 1 - Math.sqrt(4.5 / 6.5), 1e-9);
  assertEquals([welchTest([2, 2], [2, 2]), welchTest([2, 2], [3, 3])], [1, 0]);
  const adjusted = benjaminiHochberg([0.01, 0.04, 0.03, 0.005]);
  [0.02, 0.04, 0.04, 0.02].forEach((value, i) => assertAlmostEquals(adjusted[i] ?? 0, value, 1e-12));
  assertEquals(benjaminiHochberg([]), []);
  // Two cases of two samples, variance 2 each: 2 degrees of freedom, t(0.975) = 4.302653, error √(2·(1/2 + 1/2)).
  assertAlmostEquals(Math.log(floorBetween([a, b], [2, 2]) ?? 0), 4.302653 * Math.SQRT2, 1e-5);
  assertEquals(floorBetween([[1], [2]], [1, 1]), undefined);
});

Deno.test("a comparison as Markdown is a table whose cells cannot break it", () => {
  const result = fixtureResult();
  const text = comparisonMarkdown(compareResults(result, result, { names: ["a|b.html", "<i>.html"] }));
  assertStringIncludes(text, "**No difference beyond the noise in 4 cases (noise floor ");
  assertStringIncludes(text, "a\\|b.html");
  assertStringIncludes(text, "&lt;i>.html");
  const widths = text.split("\n").filter((line) => line.startsWith("| ")).map((line) => line.split(" | ").length);
  assertEquals([...new Set(widths)].length, 1);
});
