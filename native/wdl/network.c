/* network.c - puts the layers of a model together. */
#include "wdl/network.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a step are cut into as many shards as this, whatever the threads, unless that would make the shards of a
 * micro-batch too few to share out. */
static uint32_t shards_of(const ts_trainer_options *o) {
  if (o->apart > 0) return 1;
  if (!o->deterministic) return o->threads;
  return TS_MAX(TS_SHARDS / o->micro_batch, TS_SHARDS / 2);
}

static uint32_t padded(uint32_t width) { return TS_ROUND_UP(width, TS_LANES); }

static int32_t open_top(ts_model *m, const ts_trainer_options *o, uint32_t in, ts_err err) {
  const ts_dnnl *dnnl;
  int32_t status = ts_dnnl_open(&dnnl, err);
  if (status != TS_OK) return status;
  ts_mlp_options top = {.batch = o->batch,
                        .pieces = m->pieces,
                        .shards = m->shards,
                        .apart = o->apart,
                        .in = in,
                        .count = o->layers,
                        .head = true,
                        .input_gradient = !ts_model_by_distinct_rows(m),
                        .fusion = o->graph_fusion && (o->graph_fusion_asked || dnnl->primitives),
                        .bf16 = o->bf16 == TS_BF16_DENSE || o->bf16 == TS_BF16_ALL,
                        .dropout = o->dropout,
                        .seed = o->seed};
  memcpy(top.hidden, o->hidden, sizeof top.hidden);
  if (ts_model_by_distinct_rows(m)) {
    top.vectors.count = m->columns.count;
    memcpy(top.vectors.dims, m->columns.dims, m->columns.count * sizeof *top.vectors.dims);
  }
  status = ts_part_rule_read(&o->deep, &top.rule, err);
  return status == TS_OK ? ts_mlp_open(&m->top, &top, err) : status;
}

static int32_t open_bottom(ts_model *m, const ts_trainer_options *o, ts_err err) {
  ts_mlp_options bottom = m->top.options;
  bottom.in = TS_NUMERICS;
  bottom.count = o->bottom_layers + 1;
  bottom.head = false;
  bottom.input_gradient = false;
  bottom.stream = 1;
  memcpy(bottom.hidden, o->bottom, sizeof bottom.hidden);
  bottom.hidden[o->bottom_layers] = o->tables.dims[0];
  return ts_mlp_open(&m->bottom, &bottom, err);
}

static void close_folds(ts_model *m) {
  for (uint32_t which = 0; which < 2; which++) {
    for (uint32_t v = 0; m->folds[which] != NULL && v < m->columns.count; v++) ts_fold_close(&m->folds[which][v]);
    free(m->folds[which]);
    m->folds[which] = NULL;
  }
}

static int32_t open_folds(ts_model *m, uint32_t inputs, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t which = 0; which < inputs && status == TS_OK; which++) {
    m->folds[which] = calloc(m->columns.count, sizeof *m->folds[which]);
    if (m->folds[which] == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer: out of memory");
    for (uint32_t v = 0; v < m->columns.count && status == TS_OK; v++) status = ts_fold_open(&m->folds[which][v], m->batch, err);
  }
  return status;
}

int32_t ts_model_open(ts_model *m, const ts_trainer_options *o, ts_err err) {
  m->kind = o->model;
  m->batch = o->batch;
  m->pieces = o->apart > 0 ? TS_SHARDS : o->micro_batch; /* over ranks each micro-shard is summed on its own */
  m->shards = shards_of(o);
  m->fused = o->embedding_fusion;
  m->buckets = o->wide_buckets;
  const uint32_t dim = o->tables.dims[0], vectors = o->tables.vectors;
  if (m->kind == TS_DLRM) {
    ts_columns_lay_out(&m->columns, o->batch, vectors, o->tables.dims, dim);
    m->columns.stride = padded(dim + m->columns.all);
    m->interaction = (ts_interaction){.count = vectors + 1, .dim = dim, .stride = m->columns.stride};
    const uint32_t width = ts_interaction_width(vectors + 1, dim);
    m->interaction.out_stride = padded(width);
    int32_t status = open_top(m, o, width, err);
    return status == TS_OK ? open_bottom(m, o, err) : status;
  }
  ts_columns_lay_out(&m->columns, o->batch, vectors, o->tables.dims, 0);
  m->columns.stride = padded(m->columns.all + TS_NUMERICS);
  if (o->first_layer == TS_FIRST_DISTINCT) {
    const int32_t status = open_folds(m, o->async_embedding ? 2 : 1, err);
    if (status != TS_OK) return status;
  }
  m->fm = (ts_fm){.count = vectors, .dim = dim, .stride = m->columns.stride};
  return open_top(m, o, m->columns.all + TS_NUMERICS, err);
}

