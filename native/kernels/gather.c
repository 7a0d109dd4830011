/* gather.c - row copies and sums of gradients.
 *
 * Ordinary stores: streaming ones were no faster into 3.4 MB of output, and made its next reader wait for memory. */
#include "kernels/by_width.h"
#include "kernels/gather.h"

#define AHEAD 16u /* rows between prefetch and copy */
#define WRITE_AHEAD 8u /* rows between asking for a place in the output and writing there */
#define NARROW 32u /* floats: a block of such rows is asked for as a whole */
#define LINES_AHEAD 4u /* of a row; the CPU's own prefetcher sees to the rest */

/* Prefetching NULL does nothing. */
TS_INLINE void prefetch(const void *row, uint32_t bytes) {
  for (uint32_t at = 0; at < TS_MIN(bytes, LINES_AHEAD * 64); at += 64) __builtin_prefetch((const char *)row + at);
}

TS_INLINE void copy_rows(const void *const *rows, uint32_t n, float *restrict out, uint64_t stride, const uint32_t dim) {
  for (uint32_t i = 0; i < TS_MIN(n, AHEAD); i++) prefetch(rows[i], dim * (uint32_t)sizeof(float));
  for (uint32_t i = 0; i < n; i++, out += stride) {
    if (i + AHEAD < n) prefetch(rows[i + AHEAD], dim * (uint32_t)sizeof(float));
    if (TS_LIKELY(rows[i] != NULL)) memcpy(out, rows[i], dim * sizeof(float));
  }
}

/* As copy_rows, with the prefetches for rows that are copied next time, and for the output, which a batch overflows the
 * second-level cache with. (Behind its end a prefetch is harmless.) */
TS_INLINE void copy_and_ask(const void *const *rows, uint32_t n, const void *const *next, uint32_t coming,
                            float *restrict out, uint64_t stride, const uint32_t dim) {
  for (uint32_t i = 0; i < n; i++, out += stride) {
    if (i < coming) prefetch(next[i], dim * (uint32_t)sizeof(float));
    __builtin_prefetch(out + WRITE_AHEAD * stride, 1);
    if (TS_LIKELY(rows[i] != NULL)) memcpy(out, rows[i], dim * sizeof(float));
  }
}

TS_INLINE void widen_rows(const void *const *rows, uint32_t n, float *restrict out, uint64_t stride, const uint32_t dim) {
  for (uint32_t i = 0; i < n; i++, out += stride) {
    const uint16_t *restrict row = rows[i];
    if (TS_UNLIKELY(row == NULL)) continue;
    for (uint32_t j = 0; j < dim; j++) out[j] = ts_bf16_widen(row[j]);
  }
}

TS_INLINE void gather(const ts_row_layout *layout, const void *const *rows, uint32_t n, const void *const *next,
                      uint32_t coming, float *out, uint64_t stride) {
  if (layout->type == TS_FP32 && layout->dim <= NARROW && coming > 0) {
    TS_BY_WIDTH(copy_and_ask, layout->dim, rows, n, next, coming, out, stride)
  } else if (layout->type == TS_FP32) {
    TS_BY_WIDTH(copy_rows, layout->dim, rows, n, out, stride)
  } else {
    TS_BY_WIDTH(widen_rows, layout->dim, rows, n, out, stride)
  }
}

TS_EVERY_LEVEL(gather, gather,
               (const ts_row_layout *layout, const void *const *rows, uint32_t n, const void *const *next,
                uint32_t coming, float *out, uint64_t stride),
               (layout, rows, n, next, coming, out, stride))

void ts_gather_rows(uint32_t level, const ts_row_layout *layout, const void *const *rows, uint32_t n,
                    const void *const *next, uint32_t coming, float *out, uint64_t stride) {
  gather_levels[level](layout, rows, n, next, coming, out, stride);
}

TS_INLINE void add_rows(float *const *sums, const float *const *gradients, uint32_t n, const uint32_t dim) {
  for (uint32_t i = 0; i < n; i++) {
    float *restrict sum = sums[i];
    const float *restrict g = gradients[i];
    for (uint32_t j = 0; j < dim; j++) sum[j] += g[j];
  }
}

TS_INLINE void add(uint32_t dim, float *const *sums, const float *const *gradients, uint32_t n) {
  TS_BY_WIDTH(add_rows, dim, sums, gradients, n)
}

TS_EVERY_LEVEL(add, add, (uint32_t dim, float *const *sums, const float *const *gradients, uint32_t n),
               (dim, sums, gradients, n))

void ts_gradients_add(uint32_t level, uint32_t dim, float *const *sums, const float *const *gradients, uint32_t n) {
  add_levels[level](dim, sums, gradients, n);
}
