/* index.c - see index.h for the idea. */
#include "index/index.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_EMPTY 0xFFu /* in `high` */
#define BUCKET 8u
#define FIRST_BUCKETS 4u
#define MAX_BUCKETS 8192u /* a segment of 64 Ki slots takes about 850 KB and 1.2 ms to rebuild */
#define AHEAD 12u         /* keys between prefetch and probe: enough to cover a memory access at a few ns a key */

/* Slots filled when a segment is rebuilt. Just after a rebuild by an eighth the load is 0.74, that is 17.6 bytes a
 * key; at the limit 15.9. Linear probing over buckets of eight still finds 95 % of keys in their home bucket. */
#define LOAD_LIMIT(buckets) ((uint32_t)((uint64_t)(buckets) * BUCKET * 82 / 100))
#define BUCKETS_FOR(keys) ((uint32_t)(((uint64_t)(keys) * 100 / 74 + BUCKET - 1) / BUCKET))

static uint64_t segment_bytes(uint32_t buckets) {
  return sizeof(ts_index_segment) + (uint64_t)buckets * (BUCKET * sizeof(int64_t) + sizeof(ts_index_bucket_locations));
}

static uint64_t directory_bytes(uint32_t depth) { return sizeof(ts_index_segment *) << depth; }

static bool take(ts_index *index, uint64_t bytes) {
  return index->charge(index->charge_context, (int64_t)bytes);
}

static void give_back(ts_index *index, uint64_t bytes) { index->charge(index->charge_context, -(int64_t)bytes); }

/* TS_EFULL if the budget refuses. */
static int32_t segment_create(ts_index *index, uint32_t buckets, uint32_t depth, ts_index_segment **out) {
  if (!take(index, segment_bytes(buckets))) return TS_EFULL;
  ts_index_segment *s = calloc(1, sizeof *s);
  size_t key_bytes = (size_t)buckets * BUCKET * sizeof(int64_t);
  if (s != NULL) {
    s->keys = aligned_alloc(64, key_bytes);
    s->locations = malloc(buckets * sizeof *s->locations);
  }
  if (s == NULL || s->keys == NULL || s->locations == NULL) {
    if (s != NULL) {
      free(s->keys);
      free(s->locations);
    }
    free(s);
    give_back(index, segment_bytes(buckets));
    return TS_ENOMEM;
  }
  s->buckets = buckets;
  s->depth = depth;
  memset(s->keys, 0, key_bytes);
  memset(s->locations, 0xFF, buckets * sizeof *s->locations);
  *out = s;
  return TS_OK;
}

static void segment_destroy(ts_index *index, ts_index_segment *s) {
  give_back(index, segment_bytes(s->buckets));
  free(s->keys);
  free(s->locations);
  free(s);
}

static inline ts_index_segment *segment_of(const ts_index *index, uint64_t hash) {
  return index->directory[index->depth == 0 ? 0 : hash >> (64 - index->depth)];
}

static inline uint32_t home_bucket(const ts_index_segment *s, uint64_t hash) {
  return (uint32_t)((hash & 0xFFFFFFFFu) * s->buckets >> 32);
}

static inline ts_location location_at(const ts_index_bucket_locations *l, uint32_t slot) {
  return (uint64_t)l->high[slot] << 32 | l->low[slot];
}

static inline void set_location(ts_index_bucket_locations *l, uint32_t slot, ts_location location) {
  l->high[slot] = (uint8_t)(location >> 32);
  l->low[slot] = (uint32_t)location;
}

/* Finds the slot of a key; false if absent. */
static inline bool probe(const ts_index_segment *s, int64_t key, uint64_t hash, uint32_t *bucket, uint32_t *slot) {
  uint32_t b = home_bucket(s, hash);
  for (uint32_t tried = 0; tried < s->buckets; tried++) {
    const int64_t *keys = s->keys + (size_t)b * BUCKET;
    const ts_index_bucket_locations *l = &s->locations[b];
    uint32_t match = 0;
    for (uint32_t j = 0; j < BUCKET; j++) match |= (uint32_t)(keys[j] == key) << j;
    while (match != 0) {
      uint32_t j = (uint32_t)__builtin_ctz(match);
      if (l->high[j] != SLOT_EMPTY) {
        *bucket = b;
        *slot = j;
        return true;
      }
      match &= match - 1;
    }
    for (uint32_t j = 0; j < BUCKET; j++)
      if (l->high[j] == SLOT_EMPTY) return false;
    if (++b == s->buckets) b = 0;
  }
  return false;
}

