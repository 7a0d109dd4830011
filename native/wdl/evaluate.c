/* evaluate.c - scores a cache file without changing the store: read-only lookups, forward, exact AUC. */
#include "base/control.h"
#include "wdl/common/metrics.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

/* What the passes of one evaluation share. */
typedef struct scoring {
  ts_trainer *trainer;
  ts_batch batch;
  uint64_t pairs[TS_CATEGORIES], absent[TS_CATEGORIES]; /* of the batch, by table */
} scoring;

static void find_table(void *context, uint32_t table) {
  scoring *s = context;
  ts_trainer *t = s->trainer;
  t->part_status[table] = ts_trainer_find(t, table, s->batch.keys, &s->pairs[table], &s->absent[table],
                                          ts_trainer_part_err(t, table));
}

static void multiply_vector(void *context, uint32_t vector) {
  scoring *s = context;
  if (ts_model_multiply(&s->trainer->model, vector) != TS_OK)
    atomic_store_explicit(&s->trainer->dense_failed, true, memory_order_relaxed);
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
  uint64_t *ranked, pairs, absent;
  double loss;
} scores;

static int32_t find_rows(scoring *g, ts_err err) {
  ts_trainer *t = g->trainer;
  const uint32_t tables = t->options.tables.count;
  ts_pool_run(t->pool, tables, find_table, g);
  for (uint32_t i = 0; i < tables; i++)
    if (t->part_status[i] != TS_OK) return ts_fail(err, t->part_status[i], "%s", t->part_message[i]);
  return TS_OK;
}

/* Of this process alone. */
static int32_t score_rows(scoring *g, scores *s, ts_err err) {
  ts_trainer *t = g->trainer;
  int32_t status = find_rows(g, err);
  if (status != TS_OK) return status;
  for (uint32_t i = 0; i < t->options.tables.count; i++) {
    s->pairs += g->pairs[i];
    s->absent += g->absent[i];
  }
  atomic_store(&t->dense_failed, false);
  ts_model_begin(&t->model, t->step, 0);
  if (ts_model_by_distinct_rows(&t->model)) {
    ts_model_lay_out(&t->model, 0);
    ts_pool_run(t->pool, t->model.columns.count, multiply_vector, g);
  }
  ts_pool_run(t->pool, t->model.shards, score_shard, g);
  return atomic_load(&t->dense_failed) ? ts_fail(err, TS_EINTERNAL, "Cannot evaluate: oneDNN refused a matrix product")
                                       : TS_OK;
}

static int32_t score_batch(scoring *g, const ts_cache *cache, uint64_t first, scores *s, ts_err err) {
  ts_trainer *t = g->trainer;
  ts_batch *b = &g->batch;
  uint32_t batch = t->options.batch;
  int32_t status = ts_cache_read(cache, first, t->rows, batch, b->labels, b->numerics, b->keys, err);
  if (t->over != NULL) status = ts_rank_score(t, b, status, &s->pairs, &s->absent, err);
  else if (status == TS_OK) status = score_rows(g, s, err);
  if (status == TS_OK) status = ts_trainer_check_outputs(t, "evaluate", err);
  if (status != TS_OK) return status;
  for (uint32_t r = 0; r < t->rows; r++) {
    bool positive = b->labels[r] > 0;
    s->loss += ts_logloss(t->model.logit[r], positive);
    s->ranked[first + r] = ts_ranked(t->model.logit[r], positive);
  }
  return TS_OK;
}

int32_t ts_trainer_evaluate(ts_trainer *t, const char *path, uint64_t max_rows, double *result, uint64_t *control,
                            char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL || result == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot evaluate: a trainer and a place for the result are needed");
  ts_cache cache;
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  status = ts_cache_open(path, &cache, err);
  const bool opened = status == TS_OK;
  ts_rank_control(t, control);
  status = ts_rank_agree(t, status, err);
  if (status != TS_OK) {
    ts_rank_control(t, NULL);
    if (opened) ts_cache_close(&cache);
    return status;
  }
  uint64_t rows = cache.header.rows;
  if (max_rows != 0 && max_rows < rows) rows = max_rows;
  scores s = {.ranked = malloc((rows + 1) * sizeof(uint64_t))};
  uint64_t *scratch = malloc((rows + 1) * sizeof(uint64_t));
  const uint64_t batch = t->options.batch;
  scoring g = {.trainer = t,
               .batch = {.labels = malloc(batch * sizeof(float)),
                         .numerics = malloc(TS_NUMERICS * batch * sizeof(float)),
                         .keys = malloc(TS_CATEGORIES * batch * sizeof(int64_t))}};
  if (rows == 0) status = ts_fail(err, TS_EINVAL, "Cannot evaluate \"%s\": it has no rows", path);
  else if (s.ranked == NULL || scratch == NULL || g.batch.labels == NULL || g.batch.numerics == NULL ||
           g.batch.keys == NULL)
    status =
        ts_fail(err, TS_ENOMEM, "Cannot evaluate \"%s\": no memory for %llu scores", path, (unsigned long long)rows);
  if (status == TS_OK) status = ts_trainer_take_step(t, err);
  if (status == TS_OK) status = ts_trainer_take_input(t, 0, err);
  status = ts_rank_agree(t, status, err);
  ts_control_start(control, rows);
  for (uint64_t first = 0; first < rows && status == TS_OK; first += t->rows) {
    if (ts_rank_cancelled(t, control, "The evaluation", err)) {
      status = TS_ECANCELLED;
      break;
    }
    t->rows = (uint32_t)TS_MIN(rows - first, t->options.batch);
    status = score_batch(&g, &cache, first, &s, err);
    ts_control_add(control, t->rows);
  }
  if (status == TS_OK && t->over != NULL) {
    uint64_t counts[2] = {s.pairs, s.absent};
    status = ts_rank_sum_counts(t, counts, 2, err);
    s.pairs = counts[0];
    s.absent = counts[1];
  }
  if (status == TS_OK) {
    result[0] = s.loss / (double)rows;
    result[1] = ts_auc(s.ranked, scratch, rows);
    result[2] = (double)rows;
    result[3] = s.pairs == 0 ? 0 : (double)s.absent / (double)s.pairs;
  }
  ts_rank_control(t, NULL);
  ts_trainer_give_step(t);
  ts_trainer_give_input(t, 0);
  free(s.ranked);
  free(scratch);
  free(g.batch.labels);
  free(g.batch.numerics);
  free(g.batch.keys);
  ts_cache_close(&cache);
  return status;
}
