/**
 * What training needs of the CPU, and what becomes of an ablation whose switches this one does not have.
 *
 * @module
 */

import { type SwitchName, withoutSwitches } from "../ablation.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import type { MachineRecord, RunRecord } from "../record.ts";
import type { ResolvedScenario, ResolvedWorkload } from "../scenario.ts";

/** What BF16 products need, as the kernel names it. */
const BF16_FLAG = "avx512_bf16";

/**
 * Why this CPU has no BF16 products, or undefined if it has them; also where it does not say what it has, since then the
 * library finds out.
 */
function bf16Missing({ cpu, facts }: MachineRecord): string | undefined {
  const flags = facts["cpu.flags"];
  if (flags === undefined || flags.split(/[\s,]+/).includes(BF16_FLAG)) return undefined;
  return `${cpu} lacks ${BF16_FLAG} (it has ${
    flags.trim() === "" ? "no vector instructions that matter here" : flags
  })`;
}

function needsBf16(bf16: ResolvedWorkload["optimisations"]["bf16"] | undefined): boolean {
  return bf16 === "dense" || bf16 === "all";
}

/**
 * Refuses a workload that this CPU cannot run.
 *
 * @throws {UnavailableError} naming what the CPU lacks.
 */
export function requireCpu({ optimisations: { bf16 } }: ResolvedWorkload, machine: MachineRecord): void {
  const missing = needsBf16(bf16) ? bf16Missing(machine) : undefined;
  if (missing === undefined) return;
  throw new UnavailableError(
    `Cannot train with workload.optimisations.bf16 = "${bf16}": ${missing}; write "off", or "rows", which every CPU has`,
  );
}

/**
 * The scenario without those switches of its ablation that this CPU does not have, and why they are left out. With
 * `whenUnavailable: "error"` they stay, and the run is refused.
 */
export function possibleSwitches(
  scenario: ResolvedScenario,
  machine: MachineRecord,
): { readonly scenario: ResolvedScenario; readonly leftOut: NonNullable<RunRecord["leftOut"]> } {
  const { ablation, ...plain } = scenario;
  if (ablation === undefined || !needsBf16(ablation.switches.bf16)) return { scenario, leftOut: [] };
  const why = bf16Missing(machine);
  if (why === undefined || scenario.whenUnavailable === "error") return { scenario, leftOut: [] };
  const left: SwitchName[] = ["bf16"];
  const kept = withoutSwitches(ablation, left);
  if (kept === undefined) throw new UnavailableError(`Cannot run the ablation: its only switch is "bf16", and ${why}`);
  return { scenario: { ...plain, ablation: kept }, leftOut: left.map((name) => ({ switch: name, why })) };
}
