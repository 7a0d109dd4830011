/**
 * The rules behind {@linkcode findingsOf}, one each. A rule says nothing where the records lack what it needs: results of
 * earlier versions have no conditions, say.
 *
 * Where bounds come from: a tenth of the processors in other work, or a fiftieth stolen, is about what moves a step's mean
 * by the few percent that separate media in this suite's reports; a page of swap or migration costs microseconds, so a
 * mebibyte of them is let pass. They are the only constants here, and docs/how-numbers-are-made.md lists them.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import type { ConditionsRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import { median } from "../../base/statistics.ts";
import { identicalRows } from "./case_summary.ts";
import type { CaseSamples, Finding, Severity } from "./findings.ts";

/** Finds what it is about, in no case, some, or the run as a whole. */
type Rule = (result: Result, cases: readonly CaseSamples[]) => readonly Finding[];

/** Share of the processors' time that other work may have. */
const OTHERS = 0.1;
/** Share of it that a hypervisor may take. */
const STOLEN = 0.02;
/** Share of a sample's time in which a control group's limit may hold it back. */
const THROTTLED = 0.01;
/** Pages of 4 KiB that may swap or move between nodes: a mebibyte. */
const PAGES = 256;
/** Steps of all processes that a 95 % and a 99 % quantile want: one beyond it at least. */
const FOR_P95 = 20, FOR_P99 = 100;
/** How much faster the last third of the steps may be than the first. */
const STEADY = 0.9;
/** Steps of a sample below which thirds say nothing. */
const FEW = 15;

const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;

/** A finding about cases that have something in common; none where no case has. */
function about(
  code: string,
  severity: Severity,
  found: readonly (readonly [name: string, seen: string])[],
  advice: string,
): Finding[] {
  if (found.length === 0) return [];
  return [{
    code,
    severity,
    cases: found.map(([name]) => name),
    seen: found.map(([name, seen]) => `${name}: ${seen}`).join("; "),
    advice,
  }];
}

/** A rule that looks at one case after the other. */
function perCase(
  code: string,
  severity: Severity,
  advice: string,
  seen: (one: CaseSamples, result: Result) => string | undefined,
): Rule {
  return (result, cases) => {
    const found = cases.flatMap((one) => {
      const text = seen(one, result);
      return text === undefined ? [] : [[one.name, text] as const];
    });
    return about(code, severity, found, advice);
  };
}

/** Counted in a sample's steps: rows found in a tier, or written to it. */
function touched({ statistics }: SampleRecord, tier: number): { readonly read: number; readonly written: number } {
  return { read: statistics[`tier${tier}_hits`] ?? 0, written: statistics[`tier${tier}_written`] ?? 0 };
}

/** Tiers below the first in which no row was looked up and to which none was written, in any sample. */
function unused(
  { samples }: CaseSamples,
  wanted: (sample: SampleRecord, emulated: boolean) => boolean,
): string | undefined {
  const [first] = samples;
  const idle = first.tiers.filter(({ tier, emulates }) =>
    tier > 0 && wanted(first, emulates !== undefined) &&
    samples.every((sample) => touched(sample, tier).read === 0 && touched(sample, tier).written === 0)
  );
  if (idle.length === 0) return undefined;
  return `no row was read from or written to ${idle.map(({ type }) => type).join(" and ")} in the counted steps`;
}

/** The largest of one of the conditions, where any sample has it above a bound. */
function worst(
  { samples }: CaseSamples,
  of: (conditions: ConditionsRecord) => number | undefined,
  most: number,
): number | undefined {
  const all = samples.flatMap(({ conditions }) => (conditions === undefined ? [] : of(conditions) ?? []));
  const found = Math.max(-Infinity, ...all);
  return found > most ? found : undefined;
}

/** Median of the last third of a sample's steps ÷ that of the first third. */
function course({ stepNs }: SampleRecord): number {
  const third = Math.floor(stepNs.length / 3);
  return median(stepNs.slice(-third)) / median(stepNs.slice(0, third));
}

const FULL = "make the tables larger (workload.data.scale) or the first tier smaller (dram)";

