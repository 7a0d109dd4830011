/* columns.c - copies between the rows of the network's input and the columns it is made of. */
#include "wdl/layers/columns.h"

#include <string.h>

void ts_columns_lay_out(ts_columns *columns, uint32_t batch, uint32_t count, const uint32_t *dims, uint32_t first) {
  columns->batch = batch;
  columns->count = count;
  columns->all = 0;
  for (uint32_t c = 0; c < count; c++) {
    columns->dims[c] = dims[c];
    columns->at[c] = first + columns->all;
    columns->before[c] = (uint64_t)columns->all * batch;
    columns->all += dims[c];
  }
}

void ts_columns_join_numerics(uint32_t batch, uint32_t first, uint32_t rows, const float *numerics, float *x,
                              uint32_t stride, uint32_t width) {
  for (uint32_t r = first; r < first + rows; r++)
    for (uint32_t j = TS_NUMERICS; j < width; j++) x[(size_t)r * stride + j] = 0;
  for (uint32_t j = 0; j < TS_NUMERICS; j++)
    for (uint32_t r = first; r < first + rows; r++) x[(size_t)r * stride + j] = numerics[(size_t)j * batch + r];
}

void ts_columns_gather(const ts_columns *columns, uint32_t first, uint32_t rows, const float *blocks, float *x) {
  for (uint32_t c = 0; c < columns->count; c++) {
    const uint32_t dim = columns->dims[c];
    const float *from = blocks + columns->before[c] + (size_t)first * dim;
    float *to = x + (size_t)first * columns->stride + columns->at[c];
    for (uint32_t r = 0; r < rows; r++, from += dim, to += columns->stride) memcpy(to, from, dim * sizeof *to);
  }
}

void ts_columns_scatter(const ts_columns *columns, uint32_t first, uint32_t rows, const float *dx, float *blocks) {
  for (uint32_t c = 0; c < columns->count; c++) {
    const uint32_t dim = columns->dims[c];
    const float *from = dx + (size_t)first * columns->stride + columns->at[c];
    float *to = blocks + columns->before[c] + (size_t)first * dim;
    for (uint32_t r = 0; r < rows; r++, from += columns->stride, to += dim) memcpy(to, from, dim * sizeof *to);
  }
}
