/* mlp.h - fully connected ReLU layers, and above them one linear output (or none: then the last layer's rows are the
 * result). As many as wanted may exist at once.
 *
 * The batch is cut into `pieces` (micro-batches) of `shards` blocks of rows, whatever the number of threads. Forward and
 * backward of a shard are one chain on one thread, in blocks of rows that stay in the cache; gradients of weights are
 * products over a whole piece, cut into blocks of rows of the weight matrix, and each block's optimizer step follows its
 * gradient. No sum depends on the threads, so results are the same bits for any number of them.
 *
 * Every product is A (dense) times B (packed), the form oneDNN runs at the CPU's peak:
 *   forward    y     = x   times W        W packed once a step, when it was updated
 *   backward   dx    = d   times W^T      W^T packed at the same time
 *   gradient   dW    = x^T times d        x transposed in forward, d packed in backward, while they are in the cache
 *
 * With bf16 the operands of these products are BF16: activations, gradients of activations and the packed weights.
 * Sums, weights, optimizer state, weight gradients, biases, the last layer's activations and the output are FP32.
 *
 * The first layer may have vectors of few distinct rows among its inputs, which go another way (distinct.h).
 *
 * Widths are rounded up to 16. What is added is zero and stays zero: padded inputs are zero, so the weights behind them
 * get no gradient, so padded outputs are zero.
 *
 * Use: ts_mlp_open, ts_mlp_plan_* twice (workspace.h), ts_mlp_bind, ts_mlp_initialise; then for each step ts_mlp_begin,
 * forward and backward of every shard of every piece, ts_mlp_update of every part. */
#ifndef TS_WDL_DENSE_MLP_H
#define TS_WDL_DENSE_MLP_H

#include "wdl/dense/distinct.h"
#include "wdl/dense/parameters.h"
#include "wdl/dense/product.h"

#define TS_SHARDS 8u      /* of deterministic runs */
#define TS_MLP_LAYERS 16u /* most hidden layers */

typedef struct ts_mlp_options {
  uint32_t batch;          /* rows of a step at most */
  uint32_t pieces, shards; /* 1 or more; shards are of a piece */
  uint32_t apart; /* 0, or how many pieces' gradients are kept apart (mlp_apart.c): pieces may run side by side */
  uint32_t in, hidden[TS_MLP_LAYERS], count;
  bool head;           /* one linear output above the last layer */
  bool own_input;      /* x and dx are planned here; else their owner says where they are before forward */
  bool input_gradient; /* dx is wanted */
  bool fusion;         /* bias, ReLU and dropout inside the products; needs oneDNN 2.x */
  bool bf16;           /* needs oneDNN 2.x and avx512_bf16 */
  bool sgemm;          /* dnnl_sgemm and passes of their own, also with oneDNN 2.x: for comparisons */
  double dropout;      /* share of hidden units set to zero in training, 0..0.9 */
  uint64_t seed;       /* initial weights and dropout */
  uint32_t stream;     /* number of this MLP in the model: MLPs of one seed differ */
  ts_optimizer rule;   /* kind and numbers of a rule of deep_optimizer */
  /* The first inputs are vectors of few distinct rows (distinct.h); x and dx are without them. Needs one piece, apart 0, no
   * own input and no input gradient. */
  ts_distinct_options vectors;
} ts_mlp_options;

typedef struct ts_mlp_layer {
  uint32_t in, out;             /* widths, as asked */
  uint32_t in_width, out_width; /* rounded up */
  uint32_t from, width;         /* inputs of the products below: those from `from` on, all but vectors */
  ts_parameters w;              /* in_width rows of out_width */
  ts_parameters b;              /* one row */
  ts_product *forward, *forward_dropout, *backward;
  ts_product *gradient[2][2]; /* whole and last block of rows; first piece (=) and further ones (+=) */
  void *packed, *packed_transposed; /* W and W^T for forward and backward */
  void *input;                      /* [pieces][width][depth]: the layer's input, transposed */
  void *delta;                      /* [pieces]: d loss / d (output before ReLU), packed */
  uint8_t *alive;                   /* batch x out_width: outputs above 0 */
  float *bias_parts;                /* (pieces x shards) x out_width */
} ts_mlp_layer;

/* Working memory of a shard's chain: blocks of rows, a dropout mask, oneDNN's scratch. */
typedef struct ts_mlp_slot {
  void *block[3];
  uint8_t *keep;
  void *scratch;
} ts_mlp_slot;

typedef struct ts_mlp {
  const ts_dnnl *dnnl;
  ts_mlp_options options;
  uint32_t shard_rows; /* most rows of a shard, rounded up */
  uint32_t depth;      /* rows of a piece, with padding: what gradients sum over */
  uint32_t block_rows; /* rows of one product */
  ts_mlp_layer layers[TS_MLP_LAYERS];
  ts_distinct vectors; /* of the first layer */
  ts_parameters output, output_bias; /* one row each: the last layer's width; 16, of which one is used */
  float *output_parts;               /* (pieces x shards) x (last width + 16): their gradients */
  float *x, *dx;                     /* batch rows of `in` columns, x_stride and dx_stride apart. Where x_stride is */
                                     /* in_width of the first layer, x's columns from `in` on must be zeros */
  size_t x_stride, dx_stride;
  float *y;        /* batch x width of the last layer: its outputs, FP32 */
  const float *dy; /* without head: d loss / d y, dy_stride apart; its owner sets both before backward */
  size_t dy_stride;
  ts_mlp_slot *slots; /* one for each shard: two shards of one number do not run at a time; apart: of each piece */
  float *gradients;   /* apart: those of all parameters, of one piece behind the other */
  void *gradient_scratch;
  uint64_t scratch_bytes, gradient_scratch_bytes;
  uint64_t step; /* of the current step: dropout */
  ts_optimizer rule;
  ts_optimizer_call call;
} ts_mlp;

