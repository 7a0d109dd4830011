/* mlp_pass.c - forward and backward of a shard, block of rows by block of rows through all layers. */
#include "wdl/dense/mlp_parts.h"

#include <string.h>

ts_mlp_rows ts_mlp_cut(const ts_mlp *mlp, uint32_t piece, uint32_t shard, uint32_t batch) {
  const uint32_t parts = mlp->options.pieces * mlp->options.shards, part = piece * mlp->options.shards + shard;
  ts_mlp_rows at = {.piece = piece, .shard = shard};
  at.first = (uint32_t)((uint64_t)batch * part / parts);
  at.rows = (uint32_t)((uint64_t)batch * (part + 1) / parts) - at.first;
  return at;
}

/* Part of a shard that goes through the layers at once. */
typedef struct block {
  const ts_mlp_slot *slot;
  uint32_t piece, part; /* part: of bias sums */
  uint32_t first, rows; /* in the batch */
  uint32_t row, padded; /* in the depth of the piece: where it starts, and how many rows it answers for */
  uint32_t shard;       /* number of its slot */
  bool starts; /* the shard's first */
} block;

/* The block that begins `done` rows into the shard. The last one of a shard also writes the zeros that follow it. */
static block block_at(const ts_mlp *mlp, const ts_mlp_rows *at, uint32_t done) {
  const ts_mlp_options *o = &mlp->options;
  block b = {.piece = at->piece, .starts = done == 0};
  b.part = at->piece * o->shards + at->shard;
  b.shard = o->apart > 0 ? b.part : at->shard;
  b.slot = &mlp->slots[b.shard];
  b.first = at->first + done;
  b.rows = TS_MIN(at->rows - done, mlp->block_rows);
  b.row = at->shard * mlp->shard_rows + done;
  uint32_t end = at->shard + 1 == o->shards ? mlp->depth : (at->shard + 1) * mlp->shard_rows;
  b.padded = done + b.rows == at->rows ? end - b.row : b.rows;
  return b;
}

static bool fits(const ts_mlp *mlp, const ts_mlp_rows *at) {
  return at->piece < mlp->options.pieces && at->shard < mlp->options.shards &&
         (uint64_t)at->first + at->rows <= mlp->options.batch;
}

static ts_transposed transposed_input(const ts_mlp *mlp, const ts_mlp_layer *layer, const block *b) {
  const size_t piece = (size_t)b->piece * layer->width * mlp->depth * ts_mlp_element(mlp);
  return (ts_transposed){(char *)layer->input + piece, mlp->depth, b->row, b->padded};
}

/* The block's rows of the input, dense and in the products' type: where they lie if they are so, else a copy. */
static const void *take_input(const ts_mlp *mlp, const block *b, bool training) {
  const ts_mlp_layer *layer = &mlp->layers[0];
  const float *x = mlp->x + b->first * mlp->x_stride;
  const bool dense = mlp->x_stride == layer->width;
  const bool direct = dense && !mlp->options.bf16 && b->rows == mlp->block_rows;
  const ts_transposed t = training ? transposed_input(mlp, layer, b) : (ts_transposed){0};
  void *copy = direct ? NULL : b->slot->block[0];
  if (training || !direct)
    ts_input_pass(x, mlp->x_stride, dense ? layer->width : layer->in - layer->from, b->rows, layer->width, mlp->options.bf16,
                  copy, &t);
  return direct ? (const void *)x : copy;
}

/* One layer: from `x` to `y` in the products' type, or FP32 where it is the last. */
static int32_t forward_layer(const ts_mlp *mlp, const block *b, uint32_t l, const void *x, void *y, bool dropping) {
  const ts_mlp_options *o = &mlp->options;
  const ts_mlp_layer *layer = &mlp->layers[l];
  const uint32_t number = o->stream * TS_MLP_LAYERS + l;
  if (dropping)
    ts_dropout_mask(b->slot->keep, b->rows, layer->out_width, o->seed, mlp->step, number, b->first,
                    ts_dropout_threshold(o->dropout));
  if (o->fusion && layer->from == 0) return ts_product_run(dropping ? layer->forward_dropout : layer->forward, b->shard, x, y);
  const bool bf16 = o->bf16 && l + 1 < o->count;
  float *sums = bf16 ? b->slot->block[2] : y;
  int32_t status = ts_product_run(layer->forward, b->shard, x, sums);
  if (layer->from > 0)
    ts_distinct_forward(&mlp->vectors, b->first, b->rows, sums, layer->b.value, dropping ? b->slot->keep : NULL,
                        ts_mlp_dropout_scale(mlp), bf16, y);
  else ts_bias_relu_pass(sums, b->rows, layer->out_width, layer->b.value, dropping ? b->slot->keep : NULL,
                    ts_mlp_dropout_scale(mlp), bf16, y);
  return status;
}