void ts_model_close(ts_model *m) {
  ts_mlp_close(&m->top);
  ts_mlp_close(&m->bottom);
  close_folds(m);
}

/* ---- memory ---- */

void ts_model_plan_parameters(ts_model *m, ts_workspace *space) {
  ts_mlp_plan_parameters(&m->top, space);
  if (ts_model_has_bottom(m)) ts_mlp_plan_parameters(&m->bottom, space);
  if (ts_model_has_wide(m)) ts_wide_plan_parameters(&m->wide, space, m->batch, m->buckets);
}

static float *floats(ts_workspace *space, uint64_t rows, uint64_t width) {
  return ts_workspace_take(space, rows * width, sizeof(float));
}

void ts_model_plan_step(ts_model *m, ts_workspace *space) {
  ts_mlp_plan_step(&m->top, space);
  if (ts_model_has_wide(m)) ts_wide_plan_step(&m->wide, space);
  m->dx = floats(space, m->batch, m->columns.stride);
  m->logit = floats(space, m->batch, 1);
  m->loss_gradient = floats(space, m->batch, 1);
  m->losses = ts_workspace_take(space, m->batch, sizeof *m->losses);
  if (m->kind == TS_DEEPFM) m->fm_sums = floats(space, m->batch, m->fm.dim);
  if (!ts_model_has_bottom(m)) return;
  ts_mlp_plan_step(&m->bottom, space);
  m->numerics = floats(space, m->batch, padded(TS_NUMERICS));
  m->crossed = floats(space, m->batch, m->interaction.out_stride);
  m->dcrossed = floats(space, m->batch, m->interaction.out_stride);
}

void ts_model_plan_input(ts_model *m, ts_workspace *space, uint32_t which) {
  m->input[which] = floats(space, m->batch, m->columns.stride);
  m->blocks[which] = m->fused ? NULL : floats(space, m->batch, m->columns.all);
}

int32_t ts_model_bind(ts_model *m) {
  int32_t status = ts_mlp_bind(&m->top);
  return status == TS_OK && ts_model_has_bottom(m) ? ts_mlp_bind(&m->bottom) : status;
}

void ts_model_initialise(ts_model *m, const ts_trainer_options *o) {
  ts_mlp_initialise(&m->top);
  if (ts_model_has_bottom(m)) ts_mlp_initialise(&m->bottom);
  if (!ts_model_has_wide(m)) return;
  m->wide.learning_rate = (float)o->wide_learning_rate;
  m->wide.l1 = (float)o->wide_l1;
  m->wide.l2 = (float)o->wide_l2;
  ts_wide_initialise(&m->wide, (float)o->wide_initial_accumulator);
}

static float *place(const ts_model *m, float *wide, float *blocks, uint32_t vector, uint64_t *stride) {
  *stride = m->fused ? m->columns.stride : m->columns.dims[vector];
  return m->fused ? wide + m->columns.at[vector] : blocks + m->columns.before[vector];
}

float *ts_model_rows(const ts_model *m, uint32_t which, uint32_t vector, uint64_t *stride) {
  return place(m, m->input[which], m->blocks[which], vector, stride);
}

/* Without fusion, gradients take the place of the rows. */
const float *ts_model_gradients(const ts_model *m, uint32_t which, uint32_t vector, uint64_t *stride) {
  return place(m, m->dx, m->blocks[which], vector, stride);
}

/* ---- a step ---- */

void ts_model_tell_keys(const ts_model *m, uint32_t which, uint32_t vector, const int64_t *keys, uint32_t rows) {
  ts_fold *fold = &m->folds[which][vector];
  ts_fold_begin(fold);
  for (uint32_t r = 0; r < rows; r++) ts_fold_add(fold, keys[r]);
  ts_fold_end(fold, NULL, NULL, 1, NULL);
}

void ts_model_lay_out(ts_model *m, uint32_t which) {
  for (uint32_t v = 0; v < m->top.vectors.count; v++) {
    ts_distinct_batch *b = &m->top.vectors.vector[v].batch;
    b->fold = &m->folds[which][v];
    b->rows = ts_model_rows(m, which, v, &b->stride);
    b->gradients = place(m, m->dx, m->blocks[which], v, &b->gradient_stride);
  }
  ts_distinct_lay_out(&m->top.vectors);
}

