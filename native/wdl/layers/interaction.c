/* interaction.c - forward and backward of the dot interaction. Sums run in sixteen lanes added up in order, so every
 * kind of CPU gives the same bits. */
#include "wdl/layers/interaction.h"

#include "base/cpu_level.h"

#include <string.h>

TS_INLINE void forward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, float *out) {
  const uint32_t dim = x->dim, width = ts_interaction_width(x->count, dim);
  for (uint32_t r = first; r < first + rows; r++) {
    const float *row = v + (size_t)r * x->stride;
    float *to = out + (size_t)r * x->out_stride;
    memcpy(to, row, dim * sizeof *to);
    memset(to + width, 0, (x->out_stride - width) * sizeof *to);
    to += dim;
    for (uint32_t i = 1; i < x->count; i++)
      for (uint32_t k = 0; k < i; k++) {
        const float *a = row + (size_t)i * dim, *b = row + (size_t)k * dim;
        float lanes[TS_LANES] = {0}, sum = 0;
        uint32_t j = 0;
        for (; j + TS_LANES <= dim; j += TS_LANES)
          for (uint32_t l = 0; l < TS_LANES; l++) lanes[l] += a[j + l] * b[j + l];
        for (uint32_t l = 0; j + l < dim; l++) lanes[l] += a[j + l] * b[j + l];
        for (uint32_t l = 0; l < TS_LANES; l++) sum += lanes[l];
        *to++ = sum;
      }
  }
}

TS_INLINE void backward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, const float *dout,
                        float *dv) {
  const uint32_t dim = x->dim;
  for (uint32_t r = first; r < first + rows; r++) {
    const float *row = v + (size_t)r * x->stride, *from = dout + (size_t)r * x->out_stride;
    float *to = dv + (size_t)r * x->stride;
    memcpy(to, from, dim * sizeof *to);
    memset(to + dim, 0, (size_t)(x->count - 1) * dim * sizeof *to);
    from += dim;
    for (uint32_t i = 1; i < x->count; i++)
      for (uint32_t k = 0; k < i; k++) {
        const float g = *from++, *a = row + (size_t)i * dim, *b = row + (size_t)k * dim;
        float *restrict da = to + (size_t)i * dim, *restrict db = to + (size_t)k * dim;
        for (uint32_t j = 0; j < dim; j++) da[j] += g * b[j];
        for (uint32_t j = 0; j < dim; j++) db[j] += g * a[j];
      }
  }
}

TS_EVERY_LEVEL(forward, forward, (const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, float *out),
               (x, first, rows, v, out))
TS_EVERY_LEVEL(backward, backward,
               (const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, const float *dout, float *dv),
               (x, first, rows, v, dout, dv))

void ts_interaction_forward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, float *out) {
  forward_levels[ts_cpu_level()](x, first, rows, v, out);
}

void ts_interaction_backward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, const float *dout,
                             float *dv) {
  backward_levels[ts_cpu_level()](x, first, rows, v, dout, dv);
}
