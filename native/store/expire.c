/* expire.c - rows that have grown old, or whose weights have come to nothing: when they are gone, and who takes their
 * bytes away.
 *
 * When is a function of the row and the store's step alone, so all storage types have the same rows, on any number of
 * threads and shards:
 *   by steps    step - date > steps, where a row's date is the step of its last update, or else of its creation
 *               (DeepRec's GlobalStepEvict, which dates rows without an update when it first looks at them).
 *   by weight   half-squared: 1/2 sum w^2 < threshold, what DeepRec's L2WeightEvict computes; norm: sqrt(sum w^2) <
 *               threshold, what its documentation says. Rows are judged as they are at the beginning of each step that is a
 *               multiple of `every`: a new row has time to learn. One whose date is not before that step was created or
 *               changed since, after whoever did it had judged what was there; any other is as it was then. So it makes no
 *               difference who looks first, nor when.
 * From then on the row counts as absent, to every call. Its bytes go when a lookup or an update meets it, or when a piece of
 * the sweep comes by: that walks the shards' indexes and then the records, from where the last piece stopped. A row is judged
 * again under its shard's lock before it goes. So no call has to stop for a whole table but those that count rows. */
#include "store/store.h"

#include <math.h>
#include <string.h>

#define KEYS_A_LOOK 256u

static bool is_light(const ts_table *table, const unsigned char *row) {
  const ts_row_layout *l = &table->layout;
  double sum = 0;
  for (uint32_t j = 0; j < l->dim; j++) {
    float w;
    if (l->type == TS_FP32) {
      memcpy(&w, row + j * sizeof w, sizeof w);
    } else {
      uint16_t half;
      memcpy(&half, row + j * sizeof half, sizeof half);
      w = ts_bf16_widen(half);
    }
    sum += (double)w * (double)w;
  }
  return (table->expiry.norm ? sqrt(sum) : sum / 2) < table->expiry.weight;
}

/* The step that decides now which rows have expired. */
static int64_t judging_step(const ts_table *table) {
  const ts_expiry *e = &table->expiry;
  const int64_t step = ts_step(table->store);
  return e->by_steps ? step : e->every > 0 ? step - step % e->every : 0;
}

bool ts_row_has_expired(const ts_table *table, const unsigned char *row) {
  const ts_expiry *e = &table->expiry;
  const int64_t step = ts_step(table->store), date = ts_row_date(&table->layout, row);
  if (e->by_steps && step > date && step - date > e->steps) return true;
  return e->by_weight && e->every > 0 && date < step - step % e->every && is_light(table, row);
}

/* As of now, whatever its date. */
static bool is_to_go(const ts_table *table, const unsigned char *row) {
  return ts_row_has_expired(table, row) || (table->expiry.by_weight && is_light(table, row));
}

/* Some rows of the next shard. *looked counts them; *left false: this round of the indexes is over. */
static int32_t look_at_memory(ts_table *table, uint64_t rows, ts_remove_test *test, int64_t keys[KEYS_A_LOOK], uint32_t *n,
                           uint64_t *looked, bool *left, ts_err err) {
  ts_expiry *e = &table->expiry;
  ts_shard *shard = &table->shards[e->shard];
  *n = 0;
  *looked = 0;
  bool more = true;
  int32_t status = TS_OK;
  *left = true;
  pthread_mutex_lock(&shard->lock);
  const ts_index_cursor before = e->cursor;
  while (more && *looked < TS_MIN(rows, KEYS_A_LOOK)) {
    ts_entries found;
    status = ts_entries_next(shard, &e->cursor, (uint32_t)(TS_MIN(rows, KEYS_A_LOOK) - *looked), true, &found, err);
    if (status != TS_OK) {
      e->cursor = before; /* they are looked at again */
      break;
    }
    more = found.n > 0;
    for (uint32_t i = 0; i < found.n; i++) {
      if (found.rows[i] == NULL) continue;
      ++*looked;
      if (test(table, found.rows[i])) keys[(*n)++] = found.keys[i];
    }
  }
  pthread_mutex_unlock(&shard->lock);
  if (!more) {
    e->cursor = (ts_index_cursor){0};
    if (++e->shard == table->shard_count) {
      e->shard = 0;
      *left = false;
    }
  }
  return status;
}

static int32_t look_at_records(ts_table *table, uint64_t rows, ts_remove_test *test, int64_t keys[KEYS_A_LOOK], uint32_t *n,
                               uint64_t *looked, bool *more, ts_err err) {
  ts_expiry *e = &table->expiry;
  ts_work *w = ts_work_acquire(table, KEYS_A_LOOK, TS_WORK_LOOKUP);
  /* Two at least: LevelDB's walk wants them. */
  uint32_t want = (uint32_t)TS_MIN(TS_MAX(rows, 2u), TS_MIN(KEYS_A_LOOK, w->staging_capacity)), got = 0;
  for (uint32_t i = 0; i < want; i++) w->rows[i] = ts_work_staging(w, i);
  int32_t status = ts_records_tier(table->store)->records->walk(table->records, &e->records_cursor, want, w->keys, NULL,
                                                                w->rows, &got, err);
  *n = 0;
  for (uint32_t i = 0; status == TS_OK && i < got; i++)
    if (test(table, w->rows[i])) keys[(*n)++] = w->keys[i];
  *looked = got;
  *more = status == TS_OK && got > 0;
  if (!*more) e->records_cursor = 0;
  ts_work_release(table->store, w);
  return status;
}

