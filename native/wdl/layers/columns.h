/* columns.h - what stands in a row of the network's input, and the copies between rows and columns.
 *
 * Numerics come column by column from the data, the network wants them row by row. Vectors come from the tables (one for
 * each column of the data, or for several): straight into the input, or, without fusion, into a block of their own for
 * each, from where they are copied; gradients the other way round. */
#ifndef TS_WDL_COLUMNS_H
#define TS_WDL_COLUMNS_H

#include "wdl/input/cache_format.h"

typedef struct ts_columns {
  uint32_t batch, count;          /* vectors, at most TS_CATEGORIES */
  uint32_t dims[TS_CATEGORIES];   /* weights of a vector */
  uint32_t at[TS_CATEGORIES];     /* where it stands in a row of the input */
  uint64_t before[TS_CATEGORIES]; /* sum of dims of the vectors before, times batch: its block without fusion */
  uint32_t stride;                /* floats from row to row of the input */
  uint32_t all;                   /* sum of dims */
} ts_columns;

/* `count` vectors stand side by side from position `first` on; `stride` is left to the caller. */
void ts_columns_lay_out(ts_columns *columns, uint32_t batch, uint32_t count, const uint32_t *dims, uint32_t first);

/* Rows [first, first + rows): numerics[j * batch + r] to x[r * stride + j], zeros up to `width`. */
void ts_columns_join_numerics(uint32_t batch, uint32_t first, uint32_t rows, const float *numerics, float *x,
                              uint32_t stride, uint32_t width);
/* Blocks of vectors -> rows of the input, and gradients back. */
void ts_columns_gather(const ts_columns *columns, uint32_t first, uint32_t rows, const float *blocks, float *x);
void ts_columns_scatter(const ts_columns *columns, uint32_t first, uint32_t rows, const float *dx, float *blocks);

#endif
