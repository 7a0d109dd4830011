/* walk.c - the keys of a table, a piece a call: those that have a row, and those that wait for one. A cursor of the caller's
 * says where the next piece begins, so no list of all keys is ever in memory. */
#include "store/batches.h"
#include "store/store.h"

#include <string.h>

/* The caller's four words: what comes next (a shard, then the records, then nothing) and where in it. */
enum { PLACE, HASH_POSITION, BUCKET_AND_SLOT, RECORDS };

static ts_index_cursor index_cursor(const uint64_t *cursor) {
  return (ts_index_cursor){cursor[HASH_POSITION], (uint32_t)(cursor[BUCKET_AND_SLOT] >> 32),
                           (uint32_t)cursor[BUCKET_AND_SLOT]};
}

static void keep(uint64_t *cursor, const ts_index_cursor *c) {
  cursor[HASH_POSITION] = c->hash_position;
  cursor[BUCKET_AND_SLOT] = (uint64_t)c->bucket << 32 | c->slot;
}

/* Entries of the shards' indexes from the cursor on, until the keys are full: rows, or keys that are counted only. */
static uint64_t walk_indexes(ts_table *table, uint64_t *cursor, bool waiting, int64_t *keys, uint64_t *counts,
                             int64_t *steps, uint64_t cap) {
  uint64_t n = 0;
  while (n < cap && cursor[PLACE] < table->shard_count) {
    ts_shard *shard = &table->shards[cursor[PLACE]];
    ts_index_cursor c = index_cursor(cursor);
    int64_t key;
    ts_location l;
    bool more = true;
    pthread_mutex_lock(&shard->lock);
    while (n < cap && (more = ts_index_next(&shard->index, &c, &key, &l))) {
      if ((TS_LOCATION_TIER(l) >= TS_NOT_ADMITTED) != waiting) continue;
      if (counts != NULL) counts[n] = ts_waiting_count(&table->admission, TS_LOCATION_ROW(l));
      if (steps != NULL) steps[n] = ts_waiting_step(&table->admission, TS_LOCATION_ROW(l));
      keys[n++] = key;
    }
    pthread_mutex_unlock(&shard->lock);
    if (!more) {
      cursor[PLACE]++;
      c = (ts_index_cursor){0};
    }
    keep(cursor, &c);
  }
  return n;
}

/* Records whose row is not in memory as well. */
static int32_t walk_records(ts_table *table, uint64_t *cursor, int64_t *keys, uint64_t cap, uint64_t *n, ts_err err) {
  while (*n < cap && cursor[PLACE] == table->shard_count && table->records != NULL) {
    uint32_t got = 0;
    int64_t *to = keys + *n;
    int32_t status = ts_records_tier(table->store)->records->walk(
        table->records, &cursor[RECORDS], (uint32_t)TS_MIN(cap - *n, TS_FAST_BLOCK), to, NULL, NULL, &got, err);
    if (status != TS_OK) return status;
    if (got == 0) cursor[PLACE]++;
    for (uint32_t i = 0; i < got; i++) {
      ts_shard *shard = ts_shard_of(table, ts_index_hash(to[i]));
      pthread_mutex_lock(&shard->lock);
      const bool above = TS_LOCATION_TIER(ts_index_find_one(&shard->index, to[i])) < TS_NOT_ADMITTED;
      pthread_mutex_unlock(&shard->lock);
      if (!above) keys[(*n)++] = to[i];
    }
  }
  return TS_OK;
}

static int32_t begin(ts_store *store, uint32_t number, const uint64_t *cursor, const int64_t *keys, uint64_t cap,
                     const uint64_t *n, ts_table **table, ts_err err) {
  int32_t status = ts_store_table(store, number, table, err);
  if (status != TS_OK) return status;
  if (cursor == NULL || keys == NULL || n == NULL || cap == 0)
    return ts_fail(err, TS_EINVAL, "Cannot walk the keys of table \"%s\": a cursor, room for a key and an output are needed",
                   (*table)->name);
  ts_evictors_settle(store->evictors); /* a row that moves meanwhile would be met twice, or not at all */
  const bool begins = (cursor[PLACE] | cursor[HASH_POSITION] | cursor[BUCKET_AND_SLOT] | cursor[RECORDS]) == 0;
  return begins ? ts_expire_all(*table, err) : TS_OK; /* expired rows are none */
}

int32_t ts_table_walk(ts_store *store, uint32_t number, uint64_t *cursor, int64_t *keys, uint64_t cap, uint64_t *n,
                      char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  ts_table *table = NULL;
  int32_t status = begin(store, number, cursor, keys, cap, n, &table, err);
  if (status != TS_OK) return status;
  *n = walk_indexes(table, cursor, false, keys, NULL, NULL, cap);
  return walk_records(table, cursor, keys, cap, n, err);
}

int32_t ts_table_waiting(ts_store *store, uint32_t number, uint64_t *cursor, int64_t *keys, uint64_t *frequencies,
                         int64_t *versions, uint64_t cap, uint64_t *n, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  ts_table *table = NULL;
  int32_t status = begin(store, number, cursor, keys, cap, n, &table, err);
  if (status != TS_OK) return status;
  if (table->admission.kind == TS_ADMIT_BLOOM)
    return ts_fail(err, TS_EUNSUPPORTED,
                   "Cannot list the keys that wait for a row in table \"%s\": a counting Bloom filter keeps counts, not "
                   "keys; use admission \"counter\"",
                   table->name);
  *n = walk_indexes(table, cursor, true, keys, frequencies, versions, cap);
  return TS_OK;
}

bool ts_table_admits_all(ts_store *store, uint32_t number, float *otherwise) {
  ts_table *table = NULL;
  *otherwise = 0;
  if (ts_store_table(store, number, &table, (ts_err){NULL, 0}) != TS_OK || table->admission.kind == TS_ADMIT_ALL) return true;
  *otherwise = table->admission.default_value;
  return false;
}
