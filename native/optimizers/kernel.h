/* kernel.h - what the rules share: the loop over rows, prefetching, weights in fp32 and bf16, one compilation for each
 * CPU level and common width. Included by the rules only.
 *
 * A rule is a function over n elements of one row:
 *   rule(v, w, a, b, g, n): w weights, a and b the row's slots 1 and 2 (or NULL), g the gradient, v the call's numbers
 * or, where a row is more than its elements (row norms, scalars), a function over the row. fp32 weights are changed
 * where they lie; bf16 weights go through a short float buffer and are rounded stochastically. */
#ifndef TS_OPTIMIZER_KERNEL_H
#define TS_OPTIMIZER_KERNEL_H

#include "optimizers/optimizer.h"

/* What rules need of optimizer and call: a copy that no row can alias, so that it stays in registers. */
typedef struct ts_rule_values {
  float rate, learning_rate, l1, l2, shrinkage2; /* shrinkage2: 2 l2_shrinkage */
  float decay_rate, decay_baseline;
  float one_minus_beta1, one_minus_beta2, epsilon, weight_decay;
  uint32_t periods;
} ts_rule_values;

TS_INLINE ts_rule_values ts_rule_values_of(const ts_optimizer *o, const ts_optimizer_call *call) {
  return (ts_rule_values){
      .rate = call->rate,
      .learning_rate = call->learning_rate,
      .l1 = o->l1,
      .l2 = o->l2,
      .shrinkage2 = 2.0f * o->l2_shrinkage,
      .decay_rate = o->decay_rate,
      .decay_baseline = o->decay_baseline,
      .one_minus_beta1 = (float)(1.0 - o->beta1), /* rounded once */
      .one_minus_beta2 = (float)(1.0 - o->beta2),
      .epsilon = o->epsilon,
      .weight_decay = o->weight_decay,
      .periods = call->periods,
  };
}

/* ---- prefetching ---- */

#define TS_PREFETCH_ROWS 16u     /* distance of narrow rows */
#define TS_PREFETCH_BYTES 16384u /* at most this much is under way: half a first-level cache */
#define TS_PREFETCH_ROW 2048u    /* of one row; the hardware follows a wide row by itself */

TS_INLINE uint32_t ts_prefetch_distance(uint32_t bytes) {
  uint32_t rows = TS_PREFETCH_BYTES / TS_MIN(bytes, TS_PREFETCH_ROW);
  return TS_MIN(rows, TS_PREFETCH_ROWS);
}

/* All lines of the row that a step touches, for writing. A row that does not begin with a line may have one more at its
 * end. */
TS_INLINE void ts_prefetch_row(const void *row, uint32_t bytes) {
  const char *at = row;
  bytes = TS_MIN(bytes, TS_PREFETCH_ROW);
  for (uint32_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(at + byte, 1);
  if (((uintptr_t)at & 63) + (bytes - 1) % 64 >= 64) __builtin_prefetch(at + bytes - 1, 1);
}

/* ---- stochastic rounding ---- */

/* Random bits of one row's step: 32 for every element, a pure function of (seed, key, moment, element, value). The value is
 * among them for rows that step several times in one moment: each step then has bits of its own. */
typedef struct ts_row_random {
  uint32_t low, high;
} ts_row_random;

TS_INLINE ts_row_random ts_row_random_of(uint64_t seed, uint64_t moment, int64_t key) {
  uint64_t r = ts_random64(seed, moment, (uint64_t)key);
  return (ts_row_random){(uint32_t)r, (uint32_t)(r >> 32)};
}

/* A counter through a bijective 32-bit mixer (multipliers and shifts of Wellons' "lowbias32"), keyed before and between
 * by the row's 64 random bits. Unlike a 64-bit mixer it is two vector multiplications. */
TS_INLINE uint32_t ts_row_random32(ts_row_random r, uint32_t element, float value) {
  uint32_t x;
  memcpy(&x, &value, sizeof x);
  x = r.low + (element * 0x9e3779b9u ^ x);
  x ^= x >> 16;
  x = x * 0x7feb352du ^ r.high;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/* To one of the two nearest bf16, to each with the probability that keeps the mean; exact values stay as they are, NaN
 * stays NaN, infinities stay. */
TS_INLINE uint16_t ts_bf16_stochastic(float x, uint32_t random) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t rounded = bits + (random >> 16);
  bool special = (bits & 0x7f800000u) == 0x7f800000u;
  uint32_t kept = (bits & 0x007fffffu) != 0 ? bits | 0x00400000u : bits;
  return (uint16_t)((special ? kept : rounded) >> 16);
}

TS_INLINE void ts_weights_read(float *restrict w, const uint16_t *restrict row, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) w[j] = ts_bf16_widen(row[j]);
}
TS_INLINE void ts_weights_round(uint16_t *restrict row, const float *restrict w, uint32_t n, ts_row_random r,
                                uint32_t first) {
  for (uint32_t j = 0; j < n; j++) row[j] = ts_bf16_stochastic(w[j], ts_row_random32(r, first + j, w[j]));
}

#define TS_CHUNK 64u /* bf16 weights that are floats at a time */

/* ---- one row ---- */

/* Where a row's parts are; `dim` and `bf16` are constants where the kernel was compiled for them. */
typedef struct ts_row_parts {
  void *row;
  float *a, *b; /* slots 1 and 2, NULL where the rule has none */
  const float *g;
  uint32_t dim;
  bool bf16;
  ts_row_random random;
} ts_row_parts;

