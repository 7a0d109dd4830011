/**
 * What a simulation does not know exactly, each with a range, and draws of all of it together (Monte Carlo).
 *
 * A range is a factor f: nine times in ten the true value is between a / f and a times f of what is taken, log-normal. Where
 * ranges come from:
 *
 * - Media: the 90 % band of the calibration of that operation on that medium (`bandFor`).
 * - Stated times and rates: what the simulation's `ranges` says, else {@linkcode DEFAULT_RANGES}, which are assumptions.
 * - The engine: what is left between simulated and published effects of systems whose parameters are set
 *   ({@linkcode ENGINE_RANGE}).
 *
 * @module
 */

import type { Stretch } from "./native_options.ts";
import type { RangedField, ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/** Draws of a case. 5 and 95 % of so many are known to about a fifth of the band's width. */
const DRAWS = 100;

/** 95 % quantile of the standard normal distribution: nine in ten are between it and its negative. */
const Z95 = 1.645;

/**
 * The engine's range that effects give: what is left between simulated and published ratios of two configurations (root mean
 * square of the logarithms); one configuration's part of that is its square root of two's part.
 *
 * @param logarithms ln(simulated / published) of effects that set no parameter.
 */
export function engineRangeOf(logarithms: readonly number[]): number {
  const squares = logarithms.reduce((sum, one) => sum + one ** 2, 0);
  return Math.exp(Z95 * Math.sqrt(squares / logarithms.length / 2));
}

/**
 * Range of the engine's own error of one configuration. The 13 effects of OpenEmbedding (ICDE 2023) that set no parameter are
 * off by 3.6 %, one configuration by 2.6 % (a test says so). Where effects are judged, the range is made of the others.
 */
export const ENGINE_RANGE: number = Math.exp(Z95 * 0.026);

/** Ranges of stated figures that nobody gave one: assumptions, for a time measured on one machine and used for another. */
export const DEFAULT_RANGES: Readonly<Record<RangedField, number>> = {
  "compute.dense": 1.1,
  "compute.rest": 1.1,
  "compute.parse": 1.25,
  "compute.perKey": 1.5,
  "compute.perRow": 1.5,
  "compute.perUpdate": 1.5,
  "compute.perLock": 2,
  "compute.perMessage": 2,
  "cluster.network.bandwidth": 1.1,
  "cluster.network.latency": 2,
  "software.lock": 1.2,
  "software.upkeep": 1.5,
  "software.track": 1.5,
  "software.miss": 1.5,
  "tiers.perRead": 1.5,
  "tiers.perWrite": 1.5,
  "pages.fault": 2,
  "migration.perPage": 2,
  "checkpoint.bandwidth": 1.2,
};

/** A 90 % range of a tier's reads and writes; undefined where the tier has none of them. */
export interface TierRange {
  /** Model of the medium. */
  readonly media: string;
  /** Factor of its reads. */
  readonly read: number;
  /** Factor of its writes. */
  readonly write: number;
}

/** Something that is not known exactly. */
export interface Uncertain {
  /** What: cases that share it share its draws. */
  readonly of: string;
  /** Its 90 % range, above 1. */
  readonly factor: number;
}

/** Factors by what is uncertain; 1 where nothing is said. */
export type Factors = ReadonlyMap<string, number>;

type Set = ResolvedSimulatedConfiguration;

/** Stated figures of a case, by field. Zero: it has none. */
function statedOf({ compute, cluster }: ResolvedSimulation, set: Set): Readonly<Record<RangedField, number>> {
  const tiers = (read: "perRead" | "perWrite") => Math.max(...set.tiers.map((tier) => tier[read]));
  return {
    // A time that a run measured has its own spread; operations and a rate are as good as the rate.
    "compute.dense": typeof compute.dense === "object" && "result" in compute.dense ? 0 : 1,
    "compute.rest": compute.rest,
    "compute.parse": compute.parse,
    "compute.perKey": compute.perKey,
    "compute.perRow": compute.perRow,
    "compute.perUpdate": compute.perUpdate,
    "compute.perLock": compute.perLock,
    "compute.perMessage": cluster.servers > 0 ? compute.perMessage : 0,
    "cluster.network.bandwidth": cluster.servers > 0 ? cluster.network?.bandwidth ?? 0 : 0,
    "cluster.network.latency": cluster.servers > 0 ? cluster.network?.latency ?? 0 : 0,
    "software.lock": set.software.lock,
    "software.upkeep": set.software.upkeep,
    "software.track": set.software.track,
    "software.miss": set.software.miss,
    "tiers.perRead": tiers("perRead"),
    "tiers.perWrite": tiers("perWrite"),
    "pages.fault": set.pages.fault,
    "migration.perPage": set.migration?.perPage ?? 0,
    "checkpoint.bandwidth": set.checkpoint.kind === "none" ? 0 : set.checkpoint.bandwidth,
  };
}

const readsOf = (media: string) => `${media}, reads`;
const writesOf = (media: string) => `${media}, writes`;

/** Everything of a case that is not known exactly, but for the engine. */
export function uncertainOf(simulation: ResolvedSimulation, set: Set, tiers: readonly TierRange[]): Uncertain[] {
  const ranges: Readonly<Record<string, number>> = { ...DEFAULT_RANGES, ...simulation.ranges };
  const stated = Object.entries(statedOf(simulation, set)).flatMap(([of, value]) => {
    const factor = ranges[of] ?? 1;
    return value > 0 && factor > 1 ? [{ of, factor }] : [];
  });
  // A medium in two tiers is one medium: its wider range counts.
  const media = new Map<string, number>();
  for (const { media: name, read, write } of tiers) {
    for (const [of, factor] of [[readsOf(name), read], [writesOf(name), write]] as const) {
      if (factor > 1) media.set(of, Math.max(factor, media.get(of) ?? 1));
    }
  }
  return [...stated, ...[...media].map(([of, factor]) => ({ of, factor }))];
}

/** The case with every uncertain figure multiplied by its factor. */
export function withFactors(
  simulation: ResolvedSimulation,
  set: Set,
  factors: Factors,
): { readonly simulation: ResolvedSimulation; readonly set: Set; readonly stretch: Stretch[]; readonly dense: number } {
  const f = (of: RangedField) => factors.get(of) ?? 1;
  const { compute, cluster } = simulation;
  const { network } = cluster;
  return {
    dense: f("compute.dense"),
    stretch: set.tiers.map(({ media }) => ({
      read: factors.get(readsOf(media)) ?? 1,
      write: factors.get(writesOf(media)) ?? 1,
    })),
    simulation: {
      ...simulation,
      compute: {
        ...compute,
        rest: compute.rest * f("compute.rest"),
        parse: compute.parse * f("compute.parse"),
        perKey: compute.perKey * f("compute.perKey"),
        perRow: compute.perRow * f("compute.perRow"),
        perUpdate: compute.perUpdate * f("compute.perUpdate"),
        perLock: compute.perLock * f("compute.perLock"),
        perMessage: compute.perMessage * f("compute.perMessage"),
      },
      cluster: network === undefined ? cluster : {
        ...cluster,
        network: {
          bandwidth: network.bandwidth / f("cluster.network.bandwidth"),
          latency: network.latency * f("cluster.network.latency"),
        },
      },
    },
    set: {
      ...set,
      tiers: set.tiers.map((tier) => ({
        ...tier,
        perRead: tier.perRead * f("tiers.perRead"),
        perWrite: tier.perWrite * f("tiers.perWrite"),
      })),
      software: {
        ...set.software,
        lock: set.software.lock * f("software.lock"),
        upkeep: set.software.upkeep * f("software.upkeep"),
        track: set.software.track * f("software.track"),
        miss: set.software.miss * f("software.miss"),
      },
      pages: { ...set.pages, fault: set.pages.fault * f("pages.fault") },
      ...(set.migration === undefined
        ? {}
        : { migration: { ...set.migration, perPage: set.migration.perPage * f("migration.perPage") } }),
      checkpoint: { ...set.checkpoint, bandwidth: set.checkpoint.bandwidth / f("checkpoint.bandwidth") },
    },
  };
}

/** A number from a text and a count: FNV-1a, then the finaliser of MurmurHash3. Uniform in (0, 1). */
function uniform(text: string, n: number): number {
  let x = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${text}\n${n}`)) x = Math.imul(x ^ byte, 0x01000193);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (((x ^ (x >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

/** A standard normal number of a name and a draw (Box and Muller 1958). */
function normal(of: string, draw: number): number {
  return Math.sqrt(-2 * Math.log(uniform(of, 2 * draw))) * Math.cos(2 * Math.PI * uniform(of, 2 * draw + 1));
}

/** The factor of something uncertain in one draw, the same in every case. */
function drawn({ of, factor }: Uncertain, draw: number): number {
  return factor ** (normal(of, draw) / Z95);
}

/** Draws of the speed of a case relative to the speed as taken. */
export interface Drawn {
  /** Draws in their order. */
  readonly draws: readonly number[];
  /** Factors with one thing at one end alone, the widest first. */
  readonly doubts: readonly { of: string; factor: number; slower: number; faster: number }[];
}

/**
 * The engine's own error in one draw: half of it (of its variance) is its configuration's, half that of how the case is set up.
 *
 * @param engine Names of a configuration and of its case.
 * @param range Instead of {@linkcode ENGINE_RANGE}.
 */
export function engineDraw(
  { configuration, name }: { readonly configuration: string; readonly name: string },
  draw: number,
  range: number = ENGINE_RANGE,
): number {
  const factor = range ** Math.SQRT1_2;
  return [configuration, name].reduce((speed, of) => speed * drawn({ of: `the engine, ${of}`, factor }, draw), 1);
}

/**
 * Draws all that is uncertain together.
 *
 * @param uncertain What is not known exactly.
 * @param engine What the engine's own error is drawn by: the names of a configuration and of its case.
 * @param speedOf The speed with some factors, in any unit.
 */
export function drawSpeeds(
  uncertain: readonly Uncertain[],
  engine: { readonly configuration: string; readonly name: string },
  speedOf: (factors: Factors) => number,
): Drawn {
  const taken = speedOf(new Map());
  const draws: number[] = [];
  for (let i = 0; i < DRAWS; i++) {
    const factors = new Map(uncertain.map((one) => [one.of, drawn(one, i)]));
    draws.push(engineDraw(engine, i) * speedOf(factors) / taken);
  }
  const doubts = [{ of: "the engine", factor: ENGINE_RANGE, slower: 1 / ENGINE_RANGE, faster: ENGINE_RANGE }];
  for (const { of, factor } of uncertain) {
    const ends = [speedOf(new Map([[of, factor]])) / taken, speedOf(new Map([[of, 1 / factor]])) / taken];
    doubts.push({ of, factor, slower: Math.min(...ends), faster: Math.max(...ends) });
  }
  const width = ({ slower, faster }: { slower: number; faster: number }) => faster / slower;
  return { draws, doubts: doubts.sort((a, b) => width(b) - width(a)) };
}

/** The 5 and 95 % quantiles of draws. */
export function bandOfDraws(draws: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = [...draws].sort((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 1;
  return { low: at(0.05), high: at(0.95) };
}
