/* fm.c - forward and backward of the second-order part, elementwise over the width so that lanes keep their order. */
#include "wdl/layers/fm.h"

#include "base/cpu_level.h"

TS_INLINE void forward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, float *sums, float *logit) {
  const uint32_t dim = fm->dim;
  for (uint32_t r = first; r < first + rows; r++) {
    const float *row = v + (size_t)r * fm->stride + fm->at;
    float *restrict sum = sums + (size_t)r * dim;
    float squares[TS_LANES] = {0}, total = 0;
    for (uint32_t j = 0; j < dim; j++) sum[j] = 0;
    for (uint32_t i = 0; i < fm->count; i++, row += dim) {
      for (uint32_t j = 0; j < dim; j++) sum[j] += row[j];
      for (uint32_t j = 0; j < dim; j++) squares[j % TS_LANES] -= row[j] * row[j];
    }
    for (uint32_t j = 0; j < dim; j++) squares[j % TS_LANES] += sum[j] * sum[j];
    for (uint32_t j = 0; j < TS_LANES; j++) total += squares[j];
    logit[r] += 0.5f * total;
  }
}

TS_INLINE void backward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, const float *sums,
                        const float *gradient, float *dv) {
  const uint32_t dim = fm->dim;
  for (uint32_t r = first; r < first + rows; r++) {
    const float *row = v + (size_t)r * fm->stride + fm->at, *sum = sums + (size_t)r * dim, g = gradient[r];
    float *restrict out = dv + (size_t)r * fm->stride + fm->at;
    for (uint32_t i = 0; i < fm->count; i++, row += dim, out += dim)
      for (uint32_t j = 0; j < dim; j++) out[j] += g * (sum[j] - row[j]);
  }
}

TS_EVERY_LEVEL(forward, forward,
               (const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, float *sums, float *logit),
               (fm, first, rows, v, sums, logit))
TS_EVERY_LEVEL(backward, backward,
               (const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, const float *sums,
                const float *gradient, float *dv),
               (fm, first, rows, v, sums, gradient, dv))

void ts_fm_forward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, float *sums, float *logit) {
  forward_levels[ts_cpu_level()](fm, first, rows, v, sums, logit);
}

void ts_fm_backward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, const float *sums,
                    const float *gradient, float *dv) {
  backward_levels[ts_cpu_level()](fm, first, rows, v, sums, gradient, dv);
}
