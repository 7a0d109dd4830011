/* vector.c - the passes of vector.h that neither transpose nor pack. */
#include "wdl/dense/passes.h"

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
        ts_byte_lanes kept;
        memcpy(&kept, keep + at, sizeof kept);
        v = v * __builtin_convertvector(kept, ts_float_lanes) * scale;
      }
      ts_store_elements(to, at, ts_narrow(v, bf16), bf16);
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
      ts_store_elements(delta, at, ts_narrow(v, bf16), bf16);
      ts_store_floats(gradient + i, (ts_lanes)g);
    }
}

TS_PASS(ts_dropout_mask, dropout_mask,
     (uint8_t *keep, uint32_t rows, uint32_t width, uint64_t seed, uint64_t step, uint32_t layer, uint64_t row,
      uint32_t threshold),
     (keep, rows, width, seed, step, layer, row, threshold))
TS_PASS(ts_bias_relu_pass, bias_relu_pass,
     (const float *y, uint32_t rows, uint32_t width, const float *bias, const uint8_t *keep, float scale, bool bf16,
      void *to),
     (y, rows, width, bias, keep, scale, bf16, to))
TS_PASS(ts_output_forward, output_forward,
     (const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out),
     (y, rows, width, w, bias, out))
TS_PASS(ts_output_backward, output_backward,
     (const float *y, const float *loss_gradient, uint32_t rows, uint32_t width, const float *w, bool bf16, void *delta,
      float *gradient),
     (y, loss_gradient, rows, width, w, bf16, delta, gradient))
