/* delta_pass.c - gradients through dropout and ReLU, packed for the products (vector.h). */
#include "wdl/dense/passes.h"

/* Bytes 0 and 0xff as lanes of zeros and ones. In two steps, which GCC does with vectors; one it takes apart. */
TS_INLINE ts_lanes load_alive(const uint8_t *from) {
  ts_byte_lanes x;
  memcpy(&x, from, sizeof x);
  const ts_half_lanes words = __builtin_convertvector(x, ts_half_lanes);
  return -(__builtin_convertvector(words, ts_lanes) & 1u);
}

TS_INLINE ts_lanes delta_lanes(void *delta, size_t at, const uint8_t *alive, float scale, ts_float_lanes *sum,
                               bool bf16) {
  ts_lanes v = ts_load_elements(delta, at, bf16) & load_alive(alive + at);
  if (scale != 1.0f) v = ts_narrow(ts_widen(v, bf16) * scale, bf16);
  ts_store_elements(delta, at, v, bf16);
  *sum += ts_widen(v, bf16);
  return v;
}

/* Some columns of a pass over gradients: `lanes` times sixteen from `first` on, at `base` of the packed matrix. */
typedef struct delta_columns {
  void *delta, *packed;
  const uint8_t *alive;
  float *sums;
  uint32_t rows, padded, width, first, n_block;
  size_t base;
  float scale;
  bool bf16, pairs, streams;
  uint32_t level;
} delta_columns;

TS_INLINE void store_packed(const delta_columns *c, void *at, ts_lanes x) {
  if (c->streams) ts_stream_line(at, x, c->level);
  else memcpy(at, &x, sizeof x);
}

#define DELTA_LANES 4u /* sums stay in registers, a row's share is whole lines */

TS_INLINE void delta_some(const delta_columns *c, uint32_t lanes) {
  const uint32_t step = c->pairs ? 2 : 1;
  ts_float_lanes sums[DELTA_LANES];
  size_t base = c->base;
  for (uint32_t i = 0; i < lanes; i++) sums[i] = (ts_float_lanes)ts_load_floats(c->sums + c->first + i * TS_LANES);
  for (uint32_t r = 0; r < c->padded; r += step, base += (size_t)step * c->n_block)
    for (uint32_t i = 0; i < lanes; i++) {
      const size_t at = (size_t)r * c->width + c->first + i * TS_LANES, to = base + (size_t)step * i * TS_LANES;
      ts_lanes v = {0}, second = {0};
      if (r < c->rows) v = delta_lanes(c->delta, at, c->alive, c->scale, &sums[i], c->bf16);
      if (c->pairs && r + 1 < c->rows)
        second = delta_lanes(c->delta, at + c->width, c->alive, c->scale, &sums[i], c->bf16);
      if (c->pairs) store_packed(c, (uint16_t *)c->packed + to, v | second << 16);
      else if (c->bf16) ts_store_elements(c->packed, to, v, true);
      else store_packed(c, (float *)c->packed + to, v);
    }
  for (uint32_t i = 0; i < lanes; i++) ts_store_floats(c->sums + c->first + i * TS_LANES, (ts_lanes)sums[i]);
}

/* 32 BF16 values of a row at a time, without dropout. */
TS_INLINE ts_words delta_words(uint16_t *delta, const uint8_t *alive) {
  ts_wide_sign_lanes mask;
  ts_words v;
  memcpy(&mask, alive, sizeof mask);
  memcpy(&v, delta, sizeof v);
  v &= (ts_words)__builtin_convertvector(mask, ts_signed_words);
  memcpy(delta, &v, sizeof v);
  return v;
}