/* Makes the products. Errors: TS_EINVAL, TS_EUNAVAILABLE (oneDNN, its version, BF16), TS_ENOMEM. After any result,
 * ts_mlp_close frees what was made; memory from workspaces is its owner's. */
int32_t ts_mlp_open(ts_mlp *mlp, const ts_mlp_options *options, ts_err err);
void ts_mlp_close(ts_mlp *mlp);

/* Memory: parameters live as long as the MLP; what a step needs may lie in memory that is new in each step (then
 * ts_mlp_bind follows each time). Contents of a step's memory do not matter, but for x's padding. */
void ts_mlp_plan_parameters(ts_mlp *mlp, ts_workspace *space);
void ts_mlp_plan_step(ts_mlp *mlp, ts_workspace *space);
int32_t ts_mlp_bind(ts_mlp *mlp); /* TS_EINTERNAL if oneDNN refuses */

/* Glorot uniform weights: +-sqrt(6 / (in + out)) by (seed, stream, layer, index); biases 0. */
void ts_mlp_initialise(ts_mlp *mlp);

/* Rows of a batch, and whose they are. */
typedef struct ts_mlp_rows {
  uint32_t piece, shard, first, rows;
} ts_mlp_rows;
/* The usual cut of `batch` rows, at most as many as planned. */
ts_mlp_rows ts_mlp_cut(const ts_mlp *mlp, uint32_t piece, uint32_t shard, uint32_t batch);

/* With vectors: their owner sets mlp->vectors.vector[..].batch and calls ts_distinct_lay_out, then ts_mlp_multiply_vector of each,
 * before forward. Parts of the update begin with the vectors', one each: the part leaves gradients of its rows, too. */
int32_t ts_mlp_multiply_vector(const ts_mlp *mlp, uint32_t vector);

/* Before the forward of a step: `step` is its number in the run (dropout, decay of Adagrad's sums). */
void ts_mlp_begin(ts_mlp *mlp, uint64_t step);
/* x -> y, and with a head y -> logit[first ..]. Without training nothing is dropped or kept for backward. A training
 * step runs every shard of every piece, also those without rows. */
int32_t ts_mlp_forward(const ts_mlp *mlp, ts_mlp_rows at, bool training, float *logit);
/* After forward: loss_gradient[r] = d loss / d logit (with a head), or dy -> dx and what weight gradients need. */
int32_t ts_mlp_backward(const ts_mlp *mlp, ts_mlp_rows at, const float *loss_gradient);

/* Independent parts of the weights. Gradients of a part: the pieces one after the other, each when all its shards went
 * backward; then one optimizer step. ts_mlp_update does all that for a part. */
uint32_t ts_mlp_update_parts(const ts_mlp *mlp);
int32_t ts_mlp_gradient(const ts_mlp *mlp, uint32_t part, uint32_t piece);
void ts_mlp_apply(const ts_mlp *mlp, uint32_t part);
int32_t ts_mlp_update(const ts_mlp *mlp, uint32_t part);

/* With `apart`. Gradients of all parameters of a piece are so many floats. */
uint64_t ts_mlp_gradient_floats(const ts_mlp *mlp);
/* Computes a part's gradients of pieces [first + from, first + end), of the `apart` that begin with `first`. The call that ends
 * with the last of them, which comes when the others are done, adds them up by the tree (ranks/fold.h): mlp->gradients begins
 * with the sums. ts_mlp_apply follows when all parts are there. */
int32_t ts_mlp_gradient_apart(const ts_mlp *mlp, uint32_t part, uint32_t first, uint32_t from, uint32_t end);

/* Parameters by number: "0.w", "0.b", "1.w", ..., "output.w", "output.b"; row-major, without padding. */
typedef struct ts_mlp_parameter {
  char name[24];
  uint32_t rows, columns;
} ts_mlp_parameter;
uint32_t ts_mlp_parameter_count(const ts_mlp *mlp);
ts_mlp_parameter ts_mlp_parameter_at(const ts_mlp *mlp, uint32_t index);
void ts_mlp_read(const ts_mlp *mlp, uint32_t index, float *out);
/* The rows in which it is kept, with padding and optimizer state; whoever writes there packs (ts_mlp_pack). */
const ts_parameters *ts_mlp_rows_of(const ts_mlp *mlp, uint32_t index);
/* Weights alone; optimizer state stays. */
void ts_mlp_write(ts_mlp *mlp, uint32_t index, const float *in);
/* After weights were changed by hand. */
void ts_mlp_pack(const ts_mlp *mlp);

uint64_t ts_mlp_parameters(const ts_mlp *mlp); /* how many numbers are trained */
/* 64-bit digest of weights and optimizer state. */
uint64_t ts_mlp_digest(const ts_mlp *mlp, uint64_t h);
/* oneDNN's names of the products: "forward brg:avx512_core ..." */
void ts_mlp_kernels(const ts_mlp *mlp, char *out, size_t cap);

#endif
