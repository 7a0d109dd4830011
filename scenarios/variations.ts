/**
 * Other versions of a scenario that the command offers: a quick one, one over the user's own rows.
 *
 * @module
 */

import { resolve } from "node:path";
import { atPoint } from "../base/matrix.ts";
import type { ResolvedScenario } from "./scenario.ts";
import { hasDramTier } from "../ffi/storage.ts";
import { trialSteps } from "./trial_steps.ts";

/** Limits of a quick run, so that it ends within 30 s. */
const QUICK = { seconds: 22, rows: 131_072, testRows: 8192, batch: 512, warmup: 4, evaluations: 2, ablationSteps: 12 };

/**
 * The scenario made small (fewer rows and steps, smaller batches): for a first look, not for figures to quote. Its name
 * ends in `-quick`. An ablation leaves "all but one" out; it has many cases, so it takes minutes all the same.
 */
export function quickScenario(scenario: ResolvedScenario): ResolvedScenario {
  const { workload, quality } = scenario;
  const isFile = "criteo" in workload.data;
  const data = "criteo" in workload.data
    ? { ...workload.data, maxRows: Math.min(workload.data.maxRows || Infinity, QUICK.rows) }
    : {
      ...workload.data,
      rows: Math.min(workload.data.rows, QUICK.rows),
      testRows: Math.min(workload.data.testRows, QUICK.testRows),
    };
  return {
    ...scenario,
    ...(isFile ? fittingDram(scenario) : {}), // fewer rows of a file have fewer keys
    name: `${scenario.name}-quick`,
    workload: {
      ...workload,
      data,
      batch: Math.min(workload.batch, QUICK.batch),
      warmup: scenario.ablation === undefined
        ? Math.max(Math.min(workload.warmup, QUICK.warmup), trialSteps(scenario))
        : workload.warmup,
      ...(scenario.ablation === undefined || workload.steps === "auto"
        ? {}
        : { steps: Math.min(workload.steps, QUICK.ablationSteps) }),
    },
    ...(scenario.ablation === undefined
      ? {}
      : { ablation: { ...scenario.ablation, cases: ["alone", "all"] as const } }),
    repetitions: 3,
    budget: Math.min(scenario.budget, QUICK.seconds),
    quality: {
      ...quality,
      samples: quality.samples === "auto" ? "auto" : Math.min(quality.samples, QUICK.rows),
      evaluations: Math.min(quality.evaluations, QUICK.evaluations),
      testRows: quality.testRows === 0 ? QUICK.testRows : Math.min(quality.testRows, QUICK.testRows),
    },
  };
}

/**
 * The scenario over a file of real rows in Criteo's format. Their tables have another size, so DRAM becomes the quarter
 * of it that is fair.
 */
export function withData(scenario: ResolvedScenario, file: string): ResolvedScenario {
  const data = {
    criteo: resolve(file),
    format: "auto",
    testEvery: 10,
    maxRows: 0,
    onError: "error",
    numerics: scenario.workload.data.numerics,
  } as const;
  return { ...scenario, ...fittingDram(scenario), workload: { ...scenario.workload, data } };
}

/**
 * The scenario with other values of some dotted fields. A field that its matrix varies no longer varies.
 *
 * @param fields Dotted field to value, such as `{ "workload.batch": 64, "matrix": {} }`; the result is not checked.
 */
export function withFields(scenario: ResolvedScenario, fields: Readonly<Record<string, unknown>>): ResolvedScenario {
  const matrix = Object.fromEntries(Object.entries(scenario.matrix).filter(([field]) => !Object.hasOwn(fields, field)));
  return { matrix, ...atPoint(scenario as object, fields) } as ResolvedScenario;
}

/** The DRAM budget for other tables than those it was written for, unless a configuration gives its sizes itself. */
function fittingDram({ dram, configurations }: ResolvedScenario): Pick<ResolvedScenario, "dram"> {
  const given = Object.values(configurations).some(({ storage, size }) => hasDramTier(storage) && size !== undefined);
  return { dram: given ? dram : "auto" };
}
