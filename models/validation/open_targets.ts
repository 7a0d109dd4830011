/**
 * Published figures that profiles and simulations are held against: OpenEmbedding (ICDE 2023), Meta's embedding traces of
 * 2021, folded Zipf laws. Those of media models are in `validate.ts`.
 *
 * @module
 */

import { orderOf, type PublishedDeviation, publishedDeviations, relativeOf } from "../simulation/deviations.ts";
import { loadSimulation } from "../simulation/load.ts";
import type { NullName, SimulationResult } from "../simulation/record.ts";
import { runSimulation } from "../simulation/run.ts";
import { engineRangeOf } from "../simulation/uncertainty.ts";
import { META_2021, META_BATCH, META_TABLES } from "../workloads/meta_2021.ts";
import { loadProfile } from "../workloads/profile.ts";
import { generateKeys, profileLaw, topShare } from "../workloads/profile_keys.ts";
import { reuseHistogram } from "../workloads/reuse.ts";

/** A published figure and ours. */
interface TargetFigure {
  /** What it is. */
  readonly figure: string;
  /** Published, a share or a ratio. */
  readonly published: number;
  /** Ours. */
  readonly found: number;
  /** The parameter that was set by this figure: it tests nothing. */
  readonly calibrates?: string;
  /** Whether each null model that concerns the figure meets it, too; absent where none was run, or it set a parameter. */
  readonly nulls?: Readonly<Partial<Record<NullName, boolean>>>;
}

/** A target and its figures. */
export interface OpenTarget {
  /** `O1`, …. */
  readonly name: string;
  /** Source and what is compared. */
  readonly about: string;
  /** Largest deviation wanted. */
  readonly tolerance: number;
  /** `points`: deviations are differences; `share`: they are found / published - 1. */
  readonly unit: "points" | "share";
  /** The figures. */
  readonly figures: readonly TargetFigure[];
  /** Pairs of figures whose order is to be kept, and how many keep it. */
  readonly order?: { readonly pairs: number; readonly same: number };
}

/** How far a figure is off, in the target's unit. */
export function deviationOf({ unit }: OpenTarget, { published, found }: TargetFigure): number {
  return unit === "points" ? found - published : found / published - 1;
}

/** The figures that tested something, the one that is furthest off, and whether the target is met. */
export function outcomeOf(
  target: OpenTarget,
): { readonly tested: number; readonly worst: number; readonly met: boolean } {
  const tested = target.figures.filter(({ calibrates }) => calibrates === undefined);
  const worst = Math.max(...tested.map((figure) => Math.abs(deviationOf(target, figure))));
  const ordered = target.order === undefined || target.order.same === target.order.pairs;
  return { tested: tested.length, worst, met: worst <= target.tolerance && ordered };
}

async function shareOfTop(profile: string, part: number): Promise<number> {
  const loaded = await loadProfile(profile);
  return topShare(profileLaw(loaded), (loaded.tables[0]?.rows ?? 0) * part);
}

/** O1: OpenEmbedding's Table II; its law was fitted to these shares. */
async function retail(): Promise<OpenTarget> {
  const published = [[0.0005, 0.857], [0.001, 0.895], [0.01, 0.957]] as const;
  return {
    name: "O1",
    about: "OpenEmbedding, Table II: share of accesses to the hottest rows of 2.1e9 (profile `oe-retail`)",
    tolerance: 0.005,
    unit: "points",
    figures: await Promise.all(published.map(async ([part, share]) => ({
      figure: `hottest ${part * 100} %`,
      published: share,
      found: await shareOfTop("oe-retail", part),
    }))),
  };
}

/** O10: one batch of the profile, 16 of 856 tables, counted as the data set's text counts. */
async function meta(): Promise<OpenTarget> {
  const part = 16 / META_TABLES, { accessShares, rowShares, lookups, rows } = META_2021;
  const [batch] = generateKeys(await loadProfile("meta-2021"), { samples: META_BATCH, seed: 2 });
  const made = reuseHistogram(batch?.keys ?? new BigInt64Array(), accessShares.length);
  const bins = (of: readonly number[], found: readonly number[], what: string): TargetFigure[] =>
    of.map((published, bin) => ({ figure: `${what}, bin ${bin}`, published, found: found[bin] ?? 0 }));
  return {
    name: "O10",
    about: "Meta's traces of 2021, file `_0`: rows and accesses by how often a batch uses a row (profile `meta-2021`)",
    tolerance: 0.01,
    unit: "points",
    figures: [
      ...bins(rowShares, made.rowShares, "rows"),
      ...bins(accessShares, made.accessShares, "accesses"),
      { figure: "lookups a batch, to the file's", published: 1, found: made.lookups / (lookups * part) },
      { figure: "rows a batch uses, to the file's", published: 1, found: made.rows / (rows * part) },
    ],
  };
}

/** O11: numpy's zipf folded by modulo into a million rows, as TorchRec's benchmark does. */
async function folded(): Promise<OpenTarget> {
  const published = [[1.1, 0.2, 0.769], [1.1, 0.01, 0.626], [1.2, 0.2, 0.933], [1.2, 0.01, 0.859]] as const;
  return {
    name: "O11",
    about:
      "zipf(1.1) and zipf(1.2) modulo 1e6 rows: share of accesses to the hottest rows (profiles `torchrec-zipf-*`)",
    tolerance: 0.002,
    unit: "points",
    figures: await Promise.all(published.map(async ([s, part, share]) => ({
      figure: `${s}: hottest ${part * 100} %`,
      published: share,
      found: await shareOfTop(`torchrec-zipf-${s}`, part),
    }))),
  };
}

