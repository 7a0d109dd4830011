/* growth.c - room for new keys: segments are rebuilt larger, split, rebuilt smaller or settled, one at a time.
 *
 * A segment may be filled to `full` percent; a rebuild leaves it at about `fresh`. Sizes of a page or more are whole
 * pages, of a block or more whole blocks, the nearest number, so that the load after a rebuild stays close to `fresh` and
 * no memory is held for nothing.
 * Beyond so many buckets (TS_SEGMENT_MOST, or fewer by option) a segment is split by one more bit of the hash. Only keys chosen for it can make the
 * directory grow faster than the index; when it would, segments grow instead of splitting.
 *
 * What was replaced is freed after one wait for the readers at the end of the call, or before that when the budget is
 * short or much has gathered. */
#include "index/segment.h"

#define TIDY_SHARE 4u /* a segment is tidied when this part of its slots was removed from */
#define RETIRED_MOST (UINT64_C(4) << 20) /* bytes */
#define PAGE_BUCKETS (TS_PAGE / sizeof(ts_bucket))
#define SEGMENT_LEAST 64u /* buckets that any index may have in a segment */

typedef struct retired {
  ts_segment *segments;
  ts_index_directory *directories;
  uint64_t bytes;
} retired;

static uint64_t directory_size(uint32_t depth) { return sizeof(ts_index_directory) + (sizeof(ts_segment *) << depth); }

uint64_t ts_directory_bytes(uint32_t depth) { return ts_piece_bytes(directory_size(depth)); }

static bool take(ts_index *index, uint64_t bytes) {
  return index->options.charge(index->options.charge_context, (int64_t)bytes);
}

static void give_back(ts_index *index, uint64_t bytes) {
  index->options.charge(index->options.charge_context, -(int64_t)bytes);
}

int32_t ts_directory_create(ts_index *index, uint32_t depth, ts_index_directory **out) {
  if (!take(index, ts_directory_bytes(depth))) return TS_EFULL;
  ts_index_directory *d = ts_piece_take(ts_blocks_pieces(index->options.blocks), directory_size(depth));
  if (d == NULL) {
    give_back(index, ts_directory_bytes(depth));
    return TS_ENOMEM;
  }
  d->skip = index->options.skip_bits;
  d->depth = depth;
  *out = d;
  return TS_OK;
}

void ts_directory_destroy(ts_index *index, ts_index_directory *d) {
  const uint32_t depth = d->depth;
  ts_piece_give_back(ts_blocks_pieces(index->options.blocks), d, directory_size(depth));
  give_back(index, ts_directory_bytes(depth));
}

void ts_index_free_segment(ts_index *index, ts_segment *s) {
  const uint32_t buckets = s->buckets;
  ts_segment_destroy(index->options.blocks, s);
  give_back(index, ts_segment_bytes(buckets));
}

int32_t ts_index_new_segment(ts_index *index, uint32_t buckets, uint32_t depth, ts_segment **out) {
  if (!take(index, ts_segment_bytes(buckets))) return TS_EFULL;
  *out = ts_segment_create(index->options.blocks, buckets, depth, ++index->rebuilds);
  if (*out != NULL) return TS_OK;
  give_back(index, ts_segment_bytes(buckets));
  return TS_ENOMEM;
}

int32_t ts_index_beginning(ts_index *index, uint32_t buckets, ts_index_directory **out) {
  ts_index_directory *d;
  int32_t status = ts_directory_create(index, 0, &d);
  if (status != TS_OK) return status;
  ts_segment *s;
  status = ts_index_new_segment(index, buckets, 0, &s);
  if (status != TS_OK) {
    ts_directory_destroy(index, d);
    return status;
  }
  atomic_store_explicit(&d->segments[0], s, memory_order_relaxed);
  *out = d;
  return TS_OK;
}

void ts_index_free_all(ts_index *index, ts_index_directory *d) {
  for (uint64_t i = 0, n = UINT64_C(1) << d->depth; i < n;) {
    ts_segment *s = ts_directory_segment(d, i);
    i += n >> s->depth;
    ts_index_free_segment(index, s);
  }
  ts_directory_destroy(index, d);
}

static void free_retired(ts_index *index, retired *r) {
  if (r->segments == NULL && r->directories == NULL) return;
  ts_epoch_wait(index->options.epochs);
  for (ts_segment *s = r->segments, *next; s != NULL; s = next) {
    next = s->next;
    ts_index_free_segment(index, s);
  }
  for (ts_index_directory *d = r->directories, *next; d != NULL; d = next) {
    next = d->next;
    ts_directory_destroy(index, d);
  }
  *r = (retired){0};
}

