/* expire.c - rows that have grown old, or whose weights have come to nothing, a piece at a time.
 *
 *   by steps    global step - version > steps (DeepRec's GlobalStepEvict). A row that was never updated has no version: it
 *               gets the present step when it is first looked at, as in DeepRec, and is old from then on.
 *   by weight   half-squared: 1/2 sum w^2 < threshold, what DeepRec's L2WeightEvict computes; norm: sqrt(sum w^2) <
 *               threshold, what its documentation says.
 * A piece walks the shards' indexes and then the records, from where the last one stopped. A row is judged again under its
 * shard's lock before it goes. */
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

static bool is_expired(const ts_table *table, const unsigned char *row) {
  const ts_expiry *e = &table->expiry;
  if (e->by_weight && is_light(table, row)) return true;
  if (!e->by_steps) return false;
  int64_t version = ts_row_version(&table->layout, row);
  int64_t now = atomic_load_explicit(&table->store->step, memory_order_relaxed);
  return version != TS_NO_VERSION && now > version && (uint64_t)now - (uint64_t)version > (uint64_t)e->steps;
}

/* Some rows of the next shard. *looked counts them; false: this round of the indexes is over. */
static bool look_at_memory(ts_table *table, uint64_t rows, int64_t keys[KEYS_A_LOOK], uint32_t *n, uint64_t *looked) {
  ts_expiry *e = &table->expiry;
  ts_shard *shard = &table->shards[e->shard];
  const int64_t now = atomic_load_explicit(&table->store->step, memory_order_relaxed);
  *n = 0;
  *looked = 0;
  bool more = true;
  pthread_mutex_lock(&shard->lock);
  while (*looked < TS_MIN(rows, KEYS_A_LOOK)) {
    int64_t key;
    ts_location l;
    more = ts_index_next(&shard->index, &e->cursor, &key, &l);
    if (!more) break;
    if (TS_LOCATION_TIER(l) >= TS_NOT_ADMITTED) continue;
    ++*looked;
    const uint32_t tier = TS_LOCATION_TIER(l);
    unsigned char *row = ts_rows_at(&shard->rows[tier], TS_LOCATION_ROW(l));
    if (is_expired(table, row)) {
      keys[(*n)++] = key;
    } else if (e->by_steps && ts_row_version(&table->layout, row) == TS_NO_VERSION) {
      ts_row_set_version(&table->layout, row, now);
      ts_row_changed(shard, tier, TS_LOCATION_ROW(l));
    }
  }
  pthread_mutex_unlock(&shard->lock);
  if (!more) {
    e->cursor = (ts_index_cursor){0};
    if (++e->shard == table->shard_count) {
      e->shard = 0;
      return false;
    }
  }
  return true;
}

static int32_t look_at_records(ts_table *table, uint64_t rows, int64_t keys[KEYS_A_LOOK], uint32_t *n, uint64_t *looked,
                               bool *more, int64_t undated[KEYS_A_LOOK], uint32_t *undated_n, ts_err err) {
  ts_expiry *e = &table->expiry;
  ts_work *w = ts_work_acquire(table, KEYS_A_LOOK, TS_WORK_LOOKUP);
  /* Two at least: LevelDB's walk wants them. */
  uint32_t want = (uint32_t)TS_MIN(TS_MAX(rows, 2u), TS_MIN(KEYS_A_LOOK, w->staging_capacity)), got = 0;
  for (uint32_t i = 0; i < want; i++) w->rows[i] = ts_work_staging(w, i);
  int32_t status = ts_records_tier(table->store)->records->walk(table->records, &e->records_cursor, want, w->keys,
                                                                (uint64_t *)(void *)w->locations, w->rows, &got, err);
  *n = *undated_n = 0;
  for (uint32_t i = 0; status == TS_OK && i < got; i++) {
    if (is_expired(table, w->rows[i]))
      keys[(*n)++] = w->keys[i];
    else if (e->by_steps && ts_row_version(&table->layout, w->rows[i]) == TS_NO_VERSION)
      undated[(*undated_n)++] = w->keys[i];
  }
  *looked = got;
  *more = status == TS_OK && got > 0;
  if (!*more) e->records_cursor = 0;
  ts_work_release(table->store, w);
  return status;
}

