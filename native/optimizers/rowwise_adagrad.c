/* rowwise_adagrad.c - Adagrad with one state a row, FBGEMM's EXACT_ROWWISE_ADAGRAD and TorchRec's default: scalar 0 is s, the sum
 * over steps of the mean of the squared gradients of a row of D weights.
 *   s <- s + (g_1^2 + ... + g_D^2) / D; w <- w - lr / (sqrt(s) + epsilon) g
 * The squares are summed as FBGEMM's vector code for CPUs does, in eight lanes and then neighbours pairwise, with no product fused:
 * a recording of it is met to the last bit (test/oracle/rowwise_adagrad_test.ts). */
#include "optimizers/kernel.h"

/* `rate` is the row's. */
TS_INLINE void step(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                    const float *restrict g, uint32_t n) {
  (void)a;
  (void)b;
  for (uint32_t j = 0; j < n; j++) w[j] -= v.rate * g[j];
}

#define LANES 8u

TS_INLINE float sum_of_squares(const float *restrict g, uint32_t n) {
  float lane[LANES] = {0};
  uint32_t j = 0;
  for (; j + LANES <= n; j += LANES)
    for (uint32_t k = 0; k < LANES; k++) lane[k] += g[j + k] * g[j + k];
  for (uint32_t k = 0; j + k < n; k++) lane[k] += g[j + k] * g[j + k];
  for (uint32_t width = LANES / 2; width > 0; width /= 2)
    for (uint32_t k = 0; k < width; k++) lane[k] = lane[2 * k] + lane[2 * k + 1];
  return lane[0];
}

TS_INLINE void step_row(const ts_optimizer *o, const ts_rule_values v, const ts_row_parts p) {
  const float sum = ts_row_scalar_float(&o->layout, p.row, 0) + sum_of_squares(p.g, p.dim) / (float)p.dim;
  ts_row_set_scalar_float(&o->layout, p.row, 0, sum);
  ts_rule_values row = v;
  row.rate = v.rate / (__builtin_sqrtf(sum) + v.epsilon);
  TS_ROW_RUN(step, row, p);
}

TS_KERNELS(ts_rowwise_adagrad, step_row, 1, 1)
