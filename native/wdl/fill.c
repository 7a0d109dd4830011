/* fill.c - gives the tables their full size before the first step: every key of a synthetic vocabulary, or every key of
 * an imported train file. */
#include "store/batches.h"
#include "base/control.h"
#include "wdl/input/criteo_field.h"
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

static int32_t create_rows(filling *f, uint32_t table, chunk *k, uint64_t n) {
  ts_trainer *t = f->trainer;
  ts_err err = ts_trainer_part_err(t, table);
  if (ts_control_cancelled(f->control)) return ts_fail(err, TS_ECANCELLED, "Filling the tables was cancelled");
  uint64_t mine = n;
  if (t->over != NULL) { /* those of this rank */
    mine = 0;
    for (uint64_t i = 0; i < n; i++)
      if (ts_ranks_owner(t->over->ranks, table, k->keys[i]) == t->over->ranks->ops.rank) k->keys[mine++] = k->keys[i];
  }
  int32_t status = ts_table_lookup(t->store, t->tables[table], k->keys, mine, k->rows, err.text, err.cap);
  if (status == TS_OK) ts_control_add(f->control, n);
  return status;
}

/* Coldest ids first: a store that keeps what came last then starts with the hottest rows in its first tier, as a
 * restored checkpoint does in DeepRec. Columns that share a table take turns. */
static void fill_vocabulary(filling *f, uint32_t table, chunk *k) {
  ts_trainer *t = f->trainer;
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const uint64_t *cardinality = t->data.header.cardinality, mask = ts_planted_key_mask(t->data.header.seed);
  uint64_t left = 0, n = 0;
  for (uint32_t i = 0; i < plan->count; i++) left = TS_MAX(left, cardinality[plan->columns[i]]);
  for (; left > 0 && t->part_status[table] == TS_OK; left--)
    for (uint32_t i = 0; i < plan->count && t->part_status[table] == TS_OK; i++) {
      if (left > cardinality[plan->columns[i]]) continue;
      k->keys[n++] = ts_planted_key(mask, plan->columns[i], left - 1);
      if (n < CHUNK) continue;
      t->part_status[table] = create_rows(f, table, k, n);
      n = 0;
    }
  if (t->part_status[table] == TS_OK && n > 0) t->part_status[table] = create_rows(f, table, k, n);
}

/* In the order of the file, column by column, each key once. */
static void fill_from_file(filling *f, uint32_t table, chunk *k) {
  ts_trainer *t = f->trainer;
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const uint64_t rows = t->data.header.rows, groups = (rows + TS_CACHE_GROUP - 1) / TS_CACHE_GROUP;
  int64_t *keys = k->keys, read[TS_CACHE_GROUP];
  uint64_t n = 0;
  ts_key_set seen = {0};
  int32_t status = TS_OK;
  for (uint64_t part = 0; part < groups * plan->count && status == TS_OK; part++) {
    const uint64_t first = part % groups * TS_CACHE_GROUP, count = TS_MIN(rows - first, TS_CACHE_GROUP);
    const uint32_t column = plan->columns[part / groups];
    status = ts_cache_read_column(&t->data, column, first, count, read, ts_trainer_part_err(t, table));
    for (uint64_t i = 0; i < count && status == TS_OK; i++) {
      bool added;
      if (ts_table_is_bag(plan) && read[i] == TS_MISSING_KEY) continue; /* in no bag */
      if (!ts_key_set_add(&seen, read[i], &added))
        status = ts_fail(ts_trainer_part_err(t, table), TS_ENOMEM, "Cannot fill the tables: out of memory");
      if (added) keys[n++] = read[i];
      if (n < CHUNK) continue;
      status = create_rows(f, table, k, n);
      n = 0;
    }
  }
  if (status == TS_OK && n > 0) status = create_rows(f, table, k, n);
  t->part_status[table] = status;
  ts_key_set_free(&seen);
}

static void fill_table(void *context, uint32_t table) {
  filling *f = context;
  ts_trainer *t = f->trainer;
  float otherwise;
  if (!ts_table_admits_all(t->store, t->tables[table], &otherwise)) return; /* its keys have to earn their rows */
  chunk *k = malloc(sizeof *k + (size_t)CHUNK * t->options.tables.plans[table].dim * sizeof(float));
  if (k == NULL)
    t->part_status[table] = ts_fail(ts_trainer_part_err(t, table), TS_ENOMEM, "Cannot fill the tables: out of memory");
  else if (t->data.header.vocabulary == TS_VOCABULARY_SYNTHETIC) fill_vocabulary(f, table, k);
  else fill_from_file(f, table, k);
  free(k);
}

int32_t ts_trainer_fill(ts_trainer *t, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot fill the tables: a trainer is needed");
  int32_t here = ts_owner_check(&t->owner, "trainer", err);
  if (here != TS_OK) return here;
  const ts_tables *tables = &t->options.tables;
  uint64_t total = 0; /* at most: columns of a table may have keys in common */
  for (uint32_t i = 0; i < tables->count; i++)
    for (uint32_t c = 0; c < tables->plans[i].count; c++)
      total += t->data.header.cardinality[tables->plans[i].columns[c]];
  ts_control_start(control, total);
  filling f = {t, control};
  memset(t->part_status, 0, sizeof t->part_status);
  ts_pool_run(t->pool, tables->count, fill_table, &f);
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < tables->count && status == TS_OK; i++)
    if (t->part_status[i] != TS_OK) status = ts_fail(err, t->part_status[i], "%s", t->part_message[i]);
  status = ts_rank_agree(t, status, err);
  if (status != TS_OK) return status;
  ts_control_set(control, total);
  return TS_OK;
}
