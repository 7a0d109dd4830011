/* probe_avx512.h - what a search of many keys does on whole vectors of AVX-512: directory entries of eight hashes, locations
 * of sixteen answers (probe_avx512.c, and store/flow.c, which copies rows in the same loop). */
#ifndef TS_INDEX_PROBE_AVX512_H
#define TS_INDEX_PROBE_AVX512_H

#include "index/probe.h"

#ifdef TS_PROBE_VECTORS
#define TS_PROBE_AVX512_INLINE TS_PROBE_AVX512 TS_PROBE_INLINE
#define TS_PROBE_LANES 8u     /* of 64 bits */
#define TS_PROBE_MOST_BITS 4u /* of the shard: two registers hold a value for each */
#define TS_PROBE_SHARDS (1u << TS_PROBE_MOST_BITS)

/* The value of each lane's shard. */
TS_PROBE_AVX512_INLINE __m512i ts_probe_of_shard(const uint64_t values[TS_PROBE_SHARDS], __m512i shard) {
  return _mm512_permutex2var_epi64(_mm512_load_si512(values), shard, _mm512_load_si512(values + TS_PROBE_LANES));
}

/* Each hash's shard. */
TS_PROBE_AVX512_INLINE __m512i ts_probe_shard(__m512i hash, uint32_t bits) {
  return _mm512_srl_epi64(hash, _mm_cvtsi32_si128((int)(64 - bits)));
}

/* The directories of all shards as they were at one moment: the caller's epoch keeps them, and the segments that they
 * name. */
typedef struct ts_probe_directories {
  _Alignas(64) uint64_t entries[TS_PROBE_SHARDS];
  uint64_t shifts[TS_PROBE_SHARDS];
  uint32_t skip, bits;
} ts_probe_directories;

/* bits: at most TS_PROBE_MOST_BITS. */
static inline void ts_probe_directories_of(ts_probe_directories *all, const ts_index *const *indexes, uint32_t bits) {
  memset(all, 0, sizeof *all);
  all->bits = bits;
  for (uint32_t s = 0; s < 1u << bits; s++) {
    const ts_index_directory *d = ts_index_directory_of(indexes[s]);
    all->entries[s] = (uintptr_t)d->segments;
    all->shifts[s] = 64 - d->depth;
    all->skip = d->skip; /* the same in all */
  }
}

/* Addresses of the directory entries of eight hashes. */
TS_PROBE_AVX512_INLINE __m512i ts_probe_entries(const ts_probe_directories *all, __m512i hash) {
  const __m512i shard = ts_probe_shard(hash, all->bits);
  /* A shift by 64 gives 0 here. */
  const __m512i position = _mm512_srlv_epi64(_mm512_sll_epi64(hash, _mm_cvtsi32_si128((int)all->skip)),
                                             ts_probe_of_shard(all->shifts, shard));
  return _mm512_add_epi64(ts_probe_of_shard(all->entries, shard), _mm512_slli_epi64(position, 3));
}

TS_PROBE_INLINE const ts_segment *ts_probe_segment(uint64_t entry) {
  return atomic_load_explicit((ts_segment *const _Atomic *)entry, memory_order_acquire);
}

TS_PROBE_AVX512_INLINE uint32_t ts_probe_match_avx512(const ts_bucket *b, int64_t key) {
  return _mm512_mask_cmpeq_epi64_mask(31, _mm512_load_si512(b), _mm512_set1_epi64(key));
}

/* What one look at a bucket says, in the order of loads of ts_probe_step. Without a hit the slot is one behind the last,
 * and `low` the word that stands there. `again` must be `meta` without the mark of a change. */
typedef struct ts_probe_answer {
  uint32_t slot, low, meta, again;
} ts_probe_answer;
TS_PROBE_AVX512_INLINE ts_probe_answer ts_probe_look(const ts_bucket *b, int64_t key) {
  const uint32_t meta = atomic_load_explicit(&b->meta, memory_order_acquire);
  const uint32_t slot = (uint32_t)__builtin_ctz(ts_probe_match_avx512(b, key) | 1u << TS_BUCKET_SLOTS);
  const _Atomic uint32_t *low = (const _Atomic uint32_t *)((const char *)b + offsetof(ts_bucket, low)) + (uint64_t)slot;
  const uint32_t low_bits = atomic_load_explicit(low, memory_order_acquire);
  atomic_signal_fence(memory_order_acquire); /* vector loads are in order too, on the machines that have them */
  return (ts_probe_answer){slot, low_bits, meta, atomic_load_explicit(&b->meta, memory_order_relaxed)};
}

/* Sixteen answers: locations of the first and of the second eight; TS_LOCATION_NONE where `absent`. */
typedef struct ts_probe_found {
  __m512i first, second;
  __mmask16 absent; /* not in this bucket */
  __mmask16 more;   /* ... but perhaps in a later one */
  __mmask16 empty;  /* what looks like an empty slot is left to the patient search: a key may be the filler's */
} ts_probe_found;
TS_PROBE_AVX512_INLINE ts_probe_found ts_probe_locations(__m512i slot, __m512i low, __m512i meta, __mmask16 valid) {
  const __m512i ones = _mm512_set1_epi32(-1);
  ts_probe_found f;
  f.absent = _mm512_mask_cmpeq_epi32_mask(valid, slot, _mm512_set1_epi32(TS_BUCKET_SLOTS));
  f.more = _mm512_mask_test_epi32_mask(f.absent, meta, _mm512_set1_epi32(TS_BUCKET_OVERFLOW));
  f.empty = _mm512_mask_cmpeq_epi32_mask(valid & (__mmask16)~f.absent, low, ones);
  low = _mm512_mask_mov_epi32(low, f.absent, ones);
  __m512i high = _mm512_and_si512(_mm512_srlv_epi32(meta, _mm512_slli_epi32(slot, 2)), _mm512_set1_epi32(15));
  high = _mm512_mask_mov_epi32(high, f.absent, ones);
  const __m512i even = _mm512_unpacklo_epi32(low, high), odd = _mm512_unpackhi_epi32(low, high);
  /* Unpacking goes by lanes of four; put the halves in order. */
  f.first = _mm512_permutex2var_epi64(even, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), odd);
  f.second = _mm512_permutex2var_epi64(even, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), odd);
  return f;
}
#endif

#endif
