/**
 * How wrong a figure of a media model may be: bands from how far models were from published curves that they had not seen,
 * and the range of conditions in which there were any. `models/media/calibration/residuals.json` holds both; `tierbench validate-models --write`
 * makes it.
 *
 * @module
 */

import { isPathWord } from "../../../base/path_word.ts";
import type { MediaOperation } from "../../../ffi/media.ts";
import { measuredText } from "../measured.ts";
import type { BandBasis, BandWidth } from "./basis.ts";
import { loadMedia } from "../media.ts";
import type { FigureKind } from "./points.ts";

const FILE = new URL("./residuals.json", import.meta.url);

/** Lowest and highest of something. */
export type Range = readonly [number, number];

/** The width of the band of an access, its own if it has one. */
export function widthOf({ byAccess, factor, basis }: KindResiduals, access: string | undefined): BandWidth {
  const own = access === undefined ? undefined : byAccess?.[access];
  return own === undefined ? { factor, basis } : { factor: own.factor, basis: own.basis };
}

/** What is known of figures of one kind and one access of a medium, of which there are enough. */
export interface AccessResiduals {
  /** Published figures compared. */
  readonly points: number;
  /** Curves that they belong to. */
  readonly curves: number;
  /** As that of the kind. */
  readonly factor: number;
  /** Whose figures that was found with. */
  readonly basis: "access" | "fit" | "apart";
}

/** What is known of one kind of figure of one medium. */
export interface KindResiduals {
  /** Published figures compared. */
  readonly points: number;
  /** Curves that they belong to. */
  readonly curves: number;
  /** 90 % of the figures are within `value / factor` and `value * factor` (jackknife, a curve left out at a time). */
  readonly factor: number;
  /** Whose figures that was found with. */
  readonly basis: BandBasis;
  /** `measured on lab7 on 2026-11-22`, of figures of the user's own machine. */
  readonly measured?: string;
  /** How the medium was accessed: {@linkcode accessOf} of what was compared. */
  readonly accesses: readonly string[];
  /** Bands of their own for those accesses that have figures enough. */
  readonly byAccess?: Readonly<Record<string, AccessResiduals>>;
  /** Those accesses that the medium's family is validated for; absent: none. */
  readonly validated?: readonly string[];
  /** Sizes of an access, bytes. */
  readonly bytes: Range;
  /** Threads. */
  readonly threads: Range;
  /** Share of the bytes that are read. */
  readonly readShare: Range;
  /** NUMA hops. */
  readonly hops: Range;
  /** What else was part of questions that were compared; without it, none of {@linkcode Beside}. */
  readonly beside?: readonly Beside[];
}

/** Parts of a question that most figures do not have. */
export type Beside = "load" | "region" | "depth" | "devices" | "percentile" | "prefetch" | "no prefetch";

/** By medium and kind. */
export type Residuals = Readonly<Record<string, Readonly<Partial<Record<FigureKind, KindResiduals>>>>>;

/** Conditions of a figure; what is absent is not checked. */
export interface FigureConditions {
  /** How the medium is accessed. */
  readonly operation?: MediaOperation;
  /** With `operation`: whether a fence follows every access. Default false. */
  readonly fenced?: boolean;
  /** Size of an access. */
  readonly bytes?: number;
  /** Threads that share the medium. */
  readonly threads?: number;
  /** Share of the bytes that are read, 0 to 1. */
  readonly readShare?: number;
  /** NUMA hops. */
  readonly hops?: number;
  /** Whether the hardware prefetchers are on. */
  readonly prefetch?: boolean;
  /** Load beside the access: share of the peak, or bytes a second. */
  readonly load?: number;
  /** Bytes that the accesses fall on. */
  readonly region?: number;
  /** Accesses that each thread keeps in flight. */
  readonly depth?: number;
  /** Of the medium side by side. */
  readonly devices?: number;
  /** Of a latency. */
  readonly percentile?: number;
}

/** The parts of a question that most do not have. */
export function besideOf(
  { load = 0, region = 0, depth = 0, devices = 1, percentile = 0, prefetch }: FigureConditions,
): Beside[] {
  const parts: Readonly<Record<Beside, boolean>> = {
    load: load > 0,
    region: region > 0,
    depth: depth > 0,
    devices: devices > 1,
    percentile: percentile > 0,
    prefetch: prefetch === true,
    "no prefetch": prefetch === false,
  };
  return (Object.keys(parts) as Beside[]).filter((part) => parts[part]);
}

