/* segment.h - the arrays of buckets below an index, and the directory that names them. A segment is what grows, splits
 * and is replaced as a whole; readers that came before go on in the one they found. */
#ifndef TS_INDEX_SEGMENT_H
#define TS_INDEX_SEGMENT_H

#include "index/bucket.h"

#define TS_SEGMENT_BLOCK_BITS 9u /* buckets a block */
#define TS_SEGMENT_BLOCK (1u << TS_SEGMENT_BLOCK_BITS)
#define TS_SEGMENT_FIRST 4u    /* buckets of the smallest */
#define TS_SEGMENT_MOST 8192u  /* buckets: half a megabyte, a fraction of a millisecond to rebuild */

static_assert(TS_SEGMENT_FIRST * TS_BUCKET_SLOTS == TS_INDEX_FIRST, "what every index has");
static_assert(TS_SEGMENT_BLOCK * sizeof(ts_bucket) == TS_INDEX_BLOCK, "a block is a power of two of buckets");

typedef struct ts_segment {
  /* The writer's, on a cache line of its own. */
  _Alignas(64) uint32_t live, reserved; /* slots */
  uint32_t removed;                     /* since the segment was last settled */
  uint32_t number;
  struct ts_segment *next; /* of those that wait to be freed */
  struct ts_segment *before, *after; /* of those that may have reservations: index->reserving */
  bool listed;
  /* Everybody's, constant. */
  _Alignas(64) uint32_t buckets;
  uint32_t depth; /* hash bits that name this segment, after the skipped ones */
  uint32_t stride; /* from one bucket to the next of a walk: ts_segment_visited */
  ts_bucket *blocks[];
} ts_segment;

typedef struct ts_index_directory {
  uint32_t skip, depth;
  struct ts_index_directory *next; /* of those that wait to be freed */
  ts_segment *_Atomic segments[];  /* [1 << depth] */
} ts_index_directory;

static inline ts_index_directory *ts_index_directory_of(const ts_index *index) {
  return atomic_load_explicit(&index->directory, memory_order_acquire);
}

/* Shifts by 64 are undefined, so the last shift is split. */
static inline uint64_t ts_directory_position(const ts_index_directory *d, uint64_t hash) {
  return (hash << d->skip >> 1) >> (63 - d->depth);
}

static inline ts_segment *ts_directory_segment(const ts_index_directory *d, uint64_t position) {
  return atomic_load_explicit(&d->segments[position], memory_order_acquire);
}

static inline ts_segment *ts_segment_of(const ts_index *index, uint64_t hash) {
  const ts_index_directory *d = ts_index_directory_of(index);
  return ts_directory_segment(d, ts_directory_position(d, hash));
}

/* The low half of the hash as a fraction of the segment. */
static inline uint32_t ts_segment_home(const ts_segment *s, uint64_t hash) {
  return (uint32_t)((hash & 0xFFFFFFFFu) * s->buckets >> 32);
}

static inline ts_bucket *ts_segment_bucket(const ts_segment *s, uint32_t bucket) {
  return s->blocks[bucket >> TS_SEGMENT_BLOCK_BITS] + (bucket & (TS_SEGMENT_BLOCK - 1));
}

/* The bucket that a walk visits as number `n`. Not in the order of homes: whoever adds the keys of a walk to another index
 * would fill each of its segments from one end, and search ever longer there. A stride of the golden section leaves what was
 * visited so far spread evenly, wherever the walk is (the three-distance theorem); it has no divisor in common with the
 * number of buckets, so each has its turn. */
static inline uint32_t ts_segment_visited(const ts_segment *s, uint32_t n) {
  return (uint32_t)((uint64_t)n * s->stride % s->buckets);
}

/* The bucket that a search for a key visits as number `step`: 0 is its home, 1 is one of the TS_SEGMENT_NEAR after it, by bits
 * of the hash that nothing else depends on, and from there on they follow each other. Keys that a full bucket sends away so
 * do not all fill the one behind it, which would send its own away: at 78 % load a key is 0.17 to 0.18 buckets from home, and
 * would be 0.25 if the next bucket were always the second. Most are in the same page of 4 KiB as the home. Steps 0 to
 * s->buckets visit all. */
#define TS_SEGMENT_NEAR 32u
static inline uint32_t ts_segment_visit(const ts_segment *s, uint64_t hash, uint32_t step) {
  const uint32_t home = ts_segment_home(s, hash);
  return step == 0 ? home : (home + (uint32_t)(hash >> 32) % TS_SEGMENT_NEAR + step) % s->buckets;
}

/* ---- segment.c ---- */

uint64_t ts_segment_bytes(uint32_t buckets);
/* Empty, not yet in the directory. The bytes are charged by the caller. NULL: out of memory. */
ts_segment *ts_segment_create(ts_blocks *blocks, uint32_t buckets, uint32_t depth, uint32_t number);
void ts_segment_destroy(ts_blocks *blocks, ts_segment *s);

/* Finds a key at any speed; right beside the writer. */
ts_location ts_segment_find(const ts_segment *s, int64_t key, uint64_t hash);

/* The writer's: slot of a key, false if absent. */
bool ts_segment_locate(const ts_segment *s, int64_t key, uint64_t hash, ts_bucket **bucket, uint32_t *slot);
void ts_segment_insert(ts_segment *s, ts_epochs *epochs, int64_t key, uint64_t hash, ts_location location);
/* Adds all entries of a segment to one or, by the hash bit below its name, two new ones that nobody sees yet. */
void ts_segment_rehash(const ts_segment *from, uint32_t skip, ts_segment *to[2]);
/* Undoes what many removals and insertions do to a segment, in place: keys come home where room has become free, and
 * marks that nobody needs are cleared. Cursors begin the segment again: it gets a new number. */
void ts_segment_settle(ts_segment *s, ts_epochs *epochs, uint32_t number);

/* Which half a split segment's key goes to. */
static inline uint32_t ts_segment_side(uint64_t hash, uint32_t skip, uint32_t depth) {
  return (uint32_t)(hash << skip >> (63 - depth)) & 1;
}

/* ---- growth.c ---- */

uint64_t ts_directory_bytes(uint32_t depth);
/* Charged, without segments; TS_EFULL or TS_ENOMEM. */
int32_t ts_directory_create(ts_index *index, uint32_t depth, ts_index_directory **out);
void ts_directory_destroy(ts_index *index, ts_index_directory *d);
/* Charged; TS_EFULL or TS_ENOMEM. */
int32_t ts_index_new_segment(ts_index *index, uint32_t buckets, uint32_t depth, ts_segment **out);
void ts_index_free_segment(ts_index *index, ts_segment *s);
/* A directory with one empty segment, charged, that nobody sees yet; TS_EFULL or TS_ENOMEM. */
int32_t ts_index_beginning(ts_index *index, uint32_t buckets, ts_index_directory **out);
/* A directory with all its segments. */
void ts_index_free_all(ts_index *index, ts_index_directory *d);

#endif
