/**
 * The kind of a figure: how it was obtained, and whose word says what was measured.
 *
 * @module
 */

import type { Evidence, Vouched } from "../../scenarios/record.ts";

/** How a figure was obtained. */
export interface Kind {
  /** The kind of evidence. */
  readonly evidence: Evidence;
  /**
   * What the medium is by the word of the machine's owner: a media model or a family of them. Absent where it was
   * verified, or stood in for.
   */
  readonly vouched?: string | undefined;
}

/** The kind of a record's figures, or of what was made of them. */
export function kindOf(
  { evidence, vouched }: { readonly evidence: Evidence; readonly vouched?: Vouched | string | undefined },
): Kind {
  const medium = typeof vouched === "object" ? vouched.medium : vouched;
  return { evidence, ...(medium === undefined ? {} : { vouched: medium }) };
}

/** What is said of the owner's word: `medium vouched for by the owner: optane-200`; undefined without one. */
export function vouchedText({ vouched }: Kind): string | undefined {
  return vouched === undefined ? undefined : `medium vouched for by the owner: ${vouched}`;
}

/** `measured`; `measured, medium vouched for by the owner: optane-200`. */
export function kindText(kind: Kind): string {
  const word = vouchedText(kind);
  return word === undefined ? kind.evidence : `${kind.evidence}, ${word}`;
}

/** Which kinds some named figures are of, for captions: `Measured: dram. Emulated: fsdax, kmem-dax`. */
export function kindsText(figures: readonly (Kind & { readonly name: string })[]): string {
  const order = ["measured", "emulated", "simulated"] as const;
  const groups = Map.groupBy(
    [...figures].sort((a, b) => order.indexOf(a.evidence) - order.indexOf(b.evidence)),
    kindText,
  );
  return [...groups].map(([text, found]) =>
    `${text[0]?.toUpperCase()}${text.slice(1)}: ${found.map(({ name }) => name).join(", ")}`
  ).join(". ");
}
