/* embed.c - rows of the tables into the network's vectors, and gradients of the vectors into the tables. */
#include "kernels/gather.h"
#include "store/batches.h"
#include "wdl/trainer.h"

#include <string.h>

/* Rows of `dim` floats between places where they stand `from_stride` and `to_stride` apart. */
static void copy_rows(const float *from, uint64_t from_stride, float *to, uint64_t to_stride, uint32_t rows, uint32_t dim) {
  for (uint32_t r = 0; r < rows; r++, from += from_stride, to += to_stride) memcpy(to, from, dim * sizeof *to);
}

static const int64_t *column_of(const ts_trainer *t, const int64_t *keys, uint32_t column) {
  return keys + (size_t)column * t->options.batch;
}

int32_t ts_trainer_look_up(ts_trainer *t, uint32_t table, const ts_batch *batch, uint64_t step, ts_err err) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_table_scratch *scratch = &t->scratch[table];
  const uint32_t rows = t->options.batch, which = ts_trainer_input(t, step);
  uint64_t stride;
  int32_t status = TS_OK;
  if (!ts_table_is_bag(plan)) {
    for (uint32_t c = 0; c < plan->count && status == TS_OK; c++) {
      float *to = ts_model_rows(&t->model, which, plan->vector + c, &stride);
      if (ts_model_by_distinct_rows(&t->model))
        ts_model_tell_keys(&t->model, which, plan->vector, column_of(t, batch->keys, plan->columns[0]), rows);
      status = ts_table_lookup_strided(t->store, t->tables[table], column_of(t, batch->keys, plan->columns[c]), NULL, rows, to,
                                       stride, err);
    }
    return status;
  }
  ts_table_make_bags(plan, scratch, batch->keys, rows, rows);
  status = ts_table_lookup_bags(t->store, t->tables[table], scratch->keys, scratch->offsets, rows, NULL, plan->combiner, 0,
                                scratch->rows, err.text, err.cap);
  float *to = ts_model_rows(&t->model, which, plan->vector, &stride);
  if (status == TS_OK) copy_rows(scratch->rows, plan->dim, to, stride, rows, plan->dim);
  return status;
}

/* All columns of a table in one call, so that gradients of an id that several have are summed for one step. */
static int32_t update_shared(ts_trainer *t, uint32_t table, uint32_t which, ts_err err) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_table_scratch *scratch = &t->scratch[table];
  const uint32_t rows = t->options.batch;
  for (uint32_t c = 0; c < plan->count; c++) {
    uint64_t stride;
    const float *gradients = ts_model_gradients(&t->model, which, plan->vector + c, &stride);
    const size_t at = (size_t)c * rows;
    memcpy(scratch->keys + at, column_of(t, t->batch->keys, plan->columns[c]), rows * sizeof *scratch->keys);
    copy_rows(gradients, stride, scratch->rows + at * plan->dim, plan->dim, rows, plan->dim);
  }
  return ts_table_update(t->store, t->tables[table], scratch->keys, (uint64_t)plan->count * rows, scratch->rows, err.text,
                         err.cap);
}

int32_t ts_trainer_update(ts_trainer *t, uint32_t table, ts_err err) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_table_scratch *scratch = &t->scratch[table];
  const uint32_t rows = t->options.batch, which = ts_trainer_input(t, t->step);
  if (!ts_table_is_bag(plan) && plan->count > 1) return update_shared(t, table, which, err);
  uint64_t stride;
  const float *gradients = ts_model_gradients(&t->model, which, plan->vector, &stride);
  if (ts_model_by_distinct_rows(&t->model)) {
    const ts_fold *fold = ts_model_fold(&t->model, which, plan->vector);
    return ts_table_update_strided(t->store, t->tables[table], fold->keys, fold->count, gradients, stride, err);
  }
  if (!ts_table_is_bag(plan))
    return ts_table_update_strided(t->store, t->tables[table], column_of(t, t->batch->keys, plan->columns[0]), rows,
                                   gradients, stride, err);
  /* The lookup ahead may have left other bags here. */
  ts_table_make_bags(plan, scratch, t->batch->keys, rows, rows);
  copy_rows(gradients, stride, scratch->rows, plan->dim, rows, plan->dim);
  return ts_table_update_bags(t->store, t->tables[table], scratch->keys, scratch->offsets, rows, NULL, plan->combiner,
                              scratch->rows, err.text, err.cap);
}

