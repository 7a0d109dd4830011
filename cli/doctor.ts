// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { collectInventory, doctor, inspectMachine, localSystem } from "../mod.ts";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { styleFor } from "./ui/ansi.ts";

/** `tierbench doctor`: what this machine has, what it lacks, and what comes next. */
export function addDoctor(program: Command, { terminal }: Context): void {
  program.command("doctor")
    .description("say what this machine has and what is half done: NUMA, DAX, PMEM, CXL, tools, container, noise")
    .option("--json", "for machines: the findings, every probed fact and what the tools say")
    .action(async ({ json }) => {
      const machine = inspectMachine();
      const inventory = await collectInventory(localSystem(), machine.facts);
      const report = doctor(machine, inventory);
      if (json) return terminal.out(answerText("doctor", { ...report, machine, inventory }));
      const style = styleFor(terminal.colors);
      const marks = { ok: style.green("+"), note: style.dim("."), warning: style.yellow("!") };
      terminal.out(`${report.summary}\n`);
      for (const { title, lines } of report.sections) {
        if (lines.length === 0) continue;
        terminal.out(`\n${style.bold(title)}\n`);
        const width = Math.max(...lines.map(({ label }) => label.length));
        for (const { label, text, level, next } of lines) {
          terminal.out(`${marks[level]} ${label.padEnd(width)}  ${text}\n`);
          if (next !== undefined) terminal.out(`  ${" ".repeat(width)}  next: ${next}\n`);
        }
      }
      terminal.out(
        `\n${marks.ok} as wished  ${marks.note} worth knowing  ${marks.warning} spoils figures or is missing\n`,
      );
    });
}
