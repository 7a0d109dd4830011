/**
 * Shows a run while it goes on: lines that stay, and on a terminal one line that moves.
 *
 * @module
 */

import { aucText, machineText, type RunEvent } from "../mod.ts";
import { CLEAR_LINE, type Style, styleFor } from "./ui/ansi.ts";
import { barText, rateText, secondsText } from "./ui/progress.ts";
import { tableText, wrapped } from "./ui/table.ts";
import type { Terminal } from "./ui/terminal.ts";

const BAR = 24;
/** Columns of the words before a line. */
const LABEL = 9;

const count = (n: number) => n.toLocaleString("en-US");

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { readonly type: T }>;

/** The view of one run. */
export class RunView {
  readonly #terminal: Terminal;
  readonly #style: Style;
  #moving = false;

  /** @param terminal Where it is shown. */
  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#style = styleFor(terminal.colors);
  }

  /** A line that stays: a word and what it is about. */
  line(label: string, text: string, style: (text: string) => string = (plain) => plain): void {
    this.end();
    this.#terminal.out(`${this.#style.dim(label.padEnd(LABEL))}${style(this.#fitted(text))}\n`);
  }

  /** Text beside a label: broken at spaces to fit, further lines indented. */
  #fitted(text: string): string {
    return wrapped(text, Math.max(24, this.#terminal.width - LABEL)).join(`\n${" ".repeat(LABEL)}`);
  }

  /** Removes the moving line. */
  end(): void {
    if (this.#moving) this.#terminal.out(CLEAR_LINE);
    this.#moving = false;
  }

  #move(label: string, text: string): void {
    if (!this.#terminal.isTerminal) return;
    this.#moving = true;
    const line = `${label.padEnd(LABEL)}${text}`.slice(0, this.#terminal.width - 1);
    this.#terminal.out(`${CLEAR_LINE}${this.#style.dim(line.slice(0, LABEL))}${line.slice(LABEL)}`);
  }

  /** Shows an event. */
  show(event: RunEvent): void {
    switch (event.type) {
      case "machine":
        return this.line("machine", machineText(event.machine));
      case "data-progress":
        return this.#move("data", `${barText(event.done / Math.max(1, event.total), BAR)}  ${event.what}`);
      case "data":
        return this.line("data", dataText(event));
      case "plan":
        return this.#plan(event);
      case "sizing":
        return this.#move("sizing", `how long a step takes: ${event.case}`);
      case "sized":
        return this.#sized(event);
      case "progress":
        return this.#move("run", progressText(event));
      case "sample":
        return this.#sample(event);
      case "failed":
        return this.line("failed", `${event.record.id}: ${event.record.error}`, this.#style.red);
      case "quality":
        return this.line("quality", qualityText(event));
      case "notice":
        return this.line("note", event.message, this.#style.yellow);
    }
  }

  #plan({ name, lines, repetitions, budget, seed }: Of<"plan">): void {
    this.line(
      "plan",
      `${name}: ${lines.length} cases × ${repetitions} samples, budget ${secondsText(budget)}, seed ${seed}`,
    );
    const indent = " ".repeat(LABEL);
    const rows = alike(lines, ({ evidence = "left out", how }) => [evidence, how]);
    this.#terminal.out(tableText(rows, indent, this.#terminal.width));
    const missing = lines.filter((line) => line.missing !== undefined);
    if (missing.length === 0) return;
    this.#terminal.out(`${indent}not measured here ("deno task tierbench doctor" says more):\n`);
    this.#terminal.out(tableText(alike(missing, (line) => [line.missing ?? ""]), indent, this.#terminal.width));
  }

  #sized({ samples, steps, seconds }: Of<"sized">): void {
    if (samples === 0) return;
    const time = seconds === 0 ? "" : `, about ${secondsText(seconds)}`;
    this.line("sized", `${samples} samples of ${steps.join(" or ")} counted steps${time}`);
  }

  #sample({ record, samples }: Of<"sample">): void {
    if (this.#terminal.isTerminal) return;
    const seconds = record.stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9;
    const rate = rateText(record.stepNs.length * record.batch / seconds);
    // No speed of a medium that may be virtual is shown, here as in the report.
    this.line("run", `${record.position}/${samples}  ${record.id}  ${record.virtual ? "done" : rate}`);
  }
}

/** Most cases that a plan shows one by one. */
const ONE_BY_ONE = 16;

/** A row for each case, or, where there are many, for those of a configuration of which the same is said. */
function alike(lines: Of<"plan">["lines"], cells: (line: Of<"plan">["lines"][number]) => string[]): string[][] {
  if (lines.length <= ONE_BY_ONE) return lines.map((line) => [line.case, ...cells(line)]);
  // The name of a case begins with that of its configuration.
  const groups = Map.groupBy(lines, (line) => JSON.stringify([line.case.split(" ")[0], ...cells(line)]));
  return [...groups].map(([key, { length }]) => {
    const [name = "", ...others] = JSON.parse(key) as string[];
    return [length === 1 ? name : `${name}, ${length} cases`, ...others];
  });
}

function dataText({ data, reused, seconds }: Of<"data">): string {
  const ids = data.cardinalities.reduce((sum, keys) => sum + keys, 0);
  const how = reused ? "from the cache" : `made in ${seconds < 0.05 ? "under 0.1 s" : secondsText(seconds)}`;
  const rows = `${data.source}: ${count(data.trainRows)} + ${count(data.testRows)} rows, ${count(ids)} ids, ${how}`;
  return data.skipped === undefined ? rows : `${rows}; ${skippedText(data.skipped)}`;
}

/** What was left out of a file, and where it begins. */
function skippedText({ lines, kinds, first }: NonNullable<Of<"data">["data"]["skipped"]>): string {
  const parts = Object.entries(kinds).map(([kind, n]) => `${kind} ${count(n)}`);
  const where = first === undefined ? "" : `; first ${first}`;
  return `${count(lines)} ${lines === 1 ? "line" : "lines"} skipped (${parts.join(", ")})${where}`;
}

function progressText({ id, position, samples, phase, done, total, rate, secondsLeft }: Of<"progress">): string {
  const share = total === 0 ? 0 : done / total;
  const parts = [
    barText(id === "quality" ? share : (position - 1 + share) / samples, BAR),
    id === "quality" ? "AUC" : `${position}/${samples}`,
    id,
    rate === undefined ? phase : rateText(rate),
    ...(secondsLeft === undefined ? [] : [`left ${secondsText(secondsLeft)}`]),
  ];
  return parts.join("  ");
}

/** Which of several quality runs it is: ` (ablation=all)`. */
function pointOf({ point = {} }: Of<"quality">["record"]): string {
  const fields = Object.entries(point).map(([field, value]) => `${field}=${value}`);
  return fields.length === 0 ? "" : ` (${fields.join(" ")})`;
}

function qualityText({ record }: Of<"quality">): string {
  return `${aucText(record.auc)}, logloss ${record.logloss.toFixed(4)} after ${
    count(record.steps * record.batch)
  } samples on ${record.configuration}${pointOf(record)}`;
}
