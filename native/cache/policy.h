/* policy.h - which rows leave a full tier: one interface for lru, lfu, clock, s3fifo, sieve and tinylfu.
 *
 * A policy looks at the slots of one pool of rows (the rows of one shard in one tier, or the entries of a replayed
 * cache). All that it remembers of rows is in the 32-bit word that the pool keeps beside each slot, at first zero.
 * Bit 0 of the word says that the slot holds a row (ts_policy_holds); the rest is the policy's own, also while the slot
 * is free: s3fifo and tinylfu use the upper halves of all words as one table of what they remember of rows that have
 * left (ghosts, frequencies). So a policy costs 4 bytes a slot, plus a list of candidates of at most 1/8 of a byte a
 * slot and at most 128 KiB (s3fifo: two), which is charged and may be refused: finding victims then takes more scans.
 *
 * A touch changes a word by one relaxed compare-and-exchange that is not repeated, and not at all when it would change
 * nothing. Any thread may touch without a lock, also a word whose row leaves or moves meanwhile: an exchange that comes
 * late fails, so it can never make a free slot look held. Everything else runs under the pool's lock.
 *
 * Victims are chosen many at a time: a policy that needs an order (stamps, numbers in a queue) finds the next ones by a
 * scan over the words and keeps them as candidates, so that no row needs list links.
 *
 * The same code serves store and replay: nothing here knows rows, tiers or threads. */
#ifndef TS_POLICY_H
#define TS_POLICY_H

#include "base/base.h"

#include <stdatomic.h>

typedef enum ts_policy_kind { TS_LRU, TS_LFU, TS_CLOCK, TS_S3FIFO, TS_SIEVE, TS_TINYLFU, TS_POLICIES } ts_policy_kind;
extern const char *const ts_policy_names[TS_POLICIES + 1];

typedef _Atomic uint32_t ts_policy_word;

#define TS_POLICY_HELD 1u
/* Whether the slot holds a row, whatever the policy. */
static inline bool ts_policy_holds(const ts_policy_word *word) {
  return (atomic_load_explicit(word, memory_order_relaxed) & TS_POLICY_HELD) != 0;
}

/* The pool. */
typedef struct ts_policy_pool {
  void *context;
  /* Words of slots from `first` on that lie side by side; *n: how many (0: no slot `first`, and none above). Slots are
   * below 2^33. */
  ts_policy_word *(*span)(void *context, uint64_t first, uint64_t *n);
  /* Memory aligned to 64 bytes; NULL refuses. */
  void *(*take)(void *context, uint64_t bytes);
  void (*give_back)(void *context, void *memory, uint64_t bytes);
} ts_policy_pool;
/* take and give_back of memory that nobody counts. */
void *ts_policy_take(void *context, uint64_t bytes);
void ts_policy_give_back(void *context, void *memory, uint64_t bytes);

typedef struct ts_policy ts_policy;

/* TS_EFULL: memory was refused. */
int32_t ts_policy_create(ts_policy_kind kind, const ts_policy_pool *pool, ts_policy **out);
void ts_policy_destroy(ts_policy *policy);

/* A row came into a free slot, whose word becomes held. `hash` is the key's. */
void ts_policy_insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash);
/* Rows were looked up: one call a batch or part of it, in which a row may stand more than once. Any thread; only the words change, and what of
 * the policy is atomic. Words that hold no row are passed over. */
void ts_policy_touch(ts_policy *policy, ts_policy_word *const *words, const uint64_t *hashes, uint32_t n);
/* One row was looked up `times` times more. */
void ts_policy_repeat(ts_policy *policy, ts_policy_word *word, uint64_t hash, uint64_t times);
/* Of n rows that come in together, `counts[i]` uses of each, the `places` that get a place where there are fewer places than
 * rows: the hottest, of equals the first. gets[i] says so; n is at most TS_POLICY_TOGETHER. */
#define TS_POLICY_TOGETHER 256u
void ts_policy_choose(const uint64_t *counts, uint32_t n, uint64_t places, bool *gets);
/* The row left (evicted: the policy's choice; otherwise removed, expired, or moved by the pool); the word is no longer
 * held. */
void ts_policy_remove(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash, bool evicted);
/* A row changed its slot for a free one; its history goes along. */
void ts_policy_move(ts_policy *policy, uint64_t from, ts_policy_word *from_word, uint64_t to, ts_policy_word *to_word);
/* Up to `want` slots in the order in which they should leave, all holding rows; fewer only if there are fewer rows. They
 * are still in: the caller removes each, or leaves it, and it may be offered again. */
uint32_t ts_policy_victims(ts_policy *policy, uint32_t want, uint64_t *slots);

#endif