static void segment_insert(ts_index_segment *s, int64_t key, uint64_t hash, ts_location location) {
  uint32_t b = home_bucket(s, hash);
  for (;;) {
    ts_index_bucket_locations *l = &s->locations[b];
    for (uint32_t j = 0; j < BUCKET; j++) {
      if (l->high[j] != SLOT_EMPTY) continue;
      s->keys[(size_t)b * BUCKET + j] = key;
      set_location(l, j, location);
      s->live++;
      return;
    }
    if (++b == s->buckets) b = 0;
  }
}

int32_t ts_index_init(ts_index *index, ts_index_charge charge, void *context) {
  *index = (ts_index){.charge = charge, .charge_context = context};
  if (!take(index, directory_bytes(0))) return TS_EFULL;
  index->directory = malloc(directory_bytes(0));
  if (index->directory == NULL) {
    give_back(index, directory_bytes(0));
    return TS_ENOMEM;
  }
  int32_t status = segment_create(index, FIRST_BUCKETS, 0, &index->directory[0]);
  if (status != TS_OK) {
    free(index->directory);
    index->directory = NULL;
    give_back(index, directory_bytes(0));
  }
  return status;
}

void ts_index_destroy(ts_index *index) {
  if (index->directory == NULL) return;
  uint64_t n = UINT64_C(1) << index->depth;
  for (uint64_t i = 0; i < n;) {
    ts_index_segment *s = index->directory[i];
    i += n >> s->depth;
    segment_destroy(index, s);
  }
  free(index->directory);
  give_back(index, directory_bytes(index->depth));
  index->directory = NULL;
}

/* Into which half a split segment's key goes. */
static inline uint32_t side_of(uint64_t hash, uint32_t depth) { return (uint32_t)(hash >> (63 - depth)) & 1; }

/* Entries that go into the second half. */
static uint32_t live_on_second_side(const ts_index_segment *s) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < s->buckets; b++)
    for (uint32_t j = 0; j < BUCKET; j++)
      if (s->locations[b].high[j] != SLOT_EMPTY) n += side_of(ts_index_hash(s->keys[(size_t)b * BUCKET + j]), s->depth);
  return n;
}

/* Copies the live entries of `from`, each into the segment that its hash names among `to[0]` and `to[1]`. */
static void rehash(const ts_index_segment *from, ts_index_segment *to[2]) {
  for (uint32_t b = 0; b < from->buckets; b++)
    for (uint32_t j = 0; j < BUCKET; j++) {
      const ts_index_bucket_locations *l = &from->locations[b];
      if (l->high[j] == SLOT_EMPTY) continue;
      int64_t key = from->keys[(size_t)b * BUCKET + j];
      uint64_t hash = ts_index_hash(key);
      segment_insert(to[to[1] == NULL ? 0 : side_of(hash, from->depth)], key, hash, location_at(l, j));
    }
}

/* Doubles the directory, so that segments can be named by one more bit. */
static int32_t deepen(ts_index *index, uint64_t *wanted) {
  uint64_t bytes = directory_bytes(index->depth + 1), n = UINT64_C(1) << index->depth;
  *wanted = bytes;
  if (!take(index, bytes)) return TS_EFULL;
  ts_index_segment **directory = malloc(bytes);
  if (directory == NULL) {
    give_back(index, bytes);
    return TS_ENOMEM;
  }
  for (uint64_t i = 0; i < n; i++) directory[2 * i] = directory[2 * i + 1] = index->directory[i];
  free(index->directory);
  give_back(index, directory_bytes(index->depth));
  index->directory = directory;
  index->depth++;
  return TS_OK;
}

/* Shares a split segment's reservations: those of this batch go where their hash says; of earlier ones only the
 * number is known, so each half keeps them all. */
static void share_reservations(uint32_t reserved, uint32_t depth, uint64_t name, const uint64_t *hashes, uint32_t n,
                               ts_index_segment *to[2]) {
  uint32_t here = 0;
  for (uint32_t i = 0; i < n; i++) {
    if ((depth == 0 ? 0 : hashes[i] >> (64 - depth)) != name) continue;
    to[side_of(hashes[i], depth)]->reserved++;
    here++;
  }
  to[0]->reserved += reserved - here;
  to[1]->reserved += reserved - here;
}

