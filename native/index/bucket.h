/* bucket.h - one cache line of the index, read by anybody while one writer changes it.
 *
 * The word `meta` holds for each slot the four high bits of its location, then the overflow mark (some key passed this
 * full bucket and lives in a later one), then a change count. A slot is empty if its location has all 36 bits set; its
 * key is then TS_BUCKET_FILLER, which is an ordinary key too: whoever matches an empty slot looks at all of them.
 *
 * Why a reader never pairs a key with a location of another time. The writer makes the count odd, stores key and low
 * bits, and stores `meta` with the new high bits and the next even count; each store releases, so that whoever sees one
 * of them also sees those before. The reader loads `meta`, then keys and low bits (acquiring), then `meta` again, and
 * believes what it saw only if both words are equal and even. If it saw any store of a change, its second look sees at
 * least the odd count of that change; if it missed any, its first look was before the change's end. Both at once give
 * two different words, or an odd one. So also when a key is removed and another takes its slot in between: two changes,
 * the count differs by four.
 *
 * The count has 11 bits and returns after 1024 changes. A reader that was interrupted in between could be deceived, so
 * the writer waits for the readers whenever the highest bit of the count is about to flip. Of two such waits in a row
 * the second does not end before every reader has left that came before it began; so what one reader sees lies between
 * the begin of one wait and the end of the next, and the counts in between are all different. */
#ifndef TS_INDEX_BUCKET_H
#define TS_INDEX_BUCKET_H

#include "index/index.h"

#include <assert.h>
#include <string.h>

#define TS_BUCKET_SLOTS 5u
#define TS_BUCKET_OVERFLOW (1u << 20)
#define TS_BUCKET_CHANGE (1u << 21) /* one step of the count; its lowest bit: a change is going on */
#define TS_BUCKET_CYCLE (1u << 31)  /* the highest bit of the count */
#define TS_BUCKET_EMPTY ((UINT64_C(1) << 36) - 1)
#define TS_BUCKET_ALL_EMPTY 0xFFFFFu                    /* meta without marks */
#define TS_BUCKET_FILLER ((int64_t)0xa3d7c9165be04f82u) /* any key that few have */

typedef struct ts_bucket {
  _Alignas(64) _Atomic int64_t keys[TS_BUCKET_SLOTS];
  _Atomic uint32_t low[TS_BUCKET_SLOTS];
  _Atomic uint32_t meta;
} ts_bucket;

static_assert(sizeof(ts_bucket) == 64, "a bucket is a cache line");
static_assert(sizeof(_Atomic int64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "vector kernels read the plain values");

static inline uint64_t ts_bucket_high(uint32_t meta, uint32_t slot) { return (uint64_t)(meta >> 4 * slot & 15) << 32; }

/* ---- by readers ---- */

/* What one consistent look at a bucket tells about a key. */
typedef struct ts_bucket_answer {
  ts_location location; /* or TS_LOCATION_NONE */
  bool overflow;
} ts_bucket_answer;

/* False: a change was going on. */
static inline bool ts_bucket_look(const ts_bucket *b, int64_t key, ts_bucket_answer *answer) {
  uint32_t meta = atomic_load_explicit(&b->meta, memory_order_acquire);
  *answer = (ts_bucket_answer){TS_LOCATION_NONE, (meta & TS_BUCKET_OVERFLOW) != 0};
  for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
    if (atomic_load_explicit(&b->keys[j], memory_order_acquire) != key) continue;
    ts_location l = ts_bucket_high(meta, j) | atomic_load_explicit(&b->low[j], memory_order_acquire);
    if (l == TS_BUCKET_EMPTY) continue;
    answer->location = l;
    break;
  }
  return (meta & TS_BUCKET_CHANGE) == 0 && atomic_load_explicit(&b->meta, memory_order_relaxed) == meta;
}

/* ---- by the writer, who sees every value as it left it ---- */

