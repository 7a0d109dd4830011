/* ftrl.c - FTRL-proximal (McMahan et al. 2013), learning-rate power -1/2. Slots: 1 is n (sum of squared gradients),
 * 2 is z. Two forms:
 *   ftrl           per coordinate, as TensorFlow's FtrlOptimizer:
 *                  w = 0 if |z| <= l1, else (sign(z) l1 - z) / (sqrt(n) / lr + 2 l2)
 *   ftrl-row-norm  DeepRec's form on embedding rows, a group lasso: with the row's norm |z|_2,
 *                  w = 0 if |z|_2 <= l1, else z (l1 - |z|_2) / ((sqrt(n) / lr + 2 l2) |z|_2) */
#include "optimizers/optimizer.h"

#define LANES 16u

static inline __attribute__((always_inline)) void step_z(const ts_optimizer *o, float *restrict w, float *restrict n,
                                                         float *restrict z, const float *restrict g) {
  const float lr = o->learning_rate;
  for (uint32_t j = 0; j < o->dim; j++) {
    float grown = n[j] + g[j] * g[j];
    z[j] += g[j] - (__builtin_sqrtf(grown) - __builtin_sqrtf(n[j])) / lr * w[j];
    n[j] = grown;
  }
}

static inline __attribute__((always_inline)) void per_coordinate(const ts_optimizer *o, float *const *rows,
                                                                 const float *gradients, size_t stride, uint32_t n) {
  const float lr = o->learning_rate, l1 = o->l1, l2 = o->l2;
  for (uint32_t i = 0; i < n; i++) {
    float *restrict w = rows[i];
    float *restrict sum = rows[i] + o->slot_floats;
    float *restrict z = rows[i] + 2 * o->slot_floats;
    step_z(o, w, sum, z, gradients + i * stride);
    for (uint32_t j = 0; j < o->dim; j++) {
      float clipped = z[j] > l1 ? l1 : z[j] < -l1 ? -l1 : z[j];
      w[j] = (clipped - z[j]) / (__builtin_sqrtf(sum[j]) / lr + 2.0f * l2);
    }
  }
}

/* Sum of squares over sixteen lanes, then a fixed tree: the same bits whatever the vector width. */
static inline __attribute__((always_inline)) float sum_of_squares(const float *z, uint32_t dim) {
  float lane[LANES] = {0};
  uint32_t j = 0;
  for (; j + LANES <= dim; j += LANES)
    for (uint32_t k = 0; k < LANES; k++) lane[k] += z[j + k] * z[j + k];
  for (uint32_t k = 0; j + k < dim; k++) lane[k] += z[j + k] * z[j + k];
  for (uint32_t width = LANES / 2; width > 0; width /= 2)
    for (uint32_t k = 0; k < width; k++) lane[k] += lane[k + width];
  return lane[0];
}

static inline __attribute__((always_inline)) void row_norm(const ts_optimizer *o, float *const *rows,
                                                           const float *gradients, size_t stride, uint32_t n) {
  const float lr = o->learning_rate, l1 = o->l1, l2 = o->l2;
  for (uint32_t i = 0; i < n; i++) {
    float *restrict w = rows[i];
    float *restrict sum = rows[i] + o->slot_floats;
    float *restrict z = rows[i] + 2 * o->slot_floats;
    step_z(o, w, sum, z, gradients + i * stride);
    float norm = __builtin_sqrtf(sum_of_squares(z, o->dim));
    float factor = norm <= l1 ? 0.0f : (l1 - norm) / norm;
    for (uint32_t j = 0; j < o->dim; j++) w[j] = z[j] * factor / (__builtin_sqrtf(sum[j]) / lr + 2.0f * l2);
  }
}

TS_KERNELS(ts_ftrl, per_coordinate)
TS_KERNELS(ts_ftrl_row_norm, row_norm)