static int32_t forward_block(const ts_mlp *mlp, const block *b, bool training, float *logit) {
  const ts_mlp_options *o = &mlp->options;
  const void *x = take_input(mlp, b, training);
  uint32_t next = 1; /* block that the next layer writes */
  int32_t status = TS_OK;
  for (uint32_t l = 0; l < o->count; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    const bool last = l + 1 == o->count, direct = last && b->rows == mlp->block_rows;
    float *rows = last ? mlp->y + (size_t)b->first * layer->out_width : NULL;
    void *y = direct ? (void *)rows : b->slot->block[next];
    if (b->rows > 0) status |= forward_layer(mlp, b, l, x, y, training && o->dropout > 0);
    if (training) {
      const ts_transposed t = last ? (ts_transposed){0} : transposed_input(mlp, layer + 1, b);
      ts_hidden_pass(y, b->rows, layer->out_width, o->bf16 && !last,
                     layer->alive + (size_t)b->first * layer->out_width, &t);
    }
    if (last && !direct) memcpy(rows, y, (size_t)b->rows * layer->out_width * sizeof(float));
    x = y;
    next ^= 1;
  }
  if (o->head)
    ts_output_forward(mlp->y + (size_t)b->first * mlp->output.width, b->rows, mlp->output.width, mlp->output.value,
                      mlp->output_bias.value[0], logit + b->first);
  return status;
}

int32_t ts_mlp_forward(const ts_mlp *mlp, ts_mlp_rows at, bool training, float *logit) {
  if (!fits(mlp, &at) || (training && at.rows > mlp->shard_rows)) return TS_EINTERNAL;
  int32_t status = TS_OK;
  uint32_t done = 0;
  do {
    const block b = block_at(mlp, &at, done);
    status |= forward_block(mlp, &b, training, logit);
    done += b.rows;
  } while (done < at.rows);
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}

/* Gradient of the last layer's outputs, before its ReLU. */
static void start_backward(const ts_mlp *mlp, const block *b, const float *loss_gradient, void *delta) {
  const ts_mlp_options *o = &mlp->options;
  const uint32_t width = mlp->output.width;
  if (!o->head) {
    ts_rows_backward(mlp->dy + b->first * mlp->dy_stride, mlp->dy_stride, b->rows, mlp->layers[o->count - 1].out, width,
                     o->bf16, delta);
    return;
  }
  float *parts = mlp->output_parts + (size_t)b->part * (width + TS_LANES);
  if (b->starts) memset(parts, 0, (width + TS_LANES) * sizeof(float));
  ts_output_backward(mlp->y + (size_t)b->first * width, loss_gradient + b->first, b->rows, width, mlp->output.value,
                     o->bf16, delta, parts);
  for (uint32_t r = 0; r < b->rows; r++) parts[width] += loss_gradient[b->first + r];
}

/* Gradient of the input: straight to dx, or by a copy where its rows are not as a product writes them. */
static int32_t input_gradient(const ts_mlp *mlp, const block *b, const void *delta) {
  const ts_mlp_layer *layer = &mlp->layers[0];
  float *dx = mlp->dx + b->first * mlp->dx_stride;
  if (b->rows == mlp->block_rows && mlp->dx_stride == layer->in_width)
    return ts_product_run(layer->backward, b->shard, delta, dx);
  float *copy = b->slot->block[2];
  const size_t columns = TS_MIN(mlp->dx_stride, layer->in_width);
  int32_t status = ts_product_run(layer->backward, b->shard, delta, copy);
  for (uint32_t r = 0; r < b->rows; r++)
    memcpy(dx + r * mlp->dx_stride, copy + (size_t)r * layer->in_width,
           (columns == layer->in_width ? columns : layer->in) * sizeof(float));
  return status;
}

static int32_t backward_block(const ts_mlp *mlp, const block *b, const float *loss_gradient) {
  const ts_mlp_options *o = &mlp->options;
  const float scale = o->dropout > 0 ? ts_mlp_dropout_scale(mlp) : 1.0f;
  uint32_t now = 0;
  int32_t status = TS_OK;
  start_backward(mlp, b, loss_gradient, b->slot->block[now]);
  for (uint32_t l = o->count; l-- > 0;) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    void *delta = b->slot->block[now];
    float *sums = layer->bias_parts + (size_t)b->part * layer->out_width;
    if (b->starts) memset(sums, 0, layer->out_width * sizeof(float));
    ts_delta_pass(delta, b->rows, b->padded, layer->out_width, layer->alive + (size_t)b->first * layer->out_width, scale,
                  sums, ts_product_layout(layer->gradient[0][0]), ts_mlp_delta_of(layer, b->piece), b->row);
    if (b->rows == 0) continue;
    if (layer->from > 0) ts_distinct_keep_delta(&mlp->vectors, b->first, b->rows, delta);
    if (l > 0) status |= ts_product_run(layer->backward, b->shard, delta, b->slot->block[now ^ 1]);
    else if (o->input_gradient) status |= input_gradient(mlp, b, delta);
    now ^= 1;
  }
  return status;
}

int32_t ts_mlp_backward(const ts_mlp *mlp, ts_mlp_rows at, const float *loss_gradient) {
  if (!fits(mlp, &at) || at.rows > mlp->shard_rows) return TS_EINTERNAL;
  int32_t status = TS_OK;
  uint32_t done = 0;
  do {
    const block b = block_at(mlp, &at, done);
    status |= backward_block(mlp, &b, loss_gradient);
    done += b.rows;
  } while (done < at.rows);
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}