/** A 90 % band, or why there is none. */
export type Band =
  | {
    readonly calibrated: true;
    readonly low: number;
    readonly high: number;
    /** Whose figures it is made of. */
    readonly basis: BandBasis;
    /** Where and when, of a medium that was measured. */
    readonly measured?: string;
  }
  | { readonly calibrated: false; readonly outside: string };

/**
 * The residuals of the shipped media models, and of those given by path: what their own files say that was measured.
 *
 * @param words Media that will be asked for; those that are paths are added, under the path.
 */
export async function loadResiduals(words: Iterable<string> = []): Promise<Residuals> {
  const shipped = JSON.parse(await Deno.readTextFile(FILE)) as Residuals;
  const own = await Promise.all(
    [...new Set(words)].filter(isPathWord).map(async (word) => [word, await residualsOf(word)] as const),
  );
  return { ...shipped, ...Object.fromEntries(own) };
}

async function residualsOf(path: string): Promise<Residuals[string]> {
  const { measured } = await loadMedia(path);
  if (measured === undefined) return {};
  const by = { basis: "measured", measured: measuredText(measured) } as const;
  return Object.fromEntries(Object.entries(measured.figures).map(([kind, figures]) => [kind, { ...figures, ...by }]));
}

/** `nt-store`, or `nt-store, fenced`. */
export function accessOf({ operation, fenced = false }: { operation: MediaOperation; fenced?: boolean }): string {
  return fenced ? `${operation}, fenced` : operation;
}

type Ranged = "bytes" | "threads" | "readShare" | "hops";

const WORDS: Readonly<Record<Ranged, string>> = {
  bytes: "bytes an access",
  threads: "threads",
  readShare: "share of reads",
  hops: "NUMA hops",
};

const say = (value: number): string => String(Number(value.toPrecision(3)));

/** `threads: 64, calibrated from 1 to 24 (2.67 times the most)`; undefined if inside. */
function outside(name: Ranged, value: number, [low, high]: Range, by: string): string | undefined {
  if (value >= low && value <= high) return undefined;
  const range = low === high ? `at ${say(low)} only` : `from ${say(low)} to ${say(high)}`;
  const times = value > high ? value / high : low / value;
  const far = Number.isFinite(times) && times > 0 ? ` (${say(times)} times ${value > high ? "above" : "below"})` : "";
  return `${WORDS[name]}: ${say(value)}, ${by} ${range}${far}`;
}

/**
 * The 90 % band of a figure.
 *
 * @param residuals Of {@linkcode loadResiduals}.
 * @param medium Name of the media model.
 * @param kind Kind of figure.
 * @param value The model's figure, in any unit.
 * @param conditions Where it was asked.
 *
 * @example
 * ```ts
 * import { bandFor, loadResiduals } from "./bands.ts";
 *
 * const residuals = await loadResiduals();
 * const band = bandFor(residuals, "optane-100-6x256", "read", 35e9, { bytes: 256, threads: 64 });
 * console.log(band.calibrated); // false: published for 32 threads at most
 * ```
 */
export function bandFor(
  residuals: Residuals,
  medium: string,
  kind: FigureKind,
  value: number,
  conditions: FigureConditions = {},
): Band {
  const known = residuals[medium]?.[kind];
  const whose = isPathWord(medium) ? "measured" : "published";
  if (known === undefined) {
    return { calibrated: false, outside: `no ${whose} ${kind} figure of ${medium}` };
  }
  const { operation, fenced = false } = conditions;
  const access = operation === undefined ? undefined : accessOf({ operation, fenced });
  if (access !== undefined) {
    if (!known.accesses.includes(access)) {
      const compared = known.accesses.map((one) => `"${one}"`).join(", ");
      return {
        calibrated: false,
        outside: `no ${whose} ${kind} figure of "${access}" on ${medium}, only of ${compared}`,
      };
    }
  }
  const asked = besideOf(conditions).filter((part) => known.measured === undefined && !known.beside?.includes(part));
  if (asked.length > 0) {
    return { calibrated: false, outside: `no published ${kind} figure with ${asked.join(", ")} on ${medium}` };
  }
  const names = Object.keys(WORDS) as Ranged[];
  const reasons = names.flatMap((name) => {
    const given = conditions[name];
    const reason = given === undefined ? undefined : outside(name, given, known[name], known.measured ?? "calibrated");
    return reason === undefined ? [] : [reason];
  });
  if (reasons.length > 0) return { calibrated: false, outside: reasons.join("; ") };
  const { measured } = known;
  const { factor, basis } = widthOf(known, access);
  return {
    calibrated: true,
    low: value / factor,
    high: value * factor,
    basis,
    ...(measured === undefined ? {} : { measured }),
  };
}
