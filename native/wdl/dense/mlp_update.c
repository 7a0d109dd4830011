/* mlp_update.c - gradients of weights, optimizer steps, packing; weights by name. */
#include "wdl/dense/mlp_parts.h"

#include <stdio.h>
#include <string.h>

void ts_mlp_begin(ts_mlp *mlp, uint64_t step) {
  mlp->step = step;
  ts_optimizer_begin(&mlp->rule, (int64_t)step, &mlp->call);
}

/* ---- parts: vectors, blocks of rows of the weight matrices, then everything small ---- */

uint32_t ts_mlp_update_parts(const ts_mlp *mlp) {
  uint32_t parts = mlp->vectors.count + 1;
  for (uint32_t l = 0; l < mlp->options.count; l++) parts += ts_mlp_layer_parts(&mlp->layers[l]);
  return parts;
}

const ts_mlp_layer *ts_mlp_layer_of(const ts_mlp *mlp, uint32_t *part) {
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    const uint32_t parts = ts_mlp_layer_parts(&mlp->layers[l]);
    if (*part < parts) return &mlp->layers[l];
    *part -= parts;
  }
  return NULL;
}

uint32_t ts_mlp_part_rows(const ts_mlp_layer *layer, uint32_t part) {
  return TS_MIN(TS_UPDATE_ROWS, layer->width - part * TS_UPDATE_ROWS);
}

int32_t ts_mlp_multiply_vector(const ts_mlp *mlp, uint32_t vector) {
  return vector < mlp->vectors.count ? ts_distinct_multiply(&mlp->vectors, vector) : TS_EINTERNAL;
}

int32_t ts_mlp_gradient(const ts_mlp *mlp, uint32_t part, uint32_t piece) {
  if (part < mlp->vectors.count) return ts_distinct_gradient(&mlp->vectors, part, &mlp->layers[0].w);
  part -= mlp->vectors.count;
  const ts_mlp_layer *layer = ts_mlp_layer_of(mlp, &part);
  if (layer == NULL) return TS_OK; /* summed by apply */
  const uint32_t row = part * TS_UPDATE_ROWS, rows = ts_mlp_part_rows(layer, part);
  const bool tail = rows < TS_MIN(layer->width, TS_UPDATE_ROWS);
  const size_t at = ((size_t)piece * layer->width + row) * mlp->depth * ts_mlp_element(mlp);
  return ts_product_run(layer->gradient[tail][piece > 0], piece * ts_mlp_layer_parts(layer) + part,
                        (const char *)layer->input + at, layer->w.gradient + (size_t)(layer->from + row) * layer->out_width);
}

/* gradient[i] = sum of the shards' parts, in their order. */
static void add_parts(const ts_mlp *mlp, const float *parts, uint32_t stride, uint32_t width, float *gradient) {
  for (uint32_t i = 0; i < width; i++) gradient[i] = 0;
  for (uint32_t s = 0; s < mlp->options.pieces * mlp->options.shards; s++)
    for (uint32_t i = 0; i < width; i++) gradient[i] += parts[(size_t)s * stride + i];
}

static void apply_small(const ts_mlp *mlp) {
  const bool summed = mlp->options.apart > 0;
  for (uint32_t l = 0; l < mlp->options.count; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    if (!summed) add_parts(mlp, layer->bias_parts, layer->out_width, layer->out_width, layer->b.gradient);
    ts_parameters_step(&layer->b, &mlp->call, 0, 1);
  }
  if (!mlp->options.head) return;
  const uint32_t width = mlp->output.width;
  if (!summed) {
    add_parts(mlp, mlp->output_parts, width + TS_LANES, width, mlp->output.gradient);
    add_parts(mlp, mlp->output_parts + width, width + TS_LANES, TS_LANES, mlp->output_bias.gradient);
  }
  ts_parameters_step(&mlp->output, &mlp->call, 0, 1);
  ts_parameters_step(&mlp->output_bias, &mlp->call, 0, 1);
}

static void pack_part(const ts_mlp_layer *layer, uint32_t part) {
  const uint32_t row = part * TS_UPDATE_ROWS, rows = ts_mlp_part_rows(layer, part);
  const float *w = ts_parameters_row(&layer->w, layer->from + row);
  ts_pack_rows(ts_product_layout(layer->forward), layer->packed, row, rows, w, layer->w.stride);
  if (layer->backward != NULL)
    ts_pack_transposed(ts_product_layout(layer->backward), layer->packed_transposed, row, rows, w, layer->w.stride);
}

static void apply_vector(const ts_mlp *mlp, uint32_t vector) {
  const ts_distinct_vector *v = &mlp->vectors.vector[vector];
  const ts_parameters *w = &mlp->layers[0].w;
  ts_parameters_step(w, &mlp->call, v->first, v->dim);
  ts_distinct_pack(&mlp->vectors, vector, w);
}

