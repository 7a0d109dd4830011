/* vector.c - the passes of vector.h. */
#include "wdl/dense/vector.h"
#include "wdl/dense/lanes.h"

typedef uint8_t byte_lanes __attribute__((vector_size(16)));
typedef int8_t sign_lanes __attribute__((vector_size(16)));
typedef int32_t int_lanes __attribute__((vector_size(64)));
typedef int16_t signed_words __attribute__((vector_size(64)));
typedef int8_t wide_sign_lanes __attribute__((vector_size(32)));

/* Matrices from this size on are written past the caches. */
#ifndef TS_STREAM_BYTES
#define TS_STREAM_BYTES (UINT64_C(1) << 20)
#endif

/* Bytes 0 and 0xff as lanes of zeros and ones. In two steps, which GCC does with vectors; one it takes apart. */
TS_INLINE ts_lanes load_alive(const uint8_t *from) {
  byte_lanes x;
  memcpy(&x, from, sizeof x);
  const ts_half_lanes words = __builtin_convertvector(x, ts_half_lanes);
  return -(__builtin_convertvector(words, ts_lanes) & 1u);
}

/* Elements as floats, and back. */
TS_INLINE ts_float_lanes widen(ts_lanes x, bool bf16) { return (ts_float_lanes)(bf16 ? x << 16 : x); }
TS_INLINE ts_lanes narrow(ts_float_lanes x, bool bf16) {
  return bf16 ? ts_round_halves((ts_lanes)x) : (ts_lanes)x;
}

/* Where a pass leaves transposed tiles, and how. */
typedef struct target {
  ts_transposed t;
  bool streams; /* whole lines past the caches */
  uint32_t level;
} target;

/* Lines written here are read when all shards are done. Where they would not stay in the caches until then, or lie in
 * few of their sets (the distance of units is a power of two), they had better not go there. */
TS_INLINE target target_of(const ts_transposed *t, uint32_t width, bool bf16, uint32_t level) {
  const size_t size = bf16 ? 2 : 4;
  const bool lines = t->stride * size % 64 == 0 && ((uintptr_t)t->to + t->at * size) % 64 == 0;
  return (target){*t, level == TS_LEVEL_AVX512 && lines && t->stride * width * size >= TS_STREAM_BYTES, level};
}

TS_INLINE void store_line(const target *to, char *at, ts_lanes x) {
  if (to->streams) ts_stream_line(at, x, to->level);
  else memcpy(at, &x, sizeof x);
}

