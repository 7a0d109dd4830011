/**
 * What a case asks the media, and how many figures there are that were asked the same way: published ones of the shipped
 * media, those of `tierbench calibrate` of a medium by path.
 *
 * @module
 */

import { isPathWord } from "../../base/path_word.ts";
import type { SimulatedQuestion } from "../../ffi/simulate.ts";
import type { MediaQuery } from "../../ffi/media.ts";
import { accessOf, loadResiduals, widthOf } from "../media/calibration/bands.ts";
import type { BandBasis } from "../media/calibration/basis.ts";
import { loadCalibration } from "../media/calibration/calibration.ts";
import { pointsOf } from "../media/calibration/points.ts";
import { loadMedia } from "../media/media.ts";
import type { AskedQuestion } from "./record.ts";
import type { ResolvedTier } from "./simulation.ts";

/** What a figure was asked, and whether lines were asked for before they were used. */
type Asked = Pick<MediaQuery, "ask" | "operation" | "bytes" | "threads"> & Partial<MediaQuery> & {
  readonly ahead: boolean;
};

/** Bandwidths by the names of the shipped media, read once. */
let published: Promise<ReadonlyMap<string, readonly Asked[]>> | undefined;

async function loadPublished(): Promise<ReadonlyMap<string, readonly Asked[]>> {
  return Map.groupBy(
    pointsOf(await loadCalibration())
      // Published figures are those of plain loops.
      .map(({ medium, query }) => ({ ...query, medium, ahead: false })).filter(({ ask }) => ask === "bandwidth"),
    ({ medium }) => medium,
  );
}

/** What `tierbench calibrate` asks for before it is used (native/gauge/memory.c): random accesses through the caches. */
function isGaugedAhead({ operation, sequential = false }: Omit<Asked, "ahead">): boolean {
  return (operation === "load" || operation === "cached-store") && !sequential;
}

/** Figures of a medium's bandwidth. */
async function figuresOf(word: string): Promise<readonly Asked[]> {
  if (!isPathWord(word)) return (await (published ??= loadPublished())).get(word) ?? [];
  const points = (await loadMedia(word)).measured?.points ?? [];
  return points.filter(({ ask }) => ask === "bandwidth").map((
    { ask, operation, bytes, threads, readShare, fenced = false },
  ) => ({
    ask,
    operation,
    bytes,
    threads,
    fenced,
    ...(readShare === undefined ? {} : { readShare }),
    // The prefetchers of the machine that was measured were on.
    prefetch: true,
    ahead: isGaugedAhead({ ask, operation, bytes, threads }),
  }));
}

/** Two counts that a figure and a question may differ by, and still be of the same place on a curve. */
const NEAR = 2;
const near = (a: number, b: number): boolean => a <= NEAR * b && b <= NEAR * a;

/** Whether a figure is of the operation that is asked: its fence, order and hops, reads or writes alone. */
function isAlike(asked: Asked, question: SimulatedQuestion): boolean {
  const { operation, fenced = false, sequential = false, hops = 0, readShare } = asked;
  return readShare === undefined && operation === question.operation && fenced === question.fenced &&
    sequential === question.sequential && hops === question.hops;
}

/** Whether it was asked at about this size and number of accesses under way, with as many devices, by the same way through the caches. */
function isSame(asked: Asked, { bytes, threads, depth, prefetch, ahead }: SimulatedQuestion, devices: number): boolean {
  // A drive has no caches before it whose prefetchers could matter, or into which lines could be asked for; nor do stores that
  // go past the caches.
  const caches = depth > 1 || asked.operation === "nt-store" ||
    (asked.prefetch ?? false) === prefetch && asked.ahead === ahead;
  return near(asked.bytes, bytes) && near(asked.threads * Math.max(1, asked.depth ?? 1), threads * depth) &&
    (asked.devices ?? 1) === devices && caches;
}

/** The questions of a case with the figures that back each, the least backed first. */
export async function askedQuestions(
  questions: readonly SimulatedQuestion[],
  tiers: readonly Pick<ResolvedTier, "media" | "devices">[],
): Promise<AskedQuestion[]> {
  const residuals = await loadResiduals(tiers.map(({ media }) => media));
  const asked = await Promise.all(
    questions.map(async ({ tier: t, ...question }): Promise<AskedQuestion | undefined> => {
      const tier = tiers[t];
      if (tier === undefined) return undefined;
      const alike = (await figuresOf(tier.media)).filter((one) => isAlike(one, { tier: t, ...question }));
      const figures = alike.filter((one) => isSame(one, { tier: t, ...question }, tier.devices)).length;
      const kind = question.operation === "load" ? "read" : "write";
      const own = isPathWord(tier.media);
      const known = residuals[tier.media]?.[kind], access = accessOf(question);
      const validated = known?.validated?.includes(access) === true;
      return {
        media: tier.media,
        ...question,
        devices: tier.devices,
        figures,
        alike: alike.length,
        ...(own ? {} : { validated }),
        ...(known?.accesses.includes(access) ? { band: widthOf(known, access) } : {}),
      };
    }),
  );
  return asked.filter((one) => one !== undefined).sort((a, b) => a.figures - b.figures || a.alike - b.alike);
}

/** Whether a question's access is validated: `yes`, `not validated`, `measured` of a medium by path; `not told` in older records. */
export function validatedText({ media, validated }: AskedQuestion): string {
  if (isPathWord(media)) return "measured";
  return validated === undefined ? "not told" : validated ? "yes" : "not validated";
}

const BASIS: Readonly<Record<BandBasis, string>> = {
  access: "its own figures of this access",
  kind: "its own figures of this kind",
  medium: "its own figures of all kinds",
  class: "figures of this kind of all media of its class",
  all: "figures of this kind of all media",
  fit: "its own figures of this kind, errors of the fit",
  apart: "its own figures of this kind that no fit sees, whose errors are larger",
  measured: "figures measured on the machine that its file names",
};

/** Whose figures a band is made of, in words: `its own figures of this access`. */
export function basisText(basis: BandBasis): string {
  return BASIS[basis];
}

/**
 * The band of a question, and whose figures it is made of: `x 1.20, its own figures of this access`; `none` where the access was
 * never compared, `not told` in older records.
 */
export function questionBandText({ media, validated, band }: AskedQuestion): string {
  if (band === undefined) return validated === undefined && !isPathWord(media) ? "not told" : "none";
  return `x ${band.factor.toFixed(2)}, ${basisText(band.basis)}`;
}

/** How a question's accesses are done: `load, asked ahead`. */
export function accessText({ operation, sequential, ahead, fenced }: AskedQuestion): string {
  return [operation, sequential && "gathered", ahead === true && "asked ahead", fenced && "fenced"]
    .filter((word) => typeof word === "string").join(", ");
}
