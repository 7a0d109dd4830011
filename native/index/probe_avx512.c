/* probe_avx512.c - finding many keys at once, eight or sixteen a vector.
 *
 * With skewed keys most buckets and rows lie in the caches, and a search is bound by instructions. So one key's part is only
 * what needs its own address: the line of the directory, the line of the segment, the comparison. All else is arithmetic
 * on whole vectors before and after. A lookup with everything in the caches took 13.3 ns a key with scalar addresses, and
 * 9.2 with these and those of rows_locate.c (Zen 4; the bench's floor: 3.4). */
#include "index/probe.h"

#ifdef TS_PROBE_VECTORS

#define AVX512 TS_PROBE_AVX512
#define LANES 8u /* of 64 bits */
#define MOST_BITS 4u /* of the shard: two registers hold a value for each */
#define SHARDS (1u << MOST_BITS)

AVX512 void ts_probe_hash_avx512(const int64_t *restrict keys, uint32_t n, uint64_t *restrict hashes) {
  for (uint32_t i = 0; i < n; i++) hashes[i] = ts_index_hash(keys[i]); /* becomes vectors: AVX-512 multiplies 64 bits */
}

AVX512 static inline __m512i of_shard(const uint64_t values[SHARDS], __m512i shard) {
  return _mm512_permutex2var_epi64(_mm512_loadu_si512(values), shard, _mm512_loadu_si512(values + LANES));
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
  if (bits <= MOST_BITS && n >= SHARDS) {
    /* Directories as they are now: the caller's epoch keeps them, and the segments that they name. */
    uint64_t entries[SHARDS] = {0}, shifts[SHARDS] = {0};
    for (uint32_t s = 0; s < 1u << bits; s++) {
      const ts_index_directory *d = ts_index_directory_of(indexes[s]);
      entries[s] = (uintptr_t)d->segments;
      shifts[s] = 64 - d->depth;
    }
    const uint32_t skip = ts_index_directory_of(indexes[0])->skip; /* the same in all */
    const __m128i to_shard = _mm_cvtsi32_si128((int)(64 - bits)), skipped = _mm_cvtsi32_si128((int)skip);
    for (; i + LANES <= n; i += LANES) {
      const __m512i hash = _mm512_loadu_si512(hashes + i), shard = _mm512_srl_epi64(hash, to_shard);
      /* A shift by 64 gives 0 here. */
      const __m512i position = _mm512_srlv_epi64(_mm512_sll_epi64(hash, skipped), of_shard(shifts, shard));
      _Alignas(64) uint64_t at[LANES];
      _mm512_store_si512(at, _mm512_add_epi64(of_shard(entries, shard), _mm512_slli_epi64(position, 3)));
#pragma GCC unroll 8
      for (uint32_t j = 0; j < LANES; j++) {
        ts_segment *const _Atomic *entry = (ts_segment *const _Atomic *)at[j];
        aim_at(atomic_load_explicit(entry, memory_order_acquire), hashes[i + j], at_once, &homes[i + j]);
      }
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

AVX512 static inline uint32_t match(const ts_bucket *b, int64_t key) {
  return _mm512_mask_cmpeq_epi64_mask(31, _mm512_load_si512(b), _mm512_set1_epi64(key));
}

/* What the home buckets say. Without a hit the slot is one behind the last, and `low` the word that stands there. */
typedef struct answers {
  _Alignas(64) uint32_t slots[TS_PROBE_GROUP + 16], low[TS_PROBE_GROUP + 16], meta[TS_PROBE_GROUP + 16];
} answers;

/* The order of loads is that of ts_probe_step. Returns whether a bucket was being changed: too seldom to say which. */
AVX512 static inline bool look_at_home(const int64_t *keys, const ts_index_home *homes, uint32_t n, const ts_index_home *next,
                                       uint32_t coming, answers *a) {
  uint32_t changed = 0;
  for (uint32_t i = 0; i < n; i++) {
    const ts_bucket *b = homes[i].bucket;
    if (i < coming) __builtin_prefetch(next[i].bucket);
    const uint32_t meta = atomic_load_explicit(&b->meta, memory_order_acquire);
    const uint32_t slot = (uint32_t)__builtin_ctz(match(b, keys[i]) | 1u << TS_BUCKET_SLOTS);
    const _Atomic uint32_t *low = (const _Atomic uint32_t *)((const char *)b + offsetof(ts_bucket, low)) + slot;
    a->low[i] = atomic_load_explicit(low, memory_order_acquire);
    atomic_signal_fence(memory_order_acquire);
    changed |= atomic_load_explicit(&b->meta, memory_order_relaxed) ^ (meta & ~TS_BUCKET_CHANGE);
    a->meta[i] = meta;
    a->slots[i] = slot;
  }
  return changed != 0;
}

/* Locations of 16 keys at a time; returns how many must be searched on, in left. What looks like an empty slot is left to
 * the patient search: a key may be the filler's, and few rows have such a number. */
AVX512 static inline uint32_t locations_of(const answers *a, const int64_t *keys, const uint64_t *hashes,
                                           const ts_index_home *homes, uint32_t n, ts_location *locations,
                                           ts_index_left *left) {
  const __m512i ones = _mm512_set1_epi32(-1), none = _mm512_set1_epi32(TS_BUCKET_SLOTS);
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i += 16) {
    const __mmask16 valid = (__mmask16)(n - i >= 16 ? 0xFFFF : (1u << (n - i)) - 1);
    const __m512i slot = _mm512_load_si512(a->slots + i), meta = _mm512_load_si512(a->meta + i);
    const __mmask16 absent = _mm512_mask_cmpeq_epi32_mask(valid, slot, none);
    __m512i low = _mm512_load_si512(a->low + i);
    uint32_t empty = _mm512_mask_cmpeq_epi32_mask(valid & (__mmask16)~absent, low, ones);
    low = _mm512_mask_mov_epi32(low, absent, ones);
    __m512i high = _mm512_and_si512(_mm512_srlv_epi32(meta, _mm512_slli_epi32(slot, 2)), _mm512_set1_epi32(15));
    high = _mm512_mask_mov_epi32(high, absent, ones);
    const __m512i first = _mm512_unpacklo_epi32(low, high), second = _mm512_unpackhi_epi32(low, high);
    /* Unpacking goes by lanes of four; put the halves in order. */
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_mask_storeu_epi64(locations + i, (__mmask8)valid, _mm512_permutex2var_epi64(first, front, second));
    _mm512_mask_storeu_epi64(locations + i + 8, (__mmask8)(valid >> 8), _mm512_permutex2var_epi64(first, back, second));
    uint32_t more = _mm512_mask_test_epi32_mask(absent, meta, _mm512_set1_epi32(TS_BUCKET_OVERFLOW));
    for (; more != 0; more &= more - 1) {
      left[count].key = i + (uint32_t)__builtin_ctz(more);
      /* Almost always the next bucket, and harmless where it is not. */
      __builtin_prefetch((const ts_bucket *)homes[left[count++].key].bucket + 1);
    }
    for (; TS_UNLIKELY(empty != 0); empty &= empty - 1) {
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
  return ts_probe_read_on(match, keys, hashes, homes, left, count, all, locations);
}

#endif