/* Writes a transposed tile: `columns` of sixteen, all of them in one store. */
TS_INLINE void store_tile(const target *to, uint32_t unit, uint32_t row, const ts_lanes tile[TS_LANES], bool bf16) {
  const ts_transposed *t = &to->t;
  uint32_t columns = TS_MIN(TS_LANES, t->padded - row);
  const size_t size = bf16 ? 2 : 4;
  for (uint32_t i = 0; i < TS_LANES; i++) {
    char *at = (char *)t->to + ((unit + i) * t->stride + t->at + row) * size;
    if (columns == TS_LANES && !bf16) {
      store_line(to, at, tile[i]);
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
TS_INLINE void store_square(const target *to, uint32_t unit, uint32_t row, ts_lanes first[TS_LANES],
                            ts_lanes second[TS_LANES]) {
  const ts_transposed *t = &to->t;
  char *at = (char *)t->to + (unit * t->stride + t->at + row) * 2;
  ts_transpose(first);
  ts_transpose(second);
  for (uint32_t i = 0; i < TS_LANES; i++, at += 4 * t->stride) {
    const ts_words a = (ts_words)first[i], b = (ts_words)second[i];
    store_line(to, at, (ts_lanes)TS_EVEN_WORDS(a, b));
    store_line(to, at + 2 * t->stride, (ts_lanes)TS_ODD_WORDS(a, b));
  }
}
#define SQUARE (2 * TS_LANES)

TS_INLINE void input_tile(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                          void *block, const target *to, uint32_t i, uint32_t r) {
  ts_lanes tile[TS_LANES];
  for (uint32_t k = 0; k < TS_LANES; k++) {
    ts_lanes v = {0};
    if (r + k < rows) {
      const float *from = x + (r + k) * stride + i;
      if (i + TS_LANES <= columns) v = ts_load_floats(from);
      else if (i < columns) memcpy(&v, from, (columns - i) * sizeof(float));
      if (bf16) v = ts_round_halves(v);
      if (block != NULL) ts_store_elements(block, (size_t)(r + k) * width + i, v, bf16);
    }
    tile[k] = v;
  }
  if (to->t.to == NULL) return;
  ts_transpose(tile);
  store_tile(to, i, r, tile, bf16);
}

TS_INLINE void input_square(const float *x, size_t stride, uint32_t width, uint16_t *block, const target *to, uint32_t i,
                            uint32_t r) {
  ts_lanes tile[2][TS_LANES];
  for (uint32_t k = 0; k < SQUARE; k++) {
    const float *from = x + (r + k) * stride + i;
    const ts_words low = (ts_words)ts_round_halves(ts_load_floats(from));
    const ts_words high = (ts_words)ts_round_halves(ts_load_floats(from + TS_LANES));
    const ts_words v = TS_EVEN_WORDS(low, high);
    memcpy(block + (size_t)(r + k) * width + i, &v, sizeof v);
    tile[k / TS_LANES][k % TS_LANES] = (ts_lanes)v;
  }
  store_square(to, i, r, tile[0], tile[1]);
}

TS_INLINE void input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                          void *block, const ts_transposed *transposed, uint32_t level) {
  const target to = target_of(transposed, width, bf16, level);
  const uint32_t height = to.t.to == NULL ? rows : to.t.padded;
  uint32_t square_rows = 0, i = 0;
  if (bf16 && block != NULL && to.t.to != NULL) square_rows = rows - rows % SQUARE;
  for (; square_rows > 0 && i + SQUARE <= columns; i += SQUARE) {
    for (uint32_t r = 0; r < square_rows; r += SQUARE) input_square(x, stride, width, block, &to, i, r);
    for (uint32_t r = square_rows; r < height; r += TS_LANES) {
      input_tile(x, stride, columns, rows, width, bf16, block, &to, i, r);
      input_tile(x, stride, columns, rows, width, bf16, block, &to, i + TS_LANES, r);
    }
  }
  for (; i < width; i += TS_LANES)
    for (uint32_t r = 0; r < height; r += TS_LANES)
      input_tile(x, stride, columns, rows, width, bf16, block, &to, i, r);
  if (to.streams) ts_stream_end();
}

TS_INLINE void hidden_tile(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                           const target *to, uint32_t i, uint32_t r) {
  ts_lanes tile[TS_LANES];
  for (uint32_t k = 0; k < TS_LANES; k++) {
    ts_lanes v = {0};
    if (r + k < rows) {
      const size_t at = (size_t)(r + k) * width + i;
      v = ts_load_elements(block, at, bf16);
      byte_lanes above = (byte_lanes)__builtin_convertvector(widen(v, bf16) > 0, sign_lanes);
      memcpy(alive + at, &above, sizeof above);
    }
    tile[k] = v;
  }
  if (to->t.to == NULL) return;
  ts_transpose(tile);
  store_tile(to, i, r, tile, bf16);
}

/* A BF16 value is above zero where its bits as a signed number are, unless it is no number: -1, else 0. In arithmetic,
 * because GCC takes comparisons of words apart when it inlines them into wider code. */
TS_INLINE signed_words words_above_zero(signed_words x) { return (-x & ~x & (x - (int16_t)0x7f81)) >> 15; }

TS_INLINE void hidden_square(const uint16_t *block, uint32_t width, uint8_t *alive, const target *to, uint32_t i,
                             uint32_t r) {
  ts_lanes tile[2][TS_LANES];
  for (uint32_t k = 0; k < SQUARE; k++) {
    const size_t at = (size_t)(r + k) * width + i;
    signed_words v;
    memcpy(&v, block + at, sizeof v);
    const wide_sign_lanes above = __builtin_convertvector(words_above_zero(v), wide_sign_lanes);
    memcpy(alive + at, &above, sizeof above);
    tile[k / TS_LANES][k % TS_LANES] = (ts_lanes)v;
  }
  store_square(to, i, r, tile[0], tile[1]);
}

TS_INLINE void hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                           const ts_transposed *transposed, uint32_t level) {
  const target to = target_of(transposed, width, bf16, level);
  const uint32_t height = to.t.to == NULL ? rows : to.t.padded;
  const uint32_t square_rows = bf16 && to.t.to != NULL ? rows - rows % SQUARE : 0;
  uint32_t i = 0;
  for (; square_rows > 0 && i + SQUARE <= width; i += SQUARE) {
    for (uint32_t r = 0; r < square_rows; r += SQUARE) hidden_square(block, width, alive, &to, i, r);
    for (uint32_t r = square_rows; r < height; r += TS_LANES) {
      hidden_tile(block, rows, width, bf16, alive, &to, i, r);
      hidden_tile(block, rows, width, bf16, alive, &to, i + TS_LANES, r);
    }
  }
  for (; i < width; i += TS_LANES)
    for (uint32_t r = 0; r < height; r += TS_LANES) hidden_tile(block, rows, width, bf16, alive, &to, i, r);
  if (to.streams) ts_stream_end();
}

TS_INLINE void dropout_mask(uint8_t *keep, uint32_t rows, uint32_t width, uint64_t seed, uint64_t step, uint32_t layer,
                            uint64_t row, uint32_t threshold) {
  for (uint32_t r = 0; r < rows; r++) {
    const ts_dropout_row random = ts_dropout_row_of(seed, step, layer, row + r);
    uint8_t *to = keep + (size_t)r * width;
    for (uint32_t i = 0; i < width; i++) to[i] = ts_dropout_bits(random, i) >= threshold;
  }
}

TS_INLINE void bias_relu_pass(const float *y, uint32_t rows, uint32_t width, const float *bias, const uint8_t *keep,
                              float scale, bool bf16, void *to) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t i = 0; i < width; i += TS_LANES) {
      const size_t at = (size_t)r * width + i;
      ts_float_lanes v = (ts_float_lanes)ts_load_floats(y + at) + (ts_float_lanes)ts_load_floats(bias + i);
      v = (ts_float_lanes)((ts_lanes)v & (ts_lanes)(v > 0));
      if (keep != NULL) {
        byte_lanes kept;
        memcpy(&kept, keep + at, sizeof kept);
        v = v * __builtin_convertvector(kept, ts_float_lanes) * scale;
      }
      ts_store_elements(to, at, narrow(v, bf16), bf16);
    }
}

