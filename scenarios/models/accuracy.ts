/**
 * `docs/accuracy.md`: how far the media models are from what was published.
 *
 * @module
 */

import type { ErrorSummary, ModelValidation } from "./validate.ts";

/** Bars of the project: mean and 90th percentile of the absolute error of a medium, coverage of a 90 % band, order. */
export const BARS = { mean: 0.1, p90: 0.25, coverage: [0.85, 0.95], order: 0.95, o13: 0.05, o14: 0.1 } as const;

const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;
const met = (yes: boolean): string => yes ? "met" : "missed";

/** Cells padded as `deno fmt` pads them. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => (row[i] ?? "").length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

const errors = (s: ErrorSummary): string[] => [
  String(s.points),
  String(s.curves),
  percent(s.mean),
  percent(s.p90),
  percent(s.worst, 0),
];

/** The targets, one line each: name, wanted, found, whether it is met. */
export function targetLines({ media, leftOut, order, o13, o14 }: ModelValidation): string[][] {
  const coverage = leftOut.covered / leftOut.points;
  const right = order.right / order.pairs;
  const [low, high] = BARS.coverage;
  const highest = (of: "mean" | "p90") => media.reduce((a, b) => b[of] > a[of] ? b : a);
  const mean = highest("mean"), p90 = highest("p90");
  return [
    [
      "mean error, worst medium",
      `at most ${percent(BARS.mean, 0)}`,
      `${percent(mean.mean)} (${mean.name})`,
      met(mean.mean <= BARS.mean),
    ],
    [
      "90th percentile, worst medium",
      `at most ${percent(BARS.p90, 0)}`,
      `${percent(p90.p90)} (${p90.name})`,
      met(p90.p90 <= BARS.p90),
    ],
    [
      "leave one curve out: 90 % bands cover",
      `${percent(low, 0)} to ${percent(high, 0)}`,
      `${percent(coverage)} of ${leftOut.points} figures of ${leftOut.media} media`,
      met(coverage >= low && coverage <= high),
    ],
    [
      "order of media that differ by more than 10 %",
      `at least ${percent(BARS.order, 0)}`,
      `${percent(right)} of ${order.pairs} pairs`,
      met(right >= BARS.order),
    ],
    [
      "O13: Mess EPEEC4 and MN5-ACC, latency below 90 % load",
      `within ${percent(BARS.o13, 0)}`,
      `largest ${percent(o13.worst)}, mean ${percent(o13.mean)} of ${o13.points} figures`,
      met(o13.worst <= BARS.o13),
    ],
    [
      "O14: FAST 2020, bandwidth and latency",
      `within ${percent(BARS.o14, 0)} on average`,
      `mean ${percent(o14.mean)}, 90th percentile ${percent(o14.p90)} of ${o14.points} figures`,
      met(o14.mean <= BARS.o14),
    ],
  ];
}

/** The whole page. */
export function accuracyText(validation: ModelValidation): string {
  const { comparisons, media, kinds, residuals, notCompared, rows } = validation;
  const worst = [...comparisons].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 20);
  const factor = (name: string, kind: string) => residuals[name]?.[kind as "read"]?.factor.toFixed(2) ?? "";
  return `# How far the models are from what was published

\`deno task tierbench validate-models --write\` makes this page; a test compares it with what the command says now.

Each media model (\`scenarios/media/\`, formulas in \`native/media/media.h\`) is asked what was published, and the answer is
set against the figure: ${comparisons.length} of ${rows} rows of \`scenarios/media/calibration.csv\`. Rows that were quoted from memory
are not used. Errors are |model / published - 1|. The models were fitted to these rows, with few parameters that mean
something physical, so the errors are those of a fit, not of a prediction.

## Targets

${table(["target", "wanted", "found", ""], targetLines(validation))}

Leave one curve out makes the band of a curve from the residuals of the medium's other curves. The parameters are those
fitted to all rows: the coverage is that of the bands, not of a model that never saw the curve.

Two laboratories that measured nominally equal machines with six Optane modules differ by up to 26 %. The models bridge
it with one factor on the speed of the modules.

## Error by medium

${
    table(
      ["medium", "figures", "curves", "mean", "90th percentile", "largest"],
      media.map((m) => [m.name, ...errors(m)]),
    )
  }

## Error and 90 % band by kind

The band is made by split conformal prediction from the distances between model and figure, in the logarithm; a kind with
fewer than 19 figures takes those of the medium's other kinds too. "x 1.20" means: between the figure / 1.20 and the figure x 1.20.

${
    table(
      ["medium", "kind", "figures", "curves", "mean", "90th percentile", "largest", "band"],
      kinds.map((k) => [k.name, k.kind, ...errors(k), `x ${factor(k.name, k.kind)}`]),
    )
  }

## The twenty largest errors

${
    table(
      ["row", "medium", "error"],
      worst.map(({ id, medium, error }) => [id, medium, `${error > 0 ? "+" : ""}${percent(error, 0)}`]),
    )
  }

## What is not compared

${[...notCompared].map(([why, ids]) => `- ${why ?? "no rule"}: ${ids.length} rows`).join("\n")}
- Memory Mode: no verified row; not calibrated, ratios only, and no band
`;
}
