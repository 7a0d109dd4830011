/**
 * Rows between the tiers in bytes a second, and against what the media model can give.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import { countText } from "../text/format.ts";
import type { CaseSummary, TierTraffic } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kind, more, table } from "./parts.ts";

/** A tier with its case. */
interface Row {
  readonly one: CaseSummary;
  readonly tier: TierTraffic;
}

/** The tables; undefined where no case has a lower tier that counted its rows. */
export function traffic(cases: readonly CaseSummary[]): Markup | undefined {
  const rows = cases.filter((one) => one.throughput !== undefined).flatMap((one) =>
    one.traffic.map((tier) => ({ one, tier }))
  );
  if (rows.length === 0) return undefined;
  const limited = rows.filter(({ tier }) => tier.limit !== undefined);
  return more(
    "rows to and from the lower tiers, and their limits",
    html`${moved(rows, limited.length > 0)}${limits(limited)}`,
  );
}

const name = ({ one, tier }: Row): string => `${one.name}, tier ${tier.tier}`;
const medium = ({ tier }: Row): string => tier.medium + (tier.emulates === undefined ? "" : `, as ${tier.emulates}`);

function moved(rows: readonly Row[], limited: boolean): Markup {
  return html`<p class="note">Mean over the counted steps: rows found there times their bytes, and bytes of rows written there.
  A medium moves whole lines or blocks, so it moves more than that.${
    limited ? "" : " The run recorded no limit to set them against."
  }</p>${
    table(
      "Rows to and from the lower tiers, MB/s",
      [
        { title: "case, tier" },
        { title: "kind", words: true },
        { title: "medium", words: true },
        { title: "read" },
        { title: "written" },
      ],
      rows.map((row) => [
        name(row),
        kind(row.one),
        medium(row),
        significant(row.tier.readPerSecond / 1e6),
        significant(row.tier.writtenPerSecond / 1e6),
      ]),
    )
  }`;
}

function limits(rows: readonly Row[]): Markup | undefined {
  if (rows.length === 0) return undefined;
  return html`<p class="note">Bytes read as a share of what the media model gives if all are reads, bytes written as a share of
  what it gives if all are writes: random accesses of a row each by all threads, with nothing beside them. Their sum is about
  the share of the time that the rows keep the medium busy. Means over the whole step, whose phases without rows to move count
  too. Limits are computed from the media model.</p>${
    table(
      "Bandwidth of the lower tiers against its limit",
      [
        { title: "case, tier" },
        { title: "kind of the bytes", words: true },
        { title: "limit computed for", words: true },
        { title: "read, MB/s" },
        { title: "limit of reads, MB/s" },
        { title: "share read, percent" },
        { title: "written, MB/s" },
        { title: "limit of writes, MB/s" },
        { title: "share written, percent" },
      ],
      rows.flatMap((row) => {
        const { tier, one } = row;
        if (tier.limit === undefined) return [];
        const { readBytesPerSecond, writeBytesPerSecond, readShare, writeShare, rowBytes, threads } = tier.limit;
        return [[
          name(row),
          kind(one),
          `${tier.emulates ?? tier.medium}, rows of ${bytesText(rowBytes)}, ${countText(threads, "thread")}`,
          significant(tier.readPerSecond / 1e6),
          significant(readBytesPerSecond / 1e6),
          significant(100 * readShare),
          significant(tier.writtenPerSecond / 1e6),
          significant(writeBytesPerSecond / 1e6),
          significant(100 * writeShare),
        ]];
      }),
    )
  }`;
}
