/* dropout.h - which hidden units are kept: a pure function of (seed, step, layer, row of the batch, unit), so that it is
 * the same for any number of threads, fused or not. Sixteen units at a time cost a few multiplications. */
#ifndef TS_WDL_DENSE_DROPOUT_H
#define TS_WDL_DENSE_DROPOUT_H

#include "base/base.h"
#include "base/cpu_level.h"

#define TS_DROPOUT_STREAM UINT64_C(0x64726f70)

/* Random bits of one row in one layer and step. */
typedef struct ts_dropout_row {
  uint32_t low, high;
} ts_dropout_row;

static inline ts_dropout_row ts_dropout_row_of(uint64_t seed, uint64_t step, uint32_t layer, uint64_t row) {
  uint64_t r = ts_random64(ts_random64(seed, TS_DROPOUT_STREAM + layer, step), TS_DROPOUT_STREAM, row);
  return (ts_dropout_row){(uint32_t)r, (uint32_t)(r >> 32)};
}

/* Uniform 32 bits of a unit: its counter, keyed before and between, through the finaliser of MurmurHash3. */
TS_INLINE uint32_t ts_dropout_bits(ts_dropout_row row, uint32_t unit) {
  uint32_t x = unit * 0x9e3779b9u + row.low;
  x ^= x >> 16;
  x = x * 0x85ebca6bu ^ row.high;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
}

/* Units whose bits are below this are set to zero. */
static inline uint32_t ts_dropout_threshold(double share) { return (uint32_t)(share * 0x1p32); }

#endif
