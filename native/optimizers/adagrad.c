/* adagrad.c - a <- a + g^2; w <- w - lr g / sqrt(a), without an epsilon, as TensorFlow and DeepRec do (Duchi, Hazan,
 * Singer 2011). Slot 1 is a. */
#include "optimizers/kernel.h"

TS_INLINE void step(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                    const float *restrict g, uint32_t n) {
  (void)b;
  for (uint32_t j = 0; j < n; j++) {
    a[j] += g[j] * g[j];
    w[j] -= v.rate * g[j] / __builtin_sqrtf(a[j]);
  }
}

TS_ELEMENT_KERNELS(ts_adagrad, step, 2)
