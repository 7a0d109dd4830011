/**
 * `docs/accuracy.md`: how far the media models are from what was published.
 *
 * @module
 */

import { type ComparedExchanges, EXCHANGE_TOLERANCE } from "./exchanges.ts";
import { nullsText } from "./gpu_memory.ts";
import { type BandedFigure, deviationOf, type OpenTarget, outcomeOf, type RelativeFigures } from "./open_targets.ts";
import { coverageOf } from "../simulation/deviations.ts";
import { mean, quantile, shareInterval } from "../../base/statistics.ts";
import type { Band } from "../media/calibration/bands.ts";
import { APART, type ErrorSummary, type ModelValidation } from "../media/calibration/validate.ts";

/** Bars of the project: mean and 90th percentile of the absolute error of a medium, coverage of a 90 % band, order. */
export const BARS = {
  mean: 0.1,
  p90: 0.25,
  coverage: [0.85, 0.95],
  order: 0.95,
  o13: 0.05,
  o14: 0.1,
  /** Of published relative figures, those that set no parameter. */
  free: 0.5,
} as const;

const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;
const met = (yes: boolean): string => yes ? "met" : "missed";

/** Figures in their bands, and how many there are. */
interface Covered {
  readonly points: number;
  readonly covered: number;
}

/** Whether bands cover as many as they should; of so few figures that their interval holds a share that would be met, no word. */
function coverageMet({ points, covered }: Covered): string {
  const [low, high] = BARS.coverage, share = covered / points;
  if (share >= low && share <= high) return met(true);
  const [least, most] = shareInterval(covered, points);
  return least <= high && most >= low ? "too few to tell" : met(false);
}

