/* mlp.c - makes an MLP: its cut of the batch, its products, its memory, its first weights. */
#include "wdl/dense/mlp_parts.h"

#include <string.h>

/* A block's widest rows stay in a second-level cache of 1 MiB while the next product reads them; weights pass through
 * once a block. Measured in quarters: 256 rows, else 64, else 16, which still fill oneDNN's kernels. */
#define BLOCK_BYTES (1u << 20)
#define BLOCK_MOST 256u
#define BLOCK_LEAST 16u

/* Rows of a shard are a multiple of 4 so that BF16 pairs stay together; a piece is a multiple of 32, so that packed
 * gradients need no padding of oneDNN's. What is added in training is rows of zeros. */
static void cut_batch(ts_mlp *mlp) {
  const ts_mlp_options *o = &mlp->options;
  uint32_t width = mlp->layers[0].width;
  for (uint32_t l = 0; l < o->count; l++) width = TS_MAX(width, mlp->layers[l].out_width);
  uint32_t most = BLOCK_MOST;
  while (most > BLOCK_LEAST && most * width * ts_mlp_element(mlp) > BLOCK_BYTES) most /= 4;
  mlp->shard_rows = TS_ROUND_UP((o->batch + o->pieces * o->shards - 1) / (o->pieces * o->shards), 4u);
  mlp->depth = TS_ROUND_UP(mlp->shard_rows * o->shards, 32u);
  uint32_t blocks = (mlp->shard_rows + most - 1) / most;
  mlp->block_rows = TS_ROUND_UP((mlp->shard_rows + blocks - 1) / blocks, 4u);
}

static void prepare_layers(ts_mlp *mlp) {
  const ts_mlp_options *o = &mlp->options;
  for (uint32_t l = 0; l < o->count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    layer->in = l == 0 ? o->in : o->hidden[l - 1];
    layer->out = o->hidden[l];
    layer->in_width = TS_ROUND_UP(layer->in, TS_LANES);
    layer->out_width = TS_ROUND_UP(layer->out, TS_LANES);
    for (uint32_t v = 0; l == 0 && v < o->vectors.count; v++) layer->from += o->vectors.dims[v];
    layer->width = layer->in_width - layer->from;
    ts_parameters_prepare(&layer->w, &mlp->rule, layer->in_width, layer->out_width);
    ts_parameters_prepare(&layer->b, &mlp->rule, 1, layer->out_width);
  }
  ts_parameters_prepare(&mlp->output, &mlp->rule, 1, mlp->layers[o->count - 1].out_width);
  ts_parameters_prepare(&mlp->output_bias, &mlp->rule, 1, TS_LANES);
}

static int32_t make(const ts_mlp *mlp, const ts_product_shape *shape, uint32_t slots, const ts_product *like,
                    ts_product **out, uint64_t *scratch, ts_err err) {
  ts_product_shape s = *shape;
  s.sgemm = mlp->options.sgemm || !mlp->dnnl->primitives;
  int32_t status = ts_product_create(mlp->dnnl, &s, slots, like, out, err);
  if (status == TS_OK) *scratch = TS_MAX(*scratch, TS_ROUND_UP(ts_product_scratch(*out), 64));
  return status;
}

static int32_t make_forward(ts_mlp *mlp, uint32_t l, ts_err err) {
  const ts_mlp_options *o = &mlp->options;
  ts_mlp_layer *layer = &mlp->layers[l];
  const bool fusion = o->fusion && layer->from == 0; /* else what vectors add comes before bias and ReLU */
  ts_product_shape s = {.m = mlp->block_rows,
                        .k = layer->width,
                        .n = layer->out_width,
                        .bf16 = o->bf16,
                        .bf16_out = o->bf16 && fusion && l + 1 < o->count,
                        .bias = fusion,
                        .relu = fusion};
  int32_t status = make(mlp, &s, ts_mlp_chains(mlp), NULL, &layer->forward, &mlp->scratch_bytes, err);
  if (status != TS_OK || !fusion || o->dropout == 0) return status;
  s.dropout_scale = ts_mlp_dropout_scale(mlp);
  return make(mlp, &s, ts_mlp_chains(mlp), layer->forward, &layer->forward_dropout, &mlp->scratch_bytes, err);
}

