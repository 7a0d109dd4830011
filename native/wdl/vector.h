/* vector.h - loops over rows of floats, 16 at a time. The compiler makes one version for each kind of CPU and the loader
 * picks; since products and sums are never fused and every lane keeps its order, all versions give the same bits.
 * Pointers are aligned to 64 bytes and lengths are multiples of 16 (TS_LANES). */
#ifndef TS_WDL_VECTOR_H
#define TS_WDL_VECTOR_H

#include "base/base.h"

#define TS_LANES 16u

/* Sanitizers instrument the loader's choice itself, which runs before they are ready. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TS_CLONES
#endif

/* y[r][i] = max(0, y[r][i] + bias[i]) for a block of rows. */
void ts_bias_relu(float *y, uint32_t rows, uint32_t width, const float *bias);
/* delta[r][i] = y[r][i] > 0 ? delta[r][i] : 0; sums[i] = sum over r of the result, in the order of the rows. */
void ts_relu_backward(float *delta, const float *y, uint32_t rows, uint32_t width, float *sums);
/* delta[r][i] = y[r][i] > 0 ? scale[r] * w[i] : 0; sums[i] as above;
 * gradient[i] = sum over r of scale[r] * y[r][i]: backward through ReLU and the one output that follows it. */
void ts_output_backward(float *delta, const float *y, const float *scale, uint32_t rows, uint32_t width, const float *w,
                        float *sums, float *gradient);
/* out[r] = bias + sum of y[r][i] * w[i], in 16 lanes added up in order. */
void ts_output_forward(const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out);
/* Optimizer steps over n weights. */
void ts_sgd_step(float *w, const float *gradient, uint32_t n, float learning_rate);
void ts_adagrad_step(float *w, float *accumulator, const float *gradient, uint32_t n, float learning_rate);

#endif
