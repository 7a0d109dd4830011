/* probe.c - finding many keys at once.
 *
 * The first stage computes hashes and addresses and asks the memory for the home buckets; the second compares. Between
 * the two the caller runs the first stage of the next keys, so that no access is waited for. The second stage has no
 * branch that depends on where a key is: an absent key and one outside its home go through the same instructions, and
 * those that must look further are written to a list, their next bucket asked for, and looked at in further rounds. */
#include "index/segment.h"
#include "optimizers/optimizer.h"

#include <stdlib.h>

/* The thread sanitizer knows atomic accesses only. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TS_PROBE_VECTORS 1
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define GROUP 256u /* keys a round */

/* ---- comparing one key with a bucket: a bit for each slot ---- */

ALWAYS_INLINE uint32_t match_baseline(const ts_bucket *b, int64_t key) {
  uint32_t match = 0;
  for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++)
    match |= (uint32_t)(atomic_load_explicit(&b->keys[j], memory_order_acquire) == key) << j;
  return match;
}

#ifdef TS_PROBE_VECTORS
#define AVX2 __attribute__((target("avx2,bmi")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,bmi")))

AVX2 static inline uint32_t match_avx2(const ts_bucket *b, int64_t key) {
  __m256i same = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)b), _mm256_set1_epi64x(key));
  uint32_t fifth = atomic_load_explicit(&b->keys[4], memory_order_relaxed) == key;
  return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) | fifth << 4;
}

AVX512 static inline uint32_t match_avx512(const ts_bucket *b, int64_t key) {
  return _mm512_mask_cmpeq_epi64_mask(31, _mm512_load_si512(b), _mm512_set1_epi64(key));
}
#endif

/* ---- the second stage ---- */

/* Loads a word of a bucket and does nothing with it. Processors drop prefetches when their fill buffers are taken; loads
 * they keep, and a loop of nothing else keeps dozens of them in flight. Where the line has come already it costs a cycle. */
ALWAYS_INLINE void touch(const ts_bucket *b) {
  uint32_t meta = ts_bucket_meta(b);
  __asm__ volatile("" : : "r"(meta));
}

typedef struct pending {
  uint32_t key, bucket;
} pending;

/* Looks at one bucket as ts_bucket_look does. Returns whether the search goes on behind it. A bucket that was being
 * changed, or a match that turned out to be an empty slot, is left to the patient search. */
ALWAYS_INLINE uint32_t step(uint32_t (*match)(const ts_bucket *, int64_t), const ts_bucket *b, int64_t key, uint64_t hash,
                            const ts_segment *s, ts_location *location) {
  uint32_t meta = atomic_load_explicit(&b->meta, memory_order_acquire);
  uint32_t hits = match(b, key);
  uint32_t slot = (uint32_t)__builtin_ctz(hits | 1u << TS_BUCKET_SLOTS); /* no hit: one behind, which is meta itself */
  const _Atomic uint32_t *low = (const _Atomic uint32_t *)((const char *)b + offsetof(ts_bucket, low)) + slot;
  uint32_t low_bits = atomic_load_explicit(low, memory_order_acquire);
  atomic_signal_fence(memory_order_acquire); /* vector loads are in order too, on the machines that have them */
  uint32_t again = atomic_load_explicit(&b->meta, memory_order_relaxed);
  *location = ts_bucket_high(meta, slot) | low_bits | ((uint64_t)(hits != 0) - 1); /* none: all bits, without a branch */
  /* Equal and even in one comparison: a count never goes back. Empty slots have all low bits set, and few others. */
  if (TS_UNLIKELY((again != (meta & ~TS_BUCKET_CHANGE)) | (low_bits == UINT32_MAX))) {
    *location = ts_segment_find(s, key, hash);
    return 0;
  }
  return (hits == 0) & (meta / TS_BUCKET_OVERFLOW);
}

