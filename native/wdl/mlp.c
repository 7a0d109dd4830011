/* mlp.c - forward, backward and update of the fully connected layers. */
#include "wdl/mlp.h"

/* Rows of a weight matrix whose gradient is one product: small enough to spread, large enough to be efficient. */
#define UPDATE_ROWS 128u

static void plan_weights(ts_weights *w, ts_workspace *space, uint32_t count, bool adagrad) {
  w->count = count;
  w->value = ts_workspace_take(space, count, sizeof(float));
  w->accumulator = adagrad ? ts_workspace_take(space, count, sizeof(float)) : NULL;
  w->gradient = ts_workspace_take(space, count, sizeof(float));
}

void ts_mlp_plan(ts_mlp *mlp, ts_workspace *space, uint32_t batch, uint32_t in, const uint32_t *hidden, uint32_t count,
                 bool adagrad) {
  mlp->batch = batch;
  mlp->count = count;
  for (uint32_t l = 0; l < count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    layer->in = l == 0 ? in : hidden[l - 1];
    layer->out = hidden[l];
    layer->in_width = TS_ROUND_UP(layer->in, TS_LANES);
    layer->out_width = TS_ROUND_UP(layer->out, TS_LANES);
    plan_weights(&layer->w, space, layer->in_width * layer->out_width, adagrad);
    plan_weights(&layer->b, space, layer->out_width, adagrad);
    layer->y = ts_workspace_take(space, (uint64_t)batch * layer->out_width, sizeof(float));
    layer->delta = ts_workspace_take(space, (uint64_t)batch * layer->out_width, sizeof(float));
    layer->bias_parts = ts_workspace_take(space, TS_SHARDS * layer->out_width, sizeof(float));
  }
  uint32_t last = mlp->layers[count - 1].out_width;
  plan_weights(&mlp->output, space, last, adagrad);
  plan_weights(&mlp->output_bias, space, TS_LANES, adagrad);
  mlp->output_parts = ts_workspace_take(space, TS_SHARDS * last, sizeof(float));
  mlp->x = ts_workspace_take(space, (uint64_t)batch * mlp->layers[0].in_width, sizeof(float));
  mlp->dx = ts_workspace_take(space, (uint64_t)batch * mlp->layers[0].in_width, sizeof(float));
}

static void fill_accumulator(ts_weights *w, float value) {
  for (uint32_t i = 0; w->accumulator != NULL && i < w->count; i++) w->accumulator[i] = value;
}

static float glorot(uint64_t seed, uint32_t layer, uint64_t index, uint32_t in, uint32_t out) {
  double limit = __builtin_sqrt(6.0 / ((double)in + (double)out));
  return (float)((2.0 * ts_unit(ts_random64(seed, 0x6d6c7000u + layer, index)) - 1.0) * limit);
}

void ts_mlp_initialise(ts_mlp *mlp, uint64_t seed, float initial_accumulator) {
  for (uint32_t l = 0; l < mlp->count; l++) {
    ts_mlp_layer *layer = &mlp->layers[l];
    for (uint32_t i = 0; i < layer->in; i++) {
      float *row = layer->w.value + (size_t)i * layer->out_width;
      for (uint32_t o = 0; o < layer->out; o++)
        row[o] = glorot(seed, l, (uint64_t)i * layer->out + o, layer->in, layer->out);
    }
    fill_accumulator(&layer->w, initial_accumulator);
    fill_accumulator(&layer->b, initial_accumulator);
  }
  uint32_t last = mlp->layers[mlp->count - 1].out;
  for (uint32_t i = 0; i < last; i++) mlp->output.value[i] = glorot(seed, mlp->count, i, last, 1);
  fill_accumulator(&mlp->output, initial_accumulator);
  fill_accumulator(&mlp->output_bias, initial_accumulator);
}

int32_t ts_mlp_forward(const ts_mlp *mlp, uint32_t first, uint32_t rows, float *logit) {
  const float *x = mlp->x + (size_t)first * mlp->layers[0].in_width;
  int32_t status = TS_OK;
  for (uint32_t l = 0; l < mlp->count; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    float *y = layer->y + (size_t)first * layer->out_width;
    status |= ts_dnnl_product(&mlp->dnnl, 'N', 'N', rows, layer->out_width, layer->in_width, x, layer->in_width,
                              layer->w.value, layer->out_width, y, layer->out_width);
    ts_bias_relu(y, rows, layer->out_width, layer->b.value);
    x = y;
  }
  ts_output_forward(x, rows, mlp->output.count, mlp->output.value, mlp->output_bias.value[0], logit + first);
  return status;
}

