/* adagrad.c - a <- a + g^2; w <- w - lr g / sqrt(a), without an epsilon, as TensorFlow and DeepRec do (Duchi, Hazan,
 * Singer 2011). Slot 1 is a. */
#include "optimizers/optimizer.h"

static inline __attribute__((always_inline)) void body(const ts_optimizer *o, float *const *rows, const float *gradients,
                                                       size_t stride, uint32_t n) {
  const float lr = o->learning_rate;
  for (uint32_t i = 0; i < n; i++) {
    float *restrict w = rows[i];
    float *restrict a = rows[i] + o->slot_floats;
    const float *restrict g = gradients + i * stride;
    for (uint32_t j = 0; j < o->dim; j++) {
      a[j] += g[j] * g[j];
      w[j] -= lr * g[j] / __builtin_sqrtf(a[j]);
    }
  }
}

TS_KERNELS(ts_adagrad, body)
