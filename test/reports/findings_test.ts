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
  const { run } = fixtureResult({ models: true });
  return { run: { ...run, machine: { ...run.machine, facts: { ...run.machine.facts, ...facts } } } };
};
const withoutEmulation: Change = of("fsdax", ({ tiers, statistics }) => ({
  evidence: "measured",
  tiers: tiers.map(({ emulates: _, ...tier }) => tier),
  statistics: { ...statistics, tier1_hits: 0, tier1_written: 0 },
}));

/** fsdax with its rows on a disk, of which the machine's disks gave a share. */
function onDisk(share: number, depth = "32"): Result {
  return sound(of("fsdax", ({ tiers, statistics }) => {
    const hits = 100_000;
    const rowBytes = 52.7; // 77 MiB of 1.51 M rows
    return {
      tiers: tiers.map((tier) =>
        tier.tier === 0 ? tier : (({ emulates: _, ...rest }) => ({ ...rest, type: "SSDHASH", facts: { depth } }))(tier)
      ),
      statistics: { ...statistics, tier1_hits: hits, lookup_keys: 1_500_000, tier0_hits: 1_400_000 },
      conditions: { ...QUIET, readBytes: Math.round(hits * rowBytes * share) },
    };
  }));
}

function withRun(change: (run: Result["run"]) => Partial<Result["run"]>): Result {
  const one = sound();
  return { ...one, run: { ...one.run, ...change(one.run) } };
}

function skewed(s: number): Result {
  return withRun(({ scenario }) => {
    const data = { ...scenario.workload?.data, skew: { s, q: 3, rows: 1000 } };
    return { scenario: { ...scenario, workload: { ...scenario.workload, data } } as typeof scenario };
  });
}

function targeted(target: { readonly p99Ms?: number; readonly samplesPerSecond?: number }): Result {
  return withRun(({ scenario }) => ({ scenario: { ...scenario, target } }));
}

/** A result that was joined of shares, some of them lost, on these processors. */
function joined(lost: readonly number[], cpus: readonly string[], missing = 0): Result {
  const started = "2026-11-20T12:00:00.000Z";
  const shards = cpus.map((cpu, i) => ({ index: i + 1, started, cpu, missing }));
  return withRun(() => ({ merged: { of: 3, shards, lost } }));
}

/** Media whose bands are all of one basis. */
function banded(basis: "fit" | "medium"): Result {
  return withRun(({ modelBands = {} }) => ({
    modelBands: Object.fromEntries(
      Object.entries(modelBands).map(([name, bands]) => [name, bands.map((one) => ({ ...one, basis }))]),
    ),
  }));
}

/** DRAM once more in every round, a factor slower. */
function twice(slower: (round: number) => number): Result {
  const one = sound();
  const dram = one.samples.filter(({ configuration }) => configuration === "dram");
  const again = dram.map((of) => ({
    ...of,
    id: `dram[again]#${of.sample}`,
    case: "dram (again)",
    again: true as const,
    stepNs: of.stepNs.map((ns, i) => Math.round(ns * slower(of.sample) * (1 + 0.001 * ((i * 7) % 11 - 5)))),
  }));
  return { ...one, again };
}

/** Sixty steps, the second half of which takes a factor longer. */
function leveled([first = 1]: readonly number[], factor: number): number[] {
  return Array.from({ length: 60 }, (_, i) => Math.round(first * (1 + 0.001 * ((i * 7) % 11)) * (i < 30 ? 1 : factor)));
}

