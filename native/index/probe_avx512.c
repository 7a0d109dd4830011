/* probe_avx512.c - finding many keys at once, eight or sixteen a vector.
 *
 * With skewed keys most buckets and rows lie in the caches, and a search is bound by instructions. So one key's part is only
 * what needs its own address: the line of the directory, the line of the segment, the comparison. All else is arithmetic
 * on whole vectors before and after. A lookup with everything in the caches took 13.3 ns a key with scalar addresses, and
 * 9.2 with these and those of rows_locate.c (Zen 4; the bench's floor: 3.4). */
#include "index/probe_avx512.h"

#ifdef TS_PROBE_VECTORS

#define AVX512 TS_PROBE_AVX512

AVX512 void ts_probe_hash_avx512(const int64_t *restrict keys, uint32_t n, uint64_t *restrict hashes) {
  for (uint32_t i = 0; i < n; i++) hashes[i] = ts_index_hash(keys[i]); /* becomes vectors: AVX-512 multiplies 64 bits */
}

AVX512 static inline void aim_at(const ts_segment *s, uint64_t hash, bool at_once, ts_index_home *home) {
  const ts_bucket *b = ts_segment_bucket(s, ts_segment_home(s, hash));
  if (at_once)
    __builtin_prefetch(b, 0, 2);
  else
    __builtin_prefetch(b);
  *home = (ts_index_home){s, b};
}

AVX512 TS_PROBE_INLINE void aim_all(const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n,
                                    const bool at_once, ts_index_home *homes) {
  uint32_t i = 0;
  if (bits <= TS_PROBE_MOST_BITS && n >= TS_PROBE_SHARDS) {
    ts_probe_directories all;
    ts_probe_directories_of(&all, indexes, bits);
    for (; i + TS_PROBE_LANES <= n; i += TS_PROBE_LANES) {
      _Alignas(64) uint64_t at[TS_PROBE_LANES];
      _mm512_store_si512(at, ts_probe_entries(&all, _mm512_loadu_si512(hashes + i)));
#pragma GCC unroll 8
      for (uint32_t j = 0; j < TS_PROBE_LANES; j++) aim_at(ts_probe_segment(at[j]), hashes[i + j], at_once, &homes[i + j]);
    }
  }
  for (; i < n; i++) aim_at(ts_segment_of(indexes[hashes[i] >> 1 >> (63 - bits)], hashes[i]), hashes[i], at_once, &homes[i]);
}

AVX512 void ts_probe_aim_avx512(const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n,
                                bool at_once, ts_index_home *homes) {
  if (at_once)
    aim_all(indexes, bits, hashes, n, true, homes);
  else
    aim_all(indexes, bits, hashes, n, false, homes);
}

/* What the home buckets say. */
typedef struct answers {
  _Alignas(64) uint32_t slots[TS_PROBE_GROUP + 16], low[TS_PROBE_GROUP + 16], meta[TS_PROBE_GROUP + 16];
} answers;

/* Returns whether a bucket was being changed: too seldom to say which. */
AVX512 static inline bool look_at_home(const int64_t *keys, const ts_index_home *homes, uint32_t n, const ts_index_home *next,
                                       uint32_t coming, answers *a) {
  uint32_t changed = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (i < coming) __builtin_prefetch(next[i].bucket);
    const ts_probe_answer answer = ts_probe_look(homes[i].bucket, keys[i]);
    changed |= answer.again ^ (answer.meta & ~TS_BUCKET_CHANGE);
    a->low[i] = answer.low;
    a->meta[i] = answer.meta;
    a->slots[i] = answer.slot;
  }
  return changed != 0;
}

/* Locations of 16 keys at a time; returns how many must be searched on, in left. */
AVX512 static inline uint32_t locations_of(const answers *a, const int64_t *keys, const uint64_t *hashes,
                                           const ts_index_home *homes, uint32_t n, ts_location *locations,
                                           ts_index_left *left) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i += 16) {
    const __mmask16 valid = (__mmask16)(n - i >= 16 ? 0xFFFF : (1u << (n - i)) - 1);
    const ts_probe_found found = ts_probe_locations(_mm512_load_si512(a->slots + i), _mm512_load_si512(a->low + i),
                                                    _mm512_load_si512(a->meta + i), valid);
    _mm512_mask_storeu_epi64(locations + i, (__mmask8)valid, found.first);
    _mm512_mask_storeu_epi64(locations + i + 8, (__mmask8)(valid >> 8), found.second);
    for (uint32_t more = found.more; more != 0; more &= more - 1) left[count++].key = i + (uint32_t)__builtin_ctz(more);
    for (uint32_t empty = found.empty; TS_UNLIKELY(empty != 0); empty &= empty - 1) {
      const uint32_t j = i + (uint32_t)__builtin_ctz(empty);
      locations[j] = ts_segment_find(homes[j].segment, keys[j], hashes[j]);
    }
  }
  return count;
}

AVX512 uint32_t ts_probe_read_home_avx512(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,
                                          const ts_index_home *next, uint32_t coming, ts_location *locations,
                                          ts_index_left *left) {
  answers a;
  if (next == NULL) /* nobody asked for these long ago */
    for (uint32_t i = 0; i < n; i++) ts_probe_touch(homes[i].bucket);
  if (TS_UNLIKELY(look_at_home(keys, homes, n, next, coming, &a))) { /* once among thousands: all of them, patiently */
    for (uint32_t i = 0; i < n; i++) locations[i] = ts_segment_find(homes[i].segment, keys[i], hashes[i]);
    return 0;
  }
  const uint32_t count = locations_of(&a, keys, hashes, homes, n, locations, left);
  ts_probe_at_home(hashes, homes, left, count);
  return count;
}

AVX512 uint32_t ts_probe_read_on_avx512(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                                        ts_index_left *left, uint32_t count, bool all, ts_location *locations) {
  return ts_probe_read_on(ts_probe_match_avx512, keys, hashes, homes, left, count, all, locations);
}

#endif