/** A published effect and the band of the simulated one. */
export interface BandedFigure extends PublishedDeviation {
  /** 90 % band. */
  readonly band: readonly [number, number];
}

/** Published figures that are relative to another case of their source. */
export interface RelativeFigures {
  /** How many there are, and how many of them set no parameter. */
  readonly relative: { readonly figures: number; readonly free: number };
  /**
   * Those that set no parameter and have a band; the engine's range in it is made of those that stand in other figures of the
   * source.
   */
  readonly banded: readonly BandedFigure[];
  /** The engine's range that all of them give. */
  readonly engine: number;
}

/** A shipped simulation in virtual time, for its published figures. */
async function runShipped(name: string): Promise<SimulationResult> {
  const simulation = await loadSimulation(new URL(`../../scenarios/${name}.jsonc`, import.meta.url));
  return await runSimulation({ ...simulation, explain: [] });
}

function bandedOf(result: SimulationResult, engineOf?: (figure: string) => number): BandedFigure[] {
  return publishedDeviations(result, engineOf).flatMap(([, { band, ...one }]) =>
    band === undefined || one.calibrates !== undefined ? [] : [{ ...one, band }]
  );
}

/** ln(simulated / published) of an effect; an extra time is compared as the whole time. */
function logarithmOf({ of, published, simulated }: PublishedDeviation): number {
  const whole = of === "extra-time" ? 1 : 0;
  return Math.log((simulated + whole) / (published + whole));
}

/** `Fig. 7` of `Fig. 7, PMem-OE, 4 GPUs`. */
const plateOf = (figure: string): string => figure.split(",")[0] ?? figure;

function relativeFigures(result: SimulationResult): RelativeFigures {
  const taken = bandedOf(result);
  const banded = bandedOf(
    result,
    (figure) => engineRangeOf(taken.filter((one) => plateOf(one.figure) !== plateOf(figure)).map(logarithmOf)),
  );
  return {
    relative: relativeOf(result.run.scenario.published) ?? { figures: 0, free: 0 },
    banded,
    engine: engineRangeOf(taken.map(logarithmOf)),
  };
}

/** The figures of a simulation whose names match, as a target. */
function simulatedTarget(
  result: SimulationResult,
  name: string,
  about: string,
  tolerance: number,
  match: RegExp,
  ordered: boolean,
): OpenTarget {
  const own = publishedDeviations(result).filter(([, { figure }]) => match.test(figure));
  const order = orderOf(own.map(([, one]) => ({ ...one, source: name })));
  return {
    name,
    about,
    tolerance,
    unit: "share",
    figures: own.map(([{ configuration }, { figure, of, published, simulated, calibrates, nulls }]) => ({
      figure: `${figure}, ${configuration}`,
      // An extra time is compared as the whole time, of the baseline's.
      published: published + (of === "extra-time" ? 1 : 0),
      found: simulated + (of === "extra-time" ? 1 : 0),
      ...(calibrates === undefined ? {} : { calibrates }),
      ...(calibrates !== undefined || nulls === undefined
        ? {}
        : { nulls: Object.fromEntries(nulls.map(({ model, within }) => [model, within])) }),
    })),
    ...(order === undefined || !ordered ? {} : { order }),
  };
}

/** O2, O4, O5. */
function openEmbedding(result: SimulationResult): OpenTarget[] {
  return ([
    ["O2", "OpenEmbedding, Fig. 11: miss rate of a 2 GB cache by skew, 16 GPUs", 0.1, /^Fig\. 11/, false],
    ["O4", "OpenEmbedding, Fig. 3 and 7: epoch time without checkpoints, to DRAM", 0.15, /^Fig\. [37],/, true],
    ["O5", "OpenEmbedding, Fig. 6: epoch time with checkpoints, to DRAM", 0.15, /^Fig\. 6,/, true],
  ] as const).map(([name, about, tolerance, match, ordered]) =>
    simulatedTarget(result, name, about, tolerance, match, ordered)
  );
}

/** O15, O16: rows in a GPU's memory and behind its link. */
async function gpuMemory(): Promise<OpenTarget[]> {
  return [
    simulatedTarget(
      await runShipped("paper-hierarchicalkv"),
      "O15",
      "HierarchicalKV (A100): finds by width and by where values are, to those of 64 weights in HBM",
      0.2,
      /^find/,
      false,
    ),
    simulatedTarget(
      await runShipped("hbm-cache"),
      "O16",
      "dynamicemb (H100): steps by where rows are and what is cached, to each other",
      0.2,
      /^/,
      false,
    ),
  ];
}

/** What simulations and profiles are held against. */
export interface PublishedTargets {
  /** All targets, by name. */
  readonly open: readonly OpenTarget[];
  /** Published effects and their bands. */
  readonly effects: RelativeFigures;
}

/** Runs what the targets are about, and compares. */
export async function openTargets(): Promise<PublishedTargets> {
  const result = await runShipped("paper-openembedding"), [o2, o4, o5] = openEmbedding(result);
  const all = [await retail(), o2, o4, o5, await meta(), await folded(), ...await gpuMemory()];
  return { open: all.filter((target) => target !== undefined), effects: relativeFigures(result) };
}
