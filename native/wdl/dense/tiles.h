/* tiles.h - where the input and the hidden pass leave transposed tiles, and how. */
#ifndef TS_WDL_DENSE_TILES_H
#define TS_WDL_DENSE_TILES_H

#include "wdl/dense/passes.h"

typedef struct ts_target {
  ts_transposed t;
  bool streams; /* whole lines past the caches */
  uint32_t level;
} ts_target;

/* Lines written here are read when all shards are done. Where they would not stay in the caches until then, or lie in
 * few of their sets (the distance of units is a power of two), they had better not go there. */
TS_INLINE ts_target ts_target_of(const ts_transposed *t, uint32_t width, bool bf16, uint32_t level) {
  const size_t size = bf16 ? 2 : 4;
  const bool lines = t->stride * size % 64 == 0 && ((uintptr_t)t->to + t->at * size) % 64 == 0;
  return (ts_target){*t, level == TS_LEVEL_AVX512 && lines && t->stride * width * size >= TS_STREAM_BYTES, level};
}

TS_INLINE void ts_store_line(const ts_target *to, char *at, ts_lanes x) {
  if (to->streams) ts_stream_line(at, x, to->level);
  else memcpy(at, &x, sizeof x);
}

/* Writes a transposed tile: `columns` of sixteen, all of them in one store. */
TS_INLINE void ts_store_tile(const ts_target *to, uint32_t unit, uint32_t row, const ts_lanes tile[TS_LANES],
                             bool bf16) {
  const ts_transposed *t = &to->t;
  uint32_t columns = TS_MIN(TS_LANES, t->padded - row);
  const size_t size = bf16 ? 2 : 4;
  for (uint32_t i = 0; i < TS_LANES; i++) {
    char *at = (char *)t->to + ((unit + i) * t->stride + t->at + row) * size;
    if (columns == TS_LANES && !bf16) {
      ts_store_line(to, at, tile[i]);
    } else if (columns == TS_LANES) {
      ts_store_elements(at, 0, tile[i], bf16);
    } else {
      _Alignas(64) char some[64];
      ts_store_elements(some, 0, tile[i], bf16);
      memcpy(at, some, columns * size);
    }
  }
}

/* BF16: 32 rows of 32 units, of which `first` has rows 0 to 15 and `second` the others; lanes are two units. Whole cache
 * lines on both sides, and half the steps of two single tiles. */
TS_INLINE void ts_store_square(const ts_target *to, uint32_t unit, uint32_t row, ts_lanes first[TS_LANES],
                              ts_lanes second[TS_LANES]) {
  const ts_transposed *t = &to->t;
  char *at = (char *)t->to + (unit * t->stride + t->at + row) * 2;
  ts_transpose(first, to->level);
  ts_transpose(second, to->level);
  for (uint32_t i = 0; i < TS_LANES; i++, at += 4 * t->stride) {
    const ts_words a = (ts_words)first[i], b = (ts_words)second[i];
    ts_store_line(to, at, (ts_lanes)ts_even_words(a, b, to->level));
    ts_store_line(to, at + 2 * t->stride, (ts_lanes)ts_odd_words(a, b, to->level));
  }
}
#define TS_SQUARE (2 * TS_LANES)

/* How far squares go; tiles do the rest of the columns, and of their rows. */
typedef struct ts_squares {
  uint32_t rows, columns;
} ts_squares;
TS_INLINE ts_squares ts_squares_of(uint32_t rows, uint32_t columns, bool any) {
  return any ? (ts_squares){rows - rows % TS_SQUARE, columns - columns % TS_SQUARE} : (ts_squares){0, 0};
}

#endif
