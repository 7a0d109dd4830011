/**
 * Rules about samples and their steps: whether there are enough, steady, alike, and of the same work.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import { isDeterministic, type Result, type SampleRecord } from "../../scenarios/record.ts";
import { steadyState } from "../statistics/steady.ts";
import { identicalRows } from "./case_summary.ts";
import { about, perCase, percent, type Rule } from "./finding_parts.ts";

/** Steps of all processes that a 95 % and a 99 % quantile want: one beyond it at least. */
const FOR_P95 = 20, FOR_P99 = 100;
/** How much faster the last third of the steps may be than the first. */
const STEADY = 0.9;
/** Steps of a sample below which thirds say nothing. */
const FEW = 15;

/** Times the median that the first counted steps take where the steps before them did not warm up. */
const COLD = 2;
/** Share of chance that a repeated contender may differ from itself by. */
const BY_CHANCE = 0.01;
/** Noise floor, as a factor, above which the run sees little. */
const COARSE = 1.2;
/** Seconds without a sample after which rounds are no longer close in time. */
const PAUSE = 600;

/** Median of the last third of a sample's steps ÷ that of the first third. */
function course({ stepNs }: SampleRecord): number {
  const third = Math.floor(stepNs.length / 3);
  return median(stepNs.slice(-third)) / median(stepNs.slice(0, third));
}

/** Seconds between the end of a sample and the begin of the next, the longest. */
function longestPause({ samples, again = [] }: Result): { readonly seconds: number; readonly before: string } {
  const inOrder = [...samples, ...again].toSorted((a, b) => Date.parse(a.started) - Date.parse(b.started));
  return inOrder.slice(1).reduce((most, one, i) => {
    const before = inOrder[i] as SampleRecord;
    const seconds = (Date.parse(one.started) - Date.parse(before.started)) / 1000 - before.processSeconds;
    return seconds > most.seconds ? { seconds, before: one.id } : most;
  }, { seconds: 0, before: "" });
}

