/* mlp_apart.c - gradients of pieces kept apart and added up by a tree that any number of ranks can share.
 *
 * A piece's gradients of all parameters lie together, in the order of the parameters: weights and biases of each layer, then
 * the output's. The first piece's are where the optimizer reads. */
#include "ranks/fold.h"
#include "wdl/dense/mlp_parts.h"

#include <string.h>

uint64_t ts_mlp_gradient_floats(const ts_mlp *mlp) {
  uint64_t floats = (uint64_t)mlp->output.width + mlp->output_bias.width;
  for (uint32_t l = 0; l < mlp->options.count; l++)
    floats += (uint64_t)(mlp->layers[l].in_width + 1) * mlp->layers[l].out_width;
  return floats;
}

void ts_mlp_plan_apart(ts_mlp *mlp, ts_workspace *space) {
  mlp->gradients = ts_workspace_take(space, mlp->options.apart * ts_mlp_gradient_floats(mlp), sizeof(float));
  if (mlp->gradients == NULL) return; /* while memory is measured */
  float *at = mlp->gradients;
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    layer->w.gradient = at;
    layer->b.gradient = at += (uint64_t)layer->in_width * layer->out_width;
    at += layer->out_width;
  }
  mlp->output.gradient = at;
  mlp->output_bias.gradient = at + mlp->output.width;
}

/* Of some of the pieces that are kept apart, those from `from` to before `end`; `first` is the batch's number of the first of all. */
typedef struct some_pieces {
  uint32_t first, from, end;
} some_pieces;

/* Sums over the shards of each piece, in their order; once all pieces are there, over pieces. */
static void add_small(const ts_mlp *mlp, const float *parts, uint32_t stride, uint32_t width, some_pieces of, float *to) {
  const uint64_t floats = ts_mlp_gradient_floats(mlp);
  const uint32_t shards = mlp->options.shards, first = of.first;
  for (uint32_t p = of.from; p < of.end; p++) {
    float *sum = to + p * floats;
    memset(sum, 0, width * sizeof *sum);
    for (uint32_t s = 0; s < shards; s++)
      for (uint32_t i = 0; i < width; i++) sum[i] += parts[(size_t)((first + p) * shards + s) * stride + i];
  }
  if (of.end == mlp->options.apart) ts_tree_sum(to, floats, mlp->options.apart, width);
}

static void sum_small(const ts_mlp *mlp, some_pieces of) {
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    add_small(mlp, layer->bias_parts, layer->out_width, layer->out_width, of, layer->b.gradient);
  }
  const uint32_t width = mlp->output.width + mlp->output_bias.width;
  if (mlp->options.head) add_small(mlp, mlp->output_parts, width, width, of, mlp->output.gradient);
  else memset(mlp->output.gradient, 0, width * sizeof(float));
}

int32_t ts_mlp_gradient_apart(const ts_mlp *mlp, uint32_t part, uint32_t first, uint32_t from, uint32_t end) {
  const ts_mlp_layer *layer = ts_mlp_layer_of(mlp, &part);
  if (layer == NULL) {
    sum_small(mlp, (some_pieces){first, from, end});
    return TS_OK;
  }
  const uint32_t row = part * TS_UPDATE_ROWS, rows = ts_mlp_part_rows(layer, part);
  const bool tail = rows < TS_MIN(layer->width, TS_UPDATE_ROWS);
  const uint64_t floats = ts_mlp_gradient_floats(mlp);
  float *to = layer->w.gradient + (size_t)row * layer->out_width;
  int32_t status = TS_OK;
  for (uint32_t p = from; p < end; p++) {
    const size_t at = ((size_t)(first + p) * layer->width + row) * mlp->depth * ts_mlp_element(mlp);
    status |= ts_product_run(layer->gradient[tail][0], (first + p) * ts_mlp_layer_parts(layer) + part,
                             (const char *)layer->input + at, to + p * floats);
  }
  if (end == mlp->options.apart) ts_tree_sum(to, floats, mlp->options.apart, (uint64_t)rows * layer->out_width);
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}
