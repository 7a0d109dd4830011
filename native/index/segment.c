/* segment.c - see segment.h. A key goes to the first bucket with a free slot of those that a search for it visits; every
 * full bucket on the way gets the overflow mark. A search follows the marks, so that a miss ends at the first bucket
 * that nobody had to pass. */
#include "index/segment.h"

#include <sched.h>

#define SPINS_BEFORE_YIELD 100u
#define SETTLE_ROUNDS 3u
#define SETTLE_WORTH 32u /* a round that brought home fewer than a key for so many buckets is the last */

static uint32_t blocks_of(uint32_t buckets) {
  return (buckets + TS_SEGMENT_BLOCK - 1) / TS_SEGMENT_BLOCK;
}

static uint64_t header_bytes(uint32_t buckets) {
  return TS_ROUND_UP(sizeof(ts_segment) + blocks_of(buckets) * sizeof(ts_bucket *), 64u);
}

/* Below one block: as a piece. */
uint64_t ts_segment_bytes(uint32_t buckets) {
  uint64_t whole = buckets < TS_SEGMENT_BLOCK ? ts_piece_bytes(buckets * sizeof(ts_bucket)) : blocks_of(buckets) * TS_INDEX_BLOCK;
  return ts_piece_bytes(header_bytes(buckets)) + whole;
}

void ts_segment_destroy(ts_blocks *blocks, ts_segment *s) {
  if (s->buckets < TS_SEGMENT_BLOCK)
    ts_piece_give_back(ts_blocks_pieces(blocks), s->blocks[0], s->buckets * sizeof(ts_bucket));
  else
    for (uint32_t i = 0; i < blocks_of(s->buckets); i++) ts_blocks_give_back(blocks, s->blocks[i]);
  ts_piece_give_back(ts_blocks_pieces(blocks), s, header_bytes(s->buckets));
}

/* About 0.618 of the buckets; see ts_segment_visited. */
static uint32_t stride_of(uint32_t buckets) {
  for (uint32_t stride = (uint32_t)((uint64_t)buckets * 0x9e3779b9u >> 32) | 1u;; stride++) {
    uint32_t a = buckets, b = stride;
    while (b != 0) {
      const uint32_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return stride;
  }
}

ts_segment *ts_segment_create(ts_blocks *blocks, uint32_t buckets, uint32_t depth, uint32_t number) {
  ts_pieces *pieces = ts_blocks_pieces(blocks);
  ts_segment *s = ts_piece_take(pieces, header_bytes(buckets));
  if (s == NULL) return NULL;
  s->buckets = buckets;
  s->depth = depth;
  s->stride = stride_of(buckets);
  s->number = number;
  for (uint32_t i = 0; i < blocks_of(buckets); i++) {
    s->blocks[i] = buckets < TS_SEGMENT_BLOCK ? ts_piece_take(pieces, buckets * sizeof(ts_bucket)) : ts_blocks_take(blocks);
    if (s->blocks[i] == NULL) {
      ts_segment_destroy(blocks, s); /* gives back those it has */
      return NULL;
    }
    ts_bucket_clear(s->blocks[i], TS_MIN(buckets - i * TS_SEGMENT_BLOCK, TS_SEGMENT_BLOCK));
  }
  return s;
}

ts_location ts_segment_find(const ts_segment *s, int64_t key, uint64_t hash) {
  for (uint32_t step = 0; step <= s->buckets; step++) {
    const ts_bucket *bucket = ts_segment_bucket(s, ts_segment_visit(s, hash, step));
    ts_bucket_answer answer;
    for (uint32_t spins = 0; !ts_bucket_look(bucket, key, &answer); spins++)
      if (spins > SPINS_BEFORE_YIELD) sched_yield(); /* the writer may not be running */
    if (answer.location != TS_LOCATION_NONE || !answer.overflow) return answer.location;
  }
  return TS_LOCATION_NONE;
}

bool ts_segment_locate(const ts_segment *s, int64_t key, uint64_t hash, ts_bucket **bucket, uint32_t *slot) {
  for (uint32_t step = 0; step <= s->buckets; step++) {
    ts_bucket *at = ts_segment_bucket(s, ts_segment_visit(s, hash, step));
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      if (ts_bucket_key(at, j) != key || ts_bucket_location(at, j) == TS_BUCKET_EMPTY) continue;
      *bucket = at;
      *slot = j;
      return true;
    }
    if ((ts_bucket_meta(at) & TS_BUCKET_OVERFLOW) == 0) return false;
  }
  return false;
}

