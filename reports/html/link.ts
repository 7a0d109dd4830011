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

/** The table; undefined where no case has rows on a device. */
export function link(cases: readonly CaseSummary[]): Markup | undefined {
  const shown = cases.flatMap((one) => one.link === undefined ? [] : [{ one, use: one.link }]);
  if (shown.length === 0) return undefined;
  return html`
    <h3>Rows on a device</h3>
    <p
      class="note">Means of a counted step: what was sent to the device and fetched from it, in so many transfers, and the time of
    the calls that did it, kernels and copies at the host's end included. A device that is a CPU has no link: bytes and
    transfers are those of a GPU, times are not.</p>
    ${table(
      "Rows on a device, a step",
      [
        { title: "case" },
        { title: "kind", words: true },
        { title: "device", words: true },
        { title: "driver", words: true },
        { title: "pool" },
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
        bytesText(use.stagingBytes),
        bytesText(Math.round(use.upBytes)),
        bytesText(Math.round(use.downBytes)),
        significant(use.transfers),
        significant(use.ns / 1e6),
      ]),
    )}
  `;
}
