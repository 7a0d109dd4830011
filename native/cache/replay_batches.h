/* replay_batches.h - batches of keys through a cache by the store's rules: what a store of one shard, with calls that
 * evict for themselves, keeps in its first tier (a test compares the two, key by key).
 *
 * A batch is a lookup call. In pieces of 65,536 keys: what is in the cache is told to the policy, 256 keys a call, with
 * duplicates; then the other keys come in, each once, in the order in which they came, up to 256 together, for which the policy gives as many victims as there are places missing. What finds no place (a cache
 * smaller than that) is served below. The lower tier is one of records; over a memory tier the store lets rows that it
 * has come in before new ones, up to 256 together. */
#ifndef TS_REPLAY_BATCHES_H
#define TS_REPLAY_BATCHES_H

#include "cache/policy.h"

typedef struct ts_batches ts_batches;

/* capacity: rows of the cache, 0 included, below 2^31. Errors: TS_ENOMEM. */
int32_t ts_batches_create(ts_policy_kind kind, uint64_t capacity, ts_batches **out);
void ts_batches_destroy(ts_batches *batches);
/* One batch. Adds to *rows its distinct rows, and to *misses those that were not in the cache when they came (a row that
 * leaves and comes again between the pieces of one batch is two). */
void ts_batches_run(ts_batches *batches, const int64_t *keys, uint64_t n, uint64_t *rows, uint64_t *misses);
bool ts_batches_has(const ts_batches *batches, int64_t key);
uint64_t ts_batches_bytes(const ts_batches *batches);

#endif
