/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys go
 * through in blocks, each stage a short loop over the whole block: addresses of buckets, buckets, addresses of rows, rows.
 * In a short loop the CPU itself runs far ahead and keeps as many accesses on their way as the memory takes; one long
 * loop that does everything for each key, with prefetches, reaches half of that here (docs/performance.md). */
#include "store/store.h"

#include "kernels/gather.h"

#define BLOCKS_AN_EPOCH 8u /* others wait for at most so many blocks */

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

/* Returns how many of the rows are not in the first tier. */
static uint32_t find_block(const ts_table *table, const int64_t *keys, uint32_t n, found *f) {
  ts_index_home homes[TS_FAST_BLOCK];
  uint32_t here = 0;
  ts_index_approach(table->indexes, table->shard_bits, keys, n, f->hashes, homes);
  ts_index_read(table->store->level, keys, f->hashes, homes, n, f->locations);
  for (uint32_t i = 0; i < n; i++) {
    const bool first = f->locations[i] >> TS_LOCATION_ROW_BITS == 0;
    f->rows[i] = first ? ts_rows_at(&ts_shard_of(table, f->hashes[i])->rows[0], f->locations[i]) : NULL;
    here += first;
  }
  return n - here;
}

uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes) {
  found f;
  uint32_t missed = find_block(table, keys, n, &f);
  memcpy(rows, f.rows, n * sizeof *rows);
  memcpy(hashes, f.hashes, n * sizeof *hashes);
  return missed;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                        uint64_t missed[TS_PIECE / 64]) {
  ts_store *store = table->store;
  const bool counted =
      table->layout.frequency_offset != 0 || atomic_load_explicit(&table->tracking, memory_order_relaxed);
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0, block = 0; first < n; first += TS_FAST_BLOCK, block++) {
    found f;
    const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK);
    if (block % BLOCKS_AN_EPOCH == 0) {
      if (block > 0) ts_epoch_leave(slot);
      ts_epoch_enter(&store->epochs, slot);
    }
    const uint32_t absent = find_block(table, keys + first, m, &f);
    if (out != NULL) ts_gather_rows(store->level, &table->layout, f.rows, m, out + first * table->layout.dim);
    if (counted) ts_fast_touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
    misses += absent;
    for (uint32_t i = 0; absent > 0 && i < m; i++)
      if (f.rows[i] == NULL) missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
  }
  if (n > 0) ts_epoch_leave(slot);
  return misses;
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