/** Rules about samples. */
export const SAMPLE_RULES: readonly Rule[] = [
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
  perCase("unsteady", "note", "count more steps, or look what else the machine does", ({ samples }) => {
    const states = samples.flatMap(({ id, stepNs }) => steadyState(stepNs, id) ?? []);
    const never = states.filter(({ kind }) => kind === "no steady state").length;
    const slower = states.filter(({ kind }) => kind === "slowdown").length;
    if (never + slower === 0) return undefined;
    const parts = [
      ...(never === 0 ? [] : [`${never} come to no steady state`]),
      ...(slower === 0 ? [] : [`${slower} get slower`]),
    ];
    return `of its ${states.length} processes ${parts.join(" and ")}`;
  }),
  perCase("few-steps", "note", "count more steps (workload.steps)", ({ samples }) => {
    const steps = samples.reduce((sum, { stepNs }) => sum + stepNs.length, 0);
    if (steps < FOR_P95) return `${steps} steps: the 95 and 99 % quantiles are the largest value`;
    return steps < FOR_P99 ? `${steps} steps: the 99 % quantile is the largest value` : undefined;
  }),
  perCase("unseeded", "invalid", "give the generator a seed; report it as a defect", ({ samples }) => {
    const alike = Map.groupBy(
      samples.filter(isDeterministic),
      (one) => JSON.stringify([one.seed, one.batch, one.warmupSteps + one.stepNs.length]),
    );
    return [...alike.values()].some((all) => new Set(all.map(({ digest }) => digest)).size > 1)
      ? "its samples end with other rows after equal steps, though their seed is the same"
      : undefined;
  }),
  perCase("cold-and-warm", "open", "run it anew: equal warm-up for all samples", ({ samples }) => {
    const steps = [...new Set(samples.map(({ warmupSteps }) => warmupSteps))].toSorted((a, b) => a - b);
    return steps.length > 1 ? `its samples had ${steps.join(" and ")} steps of warm-up` : undefined;
  }),
  perCase("cold-first-steps", "open", "look whether the warm-up ran, or raise workload.warmup", ({ samples }) => {
    if (samples.some(({ warmupSteps, stepNs }) => warmupSteps === 0 || stepNs.length < FEW)) return undefined;
    const times = samples.map(({ stepNs }) => median(stepNs.slice(0, 3)) / median(stepNs));
    return Math.min(...times) > COLD
      ? `its first counted steps took ${median(times).toPrecision(2)} times the median, in every sample`
      : undefined;
  }),
  perCase("unlike-steps", "note", "give the run a larger budget, or say workload.steps", ({ samples }) => {
    const steps = samples.map(({ stepNs }) => stepNs.length);
    const [least, most] = [Math.min(...steps), Math.max(...steps)];
    return least < most
      ? `its samples count ${least} to ${most} steps, so their rows cannot all be compared`
      : undefined;
  }),
  perCase("clock-wrong", "invalid", "look at the machine's clock (clocksource in dmesg)", ({ samples }) => {
    const wrong = samples.find(({ stepNs, processSeconds }) =>
      stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9 > processSeconds
    );
    return wrong === undefined ? undefined : `the steps of ${wrong.id} took longer than the process that trained them`;
  }),
  (result) => {
    const { seconds, before } = longestPause(result);
    return seconds <= PAUSE ? [] : [{
      code: "long-pause",
      severity: "open",
      cases: [],
      seen: `${Math.round(seconds / 60)} minutes without a sample before ${before}: rounds are not close in time`,
      advice: "take all rounds in one go, where slow changes of the machine meet every case alike",
    }];
  },
  (_result, _cases, floors) =>
    about(
      "aa-differs",
      "open",
      floors.flatMap(({ repeated }) =>
        repeated?.ratio.test !== undefined && repeated.ratio.test.p < BY_CHANCE
          ? [[
            repeated.case,
            `run twice in every round, it is ${percent(Math.abs(repeated.ratio.value - 1))} ${
              repeated.ratio.value < 1 ? "slower" : "faster"
            } the second time, which chance shows in less than one of a hundred runs`,
          ]]
          : []
      ),
      "something that the rounds do not even out acts on the samples; differences of that size are not real",
    ),
  (_result, _cases, floors) => {
    const [worst] = floors.toSorted((a, b) => b.factor - a.factor);
    return worst === undefined || worst.factor <= COARSE ? [] : [{
      code: "coarse",
      severity: "note",
      cases: [],
      seen: `noise alone may show ${percent(worst.factor - 1)}: no smaller difference can be told`,
      advice: "take more samples (repetitions), or a quieter machine",
    }];
  },
  ({ run: { merged } }) => {
    if (merged === undefined) return [];
    const lost = merged.lost.map((index) => `shard ${index}/${merged.of} is lost`);
    const short = merged.shards.filter(({ missing }) => missing > 0).map(({ index, missing }) =>
      `shard ${index}/${merged.of} lacks ${missing} samples`
    );
    const cpus = [...new Set(merged.shards.map(({ cpu }) => cpu))];
    return [
      ...(lost.length + short.length === 0 ? [] : [
        {
          code: "lost-shard",
          severity: "open",
          cases: [],
          seen: [...lost, ...short].join("; "),
          advice: "run what is missing with --shard, and merge again",
        } as const,
      ]),
      ...(cpus.length <= 1 ? [] : [
        {
          code: "unlike-machines",
          severity: "open",
          cases: [],
          seen: `rounds ran on unlike processors: ${cpus.join(" and ")}`,
          advice: "ratios compare cases of one machine each; speeds and costs are a mixture: use machines of one kind",
        } as const,
      ]),
    ];
  },
  ({ run: { scenario } }) =>
    scenario.target?.p99Ms === undefined ? [] : [{
      code: "closed-loop",
      severity: "note",
      cases: [],
      seen: "the 99 % quantile of steps is held against target.p99Ms, and a step begins when the one before has ended",
      advice: "read it as the time of a step: requests that come by themselves would also wait for each other",
    }],
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
];
