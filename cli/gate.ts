import { compareResults, comparisonJson, comparisonMarkdown, renderComparison, type Result } from "../mod.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Terminal } from "./ui/terminal.ts";

/** Words for `--baseline` and `--tolerance` in helps. */
export const BASELINE_HELP =
  "a gate: compare with these results and say better, worse, same or cannot tell; a file, or a baseline's name";
export const TOLERANCE_HELP = "with --baseline: the smallest change that matters, in percent (default: 5)";

/** A share from percent as they are written. @throws {UsageError} if it is none. */
export function tolerance(text: string): number {
  const percent = Number(text.replace(/%$/, ""));
  if (text.trim() !== "" && percent > 0 && percent < 100) return percent / 100;
  throw new UsageError(`Cannot use the tolerance "${text}": expected percent above 0 and below 100, such as 5`);
}

/** How a comparison is printed. */
export interface GateForm {
  readonly unlike?: boolean;
  readonly markdown?: boolean;
  readonly json?: boolean;
  readonly tolerance?: number;
}

/**
 * Compares two results, prints that, and says what the exit code of a gate is.
 *
 * @param names What the two are called.
 * @throws {UnlikeResultsError} if they cannot be compared.
 */
export function gate(
  a: Result,
  b: Result,
  names: readonly [string, string],
  { unlike, markdown, json, tolerance }: GateForm,
  terminal: Terminal,
): { readonly comparison: ReturnType<typeof compareResults>; readonly code: number } {
  const comparison = compareResults(a, b, {
    names,
    ...(unlike === undefined ? {} : { unlike }),
    ...(tolerance === undefined ? {} : { tolerance }),
  });
  terminal.out(
    json
      ? comparisonJson(comparison)
      : markdown
      ? comparisonMarkdown(comparison)
      : renderComparison(comparison, terminal.width),
  );
  const { verdict } = comparison.gate;
  const differs = comparison.checks.some(({ status }) => status === "differs");
  const code = verdict === "worse" || differs ? EXIT.worse : verdict === "cannot tell" ? EXIT.unclear : EXIT.ok;
  return { comparison, code };
}