int32_t ts_model_multiply(const ts_model *m, uint32_t vector) { return ts_mlp_multiply_vector(&m->top, vector); }

void ts_model_begin(ts_model *m, uint64_t step, uint32_t which) {
  ts_mlp *top = &m->top, *bottom = &m->bottom;
  const bool crossed = ts_model_has_bottom(m);
  top->x = crossed ? m->crossed : m->input[which];
  top->dx = crossed ? m->dcrossed : m->dx;
  top->x_stride = top->dx_stride = crossed ? m->interaction.out_stride : m->columns.stride;
  if (ts_model_by_distinct_rows(m)) top->x += m->columns.all; /* behind the vectors */
  ts_mlp_begin(top, step);
  if (!crossed) return;
  bottom->x = m->numerics;
  bottom->x_stride = padded(TS_NUMERICS);
  bottom->dy = m->dx; /* b is the first of the vectors */
  bottom->dy_stride = m->columns.stride;
  ts_mlp_begin(bottom, step);
}

int32_t ts_model_forward(const ts_model *m, uint32_t which, ts_mlp_rows at, bool training, const ts_batch *batch) {
  const uint32_t stride = m->columns.stride, all = m->columns.all, dim = m->columns.dims[0];
  float *input = m->input[which];
  if (!m->fused && !ts_model_by_distinct_rows(m)) ts_columns_gather(&m->columns, at.first, at.rows, m->blocks[which], input);
  if (!ts_model_has_bottom(m)) {
    ts_columns_join_numerics(m->batch, at.first, at.rows, batch->numerics, input + all, stride, stride - all);
    int32_t status = ts_mlp_forward(&m->top, at, training, m->logit);
    ts_wide_forward(&m->wide, at.first, at.rows, batch->numerics, batch->keys, m->logit);
    if (m->kind == TS_DEEPFM) ts_fm_forward(&m->fm, at.first, at.rows, input, m->fm_sums, m->logit);
    return status;
  }
  ts_columns_join_numerics(m->batch, at.first, at.rows, batch->numerics, m->numerics, padded(TS_NUMERICS),
                           padded(TS_NUMERICS));
  int32_t status = ts_mlp_forward(&m->bottom, at, training, NULL);
  const uint32_t width = padded(dim);
  for (uint32_t r = at.first; r < at.first + at.rows; r++)
    memcpy(input + (size_t)r * stride, m->bottom.y + (size_t)r * width, dim * sizeof *input);
  ts_interaction_forward(&m->interaction, at.first, at.rows, input, m->crossed);
  return status == TS_OK ? ts_mlp_forward(&m->top, at, training, m->logit) : status;
}

int32_t ts_model_backward(const ts_model *m, uint32_t which, ts_mlp_rows at) {
  int32_t status = ts_mlp_backward(&m->top, at, m->loss_gradient);
  if (m->kind == TS_DEEPFM)
    ts_fm_backward(&m->fm, at.first, at.rows, m->input[which], m->fm_sums, m->loss_gradient, m->dx);
  if (ts_model_has_bottom(m)) {
    ts_interaction_backward(&m->interaction, at.first, at.rows, m->input[which], m->dcrossed, m->dx);
    if (status == TS_OK) status = ts_mlp_backward(&m->bottom, at, NULL);
  }
  if (!m->fused && !ts_model_by_distinct_rows(m)) ts_columns_scatter(&m->columns, at.first, at.rows, m->dx, m->blocks[which]);
  return status;
}

uint32_t ts_model_parts(const ts_model *m) {
  return ts_mlp_update_parts(&m->top) + (ts_model_has_bottom(m) ? ts_mlp_update_parts(&m->bottom) : 0);
}

int32_t ts_model_update(const ts_model *m, uint32_t part, uint32_t piece) {
  const uint32_t of_top = ts_mlp_update_parts(&m->top);
  const ts_mlp *mlp = part < of_top ? &m->top : &m->bottom;
  if (part >= of_top) part -= of_top;
  int32_t status = ts_mlp_gradient(mlp, part, piece);
  if (status == TS_OK && piece + 1 == m->pieces) ts_mlp_apply(mlp, part);
  return status;
}

uint64_t ts_model_digest(const ts_model *m) {
  uint64_t h = ts_mlp_digest(&m->top, 0);
  if (ts_model_has_bottom(m)) h = ts_mlp_digest(&m->bottom, h);
  return ts_model_has_wide(m) ? ts_wide_digest(&m->wide, h) : h;
}
