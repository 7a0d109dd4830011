/* lanes.h - sixteen 32-bit lanes: loads, stores, BF16 and the transposition of a 16 x 16 tile, for the loops of this
 * room only. Everything is inlined into loops that are compiled once for each kind of CPU (base/cpu_level.h).
 *
 * Tiles hold bits, not numbers: a float, or a BF16 value in the lower half of its lane. */
#ifndef TS_WDL_DENSE_LANES_H
#define TS_WDL_DENSE_LANES_H

#include <string.h>

#include "base/base.h"
#include "base/cpu_level.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint32_t ts_lanes __attribute__((vector_size(64)));
typedef float ts_float_lanes __attribute__((vector_size(64)));
typedef uint16_t ts_half_lanes __attribute__((vector_size(32)));
typedef uint16_t ts_words __attribute__((vector_size(64))); /* 32 BF16 values, or 16 lanes of two */

TS_INLINE ts_lanes ts_load_floats(const float *from) {
  ts_lanes x;
  memcpy(&x, from, sizeof x);
  return x;
}
TS_INLINE ts_lanes ts_load_halves(const uint16_t *from) {
  ts_half_lanes x;
  memcpy(&x, from, sizeof x);
  return __builtin_convertvector(x, ts_lanes);
}
TS_INLINE void ts_store_floats(float *to, ts_lanes x) { memcpy(to, &x, sizeof x); }
TS_INLINE void ts_store_halves(uint16_t *to, ts_lanes x) {
  ts_half_lanes half = __builtin_convertvector(x, ts_half_lanes);
  memcpy(to, &half, sizeof half);
}

/* To the nearest BF16, ties to even, in the lower half; NaN stays NaN. */
TS_INLINE ts_lanes ts_round_halves(ts_lanes bits) {
  ts_lanes rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, nan = bits >> 16 | 0x40u;
  ts_lanes is_nan = (ts_lanes)((bits & 0x7fffffffu) > 0x7f800000u);
  return (rounded & ~is_nan) | (nan & is_nan);
}

/* One lane of a BF16 matrix is two rows. */
TS_INLINE void ts_store_pairs(uint16_t *to, ts_lanes even, ts_lanes odd) {
  ts_lanes x = even | odd << 16;
  memcpy(to, &x, sizeof x);
}

/* Elements of the type in hand. */
TS_INLINE ts_lanes ts_load_elements(const void *from, size_t at, bool bf16) {
  return bf16 ? ts_load_halves((const uint16_t *)from + at) : ts_load_floats((const float *)from + at);
}
TS_INLINE void ts_store_elements(void *to, size_t at, ts_lanes x, bool bf16) {
  if (bf16) ts_store_halves((uint16_t *)to + at, x);
  else ts_store_floats((float *)to + at, x);
}

/* A whole cache line to where it is not read soon: past the caches, so that it neither is read first nor drives others
 * out. `to` is aligned to 64 bytes; ts_stream_end comes before another thread is told. */
