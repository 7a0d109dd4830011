/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys go
 * through in blocks, each stage a short loop over the whole block: addresses of buckets, buckets, addresses of rows, rows.
 * In a short loop the CPU itself runs far ahead and keeps as many accesses on their way as the memory takes; one long
 * loop that does everything for each key, with prefetches, reaches half of that here (docs/performance.md). */
#include "store/store.h"

#include "kernels/gather.h"

#define BLOCKS_AN_EPOCH 8u /* others wait for at most so many blocks ... */
#define BLOCKS_ALONE 64u   /* ... or so many, where rows do not move */

typedef struct found {
  const void *rows[TS_FAST_BLOCK]; /* NULL: not in the first tier */
  uint64_t hashes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
} found;

void ts_fast_touch(ts_table *table, void *const *rows, const uint64_t *hashes, const ts_location *locations, uint32_t n) {
  if (table->layout.frequency_offset != 0)
    for (uint32_t i = 0; i < n; i++)
      if (rows[i] != NULL)
        __atomic_fetch_add((uint32_t *)(void *)((unsigned char *)rows[i] + table->layout.frequency_offset), 1,
                           __ATOMIC_RELAXED);
  if (!atomic_load_explicit(&table->tracking, memory_order_relaxed)) return;
  /* A policy serves a shard: words by shard. */
  uint32_t at[TS_MAX_SHARDS + 1] = {0};
  for (uint32_t i = 0; i < n; i++) at[rows[i] == NULL ? 0 : ts_shard_number(table, hashes[i]) + 1]++;
  at[0] = 0;
  for (uint32_t s = 0; s < table->shard_count; s++) at[s + 1] += at[s];
  ts_policy_word *words[TS_FAST_BLOCK];
  uint64_t sorted[TS_FAST_BLOCK];
  uint32_t next[TS_MAX_SHARDS];
  for (uint32_t s = 0; s < table->shard_count; s++) next[s] = at[s];
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL) continue;
    uint32_t s = ts_shard_number(table, hashes[i]);
    words[next[s]] = ts_rows_word(&table->shards[s].rows[0], TS_LOCATION_ROW(locations[i]));
    sorted[next[s]++] = hashes[i];
  }
  for (uint32_t s = 0; s < table->shard_count; s++)
    if (at[s + 1] > at[s])
      ts_policy_touch(table->shards[s].rows[0].policy, words + at[s], sorted + at[s], at[s + 1] - at[s]);
}

/* Rows found a moment ago, in the same epoch: where a few keys make most of a batch, they need not be searched again. */
#define RECENT 512u
#define WORTHWHILE 8u /* one key in so many must have been there */
#define PAUSE 16u     /* blocks until it is tried again */

typedef struct recent {
  int64_t keys[RECENT];
  const void *rows[RECENT]; /* NULL: none */
  uint32_t pause;
} recent;

/* Returns how many of the rows are not in the first tier. */
static uint32_t find_rows(const ts_table *table, const int64_t *keys, uint32_t n, recent *r, const void **rows) {
  const uint32_t level = table->store->level;
  uint32_t which[TS_FAST_BLOCK], left = 0;
  uint64_t hashes[TS_FAST_BLOCK], left_hashes[TS_FAST_BLOCK];
  int64_t left_keys[TS_FAST_BLOCK];
  const void *left_rows[TS_FAST_BLOCK];
  ts_index_home homes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
  ts_index_hash_all(level, keys, n, hashes);
  if (r->pause > 0) {
    r->pause--;
    ts_index_aim(table->store->level, table->indexes, table->shard_bits, hashes, n, homes);
    ts_index_read(level, keys, hashes, homes, n, locations);
    return n - ts_rows_locate(level, table->first, table->shard_bits, hashes, locations, n, rows);
  }
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t at = (uint32_t)(hashes[i] >> 20) % RECENT;
    rows[i] = r->rows[at];
    which[left] = i;
    left_keys[left] = keys[i];
    left_hashes[left] = hashes[i];
    left += (r->keys[at] != keys[i]) | (rows[i] == NULL);
  }
  ts_index_aim(table->store->level, table->indexes, table->shard_bits, left_hashes, left, homes);
  ts_index_read(level, left_keys, left_hashes, homes, left, locations);
  const uint32_t here = ts_rows_locate(level, table->first, table->shard_bits, left_hashes, locations, left, left_rows);
  for (uint32_t j = 0; j < left; j++) {
    const uint32_t at = (uint32_t)(left_hashes[j] >> 20) % RECENT;
    rows[which[j]] = left_rows[j];
    r->keys[at] = left_keys[j];
    r->rows[at] = left_rows[j];
  }
  if ((n - left) * WORTHWHILE < n) r->pause = PAUSE;
  return left - here;
}