/* The first free slot for a key. There is one: a segment is never filled to the last. Marks what it passes. */
static inline ts_bucket *place_for(const ts_segment *s, uint64_t hash, uint32_t *slot) {
  for (uint32_t step = 0;; step++) {
    ts_bucket *bucket = ts_segment_bucket(s, ts_segment_visit(s, hash, step));
    *slot = ts_bucket_free_slot(bucket);
    if (*slot < TS_BUCKET_SLOTS) return bucket;
    if ((ts_bucket_meta(bucket) & TS_BUCKET_OVERFLOW) == 0) ts_bucket_mark(bucket, true);
  }
}

void ts_segment_insert(ts_segment *s, ts_epochs *epochs, int64_t key, uint64_t hash, ts_location location) {
  uint32_t slot;
  ts_bucket *bucket = place_for(s, hash, &slot);
  ts_bucket_change(bucket, epochs, slot, key, location);
  s->live++;
}

/* How many slots of each bucket are filled: from the first one on, as nothing was ever removed. */
static void count_filled(const ts_segment *s, uint8_t *filled) {
  memset(filled, 0, s->buckets);
  if (s->live == 0) return;
  for (uint32_t b = 0; b < s->buckets; b++)
    while (filled[b] < TS_BUCKET_SLOTS && ts_bucket_location(ts_segment_bucket(s, b), filled[b]) != TS_BUCKET_EMPTY) filled[b]++;
}

/* Without the counts of count_filled, which would be too many: each key at home or after it, in the order of arrival. */
static void rehash_in_one_pass(const ts_segment *from, uint32_t skip, ts_segment *to[2]) {
  for (uint32_t b = 0; b < from->buckets; b++)
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      const ts_bucket *old = ts_segment_bucket(from, b);
      if (ts_bucket_location(old, j) == TS_BUCKET_EMPTY) continue;
      const uint64_t hash = ts_index_hash(ts_bucket_key(old, j));
      ts_segment *s = to[to[1] == NULL ? 0 : ts_segment_side(hash, skip, from->depth)];
      uint32_t slot;
      ts_bucket *bucket = place_for(s, hash, &slot);
      ts_bucket_fill(bucket, slot, ts_bucket_key(old, j), ts_bucket_location(old, j));
      s->live++;
    }
}

/* In two passes, so that a key leaves its home only if its home is full of keys at home: that leaves the fewest
 * elsewhere (8 % at three quarters full; in the order of arrival it would be 12 %). Keys of the second pass are noted in
 * a byte for each bucket; a segment larger than the usual goes without. Homes are in the order of the old buckets, so
 * both passes run through old and new memory from front to back. The new segments' slots are counted here, so that no
 * key waits for what the one before it wrote. */
