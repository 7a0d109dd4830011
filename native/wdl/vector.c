/* vector.c - the loops of vector.h, written with 16-lane vectors so that no optimisation level is needed for them. */
#include "wdl/vector.h"

typedef float lanes __attribute__((vector_size(64)));
typedef int32_t mask __attribute__((vector_size(64)));

TS_CLONES void ts_bias_relu(float *y, uint32_t rows, uint32_t width, const float *bias) {
  for (uint32_t r = 0; r < rows; r++) {
    float *row = y + (size_t)r * width;
    for (uint32_t i = 0; i < width; i += TS_LANES) {
      lanes v = *(lanes *)(row + i) + *(const lanes *)(bias + i);
      mask keep = v > 0;
      *(mask *)(row + i) = (mask)v & keep;
    }
  }
}

TS_CLONES void ts_relu_backward(float *delta, const float *y, uint32_t rows, uint32_t width, float *sums) {
  for (uint32_t i = 0; i < width; i++) sums[i] = 0;
  for (uint32_t r = 0; r < rows; r++) {
    float *row = delta + (size_t)r * width;
    const float *out = y + (size_t)r * width;
    for (uint32_t i = 0; i < width; i += TS_LANES) {
      mask keep = *(const lanes *)(out + i) > 0;
      mask kept = *(mask *)(row + i) & keep;
      *(mask *)(row + i) = kept;
      *(lanes *)(sums + i) += (lanes)kept;
    }
  }
}

TS_CLONES void ts_output_backward(float *delta, const float *y, const float *scale, uint32_t rows, uint32_t width,
                                  const float *w, float *sums, float *gradient) {
  for (uint32_t i = 0; i < width; i++) sums[i] = gradient[i] = 0;
  for (uint32_t r = 0; r < rows; r++) {
    float *row = delta + (size_t)r * width;
    const float *out = y + (size_t)r * width;
    for (uint32_t i = 0; i < width; i += TS_LANES) {
      lanes v = *(const lanes *)(out + i);
      mask keep = v > 0;
      mask kept = (mask)(*(const lanes *)(w + i) * scale[r]) & keep;
      *(mask *)(row + i) = kept;
      *(lanes *)(sums + i) += (lanes)kept;
      *(lanes *)(gradient + i) += v * scale[r];
    }
  }
}

TS_CLONES void ts_output_forward(const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out) {
  for (uint32_t r = 0; r < rows; r++) {
    const float *row = y + (size_t)r * width;
    lanes sum = {0};
    for (uint32_t i = 0; i < width; i += TS_LANES) sum += *(const lanes *)(row + i) * *(const lanes *)(w + i);
    float total = bias;
    for (uint32_t i = 0; i < TS_LANES; i++) total += sum[i];
    out[r] = total;
  }
}

TS_CLONES void ts_sgd_step(float *w, const float *gradient, uint32_t n, float learning_rate) {
  for (uint32_t i = 0; i < n; i += TS_LANES) *(lanes *)(w + i) -= *(const lanes *)(gradient + i) * learning_rate;
}

TS_CLONES void ts_adagrad_step(float *w, float *accumulator, const float *gradient, uint32_t n, float learning_rate) {
  for (uint32_t i = 0; i < n; i += TS_LANES) {
    lanes g = *(const lanes *)(gradient + i);
    lanes a = *(lanes *)(accumulator + i) + g * g;
    *(lanes *)(accumulator + i) = a;
    lanes root;
    for (uint32_t k = 0; k < TS_LANES; k++) root[k] = __builtin_sqrtf(a[k]);
    *(lanes *)(w + i) -= g * learning_rate / root;
  }
}
