/* index.h - key -> location, lock-free to read, one writer at a time.
 *
 * The idea: bucketised open addressing in many small segments. A bucket is one cache line: five int64 keys, the low 32
 * bits of five 36-bit locations, and a word with their high 4 bits, an overflow mark and a change count; 12.8 bytes a
 * slot, found, read and checked with one memory access. A segment is an array of buckets of any number, chosen by the
 * top bits of the hash through a directory; inside it a key's home bucket comes from the low bits, and what is
 * full overflows into others near it (ts_segment_visit). A segment that fills up is rebuilt alone, an eighth larger, or split in two at its largest
 * size: the index never doubles, never stops for longer than one segment takes, and readers go on in the old segment
 * until the new one is published; the old one is freed after they left (base/epoch.h).
 *
 * Bucket storage is in blocks of TS_INDEX_BLOCK bytes from a ts_blocks, which asks for huge pages; segments smaller
 * than a block take what they need. Memory is charged by the callback before it is taken.
 *
 * Writers (reserve, insert, move, remove) are serialised by the caller; finds need no lock but must run between
 * ts_epoch_enter and ts_epoch_leave, or under the writers' lock. Writers may wait for readers: a thread must not write
 * while it is inside an epoch, nor wait inside one for the writers' lock. */
#ifndef TS_INDEX_H
#define TS_INDEX_H

#include "base/blocks.h"
#include "base/epoch.h"

/* A location: 36 bits. The three high bits are a code (a tier for the store), the rest a row number. Code 7 with all
 * other bits set marks an empty slot; the rest of code 7 is free for the caller (the store: admission counters). */
typedef uint64_t ts_location;
#define TS_LOCATION_ROW_BITS 33
#define TS_LOCATION_NONE UINT64_MAX
#define TS_LOCATION(tier, row) ((uint64_t)(tier) << TS_LOCATION_ROW_BITS | (row))
#define TS_LOCATION_TIER(l) ((uint32_t)((l) >> TS_LOCATION_ROW_BITS)) /* of TS_LOCATION_NONE: above 7 */
#define TS_LOCATION_ROW(l) ((l) & ((UINT64_C(1) << TS_LOCATION_ROW_BITS) - 1))

static inline uint64_t ts_index_hash(int64_t key) { return ts_mix64((uint64_t)key + 0x9e3779b97f4a7c15u); }

/* Takes (bytes > 0) or gives back (bytes < 0) memory; false refuses. */
typedef bool (*ts_index_charge)(void *context, int64_t bytes);

typedef struct ts_index_options {
  ts_epochs *epochs;
  ts_blocks *blocks;
  ts_index_charge charge;
  void *charge_context;
  uint32_t skip_bits;   /* high hash bits that are equal for all keys (the shard); the directory uses those below */
  uint32_t full, fresh; /* percent of slots used at which a segment is rebuilt, and after it; 0: 82 and 74 */
  /* A segment of more bytes than this is split: growth takes about so much before it gives the old one back. 0, and at
   * most: half a megabyte; at least 4 KiB. */
  uint64_t segment_bytes;
} ts_index_options;

#define TS_INDEX_FIRST 20u /* slots that every index has */

struct ts_index_directory; /* segment.h */

typedef struct ts_index {
  struct ts_index_directory *_Atomic directory; /* what readers follow; the rest is the writer's, on another line */
  ts_index_options options;
  uint64_t live, reserved;
  uint64_t most; /* entries it had at once since it last became smaller */
  struct ts_segment *reserving; /* segments that may have reservations */
  uint32_t rebuilds; /* number of the last segment made */
  _Atomic uint64_t changes; /* of entries; moved on after each: see ts_index_changes */
} ts_index;

int32_t ts_index_init(ts_index *index, const ts_index_options *options);
void ts_index_destroy(ts_index *index);
uint64_t ts_index_live(const ts_index *index);
/* Whoever reads this number, then finds keys, and later, under the writers' lock, reads the same number has found what is
 * still so: no entry was added, moved or removed meanwhile. */
static inline uint64_t ts_index_changes(const ts_index *index) {
  return atomic_load_explicit(&index->changes, memory_order_acquire);
}

/* Makes sure that the keys with these hashes can be inserted without allocating, on top of earlier reservations.
 * TS_EFULL: the budget refused *wanted bytes; TS_ENOMEM. After an error no entry has changed and this call has reserved
 * nothing; segments that grew before it stay as they are. */
