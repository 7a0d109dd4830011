/**
 * Carries a plan out, one step after the other, and takes it back.
 *
 * Nothing is trusted: after every step the machine is read again and the plan made anew, and the step must now be done
 * while the commands of those to come are still what the user agreed to. Anything else is a surprise and ends it. There
 * is no state beside the machine's own: to go on after an interruption is to apply again.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import type { Plan, Refusal, Step } from "./contract.ts";
import { lossText, undoLosses, unnamedLosses } from "./unnamed_losses.ts";
import type { Shell, ShellExit } from "./run_line.ts";

/** What happens while a plan is applied. */
export type ApplyEvent =
  | {
    /** A step begins. */
    readonly type: "step";
    readonly step: Step;
    /** Its number among those that run, from 1. */
    readonly number: number;
    readonly of: number;
  }
  | {
    /** A line is about to run. */
    readonly type: "command";
    readonly line: string;
  }
  | {
    /** The line prints. */
    readonly type: "output";
    readonly text: string;
    readonly stream: "stdout" | "stderr";
  }
  | {
    /** The step was looked at again. */
    readonly type: "done";
    readonly step: Step;
    /** How it shows. */
    readonly because: string;
  };

/** How it ended. */
export interface ApplyOutcome {
  /**
   * - `complete`: every step is done (or undone).
   * - `nothing`: there was nothing to do.
   * - `until`: it stopped after the step that was named.
   * - `reboot`: the machine has to start again first.
   * - `elsewhere`: the next step belongs on the host, into the container, or to the user.
   * - `refused`: nothing was run; `message` says why.
   * - `declined`: the user did not agree; nothing was run.
   * - `failed`: a line ended with an error or at its deadline.
   * - `surprise`: the machine is not as the plan expects.
   * - `interrupted`: the user stopped it.
   */
  readonly kind:
    | "complete"
    | "nothing"
    | "until"
    | "reboot"
    | "elsewhere"
    | "refused"
    | "declined"
    | "failed"
    | "surprise"
    | "interrupted";
  /** What happened, where it stopped, and what to do next. */
  readonly message: string;
  /** Steps that ran and were verified. */
  readonly ran: readonly string[];
  /** The step at which it stopped. */
  readonly step?: string;
  /** The line at which it stopped. */
  readonly command?: string;
  /** Exit status of that line. */
  readonly code?: number;
  /** The last lines that it printed. */
  readonly output?: string;
}

/** What applying works with. */
export interface ApplyOptions {
  /** Makes the plan for an inventory. */
  readonly plan: (inventory: Inventory) => Plan | Refusal;
  /** Reads the machine. */
  readonly collect: () => Promise<Inventory>;
  /** Runs a line; e.g. `processShell`. */
  readonly shell: Shell;
  /** Asks the user whether these steps, in this order, shall run. */
  readonly confirm: (steps: readonly Step[], plan: Plan) => Promise<boolean>;
  /** Devices whose data may be destroyed. */
  readonly erase?: readonly string[];
  /** Stops after this step. */
  readonly until?: string;
  /** Takes the plan back instead: the undo lines of steps that are done, last step first. */
  readonly undo?: boolean;
  /** Told what happens. */
  readonly onEvent?: (event: ApplyEvent) => void;
  /** Stops it: a line that runs may finish, no other begins. */
  readonly signal?: AbortSignal;
  /** Ends the line that runs. */
  readonly kill?: AbortSignal;
  /** Milliseconds for each line; default 30 minutes: firmware and large namespaces take their time. */
  readonly deadlineMs?: number;
  /** How often, and after how many ms, a step that does not show as done is looked at again; default 5, 1000. */
  readonly settle?: { readonly tries: number; readonly ms: number };
  /** The command that applies again, for messages; default `tierbench provision <target> --apply`. */
  readonly again?: string;
}

const OUTPUT_LINES = 20;
const DEADLINE_MS = 30 * 60_000;

/**
 * Applies a plan, or takes it back.
 *
 * @returns How it ended; failures of steps are outcomes, not exceptions.
 *
 * @example Say what would run, and run nothing
 * ```ts
 * import { applyPlan } from "../../mod.ts";
 *
 * const outcome = await applyPlan({
 *   plan: () => ({ kind: "refusal", target: "fsdax", place: "bare-metal", reason: "No region.", instead: undefined }),
 *   collect: () =>
 *     Promise.resolve({
 *       facts: {}, os: { known: false, reason: "not read", raw: "" }, tools: [], ndctl: undefined, daxctl: undefined,
 *       cxl: undefined, ipmctl: undefined, blocks: undefined, files: {}, units: {}, root: true,
 *     }),
 *   shell: () => Promise.reject(new Error("nothing shall run")),
 *   confirm: () => Promise.resolve(false),
 * });
 * console.log(outcome.kind); // refused
 * ```
 */
