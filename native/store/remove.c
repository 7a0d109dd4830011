/* remove.c - rows that go for good, from every tier, with all their copies. */
#include "base/seeded_bug.h"
#include "store/store.h"

int32_t ts_remove_in_memory(ts_shard *shard, int64_t key, ts_location l, ts_err err) {
  const uint64_t hash = ts_index_hash(key), row = TS_LOCATION_ROW(l);
  const uint32_t tier = TS_LOCATION_TIER(l);
  ts_rows *rows = &shard->rows[tier];
  if (ts_is_watched(shard->table)) {
    const unsigned char *bytes;
    const int32_t seen = ts_rows_see(rows, 1, &row, &bytes, err);
    if (seen != TS_OK) return seen;
    ts_touch_one(shard->table, key, bytes, l, !TS_BUG("removals are left out of the next delta"));
  }
  if (rows->policy != NULL) {
    if (*ts_rows_flags(rows, row) & TS_ROW_RECORD) {
      int32_t status = ts_records_remove(shard->table, key, err);
      if (status != TS_OK) return status;
      shard->recorded--;
    }
    ts_row_changed(shard, tier, row); /* gives up a copy below */
    ts_policy_remove(rows->policy, row, ts_rows_word(rows, row), hash, false);
  }
  ts_index_remove(&shard->index, key, hash);
  if (tier == 0) ts_epoch_wait(&shard->table->store->epochs);
  ts_rows_free(rows, row);
  return TS_OK;
}

/* What there was of a key that was to go. */
typedef enum outcome { NOTHING, A_ROW, AN_EXPIRED_ROW } outcome;

/* Shard locked. */
static int32_t remove_one(ts_shard *shard, int64_t key, ts_remove_test *test, unsigned char *staging, outcome *gone,
                          ts_err err) {
  ts_table *table = shard->table;
  const ts_location l = ts_index_find_one(&shard->index, key);
  const uint32_t tier = TS_LOCATION_TIER(l);
  const unsigned char *row = NULL;
  *gone = NOTHING;
  int32_t status = TS_OK;
  if (tier < TS_NOT_ADMITTED) {
    if (test != NULL || ts_may_expire(table)) status = ts_row_see(shard, l, &row, err);
    if (status != TS_OK) return status;
    if (test != NULL && !test(table, row)) return TS_OK;
    const outcome what = ts_row_expired(table, row) ? AN_EXPIRED_ROW : A_ROW;
    status = ts_remove_in_memory(shard, key, l, err);
    if (status == TS_OK) *gone = what;
    return status;
  }
  if (table->records != NULL) {
    const ts_records_ops *ops = ts_records_tier(table->store)->records;
    uint8_t found = 0;
    /* Whether it must be read to know. */
    const bool read = test != NULL || ts_may_expire(table) || table->cut != NULL;
    status = read ? ops->get(table->records, 1, &key, &staging, &found, err)
                  : ops->contains(table->records, 1, &key, &found, err);
    if (status == TS_OK && found && (test == NULL || test(table, staging))) {
      const outcome what = read && ts_row_expired(table, staging) ? AN_EXPIRED_ROW : A_ROW;
      ts_touch_one(table, key, read ? staging : NULL, l, true);
      status = ts_records_remove(shard->table, key, err);
      if (status == TS_OK) *gone = what;
    }
  }
  /* A count for admission. */
  if (l != TS_LOCATION_NONE && test == NULL) {
    ts_touch_one(table, key, NULL, l, true);
    ts_index_remove(&shard->index, key, ts_index_hash(key));
  }
  return status;
}

int32_t ts_remove_rows(ts_table *table, const int64_t *keys, uint64_t n, ts_remove_test *test, uint64_t *removed,
                       ts_err err) {
  ts_work *work = table->records == NULL ? NULL : ts_work_acquire(table, 1, TS_WORK_LOOKUP);
  int32_t status = TS_OK;
  *removed = 0;
  for (uint64_t i = 0; status == TS_OK && i < n; i++) {
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    outcome gone;
    pthread_mutex_lock(&shard->lock);
    status = remove_one(shard, keys[i], test, work == NULL ? NULL : work->staging, &gone, err);
    if (ts_index_is_wide(&shard->index)) ts_spare_index(shard);
    pthread_mutex_unlock(&shard->lock);
    *removed += gone == A_ROW || (test != NULL && gone != NOTHING);
    ts_count(table, TS_STAT_expired, test == NULL && gone == AN_EXPIRED_ROW);
  }
  if (work != NULL) ts_work_release(table->store, work);
  return status;
}

int32_t ts_table_remove(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, uint64_t *removed, char *err,
                        uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  uint64_t gone = 0;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status == TS_OK && keys == NULL && n > 0)
    status = ts_fail(e, TS_EINVAL, "Cannot remove %llu keys from table \"%s\": keys must not be NULL",
                     (unsigned long long)n, table->name);
  if (status == TS_OK) {
    ts_gate_enter(&store->gate);
    status = ts_remove_rows(table, keys, n, NULL, &gone, e);
    ts_gate_leave(&store->gate);
    ts_count(table, TS_STAT_removed, gone);
  }
  if (removed != NULL) *removed = gone;
  return status;
}
