/* vector.c - the passes of vector.h. */
#include "wdl/dense/vector.h"
#include "wdl/dense/lanes.h"

typedef uint8_t byte_lanes __attribute__((vector_size(16)));
typedef int8_t sign_lanes __attribute__((vector_size(16)));
typedef int32_t int_lanes __attribute__((vector_size(64)));

/* Bytes 0 and 0xff as lanes of zeros and ones. */
TS_INLINE ts_lanes load_alive(const uint8_t *from) {
  sign_lanes x;
  memcpy(&x, from, sizeof x);
  return (ts_lanes)__builtin_convertvector(x, int_lanes);
}

/* Elements as floats, and back. */
TS_INLINE ts_float_lanes widen(ts_lanes x, bool bf16) { return (ts_float_lanes)(bf16 ? x << 16 : x); }
TS_INLINE ts_lanes narrow(ts_float_lanes x, bool bf16) {
  return bf16 ? ts_round_halves((ts_lanes)x) : (ts_lanes)x;
}

/* Writes a transposed tile: `columns` of sixteen, all of them in one store. */
TS_INLINE void store_tile(const ts_transposed *t, uint32_t unit, uint32_t row, const ts_lanes tile[TS_LANES],
                          bool bf16) {
  uint32_t columns = TS_MIN(TS_LANES, t->padded - row);
  const size_t size = bf16 ? 2 : 4;
  for (uint32_t i = 0; i < TS_LANES; i++) {
    char *to = (char *)t->to + ((unit + i) * t->stride + t->at + row) * size;
    if (columns == TS_LANES) {
      ts_store_elements(to, 0, tile[i], bf16);
    } else {
      _Alignas(64) char some[64];
      ts_store_elements(some, 0, tile[i], bf16);
      memcpy(to, some, columns * size);
    }
  }
}

TS_INLINE void input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                          void *block, const ts_transposed *transposed) {
  const ts_transposed t = *transposed;
  const uint32_t height = t.to == NULL ? rows : t.padded;
  for (uint32_t i = 0; i < width; i += TS_LANES)
    for (uint32_t r = 0; r < height; r += TS_LANES) {
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
      if (t.to == NULL) continue;
      ts_transpose(tile);
      store_tile(&t, i, r, tile, bf16);
    }
}

TS_INLINE void hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                           const ts_transposed *transposed) {
  const ts_transposed t = *transposed;
  const uint32_t height = t.to == NULL ? rows : t.padded;
  for (uint32_t i = 0; i < width; i += TS_LANES)
    for (uint32_t r = 0; r < height; r += TS_LANES) {
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
      if (t.to == NULL) continue;
      ts_transpose(tile);
      store_tile(&t, i, r, tile, bf16);
    }
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

TS_INLINE ts_lanes delta_lanes(void *delta, size_t at, const uint8_t *alive, float scale, float *sums, bool bf16) {
  ts_lanes v = ts_load_elements(delta, at, bf16) & load_alive(alive + at);
  if (scale != 1.0f) v = narrow(widen(v, bf16) * scale, bf16);
  ts_store_elements(delta, at, v, bf16);
  ts_store_floats(sums, (ts_lanes)((ts_float_lanes)ts_load_floats(sums) + widen(v, bf16)));
  return v;
}

TS_INLINE void delta_pass(void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive,
                          float scale, float *sums, const ts_packed_layout *layout, void *packed, uint32_t row) {
  const ts_packed_layout l = *layout;
  const uint32_t step = l.pairs ? 2 : 1;
  for (uint32_t first = 0; first < l.n; first += l.n_block) {
    size_t base = ts_packed_index(&l, row, first);
    const uint32_t block = TS_MIN(l.n_block, l.n - first);
    for (uint32_t r = 0; r < padded; r += step, base += (size_t)step * l.n_block)
      for (uint32_t i = 0; i < block; i += TS_LANES) {
        const size_t at = (size_t)r * width + first + i;
        ts_lanes v = {0}, second = {0};
        if (r < rows) v = delta_lanes(delta, at, alive, scale, sums + first + i, l.bf16);
        if (!l.pairs) {
          ts_store_elements(packed, base + i, v, l.bf16);
          continue;
        }
        if (r + 1 < rows) second = delta_lanes(delta, at + width, alive, scale, sums + first + i, l.bf16);
        ts_store_pairs((uint16_t *)packed + base + 2 * i, v, second);
      }
  }
}

/* One public function of a pass: NAME, its body, parameters and arguments. The type is a constant in the loops. */
#define PASS(NAME, BODY, PARAMETERS, ARGUMENTS)  \
  TS_EVERY_LEVEL(BODY, BODY, PARAMETERS, ARGUMENTS) \
  void NAME PARAMETERS { BODY##_levels[ts_cpu_level()] ARGUMENTS; }

TS_INLINE void typed_input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width,
                                bool bf16, void *block, const ts_transposed *transposed) {
  if (bf16) input_pass(x, stride, columns, rows, width, true, block, transposed);
  else input_pass(x, stride, columns, rows, width, false, block, transposed);
}
TS_INLINE void typed_hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                                 const ts_transposed *transposed) {
  if (bf16) hidden_pass(block, rows, width, true, alive, transposed);
  else hidden_pass(block, rows, width, false, alive, transposed);
}

PASS(ts_input_pass, typed_input_pass,
     (const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16, void *block,
      const ts_transposed *transposed),
     (x, stride, columns, rows, width, bf16, block, transposed))
PASS(ts_hidden_pass, typed_hidden_pass,
     (const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive, const ts_transposed *transposed),
     (block, rows, width, bf16, alive, transposed))
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
PASS(ts_delta_pass, delta_pass,
     (void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive, float scale, float *sums,
      const ts_packed_layout *layout, void *packed, uint32_t row),
     (delta, rows, padded, width, alive, scale, sums, layout, packed, row))

void ts_rows_backward(const float *dy, size_t stride, uint32_t rows, uint32_t columns, uint32_t width, bool bf16,
                      void *delta) {
  ts_input_pass(dy, stride, columns, rows, width, bf16, delta, &(ts_transposed){0});
}