static int32_t make_backward(ts_mlp *mlp, uint32_t l, ts_err err) {
  const ts_mlp_options *o = &mlp->options;
  ts_mlp_layer *layer = &mlp->layers[l];
  if (l == 0 && !o->input_gradient) return TS_OK;
  const ts_product_shape s = {.m = mlp->block_rows,
                              .k = layer->out_width,
                              .n = layer->in_width,
                              .bf16 = o->bf16,
                              .bf16_out = o->bf16 && l > 0};
  return make(mlp, &s, ts_mlp_chains(mlp), NULL, &layer->backward, &mlp->scratch_bytes, err);
}

static int32_t make_gradients(ts_mlp *mlp, uint32_t l, ts_err err) {
  const ts_mlp_options *o = &mlp->options;
  ts_mlp_layer *layer = &mlp->layers[l];
  const uint32_t whole = TS_MIN(layer->width, TS_UPDATE_ROWS), last = layer->width % TS_UPDATE_ROWS;
  int32_t status = TS_OK;
  for (uint32_t tail = 0; tail < 2; tail++) /* of rows */
    for (uint32_t more = 0; more < 2; more++) { /* pieces */
      if (status != TS_OK || (tail == 1 && (last == 0 || last == whole)) || (more == 1 && (o->pieces == 1 || o->apart > 0)))
        continue;
      const ts_product_shape s = {.m = tail ? last : whole,
                                  .k = mlp->depth,
                                  .n = layer->out_width,
                                  .bf16 = o->bf16,
                                  .accumulate = more == 1};
      const ts_product *like = tail + more > 0 ? layer->gradient[0][0] : NULL;
      status = make(mlp, &s, ts_mlp_layer_parts(layer) * o->pieces, like, &layer->gradient[tail][more],
                    &mlp->gradient_scratch_bytes, err);
    }
  return status;
}

static int32_t check(const ts_mlp_options *o, ts_err err) {
  if (o->batch == 0 || o->pieces == 0 || o->shards == 0 || o->in == 0 || o->count == 0 || o->count > TS_MLP_LAYERS)
    return ts_fail(err, TS_EINVAL,
                   "Cannot make an MLP: it needs rows, pieces, shards, inputs and 1 to %u layers, found %u, %u, %u, %u "
                   "and %u",
                   TS_MLP_LAYERS, o->batch, o->pieces, o->shards, o->in, o->count);
  for (uint32_t l = 0; l < o->count; l++)
    if (o->hidden[l] == 0) return ts_fail(err, TS_EINVAL, "Cannot make an MLP: layer %u has no units", l);
  if (!(o->dropout >= 0 && o->dropout <= 0.9))
    return ts_fail(err, TS_EINVAL, "Cannot make an MLP: dropout must be from 0 to 0.9, found %g", o->dropout);
  if (o->sgemm && (o->fusion || o->bf16))
    return ts_fail(err, TS_EINVAL, "Cannot make an MLP: sgemm neither fuses nor takes BF16");
  uint64_t inputs = 0;
  for (uint32_t v = 0; v < TS_MIN(o->vectors.count, TS_DISTINCT_VECTORS); v++) inputs += o->vectors.dims[v];
  if (o->vectors.count > 0 && (inputs >= o->in || o->pieces > 1 || o->apart > 0 || o->own_input || o->input_gradient))
    return ts_fail(err, TS_EINVAL,
                   "Cannot make an MLP: beside vectors it needs other inputs, one piece, and an input of its caller's without "
                   "gradient");
  return TS_OK;
}

int32_t ts_mlp_open(ts_mlp *mlp, const ts_mlp_options *options, ts_err err) {
  memset(mlp, 0, sizeof *mlp);
  int32_t status = check(options, err);
  if (status == TS_OK) status = ts_dnnl_open(&mlp->dnnl, err);
  if (status == TS_OK && options->fusion)
    status = ts_dnnl_need_primitives(mlp->dnnl, "graph_fusion", "set graph_fusion to 0", err);
  if (status == TS_OK && options->bf16) status = ts_dnnl_need_bf16(mlp->dnnl, err);
  if (status != TS_OK) return status;
  memcpy(&mlp->options, options, sizeof *options);
  memcpy(&mlp->rule, &options->rule, sizeof mlp->rule);
  /* The number is slot 1's first value for every rule, and Adam's m begins with 0. */
  if (mlp->rule.kind != TS_ADAGRAD && mlp->rule.kind != TS_ADAGRAD_DECAY) mlp->rule.initial_accumulator = 0;
  status = ts_distinct_open(&mlp->vectors, mlp->dnnl, &options->vectors, TS_ROUND_UP(options->hidden[0], TS_LANES), options->batch,
                            options->bf16, options->sgemm || !mlp->dnnl->primitives, err);
  if (status != TS_OK) return status;
  prepare_layers(mlp);
  cut_batch(mlp);
  for (uint32_t l = 0; l < options->count && status == TS_OK; l++) {
    status = make_forward(mlp, l, err);
    if (status == TS_OK) status = make_backward(mlp, l, err);
    if (status == TS_OK) status = make_gradients(mlp, l, err);
  }
  return status;
}

