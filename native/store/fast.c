/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys go through
 * in blocks: while the buckets of one block are on their way, those of the block before are compared, their rows asked
 * for, and the rows of the block before that copied out. */
#include "store/store.h"

#include "kernels/gather.h"

#define BLOCKS_AN_EPOCH 32u /* others wait for at most so many blocks */

typedef struct block {
  uint32_t n;
  uint64_t hashes[TS_FAST_BLOCK];
  ts_index_home homes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
  const void *rows[TS_FAST_BLOCK];
} block;

/* Where the rows are; their cache lines are asked for. Returns how many are not in the first tier. */
static uint32_t locate(const ts_table *table, block *b) {
  const uint32_t bytes = table->layout.weight_bytes;
  uint32_t missed = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    ts_location l = b->locations[i];
    if (TS_UNLIKELY(l >> TS_LOCATION_ROW_BITS != 0)) {
      b->rows[i] = NULL;
      missed++;
      continue;
    }
    const char *row = (const char *)ts_rows_at(&ts_shard_of(table, b->hashes[i])->rows[0], l);
    b->rows[i] = row;
    __builtin_prefetch(row);
    for (uint32_t at = 64; at < bytes; at += 64) __builtin_prefetch(row + at);
  }
  return missed;
}

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

uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes) {
  block b = {.n = n};
  ts_index_approach(table->indexes, table->shard_bits, keys, n, b.hashes, b.homes);
  ts_index_read(table->store->level, keys, b.hashes, b.homes, n, b.locations);
  uint32_t missed = locate(table, &b);
  for (uint32_t i = 0; i < n; i++) {
    rows[i] = (void *)(uintptr_t)b.rows[i];
    hashes[i] = b.hashes[i];
  }
  return missed;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                        uint64_t missed[TS_PIECE / 64]) {
  ts_store *store = table->store;
  const bool touch = table->layout.frequency_offset != 0 || atomic_load_explicit(&table->tracking, memory_order_relaxed);
  const uint64_t blocks = (n + TS_FAST_BLOCK - 1) / TS_FAST_BLOCK;
  block ring[3];
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0; first < blocks; first += BLOCKS_AN_EPOCH) {
    const uint64_t last = TS_MIN(first + BLOCKS_AN_EPOCH, blocks);
    ts_epoch_enter(&store->epochs, slot);
    for (uint64_t step = first; step < last + 2; step++) {
      if (step < last) {
        block *b = &ring[step % 3];
        b->n = (uint32_t)TS_MIN(n - step * TS_FAST_BLOCK, TS_FAST_BLOCK);
        ts_index_approach(table->indexes, table->shard_bits, keys + step * TS_FAST_BLOCK, b->n, b->hashes, b->homes);
      }
      if (step >= first + 1 && step - 1 < last) {
        const uint64_t k = step - 1;
        block *b = &ring[k % 3];
        ts_index_read(store->level, keys + k * TS_FAST_BLOCK, b->hashes, b->homes, b->n, b->locations);
        uint32_t m = locate(table, b);
        if (TS_UNLIKELY(m > 0)) {
          misses += m;
          for (uint32_t i = 0; i < b->n; i++)
            if (b->rows[i] == NULL) missed[(k * TS_FAST_BLOCK + i) / 64] |= UINT64_C(1) << (k * TS_FAST_BLOCK + i) % 64;
        }
      }
      if (step >= first + 2) {
        const uint64_t k = step - 2;
        block *b = &ring[k % 3];
        if (out != NULL)
          ts_gather_rows(store->level, &table->layout, b->rows, b->n, out + k * TS_FAST_BLOCK * table->layout.dim);
        if (touch) ts_fast_touch(table, (void *const *)(uintptr_t)b->rows, b->hashes, b->locations, b->n);
      }
    }
    ts_epoch_leave(slot);
  }
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