ALWAYS_INLINE void read_group(uint32_t (*match)(const ts_bucket *, int64_t), const int64_t *keys, const uint64_t *hashes,
                              const ts_index_home *homes, uint32_t n, ts_location *locations) {
  pending left[GROUP];
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) touch(homes[i].bucket);
  for (uint32_t i = 0; i < n; i++) {
    const ts_bucket *b = homes[i].bucket;
    uint32_t more = step(match, b, keys[i], hashes[i], homes[i].segment, &locations[i]);
    __builtin_prefetch(b + more); /* almost always the next bucket, and harmless where it is not */
    left[count].key = i;
    count += more;
  }
  for (uint32_t p = 0; p < count; p++) left[p].bucket = ts_segment_home(homes[left[p].key].segment, hashes[left[p].key]);
  for (uint32_t round = 1; count > 0; round++) {
    const ts_bucket *next[GROUP];
    for (uint32_t p = 0; p < count; p++) {
      const ts_segment *s = homes[left[p].key].segment;
      left[p].bucket = ts_segment_after(s, left[p].bucket);
      touch(next[p] = ts_segment_bucket(s, left[p].bucket));
    }
    uint32_t still = 0;
    for (uint32_t p = 0; p < count; p++) {
      uint32_t i = left[p].key;
      const ts_segment *s = homes[i].segment;
      uint32_t more = step(match, next[p], keys[i], hashes[i], s, &locations[i]) & (round + 1 < s->buckets);
      left[still] = left[p];
      still += more;
    }
    count = still;
  }
}

#define READ(NAME, TARGET, MATCH)                                                                                  \
  TARGET static void NAME(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,     \
                          ts_location *locations) {                                                                \
    for (uint32_t i = 0; i < n; i += GROUP)                                                                        \
      read_group(MATCH, keys + i, hashes + i, homes + i, TS_MIN(n - i, GROUP), locations + i);                     \
  }

READ(read_baseline, , match_baseline)
#ifdef TS_PROBE_VECTORS
READ(read_avx2, AVX2, match_avx2)
READ(read_avx512, AVX512, match_avx512)
#endif

void ts_index_read(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,
                   ts_location *locations) {
#ifdef TS_PROBE_VECTORS
  if (level >= 2) {
    read_avx512(keys, hashes, homes, n, locations);
    return;
  }
  if (level == 1) {
    read_avx2(keys, hashes, homes, n, locations);
    return;
  }
#else
  (void)level;
#endif
  read_baseline(keys, hashes, homes, n, locations);
}

/* ---- the first stage ---- */

ALWAYS_INLINE void hash_all(const int64_t *restrict keys, uint32_t n, uint64_t *restrict hashes) {
  for (uint32_t i = 0; i < n; i++) hashes[i] = ts_index_hash(keys[i]);
}

#ifdef TS_PROBE_VECTORS
/* Eight at a time: AVX-512 multiplies 64 bits. */
AVX512 static void hash_avx512(const int64_t *restrict keys, uint32_t n, uint64_t *restrict hashes) {
  hash_all(keys, n, hashes);
}
#endif

ALWAYS_INLINE void aim(const ts_index *index, uint64_t hash, ts_index_home *home) {
  const ts_segment *s = ts_segment_of(index, hash);
  const ts_bucket *b = ts_segment_bucket(s, ts_segment_home(s, hash));
  __builtin_prefetch(b);
  *home = (ts_index_home){s, b};
}

void ts_index_hash_all(uint32_t level, const int64_t *keys, uint32_t n, uint64_t *hashes) {
#ifdef TS_PROBE_VECTORS
  if (level >= 2) {
    hash_avx512(keys, n, hashes);
    return;
  }
#else
  (void)level;
#endif
  hash_all(keys, n, hashes);
}

void ts_index_aim(const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n, ts_index_home *homes) {
  for (uint32_t i = 0; i < n; i++) aim(indexes[hashes[i] >> 1 >> (63 - bits)], hashes[i], &homes[i]);
}

void ts_index_approach(const ts_index *const *indexes, uint32_t bits, const int64_t *keys, uint32_t n, uint64_t *hashes,
                       ts_index_home *homes) {
  ts_index_hash_all(ts_cpu_level(), keys, n, hashes);
  ts_index_aim(indexes, bits, hashes, n, homes);
}

void ts_index_find(const ts_index *index, const int64_t *keys, const uint64_t *hashes, uint32_t n,
                   ts_location *locations) {
  ts_index_home homes[2][GROUP];
  const uint32_t level = ts_cpu_level();
  for (uint32_t first = 0, turn = 0; first < n + GROUP; first += GROUP, turn ^= 1) {
    for (uint32_t i = first; i < TS_MIN(first + GROUP, n); i++) aim(index, hashes[i], &homes[turn][i - first]);
    if (first == 0) continue;
    uint32_t before = first - GROUP;
    if (before < n)
      ts_index_read(level, keys + before, hashes + before, homes[turn ^ 1], TS_MIN(GROUP, n - before), locations + before);
  }
}
