/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys pass
 * through three stages at a distance: the bucket is asked for; when it is there, it is read and the row asked for; when
 * that is there, it is copied. So a few dozen accesses are always on their way, and never so many that the CPU drops
 * some. Keys that are not in their home bucket, one in ten, wait until the others of the epoch are through. */
#include "store/store.h"

#include "index/probe.h"
#include "kernels/by_width.h"
#include "kernels/gather.h"

#define AHEAD 24u           /* keys between two stages */
#define RING 64u            /* more than twice that, a power of two */
#define KEYS_AN_EPOCH 2048u /* others wait for at most so many keys */

typedef struct stage {
  uint64_t hash;
  ts_index_home home;
  ts_location location;
  const unsigned char *row;
} stage;

TS_INLINE void aim(const ts_table *table, int64_t key, stage *s) {
  s->hash = ts_index_hash(key);
  ts_index_aim(table->indexes[ts_shard_number(table, s->hash)], s->hash, &s->home);
}

/* The row in the first tier, or NULL; its cache lines are asked for. */
TS_INLINE const unsigned char *row_of(const ts_table *table, uint64_t hash, ts_location location, uint32_t bytes) {
  if (TS_UNLIKELY(location >> TS_LOCATION_ROW_BITS != 0)) return NULL;
  const unsigned char *row = ts_rows_at(&ts_shard_of(table, hash)->rows[0], location);
  for (uint32_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
  return row;
}

TS_INLINE void copy(const unsigned char *row, float *out, bool wide, uint32_t dim) {
  if (wide)
    memcpy(out, row, dim * sizeof *out);
  else
    for (uint32_t j = 0; j < dim; j++) {
      uint16_t half;
      memcpy(&half, row + j * sizeof half, sizeof half);
      out[j] = ts_bf16_widen(half);
    }
}

/* What one epoch leaves: for each key its stage, where somebody asks for it. */
typedef struct found {
  const void *rows[TS_FAST_BLOCK];
  uint64_t hashes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
} found;

/* Looks up n <= KEYS_AN_EPOCH keys; calls nobody. Bits of `missed` from `first` on are set for keys whose row is not in the
 * first tier. */
TS_INLINE uint64_t look_up(ts_match *match, const ts_table *table, const int64_t *keys, uint32_t n, float *out,
                           uint64_t *missed, const uint32_t dim) {
  const bool wide = table->layout.type == TS_FP32;
  const uint32_t bytes = wide ? dim * (uint32_t)sizeof(float) : dim * 2;
  stage ring[RING];
  uint16_t late[KEYS_AN_EPOCH];
  uint32_t lates = 0;
  uint64_t misses = 0;
  for (uint32_t i = 0; i < n + 2 * AHEAD; i++) {
    if (i < n) aim(table, keys[i], &ring[i % RING]);
    if (i - AHEAD < n) { /* wraps where i is too small */
      const uint32_t k = i - AHEAD;
      stage *s = &ring[k % RING];
      s->row = NULL;
      if (TS_LIKELY(ts_index_look(match, &s->home, keys[k], &s->location))) {
        s->row = row_of(table, s->hash, s->location, bytes);
        if (TS_UNLIKELY(s->row == NULL)) {
          missed[k / 64] |= UINT64_C(1) << k % 64;
          misses++;
        }
      } else {
        late[lates++] = (uint16_t)k;
        __builtin_prefetch((const ts_bucket *)s->home.bucket + 1); /* harmless where there is none */
      }
    }
    if (i - 2 * AHEAD < n) {
      const uint32_t k = i - 2 * AHEAD;
      const stage *s = &ring[k % RING];
      if (TS_LIKELY(s->row != NULL)) copy(s->row, out + (uint64_t)k * dim, wide, dim);
    }
  }
  const unsigned char *rows[RING];
  for (uint32_t i = 0; i < lates + AHEAD; i++) {
    if (i < lates) {
      const uint32_t k = late[i];
      const uint64_t hash = ts_index_hash(keys[k]);
      ts_location l = ts_segment_find(ts_segment_of(table->indexes[ts_shard_number(table, hash)], hash), keys[k], hash);
      rows[i % RING] = row_of(table, hash, l, bytes);
      if (rows[i % RING] == NULL) {
        missed[k / 64] |= UINT64_C(1) << k % 64;
        misses++;
      }
    }
    if (i >= AHEAD && rows[(i - AHEAD) % RING] != NULL)
      copy(rows[(i - AHEAD) % RING], out + (uint64_t)late[i - AHEAD] * dim, wide, dim);
  }
  return misses;
}

#define LOOK_UP_BY_WIDTH(...) misses = look_up(__VA_ARGS__)
#define LOOK_UP(NAME, TARGET, MATCH)                                                                              \
  TARGET static uint64_t NAME(const ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t *missed) { \
    uint64_t misses = 0;                                                                                          \
    TS_BY_WIDTH(LOOK_UP_BY_WIDTH, table->layout.dim, MATCH, table, keys, n, out, missed)                          \
    return misses;                                                                                                \
  }
LOOK_UP(look_up_baseline, , ts_match_baseline)
LOOK_UP(look_up_avx2, TS_TARGET_AVX2, ts_match_avx2)
LOOK_UP(look_up_avx512, TS_TARGET_AVX512, ts_match_avx512)
static uint64_t (*const look_up_levels[TS_LEVELS])(const ts_table *, const int64_t *, uint32_t, float *,
                                                   uint64_t *) = {look_up_baseline, look_up_avx2, look_up_avx512};

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

/* One block by separate stages, which leaves what others want to know. */
static uint32_t find_block(const ts_table *table, const int64_t *keys, uint32_t n, found *f) {
  ts_index_home homes[TS_FAST_BLOCK];
  uint32_t missed = 0;
  ts_index_approach(table->indexes, table->shard_bits, keys, n, f->hashes, homes);
  ts_index_read(table->store->level, keys, f->hashes, homes, n, f->locations);
  for (uint32_t i = 0; i < n; i++) {
    f->rows[i] = row_of(table, f->hashes[i], f->locations[i], table->layout.weight_bytes);
    missed += f->rows[i] == NULL;
  }
  return missed;
}

uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes) {
  found f;
  uint32_t missed = find_block(table, keys, n, &f);
  memcpy(rows, f.rows, n * sizeof *rows);
  memcpy(hashes, f.hashes, n * sizeof *hashes);
  return missed;
}

