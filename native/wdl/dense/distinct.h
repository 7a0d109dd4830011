/* distinct.h - the first layer over vectors that few different rows come in.
 *
 * A batch has each row of a table once, or many times. For a vector v with the rows u of its table, W_v the layer's weights
 * behind it, and of[r] the number of sample r's row:
 *
 *   forward    y[r]  = ... + sum over v of P_v[of_v[r]]      P_v = U_v W_v, a row of it for each distinct row
 *   backward   S_v[u] = sum of d[r] over the samples r with row u, in their order
 *   gradient   dW_v  = U_v^T S_v
 *   to rows    dU_v  = S_v W_v^T, which is the sum of the gradients of a row: what its optimizer steps by
 *
 * so every product has as many rows as are distinct, not as many as samples. Sums have one order, whoever computes them. What
 * this layer has beside vectors (numerics) goes its usual way. Products take TS_DISTINCT_ROWS rows at a time. */
#ifndef TS_WDL_DENSE_DISTINCT_H
#define TS_WDL_DENSE_DISTINCT_H

#include "ranks/fold.h"
#include "wdl/common/workspace.h"
#include "wdl/dense/parameters.h"
#include "wdl/dense/product.h"

#define TS_DISTINCT_VECTORS 32u
#define TS_DISTINCT_ROWS 32u

typedef struct ts_distinct_options {
  uint32_t count;                     /* vectors; 0: there is no such part */
  uint32_t dims[TS_DISTINCT_VECTORS]; /* each a multiple of 16; the layer's first inputs, in this order */
} ts_distinct_options;

/* A vector's rows in a batch, its owner's to set: before ts_distinct_lay_out, and gradients before ts_distinct_gradient. */
typedef struct ts_distinct_batch {
  const ts_fold *fold; /* of the samples' keys, one item a sample */
  const float *rows;   /* of sample r: rows + r * stride */
  uint64_t stride;
  float *gradients; /* of distinct row u: gradients + u * gradient_stride; may take the place of `rows` where the strides are equal */
  uint64_t gradient_stride;
} ts_distinct_batch;

typedef struct ts_distinct_vector {
  uint32_t dim, first; /* first: row of the weights */
  uint32_t base;       /* of the batch's: its first row in sums */
  ts_product *forward, *backward, *gradient[2]; /* those of the first vector of this width; gradient: = and += */
  void *packed, *packed_transposed;
  char *work; /* of one block */
  ts_distinct_batch batch;
} ts_distinct_vector;

typedef struct ts_distinct {
  const ts_dnnl *dnnl;
  uint32_t count, units, batch; /* units: of the layer, rounded up */
  bool bf16, sgemm;
  uint32_t inputs; /* of all vectors */
  ts_distinct_vector vector[TS_DISTINCT_VECTORS];
  uint64_t scratch_bytes;
  float *sums; /* P of all vectors, sums_stride apart */
  size_t sums_stride;
  float *delta; /* batch rows, sums_stride apart: d loss / d (output before ReLU) */
} ts_distinct;

/* Makes the products. Errors: TS_EINVAL, TS_EUNAVAILABLE, TS_ENOMEM; ts_distinct_close frees what was made. */
int32_t ts_distinct_open(ts_distinct *d, const ts_dnnl *dnnl, const ts_distinct_options *options, uint32_t units, uint32_t batch,
                         bool bf16, bool sgemm, ts_err err);
void ts_distinct_close(ts_distinct *d);
/* Memory, as the MLP's (mlp.h). */
void ts_distinct_plan_parameters(ts_distinct *d, ts_workspace *space);
void ts_distinct_plan_step(ts_distinct *d, ts_workspace *space);
int32_t ts_distinct_bind(ts_distinct *d);

/* Rows [row, row + rows) of the weights into the products' order; all of one vector's. */
void ts_distinct_pack(const ts_distinct *d, uint32_t vector, const ts_parameters *w);

/* Once a batch, when all folds are there; then ts_distinct_multiply of each vector, in any order; then forward of samples. */
void ts_distinct_lay_out(ts_distinct *d);
int32_t ts_distinct_multiply(const ts_distinct *d, uint32_t vector);
/* Samples [first, first + rows): to[r] = ReLU(sums[r] + bias + the rows of P), and dropout. `sums` and `to` are blocks; to is BF16
 * if `bf16`. */
void ts_distinct_forward(const ts_distinct *d, uint32_t first, uint32_t rows, const float *sums, const float *bias,
                         const uint8_t *keep, float scale, bool bf16, void *to);
/* Keeps a block's gradients for the sums. */
void ts_distinct_keep_delta(const ts_distinct *d, uint32_t first, uint32_t rows, const void *delta);
/* When all samples are there: gradients of the vector's weights into w->gradient, and of its rows. */
int32_t ts_distinct_gradient(const ts_distinct *d, uint32_t vector, const ts_parameters *w);

#endif