void ts_segment_rehash(const ts_segment *from, uint32_t skip, ts_segment *to[2]) {
  uint8_t later[TS_SEGMENT_MOST], filled[2][TS_SEGMENT_MOST];
  const uint32_t halves = to[1] == NULL ? 1 : 2;
  if (from->buckets > TS_SEGMENT_MOST || to[0]->buckets > TS_SEGMENT_MOST || (halves == 2 && to[1]->buckets > TS_SEGMENT_MOST)) {
    rehash_in_one_pass(from, skip, to);
    return;
  }
  uint32_t live[2] = {0, 0};
  for (uint32_t i = 0; i < halves; i++) count_filled(to[i], filled[i]);
  for (uint32_t b = 0; b < from->buckets; b++) {
    const ts_bucket *old = ts_segment_bucket(from, b);
    uint8_t full = 0;
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      const ts_location location = ts_bucket_location(old, j);
      if (location == TS_BUCKET_EMPTY) continue;
      const int64_t key = ts_bucket_key(old, j);
      const uint64_t hash = ts_index_hash(key);
      const uint32_t side = halves == 1 ? 0 : ts_segment_side(hash, skip, from->depth);
      const uint32_t home = ts_segment_home(to[side], hash), slot = filled[side][home];
      if (slot == TS_BUCKET_SLOTS) {
        full |= (uint8_t)(1u << j);
        continue;
      }
      ts_bucket_fill(ts_segment_bucket(to[side], home), slot, key, location);
      filled[side][home] = (uint8_t)(slot + 1);
      live[side]++;
    }
    later[b] = full;
  }
  for (uint32_t i = 0; i < halves; i++) to[i]->live += live[i];
  for (uint32_t b = 0; b < from->buckets; b++) {
    const ts_bucket *old = ts_segment_bucket(from, b);
    for (uint32_t left = later[b]; left != 0; left &= left - 1) {
      const uint32_t j = (uint32_t)__builtin_ctz(left);
      const uint64_t hash = ts_index_hash(ts_bucket_key(old, j));
      ts_segment *s = to[halves == 1 ? 0 : ts_segment_side(hash, skip, from->depth)];
      uint32_t slot;
      ts_bucket *bucket = place_for(s, hash, &slot);
      ts_bucket_fill(bucket, slot, ts_bucket_key(old, j), ts_bucket_location(old, j));
      s->live++;
    }
  }
}

/* Clears the overflow marks that nobody needs: of buckets that no search passes on the way to a key that is there. */
static void sweep(ts_segment *s) {
  bool passed[TS_SEGMENT_MOST] = {false};
  for (uint32_t b = 0; b < s->buckets; b++) {
    const ts_bucket *bucket = ts_segment_bucket(s, b);
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      if (ts_bucket_location(bucket, j) == TS_BUCKET_EMPTY) continue;
      const uint64_t hash = ts_index_hash(ts_bucket_key(bucket, j));
      for (uint32_t step = 0, at; (at = ts_segment_visit(s, hash, step)) != b; step++) passed[at] = true;
    }
  }
  for (uint32_t b = 0; b < s->buckets; b++) {
    ts_bucket *bucket = ts_segment_bucket(s, b);
    if (!passed[b] && (ts_bucket_meta(bucket) & TS_BUCKET_OVERFLOW) != 0) ts_bucket_mark(bucket, false);
  }
}

/* One round of ts_segment_settle; returns how many keys came home. */
static uint32_t bring_home(ts_segment *s, ts_epochs *epochs) {
  uint8_t copied[TS_SEGMENT_MOST];
  uint32_t count = 0;
  for (uint32_t b = 0; b < s->buckets; b++) {
    ts_bucket *bucket = ts_segment_bucket(s, b);
    copied[b] = 0;
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      ts_location location = ts_bucket_location(bucket, j);
      if (location == TS_BUCKET_EMPTY) continue;
      int64_t key = ts_bucket_key(bucket, j);
      uint32_t home = ts_segment_home(s, ts_index_hash(key));
      if (home == b) continue;
      ts_bucket *at_home = ts_segment_bucket(s, home);
      uint32_t slot = ts_bucket_free_slot(at_home);
      if (slot == TS_BUCKET_SLOTS) continue;
      ts_bucket_change(at_home, epochs, slot, key, location);
      copied[b] |= (uint8_t)(1u << j);
      count++;
    }
  }
  if (count == 0) return 0;
  /* A reader that found the home without the key still finds it here; those that come now find it at home. */
  ts_epoch_wait(epochs);
  for (uint32_t b = 0; b < s->buckets; b++)
    for (uint32_t j = 0; copied[b] >> j != 0; j++)
      if (copied[b] >> j & 1)
        ts_bucket_change(ts_segment_bucket(s, b), epochs, j, TS_BUCKET_FILLER, TS_BUCKET_EMPTY);
  return count;
}

void ts_segment_settle(ts_segment *s, ts_epochs *epochs, uint32_t number) {
  s->number = number;
  s->removed = 0;
  if (s->buckets > TS_SEGMENT_MOST) return;
  for (uint32_t round = 0; round < SETTLE_ROUNDS; round++)
    if (bring_home(s, epochs) < s->buckets / SETTLE_WORTH) break;
  sweep(s);
}
