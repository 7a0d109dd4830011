/* ftrl.c - FTRL-proximal (McMahan et al. 2013), learning-rate power -1/2. Slots: 1 is n (sum of squared gradients),
 * 2 is z. First g <- g + 2 l2_shrinkage w (FTRL-V2; 0: plain FTRL), then n' = n + g^2,
 * z <- z + g - (sqrt(n') - sqrt(n)) / lr w, and in two forms:
 *   ftrl           per coordinate, as TensorFlow's FtrlOptimizer:
 *                  w = 0 if |z| <= l1, else (sign(z) l1 - z) / (sqrt(n') / lr + 2 l2)
 *   ftrl-row-norm  DeepRec's form on embedding rows, a group lasso: with the row's norm |z|_2,
 *                  w = 0 if |z|_2 <= l1, else z (l1 - |z|_2) / ((sqrt(n') / lr + 2 l2) |z|_2) */
#include "optimizers/kernel.h"

TS_INLINE void step_z(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                      const float *restrict g, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    /* Without shrinkage the gradient keeps its bits, whatever the weight. */
    float grad = v.shrinkage2 != 0.0f ? g[j] + v.shrinkage2 * w[j] : g[j];
    float grown = a[j] + grad * grad;
    b[j] += grad - (__builtin_sqrtf(grown) - __builtin_sqrtf(a[j])) / v.learning_rate * w[j];
    a[j] = grown;
  }
}

TS_INLINE void per_coordinate(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                              const float *restrict g, uint32_t n) {
  step_z(v, w, a, b, g, n);
  for (uint32_t j = 0; j < n; j++) {
    float z = b[j], clipped = z > v.l1 ? v.l1 : z < -v.l1 ? -v.l1 : z;
    w[j] = (clipped - z) / (__builtin_sqrtf(a[j]) / v.learning_rate + 2.0f * v.l2);
  }
}

/* The row's factor (l1 - |z|) / |z| comes in the place of `rate`. */
TS_INLINE void shrink(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                      const float *restrict g, uint32_t n) {
  (void)g;
  for (uint32_t j = 0; j < n; j++) w[j] = b[j] * v.rate / (__builtin_sqrtf(a[j]) / v.learning_rate + 2.0f * v.l2);
}

TS_INLINE void row_norm(const ts_optimizer *o, const ts_rule_values v, const ts_row_parts p) {
  (void)o;
  if (!p.bf16) {
    step_z(v, p.row, p.a, p.b, p.g, p.dim);
  } else {
    for (uint32_t first = 0; first < p.dim; first += TS_CHUNK) {
      uint32_t count = TS_MIN(p.dim - first, TS_CHUNK);
      float chunk[TS_CHUNK];
      ts_weights_read(chunk, (const uint16_t *)p.row + first, count);
      step_z(v, chunk, p.a + first, p.b + first, p.g + first, count);
    }
  }
  float norm = __builtin_sqrtf(ts_sum_of_squares(p.b, p.dim));
  ts_rule_values row = v;
  row.rate = norm <= v.l1 ? 0.0f : (v.l1 - norm) / norm;
  TS_ROW_RUN(shrink, row, p);
}

TS_ELEMENT_KERNELS(ts_ftrl, per_coordinate, 3)
TS_KERNELS(ts_ftrl_row_norm, row_norm, 3, 0)
