/**
 * The miss-ratio curve of a run: what caches of other sizes would miss on the law that its synthetic data was drawn from.
 *
 * @module
 */

import { missRatioCurve, type PopularityLaw, popularityLaw } from "../../ffi/curve.ts";
import type { CurveRecord, SampleRecord } from "../record.ts";
import type { ResolvedScenario } from "../schema.ts";
import { KAGGLE_KEYS } from "../../models/workloads/vocabulary.ts";

/** Sizes from a thousandth of all rows to all of them. */
const SIZES = 12;

/**
 * The curve of a point of the matrix, for LRU and for the most popular rows.
 *
 * @param sample A sample with more than one tier.
 * @param scenario The scenario at its point.
 * @param cardinalities Rows of every column.
 * @returns Undefined where the data is no law, or the rows of the tables differ in bytes.
 */
export function curveRecord(
  { point, batch, trainer, tiers }: SampleRecord,
  { workload: { data } }: Pick<ResolvedScenario, "workload">,
  cardinalities: readonly number[],
): CurveRecord | undefined {
  const total = cardinalities.reduce((sum, rows) => sum + rows, 0);
  const dims = new Set(trainer?.["dims"]?.split(",") ?? []);
  const rows = tiers.reduce((sum, tier) => sum + tier.rows, 0);
  const bytes = tiers.reduce((sum, { purposes }) => sum + (purposes["rows"] ?? 0), 0);
  if (!("synthetic" in data) || cardinalities.length !== KAGGLE_KEYS.length || dims.size !== 1 || rows === 0) {
    return undefined;
  }
  const { s, q, rows: lawRows } = data.skew;
  const law = together(cardinalities.map((own, column) => {
    const relative = own / (lawRows > 0 ? lawRows : KAGGLE_KEYS[column] as number);
    return popularityLaw({ rows: own, s, q: q * relative });
  }));
  const ran = tiers[0]?.rows ?? 0;
  const spread = Array.from({ length: SIZES }, (_, i) => Math.round(total * 10 ** (-3 + 3 * i / (SIZES - 1))));
  const sizes = [...new Set([...spread, ran])].filter((size) => size > 0 && size <= total).sort((a, b) => a - b);
  const curve = (policy: "lru" | "popular") =>
    missRatioCurve({ law, sizes, policy, method: "analytic", batch: batch * cardinalities.length });
  const [lru, popular] = [curve("lru"), curve("popular")];
  return {
    type: "curve",
    point,
    policy: lru.policy,
    bound: popular.policy,
    method: lru.method,
    denominator: "distinct rows of each batch",
    batch: lru.batch,
    rows: total,
    rowBytes: bytes / rows,
    sizes,
    misses: lru.missRatios,
    bounds: popular.missRatios,
  };
}

/** One law of columns that are looked up equally often. */
function together(columns: readonly PopularityLaw[]): PopularityLaw {
  const shares = columns.map(({ rows, weights }) => {
    const sum = [...rows].reduce((total, count, i) => total + Number(count) * (weights[i] as number), 0);
    return weights.map((weight) => weight / sum);
  });
  return {
    rows: BigUint64Array.from(columns.flatMap(({ rows }) => [...rows])),
    weights: Float64Array.from(shares.flatMap((weights) => [...weights])),
  };
}
