/* evaluate.c - scores a cache file without changing the store: read-only lookups, forward, exact AUC. */
#include "wdl/control.h"
#include "wdl/metrics.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

static void find_table(void *context, uint32_t c) {
  ts_trainer *t = context;
  size_t at = (size_t)c * t->options.batch;
  ts_err err = ts_trainer_part_err(t, c);
  t->part_status[c] = ts_table_find(t->store, t->tables[c], t->keys + at, t->rows, 0,
                                    t->embeddings + at * t->options.dim, t->found + at, err.text, err.cap);
}

static void score_shard(void *context, uint32_t shard) {
  ts_trainer *t = context;
  t->part_status[shard] = ts_trainer_forward(t, ts_mlp_cut(&t->mlp, 0, shard, t->rows), false);
}

typedef struct scores {
  uint64_t *ranked, absent;
  double loss;
} scores;

static int32_t score_batch(ts_trainer *t, const ts_cache *cache, uint64_t first, scores *s, ts_err err) {
  uint32_t batch = t->options.batch;
  int32_t status = ts_cache_read(cache, first, t->rows, batch, t->labels, t->numerics, t->keys, err);
  if (status == TS_OK) status = ts_trainer_each_table(t, find_table, err);
  if (status != TS_OK) return status;
  memset(t->part_status, 0, sizeof t->part_status);
  ts_pool_run(t->pool, TS_SHARDS, score_shard, t);
  for (uint32_t i = 0; i < TS_SHARDS; i++)
    if (t->part_status[i] != TS_OK)
      return ts_fail(err, TS_EINTERNAL, "Cannot evaluate: oneDNN refused a matrix product");
  for (uint32_t r = 0; r < t->rows; r++) {
    bool positive = t->labels[r] > 0;
    s->loss += ts_logloss(t->logit[r], positive);
    s->ranked[first + r] = ts_ranked(t->logit[r], positive);
  }
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t r = 0; r < t->rows; r++) s->absent += !t->found[(size_t)c * batch + r];
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
  if (rows == 0) status = ts_fail(err, TS_EINVAL, "Cannot evaluate \"%s\": it has no rows", path);
  else if (s.ranked == NULL || scratch == NULL)
    status =
        ts_fail(err, TS_ENOMEM, "Cannot evaluate \"%s\": no memory for %llu scores", path, (unsigned long long)rows);
  ts_control_start(control, rows);
  for (uint64_t first = 0; first < rows && status == TS_OK; first += t->rows) {
    if (ts_control_cancelled(control)) {
      status = ts_fail(err, TS_ECANCELLED, "The evaluation was cancelled");
      break;
    }
    t->rows = (uint32_t)TS_MIN(rows - first, t->options.batch);
    status = score_batch(t, &cache, first, &s, err);
    ts_control_add(control, t->rows);
  }
  if (status == TS_OK) {
    result[0] = s.loss / (double)rows;
    result[1] = ts_auc(s.ranked, scratch, rows);
    result[2] = (double)rows;
    result[3] = (double)s.absent / ((double)rows * TS_CATEGORIES);
  }
  free(s.ranked);
  free(scratch);
  ts_cache_close(&cache);
  return status;
}
