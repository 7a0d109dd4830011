/** Broken runs are flagged with the right code, and sound ones stay silent. */

import { findingsOf, gradeOf } from "../../reports/summary/findings.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { renderReport } from "../../reports/html/render.ts";
import type { ConditionsRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const QUIET: ConditionsRecord = {
  ownShare: 0.9,
  othersShare: 0.02,
  stolenShare: 0.001,
  swappedPages: 0,
  migratedPages: 0,
};

type Change = (sample: SampleRecord) => Partial<SampleRecord>;

/** A sound run: enough of everything, on a quiet machine. */
function sound(change: Change = () => ({}), of: Partial<Result> = {}): Result {
  const made = fixtureResult({ work: true, models: true });
  const samples = made.samples.map((sample) => {
    const written = sample.tiers.length > 1 ? { tier1_written: 4096 } : {};
    const one = { ...sample, conditions: QUIET, statistics: { ...sample.statistics, ...written } };
    return { ...one, ...change(one) };
  });
  return { ...made, samples, ...of };
}

const of = (configuration: string, change: Change): Change => (one) =>
  one.configuration === configuration ? change(one) : {};
const conditions = (more: Partial<ConditionsRecord>): Change =>
  of("fsdax", () => ({ conditions: { ...QUIET, ...more } }));
const counted = (read: number, written: number): Change =>
  of("fsdax", ({ statistics }) => ({ statistics: { ...statistics, tier1_hits: read, tier1_written: written } }));
const withFacts = (facts: Readonly<Record<string, string>>): Partial<Result> => {
  const { run } = fixtureResult();
  return { run: { ...run, machine: { ...run.machine, facts: { ...run.machine.facts, ...facts } } } };
};
const withoutEmulation: Change = of("fsdax", ({ tiers, statistics }) => ({
  evidence: "measured",
  tiers: tiers.map(({ emulates: _, ...tier }) => tier),
  statistics: { ...statistics, tier1_hits: 0, tier1_written: 0 },
}));

const BROKEN: readonly (readonly [string, string, Result])[] = [
  ["tier-unused-measured", "a measured tier that nothing reached", sound(withoutEmulation)],
  ["tier-unused", "an emulated tier that nothing reached", sound(counted(0, 0))],
  ["never-read-back", "a tier that was written alone", sound(counted(0, 9000))],
  [
    "forced-pmem",
    "an ordinary file called PMEM",
    sound(of("fsdax", ({ tiers }) => ({ evidence: "measured", tiers: tiers.map(({ emulates: _, ...tier }) => tier) }))),
  ],
  [
    "fits-in-cpu-cache",
    "tables of a mebibyte",
    sound(() => ({ tableBytes: 2 ** 20 }), withFacts({ "cpu.last_cache_bytes": `${2 ** 25}` })),
  ],
  ["different-rows", "another digest", sound(of("kmem-dax", () => ({ digest: "00ff" })))],
  ["failed-samples", "a sample that failed", { ...sound(), failed: fixtureResult({ failed: true }).failed }],
  [
    "uneven-samples",
    "a case with a round less",
    { ...sound(), samples: sound().samples.filter(({ id }) => id !== "fsdax#3") },
  ],
  ["one-sample", "one round", { ...sound(), samples: sound().samples.filter(({ sample }) => sample === 1) }],
  ["no-warm-up", "no warm-up", sound(() => ({ warmupSteps: 0 }))],
  [
    "still-warming",
    "steps that get faster to the end",
    sound(({ stepNs }) => ({ stepNs: stepNs.map((ns, i) => Math.round(ns * (1.5 - i / stepNs.length))) })),
  ],
  ["few-steps", "thirty steps in all", sound(({ stepNs }) => ({ stepNs: stepNs.slice(0, 10) }))],
  ["other-load", "a neighbour on a fifth of the processors", sound(conditions({ othersShare: 0.2 }))],
  ["stolen-time", "a hypervisor that takes a tenth", sound(conditions({ stolenShare: 0.1 }))],
  ["throttled", "a control group's limit", sound(conditions({ throttledShare: 0.3 }))],
  ["swapped", "swap", sound(conditions({ swappedPages: 5000 }))],
  ["pages-moved", "pages that move between nodes", sound(conditions({ migratedPages: 5000 }))],
  [
    "not-calibrated",
    "a medium without a published figure",
    (() => {
      const one = sound();
      const bands = Object.fromEntries(Object.keys(one.run.modelBands ?? {}).map((name) => [name, []]));
      return { ...one, run: { ...one.run, modelBands: bands } };
    })(),
  ],
  [
    "data-repeated",
    "less data than steps want",
    (() => {
      const one = sound();
      return { ...one, run: { ...one.run, data: { ...one.run.data, trainRows: 1000 } } };
    })(),
  ],
  ["frequency-varies", "a governor that saves power", sound(undefined, withFacts({ "noise.governor": "powersave" }))],
];

Deno.test.each(BROKEN)("a broken run is flagged: %s (%s)", (code, _, result) => {
  const found = findingsOf(result).map((one) => one.code);
  assert(found.includes(code), `found ${found}`);
});

/** Near the bounds, on the right side of them. */
const SOUND: readonly (readonly [string, Result])[] = [
  ["quiet machine", sound()],
  ["a little other load", sound(conditions({ othersShare: 0.09 }))],
  ["a little steal", sound(conditions({ stolenShare: 0.019 }))],
  ["a few pages of swap", sound(conditions({ swappedPages: 200 }))],
  ["a few pages moved", sound(conditions({ migratedPages: 200 }))],
  ["a limit that never held back", sound(conditions({ throttledShare: 0 }))],
  ["no conditions, as earlier versions", {
    ...sound(),
    samples: sound().samples.map(({ conditions: _, ...one }) => one),
  }],
  ["a tier that is only read", sound(counted(500, 0))],
  ["tables larger than the cache", sound(undefined, withFacts({ "cpu.last_cache_bytes": `${2 ** 25}` }))],
  ["one step of warm-up", sound(() => ({ warmupSteps: 1 }))],
  [
    "one slow sample among steady ones",
    sound(({ sample, stepNs }) => ({ stepNs: sample === 1 ? stepNs.map((ns, i) => i < 30 ? 2 * ns : ns) : stepNs })),
  ],
  [
    "steps that spread",
    sound(({ stepNs }) => ({ stepNs: stepNs.map((ns, i) => Math.round(ns * (i % 2 === 0 ? 0.7 : 1.3))) })),
  ],
  ["the fast mode's other rows", sound(({ id }) => ({ trainer: { deterministic: "0" }, digest: id }))],
  [
    "another seed's other rows",
    sound(({ sample }) => ({ seed: sample, digest: `${sample}` })),
  ],
  ["a hundred steps in all", sound(({ stepNs }) => ({ stepNs: stepNs.slice(0, 34) }))],
  ["kernel tiering moves pages", tiered(5000)],
  ["governor performance", sound(undefined, withFacts({ "noise.governor": "performance" }))],
  ["one configuration", {
    ...sound(),
    samples: sound().samples.filter(({ configuration }) => configuration === "dram"),
  }],
  ["more rows than steps want", sound(({ stepNs }) => ({ stepNs: stepNs.slice(0, 50) }))],
  ["measured DRAM alone", sound(of("dram", () => ({ evidence: "measured" })))],
];

function tiered(migratedPages: number): Result {
  const one = sound(conditions({ migratedPages }));
  const scenario = one.run.scenario;
  const fsdax = { ...scenario.configurations["fsdax"], memory: "kernel-tiering" as const };
  const configurations = { ...scenario.configurations, fsdax } as typeof scenario.configurations;
  return { ...one, run: { ...one.run, scenario: { ...scenario, configurations } } };
}

Deno.test.each(SOUND)("a sound run stays silent: %s", (_, result) => {
  assertEquals(findingsOf(result), []);
});

Deno.test("the grade is the worst finding's, and every report says it", () => {
  const [closed, open, invalid] = [sound(), sound(conditions({ othersShare: 0.2 })), sound(withoutEmulation)];
  assertEquals([closed, open, invalid].map((one) => gradeOf(findingsOf(one))), ["CLOSED", "OPEN", "INVALID"]);
  const summary = summarise(open);
  assertStringIncludes(toMarkdown(summary), "What speaks against these figures: OPEN");
  assertStringIncludes(
    toMarkdown(summary),
    "- `other-load` (open) fsdax: other work took up to 20 % of the processors",
  );
  assertStringIncludes(renderTerminal(summary), "OPEN  other-load (1 case): the report says");
  assertStringIncludes(renderReport(open), "What speaks against these figures: OPEN");
  assertStringIncludes(renderReport(closed), "Nothing that the suite looks for speaks against these figures.");
});

Deno.test("the documentation lists every code with its severity", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/how-numbers-are-made.md", import.meta.url));
  const listed = [...page.matchAll(/^\| `([a-z-]+)` +\| (invalid|open|note) /gm)].map((
    [, code, severity],
  ) => [code, severity]);
  const rules = BROKEN.map(([code, , result]) => [code, findingsOf(result).find((one) => one.code === code)?.severity]);
  assertEquals(listed.toSorted(), rules.toSorted());
});