/* Records without a version get the present step, as rows in memory do. */
static int32_t date_records(ts_table *table, const int64_t *keys, uint32_t n, ts_err err) {
  const ts_records_ops *ops = ts_records_tier(table->store)->records;
  ts_work *w = ts_work_acquire(table, 1, TS_WORK_LOOKUP);
  unsigned char *row = w->staging;
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < n; i++) {
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    uint8_t found = 0;
    pthread_mutex_lock(&shard->lock);
    if (TS_LOCATION_TIER(ts_index_find_one(&shard->index, keys[i])) >= TS_NOT_ADMITTED)
      status = ops->get(table->records, 1, &keys[i], &row, &found, err);
    if (found && ts_row_version(&table->layout, row) == TS_NO_VERSION) {
      const uint64_t now = (uint64_t)atomic_load_explicit(&table->store->step, memory_order_relaxed);
      const unsigned char *dated = row;
      ts_row_set_version(&table->layout, row, (int64_t)now);
      const uint8_t there = TS_RECORD_THERE;
      status = ts_records_put(table, 1, &keys[i], &now, &dated, &there, err);
    }
    pthread_mutex_unlock(&shard->lock);
  }
  ts_work_release(table->store, w);
  return status;
}

/* Looks at `rows` rows from where the last piece stopped, or at fewer if two ends of the round come by: there are none
 * left that were not looked at. `to_end`: stops at the first end. */
static int32_t piece(ts_table *table, uint64_t rows, bool to_end, uint64_t *removed, ts_err err) {
  ts_expiry *e = &table->expiry;
  for (uint32_t ends = 0; rows > 0 && ends < (to_end ? 1 : 2);) {
    int64_t keys[KEYS_A_LOOK], undated[KEYS_A_LOOK];
    uint32_t n = 0, undated_n = 0;
    uint64_t looked = 0, gone = 0;
    int32_t status = TS_OK;
    bool more;
    if (!e->in_records) {
      more = look_at_memory(table, rows, keys, &n, &looked);
      if (!more && table->records != NULL) e->in_records = more = true;
    } else {
      status = look_at_records(table, rows, keys, &n, &looked, &more, undated, &undated_n, err);
      if (status == TS_OK && undated_n > 0) status = date_records(table, undated, undated_n, err);
      if (!more) e->in_records = false;
    }
    if (status == TS_OK && n > 0) status = ts_remove_rows(table, keys, n, is_expired, &gone, err);
    ts_count(table, TS_STAT_expired, gone);
    *removed += gone;
    if (status != TS_OK) return status;
    rows -= TS_MIN(looked, rows);
    ends += !more;
  }
  return TS_OK;
}

int32_t ts_expire_piece(ts_table *table, uint64_t rows, uint64_t *removed, ts_err err) {
  *removed = 0;
  if (pthread_mutex_trylock(&table->expiring) != 0) return TS_OK; /* another call is at it */
  int32_t status = piece(table, rows, false, removed, err);
  pthread_mutex_unlock(&table->expiring);
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
  pthread_mutex_lock(&table->expiring);
  if (max_rows == 0) { /* all, from the beginning */
    table->expiry.shard = 0;
    table->expiry.cursor = (ts_index_cursor){0};
    table->expiry.in_records = false;
    table->expiry.records_cursor = 0;
  }
  status = piece(table, max_rows == 0 ? UINT64_MAX : max_rows, max_rows == 0, &gone, e);
  pthread_mutex_unlock(&table->expiring);
  if (removed != NULL) *removed = gone;
  return status;
}

int32_t ts_store_set_step(ts_store *store, int64_t step, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL) return ts_fail(e, TS_EINVAL, "Cannot set the global step: the store is NULL");
  if (step < 0)
    return ts_fail(e, TS_EINVAL, "Cannot set the global step to %lld: it must be 0 or more", (long long)step);
  atomic_store_explicit(&store->step, step, memory_order_relaxed);
  return TS_OK;
}
