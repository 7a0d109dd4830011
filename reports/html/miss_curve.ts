/**
 * The miss-ratio curve of a run, against the optimum, and what more memory would buy.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { percentText, significant } from "../../base/numbers.ts";
import { missesAt } from "../summary/miss_curve.ts";
import type { CacheCurve, CaseSummary, Summary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kindsText } from "../summary/kind.ts";
import { figure, kind, more, table } from "./parts.ts";

/** The figure; undefined where the run recorded no curve. */
export function missCurve({ cases }: Summary): Markup | undefined {
  const curved = cases.flatMap((one) => one.cacheCurve === undefined ? [] : [{ one, curve: one.cacheCurve }]);
  const [first] = curved;
  if (first === undefined) return undefined;
  const { curve: { method, denominator, bound } } = first;
  return more(
    "misses by size of the first tier, and what more memory would buy",
    html`${
      figure(
        "miss-curve",
        {
          title: "Misses by size of the first tier",
          text: `Solid: under LRU, whatever the policy of the configuration. Dashed: the ${
            bound === "popular"
              ? "most popular rows, the best that knows no keys to come"
              : "best that knows the keys to come"
          }. Shapes: what the runs counted. Shares of ${denominator}; the lines are ${method}, computed from the law of the data in the steady state; a short run is not there yet.`,
          unit: "percent of lookups, MiB of rows",
          kinds: `Lines: computed. ${kindsText(curved.map(({ one }) => one))}`,
        },
        html`${curved.map(({ one, curve }) => curveTable(one, curve))}`,
      )
    }${moreMemory(curved)}`,
  );
}

function curveTable({ name }: CaseSummary, { bytes, shares, misses, bounds, policy, bound }: CacheCurve): Markup {
  return table(
    `Misses of ${name} by size of the first tier, percent`,
    [{ title: "bytes of rows" }, { title: "share of all rows" }, { title: policy }, { title: `optimum (${bound})` }],
    bytes.map((size, i) => [
      bytesText(size),
      percentText(shares[i] as number),
      significant(100 * (misses[i] as number)),
      significant(100 * (bounds[i] as number)),
    ]),
  );
}

/** What an eighth more of all rows' bytes, or 1 GiB if that is less, would save. */
function moreMemory(curved: readonly { readonly one: CaseSummary; readonly curve: CacheCurve }[]): Markup {
  return table(
    "What more memory for rows would buy",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: "bytes of rows now" },
      { title: "misses counted, %" },
      { title: "misses of the line, %" },
      { title: "more" },
      { title: "misses then, %" },
      { title: "misses of the optimum now, %" },
    ],
    curved.map(({ one, curve }) => {
      const whole = (curve.bytes.at(-1) as number) / (curve.shares.at(-1) as number);
      const now = curve.ranShare * whole;
      const more = Math.min(2 ** 30, whole / 8, whole - now);
      const at = (bytes: number, values: readonly number[]): string =>
        significant(100 * missesAt({ shares: curve.shares, misses: values }, bytes / whole));
      return [
        one.name,
        kind(one),
        bytesText(now),
        curve.counted === undefined ? "–" : significant(100 * curve.counted),
        at(now, curve.misses),
        bytesText(more),
        at(now + more, curve.misses),
        at(now, curve.bounds),
      ];
    }),
  );
}
