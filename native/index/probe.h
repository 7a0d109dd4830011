/* probe.h - parts of the batch search that its kernels share (probe.c, probe_avx512.c). */
#ifndef TS_INDEX_PROBE_H
#define TS_INDEX_PROBE_H

#include "index/segment.h"
#include "optimizers/optimizer.h"

/* The thread sanitizer knows atomic accesses only. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TS_PROBE_VECTORS 1
#include <immintrin.h>
#define TS_PROBE_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define TS_PROBE_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512cd,bmi,bmi2")))
#endif

#define TS_PROBE_INLINE static inline __attribute__((always_inline))
#define TS_PROBE_GROUP 256u /* keys a round, and the most that homes and lists are for */

/* Bit j: slot j holds the key. */
typedef uint32_t ts_probe_match(const ts_bucket *, int64_t);

/* Loads a word of a bucket and does nothing with it. Processors drop prefetches when their fill buffers are taken; loads
 * they keep, and a loop of nothing else keeps dozens of them in flight. Where the line has come already it costs a cycle. */
TS_PROBE_INLINE void ts_probe_touch(const ts_bucket *b) {
  uint32_t meta = ts_bucket_meta(b);
  __asm__ volatile("" : : "r"(meta));
}

/* Looks at one bucket as ts_bucket_look does. Returns whether the search goes on behind it. A bucket that was being
 * changed, or a match that turned out to be an empty slot, is left to the patient search. */
TS_PROBE_INLINE uint32_t ts_probe_step(ts_probe_match *match, const ts_bucket *b, int64_t key, uint64_t hash,
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

/* Asks for the bucket that a key's search visits next. */
TS_PROBE_INLINE void ts_probe_next(const ts_segment *s, uint64_t hash, uint32_t step) {
  __builtin_prefetch(ts_segment_bucket(s, ts_segment_visit(s, hash, step + 1)));
}

/* One more bucket for each of left[0..count), or with `all` as many as it takes; returns how many keys stay there. Their
 * next buckets are asked for. */
TS_PROBE_INLINE uint32_t ts_probe_read_on(ts_probe_match *match, const int64_t *keys, const uint64_t *hashes,
                                          const ts_index_home *homes, ts_index_left *left, uint32_t count, bool all,
                                          ts_location *locations) {
  do {
    const ts_bucket *next[TS_PROBE_GROUP];
    for (uint32_t p = 0; p < count; p++) {
      const ts_segment *s = homes[left[p].key].segment;
      ts_probe_touch(next[p] = ts_segment_bucket(s, ts_segment_visit(s, hashes[left[p].key], ++left[p].step)));
    }
    uint32_t still = 0;
    for (uint32_t p = 0; p < count; p++) {
      const uint32_t i = left[p].key;
      const ts_segment *s = homes[i].segment;
      const bool last = left[p].step == s->buckets; /* once around */
      if (!ts_probe_step(match, next[p], keys[i], hashes[i], s, &locations[i]) || last) continue;
      ts_probe_next(s, hashes[i], left[p].step);
      left[still++] = left[p];
    }
    count = still;
  } while (all && count > 0);
  return count;
}

/* Fills in that the homes of left[0..count) were looked at, and asks for what comes next. */
TS_PROBE_INLINE void ts_probe_at_home(const uint64_t *hashes, const ts_index_home *homes, ts_index_left *left,
                                      uint32_t count) {
  for (uint32_t p = 0; p < count; p++) {
    left[p].step = 0;
    ts_probe_next(homes[left[p].key].segment, hashes[left[p].key], 0);
  }
}

#ifdef TS_PROBE_VECTORS
/* probe_avx512.c: the kernels of ts_index_hash_all, ts_index_aim and ts_index_read_* for a CPU with AVX-512. */
void ts_probe_hash_avx512(const int64_t *keys, uint32_t n, uint64_t *hashes);
void ts_probe_aim_avx512(const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n,
                         bool at_once, ts_index_home *homes);
uint32_t ts_probe_read_home_avx512(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,
                                   const ts_index_home *next, uint32_t coming, ts_location *locations,
                                   ts_index_left *left);
uint32_t ts_probe_read_on_avx512(const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                                 ts_index_left *left, uint32_t count, bool all, ts_location *locations);
#endif

#endif