int32_t ts_index_reserve(ts_index *index, const uint64_t *hashes, uint32_t n, uint64_t *wanted);
void ts_index_clear_reservations(ts_index *index);
/* Makes room for about so many keys ahead in an index that has none, in segments as growing would leave them; where the
 * budget or the system refuses that, the index stays as it is, and grows. The writer's. */
void ts_index_expect(ts_index *index, uint64_t keys);
/* Rebuilds segments that have become much too large for what they hold, or one for all where few keys are left, as far as
 * the charge allows. Returns the bytes that it gave back. The writer's; no reservation may be open. */
uint64_t ts_index_shrink(ts_index *index);
/* Whether that is worth it after removals: three quarters of the entries have gone. Asked after each removal, all shrinking
 * together takes a constant time a removal. */
static inline bool ts_index_is_wide(const ts_index *index) {
  return index->live <= index->most / 4 && index->most > TS_INDEX_FIRST;
}

/* The batch path, two stages over up to a few hundred keys whose indexes differ by shard: indexes[hash >> (64 - bits)]
 * (bits 0: indexes[0]). ts_index_approach hashes the keys and prefetches their home buckets; ts_index_read compares.
 * Kernels for AVX-512, AVX2 and the baseline are chosen by `level` (ts_cpu_level()). `homes` is opaque scratch of the
 * same length. Keys without an entry get TS_LOCATION_NONE. */
typedef struct ts_index_home {
  const void *segment, *bucket;
} ts_index_home;
void ts_index_approach(const ts_index *const *indexes, uint32_t bits, const int64_t *keys, uint32_t n, uint64_t *hashes,
                       ts_index_home *homes);
/* The two halves of ts_index_approach. at_once: the buckets are read straight afterwards, not a block of keys later; they
 * are then asked into the second-level cache, which has more accesses on their way. */
void ts_index_hash_all(uint32_t level, const int64_t *keys, uint32_t n, uint64_t *hashes);
void ts_index_aim(uint32_t level, const ts_index *const *indexes, uint32_t bits, const uint64_t *hashes, uint32_t n,
                  bool at_once, ts_index_home *homes);
/* next[0..coming), coming <= n: homes of the keys after these (or none), asked for on the way. */
void ts_index_read(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes, uint32_t n,
                   const ts_index_home *next, uint32_t coming, ts_location *locations);
/* The two halves of ts_index_read: the home buckets, and what they leave, which is asked for and best read later. left[n]
 * receives the keys of which that is so, by number; returns how many. */
typedef struct ts_index_left {
  uint32_t key, step; /* how many buckets its search has gone beyond its home */
} ts_index_left;
uint32_t ts_index_read_home(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                            uint32_t n, const ts_index_home *next, uint32_t coming, ts_location *locations,
                            ts_index_left *left);
/* One more bucket for each of them; returns how many are still to be looked for, which stay in left. The last word is
 * ts_index_read_on(..., true): all of them, whatever it takes. */
uint32_t ts_index_read_on(uint32_t level, const int64_t *keys, const uint64_t *hashes, const ts_index_home *homes,
                          ts_index_left *left, uint32_t count, bool all, ts_location *locations);
/* One index, hashes known; both stages with prefetching. */
void ts_index_find(const ts_index *index, const int64_t *keys, const uint64_t *hashes, uint32_t n,
                   ts_location *locations);
ts_location ts_index_find_one(const ts_index *index, int64_t key);

/* Asks for the bucket that a key with this hash is added to, to be written. */
void ts_index_prepare(const ts_index *index, uint64_t hash);
/* Adds an absent key; room must have been reserved. */
void ts_index_insert(ts_index *index, int64_t key, uint64_t hash, ts_location location);
/* Changes the location of a present key; readers see the old or the new one. */
void ts_index_move(ts_index *index, int64_t key, uint64_t hash, ts_location location);
/* Removes a key; false if absent. Keys of other slots stay where they are; segments shrink at their next rebuild, or by
 * ts_index_shrink. */
bool ts_index_remove(ts_index *index, int64_t key, uint64_t hash);

/* Walks all entries under the writers' lock: start with a zeroed cursor; false at the end. Entries that are inserted or
 * removed meanwhile may be missed, and a rebuild may show entries twice; a cursor stays valid across changes. */
typedef struct ts_index_cursor {
  uint64_t hash_position; /* where the segment begins, among hashes without their skipped bits */
  uint32_t bucket;        /* how many of the segment came before (ts_segment_visited) */
  uint32_t slot;          /* and above its three bits the number of the segment, to notice a rebuild */
} ts_index_cursor;
bool ts_index_next(const ts_index *index, ts_index_cursor *cursor, int64_t *key, ts_location *location);

#endif