#if defined(__x86_64__)
/* Of a target of its own, so that it compiles at every level, also where no optimisation finds that it is never called. */
TS_TARGET_AVX512 static inline void ts_stream_line_avx512(void *to, const ts_lanes *x) {
  _mm512_stream_si512(to, *(const __m512i *)x);
}
#endif
TS_INLINE void ts_stream_line(void *to, ts_lanes x, uint32_t level) {
#if defined(__x86_64__)
  if (level == TS_LEVEL_AVX512) {
    ts_stream_line_avx512(to, &x);
    return;
  }
#endif
  (void)level;
  memcpy(to, &x, sizeof x);
}
TS_INLINE void ts_stream_end(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

#if defined(__clang__)
#define TS_SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TS_SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* Shuffles of whole lines are one instruction each with AVX-512. Below, GCC would take them apart into elements, which is
 * slow and, inlined everywhere, takes minutes to compile: there they are done in pieces of sixteen bytes, of which a line
 * has four. */
typedef uint32_t ts_lane_piece __attribute__((vector_size(16)));
typedef uint16_t ts_word_piece __attribute__((vector_size(16)));
typedef union ts_word_pieces {
  ts_words words;
  ts_word_piece piece[4];
} ts_word_pieces;

/* Words of the lower halves of the lanes of a, then of b. */
TS_INLINE ts_words ts_even_words(ts_words a, ts_words b, uint32_t level) {
  if (level == TS_LEVEL_AVX512)
    return TS_SHUFFLE(ts_words, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42,
                      44, 46, 48, 50, 52, 54, 56, 58, 60, 62);
  const ts_word_pieces from[2] = {{.words = a}, {.words = b}};
  ts_word_pieces to;
  for (uint32_t k = 0; k < 4; k++) {
    const ts_word_piece *two = &from[k / 2].piece[k % 2 * 2];
    to.piece[k] = TS_SHUFFLE(ts_word_piece, two[0], two[1], 0, 2, 4, 6, 8, 10, 12, 14);
  }
  return to.words;
}
/* Words of the upper halves. */
TS_INLINE ts_words ts_odd_words(ts_words a, ts_words b, uint32_t level) {
  if (level == TS_LEVEL_AVX512)
    return TS_SHUFFLE(ts_words, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                      45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
  const ts_word_pieces from[2] = {{.words = a}, {.words = b}};
  ts_word_pieces to;
  for (uint32_t k = 0; k < 4; k++) {
    const ts_word_piece *two = &from[k / 2].piece[k % 2 * 2];
    to.piece[k] = TS_SHUFFLE(ts_word_piece, two[0], two[1], 1, 3, 5, 7, 9, 11, 13, 15);
  }
  return to.words;
}
/* Words of a and b in turn: of their first sixteen, of their last. */
TS_INLINE void ts_pair_words(ts_words a, ts_words b, ts_words pairs[2], uint32_t level) {
  if (level == TS_LEVEL_AVX512) {
    pairs[0] = TS_SHUFFLE(ts_words, a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11,
                          43, 12, 44, 13, 45, 14, 46, 15, 47);
    pairs[1] = TS_SHUFFLE(ts_words, a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57,
                          26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
    return;
  }
  const ts_word_pieces from[2] = {{.words = a}, {.words = b}};
  ts_word_pieces to[2];
  for (uint32_t k = 0; k < 4; k++) {
    const ts_word_piece x = from[0].piece[k], y = from[1].piece[k];
    to[k / 2].piece[k % 2 * 2] = TS_SHUFFLE(ts_word_piece, x, y, 0, 8, 1, 9, 2, 10, 3, 11);
    to[k / 2].piece[k % 2 * 2 + 1] = TS_SHUFFLE(ts_word_piece, x, y, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  pairs[0] = to[0].words;
  pairs[1] = to[1].words;
}

/* Interleaves lanes, pairs of lanes, fours and eights: lower halves of each group, then upper. */
#define TS_LOW_1(a, b) TS_SHUFFLE(ts_lanes, a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
#define TS_HIGH_1(a, b) TS_SHUFFLE(ts_lanes, a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
#define TS_LOW_2(a, b) TS_SHUFFLE(ts_lanes, a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define TS_HIGH_2(a, b) TS_SHUFFLE(ts_lanes, a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define TS_LOW_4(a, b) TS_SHUFFLE(ts_lanes, a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27)
#define TS_HIGH_4(a, b) TS_SHUFFLE(ts_lanes, a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31)
#define TS_LOW_8(a, b) TS_SHUFFLE(ts_lanes, a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define TS_HIGH_8(a, b) TS_SHUFFLE(ts_lanes, a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)

/* Exchanges, at each distance, the off-diagonal halves of squares of twice that side. */
#define TS_TRANSPOSE_STEP(t, distance, LOW, HIGH)                     \
  for (uint32_t i = 0; i < TS_LANES; i++)                             \
    if ((i & (distance)) == 0) {                                      \
      ts_lanes low = LOW((t)[i], (t)[i + (distance)]);                \
      ts_lanes high = HIGH((t)[i], (t)[i + (distance)]);              \
      (t)[i] = low;                                                   \
      (t)[i + (distance)] = high;                                     \
    }

/* The same in squares of four: that of rows 4a.. and columns 4b.. goes, transposed, to rows 4b.. and columns 4a... */
TS_INLINE void ts_transpose_pieces(ts_lanes t[TS_LANES]) {
  ts_lane_piece from[TS_LANES][4], to[TS_LANES][4];
  memcpy(from, t, sizeof from);
  for (uint32_t a = 0; a < 4; a++)
    for (uint32_t b = 0; b < 4; b++) {
      const ts_lane_piece w = from[4 * a][b], x = from[4 * a + 1][b], y = from[4 * a + 2][b], z = from[4 * a + 3][b];
      const ts_lane_piece low = TS_SHUFFLE(ts_lane_piece, w, x, 0, 4, 1, 5);
      const ts_lane_piece high = TS_SHUFFLE(ts_lane_piece, w, x, 2, 6, 3, 7);
      const ts_lane_piece next = TS_SHUFFLE(ts_lane_piece, y, z, 0, 4, 1, 5);
      const ts_lane_piece last = TS_SHUFFLE(ts_lane_piece, y, z, 2, 6, 3, 7);
      to[4 * b][a] = TS_SHUFFLE(ts_lane_piece, low, next, 0, 1, 4, 5);
      to[4 * b + 1][a] = TS_SHUFFLE(ts_lane_piece, low, next, 2, 3, 6, 7);
      to[4 * b + 2][a] = TS_SHUFFLE(ts_lane_piece, high, last, 0, 1, 4, 5);
      to[4 * b + 3][a] = TS_SHUFFLE(ts_lane_piece, high, last, 2, 3, 6, 7);
    }
  memcpy(t, to, sizeof to);
}

TS_INLINE void ts_transpose(ts_lanes t[TS_LANES], uint32_t level) {
  if (level != TS_LEVEL_AVX512) {
    ts_transpose_pieces(t);
    return;
  }
  TS_TRANSPOSE_STEP(t, 1u, TS_LOW_1, TS_HIGH_1)
  TS_TRANSPOSE_STEP(t, 2u, TS_LOW_2, TS_HIGH_2)
  TS_TRANSPOSE_STEP(t, 4u, TS_LOW_4, TS_HIGH_4)
  TS_TRANSPOSE_STEP(t, 8u, TS_LOW_8, TS_HIGH_8)
}

#endif