/* A new segment; what was retired makes room for it if there is no other. */
static int32_t create(ts_index *index, retired *r, uint32_t buckets, uint32_t depth, ts_segment **out) {
  int32_t status = ts_index_new_segment(index, buckets, depth, out);
  if (status == TS_OK || (r->segments == NULL && r->directories == NULL)) return status;
  free_retired(index, r);
  return ts_index_new_segment(index, buckets, depth, out);
}

static uint64_t limit(const ts_index *index, uint64_t buckets) {
  return buckets * TS_BUCKET_SLOTS * index->options.full / 100;
}

static uint32_t most_buckets(const ts_index *index) {
  if (index->options.segment_bytes == 0) return TS_SEGMENT_MOST;
  return (uint32_t)TS_MAX(TS_MIN(index->options.segment_bytes / sizeof(ts_bucket), TS_SEGMENT_MOST), SEGMENT_LEAST);
}

static uint32_t buckets_for(const ts_index *index, uint64_t keys) {
  uint64_t share = TS_BUCKET_SLOTS * (uint64_t)index->options.fresh;
  uint64_t buckets = TS_MAX((keys * 100 + share - 1) / share, TS_SEGMENT_FIRST);
  if (buckets >= TS_SEGMENT_BLOCK) {
    buckets = (buckets + TS_SEGMENT_BLOCK * 4 / 10) / TS_SEGMENT_BLOCK * TS_SEGMENT_BLOCK;
    if (keys + keys / 20 > limit(index, buckets)) buckets += TS_SEGMENT_BLOCK; /* or it would soon be full again */
  } else if (buckets > PAGE_BUCKETS && buckets <= most_buckets(index)) {
    buckets = TS_MIN(TS_ROUND_UP(buckets, PAGE_BUCKETS), TS_SEGMENT_BLOCK - 1);
  }
  while (keys > limit(index, buckets)) buckets++; /* of very small ones */
  return (uint32_t)buckets;
}

/* Doubles the directory, so that segments can be named by one more bit. */
static int32_t deepen(ts_index *index, retired *r) {
  ts_index_directory *old = ts_index_directory_of(index), *d;
  int32_t status = ts_directory_create(index, old->depth + 1, &d);
  if (status == TS_EFULL && r->bytes > 0) {
    free_retired(index, r);
    status = ts_directory_create(index, old->depth + 1, &d);
  }
  if (status != TS_OK) return status;
  for (uint64_t i = 0; i < UINT64_C(1) << d->depth; i++)
    atomic_store_explicit(&d->segments[i], ts_directory_segment(old, i / 2), memory_order_relaxed);
  atomic_store_explicit(&index->directory, d, memory_order_release);
  old->next = r->directories;
  r->directories = old;
  r->bytes += ts_directory_bytes(old->depth);
  return TS_OK;
}

/* Segments with reservations are in a list, so that whoever takes those back need not look at all. */
static void list(ts_index *index, ts_segment *s) {
  if (s->listed || s->reserved == 0) return;
  s->listed = true;
  s->before = NULL;
  s->after = index->reserving;
  if (s->after != NULL) s->after->before = s;
  index->reserving = s;
}

static void unlist(ts_index *index, ts_segment *s) {
  if (!s->listed) return;
  s->listed = false;
  if (s->after != NULL) s->after->before = s->before;
  if (s->before != NULL)
    s->before->after = s->after;
  else
    index->reserving = s->after;
}

/* Puts the new segment or segments in the place of the old one. */
static void publish(ts_index *index, retired *r, ts_segment *old, uint64_t hash, ts_segment *to[2]) {
  ts_index_directory *d = ts_index_directory_of(index);
  uint64_t span = UINT64_C(1) << (d->depth - old->depth), first = ts_directory_position(d, hash) / span * span;
  for (uint64_t i = 0; i < span; i++)
    atomic_store_explicit(&d->segments[first + i], to[1] != NULL && i >= span / 2 ? to[1] : to[0], memory_order_release);
  unlist(index, old);
  for (uint32_t i = 0; i < 2 && to[i] != NULL; i++) list(index, to[i]);
  old->next = r->segments;
  r->segments = old;
  r->bytes += ts_segment_bytes(old->buckets);
  if (r->bytes > RETIRED_MOST) free_retired(index, r);
}

static int32_t resize(ts_index *index, retired *r, ts_segment *old, uint64_t hash, uint32_t buckets, uint64_t *wanted) {
  ts_segment *to[2] = {NULL, NULL};
  *wanted = ts_segment_bytes(buckets);
  int32_t status = create(index, r, buckets, old->depth, &to[0]);
  if (status != TS_OK) return status;
  ts_segment_rehash(old, index->options.skip_bits, to);
  to[0]->reserved = old->reserved;
  publish(index, r, old, hash, to);
  return TS_OK;
}

