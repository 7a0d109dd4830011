/**
 * What each optimisation is worth: every variant of an ablation against the one without any switch, per configuration.
 *
 * @module
 */

import { kindOf, kindText } from "./kind.ts";
import {
  ABLATION_CASES,
  ABLATION_FIELD,
  ablationVariants,
  offValue,
  type SwitchName,
  type Variant,
} from "../../scenarios/ablation.ts";
import type { Auc, QualityRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import type { Group } from "./case_summary.ts";
import { switchLabel } from "./ablation_words.ts";
import type { AblationGroup, AblationRow, AblationSummary, CaseSummary } from "./summary_types.ts";
import { comparedRates, rateOf } from "../statistics/pairing.ts";
import { estimate } from "../statistics/bootstrap.ts";

type Ablation = Parameters<typeof ablationVariants>[0];

/** The ablation of a result as it ran: without the switches that were left out; undefined if it had none. */
function ablationOf({ run }: Result): Ablation | undefined {
  const written = (run.scenario as { readonly ablation?: Partial<Ablation> }).ablation;
  if (typeof written?.switches !== "object" || written.switches === null) return undefined;
  const left = new Set((run.leftOut ?? []).map((one) => one.switch));
  const switches = Object.fromEntries(Object.entries(written.switches).filter(([name]) => !left.has(name)));
  return { switches, cases: written.cases ?? ABLATION_CASES };
}

/**
 * The ablation of a result.
 *
 * @param result The result.
 * @param groups Its samples by case.
 * @param cases What was found of each case.
 */
export function ablation(
  result: Result,
  groups: readonly Group[],
  cases: readonly Pick<CaseSummary, "name" | "virtual">[],
): AblationSummary | undefined {
  const found = ablationOf(result);
  if (found === undefined) return undefined;
  const variants = ablationVariants(found);
  const of = variants.flatMap((variant) =>
    groups.filter((group) => first(group).point[ABLATION_FIELD] === variant.name).map((group) => ({ variant, group }))
  );
  const keys = [...new Set(of.map(({ group }) => keyOf(group)))];
  return {
    switches: Object.entries(found.switches).map(([name, on]) => ({
      name,
      on: String(on),
      off: String(offValue(name as SwitchName)),
    })),
    leftOut: (result.run.leftOut ?? []).map(({ switch: name, why }) => ({ name, why })),
    qualitySamples: result.quality?.curve.at(-1)?.samples,
    groups: keys.map((key) => groupOf(result, of.filter(({ group }) => keyOf(group) === key), cases)),
  };
}

type Found = { readonly variant: Variant; readonly group: Group };

function first(group: Group): SampleRecord {
  return group.samples[0] as SampleRecord;
}

/** Cases that are compared with one another: of a configuration, a kind of evidence and a point of the matrix. */
function keyOf(group: Group): string {
  const { configuration, point: { [ABLATION_FIELD]: _, ...point } } = first(group);
  return JSON.stringify([configuration, kindText(kindOf(first(group))), point]);
}

function groupOf(
  result: Result,
  found: readonly Found[],
  cases: readonly Pick<CaseSummary, "name" | "virtual">[],
): AblationGroup {
  const sample = first((found[0] as Found).group);
  const { configuration, point: { [ABLATION_FIELD]: _, ...point } } = sample;
  const none = found.find(({ variant }) => variant.kind === "none")?.group;
  const at = Object.entries(point).map(([field, value]) => `${field}=${value}`).join(" ");
  return {
    name: at === "" ? configuration : `${configuration} ${at}`,
    configuration,
    ...kindOf(sample),
    rows: found.map(({ variant, group }) => {
      const withheld = [group, none].some((one) => cases.find(({ name }) => name === one?.name)?.virtual === true);
      return rowOf(result, variant, group, none, withheld);
    }),
  };
}

function rowOf(
  result: Result,
  variant: Variant,
  group: Group,
  none: Group | undefined,
  withheld: boolean,
): AblationRow {
  const seed = (what: string) => `${result.run.scenarioDigest} ${group.name} ablation ${what}`;
  const compares = !withheld && none !== undefined && none !== group;
  const quality = qualityOf(result, group);
  const plain = none === undefined ? undefined : qualityOf(result, none);
  const staged = first(group).trainer?.["stage_choice"];
  return {
    variant: variant.name,
    label: labelOf(variant),
    kind: variant.kind,
    switch: variant.switch,
    case: group.name,
    throughput: withheld ? undefined : estimate(group.samples.map(rateOf), "rate", seed("rate")),
    relative: compares ? comparedRates(group.samples, none.samples, none.again, seed("ratio")) : undefined,
    keepsResults: none === undefined ? undefined : sameRows(group, none),
    auc: quality?.auc,
    logloss: quality?.logloss,
    aucChange: aucChange(quality?.auc, plain?.auc) ?? undefined,
    staleShare: meanFact(group, "stale_share"),
    faultsPerStep: faultsPerStep(group),
    staged: staged === undefined || variant.on.every((name) => name !== "stage") ? undefined : staged,
  };
}

/** One AUC less another; `null` if one of them is undefined or was not measured. */
export function aucChange(auc: Auc | undefined, from: Auc | undefined): number | null {
  return typeof auc === "number" && typeof from === "number" ? auc - from : null;
}

/** `stage`, `smartStage (with stage)`, `all but stage`. */
function labelOf({ kind, name, on, switch: one }: Variant): string {
  if (one === undefined) return name;
  if (kind === "all-but-one") return `all but ${switchLabel(one)}`;
  const others = on.filter((other) => other !== one).map(switchLabel);
  return others.length === 0 ? switchLabel(one) : `${switchLabel(one)} (with ${others.join(", ")})`;
}

/** Whether two cases ended with equal rows and dense parameters after equal steps; undefined if steps differ. */
function sameRows(one: Group, other: Group): boolean | undefined {
  const steps = (sample: SampleRecord) => sample.warmupSteps + sample.stepNs.length;
  const samples = [...one.samples, ...other.samples];
  if (new Set(samples.map((sample) => `${steps(sample)} ${sample.batch} ${sample.seed}`)).size > 1) return undefined;
  return new Set(samples.map(({ digest }) => digest)).size === 1;
}

/** The run that gives the AUC of a case: its own, or that of a variant that ended with the same rows. */
function qualityOf(result: Result, group: Group): QualityRecord | undefined {
  const { digest, point } = first(group);
  const own = result.qualities.find((one) => samePoint(one.point ?? {}, point));
  if (own !== undefined) return own;
  const alike = result.samples.filter((sample) => sample.digest === digest);
  return result.qualities.find((one) => alike.some((sample) => samePoint(one.point ?? {}, sample.point)));
}

function samePoint(one: SampleRecord["point"], other: SampleRecord["point"]): boolean {
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...fields].every((field) => one[field] === other[field]);
}

/** Mean of a number that the trainer says of itself; undefined if a sample does not have it. */
function meanFact(group: Group, name: string): number | undefined {
  const values = group.samples.map(({ trainer }) => Number(trainer?.[name] ?? NaN));
  if (values.some((value) => !Number.isFinite(value))) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function faultsPerStep(group: Group): number | undefined {
  const faults = meanFact(group, "minor_faults");
  const { warmupSteps, stepNs } = first(group);
  return faults === undefined ? undefined : faults / (warmupSteps + stepNs.length);
}