/** All rules. */
export const RULES: readonly Rule[] = [
  perCase(
    "tier-unused-measured",
    "invalid",
    `the case says what DRAM does; ${FULL}`,
    (one) => unused(one, ({ evidence }, emulated) => evidence === "measured" && !emulated),
  ),
  perCase(
    "tier-unused",
    "open",
    `the case says what DRAM does; ${FULL}`,
    (one) => unused(one, ({ evidence }, emulated) => evidence !== "measured" || emulated),
  ),
  perCase("never-read-back", "open", "train more steps, or make the first tier smaller (dram)", ({ samples }) => {
    const dead = samples[0].tiers.filter(({ tier }) =>
      tier > 0 && samples.every((sample) => touched(sample, tier).read === 0) &&
      samples.some((sample) => touched(sample, tier).written > 0)
    );
    return dead.length === 0
      ? undefined
      : `rows were written to ${dead.map(({ type }) => type).join(" and ")}, none was read there`;
  }),
  perCase(
    "forced-pmem",
    "invalid",
    "name a folder on a DAX file system, without PMEM_IS_PMEM_FORCE",
    ({ samples }) =>
      samples.some(({ evidence, tiers }) =>
          evidence === "measured" && tiers.some(({ facts }) => facts["forced"] === "1")
        )
        ? "libpmem was told to take an ordinary file for PMEM, and the figures are called measured"
        : undefined,
  ),
  ({ run: { machine } }, cases) => {
    const cache = Number(machine.facts["cpu.last_cache_bytes"] ?? 0);
    const found = cases.filter(({ samples: [first] }) => first.tableBytes > 0 && first.tableBytes < cache);
    return about(
      "fits-in-cpu-cache",
      "open",
      found.map(({ name, samples: [first] }) => [
        name,
        `its rows take ${formatBytes(first.tableBytes)}, a last-level cache here has ${formatBytes(cache)}`,
      ]),
      "no medium is asked for rows that the processor keeps; raise workload.data.scale",
    );
  },
  (result) => {
    const identical = identicalRows(result);
    return identical === undefined || identical.same ? [] : [{
      code: "different-rows",
      severity: "invalid",
      cases: [...identical.configurations],
      seen: "rows or dense parameters differ after equal steps, seeds and batches",
      advice: "the cases did not do the same work; report it as a defect",
    }];
  },
  ({ failed }) =>
    about(
      "failed-samples",
      "open",
      [...Map.groupBy(failed, (one) => one.case)].map((
        [name, all],
      ) => [name, `${all.length} failed: ${all[0]?.error}`]),
      "mend what failed and run again with --resume",
    ),
  (_, cases) => {
    const most = Math.max(0, ...cases.map(({ samples }) => samples.length));
    const fewer = cases.filter(({ samples }) => samples.length < most);
    return about(
      "uneven-samples",
      "open",
      fewer.map(({ name, samples }) => [name, `${samples.length} samples, others have ${most}`]),
      "run with --resume, so that every case has all rounds",
    );
  },
  perCase(
    "one-sample",
    "open",
    "take three samples at least (repetitions)",
    ({ samples }) => samples.length === 1 ? "one sample, so nothing says how far another would be" : undefined,
  ),
  perCase(
    "no-warm-up",
    "open",
    "give it steps that are not counted (workload.warmup)",
    ({ samples }) =>
      samples.some(({ warmupSteps }) => warmupSteps === 0) ? "its first, cold steps are counted" : undefined,
  ),
  perCase("still-warming", "open", "raise workload.warmup until the steps are steady", ({ samples }) => {
    if (samples.some(({ stepNs }) => stepNs.length < FEW)) return undefined;
    const courses = samples.map(course);
    return Math.max(...courses) < STEADY
      ? `in every sample the last third of the steps took ${percent(median(courses))} of the first third's time`
      : undefined;
  }),
  perCase("few-steps", "note", "count more steps (workload.steps)", ({ samples }) => {
    const steps = samples.reduce((sum, { stepNs }) => sum + stepNs.length, 0);
    if (steps < FOR_P95) return `${steps} steps: the 95 and 99 % quantiles are the largest value`;
    return steps < FOR_P99 ? `${steps} steps: the 99 % quantile is the largest value` : undefined;
  }),
  perCase("other-load", "open", "stop other work, or run where there is none", (one) => {
    const share = worst(one, ({ othersShare }) => othersShare, OTHERS);
    return share === undefined
      ? undefined
      : `other work took up to ${percent(share)} of the processors during a sample`;
  }),
  perCase("stolen-time", "open", "take a machine with processors of its own", (one) => {
    const share = worst(one, ({ stolenShare }) => stolenShare, STOLEN);
    return share === undefined ? undefined : `the hypervisor gave up to ${percent(share)} of the processors to others`;
  }),
  perCase("throttled", "open", "raise the control group's cpu.max", (one) => {
    const share = worst(one, ({ throttledShare }) => throttledShare, THROTTLED);
    return share === undefined
      ? undefined
      : `a limit of the control group held it back for up to ${percent(share)} of a sample`;
  }),
  perCase("swapped", "open", "give the machine more memory, or the run less", (one) => {
    const pages = worst(one, ({ swappedPages }) => swappedPages, PAGES);
    return pages === undefined ? undefined : `${pages} pages went to or came from swap during a sample`;
  }),
  perCase("pages-moved", "open", "turn kernel.numa_balancing off, or bind the run to a node", (one, { run }) => {
    if (run.scenario.configurations?.[one.samples[0].configuration]?.memory === "kernel-tiering") return undefined;
    const pages = worst(one, ({ migratedPages }) => migratedPages, PAGES);
    return pages === undefined ? undefined : `the kernel moved ${pages} pages between nodes during a sample`;
  }),
  ({ run: { modelBands = {} } }, cases) => {
    const media = (one: CaseSamples) => one.samples[0].tiers.flatMap(({ emulates }) => emulates ?? []);
    const found = cases.flatMap((one) => {
      const without = media(one).filter((name) => modelBands[name]?.length === 0);
      return without.length === 0
        ? []
        : [[one.name, `nothing published was compared with ${without.join(" and ")}`] as const];
    });
    return about(
      "not-calibrated",
      "open",
      found,
      "the emulated medium's error is not known; name one of docs/accuracy.md",
    );
  },
  ({ run: { data, scenario } }, cases) => {
    const most = Math.max(
      0,
      ...cases.flatMap(({ samples }) => samples.map((one) => (one.warmupSteps + one.stepNs.length) * one.batch)),
    );
    const times = most / data.trainRows;
    return times <= 1 || scenario.workload.data === undefined ? [] : [{
      code: "data-repeated",
      severity: "note",
      cases: [],
      seen: `a sample trained on ${most} rows of ${data.trainRows}, so each came ${times.toPrecision(2)} times`,
      advice: "make more rows (workload.data.rows): what comes again is warm",
    }];
  },
  ({ run: { machine } }) => {
    const governor = machine.facts["noise.governor"];
    return governor === undefined || governor === "performance" ? [] : [{
      code: "frequency-varies",
      severity: "note",
      cases: [],
      seen: `the frequency governor is "${governor}"`,
      advice: "cpupower frequency-set -g performance",
    }];
  },
];
