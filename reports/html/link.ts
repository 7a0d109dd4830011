/**
 * What went over the link of a device that holds rows: bytes, transfers and time of a step.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import type { CaseSummary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kind, table } from "./parts.ts";

/** What became of a pool that is sized from the first steps. */
const PLANS: Readonly<Record<string, string>> = {
  "none": "no",
  "made": "yes",
  "refused": "no: no room for both, or refused",
  "to-come": "not yet",
};

/** The table; undefined where no case has rows on a device. */
export function link(cases: readonly CaseSummary[]): Markup | undefined {
  const shown = cases.flatMap((one) => one.link === undefined ? [] : [{ one, use: one.link }]);
  if (shown.length === 0) return undefined;
  return html`
    <h3>Rows on a device</h3>
    <p
      class="note">The pool holds the rows: bytes of the device's memory and of the host's at the end, and the time that taking
    them took from opening on. The rest are means of a counted step: bytes of rows that kernels reached in the host's memory,
    what was sent to the device and fetched from it, in so many transfers, and the time of the calls that did it, kernels and copies at the host's end included. A device that is a CPU has no link: bytes and
    transfers are those of a GPU, times are not.</p>
    ${table(
      "Rows on a device, a step",
      [
        { title: "case" },
        { title: "kind", words: true },
        { title: "device", words: true },
        { title: "driver", words: true },
        { title: "pool" },
        { title: "sized from first steps", words: true },
        { title: "ms to take" },
        { title: "of the host" },
        { title: "ms to take it" },
        { title: "reached there" },
        { title: "staging" },
        { title: "sent" },
        { title: "fetched" },
        { title: "transfers" },
        { title: "ms" },
      ],
      shown.map(({ one, use }) => [
        one.name,
        kind(one),
        `${use.device} (${use.kind})`,
        `${use.driver}, ${use.version}`,
        bytesText(use.poolBytes),
        PLANS[use.poolPlan ?? "none"] ?? "unknown",
        significant(use.poolNs / 1e6),
        bytesText(use.hostBytes),
        significant(use.hostNs / 1e6),
        bytesText(Math.round(use.hostRowBytes)),
        bytesText(use.stagingBytes),
        bytesText(Math.round(use.upBytes)),
        bytesText(Math.round(use.downBytes)),
        significant(use.transfers),
        significant(use.ns / 1e6),
      ]),
    )}
  `;
}
