/**
 * What a comparison of two results says.
 *
 * @module
 */

import type { Evidence } from "../../scenarios/record.ts";
import type { Estimate } from "../statistics/bootstrap.ts";

/** One of the two results. */
export interface ComparedResult {
  /** What the user called it: a file. */
  readonly name: string;
  /** Name of its scenario. */
  readonly scenario: string;
  /** When it began, ISO 8601 in UTC. */
  readonly started: string;
  /** CPU of its machine. */
  readonly cpu: string;
  /** Version of tierbench that ran it. */
  readonly version: string;
}

/** Something in which the two results are unlike. */
export interface Unlike {
  /** What: `machine.cpu`, `scenario.workload.batch`, `seed`, … */
  readonly what: string;
  /** As the first result has it. */
  readonly a: string;
  /** As the second has it. */
  readonly b: string;
  /** Whether speeds can still be compared without being asked to: not those of other machines or scenarios. */
  readonly weight: "refused" | "labelled";
}

/** What can be said of one case. */
export type CaseVerdict = "faster" | "slower" | "no difference" | "cannot tell" | "not compared";

/** One case in both results. */
export interface ComparedCase {
  /** Name of the case. */
  readonly case: string;
  /** How its figures were obtained; undefined where the two differ in that. */
  readonly evidence: Evidence | undefined;
  /** What the medium is by the word of the machine's owner, where that is said of both. */
  readonly vouched?: string | undefined;
  /** Samples a second in the first result; undefined where no speed is shown. */
  readonly a: Estimate | undefined;
  /** Samples a second in the second result. */
  readonly b: Estimate | undefined;
  /** Second ÷ first, with its interval. */
  readonly ratio: Estimate | undefined;
  /** p-value of Welch's test on logarithms; undefined with fewer than two samples on a side. */
  readonly p: number | undefined;
  /** The same adjusted for the number of cases (Benjamini and Hochberg). */
  readonly q: number | undefined;
  /** Noise floor: a factor above 1; a smaller difference is not called one. */
  readonly floor: number | undefined;
  /** What can be said. */
  readonly verdict: CaseVerdict;
  /** Why nothing can be said, where that is so. */
  readonly why: string | undefined;
}

/**
 * What a gate says: `worse` and `better` are differences as in {@linkcode CaseVerdict}; `same`, that none as large as the
 * tolerance can be; `cannot tell`, that one may hide in the noise.
 */
export type GateVerdict = "worse" | "cannot tell" | "better" | "same";

/** What a gate says of one case. */
export interface GatedCase {
  /** Name of the case. */
  readonly case: string;
  /** What can be said. */
  readonly verdict: GateVerdict;
  /** Samples of it in the two results. */
  readonly samples: readonly [a: number, b: number];
  /** Samples in both results that would tell; undefined where it is told, and where no such number is known. */
  readonly wanted: number | undefined;
}

/** What a gate makes of a comparison. */
export interface Gate {
  /** The worst of any case, in the order of {@linkcode GateVerdict}. */
  readonly verdict: GateVerdict;
  /** The smallest change that matters: a share. */
  readonly tolerance: number;
  /** Every case of the baseline. */
  readonly cases: readonly GatedCase[];
  /** The verdict as a sentence, without its full stop. */
  readonly sentence: string;
}

/** Something that ought to be equal to the bit. */
export interface EqualityCheck {
  /** What: the key stream, the rows, the quality. */
  readonly what: string;
  /** Whether it is. */
  readonly status: "same" | "differs" | "not comparable";
  /** What was found, in words. */
  readonly found: string;
}

/** Two results side by side. */
export interface ResultComparison {
  /** The first: the baseline. */
  readonly a: ComparedResult;
  /** The second. */
  readonly b: ComparedResult;
  /** In what they are unlike; every output says so. */
  readonly unlike: readonly Unlike[];
  /** Cases in both, in the order of the first. */
  readonly cases: readonly ComparedCase[];
  /** Cases in the first only. */
  readonly onlyA: readonly string[];
  /** Cases in the second only. */
  readonly onlyB: readonly string[];
  /** What ought to be equal. */
  readonly checks: readonly EqualityCheck[];
  /** `worse` if a case is slower and none faster, `mixed` if there is both. */
  readonly verdict: "worse" | "better" | "mixed" | "no difference" | "cannot tell";
  /** The verdict as a sentence, without its full stop. */
  readonly headline: string;
  /** Whether the second may take the place of the first. */
  readonly gate: Gate;
  /** What limits it. */
  readonly cautions: readonly string[];
}

/** Two results that are too unlike to compare without being asked to. */
export class UnlikeResultsError extends Error {
  /** In what they are unlike. */
  readonly unlike: readonly Unlike[];

  /** The error. @param names What the results are called. @param unlike In what they are unlike. */
  constructor([a, b]: readonly [string, string], unlike: readonly Unlike[]) {
    const refused = unlike.filter(({ weight }) => weight === "refused");
    const shown = refused.slice(0, 6).map((one) => `${one.what}: ${one.a} against ${one.b}`);
    const more = refused.length > shown.length ? `; and ${refused.length - shown.length} more` : "";
    super(
      `Cannot compare "${a}" with "${b}": they are unlike in ${
        shown.join("; ")
      }${more}. Use --unlike to compare them all ` +
        "the same; every output then says so",
    );
    this.name = "UnlikeResultsError";
    this.unlike = unlike;
  }
}