static inline int64_t ts_bucket_key(const ts_bucket *b, uint32_t slot) {
  return atomic_load_explicit(&b->keys[slot], memory_order_relaxed);
}

static inline uint32_t ts_bucket_meta(const ts_bucket *b) { return atomic_load_explicit(&b->meta, memory_order_relaxed); }

/* TS_BUCKET_EMPTY if there is none. */
static inline ts_location ts_bucket_location(const ts_bucket *b, uint32_t slot) {
  return ts_bucket_high(ts_bucket_meta(b), slot) | atomic_load_explicit(&b->low[slot], memory_order_relaxed);
}

/* Changes one slot under the eyes of readers. */
static inline void ts_bucket_change(ts_bucket *b, ts_epochs *epochs, uint32_t slot, int64_t key, ts_location location) {
  uint32_t meta = ts_bucket_meta(b);
  if (((meta + 2 * TS_BUCKET_CHANGE) ^ meta) & TS_BUCKET_CYCLE) ts_epoch_wait(epochs);
  atomic_store_explicit(&b->meta, meta + TS_BUCKET_CHANGE, memory_order_relaxed);
  atomic_store_explicit(&b->keys[slot], key, memory_order_release);
  atomic_store_explicit(&b->low[slot], (uint32_t)location, memory_order_release);
  uint32_t high = (uint32_t)(location >> 32 & 15);
  meta = (meta & ~(15u << 4 * slot)) | high << 4 * slot;
  atomic_store_explicit(&b->meta, meta + 2 * TS_BUCKET_CHANGE, memory_order_release);
}

/* Sets or clears the overflow mark. It is one word, so readers see the old or the new one. Set it before the key that
 * needs it is placed. */
static inline void ts_bucket_mark(ts_bucket *b, bool overflow) {
  uint32_t meta = ts_bucket_meta(b);
  meta = overflow ? meta | TS_BUCKET_OVERFLOW : meta & ~TS_BUCKET_OVERFLOW;
  atomic_store_explicit(&b->meta, meta, memory_order_release);
}

/* ---- while nobody else can see the bucket ---- */

static inline void ts_bucket_clear(ts_bucket *buckets, uint32_t n) {
  struct {
    int64_t keys[TS_BUCKET_SLOTS];
    uint32_t low[TS_BUCKET_SLOTS], meta;
  } empty;
  static_assert(sizeof empty == sizeof(ts_bucket), "the same bytes");
  for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) empty.keys[j] = TS_BUCKET_FILLER;
  memset(empty.low, 0xFF, sizeof empty.low);
  empty.meta = TS_BUCKET_ALL_EMPTY;
  for (uint32_t i = 0; i < n; i++) memcpy(&buckets[i], &empty, sizeof empty);
}

static inline void ts_bucket_fill(ts_bucket *b, uint32_t slot, int64_t key, ts_location location) {
  atomic_store_explicit(&b->keys[slot], key, memory_order_relaxed);
  atomic_store_explicit(&b->low[slot], (uint32_t)location, memory_order_relaxed);
  uint32_t high = (uint32_t)(location >> 32 & 15);
  uint32_t meta = ts_bucket_meta(b);
  atomic_store_explicit(&b->meta, (meta & ~(15u << 4 * slot)) | high << 4 * slot, memory_order_relaxed);
}

/* The first empty slot, or TS_BUCKET_SLOTS. */
static inline uint32_t ts_bucket_free_slot(const ts_bucket *b) {
  uint32_t meta = ts_bucket_meta(b);
  /* One bit for each slot whose four high bits are set; few of them hold a key. */
  for (uint32_t set = meta & meta >> 1 & meta >> 2 & meta >> 3 & 0x11111u; set != 0; set &= set - 1) {
    uint32_t slot = (uint32_t)__builtin_ctz(set) / 4;
    if (atomic_load_explicit(&b->low[slot], memory_order_relaxed) == UINT32_MAX) return slot;
  }
  return TS_BUCKET_SLOTS;
}

#endif
