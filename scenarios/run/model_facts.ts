/**
 * What a run records of the media models that it is slowed to: what they can give, and how far they are from what was
 * published.
 *
 * @module
 */

import { evaluateMedia, type MediaOperation, type MediaQuery } from "../../ffi/media.ts";
import { loadMedia, MediaError, mediaNativeOptions } from "../../models/media/media.ts";
import { loadResiduals } from "../../models/media/calibration/bands.ts";
import { askedQuestions } from "../../models/simulation/questions.ts";
import type { AskedQuestion } from "../../models/simulation/record.ts";
import type { MediumKind, ModelBand, ModelLimit } from "../record.ts";

/** Who accesses the medium, and how. */
export interface MediumUse {
  /** Type of the tier: `PMEM_LIBPMEM` writes past the caches, every other through them. */
  readonly type: string;
  /** Bytes of a row, 1 or more. */
  readonly rowBytes: number;
  /** Threads, 1 or more. */
  readonly threads: number;
}

/** What a model gives, and what it was asked for that. */
export interface AskedLimit extends ModelLimit {
  /** Each with the number of figures that back the answer. */
  readonly questions: readonly AskedQuestion[];
}

/**
 * What a media model gives to random accesses of a row each: the model with the parameters that the store is slowed with, asked as
 * the store asks it (native/emulation/emulation.c: the hardware prefetchers are on); and how many figures back the answers.
 *
 * @param name Name of the media model.
 * @throws {MediaError} if there is no such model, or a store cannot be slowed to it.
 */
export async function modelLimit(name: string, { type, rowBytes, threads }: MediumUse): Promise<AskedLimit> {
  const prefix = "emulate.";
  const given = Object.entries(mediaNativeOptions(await loadMedia(name), { prefix: "emulate", threads }));
  const parameters = given.map(([key, value]) => [key.slice(prefix.length), value] as const);
  const write: MediaOperation = type === "PMEM_LIBPMEM" ? "nt-store" : "cached-store";
  const queries = (["load", write] as const).map((operation): MediaQuery => ({
    ask: "bandwidth",
    operation,
    bytes: rowBytes,
    threads,
    prefetch: true,
  }));
  const options = Object.fromEntries(parameters.filter(([key]) => key !== "threads"));
  const [readBytesPerSecond, writeBytesPerSecond] = evaluateMedia(options, queries) as unknown as [number, number];
  const questions = await askedQuestions(
    queries.map(({ operation }) => ({
      tier: 0,
      operation,
      bytes: rowBytes,
      threads,
      depth: 1,
      hops: 0,
      prefetch: true,
      region: 0,
      // The store asks for rows before it uses them, which what goes past the caches cannot be.
      ahead: operation !== "nt-store",
      sequential: false,
      fenced: false,
    })),
    [{ media: name, devices: 1 }],
  );
  return { readBytesPerSecond, writeBytesPerSecond, rowBytes, threads, questions };
}

/**
 * What kind of medium a media model is of.
 *
 * @throws {MediaError} if there is no such model, or it is that of a link, on which no rows are.
 */
export async function mediaKind(name: string): Promise<MediumKind> {
  const { kind } = await loadMedia(name);
  if (kind !== "link") return kind;
  throw new MediaError(`Cannot hold rows on "${name}": it is the model of a link; name that of a memory or a disk`);
}

/** The bands of a media model, by kind of figure and access; empty if nothing published could be compared with it. */
export async function modelBands(name: string): Promise<ModelBand[]> {
  const known = (await loadResiduals([name]))[name] ?? {};
  return (["latency", "read", "write", "mixed"] as const).flatMap((kind) => {
    const found = known[kind];
    if (found === undefined) return [];
    const { factor, basis, points, curves, bytes, threads, byAccess = {} } = found;
    return [
      { kind, factor, basis, points, curves, bytes, threads },
      ...Object.entries(byAccess).map(([access, own]) => ({ kind, access, ...own, bytes, threads })),
    ];
  });
}
