/* sgd.c - w <- w - lr g (DeepRec's GradientDescent). */
#include "optimizers/kernel.h"

TS_INLINE void step(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                    const float *restrict g, uint32_t n) {
  (void)a, (void)b;
  for (uint32_t j = 0; j < n; j++) w[j] -= v.rate * g[j];
}

TS_ELEMENT_KERNELS(ts_sgd, step, 1)