/* Looks at `rows` rows from where the last piece stopped, or at fewer if two ends of the round come by: there are none
 * left that were not looked at. `to_end`: stops at the first end. */
static int32_t piece(ts_table *table, uint64_t rows, bool to_end, ts_remove_test *test, uint64_t *removed, ts_err err) {
  ts_expiry *e = &table->expiry;
  for (uint32_t ends = 0; rows > 0 && ends < (to_end ? 1 : 2);) {
    int64_t keys[KEYS_A_LOOK];
    uint32_t n = 0;
    uint64_t looked = 0, gone = 0;
    int32_t status = TS_OK;
    bool more;
    if (!e->in_records) {
      if (e->shard == 0 && e->cursor.bucket == 0 && e->cursor.slot == 0 && e->cursor.hash_position == 0)
        e->sweeping = judging_step(table);
      status = look_at_memory(table, rows, test, keys, &n, &looked, &more, err);
      if (!more && table->records != NULL) e->in_records = more = true;
    } else {
      status = look_at_records(table, rows, test, keys, &n, &looked, &more, err);
      if (!more) e->in_records = false;
    }
    if (status == TS_OK && n > 0) status = ts_remove_rows(table, keys, n, test, &gone, err);
    ts_count(table, TS_STAT_expired, gone);
    *removed += gone;
    if (status != TS_OK) return status;
    rows -= TS_MIN(looked, rows);
    if (more) continue;
    ends++;
    e->swept = e->sweeping;
  }
  return TS_OK;
}

int32_t ts_expire_piece(ts_table *table, uint64_t rows, uint64_t *removed, ts_err err) {
  *removed = 0;
  if (table->expiry.swept == judging_step(table)) return TS_OK;
  if (pthread_mutex_trylock(&table->expiring) != 0) return TS_OK; /* another call is at it */
  int32_t status = piece(table, rows, false, ts_row_has_expired, removed, err);
  pthread_mutex_unlock(&table->expiring);
  return status;
}

/* All rows, from the beginning; `expiring` held. */
static int32_t sweep(ts_table *table, ts_remove_test *test, uint64_t *removed, ts_err err) {
  ts_expiry *e = &table->expiry;
  e->shard = 0;
  e->cursor = (ts_index_cursor){0};
  e->in_records = false;
  e->records_cursor = 0;
  return piece(table, UINT64_MAX, true, test, removed, err);
}

int32_t ts_expire_sweep(ts_table *table, ts_err err) {
  uint64_t removed = 0;
  if (!ts_may_expire(table) || table->expiry.swept == judging_step(table)) return TS_OK;
  pthread_mutex_lock(&table->expiring);
  int32_t status = sweep(table, ts_row_has_expired, &removed, err);
  pthread_mutex_unlock(&table->expiring);
  return status;
}

int32_t ts_expire_all(ts_table *table, ts_err err) {
  if (!ts_may_expire(table)) return TS_OK;
  ts_gate_enter(&table->store->gate);
  const int32_t status = ts_expire_sweep(table, err);
  ts_gate_leave(&table->store->gate);
  return status;
}

int32_t ts_table_expire(ts_store *store, uint32_t number, uint64_t max_rows, uint64_t *removed, char *err,
                        uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  uint64_t gone = 0;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (!table->expiry.by_steps && !table->expiry.by_weight)
    return ts_fail(e, TS_EINVAL, "Cannot expire rows of table \"%s\": it has neither expire.steps nor expire.l2",
                   table->name);
  ts_gate_enter(&store->gate);
  pthread_mutex_lock(&table->expiring);
  status = max_rows == 0 ? sweep(table, is_to_go, &gone, e) : piece(table, max_rows, false, ts_row_has_expired, &gone, e);
  pthread_mutex_unlock(&table->expiring);
  ts_gate_leave(&store->gate);
  if (removed != NULL) *removed = gone;
  return status;
}

/* Before the step falls: what has expired by now must not come back. */
static int32_t forget_step(ts_store *store, ts_err err) {
  const uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < count; i++) {
    status = ts_expire_sweep(store->tables[i], err);
    store->tables[i]->expiry.swept = -1;
  }
  return status;
}

int32_t ts_store_set_step(ts_store *store, int64_t step, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  int32_t status = ts_store_check(store, "set the global step", e);
  if (status != TS_OK) return status;
  if (step < 0)
    return ts_fail(e, TS_EINVAL, "Cannot set the global step to %lld: it must be 0 or more", (long long)step);
  ts_gate_enter(&store->gate);
  if (step < ts_step(store)) status = forget_step(store, e);
  if (status == TS_OK) {
    atomic_store_explicit(&store->step, step, memory_order_relaxed);
    atomic_store_explicit(&store->stepped, true, memory_order_relaxed);
    if (ts_is_on_device(store)) store->tiers[0].tier.ops->device->stepped(&store->tiers[0].tier, step);
  }
  ts_gate_leave(&store->gate);
  return status;
}