TS_INLINE void output_forward(const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out) {
  for (uint32_t r = 0; r < rows; r++) {
    ts_float_lanes sum = {0};
    for (uint32_t i = 0; i < width; i += TS_LANES)
      sum += (ts_float_lanes)ts_load_floats(y + (size_t)r * width + i) * (ts_float_lanes)ts_load_floats(w + i);
    float total = bias;
    for (uint32_t i = 0; i < TS_LANES; i++) total += sum[i];
    out[r] = total;
  }
}

TS_INLINE void output_backward(const float *y, const float *loss_gradient, uint32_t rows, uint32_t width,
                               const float *w, bool bf16, void *delta, float *gradient) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t i = 0; i < width; i += TS_LANES) {
      const size_t at = (size_t)r * width + i;
      ts_float_lanes v = (ts_float_lanes)ts_load_floats(w + i) * loss_gradient[r];
      ts_float_lanes g = (ts_float_lanes)ts_load_floats(gradient + i);
      g += (ts_float_lanes)ts_load_floats(y + at) * loss_gradient[r];
      ts_store_elements(delta, at, narrow(v, bf16), bf16);
      ts_store_floats(gradient + i, (ts_lanes)g);
    }
}

TS_INLINE ts_lanes delta_lanes(void *delta, size_t at, const uint8_t *alive, float scale, ts_float_lanes *sum,
                               bool bf16) {
  ts_lanes v = ts_load_elements(delta, at, bf16) & load_alive(alive + at);
  if (scale != 1.0f) v = narrow(widen(v, bf16) * scale, bf16);
  ts_store_elements(delta, at, v, bf16);
  *sum += widen(v, bf16);
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
  wide_sign_lanes mask;
  ts_words v;
  memcpy(&mask, alive, sizeof mask);
  memcpy(&v, delta, sizeof v);
  v &= (ts_words)__builtin_convertvector(mask, signed_words);
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
      const ts_lanes pairs[2] = {(ts_lanes)TS_PAIR_LOW(even, odd), (ts_lanes)TS_PAIR_HIGH(even, odd)};
      for (uint32_t k = 0; k < 2; k++) {
        store_packed(c, to + 2 * (i + k) * TS_LANES, pairs[k]);
        sums[i + k] += (ts_float_lanes)(pairs[k] << 16);
        sums[i + k] += (ts_float_lanes)(pairs[k] & 0xffff0000u);
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

/* One public function of a pass: NAME, its body, parameters and arguments. The type is a constant in the loops. */
#define PASS(NAME, BODY, PARAMETERS, ARGUMENTS)  \
  TS_EVERY_LEVEL(BODY, BODY, PARAMETERS, ARGUMENTS) \
  void NAME PARAMETERS { BODY##_levels[ts_cpu_level()] ARGUMENTS; }
/* One that streams: the body's arguments end with the level. */
#define STREAMING_PASS(NAME, BODY, PARAMETERS, ARGUMENTS, OF_BODY) \
  TS_EVERY_LEVEL(BODY, BODY, PARAMETERS, OF_BODY)                  \
  void NAME PARAMETERS { BODY##_levels[ts_cpu_level()] ARGUMENTS; }

TS_INLINE void typed_input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width,
                                bool bf16, void *block, const ts_transposed *transposed, uint32_t level) {
  if (bf16) input_pass(x, stride, columns, rows, width, true, block, transposed, level);
  else input_pass(x, stride, columns, rows, width, false, block, transposed, level);
}
TS_INLINE void typed_hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                                 const ts_transposed *transposed, uint32_t level) {
  if (bf16) hidden_pass(block, rows, width, true, alive, transposed, level);
  else hidden_pass(block, rows, width, false, alive, transposed, level);
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

STREAMING_PASS(ts_input_pass, typed_input_pass,
     (const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16, void *block,
      const ts_transposed *transposed),
     (x, stride, columns, rows, width, bf16, block, transposed),
     (x, stride, columns, rows, width, bf16, block, transposed, own_level))
STREAMING_PASS(ts_hidden_pass, typed_hidden_pass,
     (const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive, const ts_transposed *transposed),
     (block, rows, width, bf16, alive, transposed),
     (block, rows, width, bf16, alive, transposed, own_level))
PASS(ts_dropout_mask, dropout_mask,
     (uint8_t *keep, uint32_t rows, uint32_t width, uint64_t seed, uint64_t step, uint32_t layer, uint64_t row,
      uint32_t threshold),
     (keep, rows, width, seed, step, layer, row, threshold))
PASS(ts_bias_relu_pass, bias_relu_pass,
     (const float *y, uint32_t rows, uint32_t width, const float *bias, const uint8_t *keep, float scale, bool bf16,
      void *to),
     (y, rows, width, bias, keep, scale, bf16, to))
PASS(ts_output_forward, output_forward,
     (const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out),
     (y, rows, width, w, bias, out))
PASS(ts_output_backward, output_backward,
     (const float *y, const float *loss_gradient, uint32_t rows, uint32_t width, const float *w, bool bf16, void *delta,
      float *gradient),
     (y, loss_gradient, rows, width, w, bf16, delta, gradient))
STREAMING_PASS(ts_delta_pass, typed_delta_pass,
     (void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive, float scale, float *sums,
      const ts_packed_layout *layout, void *packed, uint32_t row),
     (delta, rows, padded, width, alive, scale, sums, layout, packed, row),
     (delta, rows, padded, width, alive, scale, sums, layout, packed, row, own_level))

void ts_rows_backward(const float *dy, size_t stride, uint32_t rows, uint32_t columns, uint32_t width, bool bf16,
                      void *delta) {
  ts_input_pass(dy, stride, columns, rows, width, bf16, delta, &(ts_transposed){0});
}
