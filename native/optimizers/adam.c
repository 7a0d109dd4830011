/* adam.c - Adam and its kin (Kingma and Ba 2015), lazy: rows that are not in the batch keep weights, m and v.
 * Slots: 1 is m, 2 is v. With t the table's update calls, this one included, and
 * alpha = lr sqrt(1 - beta2^t) / (1 - beta1^t):
 *   adam, adam-async
 *     m <- m + (1 - beta1) (g - m); v <- v + (1 - beta2) (g^2 - v); w <- w - alpha m / (sqrt(v) + epsilon)
 *   adam-async with apply_sparse_rmsprop
 *     v <- beta2 v + (1 - beta2) g^2; m <- beta1 m + lr g / sqrt(v + epsilon); w <- w - m
 *   adamw
 *     as adam, and w loses weight_decay w as well: the decoupled decay of Loshchilov and Hutter 2019 (algorithm 2,
 *     schedule multiplier 1), so it is not multiplied by the learning rate
 * DeepRec keeps AdamAsync's powers in slots of key 0 and multiplies them once for each worker's share of a call; here t
 * counts update calls, whatever the number of shards and threads, and no key is touched that is not in the batch. */
#include "optimizers/kernel.h"

/* beta x. Betas near 1 lose in a float what matters, 1 - beta (1.3e-5 of it for 0.999), so beta itself is not used; and
 * x + (1 - beta) (g - x), the same in exact arithmetic, cancels where g^2 is far below v. */
TS_INLINE float fade(float x, float one_minus_beta) { return x - one_minus_beta * x; }

TS_INLINE void step_moments(const ts_rule_values v, float *restrict m, float *restrict second, const float *restrict g,
                            uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    m[j] = fade(m[j], v.one_minus_beta1) + v.one_minus_beta1 * g[j];
    second[j] = fade(second[j], v.one_minus_beta2) + v.one_minus_beta2 * (g[j] * g[j]);
  }
}

TS_INLINE void adam(const ts_rule_values v, float *restrict w, float *restrict m, float *restrict second,
                    const float *restrict g, uint32_t n) {
  step_moments(v, m, second, g, n);
  for (uint32_t j = 0; j < n; j++) w[j] -= v.rate * m[j] / (__builtin_sqrtf(second[j]) + v.epsilon);
}

TS_INLINE void adamw(const ts_rule_values v, float *restrict w, float *restrict m, float *restrict second,
                     const float *restrict g, uint32_t n) {
  step_moments(v, m, second, g, n);
  for (uint32_t j = 0; j < n; j++)
    w[j] -= v.rate * m[j] / (__builtin_sqrtf(second[j]) + v.epsilon) + v.weight_decay * w[j];
}

TS_INLINE void rmsprop(const ts_rule_values v, float *restrict w, float *restrict m, float *restrict second,
                       const float *restrict g, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    second[j] = fade(second[j], v.one_minus_beta2) + v.one_minus_beta2 * (g[j] * g[j]);
    m[j] = fade(m[j], v.one_minus_beta1) + v.rate * g[j] / __builtin_sqrtf(second[j] + v.epsilon);
    w[j] -= m[j];
  }
}

TS_ELEMENT_KERNELS(ts_adam, adam, 3)
TS_ELEMENT_KERNELS(ts_adamw, adamw, 3)
TS_ELEMENT_KERNELS(ts_adam_rmsprop, rmsprop, 3)
