/* policy.h - which rows leave a full tier: one interface for lru, lfu, clock, s3fifo, sieve and tinylfu.
 *
 * A policy looks at the slots of one pool of rows (the rows of one shard in one tier, or the entries of a replayed
 * cache). What it remembers of a row is the 32-bit word that the pool keeps beside it; 0 means that the slot holds no row.
 * A touch is one relaxed store at most, by any thread and without a lock; everything else runs under the pool's lock.
 * Victims are chosen many at a time: a policy that needs an order (lru by stamps, fifo by numbers) finds the next ones
 * by a scan over the words and keeps them as candidates, so that no row needs list links: 4 bytes a row in all. What a
 * policy keeps beside the words (ghosts, a sketch) is charged, counts in these 4 bytes on average, and may be refused:
 * it then works with less.
 *
 * The same code serves store and replay: nothing here knows rows, tiers or threads. */
#ifndef TS_POLICY_H
#define TS_POLICY_H

#include "base/base.h"

#include <stdatomic.h>

typedef enum ts_policy_kind { TS_LRU, TS_LFU, TS_CLOCK, TS_S3FIFO, TS_SIEVE, TS_TINYLFU, TS_POLICIES } ts_policy_kind;
extern const char *const ts_policy_names[TS_POLICIES + 1];

typedef _Atomic uint32_t ts_policy_word;

/* The pool. */
typedef struct ts_policy_pool {
  void *context;
  /* Words of slots from `first` on that lie side by side; *n: how many (0: no slot `first`). */
  ts_policy_word *(*span)(void *context, uint64_t first, uint64_t *n);
  /* Takes (bytes > 0) or gives back memory; false refuses. */
  bool (*charge)(void *context, int64_t bytes);
} ts_policy_pool;

typedef struct ts_policy ts_policy;

/* Errors: TS_ENOMEM, TS_EFULL. */
int32_t ts_policy_create(ts_policy_kind kind, const ts_policy_pool *pool, ts_policy **out);
void ts_policy_destroy(ts_policy *policy);

/* A row came into a slot, whose word becomes non-zero. `hash` is the key's. */
void ts_policy_insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash);
/* Rows were looked up: one call a batch or part of it, duplicates once. Any thread; only the words change, and what of
 * the policy is atomic. */
void ts_policy_touch(ts_policy *policy, ts_policy_word *const *words, const uint64_t *hashes, uint32_t n);
/* The row left (evicted: the policy's choice; otherwise removed, expired, or moved by the pool); the word becomes 0. */
void ts_policy_remove(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash, bool evicted);
/* A row changed its slot; its history goes along. */
void ts_policy_move(ts_policy *policy, uint64_t from, ts_policy_word *from_word, uint64_t to, ts_policy_word *to_word);
/* Up to `want` slots in the order in which they should leave, all holding rows; fewer only if there are fewer rows. They
 * are still in: the caller removes each, or leaves it, and it may be offered again. */
uint32_t ts_policy_victims(ts_policy *policy, uint32_t want, uint64_t *slots);

#endif