TS_INLINE void delta_pairs(const delta_columns *c) {
  ts_float_lanes sums[DELTA_LANES];
  uint16_t *to = (uint16_t *)c->packed + c->base;
  for (uint32_t i = 0; i < DELTA_LANES; i++) sums[i] = (ts_float_lanes)ts_load_floats(c->sums + c->first + i * TS_LANES);
  uint32_t r = 0;
  for (; r + 2 <= c->rows; r += 2, to += 2 * c->n_block)
    for (uint32_t i = 0; i < DELTA_LANES; i += 2) {
      const size_t at = (size_t)r * c->width + c->first + i * TS_LANES, below = at + c->width;
      const ts_words even = delta_words((uint16_t *)c->delta + at, c->alive + at);
      const ts_words odd = delta_words((uint16_t *)c->delta + below, c->alive + below);
      ts_words pairs[2];
      ts_pair_words(even, odd, pairs, c->level);
      for (uint32_t k = 0; k < 2; k++) {
        const ts_lanes pair = (ts_lanes)pairs[k];
        store_packed(c, to + 2 * (i + k) * TS_LANES, pair);
        sums[i + k] += (ts_float_lanes)(pair << 16);
        sums[i + k] += (ts_float_lanes)(pair & 0xffff0000u);
      }
    }
  for (uint32_t i = 0; i < DELTA_LANES; i++) ts_store_floats(c->sums + c->first + i * TS_LANES, (ts_lanes)sums[i]);
  delta_columns rest = *c;
  if (r == c->padded) return;
  rest.base += (size_t)r * c->n_block;
  rest.delta = (uint16_t *)c->delta + (size_t)r * c->width;
  rest.alive += (size_t)r * c->width;
  rest.rows -= r;
  rest.padded -= r;
  delta_some(&rest, DELTA_LANES);
}

TS_INLINE void delta_pass(void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive,
                          float scale, float *sums, const ts_packed_layout *l, void *packed, uint32_t row, bool bf16,
                          bool pairs, uint32_t level) {
  delta_columns c = {.delta = delta, .packed = packed, .alive = alive, .sums = sums, .rows = rows, .padded = padded,
                     .width = width, .n_block = l->n_block, .scale = scale, .bf16 = bf16, .pairs = pairs, .level = level};
  const bool whole = l->n_block % (DELTA_LANES * TS_LANES) == 0 && (uintptr_t)packed % 64 == 0;
  c.streams = level == TS_LEVEL_AVX512 && whole && ts_packed_bytes(l) >= TS_STREAM_BYTES;
  for (uint32_t first = 0; first < l->n; first += l->n_block) {
    const uint32_t block = TS_MIN(l->n_block, l->n - first);
    const size_t base = ts_packed_index(l, row, first);
    for (uint32_t i = 0; i < block;) {
      c.first = first + i;
      c.base = base + (pairs ? 2 : 1) * (size_t)i;
      if (i + DELTA_LANES * TS_LANES > block) {
        delta_some(&c, 1);
        i += TS_LANES;
        continue;
      }
      if (pairs && scale == 1.0f) delta_pairs(&c);
      else delta_some(&c, DELTA_LANES);
      i += DELTA_LANES * TS_LANES;
    }
  }
  if (c.streams) ts_stream_end();
}

TS_INLINE void typed_delta_pass(void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive,
                                float scale, float *sums, const ts_packed_layout *layout, void *packed, uint32_t row,
                                uint32_t level) {
  if (layout->pairs)
    delta_pass(delta, rows, padded, width, alive, scale, sums, layout, packed, row, true, true, level);
  else if (layout->bf16)
    delta_pass(delta, rows, padded, width, alive, scale, sums, layout, packed, row, true, false, level);
  else delta_pass(delta, rows, padded, width, alive, scale, sums, layout, packed, row, false, false, level);
}

TS_STREAMING_PASS(ts_delta_pass, typed_delta_pass,
     (void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive, float scale, float *sums,
      const ts_packed_layout *layout, void *packed, uint32_t row),
     (delta, rows, padded, width, alive, scale, sums, layout, packed, row),
     (delta, rows, padded, width, alive, scale, sums, layout, packed, row, own_level))
