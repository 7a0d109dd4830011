/* fetch.c - records of the keys that a call needs and memory does not hold, read together before any lock is taken:
 * reading takes long.
 *
 * Meanwhile other calls may put or remove some of these records. So calls that read ahead are in a list of their table,
 * and whoever changes records marks the keys in them: these alone are read again, under the shard's lock. A row that
 * leaves memory unchanged marks nothing, its record is what was read. */
#include "base/sync_point.h"
#include "store/store.h"

#include <string.h>

#define BLOCK 256u

static bool in_memory(ts_location l) { return TS_LOCATION_TIER(l) < TS_NOT_ADMITTED; }

static void enlist(ts_table *table, ts_work *w) {
  pthread_mutex_lock(&table->fetching);
  w->next_fetch = table->fetches;
  table->fetches = w;
  pthread_mutex_unlock(&table->fetching);
}

void ts_fetch_end(ts_table *table, ts_work *w) {
  if (table->records == NULL) return;
  TS_SYNC("fetch:end");
  pthread_mutex_lock(&table->fetching);
  ts_work **at = &table->fetches;
  while (*at != w) at = &(*at)->next_fetch;
  *at = w->next_fetch;
  pthread_mutex_unlock(&table->fetching);
}

int32_t ts_fetch_begin(ts_table *table, ts_work *w, ts_err err) {
  if (table->records == NULL) return TS_OK;
  int64_t *keys = (int64_t *)w->locations; /* free until the shards are served */
  uint32_t n = 0;
  /* Above one memory tier, keys come here because they are not in it: the index need not be asked again. */
  if (table->store->memory_tiers < 2)
    for (; n < w->count; n++) {
      const uint32_t d = w->picked[n] = w->order[n];
      keys[n] = w->keys[d];
      w->rows[n] = ts_work_staging(w, d);
      w->fetched[d] = 1;
    }
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  for (uint32_t at = n; at < w->count; at += BLOCK) {
    int64_t block[BLOCK];
    uint64_t hashes[BLOCK];
    ts_index_home homes[BLOCK];
    ts_location locations[BLOCK];
    uint32_t m = TS_MIN(w->count - at, BLOCK);
    for (uint32_t i = 0; i < m; i++) block[i] = w->keys[w->order[at + i]];
    ts_epoch_enter(&table->store->epochs, slot);
    ts_index_approach(table->indexes, table->shard_bits, block, m, hashes, homes);
    ts_index_read(table->store->level, block, hashes, homes, m, NULL, 0, locations);
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < m; i++) {
      uint32_t d = w->order[at + i];
      w->fetched[d] = !in_memory(locations[i]);
      if (!w->fetched[d]) continue;
      keys[n] = block[i];
      w->picked[n] = d;
      w->rows[n++] = ts_work_staging(w, d);
    }
  }
  ts_epoch_release(slot);
  enlist(table, w); /* before the first read: what changes from here on is marked */
  TS_SYNC("fetch:enlisted");
  if (n == 0) return TS_OK;
  memset(w->found, 0, n);
  int32_t status = ts_records_tier(table->store)->records->get(table->records, n, keys, w->rows, w->found, err);
  for (uint32_t i = 0; i < n; i++) w->state[w->picked[i]] = w->found[i];
  TS_SYNC("fetch:read");
  return status;
}

int32_t ts_fetch_again(ts_table *table, ts_work *w, const uint32_t *numbers, uint32_t n, ts_err err) {
  for (uint32_t first = 0; first < n; first += BLOCK) {
    int64_t keys[BLOCK];
    unsigned char *rows[BLOCK];
    uint8_t found[BLOCK] = {0};
    uint32_t m = TS_MIN(n - first, BLOCK);
    for (uint32_t i = 0; i < m; i++) {
      keys[i] = w->keys[numbers[first + i]];
      rows[i] = ts_work_staging(w, numbers[first + i]);
    }
    int32_t status = ts_records_tier(table->store)->records->get(table->records, m, keys, rows, found, err);
    if (status != TS_OK) return status;
    for (uint32_t i = 0; i < m; i++) {
      w->state[numbers[first + i]] = found[i];
      w->fetched[numbers[first + i]] = 1;
    }
  }
  ts_count(table, TS_STAT_records_read_again, n);
  return TS_OK;
}

void ts_fetch_changed(ts_table *table, const int64_t *keys, uint32_t n) {
  pthread_mutex_lock(&table->fetching);
  for (ts_work *w = table->fetches; w != NULL; w = w->next_fetch)
    for (uint32_t first = 0; first < n; first += BLOCK) {
      uint64_t hashes[BLOCK];
      uint32_t m = TS_MIN(n - first, BLOCK);
      for (uint32_t i = 0; i < m; i++) {
        hashes[i] = ts_index_hash(keys[first + i]);
        ts_work_approach(w, hashes[i]);
      }
      for (uint32_t i = 0; i < m; i++) {
        uint32_t d = ts_work_find(w, keys[first + i], hashes[i]);
        if (d != UINT32_MAX) w->fetched[d] = 0;
      }
    }
  pthread_mutex_unlock(&table->fetching);
}