int32_t ts_mlp_backward(const ts_mlp *mlp, uint32_t shard, uint32_t first, uint32_t rows, const float *loss_gradient) {
  const ts_mlp_layer *last = &mlp->layers[mlp->count - 1];
  size_t at = (size_t)first * last->out_width;
  ts_output_backward(last->delta + at, last->y + at, loss_gradient + first, rows, last->out_width, mlp->output.value,
                     last->bias_parts + (size_t)shard * last->out_width,
                     mlp->output_parts + (size_t)shard * last->out_width);
  int32_t status = TS_OK;
  for (uint32_t l = mlp->count; l-- > 0;) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    float *below = (l == 0 ? mlp->dx : mlp->layers[l - 1].delta) + (size_t)first * layer->in_width;
    status |= ts_dnnl_product(&mlp->dnnl, 'N', 'T', rows, layer->in_width, layer->out_width,
                              layer->delta + (size_t)first * layer->out_width, layer->out_width, layer->w.value,
                              layer->out_width, below, layer->in_width);
    if (l == 0) break;
    const ts_mlp_layer *under = &mlp->layers[l - 1];
    ts_relu_backward(below, under->y + (size_t)first * under->out_width, rows, under->out_width,
                     under->bias_parts + (size_t)shard * under->out_width);
  }
  return status;
}

static uint32_t layer_parts(const ts_mlp_layer *layer) { return (layer->in_width + UPDATE_ROWS - 1) / UPDATE_ROWS; }

uint32_t ts_mlp_update_parts(const ts_mlp *mlp) {
  uint32_t parts = 1; /* biases and output */
  for (uint32_t l = 0; l < mlp->count; l++) parts += layer_parts(&mlp->layers[l]);
  return parts;
}

static void step(const ts_weights *w, uint32_t from, uint32_t count, float learning_rate) {
  if (w->accumulator == NULL) ts_sgd_step(w->value + from, w->gradient + from, count, learning_rate);
  else ts_adagrad_step(w->value + from, w->accumulator + from, w->gradient + from, count, learning_rate);
}

/* gradient[i] = sum of the shards' parts, in their order. */
static void add_parts(const ts_weights *w, const float *parts) {
  for (uint32_t i = 0; i < w->count; i++) {
    float sum = 0;
    for (uint32_t s = 0; s < TS_SHARDS; s++) sum += parts[(size_t)s * w->count + i];
    w->gradient[i] = sum;
  }
}

static void update_small(ts_mlp *mlp, uint32_t batch, const float *loss_gradient) {
  for (uint32_t l = 0; l < mlp->count; l++) {
    add_parts(&mlp->layers[l].b, mlp->layers[l].bias_parts);
    step(&mlp->layers[l].b, 0, mlp->layers[l].b.count, mlp->learning_rate);
  }
  add_parts(&mlp->output, mlp->output_parts);
  step(&mlp->output, 0, mlp->output.count, mlp->learning_rate);
  float sum = 0;
  for (uint32_t r = 0; r < batch; r++) sum += loss_gradient[r];
  mlp->output_bias.gradient[0] = sum;
  step(&mlp->output_bias, 0, mlp->output_bias.count, mlp->learning_rate);
}

int32_t ts_mlp_update(ts_mlp *mlp, uint32_t part, uint32_t batch, const float *loss_gradient) {
  for (uint32_t l = 0; l < mlp->count; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    uint32_t parts = layer_parts(layer);
    if (part >= parts) {
      part -= parts;
      continue;
    }
    uint32_t row = part * UPDATE_ROWS, rows = TS_MIN(UPDATE_ROWS, layer->in_width - row);
    const float *x = l == 0 ? mlp->x : mlp->layers[l - 1].y;
    int32_t status =
        ts_dnnl_product(&mlp->dnnl, 'T', 'N', rows, layer->out_width, batch, x + row, layer->in_width, layer->delta,
                        layer->out_width, layer->w.gradient + (size_t)row * layer->out_width, layer->out_width);
    step(&layer->w, row * layer->out_width, rows * layer->out_width, mlp->learning_rate);
    return status;
  }
  update_small(mlp, batch, loss_gradient);
  return TS_OK;
}

static uint64_t digest_weights(const ts_weights *w, uint64_t h) {
  h = ts_hash_bytes(w->value, w->count * sizeof(float), h);
  return w->accumulator == NULL ? h : ts_hash_bytes(w->accumulator, w->count * sizeof(float), h);
}

uint64_t ts_mlp_digest(const ts_mlp *mlp, uint64_t h) {
  for (uint32_t l = 0; l < mlp->count; l++) h = digest_weights(&mlp->layers[l].b, digest_weights(&mlp->layers[l].w, h));
  return digest_weights(&mlp->output_bias, digest_weights(&mlp->output, h));
}
