/* index.c - see index.h for the idea, bucket.h for what readers may rely on, growth.c for room. */
#include "index/segment.h"

#include <stdlib.h>

int32_t ts_index_init(ts_index *index, const ts_index_options *options) {
  *index = (ts_index){.options = *options};
  if (index->options.full == 0) index->options.full = 82;
  if (index->options.fresh == 0) index->options.fresh = 74;
  if (index->options.full > 98 || index->options.fresh >= index->options.full) return TS_EINVAL;
  ts_index_directory *d;
  int32_t status = ts_index_beginning(index, TS_SEGMENT_FIRST, &d);
  if (status == TS_OK) atomic_store_explicit(&index->directory, d, memory_order_release);
  return status;
}

void ts_index_destroy(ts_index *index) {
  ts_index_directory *d = ts_index_directory_of(index);
  if (d == NULL) return;
  ts_index_free_all(index, d);
  atomic_store_explicit(&index->directory, NULL, memory_order_relaxed);
}

uint64_t ts_index_live(const ts_index *index) { return index->live; }

ts_location ts_index_find_one(const ts_index *index, int64_t key) {
  uint64_t hash = ts_index_hash(key);
  return ts_segment_find(ts_segment_of(index, hash), key, hash);
}

static void changed(ts_index *index) {
  atomic_store_explicit(&index->changes, atomic_load_explicit(&index->changes, memory_order_relaxed) + 1,
                        memory_order_release);
}

void ts_index_prepare(const ts_index *index, uint64_t hash) {
  const ts_segment *s = ts_segment_of(index, hash);
  __builtin_prefetch(ts_segment_bucket(s, ts_segment_home(s, hash)), 1);
}

void ts_index_insert(ts_index *index, int64_t key, uint64_t hash, ts_location location) {
  ts_segment *s = ts_segment_of(index, hash);
  ts_segment_insert(s, index->options.epochs, key, hash, location);
  index->live++;
  index->most = TS_MAX(index->most, index->live);
  changed(index);
  if (s->reserved == 0) return;
  s->reserved--;
  index->reserved--;
}

void ts_index_move(ts_index *index, int64_t key, uint64_t hash, ts_location location) {
  ts_bucket *bucket;
  uint32_t slot;
  if (!ts_segment_locate(ts_segment_of(index, hash), key, hash, &bucket, &slot)) return;
  ts_bucket_change(bucket, index->options.epochs, slot, key, location);
  changed(index);
}

bool ts_index_remove(ts_index *index, int64_t key, uint64_t hash) {
  ts_segment *s = ts_segment_of(index, hash);
  ts_bucket *bucket;
  uint32_t slot;
  if (!ts_segment_locate(s, key, hash, &bucket, &slot)) return false;
  ts_bucket_change(bucket, index->options.epochs, slot, TS_BUCKET_FILLER, TS_BUCKET_EMPTY);
  s->live--;
  s->removed++;
  index->live--;
  changed(index);
  return true;
}

bool ts_index_next(const ts_index *index, ts_index_cursor *c, int64_t *key, ts_location *location) {
  const ts_index_directory *d = ts_index_directory_of(index);
  for (;;) {
    /* The position is that of a hash, so it names the segment that holds it now. */
    const ts_segment *s = ts_directory_segment(d, c->hash_position >> 1 >> (63 - d->depth));
    if (c->slot >> 3 != (s->number & (UINT32_MAX >> 3))) { /* the first visit, or rebuilt since: from its beginning */
      c->bucket = 0;
      c->slot = s->number << 3;
    }
    for (; c->bucket < s->buckets; c->bucket++, c->slot &= ~7u) {
      const ts_bucket *bucket = ts_segment_bucket(s, ts_segment_visited(s, c->bucket));
      while ((c->slot & 7) < TS_BUCKET_SLOTS) {
        uint32_t j = c->slot++ & 7;
        *location = ts_bucket_location(bucket, j);
        if (*location == TS_BUCKET_EMPTY) continue;
        *key = ts_bucket_key(bucket, j);
        return true;
      }
    }
    uint64_t width = s->depth == 0 ? 0 : UINT64_C(1) << (64 - s->depth);
    uint64_t following = (c->hash_position & ~(width - 1)) + width; /* 0 after the last; width 0: the only one */
    if (s->depth == 0 || following == 0) return false;
    c->hash_position = following;
  }
}