#define CHUNK_FLOATS 16384u
#define CHUNK_ROWS 1024u

static uint32_t chunk_of(uint32_t dim) { return TS_MIN(CHUNK_FLOATS / dim, CHUNK_ROWS); }

/* Rows of keys that have none: zeros, or what training is given for a key that is not admitted. */
static void fill_absent(ts_trainer *t, uint32_t table, float *rows, const uint8_t *found, uint32_t n) {
  const uint32_t dim = t->options.tables.plans[table].dim;
  float otherwise;
  if (ts_table_admits_all(t->store, t->tables[table], &otherwise) || otherwise == 0) return;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t d = 0; d < dim && !found[i]; d++) rows[(size_t)i * dim + d] = otherwise;
}

/* Rows come close together from the store and are wanted apart from each other. */
static int32_t find_column(ts_trainer *t, uint32_t table, const int64_t *keys, float *to, uint64_t stride, uint64_t *absent,
                           ts_err err) {
  const uint32_t dim = t->options.tables.plans[table].dim, chunk = chunk_of(dim);
  float rows[CHUNK_FLOATS];
  uint8_t found[CHUNK_ROWS];
  for (uint32_t first = 0; first < t->rows; first += chunk) {
    const uint32_t n = TS_MIN(t->rows - first, chunk);
    int32_t status = ts_table_find(t->store, t->tables[table], keys + first, n, 0, rows, found, err.text, err.cap);
    if (status != TS_OK) return status;
    fill_absent(t, table, rows, found, n);
    copy_rows(rows, dim, to + first * stride, stride, n, dim);
    for (uint32_t i = 0; i < n; i++) *absent += !found[i];
  }
  return TS_OK;
}

/* An id without a row counts in its bag, as zeros. */
static int32_t find_bags(ts_trainer *t, uint32_t table, const int64_t *keys, uint64_t *absent, ts_err err) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_table_scratch *scratch = &t->scratch[table];
  const ts_row_layout plain = ts_row_layout_make(TS_FP32, plan->dim, 1, 0, false, false);
  float rows[CHUNK_FLOATS];
  const void *places[CHUNK_ROWS];
  uint8_t found[CHUNK_ROWS];
  ts_table_make_bags(plan, scratch, keys, t->options.batch, t->rows);
  ts_bags bags;
  ts_bags_begin(&bags, ts_cpu_level(), plan->dim, scratch->offsets, t->rows, NULL, plan->combiner);
  ts_bags_clear_empty(&bags, scratch->rows);
  const uint64_t all = scratch->offsets[t->rows], chunk = chunk_of(plan->dim);
  for (uint64_t first = 0; first < all; first += chunk) {
    const uint32_t n = (uint32_t)TS_MIN(all - first, chunk);
    int32_t status =
        ts_table_find(t->store, t->tables[table], scratch->keys + first, n, 0, rows, found, err.text, err.cap);
    if (status != TS_OK) return status;
    fill_absent(t, table, rows, found, n);
    for (uint32_t i = 0; i < n; i++) {
      places[i] = rows + (size_t)i * plan->dim;
      *absent += !found[i];
    }
    ts_bags_accumulate(&bags, &plain, places, n, 0, scratch->rows);
  }
  return TS_OK;
}

int32_t ts_trainer_find(ts_trainer *t, uint32_t table, const int64_t *keys, uint64_t *pairs, uint64_t *absent, ts_err err) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  uint64_t stride;
  int32_t status = TS_OK;
  *pairs = *absent = 0;
  for (uint32_t c = 0; !ts_table_is_bag(plan) && c < plan->count && status == TS_OK; c++) {
    if (ts_model_by_distinct_rows(&t->model))
      ts_model_tell_keys(&t->model, 0, plan->vector, column_of(t, keys, plan->columns[0]), t->rows);
    float *to = ts_model_rows(&t->model, 0, plan->vector + c, &stride);
    status = find_column(t, table, column_of(t, keys, plan->columns[c]), to, stride, absent, err);
    *pairs += t->rows;
  }
  if (!ts_table_is_bag(plan)) return status;
  status = find_bags(t, table, keys, absent, err);
  if (status != TS_OK) return status;
  *pairs = t->scratch[table].offsets[t->rows];
  float *to = ts_model_rows(&t->model, 0, plan->vector, &stride);
  copy_rows(t->scratch[table].rows, plan->dim, to, stride, t->rows, plan->dim);
  return TS_OK;
}
