/* fill.c - gives the tables their full size before the first step: every key of a synthetic vocabulary, or every key of
 * an imported train file. */
#include "store/batches.h"
#include "base/control.h"
#include "base/sync_point.h"
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
  atomic_bool ended; /* over ranks: another one was cancelled or has failed */
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
  TS_SYNC("fill:before_rows");
  if (atomic_load_explicit(&f->ended, memory_order_relaxed)) return ts_fail(err, TS_ECANCELLED, "Filling the tables was ended");
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

static void fill_tables(void *context) {
  filling *f = context;
  ts_pool_run(f->trainer->pool, f->trainer->options.tables.count, fill_table, f);
}

/* Not that of another rank, by which this one was ended. */
static int32_t failure_of(const filling *f, ts_err err) {
  const ts_trainer *t = f->trainer;
  for (uint32_t i = 0; i < t->options.tables.count; i++) {
    const int32_t status = t->part_status[i];
    if (status != TS_OK && (status != TS_ECANCELLED || ts_control_cancelled(f->control)))
      return ts_fail(err, status, "%s", t->part_message[i]);
  }
  return TS_OK;
}

/* What a rank tells of its filling. */
enum { UNDER_WAY, DONE, FAILED };
#define TELL_NS 200000000u /* so often, while it is under way */

/* Ranks take different times, so they tell each other how it goes while they fill: one that is cancelled, or whose store is full,
 * ends the others within two rounds. */
static int32_t fill_over_ranks(filling *f, ts_err err) {
  ts_trainer *t = f->trainer;
  ts_ranks *ranks = t->over->ranks;
  ts_courier *filler = NULL;
  uint32_t all[TS_MOST_RANKS], mine = UNDER_WAY, left = 1;
  int32_t status = ts_rank_agree(t, ts_courier_open(&filler, err), err);
  if (status == TS_OK) ts_courier_begin(filler, fill_tables, f);
  while (status == TS_OK && left > 0) {
    if (ts_courier_wait_for(filler, TELL_NS)) mine = failure_of(f, (ts_err){NULL, 0}) == TS_OK ? DONE : FAILED;
    status = ts_ranks_gather(ranks, &mine, sizeof mine, all, err);
    left = 0;
    for (uint32_t i = 0; i < ranks->ops.size && status == TS_OK; i++) {
      left += all[i] == UNDER_WAY;
      if (all[i] == FAILED) atomic_store_explicit(&f->ended, true, memory_order_relaxed);
    }
    if (mine == UNDER_WAY && atomic_load_explicit(&f->ended, memory_order_relaxed)) TS_SYNC("fill:ended");
  }
  if (status != TS_OK) atomic_store_explicit(&f->ended, true, memory_order_relaxed);
  ts_courier_close(filler);
  return status == TS_OK ? ts_rank_agree(t, failure_of(f, err), err) : status;
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
  filling f = {.trainer = t, .control = control};
  memset(t->part_status, 0, sizeof t->part_status);
  if (!ts_trainer_is_one_of_many(t)) fill_tables(&f);
  const int32_t status = ts_trainer_is_one_of_many(t) ? fill_over_ranks(&f, err) : failure_of(&f, err);
  if (status != TS_OK) return status;
  ts_control_set(control, total);
  return TS_OK;
}