export async function applyPlan(options: ApplyOptions): Promise<ApplyOutcome> {
  const run = new Application(options);
  return await run.start();
}

/** The steps still to run: pending ones forwards, done ones with something to take back backwards. */
function remaining(plan: Plan, undo: boolean): Step[] {
  return undo
    ? plan.steps.filter((step) => step.done !== undefined && step.undo.length > 0).reverse()
    : plan.steps.filter((step) => step.done === undefined);
}

const linesOf = (step: Step, undo: boolean) => undo ? step.undo : step.commands;

const sameLines = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((line, i) => line === b[i]);

class Application {
  readonly #options: ApplyOptions;
  readonly #undo: boolean;
  readonly #ran: string[] = [];
  #again: string;
  /** Steps that were agreed to; others may show what they like. */
  #agreed: ReadonlySet<string> = new Set();
  /** What comes after these steps shows only when they are done; it is planned, and agreed to, then. */
  #partial = false;

  constructor(options: ApplyOptions) {
    this.#options = options;
    this.#undo = options.undo ?? false;
    this.#again = options.again ?? "";
  }

  #outcome(kind: ApplyOutcome["kind"], message: string, more: Partial<ApplyOutcome> = {}): ApplyOutcome {
    return { kind, message, ran: [...this.#ran], ...more };
  }

  async start(): Promise<ApplyOutcome> {
    const { confirm, until, erase = [] } = this.#options;
    const verb = this.#undo ? "undo" : "apply";
    const first = await this.#look();
    if (first.plan.kind === "refusal") {
      const { reason, instead } = first.plan;
      return this.#outcome("refused", instead === undefined ? reason : `${reason}\n${instead}`);
    }
    const { plan, inventory } = first;
    if (this.#again === "") this.#again = `tierbench provision ${plan.target} ${this.#undo ? "--undo" : "--apply"}`;
    this.#partial = plan.partial === true;
    if (until !== undefined && !this.#partial && !plan.steps.some(({ id }) => id === until)) {
      const ids = plan.steps.map(({ id }) => id).join(", ");
      return this.#outcome("refused", `Cannot stop after step "${until}": the plan's steps are ${ids}`);
    }
    const all = remaining(plan, this.#undo);
    const last = until === undefined ? -1 : all.findIndex(({ id }) => id === until);
    if (all.length === 0 || (until !== undefined && last < 0 && !this.#partial)) {
      const what = until !== undefined && all.length > 0 ? `step "${until}"` : "every step";
      return this.#outcome("nothing", `Nothing to ${verb}: ${what} is ${this.#undo ? "not done" : "done"} already`);
    }
    const wanted = until === undefined || last < 0 ? all : all.slice(0, last + 1);
    const here = hereOf(plan, inventory);
    const elsewhere = wanted.findIndex((step) => step.where !== here || isInteractive(step));
    const steps = elsewhere < 0 ? wanted : wanted.slice(0, elsewhere);
    const stop = elsewhere < 0 ? undefined : wanted[elsewhere];
    if (steps.length === 0 && stop !== undefined) {
      return this.#outcome(isInteractive(stop) ? "elsewhere" : "refused", elsewhereText(stop, this.#undo), {
        step: stop.id,
      });
    }
    if (!inventory.root) {
      return this.#outcome(
        "refused",
        `Cannot ${verb} the plan: its commands need root; run again with sudo: sudo ${this.#again}`,
      );
    }
    const losses = unnamedLosses(this.#undo ? undoLosses(steps, inventory) : steps, erase);
    if (losses.length > 0) return this.#outcome("refused", lossText(losses, verb));
    if (this.#stopped()) return this.#interrupted(steps[0]);
    if (!await confirm(steps, plan)) return this.#outcome("declined", "Nothing was run: it was not agreed to");
    this.#agreed = new Set(steps.map(({ id }) => id));
    // A person may have thought for an hour: what was agreed to must still be what comes.
    const before = await this.#look();
    const changed = this.#surprise(before.plan, before.inventory, all, undefined);
    if (changed !== undefined) return this.#outcome("surprise", `${changed}\nNothing was run.`);
    return await this.#steps(steps, all, stop);
  }

  async #steps(steps: readonly Step[], all: readonly Step[], stop: Step | undefined): Promise<ApplyOutcome> {
    const { onEvent, until } = this.#options;
    for (const [index, step] of steps.entries()) {
      if (this.#stopped()) return this.#interrupted(step);
      onEvent?.({ type: "step", step, number: index + 1, of: steps.length });
      const failure = await this.#commands(step);
      if (failure !== undefined) return failure;
      if (step.reboot) {
        this.#ran.push(step.id);
        return this.#outcome(
          "reboot",
          `Step "${step.id}" takes effect when the machine starts again. Restart it (systemctl reboot), then run: ` +
            this.#again,
          { step: step.id },
        );
      }
      const surprise = this.#partial
        ? await this.#verifyAlone(step)
        : await this.#verify(step, all.slice(all.indexOf(step) + 1));
      if (surprise !== undefined) {
        return this.#outcome("surprise", `${surprise}\n${this.#where(step)}`, { step: step.id });
      }
      this.#ran.push(step.id);
    }
    if (stop !== undefined) {
      return this.#outcome("elsewhere", elsewhereText(stop, this.#undo), { step: stop.id });
    }
    if (this.#partial && steps.at(-1)?.id !== until) return await this.start();
    if (until !== undefined && all.at(-1)?.id !== until) {
      return this.#outcome("until", `Stopped after step "${until}" as asked; to go on: ${this.#again}`, {
        step: until,
      });
    }
    return this.#outcome("complete", this.#undo ? "Everything is taken back" : "Every step is done");
  }

  /** Runs the lines of a step; undefined: all went well. */
  async #commands(step: Step): Promise<ApplyOutcome | undefined> {
    const { shell, onEvent, kill, deadlineMs = DEADLINE_MS } = this.#options;
    const lines = linesOf(step, this.#undo);
    for (const [index, line] of lines.entries()) {
      if (this.#stopped()) return this.#interrupted(step, index, lines);
      onEvent?.({ type: "command", line });
      let printed = "";
      let exit: ShellExit;
      try {
        exit = await shell(line, {
          timeoutMs: deadlineMs,
          onOutput: (text, stream) => {
            printed = (printed + text).split("\n").slice(-OUTPUT_LINES - 1).join("\n");
            onEvent?.({ type: "output", text, stream });
          },
          ...(kill === undefined ? {} : { signal: kill }),
        });
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        return this.#outcome("failed", `Cannot run a line of step "${step.id}": ${said}\n  ${line}`, {
          step: step.id,
          command: line,
        });
      }
      const facts = { step: step.id, command: line, code: exit.code, output: printed };
      if (exit.ended === "killed") {
        return this.#outcome(
          "interrupted",
          `Interrupted: the line that ran was ended and may have done its work in part\n  ${line}\n${
            this.#where(step)
          }`,
          facts,
        );
      }
      if (exit.ended === "deadline" || exit.code !== 0) {
        const how = exit.ended === "deadline"
          ? `was ended after ${Math.round(deadlineMs / 1000)} s`
          : `ended with status ${exit.code}`;
        return this.#outcome("failed", `A line of step "${step.id}" ${how}\n  ${line}\n${this.#where(step)}`, facts);
      }
    }
    return undefined;
  }

  /** The same for a step of a partial plan: it is done, or gone, and what the plan has become is agreed to later. */
  async #verifyAlone(step: Step): Promise<string | undefined> {
    const { plan } = await this.#look();
    const now = plan.kind === "plan" ? plan.steps.find(({ id }) => id === step.id) : undefined;
    if (now !== undefined && now.done === undefined) {
      return `Surprise: step "${step.id}" ran without an error, but does not show as done; expected: ${step.expected}`;
    }
    this.#options.onEvent?.({ type: "done", step, because: now?.done ?? "nothing is left to do for it" });
    return undefined;
  }

  /** Looks at the machine until the step shows; undefined: it does, and the rest is as agreed. */
  async #verify(step: Step, rest: readonly Step[]): Promise<string | undefined> {
    const { settle = { tries: 5, ms: 1000 }, onEvent } = this.#options;
    for (let attempt = 1;; attempt++) {
      let found: string | undefined;
      try {
        const { plan, inventory } = await this.#look();
        found = this.#surprise(plan, inventory, rest, step);
        if (found === undefined) {
          const now = plan.kind === "plan" ? plan.steps.find(({ id }) => id === step.id) : undefined;
          onEvent?.({ type: "done", step, because: now?.done ?? "it is taken back" });
          return undefined;
        }
      } catch (error) {
        found = `Surprise: the machine cannot be read after step "${step.id}": ` +
          (error instanceof Error ? error.message : String(error));
      }
      // Device nodes and mounts come a moment after the command that makes them (udev).
      if (attempt >= settle.tries) return found;
      await new Promise((resolve) => setTimeout(resolve, settle.ms));
    }
  }

  /** Why a plan made anew is not what was agreed to; undefined: it is. */
  #surprise(
    plan: Plan | Refusal,
    inventory: Inventory,
    agreed: readonly Step[],
    ran: Step | undefined,
  ): string | undefined {
    if (plan.kind === "refusal") {
      // When everything is taken back there may be nothing left to plan for.
      if (this.#undo && ran !== undefined && agreed.length === 0) return undefined;
      return `Surprise: the way is no longer open: ${plan.reason}`;
    }
    const left = remaining(plan, this.#undo);
    if (ran !== undefined) {
      const now = plan.steps.find(({ id }) => id === ran.id);
      if (now === undefined && !this.#undo) return `Surprise: the plan made anew has no step "${ran.id}"`;
      if (now !== undefined && (now.done !== undefined) === this.#undo) {
        return this.#undo
          ? `Surprise: step "${ran.id}" is still done after its undo lines: ${now.done}`
          : `Surprise: step "${ran.id}" ran without an error, but does not show as done; expected: ${ran.expected}`;
      }
    }
    const known = new Map(agreed.map((step) => [step.id, step]));
    for (const step of left) {
      const before = known.get(step.id);
      if (before === undefined) {
        return `Surprise: step "${step.id}" was not among those agreed to, and is ${
          this.#undo ? "done" : "not done"
        } now`;
      }
      if (!sameLines(linesOf(before, this.#undo), linesOf(step, this.#undo))) {
        return `Surprise: the commands of step "${step.id}" are no longer those agreed to; now:\n  ` +
          linesOf(step, this.#undo).join("\n  ");
      }
    }
    const order = agreed.filter(({ id }) => left.some((step) => step.id === id)).map(({ id }) => id);
    if (order.some((id, i) => id !== left[i]?.id)) {
      return "Surprise: the steps to come have another order than agreed to";
    }
    if (!this.#undo) {
      const gone = agreed.find(({ id }) => !plan.steps.some((step) => step.id === id));
      if (gone !== undefined) return `Surprise: the plan made anew has no step "${gone.id}"`;
    }
    const next = left.filter(({ id }) => this.#agreed.has(id));
    const lost = unnamedLosses(this.#undo ? undoLosses(next, inventory) : next, this.#options.erase ?? []);
    return lost.length === 0 ? undefined : `Surprise: ${lossText(lost, this.#undo ? "undo" : "apply")}`;
  }

  async #look(): Promise<{ plan: Plan | Refusal; inventory: Inventory }> {
    const inventory = await this.#options.collect();
    return { plan: this.#options.plan(inventory), inventory };
  }

  #stopped(): boolean {
    return this.#options.signal?.aborted === true || this.#options.kill?.aborted === true;
  }

  #interrupted(step: Step | undefined, lines = 0, of: readonly string[] = []): ApplyOutcome {
    const where = step === undefined
      ? ""
      : lines === 0
      ? `Interrupted before step "${step.id}"`
      : `Interrupted within step "${step.id}", after ${lines} of ${of.length} lines; the next would have been\n  ${
        of[lines]
      }`;
    return this.#outcome("interrupted", `${where}\n${this.#where(step)}`, {
      ...(step === undefined ? {} : { step: step.id }),
      ...(of[lines] === undefined ? {} : { command: of[lines] }),
    });
  }

  /** Which steps are done and how to go on: the end of every message that is no success. */
  #where(step: Step | undefined): string {
    const done = this.#ran.length === 0 ? "none" : this.#ran.join(", ");
    const undone = this.#undo ? "taken back" : "done";
    return `Steps ${undone} in this run: ${done}. ` +
      (step === undefined ? "" : `Not known to be ${undone}: ${step.id}. `) +
      `See where the machine is with: tierbench doctor. To go on from there: ${this.#again}`;
  }
}

/** Where this process runs, as far as steps tell it apart. */
function hereOf(plan: Plan, { facts }: Inventory): "host" | "container" {
  const kind = facts["container.kind"];
  return plan.place === "container" && kind !== undefined && kind !== "none" ? "container" : "host";
}

/** A container is started by the user, at a terminal of his own. */
function isInteractive(step: Step): boolean {
  return step.outsideLab === "container engine";
}

function elsewhereText(step: Step, undo: boolean): string {
  const where = isInteractive(step) ? "to you" : step.where === "host" ? "on the host" : "inside the container";
  return `Step "${step.id}" belongs ${where}; run${isInteractive(step) ? "" : " there"}:\n  ${
    linesOf(step, undo).join("\n  ")
  }`;
}