/* Counts the entries of the second half. */
static uint32_t live_on_second_side(const ts_segment *s, uint32_t skip) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < s->buckets; b++) {
    const ts_bucket *bucket = ts_segment_bucket(s, b);
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++)
      if (ts_bucket_location(bucket, j) != TS_BUCKET_EMPTY)
        n += ts_segment_side(ts_index_hash(ts_bucket_key(bucket, j)), skip, s->depth);
  }
  return n;
}

/* Of this call's reservations each half keeps its own; of earlier ones only the number is known, so both keep all. */
static int32_t split(ts_index *index, retired *r, ts_segment *old, uint64_t hash, const uint64_t *hashes, uint32_t n,
                     uint64_t *wanted) {
  const uint32_t skip = index->options.skip_bits;
  uint32_t reserved[2] = {0, 0};
  for (uint32_t i = 0; i < n; i++)
    if (ts_segment_of(index, hashes[i]) == old) reserved[ts_segment_side(hashes[i], skip, old->depth)]++;
  uint32_t earlier = old->reserved - reserved[0] - reserved[1];
  uint32_t second = live_on_second_side(old, skip), live[2] = {old->live - second, second}, buckets[2];
  for (uint32_t i = 0; i < 2; i++) {
    reserved[i] += earlier;
    buckets[i] = buckets_for(index, (uint64_t)live[i] + reserved[i]);
  }
  *wanted = ts_segment_bytes(buckets[0]) + ts_segment_bytes(buckets[1]);
  if (old->depth == ts_index_directory_of(index)->depth) {
    *wanted += ts_directory_bytes(old->depth + 1);
    int32_t status = deepen(index, r);
    if (status != TS_OK) return status;
  }
  ts_segment *to[2] = {NULL, NULL};
  for (uint32_t i = 0; i < 2; i++) {
    int32_t status = create(index, r, buckets[i], old->depth + 1, &to[i]);
    if (status == TS_OK) continue;
    if (to[0] != NULL) ts_index_free_segment(index, to[0]);
    return status;
  }
  ts_segment_rehash(old, skip, to);
  for (uint32_t i = 0; i < 2; i++) to[i]->reserved = reserved[i];
  index->reserved += earlier;
  publish(index, r, old, hash, to);
  return TS_OK;
}

/* In an index of evenly spread keys segments hold some 20,000 of them, or 5 for two of the buckets they may have, and the
 * directory is at most a few times as long as there are segments. */
static bool may_split(const ts_index *index, const ts_segment *s) {
  uint32_t depth = ts_index_directory_of(index)->depth;
  return s->depth < depth || UINT64_C(2) << depth <= 64 + (index->live + index->reserved) / (most_buckets(index) / 8);
}

static int32_t grow(ts_index *index, retired *r, ts_segment *s, uint64_t hash, const uint64_t *hashes, uint32_t n,
                    uint64_t *wanted) {
  uint32_t buckets = buckets_for(index, (uint64_t)s->live + s->reserved);
  if (buckets > most_buckets(index) && may_split(index, s)) return split(index, r, s, hash, hashes, n, wanted);
  return resize(index, r, s, hash, buckets, wanted);
}

/* After many removals: smaller if that is worth it and possible, and short searches in any case. */
static void tidy(ts_index *index, retired *r, ts_segment *s, uint64_t hash) {
  uint32_t buckets = buckets_for(index, (uint64_t)s->live + s->reserved);
  uint64_t wanted;
  if (buckets > s->buckets / 4 * 3 || resize(index, r, s, hash, buckets, &wanted) != TS_OK)
    ts_segment_settle(s, index->options.epochs, ++index->rebuilds);
}

int32_t ts_index_reserve(ts_index *index, const uint64_t *hashes, uint32_t n, uint64_t *wanted) {
  retired r = {0};
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < n; i++) {
    ts_segment *s = ts_segment_of(index, hashes[i]);
    s->reserved++;
    list(index, s);
  }
  index->reserved += n;
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    ts_segment *s = ts_segment_of(index, hashes[i]);
    if (s->removed > s->buckets * TS_BUCKET_SLOTS / TIDY_SHARE) {
      tidy(index, &r, s, hashes[i]);
      s = ts_segment_of(index, hashes[i]);
    }
    while (status == TS_OK && (uint64_t)s->live + s->reserved > limit(index, s->buckets)) {
      status = grow(index, &r, s, hashes[i], hashes, n, wanted);
      s = ts_segment_of(index, hashes[i]);
    }
  }
  if (status != TS_OK) {
    for (uint32_t i = 0; i < n; i++) ts_segment_of(index, hashes[i])->reserved--;
    index->reserved -= n;
  }
  free_retired(index, &r);
  return status;
}

