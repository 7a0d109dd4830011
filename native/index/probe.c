/* probe.c - finding many keys at once.
 *
 * The first stage computes hashes and addresses and asks the memory for the home buckets; the second compares. Between
 * the two the caller runs the first stage of the next keys, so that no access is waited for. The second stage has no
 * branch that depends on where a key is: an absent key and one outside its home go through the same instructions, and
 * those that must look further are written to a list, their next bucket asked for, and looked at in further rounds. */
#include "index/probe.h"

/* ---- comparing one key with a bucket: a bit for each slot ---- */

TS_PROBE_INLINE uint32_t match_baseline(const ts_bucket *b, int64_t key) {
  uint32_t match = 0;
  for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++)
    match |= (uint32_t)(atomic_load_explicit(&b->keys[j], memory_order_acquire) == key) << j;
  return match;
}

#ifdef TS_PROBE_VECTORS
TS_PROBE_AVX2 static inline uint32_t match_avx2(const ts_bucket *b, int64_t key) {
  __m256i same = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)b), _mm256_set1_epi64x(key));
  uint32_t fifth = atomic_load_explicit(&b->keys[4], memory_order_relaxed) == key;
  return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) | fifth << 4;
}
#endif

/* ---- the second stage ---- */

TS_PROBE_INLINE uint32_t read_home(ts_probe_match *match, const int64_t *keys, const uint64_t *hashes,
                                   const ts_index_home *homes, uint32_t n, const ts_index_home *next, uint32_t coming,
                                   ts_location *locations, ts_index_left *left) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) ts_probe_touch(homes[i].bucket);
  for (uint32_t i = 0; i < n; i++) {
    const ts_bucket *b = homes[i].bucket;
    if (i < coming) __builtin_prefetch(next[i].bucket);
    uint32_t more = ts_probe_step(match, b, keys[i], hashes[i], homes[i].segment, &locations[i]);
    left[count].key = i;
    count += more;
  }
  ts_probe_at_home(hashes, homes, left, count);
  return count;
}

#define READ(NAME, TARGET, MATCH)                                                                                   \
  TARGET static uint32_t NAME##_home(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,       \
                                     uint32_t n, const ts_index_home *next, uint32_t coming, ts_location *locations, \
                                     ts_index_left *left) {                                                         \
    return read_home(MATCH, keys, hashes, homes, n, next, coming, locations, left);                                 \
  }                                                                                                                 \
  TARGET static uint32_t NAME##_on(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,         \
                                   ts_index_left *left, uint32_t count, bool all, ts_location *locations) {         \
    return ts_probe_read_on(MATCH, keys, hashes, homes, left, count, all, locations);                               \
  }

READ(read_baseline, , match_baseline)
#ifdef TS_PROBE_VECTORS
READ(read_avx2, TS_PROBE_AVX2, match_avx2)
#endif

uint32_t ts_index_read_home(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                            uint32_t n, const ts_index_home *next, uint32_t coming, ts_location *locations,
                            ts_index_left *left) {
#ifdef TS_PROBE_VECTORS
  if (level >= 2) return ts_probe_read_home_avx512(keys, hashes, homes, n, next, coming, locations, left);
  if (level == 1) return read_avx2_home(keys, hashes, homes, n, next, coming, locations, left);
#else
  (void)level;
#endif
  return read_baseline_home(keys, hashes, homes, n, next, coming, locations, left);
}

uint32_t ts_index_read_on(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                          ts_index_left *left, uint32_t count, bool all, ts_location *locations) {
  if (count == 0) return 0;
#ifdef TS_PROBE_VECTORS
  if (level >= 2) return ts_probe_read_on_avx512(keys, hashes, homes, left, count, all, locations);
  if (level == 1) return read_avx2_on(keys, hashes, homes, left, count, all, locations);
#else
  (void)level;
#endif
  return read_baseline_on(keys, hashes, homes, left, count, all, locations);
}

void ts_index_read(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,
                   const ts_index_home *next, uint32_t coming, ts_location *locations) {
  ts_index_left left[TS_PROBE_GROUP];
  for (uint32_t i = 0; i < n; i += TS_PROBE_GROUP) {
    const uint32_t m = TS_MIN(n - i, TS_PROBE_GROUP), ahead = TS_MIN(coming - TS_MIN(i, coming), m);
    const uint32_t count = ts_index_read_home(level, keys + i, hashes + i, homes + i, m, ahead > 0 ? next + i : NULL, ahead,
                                              locations + i, left);
    ts_index_read_on(level, keys + i, hashes + i, homes + i, left, count, true, locations + i);
  }
}

/* ---- the first stage ---- */

TS_PROBE_INLINE void hash_all(const int64_t *restrict keys, uint32_t n, uint64_t *restrict hashes) {
  for (uint32_t i = 0; i < n; i++) hashes[i] = ts_index_hash(keys[i]);
}

TS_PROBE_INLINE void aim(const ts_index *index, uint64_t hash, ts_index_home *home) {
  const ts_segment *s = ts_segment_of(index, hash);
  const ts_bucket *b = ts_segment_bucket(s, ts_segment_home(s, hash));
  __builtin_prefetch(b);
  *home = (ts_index_home){s, b};
}

void ts_index_hash_all(uint32_t level, const int64_t *keys, uint32_t n, uint64_t *hashes) {
#ifdef TS_PROBE_VECTORS
  if (level >= 2) {
    ts_probe_hash_avx512(keys, n, hashes);
    return;
  }
#else
  (void)level;
#endif
  hash_all(keys, n, hashes);
}

void ts_index_aim(uint32_t level, const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n,
                  bool at_once, ts_index_home *homes) {
#ifdef TS_PROBE_VECTORS
  if (level >= 2) {
    ts_probe_aim_avx512(indexes, bits, hashes, n, at_once, homes);
    return;
  }
#else
  (void)level;
#endif
  (void)at_once;
  for (uint32_t i = 0; i < n; i++) aim(indexes[hashes[i] >> 1 >> (63 - bits)], hashes[i], &homes[i]);
}

void ts_index_approach(const ts_index *const *indexes, uint32_t bits, const int64_t *keys, uint32_t n, uint64_t *hashes,
                       ts_index_home *homes) {
  ts_index_hash_all(ts_cpu_level(), keys, n, hashes);
  ts_index_aim(ts_cpu_level(), indexes, bits, hashes, n, true, homes);
}

void ts_index_find(const ts_index *index, const int64_t *keys, const uint64_t *hashes, uint32_t n,
                   ts_location *locations) {
  ts_index_home homes[2][TS_PROBE_GROUP];
  const uint32_t level = ts_cpu_level();
  for (uint32_t first = 0, turn = 0; first < n + TS_PROBE_GROUP; first += TS_PROBE_GROUP, turn ^= 1) {
    for (uint32_t i = first; i < TS_MIN(first + TS_PROBE_GROUP, n); i++) aim(index, hashes[i], &homes[turn][i - first]);
    if (first == 0) continue;
    uint32_t before = first - TS_PROBE_GROUP;
    if (before < n)
      ts_index_read(level, keys + before, hashes + before, homes[turn ^ 1], TS_MIN(TS_PROBE_GROUP, n - before), NULL, 0,
                    locations + before);
  }
}
