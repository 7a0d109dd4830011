/* lookup.c - batched lookup-or-create, and the read-only lookups. */
#include "store/store.h"

#include <string.h>

#define AHEAD 8u   /* rows between prefetch and copy */
#define BLOCK 256u /* keys of a read-only lookup at a time, on the stack */

typedef struct lookup {
  ts_table *table;
  ts_batch *batch;
  const int64_t *keys;
  uint64_t n;
  float *out;
} lookup;

static inline void copy_row(float *to, const unsigned char *from, uint32_t dim) {
  memcpy(to, from, (size_t)dim * sizeof(float));
}

static void gather(const lookup *l, ts_part part) {
  const ts_batch *b = l->batch;
  const uint32_t dim = l->table->dim;
  if (part.parts == 1 && l->n <= b->capacity) {
    for (uint64_t i = 0; i < l->n; i++) {
      if (i + AHEAD < l->n) __builtin_prefetch(b->rows[b->inverse[i + AHEAD]]);
      copy_row(l->out + i * dim, b->rows[b->inverse[i]], dim);
    }
    return;
  }
  for (uint64_t i = 0; i < l->n; i++) {
    uint64_t hash = ts_index_hash(l->keys[i]);
    if (ts_part_has(part, hash)) copy_row(l->out + i * dim, b->rows[ts_batch_distinct(b, l->keys[i], hash)], dim);
  }
}

/* Waits for what the media model's time for reading these rows in place exceeds the real time. */
static void wait_for_reads(ts_table *table, const ts_batch *b, uint64_t start) {
  ts_store *store = table->store;
  uint64_t end = ts_now_ns(), wait = 0;
  for (uint32_t t = 0; t < store->tier_count; t++) {
    if (store->tiers[t].emulation == NULL) continue;
    uint64_t reads = ts_batch_rows_in(b, t);
    wait += ts_batch_excess(b, reads, end - start,
                            ts_emulation_cost_ns(store->tiers[t].emulation, TS_MEDIA_READ, table->slot_bytes, reads));
  }
  wait += ts_memory_mode_excess(table, b, table->slot_bytes, false);
  if (wait == 0) return;
  ts_spin_until(end + wait);
  ts_count(store, TS_STAT_emulation_wait_ns, wait);
}

static int32_t lookup_part(void *context, ts_part part) {
  lookup *l = context;
  ts_batch *b = l->batch;
  if (part.parts > 1) ts_index_find(&l->table->index, b->keys, b->hashes, b->count, b->locations);
  ts_move_resolve(l->table, b, true);
  uint64_t start = ts_now_ns();
  gather(l, part);
  if (l->table->store->tiers[l->table->store->tier_count - 1].emulation != NULL ||
      l->table->store->memory_mode != NULL)
    wait_for_reads(l->table, b, start);
  ts_move_unpin(l->table, b);
  return TS_OK;
}

int32_t ts_table_lookup(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, float *rows, char *err,
                        uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (n == 0) return TS_OK;
  if (keys == NULL || rows == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot look up %llu keys in table \"%s\": keys and rows must not be NULL",
                   (unsigned long long)n, table->name);
  ts_room_rebalance(store);
  lookup l = {.table = table, .batch = ts_batch_acquire(table, n, 0), .keys = keys, .n = n, .out = rows};
  bool single;
  status = ts_room_for(table, l.batch, keys, n, &single, e);
  if (status == TS_OK) {
    if (single)
      lookup_part(&l, (ts_part){1, 0});
    else
      ts_batch_parts(l.batch, keys, n, lookup_part, &l);
    for (uint32_t t = 0; t < store->tier_count; t++) ts_rows_settle(&table->rows[t]);
    pthread_mutex_unlock(&table->lock);
    ts_count(store, TS_STAT_lookup_calls, 1);
    ts_count(store, TS_STAT_lookup_keys, n);
  }
  ts_batch_release(store, l.batch);
  return status;
}

int32_t ts_table_find(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, uint32_t slot, float *rows,
                      uint8_t *found, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (slot >= table->slots)
    return ts_fail(e, TS_EINVAL, "Cannot read slot %u of table \"%s\": its rows have slots 0 to %u", slot, table->name,
                   table->slots - 1);
  if (n == 0) return TS_OK;
  if (keys == NULL || rows == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot find %llu keys in table \"%s\": keys and rows must not be NULL",
                   (unsigned long long)n, table->name);
  const size_t row_floats = table->dim;
  pthread_mutex_lock(&table->lock);
  for (uint64_t first = 0; first < n; first += BLOCK) {
    uint64_t hashes[BLOCK];
    ts_location locations[BLOCK];
    uint32_t count = (uint32_t)TS_MIN(n - first, BLOCK);
    for (uint32_t i = 0; i < count; i++) hashes[i] = ts_index_hash(keys[first + i]);
    ts_index_find(&table->index, keys + first, hashes, count, locations);
    for (uint32_t i = 0; i < count; i++) {
      float *to = rows + (first + i) * row_floats;
      bool here = locations[i] != TS_LOCATION_NONE;
      if (here)
        copy_row(to,
                 ts_rows_at(&table->rows[TS_LOCATION_TIER(locations[i])], TS_LOCATION_ROW(locations[i])) +
                     (size_t)slot * table->slot_bytes,
                 table->dim);
      else
        memset(to, 0, row_floats * sizeof(float));
      if (found != NULL) found[first + i] = here;
    }
  }
  pthread_mutex_unlock(&table->lock);
  return TS_OK;
}

int32_t ts_table_lookup_tier(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, int32_t *tiers, char *err,
                             uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (n == 0) return TS_OK;
  if (keys == NULL || tiers == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot look up the tiers of %llu keys in table \"%s\": keys and tiers must not be NULL",
                   (unsigned long long)n, table->name);
  pthread_mutex_lock(&table->lock);
  for (uint64_t i = 0; i < n; i++) {
    ts_location l = ts_index_find_one(&table->index, keys[i]);
    tiers[i] = l == TS_LOCATION_NONE ? -1 : (int32_t)TS_LOCATION_TIER(l);
  }
  pthread_mutex_unlock(&table->lock);
  return TS_OK;
}
