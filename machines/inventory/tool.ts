/**
 * What a tool of the system printed, and what a parser made of it.
 *
 * @module
 */

/** One finished command. */
export interface ToolOutput {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Exit status. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

/** What a parser understood; or that it did not, why, and the text as it was. Nothing in between. */
export type Parsed<T> =
  | { readonly known: true; readonly value: T }
  | {
    readonly known: false;
    /** One sentence: which part was not as expected. */
    readonly reason: string;
    /** The text as the tool printed it. */
    readonly raw: string;
  };

/** A value that was understood. */
export function known<T>(value: T): Parsed<T> {
  return { known: true, value };
}

/** A text that was not understood. */
export function unknown(reason: string, raw: string): Parsed<never> {
  return { known: false, reason, raw };
}