/* Puts another directory in the place of the index's, with all its segments. */
static void replace_directory(ts_index *index, ts_index_directory *d) {
  ts_index_directory *old = ts_index_directory_of(index);
  atomic_store_explicit(&index->directory, d, memory_order_release);
  ts_epoch_wait(index->options.epochs);
  ts_index_free_all(index, old);
}

void ts_index_expect(ts_index *index, uint64_t keys) {
  if (index->live > 0 || index->reserved > 0) return;
  uint32_t depth = 0;
  while (keys >> depth > limit(index, most_buckets(index)) * index->options.fresh / index->options.full) depth++;
  const uint32_t buckets = buckets_for(index, keys >> depth);
  ts_index_directory *d;
  if (buckets <= TS_SEGMENT_FIRST || ts_directory_create(index, depth, &d) != TS_OK) return;
  uint64_t made = 0;
  for (const uint64_t n = UINT64_C(1) << depth; made < n; made++) {
    ts_segment *s;
    if (ts_index_new_segment(index, buckets, depth, &s) != TS_OK) break;
    atomic_store_explicit(&d->segments[made], s, memory_order_relaxed);
  }
  if (made == UINT64_C(1) << depth) {
    replace_directory(index, d);
    return;
  }
  while (made-- > 0) ts_index_free_segment(index, ts_directory_segment(d, made));
  ts_directory_destroy(index, d);
}

/* Bytes of a directory and its segments. */
static uint64_t all_bytes(const ts_index_directory *d) {
  uint64_t bytes = ts_directory_bytes(d->depth);
  for (uint64_t i = 0, n = UINT64_C(1) << d->depth; i < n;) {
    const ts_segment *s = ts_directory_segment(d, i);
    i += n >> s->depth;
    bytes += ts_segment_bytes(s->buckets);
  }
  return bytes;
}

/* All keys, which are few, into one segment; the bytes that this gave back. */
static int32_t gather(ts_index *index, uint64_t *bytes) {
  ts_index_directory *old = ts_index_directory_of(index), *d;
  const int32_t status = ts_index_beginning(index, buckets_for(index, index->live), &d);
  if (status != TS_OK) return status;
  ts_segment *to[2] = {ts_directory_segment(d, 0), NULL};
  for (uint64_t i = 0, n = UINT64_C(1) << old->depth; i < n;) {
    const ts_segment *s = ts_directory_segment(old, i);
    i += n >> s->depth;
    ts_segment_rehash(s, index->options.skip_bits, to);
  }
  const uint64_t before = all_bytes(old), after = all_bytes(d);
  replace_directory(index, d);
  *bytes += before - after;
  return TS_OK;
}

uint64_t ts_index_shrink(ts_index *index) {
  uint64_t bytes = 0;
  bool refused = false;
  /* A segment for each would be room for many. */
  if (ts_index_directory_of(index)->depth > 0 && buckets_for(index, index->live) <= SEGMENT_LEAST) {
    refused = gather(index, &bytes) != TS_OK;
    if (!refused) {
      index->most = index->live;
      return bytes;
    }
  }
  /* Rebuilding keeps the depth of directory and segments. */
  const uint32_t depth = ts_index_directory_of(index)->depth;
  for (uint64_t i = 0, n = UINT64_C(1) << depth; i < n;) {
    retired r = {0};
    ts_segment *s = ts_directory_segment(ts_index_directory_of(index), i);
    const uint64_t hash = (i << 1 << (63 - depth)) >> index->options.skip_bits, before = ts_segment_bytes(s->buckets);
    const uint32_t buckets = buckets_for(index, s->live);
    uint64_t wanted;
    i += n >> s->depth;
    if (buckets > s->buckets / 4 * 3) continue;
    if (resize(index, &r, s, hash, buckets, &wanted) != TS_OK) {
      refused = true;
      continue;
    }
    bytes += before - ts_segment_bytes(buckets);
    free_retired(index, &r); /* its room is for the next one */
  }
  /* What was refused is tried again when another quarter has gone; of an index without keys, whenever it is looked at. */
  index->most = refused ? TS_MAX(index->live * 3, TS_INDEX_FIRST + 1) : index->live;
  return bytes;
}

void ts_index_clear_reservations(ts_index *index) {
  while (index->reserving != NULL) {
    ts_segment *s = index->reserving;
    s->reserved = 0;
    unlist(index, s);
  }
  index->reserved = 0;
}