/* Rebuilds the segment at this directory position with room for its reservations. */
static int32_t grow(ts_index *index, uint64_t position, const uint64_t *hashes, uint32_t n, uint64_t *wanted) {
  ts_index_segment *old = index->directory[position];
  uint32_t need = old->live + old->reserved;
  uint32_t buckets = TS_MAX(BUCKETS_FOR(need), FIRST_BUCKETS);
  ts_index_segment *to[2] = {NULL, NULL};
  int32_t status;
  if (buckets <= MAX_BUCKETS) {
    *wanted = segment_bytes(buckets);
    status = segment_create(index, buckets, old->depth, &to[0]);
    if (status != TS_OK) return status;
  } else {
    if (old->depth == index->depth) {
      status = deepen(index, wanted);
      if (status != TS_OK) return status;
      position *= 2;
    }
    /* Room for what each half has and for half the reservations, and a little for chance; the caller looks again and
     * grows a half that lacks. Keys chosen for it may all be on one side. */
    uint32_t second = live_on_second_side(old), chance = old->reserved / 2 + need / 256 + 16;
    uint32_t half[2] = {BUCKETS_FOR(old->live - second + chance), BUCKETS_FOR(second + chance)};
    *wanted = segment_bytes(half[0]) + segment_bytes(half[1]);
    for (int side = 0; side < 2; side++) {
      status = segment_create(index, half[side], old->depth + 1, &to[side]);
      if (status != TS_OK) {
        if (to[0] != NULL) segment_destroy(index, to[0]);
        return status;
      }
    }
  }
  rehash(old, to);
  uint64_t span = (UINT64_C(1) << index->depth) >> old->depth;
  uint64_t first = position / span * span;
  for (uint64_t i = 0; i < span; i++) index->directory[first + i] = to[1] != NULL && i >= span / 2 ? to[1] : to[0];
  if (to[1] == NULL)
    to[0]->reserved = old->reserved;
  else
    share_reservations(old->reserved, old->depth, position / span, hashes, n, to);
  segment_destroy(index, old);
  return TS_OK;
}

int32_t ts_index_reserve(ts_index *index, const uint64_t *hashes, uint32_t n, uint64_t *wanted) {
  for (uint32_t i = 0; i < n; i++) segment_of(index, hashes[i])->reserved++;
  for (uint32_t i = 0; i < n; i++) {
    for (;;) {
      ts_index_segment *s = segment_of(index, hashes[i]);
      if ((uint64_t)s->live + s->reserved <= LOAD_LIMIT(s->buckets)) break;
      uint64_t position = index->depth == 0 ? 0 : hashes[i] >> (64 - index->depth);
      int32_t status = grow(index, position, hashes, n, wanted);
      if (status != TS_OK) return status;
    }
  }
  return TS_OK;
}

void ts_index_clear_reservations(ts_index *index) {
  uint64_t n = UINT64_C(1) << index->depth;
  for (uint64_t i = 0; i < n;) {
    ts_index_segment *s = index->directory[i];
    s->reserved = 0;
    i += n >> s->depth;
  }
}

void ts_index_find(const ts_index *index, const int64_t *keys, const uint64_t *hashes, uint32_t n,
                   ts_location *locations) {
  for (uint32_t i = 0; i < n + AHEAD; i++) {
    if (i < n) {
      const ts_index_segment *s = segment_of(index, hashes[i]);
      uint32_t b = home_bucket(s, hashes[i]);
      __builtin_prefetch(s->keys + (size_t)b * BUCKET);
      __builtin_prefetch(&s->locations[b]);
    }
    if (i < AHEAD) continue;
    uint32_t k = i - AHEAD, bucket, slot;
    const ts_index_segment *s = segment_of(index, hashes[k]);
    locations[k] = probe(s, keys[k], hashes[k], &bucket, &slot) ? location_at(&s->locations[bucket], slot)
                                                                : TS_LOCATION_NONE;
  }
}

ts_location ts_index_find_one(const ts_index *index, int64_t key) {
  uint64_t hash = ts_index_hash(key);
  ts_location location;
  ts_index_find(index, &key, &hash, 1, &location);
  return location;
}

void ts_index_insert(ts_index *index, int64_t key, uint64_t hash, ts_location location) {
  ts_index_segment *s = segment_of(index, hash);
  segment_insert(s, key, hash, location);
  if (s->reserved > 0) s->reserved--;
  index->live++;
}

void ts_index_move(ts_index *index, int64_t key, ts_location location) {
  uint64_t hash = ts_index_hash(key);
  ts_index_segment *s = segment_of(index, hash);
  uint32_t bucket, slot;
  if (probe(s, key, hash, &bucket, &slot)) set_location(&s->locations[bucket], slot, location);
}

bool ts_index_next(const ts_index *index, ts_index_cursor *c, int64_t *key, ts_location *location) {
  uint64_t n = UINT64_C(1) << index->depth;
  while (c->segment < n) {
    const ts_index_segment *s = index->directory[c->segment];
    for (; c->bucket < s->buckets; c->bucket++, c->slot = 0)
      while (c->slot < BUCKET) {
        uint32_t j = c->slot++;
        const ts_index_bucket_locations *l = &s->locations[c->bucket];
        if (l->high[j] == SLOT_EMPTY) continue;
        *key = s->keys[(size_t)c->bucket * BUCKET + j];
        *location = location_at(l, j);
        return true;
      }
    c->segment += n >> s->depth;
    c->bucket = c->slot = 0;
  }
  return false;
}
