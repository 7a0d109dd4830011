/* replay_log.h - exact LRU and SIEVE of one size, as fast as it goes: the decisions of policy_lru.c and policy_sieve.c at one
 * access a call, by other means (a test compares them). */
#ifndef TS_REPLAY_LOG_H
#define TS_REPLAY_LOG_H

#include "base/base.h"

/* Hits of a cache of `capacity` > 0 entries on the stream, beginning empty; those among the first `uncounted` keys do not
 * count. *bytes: memory that it took, may be NULL. Errors: TS_ENOMEM, of SIEVE also for more than 1,400 million rows.
 * n < 2^32 - 1. */
int32_t ts_lru_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                      uint64_t *bytes);
int32_t ts_sieve_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                        uint64_t *bytes);

#endif