/** In turns of five steps, the first of which takes longer by a share of a step. */
function firstSteps(share: (one: SampleRecord) => number): Result {
  return sound((one) => ({
    stepNs: Array.from({ length: 60 }, (_, i) => Math.round(1e7 * (i % 5 === 0 ? 1 + share(one) : 1))),
    turns: { steps: 5, seconds: one.processSeconds, waitingCpuNs: 0 },
  }));
}

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
  [
    "unsteady",
    "steps that get slower half-way",
    sound(of("fsdax", ({ stepNs }) => ({ stepNs: leveled(stepNs, 1.3) }))),
  ],
  [
    "cold-turns",
    "turns that begin colder than others'",
    firstSteps(({ configuration }) => configuration === "fsdax" ? 0.4 : 0.2),
  ],
  [
    "works-between-turns",
    "rows that are moved while others train",
    sound(({ stepNs }) => ({
      turns: { steps: 2, seconds: 9, waitingCpuNs: 2e8 + 0.12 * stepNs.reduce((sum, ns) => sum + ns, 0) },
    })),
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
  [
    "fits-in-first-tier",
    "a first tier larger than the tables",
    sound(of("fsdax", ({ tiers }) => ({
      tiers: tiers.map((tier) => tier.tier === 0 ? { ...tier, limitBytes: 2 ** 30 } : tier),
    }))),
  ],
  ["page-cache", "rows on a disk that the machine's disks hardly gave", onDisk(0.02)],
  ["queue-depth", "one read in flight", onDisk(1, "1")],
  [
    "unlike-denominators",
    "samples of two versions",
    sound(
      of("fsdax", ({ sample, statistics }) => sample > 1 ? {} : { statistics: { ...statistics, lookup_distinct: 9 } }),
    ),
  ],
  ["uniform-keys", "ids drawn alike", skewed(0)],
  [
    "uniform-keys",
    "a first tier that answers its share of the rows",
    sound(of("fsdax", ({ statistics }) => {
      const keys = statistics["lookup_keys"] as number;
      const hits = Math.round(keys * 0.11);
      return { statistics: { ...statistics, tier0_hits: hits, tier1_hits: keys - hits } };
    })),
  ],
  [
    "emulation-not-verified",
    "a slowed medium of which nothing is recorded",
    (() => {
      const one = sound();
      const { modelBands: _, ...run } = one.run;
      return { ...one, run };
    })(),
  ],
  ["fitted-on-itself", "a medium known by its own fit alone", banded("fit")],
  ["unseeded", "samples of one case that end otherwise", sound(of("dram", ({ id }) => ({ digest: id })))],
  [
    "cold-and-warm",
    "a sample without the others' warm-up",
    sound(({ sample }) => ({ warmupSteps: sample === 1 ? 1 : 5 })),
  ],
  [
    "cold-first-steps",
    "a warm-up that is said and did not run",
    sound(({ stepNs }) => ({ stepNs: stepNs.map((ns, i) => i < 3 ? 5 * ns : ns) })),
  ],
  [
    "unlike-steps",
    "samples cut short",
    sound(({ sample, stepNs }) => ({ stepNs: stepNs.slice(0, 100 - 20 * sample) })),
  ],
  ["clock-wrong", "steps longer than their process", sound(({ sample }) => sample === 2 ? { processSeconds: 1 } : {})],
  [
    "long-pause",
    "a round of the next day",
    sound(({ sample }) => sample === 3 ? { started: "2026-11-21T09:00:00.000Z" } : {}),
  ],
  ["aa-differs", "a case that is slower the second time", twice((round) => 1.08 + 0.0005 * round)],
  [
    "coarse",
    "rounds that agree in nothing",
    sound(of("fsdax", ({ sample, stepNs }) => ({
      stepNs: stepNs.map((ns) => ns * (sample === 2 ? 3 : 1)),
      processSeconds: 60,
    }))),
  ],
  ["closed-loop", "a target for the slowest steps", targeted({ p99Ms: 50 })],
  ["lost-shard", "a share that nobody has", joined([3], ["A"])],
  ["lost-shard", "a share that was interrupted", joined([], ["A"], 2)],
  ["unlike-machines", "shares of unlike machines", joined([], ["A", "B"])],
  [
    "settings-changed",
    "huge pages switched off midway",
    sound(({ sample }) => ({
      conditions: {
        ...QUIET,
        settings: { transparent_hugepage: sample < 3 ? "always" : "never", governor: "performance" },
      },
    })),
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
  ["turns that begin alike cold", firstSteps(({ configuration }) => configuration === "fsdax" ? 0.24 : 0.2)],
  ["one sample whose turns begin cold", firstSteps(({ id }) => id === "fsdax#1" ? 0.4 : 0.2)],
  ["steps that get faster by a tenth and stay so", sound(({ stepNs }) => ({ stepNs: leveled(stepNs, 0.92) }))],
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
  [
    "turns between which a process hardly works",
    sound(({ stepNs }) => ({
      turns: { steps: 2, seconds: 9, waitingCpuNs: 0.09 * stepNs.reduce((sum, ns) => sum + ns, 0) },
    })),
  ],
  ["governor performance", sound(undefined, withFacts({ "noise.governor": "performance" }))],
  ["one configuration", {
    ...sound(),
    samples: sound().samples.filter(({ configuration }) => configuration === "dram"),
  }],
  ["more rows than steps want", sound(({ stepNs }) => ({ stepNs: stepNs.slice(0, 50) }))],
  [
    "a first tier a little smaller than the tables",
    sound(of("fsdax", ({ tiers, tableBytes }) => ({
      tiers: tiers.map((tier) => tier.tier === 0 ? { ...tier, limitBytes: tableBytes - 1 } : tier),
    }))),
  ],
  ["a disk that gave a fifth, since neighbours are read together", onDisk(0.2)],
  ["two reads in flight", onDisk(1, "2")],
  ["ids of a skew", skewed(1.05)],
  ["a medium whose figures the fit did not see", banded("medium")],
  ["first steps a little slower", sound(({ stepNs }) => ({ stepNs: stepNs.map((ns, i) => i < 3 ? 1.8 * ns : ns) }))],
  [
    "one sample with cold first steps",
    sound(({ sample, stepNs }) => ({
      stepNs: stepNs.map((ns, i) => sample === 1 && i < 3 ? 5 * ns : ns),
    })),
  ],
  [
    "a pause of five minutes",
    sound(({ sample }) => ({ started: `2026-11-20T12:${sample < 3 ? "00" : "05"}:00.000Z` })),
  ],
  ["a case that is the same the second time", twice((round) => 1 + 0.002 * (round - 2))],
  [
    "steps as long as their process",
    sound(({ stepNs }) => ({
      processSeconds: stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9 + 0.001,
    })),
  ],
  ["a target for samples a second", targeted({ samplesPerSecond: 1000 })],
  ["settings that stay", sound(() => ({ conditions: { ...QUIET, settings: { transparent_hugepage: "always" } } }))],
  ["shares of like machines", joined([], ["A", "A"])],
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

Deno.test("thirty broken runs and thirty sound ones at least, and every code has a broken one", () => {
  assert(BROKEN.length >= 30 && SOUND.length >= 30, `${BROKEN.length} broken, ${SOUND.length} sound`);
});

Deno.test("the documentation lists every code with its severity", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/how-numbers-are-made.md", import.meta.url));
  const listed = [...page.matchAll(/^\| `([a-z-]+)` +\| (invalid|open|note) /gm)].map((
    [, code, severity],
  ) => [code, severity]);
  const rules = BROKEN.map(([code, , result]) => [code, findingsOf(result).find((one) => one.code === code)?.severity]);
  const named = [...new Map(rules.map(([code, severity]) => [code, [code, severity]])).values()];
  assertEquals(listed.toSorted(), named.toSorted());
});
