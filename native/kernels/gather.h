/* gather.h - batches of rows into dense output: row copies, bags of rows combined, bag gradients spread back to keys,
 * sums of gradients. `level` chooses the kernels (base/cpu_level.h); all levels give the same bits. */
#ifndef TS_GATHER_H
#define TS_GATHER_H

#include "base/cpu_level.h"
#include "optimizers/row_layout.h"

/* out[i * stride ..) becomes the weights of rows[i]; where rows[i] is NULL, out is left alone. next[0..coming), coming <= n:
 * rows that will be gathered after these, if they are known; narrow ones are prefetched on the way. */
void ts_gather_rows(uint32_t level, const ts_row_layout *layout, const void *const *rows, uint32_t n,
                    const void *const *next, uint32_t coming, float *out, uint64_t stride);

/* sums[i][0..dim) += gradients[i][0..dim) in order of i; sums may repeat. */
void ts_gradients_add(uint32_t level, uint32_t dim, float *const *sums, const float *const *gradients, uint32_t n);

/* ---- bags (ts_table_lookup_bags, ts_table_update_bags) ---- */

/* Ragged bags whose keys are worked off in pieces, in order. Both directions use it. */
typedef struct ts_bags {
  uint32_t level, dim, combiner;
  const uint64_t *offsets; /* [count + 1], not falling, the first 0 */
  uint64_t count;
  const float *weights; /* NULL: 1 */
  uint64_t bag;         /* of the next key, never an empty one; `count` after the last key */
  uint64_t key;         /* the next key's number */
  float divisor;        /* of the current bag: 1, the sum of weights, or sqrt(the sum of squared weights) */
} ts_bags;

/* Starts at the first key. The arrays belong to the caller and live as long as the bags. */
void ts_bags_begin(ts_bags *bags, uint32_t level, uint32_t dim, const uint64_t *offsets, uint64_t count,
                   const float *weights, uint32_t combiner);

/* Sets the empty bags in out[count][dim] to zero; the others need no first value. */
void ts_bags_clear_empty(const ts_bags *bags, float *out);

/* Adds the next n keys' rows to their bags in out[count][dim], in order: row, scaled by max_norm / |row| where its L2
 * norm is above max_norm (0: no limit), then times the key's weight. A bag whose last key is among them is then divided
 * as its combiner asks; one whose divisor is 0 becomes zeros. A NULL row counts as zeros. */
void ts_bags_accumulate(ts_bags *bags, const ts_row_layout *layout, const void *const *rows, uint32_t n, float max_norm,
                        float *out);

/* out[i * dim ..) becomes the gradient of the i-th of the next n keys: its bag's gradient times (weight / divisor),
 * zeros where the divisor is 0. */
void ts_bags_spread(ts_bags *bags, const float *gradients, uint32_t n, float *out);

#endif
