/* planted.h - the model that synthetic labels come from. A row's logit is
 *
 *   bias + sum over 13 numerics of f_j(x_j) + sum over 26 columns of e_c(id)
 *
 * and its label is 1 with probability sigmoid(logit). Nothing predicts these labels better than this logit, so its AUC
 * on the rows written is the best reachable one.
 *
 *   - Ids: rank by a Zipf-Mandelbrot law over the column's vocabulary; the key is a bijective mix of (seed, column,
 *     rank), any int64. Vocabulary sizes are Criteo Kaggle's times `scale`, at least 3 (or Kaggle's, if smaller).
 *   - e_c: one value an id, whether hot or cold: a sum of four uniforms (Irwin-Hall, close to normal), a pure function
 *     of (seed, column, rank), centred and scaled so that the column has its share of the logit's variance. That share
 *     falls slowly with the vocabulary n, as 1 / sqrt(log2(8 + n)): a column of 200,000 ids gets 0.44 of what one of
 *     three ids gets, for an id seen a handful of times cannot be learnt by anybody.
 *   - x_j: counts with Criteo's missing shares, log-means and log-deviations, as 4096 equally likely values a column.
 *   - The model gets x_j by the transform of the options. Labels do not depend on that choice.
 *   - f_j: a + 0.15 (a^2 - 1) of the standardised log-transformed value a, standardised again, with a sign by the seed.
 *
 * Everything is a pure function of (options, row number), in IEEE arithmetic: the same on every machine and with any
 * number of threads. */
#ifndef TS_INPUT_PLANTED_H
#define TS_INPUT_PLANTED_H

#include "wdl/input/cache_format.h"
#include "base/zipf.h"

#define TS_PLANTED_ATOMS 4096u

/* Standard deviation of the logit, and the share of its variance that comes from the 26 columns. With a click rate of
 * a quarter this gives an AUC near 0.80, and near 0.68 for the numerics alone. */
#define TS_PLANTED_DEVIATION 1.35
#define TS_PLANTED_CATEGORICAL 0.6
#define TS_PLANTED_CLICK_RATE 0.25

typedef struct ts_planted_options {
  uint64_t seed;
  uint32_t split; /* 0 train, 1 test: independent rows of the same model */
  double scale, skew_s, skew_q;
  uint32_t numerics; /* TS_NUMERICS_* */
  double skew_rows;  /* rows of the table whose law has skew_q; 0: each column's own rows in Criteo Kaggle */
} ts_planted_options;

typedef struct ts_planted {
  ts_planted_options options;
  uint64_t key_mask; /* mixed into every key */
  double bias;
  ts_zipf ranks[TS_CATEGORIES];
  double effect_scale[TS_CATEGORIES], effect_centre[TS_CATEGORIES];
  float value[TS_NUMERICS][TS_PLANTED_ATOMS];  /* transformed, what the model gets */
  float effect[TS_NUMERICS][TS_PLANTED_ATOMS]; /* f_j of it */
} ts_planted;

/* Vocabulary of a column at a scale. */
uint64_t ts_planted_vocabulary(uint32_t column, double scale);

/* Errors: TS_ENOMEM. */
int32_t ts_planted_create(const ts_planted_options *options, ts_planted **out, ts_err err);
void ts_planted_free(ts_planted *planted);

/* The key of a rank (from 0) and the rank of a key; a rank beyond the vocabulary means: no key of this column. */
int64_t ts_planted_key(uint64_t key_mask, uint32_t column, uint64_t rank);
uint64_t ts_planted_rank(uint64_t key_mask, uint32_t column, int64_t key);
uint64_t ts_planted_key_mask(uint64_t seed);

/* Effect of an id on the logit. */
double ts_planted_effect(const ts_planted *planted, uint32_t column, uint64_t rank);

/* Makes rows [first, first + count), count <= TS_CACHE_GROUP, with their logits in two parts (bias in neither). */
void ts_planted_rows(const ts_planted *planted, uint64_t first, uint32_t count, ts_cache_group *out,
                     double *numeric_logit, double *categorical_logit);

#endif
