/* evaluate.c - scores a cache file without changing the store: read-only lookups, forward, exact AUC. */
#include "wdl/control.h"
#include "wdl/metrics.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

/* What the passes of one evaluation share. */
typedef struct scoring {
  ts_trainer *trainer;
  ts_batch batch;
  uint8_t *found; /* [26][batch] */
} scoring;

#define CHUNK_FLOATS 16384u

/* Rows come close together from the store and are wanted apart from each other. */
static void find_table(void *context, uint32_t c) {
  scoring *s = context;
  ts_trainer *t = s->trainer;
  const size_t at = (size_t)c * t->options.batch;
  const uint32_t dim = t->options.dims[c], chunk = CHUNK_FLOATS / dim;
  float rows[CHUNK_FLOATS];
  uint64_t stride;
  float *to = ts_model_rows(&t->model, 0, c, &stride);
  ts_err err = ts_trainer_part_err(t, c);
  t->part_status[c] = TS_OK;
  for (uint32_t first = 0; first < t->rows && t->part_status[c] == TS_OK; first += chunk) {
    const uint32_t n = TS_MIN(t->rows - first, chunk);
    t->part_status[c] = ts_table_find(t->store, t->tables[c], s->batch.keys + at + first, n, 0, rows,
                                      s->found + at + first, err.text, err.cap);
    for (uint32_t r = 0; r < n; r++) memcpy(to + (first + r) * stride, rows + (size_t)r * dim, dim * sizeof *rows);
  }
}

static void score_shard(void *context, uint32_t part) {
  scoring *s = context;
  ts_model *m = &s->trainer->model;
  /* A shard of each micro-batch, since shards of one number share their working memory. */
  for (uint32_t piece = 0; piece < m->pieces; piece++) {
    const ts_mlp_rows at = ts_mlp_cut(&m->top, piece, part, s->trainer->rows);
    if (at.rows > 0 && ts_model_forward(m, 0, at, false, &s->batch) != TS_OK)
      atomic_store_explicit(&s->trainer->dense_failed, true, memory_order_relaxed);
  }
}

typedef struct scores {
  uint64_t *ranked, absent;
  double loss;
} scores;

static int32_t find_rows(scoring *g, ts_err err) {
  ts_trainer *t = g->trainer;
  ts_pool_run(t->pool, TS_CATEGORIES, find_table, g);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    if (t->part_status[c] != TS_OK) return ts_fail(err, t->part_status[c], "%s", t->part_message[c]);
  return TS_OK;
}

static int32_t score_batch(scoring *g, const ts_cache *cache, uint64_t first, scores *s, ts_err err) {
  ts_trainer *t = g->trainer;
  ts_batch *b = &g->batch;
  uint32_t batch = t->options.batch;
  int32_t status = ts_cache_read(cache, first, t->rows, batch, b->labels, b->numerics, b->keys, err);
  if (status == TS_OK) status = find_rows(g, err);
  if (status != TS_OK) return status;
  atomic_store(&t->dense_failed, false);
  ts_model_begin(&t->model, t->step, 0);
  ts_pool_run(t->pool, t->model.shards, score_shard, g);
  if (atomic_load(&t->dense_failed))
    return ts_fail(err, TS_EINTERNAL, "Cannot evaluate: oneDNN refused a matrix product");
  for (uint32_t r = 0; r < t->rows; r++) {
    bool positive = b->labels[r] > 0;
    s->loss += ts_logloss(t->model.logit[r], positive);
    s->ranked[first + r] = ts_ranked(t->model.logit[r], positive);
  }
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t r = 0; r < t->rows; r++) s->absent += !g->found[(size_t)c * batch + r];
  return TS_OK;
}

int32_t ts_trainer_evaluate(ts_trainer *t, const char *path, uint64_t max_rows, double *result, uint64_t *control,
                            char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL || result == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot evaluate: a trainer and a place for the result are needed");
  ts_cache cache;
  int32_t status = ts_cache_open(path, &cache, err);
  if (status != TS_OK) return status;
  uint64_t rows = cache.header.rows;
  if (max_rows != 0 && max_rows < rows) rows = max_rows;
  scores s = {.ranked = malloc((rows + 1) * sizeof(uint64_t))};
  uint64_t *scratch = malloc((rows + 1) * sizeof(uint64_t));
  const uint64_t batch = t->options.batch;
  scoring g = {.trainer = t,
               .batch = {.labels = malloc(batch * sizeof(float)),
                         .numerics = malloc(TS_NUMERICS * batch * sizeof(float)),
                         .keys = malloc(TS_CATEGORIES * batch * sizeof(int64_t))},
               .found = malloc(TS_CATEGORIES * batch)};
  if (rows == 0) status = ts_fail(err, TS_EINVAL, "Cannot evaluate \"%s\": it has no rows", path);
  else if (s.ranked == NULL || scratch == NULL || g.batch.labels == NULL || g.batch.numerics == NULL ||
           g.batch.keys == NULL || g.found == NULL)
    status =
        ts_fail(err, TS_ENOMEM, "Cannot evaluate \"%s\": no memory for %llu scores", path, (unsigned long long)rows);
  if (status == TS_OK) status = ts_trainer_take_step(t, err);
  if (status == TS_OK) status = ts_trainer_take_input(t, 0, err);
  ts_control_start(control, rows);
  for (uint64_t first = 0; first < rows && status == TS_OK; first += t->rows) {
    if (ts_control_cancelled(control)) {
      status = ts_fail(err, TS_ECANCELLED, "The evaluation was cancelled");
      break;
    }
    t->rows = (uint32_t)TS_MIN(rows - first, t->options.batch);
    status = score_batch(&g, &cache, first, &s, err);
    ts_control_add(control, t->rows);
  }
  if (status == TS_OK) {
    result[0] = s.loss / (double)rows;
    result[1] = ts_auc(s.ranked, scratch, rows);
    result[2] = (double)rows;
    result[3] = (double)s.absent / ((double)rows * TS_CATEGORIES);
  }
  ts_trainer_give_step(t);
  ts_trainer_give_input(t, 0);
  free(s.ranked);
  free(scratch);
  free(g.batch.labels);
  free(g.batch.numerics);
  free(g.batch.keys);
  free(g.found);
  ts_cache_close(&cache);
  return status;
}
