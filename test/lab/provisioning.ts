/**
 * What cases about provisioning have in common: plans of a guest, its commands run as they are printed, its checks.
 *
 * @module
 */

import type { ApplyOutcome } from "../../machines/provisioning/apply.ts";
import type { CheckLine, Plan, Refusal } from "../../machines/provisioning/contract.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { type Guest, quote, type RunOptions } from "./guest.ts";
import { OUTSIDE } from "./guide_pages.ts";

/** What `tierbench provision … --json` prints. */
export interface Answer {
  readonly plan: Plan | Refusal;
  readonly outcome?: ApplyOutcome;
  readonly checks?: readonly CheckLine[];
}

/** The command with its exit code. */
export interface Provisioned extends Answer {
  readonly code: number;
  /** Progress, and what went wrong. */
  readonly said: string;
}

/** Steps are run one after the other, and after each the machine is read again: minutes on a busy machine. */
const LONG: RunOptions = { timeoutMs: 480_000 };

/** Runs `tierbench provision <words> --json`. */
export async function provision(guest: Guest, words: string): Promise<Provisioned> {
  const { code, stdout, stderr } = await guest.run(`tierbench provision ${words} --json`, LONG);
  assert(stdout.startsWith("{"), `"provision ${words}" printed no JSON and ended with ${code}: ${stdout}${stderr}`);
  return { ...JSON.parse(stdout) as Answer, code, said: stderr };
}

/** Runs it with `--apply` or `--undo`, which has to end as `kind` says. */
export async function provisioned(
  guest: Guest,
  words: string,
  kind: ApplyOutcome["kind"] = "complete",
): Promise<Provisioned & { readonly outcome: ApplyOutcome }> {
  const answer = await provision(guest, words);
  const { outcome, said } = answer;
  assert(outcome !== undefined, `"provision ${words}" had no outcome: ${said}`);
  assertEquals(outcome.kind, kind, `provision ${words}: ${outcome.message}\n${said}`);
  return { ...answer, outcome };
}

/** The plan, which there has to be. */
export async function planOf(guest: Guest, words: string): Promise<Plan> {
  const { plan, said } = await provision(guest, words);
  assert(plan.kind === "plan", `"provision ${words}" is refused: ${plan.kind === "refusal" ? plan.reason : said}`);
  return plan;
}

/** Steps that are not done. */
export function pending(plan: Plan): string[] {
  return plan.steps.filter((step) => step.done === undefined).map(({ id }) => id);
}

/**
 * Runs every command that is printed, by `sh -c`, exactly as it stands there, and restarts the guest where a step says
 * so. Then all steps must be done, but those that cannot run here.
 *
 * @returns What was run.
 */
export async function runAsPrinted(guest: Guest, words: string): Promise<string[]> {
  const plan = await planOf(guest, words);
  const printed = await guest.output(`tierbench provision ${words}`);
  const ran: string[] = [];
  const left: string[] = [];
  for (const step of plan.steps) {
    if (step.done !== undefined) continue;
    if (step.outsideLab !== undefined) {
      assert(step.outsideLab in OUTSIDE, `step ${step.id} is left out for "${step.outsideLab}"`);
      left.push(step.id);
      continue;
    }
    assert(step.commands.length > 0, `step ${step.id} is not done and has no commands`);
    for (const line of step.commands) {
      assertStringIncludes(printed, `\n${line}\n`);
      await guest.output(`sh -c ${quote(line)}`, LONG);
      ran.push(line);
    }
    if (step.reboot) {
      await guest.reboot();
      return [...ran, ...await runAsPrinted(guest, words)];
    }
  }
  assertEquals(pending(await planOf(guest, words)), left, "steps whose commands were run, and that are not done");
  return ran;
}

/** Runs `tierbench provision <words> --check`, which has to pass. */
export async function checkPasses(guest: Guest, words: string): Promise<void> {
  const { code, stdout, stderr } = await guest.run(`tierbench provision ${words} --check`, LONG);
  assertEquals(code, 0, `provision ${words} --check:\n${stdout}${stderr}`);
}

/** What `tierbench doctor` says under "Unfinished", each line `label: text`. */
export async function unfinished(guest: Guest): Promise<string[]> {
  const report = JSON.parse(await guest.output("tierbench doctor --json", LONG)) as {
    readonly sections: readonly {
      readonly title: string;
      readonly lines: readonly { readonly label: string; readonly text: string }[];
    }[];
  };
  const section = report.sections.find(({ title }) => title === "Unfinished");
  return (section?.lines ?? []).map(({ label, text }) => `${label}: ${text}`);
}
