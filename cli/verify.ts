// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { checkPage, type PageCheck, readPageBytes } from "../mod.ts";
import { shownLine } from "../scenarios/shown.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";

/** Damaged parts that are listed one by one. */
const LISTED = 12;

function checkedRoot(text: string): string {
  if (/^[0-9a-f]{8,64}$/.test(text)) return text;
  throw new UsageError(`Cannot use the root hash "${text}": expected 8 to 64 hexadecimal digits`);
}

/** What is wrong with a page; empty if nothing is. */
function faults({ sealed, damage, root }: PageCheck, wanted: string | undefined): string[] {
  if (!sealed) return ["carries no sums: it is no report of tierbench, or an early version wrote it"];
  const listed = damage.slice(0, LISTED).map(({ part, found }) => shownLine(`${part} ${found}`));
  if (damage.length > LISTED) listed.push(`and ${damage.length - LISTED} further parts`);
  if (damage.length === 0 && wanted !== undefined && root?.startsWith(wanted) !== true) {
    listed.push(`is whole, but its root hash is ${root}, expected ${wanted}: it is another report`);
  }
  return listed;
}

/** `tierbench verify`: compares a report's parts with their sums. */
export function addVerify(program: Command, { terminal, exit }: Context): void {
  program.command("verify")
    .description("compare every part of a report with its SHA-256")
    .argument("<report...>", "reports' pages")
    .option("--root <hash>", "the root hash that was written down, or its first 8 digits or more", checkedRoot)
    .option("--json", "for machines: file, root hash and damage of each")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench verify reports/out/pmem-modes/index.html\n  tierbench verify report.html --root 1f0c99aa",
    )
    .action(async (files, { root, json }) => {
      const checks = [];
      for (const file of files) {
        const check = checkPage(await readPageBytes(file));
        checks.push({ file, check, faults: faults(check, root) });
      }
      if (json) {
        const plain = checks.map(({ file, check }) => ({
          file,
          root: check.root ?? null,
          parts: check.parts.length,
          damage: check.damage,
        }));
        terminal.out(`${JSON.stringify(plain, undefined, 2)}\n`);
      } else {
        for (const { file, check, faults } of checks) {
          if (faults.length === 0) terminal.out(`${file}: whole, ${check.parts.length} parts, root ${check.root}\n`);
          for (const fault of faults) terminal.err(`${file}: ${fault}\n`);
        }
      }
      if (checks.some(({ faults }) => faults.length > 0)) exit(EXIT.failed);
    });
}
