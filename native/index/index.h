/* index.h - key -> location of a row.
 *
 * The idea: bucketised open addressing in many small segments. A bucket is eight int64 keys in one cache line plus
 * eight 40-bit locations beside it, 13 bytes a slot. A segment is an array of buckets of any size (not a power of
 * two), chosen by the top bits of the hash through a directory; inside it, a key's home bucket comes from the low
 * bits and a full bucket overflows into the next. A segment that fills up is rebuilt alone, an eighth larger, or split
 * in two when it has reached its largest size: the whole index never doubles and never stops for longer than one
 * segment takes.
 *
 * Memory is charged to a budget by the callback before it is allocated. */
#ifndef TS_INDEX_H
#define TS_INDEX_H

#include "base/base.h"

/* A location: tier in the three high bits of 40, row number of the (table, tier) pool below. */
typedef uint64_t ts_location;
#define TS_LOCATION_ROW_BITS 37
#define TS_LOCATION_NONE UINT64_MAX
#define TS_LOCATION(tier, row) ((uint64_t)(tier) << TS_LOCATION_ROW_BITS | (row))
#define TS_LOCATION_TIER(l) ((uint32_t)((l) >> TS_LOCATION_ROW_BITS))
#define TS_LOCATION_ROW(l) ((l) & ((UINT64_C(1) << TS_LOCATION_ROW_BITS) - 1))
#define TS_INDEX_MAX_TIERS 7u /* the eighth code marks empty slots */

static inline uint64_t ts_index_hash(int64_t key) { return ts_mix64((uint64_t)key + 0x9e3779b97f4a7c15u); }

typedef struct ts_index_bucket_locations {
  uint8_t high[8]; /* tier and row bits 32..36, or empty */
  uint32_t low[8];
} ts_index_bucket_locations;

typedef struct ts_index_segment {
  int64_t *keys; /* [buckets][8], 64-byte aligned */
  ts_index_bucket_locations *locations;
  uint32_t buckets;
  uint32_t live, reserved; /* slots */
  uint32_t depth;                   /* hash bits that name this segment */
} ts_index_segment;

/* Takes (bytes > 0) or gives back (bytes < 0) memory; false refuses. */
typedef bool (*ts_index_charge)(void *context, int64_t bytes);

typedef struct ts_index {
  ts_index_segment **directory; /* [1 << depth] */
  uint32_t depth;
  uint64_t live;
  ts_index_charge charge;
  void *charge_context;
} ts_index;

int32_t ts_index_init(ts_index *index, ts_index_charge charge, void *context);
void ts_index_destroy(ts_index *index);

/* Makes sure that the keys with these hashes can be inserted without allocating, on top of earlier reservations.
 * TS_EFULL: the budget refused *wanted bytes; TS_ENOMEM. */
int32_t ts_index_reserve(ts_index *index, const uint64_t *hashes, uint32_t n, uint64_t *wanted);
void ts_index_clear_reservations(ts_index *index);

/* Batch lookup: locations[i] for each key or TS_LOCATION_NONE. Prefetches ahead. */
void ts_index_find(const ts_index *index, const int64_t *keys, const uint64_t *hashes, uint32_t n,
                   ts_location *locations);
ts_location ts_index_find_one(const ts_index *index, int64_t key);
/* Adds an absent key; room must have been reserved. */
void ts_index_insert(ts_index *index, int64_t key, uint64_t hash, ts_location location);
/* Changes the location of a present key. */
void ts_index_move(ts_index *index, int64_t key, ts_location location);

/* Walks all entries: start with a zeroed cursor; false at the end. */
typedef struct ts_index_cursor {
  uint64_t segment;
  uint32_t bucket, slot;
} ts_index_cursor;
bool ts_index_next(const ts_index *index, ts_index_cursor *cursor, int64_t *key, ts_location *location);

#endif
