/* key_table.h - key -> 32-bit word, one cache line an access: buckets of five keys with their words side by side.
 *
 * A key lies in its home bucket or, if that is full, in the next that is not; each bucket counts the keys that went
 * past it, so a search ends where none did, and entries leave without moving others: an entry's place stays its place.
 * Any number of buckets: homes are taken by multiplication. */
#ifndef TS_KEY_TABLE_H
#define TS_KEY_TABLE_H

#include "base/base.h"

#define TS_BUCKET_KEYS 5u

typedef struct ts_key_bucket {
  int64_t keys[TS_BUCKET_KEYS];
  uint32_t words[TS_BUCKET_KEYS];
  uint32_t used : 5, past : 27;
} ts_key_bucket;
_Static_assert(sizeof(ts_key_bucket) == 64, "a bucket is a cache line");

typedef struct ts_key_table {
  ts_key_bucket *buckets;
  uint64_t count; /* of buckets */
} ts_key_table;

/* The place of an entry: bucket * 8 + slot. */
#define TS_NO_ENTRY UINT32_MAX
#define TS_KEY_TABLE_MOST (UINT64_C(1) << 29) /* buckets */

/* Room for `entries` with `load` of the places used. False: out of memory, or too many. */
bool ts_key_table_init(ts_key_table *table, uint64_t entries, double load);
void ts_key_table_free(ts_key_table *table);
static inline uint64_t ts_key_table_bytes(const ts_key_table *table) { return table->count * sizeof(ts_key_bucket); }

static inline uint64_t ts_key_hash(int64_t key) { return ts_mix64((uint64_t)key + 0x9e3779b97f4a7c15u); }
static inline uint64_t ts_key_home(const ts_key_table *table, uint64_t hash) {
  return (uint64_t)((unsigned __int128)hash * table->count >> 64);
}
static inline void ts_key_ask(const ts_key_table *table, uint64_t home) { __builtin_prefetch(&table->buckets[home], 1); }

static inline int64_t *ts_key_at(const ts_key_table *table, uint32_t entry) {
  return &table->buckets[entry >> 3].keys[entry & 7];
}
static inline uint32_t *ts_key_word(const ts_key_table *table, uint32_t entry) {
  return &table->buckets[entry >> 3].words[entry & 7];
}

static inline uint32_t ts_key_match(const ts_key_bucket *b, int64_t key) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < TS_BUCKET_KEYS; i++) mask |= (uint32_t)(b->keys[i] == key) << i;
  return mask & b->used;
}

/* Keys stay where they are when others leave, so in a small table every bucket can have been passed while there is room: a search
 * ends where it began. */
static inline uint32_t ts_key_find(const ts_key_table *table, int64_t key, uint64_t home) {
  uint64_t at = home;
  do {
    const ts_key_bucket *b = &table->buckets[at];
    const uint32_t match = ts_key_match(b, key);
    if (match != 0) return (uint32_t)(at << 3) | (uint32_t)__builtin_ctz(match);
    if (TS_LIKELY(b->past == 0)) break;
    at = at + 1 < table->count ? at + 1 : 0;
  } while (at != home);
  return TS_NO_ENTRY;
}

/* An absent key; there must be room. */
static inline uint32_t ts_key_add(ts_key_table *table, int64_t key, uint64_t home, uint32_t word) {
  uint64_t at = home;
  ts_key_bucket *b = &table->buckets[at];
  while (TS_UNLIKELY(b->used == (1u << TS_BUCKET_KEYS) - 1)) {
    b->past++;
    at = at + 1 < table->count ? at + 1 : 0;
    b = &table->buckets[at];
  }
  const uint32_t slot = (uint32_t)__builtin_ctz(~(uint32_t)b->used);
  b->used |= 1u << slot;
  b->keys[slot] = key;
  b->words[slot] = word;
  return (uint32_t)(at << 3) | slot;
}

static inline void ts_key_remove(ts_key_table *table, uint32_t entry) {
  const uint64_t at = entry >> 3;
  const uint32_t slot = entry & 7;
  const uint64_t home = ts_key_home(table, ts_key_hash(table->buckets[at].keys[slot]));
  for (uint64_t b = home; TS_UNLIKELY(b != at); b = b + 1 < table->count ? b + 1 : 0) table->buckets[b].past--;
  table->buckets[at].used &= ~(1u << slot);
}

/* Takes the keys out of n that came before among them, and writes those that are left; to may be keys. `seen` has room for them, is
 * empty, and is again. */
uint64_t ts_key_once(ts_key_table *seen, const int64_t *keys, uint64_t n, int64_t *to);

/* Distinct keys of a stream, estimated within 2 % or so (HyperLogLog, Flajolet et al. 2007, 16,384 registers): how large a
 * table is worth making. */
#define TS_DISTINCT_BITS 14
typedef struct ts_distinct {
  uint8_t registers[1u << TS_DISTINCT_BITS];
} ts_distinct;
static inline void ts_distinct_add(ts_distinct *seen, uint64_t hash) { /* of ts_key_hash */
  const uint8_t zeros = (uint8_t)(__builtin_clzll(hash << TS_DISTINCT_BITS | 1) + 1);
  uint8_t *r = &seen->registers[hash >> (64 - TS_DISTINCT_BITS)];
  if (zeros > *r) *r = zeros;
}
/* Never more than n. */
uint64_t ts_distinct_of(const ts_distinct *seen, uint64_t n);
uint64_t ts_distinct_estimate(const int64_t *keys, uint64_t n);

#endif
