/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys go
 * through in blocks, each stage a short loop over the whole block: addresses of buckets, buckets, addresses of rows, rows;
 * what a stage will need is asked for while another block is in the stage before it. In a short loop the CPU itself runs far ahead and keeps as many accesses on their way as the memory takes; one long
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

/* Tells the policies of looked-up rows; inside the epoch. */
static void touch(ts_table *table, void *const *rows, const uint64_t *hashes, const ts_location *locations, uint32_t n) {
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

static uint32_t find_block(const ts_table *table, const int64_t *keys, uint32_t n, found *f) {
  ts_index_home homes[TS_FAST_BLOCK];
  ts_index_approach(table->indexes, table->shard_bits, keys, n, f->hashes, homes);
  ts_index_read(table->store->level, keys, f->hashes, homes, n, NULL, 0, f->locations);
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

/* The blocks of one epoch, each at one of three stages: while one is looked for in its buckets, those of the next are asked
 * for, and while one is copied, the rows of the next. Against blocks one after the other this gave nothing with uniform
 * keys, where memory is the limit, and 15 % with Zipf 1.2; blocks of 64 and 128 were slower than of 256. */
typedef struct stages {
  uint64_t hashes[2][TS_FAST_BLOCK];
  ts_index_home homes[2][TS_FAST_BLOCK];
  const void *rows[2][TS_FAST_BLOCK];
} stages;

static uint64_t look_up_blocks(ts_table *table, const int64_t *keys, uint64_t n, float *out, uint64_t stride,
                               uint64_t first, uint64_t *missed) {
  const uint32_t level = table->store->level, bits = table->shard_bits;
  const uint64_t blocks = (n + TS_FAST_BLOCK - 1) / TS_FAST_BLOCK;
  uint64_t misses = 0;
  stages s;
  ts_location locations[TS_FAST_BLOCK];
  /* In round t, block t is aimed at, block t - 1 read, block t - 2 copied. */
  for (uint64_t t = 0; t < blocks + 2; t++) {
    const uint32_t now = t & 1, before = now ^ 1;
    const uint64_t at = t * TS_FAST_BLOCK, one = TS_FAST_BLOCK;
    const uint32_t coming = t < blocks ? (uint32_t)TS_MIN(n - at, one) : 0;
    const uint32_t reading = t > 0 && t <= blocks ? (uint32_t)TS_MIN(n - (at - one), one) : 0;
    if (coming > 0) {
      ts_index_hash_all(level, keys + at, coming, s.hashes[now]);
      ts_index_aim(level, table->indexes, bits, s.hashes[now], coming, s.homes[now]);
    }
    if (reading > 0) {
      ts_index_read(level, keys + (at - one), s.hashes[before], s.homes[before], reading, s.homes[now], coming, locations);
      const uint32_t here =
          ts_rows_locate(level, table->first, bits, s.hashes[before], locations, reading, s.rows[before]);
      if (here < reading) mark_missed(s.rows[before], reading, first + at - one, missed);
      misses += reading - here;
    }
    if (t > 1)
      ts_gather_rows(level, &table->layout, s.rows[now], (uint32_t)TS_MIN(n - (at - 2 * one), one), s.rows[before], reading,
                     out + (at - 2 * one) * stride, stride);
  }
  return misses;
}

/* Lookups that nobody counts. */
static uint64_t look_up(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out, uint64_t stride,
                        uint64_t *missed) {
  ts_store *store = table->store;
  const uint64_t an_epoch = BLOCKS_ALONE * TS_FAST_BLOCK; /* tracking begins before the first row moves */
  uint64_t misses = 0;
  for (uint64_t first = 0; first < n; first += an_epoch) {
    ts_epoch_enter(&store->epochs, slot);
    misses += look_up_blocks(table, keys + first, TS_MIN(n - first, an_epoch), out + first * stride, stride, first, missed);
    ts_epoch_leave(slot);
  }
  return misses;
}

/* Counts the lookups of rows that were found, outside of any epoch: under the shards' locks, so that nobody moves a row
 * while it is counted. A row that has left the first tier meanwhile counts as missed. Returns how many did. */
static uint64_t count_lookups(ts_table *table, const int64_t *keys, uint64_t from, uint64_t to, uint64_t *missed) {
  const ts_row_layout *layout = &table->layout;
  ts_shard *locked = NULL;
  uint64_t gone = 0;
  for (uint64_t i = from; i < to; i++) {
    if (missed[i / 64] >> i % 64 & 1) continue;
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    if (shard != locked) {
      if (locked != NULL) pthread_mutex_unlock(&locked->lock);
      pthread_mutex_lock(&shard->lock);
      locked = shard;
    }
    const ts_location l = ts_index_find_one(&shard->index, keys[i]);
    if (l >> TS_LOCATION_ROW_BITS == 0) {
      unsigned char *row = ts_rows_at(&shard->rows[0], l);
      ts_row_set_frequency(layout, row, ts_row_frequency(layout, row) + 1);
    } else {
      missed[i / 64] |= UINT64_C(1) << i % 64;
      gone++;
    }
  }
  if (locked != NULL) pthread_mutex_unlock(&locked->lock);
  return gone;
}

static uint64_t look_up_counted(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                                uint64_t stride, uint64_t *missed) {
  ts_store *store = table->store;
  uint64_t misses = 0;
  for (uint64_t from = 0; from < n; from += BLOCKS_AN_EPOCH * TS_FAST_BLOCK) {
    ts_epoch_enter(&store->epochs, slot);
    for (uint64_t first = from; first < TS_MIN(from + BLOCKS_AN_EPOCH * TS_FAST_BLOCK, n); first += TS_FAST_BLOCK) {
      found f;
      const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK), absent = find_block(table, keys + first, m, &f);
      if (out != NULL) ts_gather_rows(store->level, &table->layout, f.rows, m, NULL, 0, out + first * stride, stride);
      touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
      if (absent > 0) mark_missed(f.rows, m, first, missed);
      misses += absent;
    }
    ts_epoch_leave(slot);
    if (table->layout.frequency_offset != 0)
      misses += count_lookups(table, keys, from, TS_MIN(from + BLOCKS_AN_EPOCH * TS_FAST_BLOCK, n), missed);
  }
  return misses;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out, uint64_t stride,
                        uint64_t missed[TS_PIECE / 64]) {
  const bool counted = table->layout.frequency_offset != 0 || out == NULL ||
                       atomic_load_explicit(&table->tracking, memory_order_relaxed);
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  return (counted ? look_up_counted : look_up)(table, slot, keys, n, out, stride, missed);
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
    ts_index_read(table->store->level, keys + first, hashes, homes, m, NULL, 0, locations);
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < m; i++) {
      if (TS_LOCATION_TIER(locations[i]) < TS_NOT_ADMITTED) continue;
      missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
      misses++;
    }
  }
  return misses;
}