void ts_mlp_apply(const ts_mlp *mlp, uint32_t part) {
  if (part < mlp->vectors.count) {
    apply_vector(mlp, part);
    return;
  }
  part -= mlp->vectors.count;
  const ts_mlp_layer *layer = ts_mlp_layer_of(mlp, &part);
  if (layer == NULL) {
    apply_small(mlp);
    return;
  }
  ts_parameters_step(&layer->w, &mlp->call, layer->from + part * TS_UPDATE_ROWS, ts_mlp_part_rows(layer, part));
  pack_part(layer, part);
}

int32_t ts_mlp_update(const ts_mlp *mlp, uint32_t part) {
  int32_t status = TS_OK;
  for (uint32_t piece = 0; piece < mlp->options.pieces; piece++) status |= ts_mlp_gradient(mlp, part, piece);
  if (status != TS_OK) return TS_EINTERNAL;
  ts_mlp_apply(mlp, part);
  return TS_OK;
}

void ts_mlp_pack(const ts_mlp *mlp) {
  for (uint32_t v = 0; v < mlp->vectors.count; v++) ts_distinct_pack(&mlp->vectors, v, &mlp->layers[0].w);
  for (uint32_t l = 0; l < mlp->options.count; l++)
    for (uint32_t part = 0; part < ts_mlp_layer_parts(&mlp->layers[l]); part++) pack_part(&mlp->layers[l], part);
}

/* ---- weights by name ---- */

uint32_t ts_mlp_parameter_count(const ts_mlp *mlp) { return 2 * (mlp->options.count + (mlp->options.head ? 1 : 0)); }

ts_mlp_parameter ts_mlp_parameter_at(const ts_mlp *mlp, uint32_t index) {
  const uint32_t l = index / 2;
  ts_mlp_parameter p = {.rows = 1, .columns = 1};
  if (l == mlp->options.count) {
    snprintf(p.name, sizeof p.name, "output.%c", "wb"[index % 2]);
    if (index % 2 == 0) p.rows = mlp->layers[l - 1].out; /* in x out */
    return p;
  }
  snprintf(p.name, sizeof p.name, "%u.%c", l, "wb"[index % 2]);
  if (index % 2 == 0) p.rows = mlp->layers[l].in;
  p.columns = mlp->layers[l].out;
  return p;
}

const ts_parameters *ts_mlp_rows_of(const ts_mlp *mlp, uint32_t index) {
  const uint32_t l = index / 2;
  if (l == mlp->options.count) return index % 2 == 0 ? &mlp->output : &mlp->output_bias;
  return index % 2 == 0 ? &mlp->layers[l].w : &mlp->layers[l].b;
}

/* Where a parameter's rows lie: the output's weights are one row here, a column in their shape. */
static float *row_of(const ts_mlp *mlp, uint32_t index, uint32_t row, uint32_t *width) {
  const ts_mlp_parameter p = ts_mlp_parameter_at(mlp, index);
  *width = index / 2 == mlp->options.count ? p.rows : p.columns;
  return ts_parameters_row(ts_mlp_rows_of(mlp, index), row);
}

static uint32_t stored_rows(const ts_mlp *mlp, uint32_t index) {
  return index / 2 == mlp->options.count ? 1 : ts_mlp_parameter_at(mlp, index).rows;
}

void ts_mlp_read(const ts_mlp *mlp, uint32_t index, float *out) {
  for (uint32_t r = 0, width; r < stored_rows(mlp, index); r++, out += width) {
    const float *row = row_of(mlp, index, r, &width);
    memcpy(out, row, width * sizeof(float));
  }
}

void ts_mlp_write(ts_mlp *mlp, uint32_t index, const float *in) {
  for (uint32_t r = 0, width; r < stored_rows(mlp, index); r++, in += width) {
    float *row = row_of(mlp, index, r, &width);
    memcpy(row, in, width * sizeof(float));
  }
  ts_mlp_pack(mlp);
}

uint64_t ts_mlp_parameters(const ts_mlp *mlp) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < ts_mlp_parameter_count(mlp); i++) {
    const ts_mlp_parameter p = ts_mlp_parameter_at(mlp, i);
    sum += (uint64_t)p.rows * p.columns;
  }
  return sum;
}

uint64_t ts_mlp_digest(const ts_mlp *mlp, uint64_t h) {
  for (uint32_t l = 0; l < mlp->options.count; l++)
    h = ts_parameters_digest(&mlp->layers[l].b, ts_parameters_digest(&mlp->layers[l].w, h));
  return mlp->options.head ? ts_parameters_digest(&mlp->output_bias, ts_parameters_digest(&mlp->output, h)) : h;
}

void ts_mlp_kernels(const ts_mlp *mlp, char *out, size_t cap) {
  size_t n = 0;
  for (uint32_t l = 0; l < mlp->options.count && n < cap; l++) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    int written = snprintf(out + n, cap - n, "%s%s/%s/%s", l == 0 ? "" : " ", ts_product_implementation(layer->forward),
                           layer->backward == NULL ? "none" : ts_product_implementation(layer->backward),
                           ts_product_implementation(layer->gradient[0][0]));
    n += written > 0 ? (size_t)written : 0;
  }
}