void ts_mlp_close(ts_mlp *mlp) {
  ts_distinct_close(&mlp->vectors);
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    ts_product_destroy(layer->forward_dropout);
    ts_product_destroy(layer->forward);
    ts_product_destroy(layer->backward);
    for (uint32_t i = 4; i-- > 0;) ts_product_destroy(layer->gradient[i / 2][i % 2]);
  }
  memset(mlp, 0, sizeof *mlp);
}

/* ---- memory ---- */

void ts_mlp_plan_parameters(ts_mlp *mlp, ts_workspace *space) {
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    ts_parameters_plan_values(&layer->w, space);
    ts_parameters_plan_values(&layer->b, space);
    layer->packed = ts_workspace_take(space, ts_packed_bytes(ts_product_layout(layer->forward)), 1);
    if (layer->backward != NULL)
      layer->packed_transposed = ts_workspace_take(space, ts_packed_bytes(ts_product_layout(layer->backward)), 1);
  }
  ts_distinct_plan_parameters(&mlp->vectors, space);
  ts_parameters_plan_values(&mlp->output, space);
  ts_parameters_plan_values(&mlp->output_bias, space);
  mlp->slots = ts_workspace_take(space, ts_mlp_chains(mlp), sizeof *mlp->slots);
}

static void plan_slots(ts_mlp *mlp, ts_workspace *space, uint32_t width) {
  const ts_mlp_options *o = &mlp->options;
  const uint64_t block = (uint64_t)mlp->block_rows * width;
  for (uint32_t s = 0; s < ts_mlp_chains(mlp); s++) {
    ts_mlp_slot slot = {0};
    for (uint32_t i = 0; i < 3; i++) slot.block[i] = ts_workspace_take(space, block, sizeof(float));
    if (o->dropout > 0) slot.keep = ts_workspace_take(space, block, 1);
    slot.scratch = ts_workspace_take(space, mlp->scratch_bytes, 1);
    if (mlp->slots != NULL) mlp->slots[s] = slot; /* NULL while memory is measured */
  }
}

void ts_mlp_plan_step(ts_mlp *mlp, ts_workspace *space) {
  const ts_mlp_options *o = &mlp->options;
  const uint64_t parts = (uint64_t)o->pieces * o->shards, size = ts_mlp_element(mlp);
  uint32_t width = mlp->layers[0].width;
  ts_distinct_plan_step(&mlp->vectors, space);
  for (uint32_t l = 0; l < o->count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    if (o->apart == 0) {
      ts_parameters_plan_gradient(&layer->w, space);
      ts_parameters_plan_gradient(&layer->b, space);
    }
    layer->input = ts_workspace_take(space, (uint64_t)o->pieces * layer->width * mlp->depth, size);
    layer->delta = ts_workspace_take(space, ts_mlp_delta_bytes(layer) * o->pieces, 1);
    layer->alive = ts_workspace_take(space, (uint64_t)o->batch * layer->out_width, 1);
    layer->bias_parts = ts_workspace_take(space, parts * layer->out_width, sizeof(float));
    width = TS_MAX(width, layer->out_width);
  }
  if (o->apart > 0) ts_mlp_plan_apart(mlp, space);
  else {
    ts_parameters_plan_gradient(&mlp->output, space);
    ts_parameters_plan_gradient(&mlp->output_bias, space);
  }
  mlp->output_parts = ts_workspace_take(space, parts * (mlp->output.width + TS_LANES), sizeof(float));
  mlp->y = ts_workspace_take(space, (uint64_t)o->batch * mlp->output.width, sizeof(float));
  if (o->own_input) {
    mlp->x_stride = mlp->dx_stride = mlp->layers[0].in_width;
    mlp->x = ts_workspace_take(space, o->batch * mlp->x_stride, sizeof(float));
    mlp->dx = o->input_gradient ? ts_workspace_take(space, o->batch * mlp->dx_stride, sizeof(float)) : NULL;
  }
  mlp->gradient_scratch =
      ts_workspace_take(space, mlp->gradient_scratch_bytes * ts_mlp_update_parts(mlp) * o->pieces, 1);
  plan_slots(mlp, space, width);
}

