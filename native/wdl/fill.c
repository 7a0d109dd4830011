/* fill.c - gives the tables their full size before the first step: every key of a synthetic vocabulary, or every key of
 * an imported train file. */
#include "wdl/control.h"
#include "wdl/input/key_set.h"
#include "wdl/input/planted.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 2048u /* keys looked up at a time */

/* What a fill shares between its tables. */
typedef struct filling {
  ts_trainer *trainer;
  uint64_t *control;
} filling;

/* One table's keys and the place for their rows. */
typedef struct chunk {
  int64_t keys[CHUNK];
  float rows[];
} chunk;

static int32_t create_rows(filling *f, uint32_t c, chunk *k, uint64_t n) {
  ts_trainer *t = f->trainer;
  ts_err err = ts_trainer_part_err(t, c);
  if (ts_control_cancelled(f->control)) return ts_fail(err, TS_ECANCELLED, "Filling the tables was cancelled");
  int32_t status = ts_table_lookup(t->store, t->tables[c], k->keys, n, k->rows, err.text, err.cap);
  if (status == TS_OK) ts_control_add(f->control, n);
  return status;
}

/* Coldest ids first: a store that keeps what came last then starts with the hottest rows in its first tier, as a
 * restored checkpoint does in DeepRec. */
static void fill_vocabulary(filling *f, uint32_t c, chunk *k) {
  ts_trainer *t = f->trainer;
  int64_t *keys = k->keys;
  uint64_t mask = ts_planted_key_mask(t->data.header.seed);
  for (uint64_t left = t->data.header.cardinality[c]; left > 0 && t->part_status[c] == TS_OK;) {
    uint64_t n = TS_MIN(left, CHUNK);
    for (uint64_t i = 0; i < n; i++) keys[i] = ts_planted_key(mask, c, left - 1 - i);
    t->part_status[c] = create_rows(f, c, k, n);
    left -= n;
  }
}

/* In the order of the file, each key once. */
static void fill_from_file(filling *f, uint32_t c, chunk *k) {
  ts_trainer *t = f->trainer;
  int64_t *keys = k->keys, read[TS_CACHE_GROUP];
  ts_key_set seen = {0};
  uint64_t rows = t->data.header.rows, n = 0;
  for (uint64_t first = 0; first < rows && t->part_status[c] == TS_OK; first += TS_CACHE_GROUP) {
    uint64_t count = TS_MIN(rows - first, TS_CACHE_GROUP);
    t->part_status[c] = ts_cache_read_column(&t->data, c, first, count, read, ts_trainer_part_err(t, c));
    for (uint64_t i = 0; i < count && t->part_status[c] == TS_OK; i++) {
      bool added;
      if (!ts_key_set_add(&seen, read[i], &added))
        t->part_status[c] = ts_fail(ts_trainer_part_err(t, c), TS_ENOMEM, "Cannot fill the tables: out of memory");
      if (added) keys[n++] = read[i];
      if (n < CHUNK) continue;
      t->part_status[c] = create_rows(f, c, k, n);
      n = 0;
    }
  }
  if (t->part_status[c] == TS_OK && n > 0) t->part_status[c] = create_rows(f, c, k, n);
  ts_key_set_free(&seen);
}

static void fill_table(void *context, uint32_t c) {
  filling *f = context;
  ts_trainer *t = f->trainer;
  chunk *k = malloc(sizeof *k + (size_t)CHUNK * t->options.dims[c] * sizeof(float));
  if (k == NULL)
    t->part_status[c] = ts_fail(ts_trainer_part_err(t, c), TS_ENOMEM, "Cannot fill the tables: out of memory");
  else if (t->data.header.vocabulary == TS_VOCABULARY_SYNTHETIC) fill_vocabulary(f, c, k);
  else fill_from_file(f, c, k);
  free(k);
}

int32_t ts_trainer_fill(ts_trainer *t, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot fill the tables: a trainer is needed");
  uint64_t total = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) total += t->data.header.cardinality[c];
  ts_control_start(control, total);
  filling f = {t, control};
  memset(t->part_status, 0, sizeof t->part_status);
  ts_pool_run(t->pool, TS_CATEGORIES, fill_table, &f);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    if (t->part_status[c] != TS_OK) return ts_fail(err, t->part_status[c], "%s", t->part_message[c]);
  return TS_OK;
}