/* Lookups that somebody counts: the policy, or the rows themselves. */
static uint64_t look_up_counted(ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t *missed) {
  uint64_t misses = 0;
  for (uint32_t first = 0; first < n; first += TS_FAST_BLOCK) {
    found f;
    const uint32_t m = TS_MIN(n - first, TS_FAST_BLOCK), absent = find_block(table, keys + first, m, &f);
    ts_fast_touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
    if (out != NULL)
      ts_gather_rows(table->store->level, &table->layout, f.rows, m, out + (uint64_t)first * table->layout.dim);
    misses += absent;
    for (uint32_t i = 0; absent > 0 && i < m; i++)
      if (f.rows[i] == NULL) missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
  }
  return misses;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                        uint64_t missed[TS_PIECE / 64]) {
  ts_store *store = table->store;
  const bool counted =
      table->layout.frequency_offset != 0 || atomic_load_explicit(&table->tracking, memory_order_relaxed) || out == NULL;
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0; first < n; first += KEYS_AN_EPOCH) {
    const uint32_t m = (uint32_t)TS_MIN(n - first, KEYS_AN_EPOCH);
    float *to = out == NULL ? NULL : out + first * table->layout.dim;
    ts_epoch_enter(&store->epochs, slot);
    misses += counted ? look_up_counted(table, keys + first, m, to, missed + first / 64)
                      : look_up_levels[store->level](table, keys + first, m, to, missed + first / 64);
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
