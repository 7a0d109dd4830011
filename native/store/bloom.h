/* bloom.h - how often was a key seen, without keeping the key: a counting Bloom filter, as DeepRec's CBFFilter.
 *
 * m counters and k hash functions; a key adds to its k counters and its frequency is the least of them. Counters are
 * shared, so the answer may be too high (two keys on the same counters), never too low. A counter stops at the filter's
 * frequency: nobody asks beyond it, and narrow counters cannot overflow.
 *   m = ceil(keys * |ln error| / (ln 2)^2), k = ceil(|log2 error|): least memory for `keys` keys at that error
 *       (Bloom 1970)
 *   counter of key and seed = hash(key, seed) mod m, the seeds being the first k primes: DeepRec's choice, kept so that
 *       its filters and ours hold the same counters
 * Two hashes of one key may name the same counter, which then grows twice, as there.
 *
 * All functions but create and destroy may be called from several threads at once. No count is lost; but two threads
 * that add the same key side by side may be told the same frequency, so the caller lets one thread at a time add a key
 * where that matters. */
#ifndef TS_BLOOM_H
#define TS_BLOOM_H

#include "base/base.h"

#define TS_BLOOM_HASHES 64u /* most of k: an error of 2^-64 */

typedef struct ts_bloom ts_bloom;

/* A filter for `keys` keys with false positive probability `error`, counters of 8, 16, 32 or 64 bits that stop at
 * `frequency`. All its memory is charged first: charge(context, bytes) answers whether it may be taken, and is told the
 * negative number when it is given back. Errors: TS_EINVAL (also: the counters cannot hold the frequency), TS_EFULL
 * (charge refused), TS_ENOMEM. */
int32_t ts_bloom_create(uint64_t keys, double error, uint32_t counter_bits, uint64_t frequency,
                        bool (*charge)(void *context, int64_t bytes), void *context, ts_bloom **out, ts_err err);
void ts_bloom_destroy(ts_bloom *bloom); /* NULL is accepted */

/* Counts n sights of the key; returns its frequency before them. */
uint64_t ts_bloom_add(ts_bloom *bloom, int64_t key, uint64_t n);
uint64_t ts_bloom_frequency(const ts_bloom *bloom, int64_t key);
/* Bytes charged. */
uint64_t ts_bloom_bytes(const ts_bloom *bloom);

/* Its counters as bytes: how many, and a part of them out and in. Loading must be alone with the filter. */
uint64_t ts_bloom_counter_bytes(const ts_bloom *bloom);
void ts_bloom_save(const ts_bloom *bloom, uint64_t first, uint64_t bytes, void *out);
void ts_bloom_clear(ts_bloom *bloom);
void ts_bloom_load(ts_bloom *bloom, uint64_t first, uint64_t bytes, const void *in);

/* The parameters and the counters, for descriptions and tests. */
uint64_t ts_bloom_counters(const ts_bloom *bloom); /* m */
uint32_t ts_bloom_hashes(const ts_bloom *bloom);   /* k */
uint32_t ts_bloom_width(const ts_bloom *bloom);    /* bytes of a counter */
/* The key's counters, k of them. */
void ts_bloom_indices(const ts_bloom *bloom, int64_t key, uint64_t *indices);
uint64_t ts_bloom_counter(const ts_bloom *bloom, uint64_t index);

#endif