static int32_t bind_layer(const ts_mlp *mlp, uint32_t l, char **scratch) {
  const ts_mlp_options *o = &mlp->options;
  const ts_mlp_layer *layer = &mlp->layers[l];
  const uint32_t chains = ts_mlp_chains(mlp);
  int32_t status = ts_product_bind(layer->forward, 0, chains, layer->packed, layer->b.value);
  if (layer->forward_dropout != NULL)
    status |= ts_product_bind(layer->forward_dropout, 0, chains, layer->packed, layer->b.value);
  if (layer->backward != NULL) status |= ts_product_bind(layer->backward, 0, chains, layer->packed_transposed, NULL);
  for (uint32_t s = 0; s < chains; s++) {
    const ts_mlp_slot *slot = &mlp->slots[s];
    status |= ts_product_bind_slot(layer->forward, s, slot->scratch, NULL);
    if (layer->forward_dropout != NULL)
      status |= ts_product_bind_slot(layer->forward_dropout, s, slot->scratch, slot->keep);
    if (layer->backward != NULL) status |= ts_product_bind_slot(layer->backward, s, slot->scratch, NULL);
  }
  for (uint32_t i = 0; i < 4; i++) {
    ts_product *gradient = layer->gradient[i / 2][i % 2];
    if (gradient == NULL) continue;
    for (uint32_t s = 0; s < ts_mlp_layer_parts(layer) * o->pieces; s++)
      status |= ts_product_bind_slot(gradient, s, *scratch + s * mlp->gradient_scratch_bytes, NULL);
    /* A piece's activation gradients are a B of their own: slots [piece * parts, (piece + 1) * parts) read it. */
    for (uint32_t piece = 0; piece < o->pieces; piece++)
      status |= ts_product_bind(gradient, piece * ts_mlp_layer_parts(layer), ts_mlp_layer_parts(layer),
                                ts_mlp_delta_of(layer, piece), NULL);
  }
  *scratch += ts_mlp_layer_parts(layer) * o->pieces * mlp->gradient_scratch_bytes;
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}

int32_t ts_mlp_bind(ts_mlp *mlp) {
  char *scratch = mlp->gradient_scratch;
  int32_t status = ts_distinct_bind(&mlp->vectors);
  for (uint32_t l = 0; l < mlp->options.count && status == TS_OK; l++) status = bind_layer(mlp, l, &scratch);
  return status;
}

/* ---- first weights ---- */

static float glorot(const ts_mlp_options *o, uint32_t layer, uint64_t index, uint32_t in, uint32_t out) {
  double limit = __builtin_sqrt(6.0 / ((double)in + (double)out));
  uint64_t stream = 0x6d6c7000u + (uint64_t)o->stream * (TS_MLP_LAYERS + 1) + layer;
  return (float)((2.0 * ts_unit(ts_random64(o->seed, stream, index)) - 1.0) * limit);
}

void ts_mlp_initialise(ts_mlp *mlp) {
  const ts_mlp_options *o = &mlp->options;
  for (uint32_t l = 0; l < o->count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    ts_parameters_start(&layer->w);
    ts_parameters_start(&layer->b);
    for (uint32_t i = 0; i < layer->in; i++) {
      float *row = ts_parameters_row(&layer->w, i);
      for (uint32_t u = 0; u < layer->out; u++)
        row[u] = glorot(o, l, (uint64_t)i * layer->out + u, layer->in, layer->out);
    }
  }
  ts_parameters_start(&mlp->output);
  ts_parameters_start(&mlp->output_bias);
  const uint32_t last = mlp->layers[o->count - 1].out;
  for (uint32_t i = 0; i < last && o->head; i++) mlp->output.value[i] = glorot(o, o->count, i, last, 1);
  ts_mlp_pack(mlp);
}
