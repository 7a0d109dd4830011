/* sgd.c - w <- w - lr g (DeepRec's GradientDescent). */
#include "optimizers/optimizer.h"

static inline __attribute__((always_inline)) void body(const ts_optimizer *o, float *const *rows, const float *gradients,
                                                       size_t stride, uint32_t n) {
  const float lr = o->learning_rate;
  for (uint32_t i = 0; i < n; i++) {
    float *restrict w = rows[i];
    const float *restrict g = gradients + i * stride;
    for (uint32_t j = 0; j < o->dim; j++) w[j] -= lr * g[j];
  }
}

TS_KERNELS(ts_sgd, body)
