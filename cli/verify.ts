// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { checkPage, MissingFileError, type PageCheck, readPageBytes, shownLine } from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";

/** Damaged parts that are listed one by one. */
const LISTED = 12;

function checkedRoot(text: string): string {
  if (/^[0-9a-f]{32,64}$/.test(text)) return text;
  throw new UsageError(
    `Cannot use the root hash "${text}": expected 32 to 64 hexadecimal digits; fewer can be met by trying`,
  );
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

/** What the sums of a file say, or why it cannot be read: other files are looked at all the same. */
async function checked(file: string): Promise<PageCheck | Error> {
  try {
    return checkPage(await readPageBytes(file));
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

const HELP = `
Whole: nothing was changed since the page was sealed, by a mail program, an editor or a disk. It does not say who sealed it:
anyone can change a page and seal it anew. Only --root with a hash from another place shows that it is the page you mean.

Examples:
  tierbench verify reports/out/pmem-modes/index.html
  tierbench verify report.html --root 1f0c99aa5e3bd1c02f86a7712c4490d3`;

/** `tierbench verify`: compares a report's parts with their sums. */
export function addVerify(program: Command, { terminal, exit }: Context): void {
  program.command("verify")
    .description("compare every part of a report with its SHA-256")
    .argument("<report...>", "reports' pages")
    .option("--root <hash>", "the root hash that was written down, or its first 32 digits or more", checkedRoot)
    .option("--json", "for machines: file, root hash and damage of each")
    .addHelpText("after", HELP)
    .action(async (files, { root, json }) => {
      const checks = [];
      for (const file of files) {
        const check = await checked(file);
        checks.push({ file, check, faults: check instanceof Error ? [check.message] : faults(check, root) });
      }
      if (json) {
        const plain = checks.map(({ file, check }) =>
          check instanceof Error
            ? { file, error: check.message }
            : { file, root: check.root ?? null, parts: check.parts.length, damage: check.damage }
        );
        terminal.out(answerText("verify", plain));
      } else {
        for (const { file, check, faults } of checks) {
          if (faults.length === 0 && !(check instanceof Error)) {
            terminal.out(`${file}: whole, ${check.parts.length} parts, root ${check.root}\n`);
          }
          for (const fault of faults) terminal.err(`${file}: ${fault}\n`);
        }
      }
      const wrong = checks.filter(({ faults }) => faults.length > 0);
      // What is damaged counts more than what is not there.
      if (wrong.length > 0) {
        exit(wrong.every(({ check }) => check instanceof MissingFileError) ? EXIT.usage : EXIT.failed);
      }
    });
}
