/* probe.h - the two steps of finding a key, for loops that put other work between them: aim asks the memory for the key's
 * home bucket, look reads it. One of the three kinds of `match` compares a key with a bucket. */
#ifndef TS_INDEX_PROBE_H
#define TS_INDEX_PROBE_H

#include "base/cpu_level.h"
#include "index/segment.h"

/* The thread sanitizer knows atomic accesses only. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TS_PROBE_VECTORS 1
#include <immintrin.h>
#endif

/* A bit for each slot whose key is `key`. */
TS_INLINE uint32_t ts_match_baseline(const ts_bucket *b, int64_t key) {
  uint32_t match = 0;
  for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++)
    match |= (uint32_t)(atomic_load_explicit(&b->keys[j], memory_order_acquire) == key) << j;
  return match;
}

#ifdef TS_PROBE_VECTORS
TS_TARGET_AVX2 static inline uint32_t ts_match_avx2(const ts_bucket *b, int64_t key) {
  __m256i same = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)b), _mm256_set1_epi64x(key));
  uint32_t fifth = atomic_load_explicit(&b->keys[4], memory_order_relaxed) == key;
  return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) | fifth << 4;
}

TS_TARGET_AVX512 static inline uint32_t ts_match_avx512(const ts_bucket *b, int64_t key) {
  return _mm512_mask_cmpeq_epi64_mask(31, _mm512_load_si512(b), _mm512_set1_epi64(key));
}
#else
#define ts_match_avx2 ts_match_baseline
#define ts_match_avx512 ts_match_baseline
#endif

typedef uint32_t ts_match(const ts_bucket *, int64_t);

TS_INLINE void ts_index_aim(const ts_index *index, uint64_t hash, ts_index_home *home) {
  const ts_segment *s = ts_segment_of(index, hash);
  const ts_bucket *b = ts_segment_bucket(s, ts_segment_home(s, hash));
  __builtin_prefetch(b);
  *home = (ts_index_home){s, b};
}

/* True: *location is the key's, or TS_LOCATION_NONE for one that has no entry. False: the key may be in a later bucket, or
 * the bucket was being changed; ts_segment_find knows. */
TS_INLINE bool ts_index_look(ts_match *match, const ts_index_home *home, int64_t key, ts_location *location) {
  const ts_bucket *b = home->bucket;
  const uint32_t meta = atomic_load_explicit(&b->meta, memory_order_acquire);
  const uint32_t hits = match(b, key);
  if (TS_UNLIKELY(hits == 0)) {
    *location = TS_LOCATION_NONE;
    atomic_signal_fence(memory_order_acquire);
    return (meta & (TS_BUCKET_OVERFLOW | TS_BUCKET_CHANGE)) == 0 &&
           atomic_load_explicit(&b->meta, memory_order_relaxed) == meta;
  }
  const uint32_t slot = (uint32_t)__builtin_ctz(hits);
  *location = ts_bucket_high(meta, slot) | atomic_load_explicit(&b->low[slot], memory_order_acquire);
  atomic_signal_fence(memory_order_acquire); /* vector loads are in order too, on the machines that have them */
  return TS_LIKELY(atomic_load_explicit(&b->meta, memory_order_relaxed) == meta && (meta & TS_BUCKET_CHANGE) == 0 &&
                   *location != TS_BUCKET_EMPTY);
}

#endif
