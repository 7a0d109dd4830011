/* packed.h - the right-hand side of a product in the order oneDNN reads it, and what writes it.
 *
 * A matrix of k rows and n columns lies as [n / n_block][k_padded][n_block] (a row-major one is n_block = n, or more where
 * its rows lie apart); in BF16 two rows are interleaved, [n / n_block][k_padded / 2][n_block][2], so that one 32-bit lane
 * holds what one multiply-add takes. Rows and columns beyond k and n are zeros. Sums run over rows of B, so for them any
 * order of rows will do if A's columns have the same.
 *
 * Writers take blocks while they are in the cache: weights just updated, gradients just computed. Widths are multiples
 * of 16. BF16 is rounded to the nearest, ties to even, as everywhere. */
#ifndef TS_WDL_DENSE_PACKED_H
#define TS_WDL_DENSE_PACKED_H

#include "base/base.h"

#ifndef TS_LANES
#define TS_LANES 16u
#endif

typedef struct ts_packed_layout {
  uint32_t k, n, k_padded, n_block;
  bool bf16, pairs;
} ts_packed_layout;

/* Place of an element, in elements. */
static inline size_t ts_packed_index(const ts_packed_layout *l, uint32_t row, uint32_t column) {
  size_t block = column / l->n_block, in_block = column % l->n_block;
  size_t base = block * l->k_padded * l->n_block;
  if (l->pairs) return base + (size_t)(row / 2) * 2 * l->n_block + in_block * 2 + row % 2;
  return base + (size_t)row * l->n_block + in_block;
}
/* Bytes of the whole matrix. */
static inline uint64_t ts_packed_bytes(const ts_packed_layout *l) {
  return (uint64_t)TS_ROUND_UP(l->n, l->n_block) * l->k_padded * (l->bf16 ? 2u : 4u);
}

/* Rows [row, row + rows) of B out of weights, `stride` floats apart; row and, with pairs, rows are even. */
void ts_pack_rows(const ts_packed_layout *l, void *packed, uint32_t row, uint32_t rows, const float *from,
                  uint32_t stride);
/* Columns [column, column + columns) of B: column + i is row i of `from`. Both are multiples of 16. */
void ts_pack_transposed(const ts_packed_layout *l, void *packed, uint32_t column, uint32_t columns, const float *from,
                        uint32_t stride);

#endif