/** `89.5 % of 1148 figures (95 % interval 87.6 % to 91.1 %)`. */
function coverageWords({ points, covered }: Covered): string {
  const [low, high] = shareInterval(covered, points);
  return `${percent(covered / points)} of ${points} figures (95 % interval ${percent(low, 0)} to ${percent(high, 0)})`;
}

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
export function targetLines({ media, coverage: left, order, o13, o14, keptApart }: ModelValidation): string[][] {
  const right = order.right / order.pairs;
  const [low, high] = BARS.coverage;
  const highest = (of: "mean" | "p90") => media.reduce((a, b) => b[of] > a[of] ? b : a);
  const average = highest("mean"), p90 = highest("p90");
  return [
    [
      "mean error, worst medium",
      `at most ${percent(BARS.mean, 0)}`,
      `${percent(average.mean)} (${average.name})`,
      met(average.mean <= BARS.mean),
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
      `${coverageWords(left)} of ${left.media} media`,
      coverageMet(left),
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
    ...keptApartLines(keptApart),
  ];
}

/** The targets of figures that no fit sees. */
function keptApartLines(keptApart: ModelValidation["keptApart"]): string[][] {
  const errors = keptApart.map(({ error }) => Math.abs(error)), { pairs, right } = keptApartOrder(keptApart);
  const average = mean(errors), p90 = quantile(errors, 0.9), covered = keptApartCoverage(keptApart);
  const { order, coverage: [low, high] } = BARS, name = "figures that no fit sees";
  return [
    [
      `${name}: error`,
      `mean at most ${percent(APART.mean, 0)}, 90th percentile ${percent(APART.p90, 0)}`,
      `${percent(average)} and ${percent(p90)} of ${errors.length} figures`,
      met(average <= APART.mean && p90 <= APART.p90),
    ],
    [
      `${name}: order within a medium`,
      `at least ${percent(order, 0)}`,
      `${percent(right / pairs)} of ${pairs} pairs that differ by more than 10 %`,
      met(right / pairs >= order),
    ],
    [
      `${name}: 90 % bands cover`,
      `${percent(low, 0)} to ${percent(high, 0)}`,
      coverageWords(covered),
      coverageMet(covered),
    ],
  ];
}

/** The targets of published relative figures. */
export function effectLines({ relative: { figures, free }, banded }: RelativeFigures): string[][] {
  const [low, high] = BARS.coverage, covered = insideOf(banded);
  const half = [
    "published relative figures that set no parameter",
    `at least ${percent(BARS.free, 0)}`,
    `${free} of ${figures}`,
    met(free / figures >= BARS.free),
  ];
  const bands = [
    "their 90 % bands cover",
    `${percent(low, 0)} to ${percent(high, 0)}`,
    banded.length === 0 ? "none has a band" : coverageWords(covered),
    banded.length === 0 ? met(false) : coverageMet(covered),
  ];
  return [half, bands];
}

function insideOf(of: readonly BandedFigure[]): Covered {
  const { figures, covered } = coverageOf(of) ?? { figures: 0, covered: 0 };
  return { points: figures, covered };
}

/** Figures that no fit sees and have a band, and how many lie in theirs. */
function keptApartCoverage(keptApart: ModelValidation["keptApart"]): Covered {
  const banded = keptApart.flatMap(({ band, value }) =>
    band.calibrated ? [band.low <= value && value <= band.high] : []
  );
  return { points: banded.length, covered: banded.filter((inside) => inside).length };
}

const off = ({ unit }: OpenTarget, deviation: number, digits = 1): string =>
  unit === "share" ? percent(deviation, digits) : `${(deviation * 100).toFixed(digits + 1)} points`;

/** The targets of profiles and simulations, one line each: as {@linkcode targetLines}. */
export function openTargetLines(targets: readonly OpenTarget[]): string[][] {
  return targets.map((target) => {
    const { name, about, tolerance, figures, order } = target;
    const { tested, worst, met: yes } = outcomeOf(target);
    const set = figures.length - tested;
    const calibrated = set === 0 ? "" : `, ${set} more set a parameter`;
    return [
      `${name}: ${about}`,
      `within ${off(target, tolerance, 0)}${order === undefined ? "" : ", order kept"}`,
      `largest ${off(target, worst)} of ${tested} figures${calibrated}` +
      (order === undefined ? "" : `, ${order.same} of ${order.pairs} pairs in order`),
      met(yes),
    ];
  });
}

/** Every figure of the targets; of long lists the largest five deviations. */
function openTargetFigures(targets: readonly OpenTarget[]): string {
  const value = ({ unit }: OpenTarget, found: number) => unit === "points" ? percent(found, 2) : found.toFixed(3);
  const rows = targets.flatMap((target) => {
    const byDeviation = [...target.figures].sort((a, b) =>
      Math.abs(deviationOf(target, b)) - Math.abs(deviationOf(target, a))
    );
    const shown = target.figures.length > 15 ? byDeviation.slice(0, 5) : target.figures;
    return shown.map((figure) => {
      const deviation = deviationOf(target, figure);
      return [
        target.name,
        figure.figure,
        value(target, figure.published),
        value(target, figure.found),
        `${deviation > 0 ? "+" : ""}${off(target, deviation)}`,
        figure.calibrates ?? "",
      ];
    });
  });
  return table(["target", "figure", "published", "found", "deviation", "sets"], rows);
}

/** Exchanges over limited links. */
function exchangesText({ made, machine, exchanges, simulated }: ComparedExchanges): string {
  const ms = (seconds: number): string => `${(seconds * 1e3).toFixed(1)} ms`;
  const [first] = exchanges;
  return `## Exchanges over a network

A worker's and a server's rank in two network namespaces of one machine, links limited by \`tc\`'s token bucket; keys, rows and
gradients of ${first?.keys} keys in ${first?.tables} tables of ${first?.dim} floats, by MPI over TCP. Simulated: what a step has on
links and in latency, told the links' rate less headers and the time of a message of a few bytes, which was measured. Wanted:
within ${percent(EXCHANGE_TOLERANCE, 0)}. Measured on ${made} (${machine}) by \`deno task bench:ranks --network\`.

${
    table(
      ["link", "measured", "95 % interval", "simulated", "deviation"],
      exchanges.map(({ rate, seconds, low, high }, i) => [
        `${rate / 1e9} Gbit/s`,
        ms(seconds),
        `${ms(low)} to ${ms(high)}`,
        ms(simulated[i] ?? NaN),
        percent((simulated[i] ?? NaN) / seconds - 1),
      ]),
    )
  }

`;
}

/** How curves were left out, and what came out. */
function leaveOutText({ leftOut, leftOutIsStale, coverage, comparisons }: ModelValidation): string {
  const all = comparisons.filter(({ id }) => id in leftOut.errors);
  const unseen = mean(all.map(({ id }) => Math.abs(Math.expm1(leftOut.errors[id] ?? NaN))));
  const seen = mean(all.map(({ error }) => Math.abs(error)));
  const stale = leftOutIsStale
    ? "\n\n**Models or rows changed since: `deno task tierbench validate-models --leave-out --write`.**"
    : "";
  return `## Curves that the model never saw

\`validate-models --leave-out\` leaves out one curve after the other (${leftOut.curves}, last on ${leftOut.made}), fits the
parameters that move its figures to the other curves of the family, starting at values drawn between half and twice the shipped ones, and predicts the
curve. It writes \`models/media/calibration/left-out.json\`.${stale}

- Mean error of ${all.length} figures: ${percent(unseen)} predicted without their curve, ${percent(seen)} fitted.
- 90 % bands made of the errors of the other left-out curves cover ${percent(coverage.covered / coverage.points)} of
  ${coverage.points} figures. Bands made of the errors of the fit would cover ${
    percent(coverage.coveredByFit / coverage.points)
  }: they are too narrow.
- ${leftOut.given.length} figures are not counted: a parameter was taken from the row itself, which then tests nothing.
- ${leftOut.alone.length} figures are not counted: they depend on a parameter of which no other curve tells.

The models of the other curves have seen the curve that is judged: leaving out two at a time would be stricter.`;
}

/** Pairs of figures of one medium and kind that differ by more than 10 %, and how many of them the model has in the same order. */
export function keptApartOrder(
  keptApart: ModelValidation["keptApart"],
): { readonly pairs: number; readonly right: number } {
  let pairs = 0, right = 0;
  for (const [i, a] of keptApart.entries()) {
    for (const b of keptApart.slice(i + 1)) {
      if (a.medium !== b.medium || isRate(a.value) !== isRate(b.value)) continue;
      if (Math.max(a.value / b.value, b.value / a.value) <= 1.1) continue;
      pairs++;
      if (Math.sign(a.value - b.value) === Math.sign(a.model - b.model)) right++;
    }
  }
  return { pairs, right };
}

/** Rates of these rows are gigabytes a second, latencies below a millisecond. */
function isRate(value: number): boolean {
  return value > 1e6;
}

function keptApartText({ keptApart }: ModelValidation): string {
  const figure = (value: number): string =>
    isRate(value) ? `${(value / 1e9).toPrecision(3)} GB/s` : `${value.toPrecision(3)} ns`;
  const inBand = (value: number, band: Band): string =>
    !band.calibrated ? `no band: ${band.outside}` : band.low <= value && value <= band.high ? "yes" : "no";
  const rows = keptApart.map(({ medium, about, value, model, error, band }) => [
    medium,
    about,
    figure(value),
    figure(model),
    `${error > 0 ? "+" : ""}${percent(error, 0)}`,
    band.calibrated ? `x ${(band.high / model).toFixed(2)}` : "",
    inBand(value, band),
  ]);
  return table(["medium", "measured", "published", "model", "error", "band", "in its band"], rows);
}

/** The same by medium and kind: how far off, and how many lie in their bands. */
function keptApartSummary({ keptApart }: ModelValidation): string {
  const rows = [...Map.groupBy(keptApart, ({ medium, kind }) => `${medium}/${kind}`).values()].flatMap((of) =>
    of.slice(0, 1).map(({ medium, kind }) => {
      const errors = of.map(({ error }) => Math.abs(error)), [average, p90] = [mean(errors), quantile(errors, 0.9)];
      const { points, covered } = keptApartCoverage(of);
      const good = average <= APART.mean && p90 <= APART.p90;
      return [
        medium,
        kind,
        `${of.length}`,
        percent(average),
        percent(p90),
        met(good),
        points === 0 ? "none has a band" : `${covered} of ${points}`,
      ];
    })
  );
  return table(["medium", "kind", "figures", "mean", "90th percentile", "15 % and 30 %", "in their bands"], rows);
}

/** How many figures lie in their 90 % bands, by what they are. */
function coverageText({ coverage, keptApart }: ModelValidation, { relative, banded }: RelativeFigures): string {
  const effects = Map.groupBy(banded, ({ of }) => of === "time" ? "how a system scales" : "extra time over a baseline");
  const groups: readonly (readonly [string, Covered])[] = [
    ["simulations, relative figures that set no parameter", insideOf(banded)],
    ...[...effects].map(([name, of]) => [`of them, ${name}`, insideOf(of)] as const),
    ["media, figures that no fit sees", keptApartCoverage(keptApart)],
    ...[...Map.groupBy(keptApart, ({ kind }) => kind)].map(([kind, of]) =>
      [`of them, ${kind}`, keptApartCoverage(of)] as const
    ),
    ["media, curves left out", coverage],
    ...Object.entries(coverage.kinds).map(([kind, of]) => [`of them, ${kind}`, of] as const),
  ];
  const rows = groups.filter(([, { points }]) => points > 0).map(([name, of]) => {
    const [low, high] = shareInterval(of.covered, of.points);
    return [
      name,
      `${of.points}`,
      `${of.covered}`,
      percent(of.covered / of.points),
      `${percent(low, 0)} to ${percent(high, 0)}`,
    ];
  });
  return `## Figures in their 90 % bands

${table(["figures", "number", "in their bands", "share", "95 % interval"], rows)}

The interval is that of a share (Wilson's), as if figures were independent; those of one curve are not, so it is too narrow
where there are few curves. Latencies and percentiles have few curves, and each tells of something that others do not: of a
buffer's size, of a load, of stores. What the simulator asks is bandwidths of reads and writes.

${relative.free} of ${relative.figures} published relative figures set no parameter: what is relative is a multiple of another
case of the same source (\`relativeTo\`), and what a figure set is in its \`calibrates\`. The engine's own
range in the band of each was made of those that stand in the other figures of the paper (Fig. 3, 6, 7), never of itself.`;
}

/** Kinds of figures and accesses of validated families, those first that miss the bars of a family. */
function foretoldByKind(families: ModelValidation["families"]): string {
  const rows = families.filter(({ why }) => why === undefined).flatMap(({ name, kinds }) =>
    kinds.map((one) => ({ name, ...one }))
  ).sort((a, b) => Number(a.why === undefined) - Number(b.why === undefined));
  return table(
    ["family", "kind", "access", "predicted", "mean", "90th percentile", "validated"],
    rows.map(({ name, kind, access, predicted, mean, p90, why }) => [
      name,
      kind,
      access,
      String(predicted),
      percent(mean),
      percent(p90),
      why === undefined ? "yes" : `not validated for ${kind}, ${access}: ${why}`,
    ]),
  );
}

/** The whole page. */
export function accuracyText(
  validation: ModelValidation,
  open: readonly OpenTarget[],
  effects: RelativeFigures,
  exchanges?: ComparedExchanges,
): string {
  const { comparisons, media, families, kinds, residuals, notCompared, rows } = validation;
  const worst = [...comparisons].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 20);
  const band = ({ name, kind }: ModelValidation["kinds"][number]) => residuals[name]?.[kind];
  return `# How far the models are from what was published

\`deno task tierbench validate-models --write\` makes this page; a test compares it with what the command says now.

Each media model (\`models/media/\`, formulas in \`native/media/media.h\`) is asked what was published, and the answer is
set against the figure: ${comparisons.length} of ${rows} rows of \`models/media/calibration/calibration.csv\`. Rows that were quoted from memory
are not used. Errors are |model / published - 1|. The models were fitted to these rows, with few parameters that mean
something physical, so the errors are those of a fit; those of a prediction are under "Curves that the model never saw".

## Targets

${
    table(["target", "wanted", "found", ""], [
      ...targetLines(validation),
      ...effectLines(effects),
      ...openTargetLines(open),
    ])
  }

Two laboratories that measured nominally equal machines with six Optane modules differ by up to 26 %. The models bridge
it with one factor on the speed of the modules.

${leaveOutText(validation)}

${coverageText(validation, effects)}

## Error by medium

${
    table(
      ["medium", "figures", "curves", "mean", "90th percentile", "largest"],
      media.map((m) => [m.name, ...errors(m)]),
    )
  }

## Families that are validated

A model and those that extend it are fitted together. They are called validated where at least ten figures, and two for
each fitted number, could be predicted without their curve, with a mean error of at most 10 % and a 90th percentile of at
most 25 %. Others are models of what was published of them, and no more.

${
    table(
      ["family", "fitted numbers", "figures", "predicted", "mean", "90th percentile", "validated"],
      families.map((f) => [
        f.name,
        String(f.free),
        String(f.points),
        String(f.predicted),
        f.predicted === 0 ? "" : percent(f.mean),
        f.predicted === 0 ? "" : percent(f.p90),
        f.why === undefined ? "yes" : `not validated: ${f.why}`,
      ]),
    )
  }

What a family foretells of each kind of figure is not as good everywhere. Validated families by kind and access: what is
asked of a family is asked of each of them alone. Simulations, emulated runs and plans say of each question to a medium whether
its access is validated here; a band is as wide as the errors, of the access or of what "made of the" names below.

${foretoldByKind(families)}

## Error and 90 % band by kind

The errors are those of the fit. The band is that of curves left out (jackknife): 90 % of the distances, in the logarithm, are
within it. It is made of the figures of the kind that were accessed alike (load, non-temporal store, cached store, …; a line of
its own below the kind's), where 19 of them were left out; else of the figures of the kind; with fewer than 19, of the medium's figures of all kinds; with fewer than
19 again, of the kind in all media of the class (DRAM, PMEM, CXL and so on), and at last in all media. It is never less than
what the errors of the fit give for the kind ("fit"), nor than what the medium's figures that no fit sees give ("apart"). The last column says which. "x 1.20" means: between the figure / 1.20 and the figure x 1.20.

${
    table(
      ["medium", "kind", "figures", "curves", "mean", "90th percentile", "largest", "band", "made of the"],
      kinds.flatMap((k) => [
        [k.name, k.kind, ...errors(k), `x ${band(k)?.factor.toFixed(2)}`, band(k)?.basis ?? ""],
        ...Object.entries(band(k)?.byAccess ?? {}).map(([access, { points, curves, factor, basis }]) => [
          k.name,
          `${k.kind}, ${access}`,
          ...[points, curves].map(String),
          ...["", "", ""],
          `x ${factor.toFixed(2)}`,
          basis,
        ]),
      ]),
    )
  }

## Profiles and simulations against what was published

Times are those of \`scenarios/paper-openembedding.jsonc\` (O2, O4, O5), \`paper-hierarchicalkv.jsonc\` (O15) and
\`hbm-cache.jsonc\` (O16), which say what their sources leave open. "Sets": the parameter that
was set by this figure, which then tests nothing. The laws of O1 and O10 were fitted to their figures; O11 follows from its
definition. Of O10's figures the five that are furthest off are shown.

${openTargetFigures(open)}

### A GPU's memory

${nullsText(open.filter(({ name }) => name === "O15" || name === "O16"))}

${exchanges === undefined ? "" : exchangesText(exchanges)}## The twenty largest errors

${
    table(
      ["row", "medium", "error"],
      worst.map(({ id, medium, error }) => [id, medium, `${error > 0 ? "+" : ""}${percent(error, 0)}`]),
    )
  }

## Figures that no fit sees

Rows that are only asked. Every point with traffic, and the highest, of the curves of Mess whose share of reads is nearest to midway
between those that are compared; PerMA-Bench's random reads of the 200 series, with sizes and prefetchers that no compared row has; two kinds of
traffic at once, each of the size it says, at the published share of the bytes; latencies under the load of others; threads that
use all modules. Which rows of Mess and of the 200 series was settled before the
models were asked. No parameter was set by them. They are judged by bands
made without them; afterwards no band is left narrower than they show, and an access of which at least ten of them miss 15 % or
30 % is not called validated on that medium.

${keptApartSummary(validation)}

What they refute: random reads on \`optane-200-8x256\`. Its reads were fitted to random ones of 64 B and sequential ones of
4096 B, and the model is too fast for random ones of 256 B and more.

The rows of readers and writers did choose a law once: until 2026-11 PMEM's law of mixed traffic was fitted to mixes of loads
and stores of the same lines, taken for non-temporal stores of others, and missed them by 32 to 44 %. Those mixes are asked as
cached stores since, and PMEM's bus takes turns as DRAM's does, with no number of its own. So they are no blind test of that law; and that the mixes touch the same
lines is inferred from their ratios and from the rate that writes level off at, no source says it.

${keptApartText(validation)}

## What is not compared

${[...notCompared].map(([why, ids]) => `- ${why ?? "no rule"}: ${ids.length} rows`).join("\n")}
- Memory Mode: no verified row; not calibrated, ratios only, and no band
`;
}
