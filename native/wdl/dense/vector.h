/* vector.h - what happens to activations and gradients between products, over a block of rows that is in the cache.
 *
 * A block is dense and row-major, in FP32 or BF16. Each pass does all that is to be done with a block at once: what
 * weight gradients need later is written in their order right here (activations transposed, gradients packed), so that
 * a block itself never leaves the cache. Compiled once for each kind of CPU; all give the same bits, because sums keep
 * the order of the rows and nothing is contracted. Widths are multiples of 16. */
#ifndef TS_WDL_DENSE_VECTOR_H
#define TS_WDL_DENSE_VECTOR_H

#include "wdl/dense/dropout.h"
#include "wdl/dense/packed.h"

/* Place of a block in the transposed activations of a layer: unit i of row r is at to[i * stride + at + r]. Columns
 * rows .. padded - 1 are written as zeros. to may be NULL. */
typedef struct ts_transposed {
  void *to;
  size_t stride, at;
  uint32_t padded;
} ts_transposed;

/* Input: rows of `columns` floats, `stride` apart -> block of `width` (zeros behind the columns) and transposed. */
void ts_input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                   void *block /* or NULL */, const ts_transposed *transposed);
/* Hidden layer: alive[r][i] = 0xff where the unit is above zero, else 0; and transposed. */
void ts_hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                    const ts_transposed *transposed);
/* keep[r][i] = 1 or, for the share of units that dropout takes, 0; row r is `row + r` of the batch. */
void ts_dropout_mask(uint8_t *keep, uint32_t rows, uint32_t width, uint64_t seed, uint64_t step, uint32_t layer,
                     uint64_t row, uint32_t threshold);
/* What the products do themselves when they are fused: to = max(0, y + bias), and then keep ? to * scale : 0. */
void ts_bias_relu_pass(const float *y, uint32_t rows, uint32_t width, const float *bias, const uint8_t *keep,
                       float scale, bool bf16, void *to);

/* out[r] = bias + sum of y[r][i] * w[i], in 16 lanes added up in order. */
void ts_output_forward(const float *y, uint32_t rows, uint32_t width, const float *w, float bias, float *out);
/* delta[r][i] = loss_gradient[r] * w[i]; gradient[i] += loss_gradient[r] * y[r][i]. */
void ts_output_backward(const float *y, const float *loss_gradient, uint32_t rows, uint32_t width, const float *w,
                        bool bf16, void *delta, float *gradient);
/* delta = rows of floats, `stride` apart. */
void ts_rows_backward(const float *dy, size_t stride, uint32_t rows, uint32_t columns, uint32_t width, bool bf16,
                      void *delta);
/* Backward through dropout and ReLU: delta[r][i] = alive[r][i] ? delta[r][i] * scale : 0, in place; the same as rows
 * [row, row + padded) of B (zeros from `rows` on); sums[i] += the result, in the order of the rows. row and padded are
 * even. */
void ts_delta_pass(void *delta, uint32_t rows, uint32_t padded, uint32_t width, const uint8_t *alive, float scale,
                   float *sums, const ts_packed_layout *layout, void *packed, uint32_t row);

#endif
