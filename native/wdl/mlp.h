/* mlp.h - the deep part above the embeddings: fully connected ReLU layers and one linear output.
 *
 * The batch is cut into TS_SHARDS blocks of rows whatever the number of threads. Forward and backward of a block are
 * one chain on one thread; gradients of weights are products over the whole batch, cut into blocks of rows of the
 * weight matrix. So no sum depends on the threads, and results are the same for any number of them.
 *
 * All widths are rounded up to 16 floats. What is added is zero and stays zero: padded inputs are zero, so the weights
 * behind them get no gradient, so padded outputs are zero. */
#ifndef TS_WDL_MLP_H
#define TS_WDL_MLP_H

#include "wdl/workspace.h"
#include "wdl/dnnl.h"
#include "wdl/vector.h"

#define TS_SHARDS 8u
#define TS_MLP_LAYERS 16u /* most hidden layers */

/* A set of weights with their optimizer state: Adagrad where `accumulator` is not NULL, else SGD. */
typedef struct ts_weights {
  float *value, *accumulator, *gradient;
  uint32_t count; /* a multiple of 16 */
} ts_weights;

typedef struct ts_mlp_layer {
  uint32_t in, out;             /* widths, as asked */
  uint32_t in_width, out_width; /* rounded up */
  ts_weights w;                 /* in_width x out_width, row-major */
  ts_weights b;                 /* out_width */
  float *y;                     /* batch x out_width: outputs after ReLU */
  float *delta;                 /* batch x out_width: d loss / d (output before ReLU) */
  float *bias_parts;            /* TS_SHARDS x out_width */
} ts_mlp_layer;

typedef struct ts_mlp {
  ts_dnnl dnnl;
  uint32_t batch, count; /* rows at most; hidden layers */
  ts_mlp_layer layers[TS_MLP_LAYERS];
  ts_weights output, output_bias; /* width of the last layer; 16, of which one is used */
  float *output_parts;            /* TS_SHARDS x width of the last layer */
  float *x, *dx;                  /* batch x layers[0].in_width: input and its gradient */
  float learning_rate;
} ts_mlp;

/* Plans the memory (see workspace.h): call once to measure and once to lay out. in > 0, count in 1..TS_MLP_LAYERS. */
void ts_mlp_plan(ts_mlp *mlp, ts_workspace *space, uint32_t batch, uint32_t in, const uint32_t *hidden, uint32_t count,
                 bool adagrad);
/* Glorot uniform weights: +-sqrt(6 / (in + out)) by (seed, layer, index); biases 0; accumulators as given, above 0. */
void ts_mlp_initialise(ts_mlp *mlp, uint64_t seed, float initial_accumulator);

/* Rows [first, first + rows) of x -> logits of the deep part. */
int32_t ts_mlp_forward(const ts_mlp *mlp, uint32_t first, uint32_t rows, float *logit);
/* After forward: loss_gradient[r] = d loss / d logit -> dx, and the parts of shard `shard` of the small gradients. */
int32_t ts_mlp_backward(const ts_mlp *mlp, uint32_t shard, uint32_t first, uint32_t rows, const float *loss_gradient);

/* Weight gradients and optimizer steps, cut into independent parts. */
uint32_t ts_mlp_update_parts(const ts_mlp *mlp);
int32_t ts_mlp_update(ts_mlp *mlp, uint32_t part, uint32_t batch, const float *loss_gradient);

/* 64-bit digest of weights and optimizer state. */
uint64_t ts_mlp_digest(const ts_mlp *mlp, uint64_t h);

#endif