/* As find_rows, with all that was found on the way. */
static uint32_t find_block(const ts_table *table, const int64_t *keys, uint32_t n, found *f) {
  ts_index_home homes[TS_FAST_BLOCK];
  ts_index_approach(table->indexes, table->shard_bits, keys, n, f->hashes, homes);
  ts_index_read(table->store->level, keys, f->hashes, homes, n, f->locations);
  return n - ts_rows_locate(table->store->level, table->first, table->shard_bits, f->hashes, f->locations, n, f->rows);
}

uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes) {
  found f;
  uint32_t missed = find_block(table, keys, n, &f);
  memcpy(rows, f.rows, n * sizeof *rows);
  memcpy(hashes, f.hashes, n * sizeof *hashes);
  return missed;
}

static void mark_missed(const void *const *rows, uint32_t n, uint64_t first, uint64_t *missed) {
  for (uint32_t i = 0; i < n; i++)
    if (rows[i] == NULL) missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
}

/* Lookups that nobody counts. */
static uint64_t look_up(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                        uint64_t *missed) {
  ts_store *store = table->store;
  const uint32_t an_epoch = (ts_is_tiered(store) ? BLOCKS_AN_EPOCH : BLOCKS_ALONE) * TS_FAST_BLOCK;
  uint64_t misses = 0;
  recent r;
  r.pause = 0;
  for (uint64_t from = 0; from < n; from += an_epoch) {
    memset(r.rows, 0, sizeof r.rows);
    ts_epoch_enter(&store->epochs, slot);
    for (uint64_t first = from; first < TS_MIN(from + an_epoch, n); first += TS_FAST_BLOCK) {
      const void *rows[TS_FAST_BLOCK];
      const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK), absent = find_rows(table, keys + first, m, &r, rows);
      ts_gather_rows(store->level, &table->layout, rows, m, out + first * table->layout.dim);
      if (absent > 0) mark_missed(rows, m, first, missed);
      misses += absent;
    }
    ts_epoch_leave(slot);
  }
  return misses;
}

static uint64_t look_up_counted(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                                uint64_t *missed) {
  ts_store *store = table->store;
  uint64_t misses = 0;
  for (uint64_t from = 0; from < n; from += BLOCKS_AN_EPOCH * TS_FAST_BLOCK) {
    ts_epoch_enter(&store->epochs, slot);
    for (uint64_t first = from; first < TS_MIN(from + BLOCKS_AN_EPOCH * TS_FAST_BLOCK, n); first += TS_FAST_BLOCK) {
      found f;
      const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK), absent = find_block(table, keys + first, m, &f);
      if (out != NULL) ts_gather_rows(store->level, &table->layout, f.rows, m, out + first * table->layout.dim);
      ts_fast_touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
      if (absent > 0) mark_missed(f.rows, m, first, missed);
      misses += absent;
    }
    ts_epoch_leave(slot);
  }
  return misses;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                        uint64_t missed[TS_PIECE / 64]) {
  const bool counted = table->layout.frequency_offset != 0 || out == NULL ||
                       atomic_load_explicit(&table->tracking, memory_order_relaxed);
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  return (counted ? look_up_counted : look_up)(table, slot, keys, n, out, missed);
}

uint64_t ts_fast_absent(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n,
                        uint64_t missed[TS_PIECE / 64]) {
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0; first < n; first += TS_FAST_BLOCK) {
    uint64_t hashes[TS_FAST_BLOCK];
    ts_index_home homes[TS_FAST_BLOCK];
    ts_location locations[TS_FAST_BLOCK];
    const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK);
    ts_epoch_enter(&table->store->epochs, slot);
    ts_index_approach(table->indexes, table->shard_bits, keys + first, m, hashes, homes);
    ts_index_read(table->store->level, keys + first, hashes, homes, m, locations);
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < m; i++) {
      if (TS_LOCATION_TIER(locations[i]) < TS_NOT_ADMITTED) continue;
      missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
      misses++;
    }
  }
  return misses;
}
