/**
 * What an owner of PMEM or CXL hardware sends: a result without what is private, the checklist, the owner's answers.
 *
 * @module
 */

import type { Result } from "../record.ts";
import { type Answers, QUESTIONS } from "./answers.ts";
import { checklistOf } from "./checklist.ts";
import { type Identity, identity } from "./identity.ts";
import type { Contribution, Removed } from "./record.ts";
import { redact, redactor } from "./redact.ts";

/**
 * Makes a contribution of a result.
 *
 * @param result A result with at least one completed sample, all on the configurations' own media. Those of a virtual
 *   machine are marked as such, and reports show no speed of them.
 * @param answers What the owner said.
 * @param who The names to take out; without it, those of this machine and user.
 * @throws {TypeError} if a sample ran on a stand-in, or there is none.
 */
export async function contributionOf(
  result: Result,
  answers: Answers = { answers: {}, notes: [] },
  who: Identity = identity(),
): Promise<Contribution> {
  const other = result.samples.find(({ evidence, virtual, tiers }) =>
    evidence === "emulated" ? !virtual || tiers.some(({ emulates }) => emulates !== undefined) : evidence !== "measured"
  );
  if (other !== undefined) {
    throw new TypeError(
      `Cannot contribute "${other.id}": expected a measured sample, found one that is ${other.evidence}`,
    );
  }
  if (result.samples.length === 0) throw new TypeError("Cannot contribute a result without a completed sample");
  const clean = redactor(who);
  const redacted = redact(result, who);
  const removed: Removed[] = [...redacted.removed];
  const told = (text: string, where: string): string => {
    const { text: kept, removed: found } = clean(text);
    for (const what of new Set(found)) removed.push({ where, what });
    return kept;
  };
  const checklist = (await checklistOf(result)).map((item) => ({
    ...item,
    found: told(item.found, `checklist.${item.id}`),
  }));
  return {
    result: redacted.result,
    checklist,
    questions: QUESTIONS.map(({ id, question }) => {
      const answer = answers.answers[id];
      return { id, question, ...(answer === undefined ? {} : { answer: told(answer, `answers.${id}`) }) };
    }),
    notes: answers.notes.map((note, i) => told(note, `notes[${i}]`)),
    removed,
  };
}

/**
 * Name of a contribution's file: `contribution-<machine>-<date>.html`, the machine by its CPU.
 *
 * @example
 * ```ts
 * import { contributionName } from "../../mod.ts";
 *
 * const machine = { cpu: "Intel(R) Xeon(R) Gold 6252 CPU @ 2.10GHz", cpus: 48, memoryBytes: 1, nodes: 2, kernel: "6.1" };
 * const name = contributionName({ started: "2026-11-20T22:00:00.000Z", machine: { ...machine, facts: {} } });
 * console.log(name); // contribution-intel-xeon-gold-6252-2026-11-20.html
 * ```
 */
export function contributionName({ started, machine }: Pick<Result["run"], "started" | "machine">): string {
  const cpu = machine.cpu.replace(/\((?:R|TM|C)\)/gi, "").replace(/@.*$/, "").replace(/\b(?:CPU|Processor)\b/gi, "");
  const name = cpu.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60).replace(/-+$/, "");
  return `contribution-${name === "" ? "unknown" : name}-${started.slice(0, 10)}.html`;
}