/* Runs RULE (a function over elements) on a row, by chunks where weights are bf16. */
#define TS_ROW_RUN(RULE, v, p)                                                                                        \
  do {                                                                                                                \
    if (!(p).bf16) {                                                                                                  \
      RULE(v, (p).row, (p).a, (p).b, (p).g, (p).dim);                                                                 \
    } else {                                                                                                          \
      uint16_t *halves = (p).row;                                                                                     \
      for (uint32_t first = 0; first < (p).dim; first += TS_CHUNK) {                                                  \
        uint32_t count = TS_MIN((p).dim - first, TS_CHUNK);                                                           \
        float chunk[TS_CHUNK];                                                                                        \
        ts_weights_read(chunk, halves + first, count);                                                                \
        RULE(v, chunk, (p).a + first, (p).b + first, (p).g + first, count);                                           \
        ts_weights_round(halves + first, chunk, count, (p).random, first);                                            \
      }                                                                                                               \
    }                                                                                                                 \
  } while (0)

/* ---- all rows ---- */

/* Defines NAME_select(level) from ROW(o, v, p), an always-inlined function over one row of a rule with SLOTS slots and
 * SCALARS scalars. Common widths are compiled with the width as a constant, so that a row of 16 is straight vector code\
 * others reach memory's speed, too, and cost a loop more. */
#define TS_KERNELS(NAME, ROW, SLOTS, SCALARS)                                                                         \
  TS_INLINE void NAME##_rows(const ts_optimizer *o, const ts_optimizer_call *call, void *const *rows,                 \
                             const float *const *gradients, const int64_t *keys, uint32_t n, const uint32_t dim,      \
                             const bool bf16) {                                                                       \
    const ts_rule_values v = ts_rule_values_of(o, call);                                                              \
    const uint32_t slot_floats = TS_ROUND_UP(dim, 4u);                                                                \
    const uint32_t weight_floats = bf16 ? TS_ROUND_UP(dim, 8u) / 2 : slot_floats;                                     \
    const uint32_t bytes = 4 * (weight_floats + ((SLOTS) - 1) * slot_floats + (SCALARS));                             \
    const uint32_t ahead = ts_prefetch_distance(bytes);                                                               \
    for (uint32_t i = 0; i < n && i < ahead; i++) ts_prefetch_row(rows[i], bytes);                                    \
    for (uint32_t i = 0; i < n; i++) {                                                                                \
      if (i + ahead < n) ts_prefetch_row(rows[i + ahead], bytes);                                                     \
      float *row = rows[i];                                                                                           \
      const ts_row_parts p = {.row = row,                                                                             \
                              .a = row + ((SLOTS) > 1 ? weight_floats : 0),                                           \
                              .b = row + ((SLOTS) > 2 ? weight_floats + slot_floats : 0),                             \
                              .g = gradients[i],                                                                      \
                              .dim = dim,                                                                             \
                              .bf16 = bf16,                                                                           \
                              .random = bf16 ? ts_row_random_of(o->seed, call->moment, keys[i]) : (ts_row_random){0}};  \
      ROW(o, v, p);                                                                                                   \
    }                                                                                                                 \
  }                                                                                                                   \
  TS_INLINE void NAME##_body(const ts_optimizer *o, const ts_optimizer_call *call, void *const *rows,                 \
                             const float *const *gradients, const int64_t *keys, uint32_t n) {                        \
    if (o->layout.type == TS_BF16) {                                                                                  \
      switch (o->layout.dim) {                                                                                        \
        case 16: NAME##_rows(o, call, rows, gradients, keys, n, 16, true); return;                                    \
        case 32: NAME##_rows(o, call, rows, gradients, keys, n, 32, true); return;                                    \
        case 64: NAME##_rows(o, call, rows, gradients, keys, n, 64, true); return;                                    \
        default: NAME##_rows(o, call, rows, gradients, keys, n, o->layout.dim, true); return;                         \
      }                                                                                                               \
    }                                                                                                                 \
    switch (o->layout.dim) {                                                                                          \
      case 8: NAME##_rows(o, call, rows, gradients, keys, n, 8, false); break;                                        \
      case 16: NAME##_rows(o, call, rows, gradients, keys, n, 16, false); break;                                      \
      case 32: NAME##_rows(o, call, rows, gradients, keys, n, 32, false); break;                                      \
      case 64: NAME##_rows(o, call, rows, gradients, keys, n, 64, false); break;                                      \
      default: NAME##_rows(o, call, rows, gradients, keys, n, o->layout.dim, false);                                  \
    }                                                                                                                 \
  }                                                                                                                   \
  TS_EVERY_LEVEL(NAME, NAME##_body,                                                                                   \
                 (const ts_optimizer *o, const ts_optimizer_call *call, void *const *rows,                            \
                  const float *const *gradients, const int64_t *keys, uint32_t n),                                    \
                 (o, call, rows, gradients, keys, n))                                                                 \
  ts_optimizer_apply *NAME##_select(uint32_t level) { return NAME##_levels[TS_MIN(level, TS_LEVEL_AVX512)]; }

/* The same from a RULE over elements. */
#define TS_ELEMENT_KERNELS(NAME, RULE, SLOTS)                                                            \
  TS_INLINE void NAME##_row(const ts_optimizer *o, const ts_rule_values v, const ts_row_parts p) {       \
    (void)o;                                                                                             \
    TS_ROW_RUN(RULE, v, p);                                                                              \
  }                                                                                                      \
  TS_KERNELS(NAME, NAME##_row, SLOTS, 0)

#endif
