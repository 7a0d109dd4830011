/* law.h - how popular the rows of a table are, whatever their number: a popularity law as buckets of equal rows.
 *
 * A million million rows under a Zipf-Mandelbrot law are some 700 buckets, because neighbouring ranks have nearly the
 * same weight. What needs only sums over rows (Che's approximation, shares, expected distinct rows of a batch) takes
 * microseconds on it, and keys are drawn from it by an alias table over the buckets.
 *
 * Laws are made from a Zipf-Mandelbrot law with heavy hitters, or from buckets that are known (a reuse histogram: so many
 * rows were used so often). */
#ifndef TS_SIMULATOR_LAW_H
#define TS_SIMULATOR_LAW_H

#include "base/base.h"

/* Rows that count as equally popular; `weight` is that of each of them. */
typedef struct ts_law_bucket {
  uint64_t rows;
  double weight;
} ts_law_bucket;

/* Buckets by falling weight. A row's share of the accesses is its weight / total. */
typedef struct ts_law {
  uint64_t rows; /* of all buckets */
  double total;  /* sum of rows * weight */
  uint32_t count;
  ts_law_bucket *buckets;
} ts_law;

#define TS_LAW_MOST_ROWS (UINT64_C(1) << 53) /* so that every count of rows is exact in a double */

/* Rank r of 1..rows - hitters has weight (r + q)^-s; in front of them rows that have the given shares of all accesses
 * (heavy hitters, as in FBGEMM's EEG: what they leave is the law's). Weights inside a bucket differ by at most 4 % and
 * are their mean. rows >= 1, s >= 0, q >= 0; shares positive, together below 1 unless they are all the rows.
 * Errors: TS_EINVAL, TS_ENOMEM. */
int32_t ts_law_zipf(uint64_t rows, double s, double q, const double *hitters, uint32_t hitter_count, ts_law *out,
                    ts_err err);
/* From buckets in any order; those of equal weight become one, empty ones vanish. A weight of 0 is allowed: rows that
 * are never asked for. Errors: TS_EINVAL (no rows, a weight that is negative or not finite, nothing but zero weights),
 * TS_ENOMEM. */
int32_t ts_law_buckets(const ts_law_bucket *buckets, uint32_t count, ts_law *out, ts_err err);
void ts_law_free(ts_law *law);

/* Expected number of distinct rows in `lookups` independent lookups: the sum of 1 - (1 - share)^lookups. */
double ts_law_distinct(const ts_law *law, double lookups);
/* -log(1 - share) of a bucket's rows: they are not in t lookups with probability e^(-t * this). */
double ts_law_decay(const ts_law *law, uint32_t bucket);

/* 1 - e^-x, exact for small x too; x >= 0. */
double ts_one_minus_exp(double x);

#endif
