/**
 * What media models say where a figure was published.
 *
 * @module
 */

import { MediaModel, type MediaQuery, packMediaQueries } from "../../../ffi/media.ts";
import type { CalibrationPoint } from "./points.ts";

/** Points of one medium and platform, ready to be asked again and again with other parameters. */
export interface Questions {
  /** The points, in the order of the answers. */
  readonly points: readonly CalibrationPoint[];
  /** Their queries for {@linkcode MediaModel.ask}. */
  readonly packed: Float64Array<ArrayBuffer>;
  /** Where a point's threads are readers and writers: what each does alone, at `2 i` and `2 i + 1`. */
  readonly alone: Float64Array<ArrayBuffer>;
  /** Which points those are. */
  readonly shared: readonly number[];
}

/** Packs the questions of points that belong to one medium and platform. */
export function questionsOf(points: readonly CalibrationPoint[]): Questions {
  const shared = points.flatMap((point, i) => point.readers === undefined ? [] : [i]);
  const alone = shared.flatMap((i): MediaQuery[] => {
    const query = points[i]?.query;
    if (query === undefined) return [];
    return [{ ...query, threads: 1 }, { ...query, threads: 1, operation: "nt-store" }];
  });
  return { points, packed: packMediaQueries(points.map(({ query }) => query)), alone: packMediaQueries(alone), shared };
}

/** Column of the share of the bytes read, and columns of a query (`ts_media_evaluate`). */
const READ_SHARE = 7, COLUMNS = 14;

/** The model's answer to each point: ns or bytes/s. */
export function predict(options: Record<string, string>, questions: Questions): Float64Array {
  using model = new MediaModel(options);
  return answersOf(model, questions);
}

/** As {@linkcode predict}, of a model that is kept open. */
export function answersOf(model: MediaModel, { points, packed, alone, shared }: Questions): Float64Array {
  if (shared.length > 0) {
    const rates = model.ask(alone);
    shared.forEach((at, i) => {
      const point = points[at];
      const readers = point?.readers ?? 0, writers = (point?.query.threads ?? 0) - readers;
      const read = readers * (rates[2 * i] ?? 0), write = writers * (rates[2 * i + 1] ?? 0);
      packed[at * COLUMNS + READ_SHARE] = read / (read + write);
    });
  }
  return model.ask(packed);
}
