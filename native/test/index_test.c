/* The index against a plain map: any key, growth from empty, moves, removals, reservations, refusals, chosen keys,
 * every kernel, readers beside a writer. */
#include "test/levels.h"
#include "base/poison.h"
#include "index/segment.h"
#include "optimizers/optimizer.h"
#include "test/check.h"

#include <sched.h>
#include <stdlib.h>

/* The sanitizers take ten times as long. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 100000u
#define STEPS 20000u
#define WRITER_STEPS 40000u
#else
#define MANY 3000000u
#define STEPS 120000u
#define WRITER_STEPS 700000u
#endif
#define MEASURED_FROM (MANY / 3) /* rows; the size of the index is looked at above */

typedef struct purse {
  int64_t used, limit, most, largest; /* `largest`: of single payments */
} purse;

static bool pay(void *context, int64_t bytes) {
  purse *p = context;
  if (bytes > 0 && p->used + bytes > p->limit) return false;
  p->used += bytes;
  p->most = TS_MAX(p->most, p->used);
  p->largest = TS_MAX(p->largest, bytes);
  return true;
}

/* An index with all that it needs. */
typedef struct fixture {
  ts_epochs epochs;
  ts_blocks *blocks;
  purse purse;
  ts_index index;
} fixture;

static fixture *start_with_segments(int64_t limit, uint32_t skip, uint32_t full, uint32_t fresh, uint64_t segment) {
  fixture *f = aligned_alloc(_Alignof(fixture), sizeof *f);
  memset(f, 0, sizeof *f);
  ts_epochs_init(&f->epochs);
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, UINT64_C(64) << 20, -1, &f->blocks) == TS_OK);
  f->purse.limit = limit;
  ts_index_options options = {&f->epochs, f->blocks, pay, &f->purse, skip, full, fresh, segment};
  CHECK(ts_index_init(&f->index, &options) == TS_OK);
  return f;
}

static fixture *start(int64_t limit, uint32_t skip, uint32_t full, uint32_t fresh) {
  return start_with_segments(limit, skip, full, fresh, 0);
}

static void finish(fixture *f) {
  ts_index_destroy(&f->index);
  CHECK(f->purse.used == 0);
  uint64_t slack = ts_blocks_slack(f->blocks);
  void *block = ts_blocks_take(f->blocks); /* all came back: at most one extent more than what was idle */
  CHECK(slack == 0 || ts_blocks_slack(f->blocks) == slack - (TS_INDEX_BLOCK + TS_BETWEEN));
  ts_blocks_give_back(f->blocks, block);
  ts_blocks_destroy(f->blocks);
  free(f);
}

static int64_t key_of(uint64_t i) {
  switch (i) {
    case 0: return 0;
    case 1: return -1;
    case 2: return -2;
    case 3: return INT64_MIN;
    case 4: return INT64_MAX;
    case 5: return TS_BUCKET_FILLER;
    default: return (int64_t)(i % 3 == 0 ? i : ts_mix64(i));
  }
}

static void insert_one(ts_index *index, int64_t key, ts_location location) {
  uint64_t hash = ts_index_hash(key), wanted;
  CHECK(ts_index_reserve(index, &hash, 1, &wanted) == TS_OK);
  ts_index_insert(index, key, hash, location);
}

/* Grows from keys [0, begin) to [0, n) in batches of varied sizes; the worst bytes a row on the way, in thousandths. */
static uint64_t grow_by(fixture *f, uint64_t begin, uint64_t n) {
  enum { MOST = 4096 };
  uint64_t hashes[MOST], wanted, worst = 0;
  for (uint64_t first = begin, batch; first < n; first += batch) {
    batch = TS_MIN(1 + ts_random64(5, 0, first) % MOST, n - first);
    for (uint64_t i = 0; i < batch; i++) hashes[i] = ts_index_hash(key_of(first + i));
    if (ts_index_reserve(&f->index, hashes, (uint32_t)batch, &wanted) != TS_OK) {
      CHECK_MSG(false, "no room at %llu", (unsigned long long)first);
      return 0;
    }
    int64_t bytes = f->purse.used;
    for (uint64_t i = 0; i < batch; i++)
      ts_index_insert(&f->index, key_of(first + i), hashes[i], TS_LOCATION(i % 3, first + i));
    CHECK(f->purse.used == bytes);
    if (f->index.live >= MEASURED_FROM) worst = TS_MAX(worst, (uint64_t)bytes * 1000 / f->index.live);
  }
  CHECK(ts_index_live(&f->index) == n);
  return worst;
}

static uint64_t grow_to(fixture *f, uint64_t n) { return grow_by(f, 0, n); }

static void grows_from_empty(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  const uint64_t n = MANY;
  uint64_t worst = grow_to(f, n);
  CHECK_MSG(worst > 12800 && worst <= 18000, "%.2f bytes a row at most", (double)worst / 1000);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n; i++) wrong += TS_LOCATION_ROW(ts_index_find_one(&f->index, key_of(i))) != i;
  CHECK_MSG(wrong == 0, "%llu keys", (unsigned long long)wrong);
  for (uint64_t i = n; i < n + 10000; i++) wrong += ts_index_find_one(&f->index, key_of(i)) != TS_LOCATION_NONE;
  CHECK_MSG(wrong == 0, "%llu absent keys", (unsigned long long)wrong);
  for (uint64_t i = 0; i < n; i += 7)
    ts_index_move(&f->index, key_of(i), ts_index_hash(key_of(i)), TS_LOCATION(5, (UINT64_C(1) << 32) + i));
  CHECK(ts_index_find_one(&f->index, key_of(14)) == TS_LOCATION(5, (UINT64_C(1) << 32) + 14));
  uint64_t seen = 0, moved = 0;
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location location;
  while (ts_index_next(&f->index, &cursor, &key, &location)) {
    seen++;
    moved += TS_LOCATION_TIER(location) == 5;
  }
  CHECK(seen == n && moved == (n + 6) / 7);
  CHECK(!ts_index_next(&f->index, &cursor, &key, &location));
  finish(f);
}

/* What an index of records on a medium asks for. */
/* Keys that were expected come without a rebuild, in about the bytes that growing takes; fewer or more are no harm. */
static void room_is_made_ahead(uint64_t n) {
  fixture *grown = start(INT64_MAX, 2, 0, 0), *f = start(INT64_MAX, 2, 0, 0);
  grow_to(grown, n);
  ts_index_expect(&f->index, n / 4);
  ts_index_expect(&f->index, n);     /* the last word counts while there is no key */
  const uint32_t rebuilds = f->index.rebuilds;
  const int64_t bytes = f->purse.used;
  grow_to(f, n);
  CHECK_MSG(f->index.rebuilds == rebuilds || n < 100, "%llu keys: %u rebuilds", (unsigned long long)n, f->index.rebuilds - rebuilds);
  CHECK_MSG(bytes <= grown->purse.used * 5 / 4 + 256, "%llu keys: %lld bytes ahead, %lld grown", (unsigned long long)n,
            (long long)bytes, (long long)grown->purse.used);
  ts_index_expect(&f->index, 10 * n); /* there are keys: nothing happens */
  for (uint64_t i = 0; i < n; i += 1 + n / 1000)
    CHECK(ts_index_find_one(&f->index, key_of(i)) == ts_index_find_one(&grown->index, key_of(i)));
  grow_by(f, n, n + n / 2);
  CHECK(ts_index_live(&f->index) == n + n / 2);
  finish(grown);
  finish(f);
}

/* Whatever the budget refuses on the way, nothing of it stays. */
static void room_ahead_may_be_refused(void) {
  for (int64_t limit = 1 << 10; limit <= 4 << 20; limit += limit / 3) {
    fixture *f = start(limit, 0, 0, 0);
    const int64_t before = f->purse.used;
    ts_index_expect(&f->index, 1000000); /* 17 MB */
    CHECK(f->purse.used == before);
    insert_one(&f->index, 7, TS_LOCATION(0, 3));
    CHECK(ts_index_find_one(&f->index, 7) == TS_LOCATION(0, 3));
    finish(f);
  }
}

/* A search comes by each bucket of its segment, so that a free slot is found wherever it is. */
static void a_search_visits_every_bucket(uint32_t buckets) {
  static ts_segment s;
  static bool visited[TS_SEGMENT_MOST];
  s.buckets = buckets;
  for (uint64_t i = 0; i < 200; i++) {
    const uint64_t hash = ts_index_hash(key_of(i));
    uint32_t count = 0;
    memset(visited, 0, sizeof visited);
    for (uint32_t step = 0; step <= buckets; step++) {
      const uint32_t b = ts_segment_visit(&s, hash, step);
      CHECK(b < buckets && (step > 0 || b == ts_segment_home(&s, hash)));
      count += !visited[b];
      visited[b] = true;
    }
    CHECK_MSG(count == buckets, "%u of %u buckets", count, buckets);
  }
}

/* How many buckets beyond their homes searches go, a thousand keys. */
static uint64_t beyond_home(const ts_index *index) {
  const ts_index_directory *d = ts_index_directory_of(index);
  uint64_t steps = 0, keys = 0;
  for (uint64_t i = 0, n = UINT64_C(1) << d->depth; i < n;) {
    const ts_segment *s = ts_directory_segment(d, i);
    i += n >> s->depth;
    for (uint32_t b = 0; b < s->buckets; b++)
      for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
        if (ts_bucket_location(ts_segment_bucket(s, b), j) == TS_BUCKET_EMPTY) continue;
        const uint64_t hash = ts_index_hash(ts_bucket_key(ts_segment_bucket(s, b), j));
        for (uint32_t step = 0; ts_segment_visit(s, hash, step) != b; step++) steps++;
        keys++;
      }
  }
  return steps * 1000 / keys;
}

static void can_be_filled_tightly(void) {
  fixture *f = start(INT64_MAX, 0, 96, 88);
  const uint64_t n = MANY / 2;
  uint64_t worst = grow_to(f, n);
  CHECK_MSG(worst > 12800 && worst <= 16000, "%.2f bytes a row at most", (double)worst / 1000);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n; i++) wrong += TS_LOCATION_ROW(ts_index_find_one(&f->index, key_of(i))) != i;
  for (uint64_t i = n; i < n + 10000; i++) wrong += ts_index_find_one(&f->index, key_of(i)) != TS_LOCATION_NONE;
  CHECK_MSG(wrong == 0, "%llu keys", (unsigned long long)wrong);
  const uint64_t beyond = beyond_home(&f->index);
  CHECK_MSG(beyond < 800, "%llu buckets beyond home a thousand keys", (unsigned long long)beyond);
  finish(f);
}

/* Buckets between keys and their homes, the furthest. */
static uint32_t furthest_from_home(const ts_index *index) {
  const ts_index_directory *d = ts_index_directory_of(index);
  uint32_t furthest = 0;
  for (uint64_t i = 0; i < UINT64_C(1) << d->depth; i++) {
    const ts_segment *s = ts_directory_segment(d, i);
    for (uint32_t b = 0; b < s->buckets; b++)
      for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
        if (ts_bucket_location(ts_segment_bucket(s, b), j) == TS_BUCKET_EMPTY) continue;
        const uint32_t home = ts_segment_home(s, ts_index_hash(ts_bucket_key(ts_segment_bucket(s, b), j)));
        furthest = TS_MAX(furthest, home <= b ? b - home : b + s->buckets - home);
      }
  }
  return furthest;
}

/* The keys of one index, in the order of a walk, are what a restore adds to another one: while it fills up, too, they lie near
 * their homes. In the order of homes they would pile up at one end, hundreds of buckets away. */
static void a_walk_fills_another_index_evenly(void) {
  fixture *from = start(INT64_MAX, 0, 0, 0), *to = start(INT64_MAX, 0, 0, 0);
  const uint64_t n = 100000;
  grow_to(from, n);
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location l;
  uint64_t wanted, added = 0;
  uint32_t worst = 0;
  while (ts_index_next(&from->index, &cursor, &key, &l)) {
    const uint64_t hash = ts_index_hash(key);
    CHECK(ts_index_reserve(&to->index, &hash, 1, &wanted) == TS_OK);
    ts_index_insert(&to->index, key, hash, l);
    if (++added % 2000 == 0) worst = TS_MAX(worst, furthest_from_home(&to->index));
  }
  CHECK(added == n && to->index.live == n);
  CHECK_MSG(worst < 100, "%u buckets from home", worst);
  finish(from);
  finish(to);
}

/* ---- against a plain map ---- */

#define UNIVERSE 60000u

static void check_all(const fixture *f, const ts_location *map, const int64_t *keys, const uint64_t *hashes) {
  static ts_location found[UNIVERSE];
  uint64_t live = 0, wrong = 0;
  ts_index_find(&f->index, keys, hashes, UNIVERSE, found);
  for (uint32_t i = 0; i < UNIVERSE; i++) {
    live += map[i] != TS_LOCATION_NONE;
    wrong += found[i] != map[i];
    if (i % 16 == 0) wrong += ts_index_find_one(&f->index, keys[i]) != map[i];
  }
  CHECK_MSG(wrong == 0, "%llu differ", (unsigned long long)wrong);
  CHECK(ts_index_live(&f->index) == live);
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location location;
  uint64_t seen = 0;
  while (ts_index_next(&f->index, &cursor, &key, &location)) seen++;
  CHECK(seen == live);
}

static void agrees_with_a_map(uint64_t seed, uint32_t skip, uint32_t full, uint32_t fresh) {
  fixture *f = start(INT64_MAX, skip, full, fresh);
  static ts_location map[UNIVERSE];
  static int64_t keys[UNIVERSE];
  static uint64_t hashes[UNIVERSE];
  for (uint32_t i = 0, candidate = 0; i < UNIVERSE; candidate++) {
    uint64_t hash = ts_index_hash(key_of(candidate));
    if (skip > 0 && hash >> (64 - skip) != 3) continue; /* the keys of one shard */
    keys[i] = key_of(candidate);
    hashes[i] = hash;
    map[i++] = TS_LOCATION_NONE;
  }
  /* Phases that grow, churn and shrink. */
  static const uint32_t inserts_of_100[] = {90, 50, 10, 50, 95};
  uint64_t step = 0, absent_removals = 0;
  for (uint32_t phase = 0; phase < 5; phase++) {
    for (uint32_t i = 0; i < STEPS; i++, step++) {
      uint64_t r = ts_random64(seed, phase, step);
      uint32_t k = (uint32_t)(r % UNIVERSE);
      ts_location location = (r >> 20) & ((UINT64_C(1) << 36) - 2); /* any but the empty mark */
      if (r >> 60 == 0 && map[k] != TS_LOCATION_NONE) {
        ts_index_move(&f->index, keys[k], hashes[k], location);
        map[k] = location;
      } else if ((r >> 40) % 100 < inserts_of_100[phase]) {
        if (map[k] != TS_LOCATION_NONE) continue;
        insert_one(&f->index, keys[k], location);
        map[k] = location;
      } else {
        bool here = map[k] != TS_LOCATION_NONE;
        absent_removals += !here;
        CHECK(ts_index_remove(&f->index, keys[k], hashes[k]) == here);
        map[k] = TS_LOCATION_NONE;
        if (ts_index_is_wide(&f->index)) ts_index_shrink(&f->index);
      }
    }
    check_all(f, map, keys, hashes);
  }
  CHECK(absent_removals > STEPS / 100);
  finish(f);
}

/* After removals an index takes less memory again, once keys come. */
static void shrinks_after_removals(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  const uint64_t n = MANY / 7;
  grow_to(f, n);
  int64_t full = f->purse.used;
  for (uint64_t i = 0; i < n; i++)
    if (i % 10 != 0) CHECK(ts_index_remove(&f->index, key_of(i), ts_index_hash(key_of(i))));
  for (uint64_t i = n; i < n + n / 130; i++) insert_one(&f->index, key_of(i), i);
  CHECK_MSG(f->purse.used < full / 5, "%lld of %lld bytes", (long long)f->purse.used, (long long)full);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n + n / 130; i++) {
    ts_location l = ts_index_find_one(&f->index, key_of(i));
    wrong += i < n && i % 10 != 0 ? l != TS_LOCATION_NONE : TS_LOCATION_ROW(l) != i;
  }
  CHECK_MSG(wrong == 0, "%llu keys", (unsigned long long)wrong);
  finish(f);
}

/* What three quarters of the keys took is given back without new ones, and of an empty index nothing is left; as far as the
 * budget lets the smaller segments begin. What it refuses is given back when it has room again (short_at_last: it refuses
 * only when few keys are left). */
static void gives_back_after_removals(int64_t spare, bool short_at_last) {
  fixture *f = start(INT64_MAX, 2, 0, 0);
  const int64_t fresh = f->purse.used;
  const uint64_t n = MANY / 14;
  uint64_t keys = 0, times = 0;
  for (uint64_t i = 0; keys < n; i++) {
    if (ts_index_hash(key_of(i)) >> 62 != 0) continue; /* the keys of one shard */
    insert_one(&f->index, key_of(i), keys++);
  }
  const int64_t full = f->purse.used;
  CHECK(!ts_index_is_wide(&f->index));
  f->purse.limit = full + spare;
  int64_t key;
  ts_location l;
  for (ts_index_cursor cursor = {0}; ts_index_next(&f->index, &cursor, &key, &l) && l < TS_LOCATION_NONE;) {
    CHECK(ts_index_remove(&f->index, key, ts_index_hash(key)));
    if (short_at_last && f->index.live == n / 100) f->purse.limit = f->purse.used;
    if (!ts_index_is_wide(&f->index)) continue;
    const int64_t before = f->purse.used;
    const uint64_t bytes = ts_index_shrink(&f->index);
    CHECK_MSG(bytes == (uint64_t)(before - f->purse.used), "%llu bytes, not %lld", (unsigned long long)bytes,
              (long long)(before - f->purse.used));
    if (spare > 0 && f->index.live > n / 100)
      CHECK_MSG((double)f->purse.used < 1.6 * (double)full * (double)f->index.live / (double)n, "%lld of %lld bytes for %llu of %llu keys",
                (long long)f->purse.used, (long long)full, (unsigned long long)f->index.live, (unsigned long long)n);
    times++;
  }
  CHECK(ts_index_live(&f->index) == 0);
  CHECK_MSG(times < (spare > 0 && !short_at_last ? 20 : 50), "%llu times", (unsigned long long)times);
  CHECK_MSG(spare == 0 ? f->purse.used == full : short_at_last ? f->purse.used > fresh : f->purse.used == fresh,
            "%lld bytes, %lld in the beginning", (long long)f->purse.used, (long long)fresh);
  CHECK(ts_index_is_wide(&f->index) == (f->purse.used > fresh));
  f->purse.limit = INT64_MAX;
  ts_index_shrink(&f->index);
  CHECK_MSG(f->purse.used == fresh, "%lld bytes, %lld in the beginning", (long long)f->purse.used, (long long)fresh);
  for (uint64_t i = 0, again = 0; again < 1000; i++) {
    if (ts_index_hash(key_of(i)) >> 62 != 0) continue;
    insert_one(&f->index, key_of(i), again);
    CHECK(ts_index_find_one(&f->index, key_of(i)) == again++);
  }
  finish(f);
}

/* Keys that come and go at a constant number must not end up ever further from home, nor leave marks that gather. */
static void coming_and_going_leaves_order(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  const uint64_t n = MANY / 30, rounds = 3 * n;
  grow_to(f, n);
  for (uint64_t i = 0; i < rounds; i++) {
    CHECK(ts_index_remove(&f->index, key_of(i), ts_index_hash(key_of(i))));
    insert_one(&f->index, key_of(n + i), i);
  }
  const ts_index_directory *d = ts_index_directory_of(&f->index);
  uint64_t marks = 0, buckets = 0, at_home = 0;
  for (uint64_t i = 0; i < UINT64_C(1) << d->depth; i++) {
    const ts_segment *s = ts_directory_segment(d, i);
    if (i > 0 && s == ts_directory_segment(d, i - 1)) continue;
    buckets += s->buckets;
    for (uint32_t b = 0; b < s->buckets; b++) {
      const ts_bucket *bucket = ts_segment_bucket(s, b);
      marks += (ts_bucket_meta(bucket) & TS_BUCKET_OVERFLOW) != 0;
      for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++)
        at_home += ts_bucket_location(bucket, j) != TS_BUCKET_EMPTY &&
                   ts_segment_home(s, ts_index_hash(ts_bucket_key(bucket, j))) == b;
    }
  }
  CHECK_MSG(marks * 10 < buckets * 7, "%llu of %llu buckets marked", (unsigned long long)marks, (unsigned long long)buckets);
  CHECK_MSG(at_home * 10 > n * 7, "%llu of %llu keys", (unsigned long long)at_home, (unsigned long long)n);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n + rounds; i++) {
    ts_location l = ts_index_find_one(&f->index, key_of(i));
    wrong += i < rounds ? l != TS_LOCATION_NONE : TS_LOCATION_ROW(l) != i - n;
  }
  CHECK_MSG(wrong == 0, "%llu keys", (unsigned long long)wrong);
  finish(f);
}

/* Where memory is short, growth takes it in small pieces. */
static void grows_in_pieces_as_small_as_asked(void) {
  const uint64_t sizes[] = {1, 16 << 10, 84000}; /* below the least of 4 KiB; in one block; in several */
  for (uint32_t i = 0; i < 3; i++) {
    fixture *f = start_with_segments(INT64_MAX, 0, 0, 0, sizes[i]);
    grow_to(f, 60000);
    const uint64_t directory = ts_directory_bytes(ts_index_directory_of(&f->index)->depth);
    /* A batch may ask for more than its segments were before; in whole pages, with a header. */
    const int64_t most = (int64_t)TS_MAX(5 * TS_MAX(sizes[i], 4096) / 2 + TS_PAGE, directory);
    CHECK_MSG(f->purse.largest <= most, "%lld of %lld bytes", (long long)f->purse.largest, (long long)most);
    uint64_t wrong = 0;
    for (uint64_t k = 0; k < 60000; k++) wrong += TS_LOCATION_ROW(ts_index_find_one(&f->index, key_of(k))) != k;
    CHECK_MSG(wrong == 0, "%llu keys", (unsigned long long)wrong);
    finish(f);
  }
}

/* ---- reservations and refusals ---- */

static void reserved_keys_need_nothing_more(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  enum { N = 200000 };
  static uint64_t hashes[N];
  uint64_t wanted;
  for (uint64_t i = 0; i < N; i++) hashes[i] = ts_index_hash(key_of(i));
  /* In three calls; none may take the room of another. */
  CHECK(ts_index_reserve(&f->index, hashes, 1000, &wanted) == TS_OK);
  CHECK(ts_index_reserve(&f->index, hashes + 1000, 99000, &wanted) == TS_OK);
  CHECK(ts_index_reserve(&f->index, hashes + 100000, N - 100000, &wanted) == TS_OK);
  f->purse.limit = f->purse.used;
  for (uint64_t i = 0; i < N; i++) ts_index_insert(&f->index, key_of(i), hashes[i], i);
  CHECK(f->index.live == N);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < N; i++) wrong += ts_index_find_one(&f->index, key_of(i)) != i;
  CHECK(wrong == 0);
  /* Reservations that are not used can be taken back: the same call twice then needs nothing. */
  ts_index_clear_reservations(&f->index);
  f->purse.limit = INT64_MAX;
  static uint64_t others[N];
  for (uint64_t i = 0; i < N; i++) others[i] = ts_index_hash(key_of(N + i));
  CHECK(ts_index_reserve(&f->index, others, N, &wanted) == TS_OK);
  int64_t bytes = f->purse.used;
  ts_index_clear_reservations(&f->index);
  CHECK(ts_index_reserve(&f->index, others, N, &wanted) == TS_OK);
  CHECK(f->purse.used == bytes);
  CHECK(ts_index_reserve(&f->index, others, N, &wanted) == TS_OK);
  CHECK(f->purse.used > bytes);
  finish(f);
}

static void refused_growth_changes_nothing(int64_t limit, uint64_t least) {
  fixture *f = start(limit, 0, 0, 0);
  uint64_t inserted = 0, wanted = 0;
  int32_t status = TS_OK;
  for (; inserted < 1000000; inserted++) {
    uint64_t hash = ts_index_hash((int64_t)inserted);
    status = ts_index_reserve(&f->index, &hash, 1, &wanted);
    if (status != TS_OK) break;
    ts_index_insert(&f->index, (int64_t)inserted, hash, inserted);
  }
  CHECK(status == TS_EFULL && wanted > 0 && f->purse.most <= f->purse.limit);
  CHECK_MSG(inserted >= least, "%llu keys in %lld bytes", (unsigned long long)inserted, (long long)limit);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < inserted; i++) wrong += ts_index_find_one(&f->index, (int64_t)i) != i;
  CHECK(wrong == 0 && ts_index_find_one(&f->index, (int64_t)inserted) == TS_LOCATION_NONE);
  CHECK(f->index.reserved == 0);
  /* A refused call leaves no reservation behind: removing one key makes room for one. */
  for (uint64_t i = 0; i < 100; i++) {
    uint64_t hash = ts_index_hash((int64_t)inserted);
    CHECK(ts_index_reserve(&f->index, &hash, 1, &wanted) == TS_EFULL);
  }
  f->purse.limit += (int64_t)wanted;
  uint64_t hash = ts_index_hash((int64_t)inserted);
  CHECK(ts_index_reserve(&f->index, &hash, 1, &wanted) == TS_OK);
  finish(f);
}

/* ---- chosen keys ---- */

/* x ^= x >> shift, undone. */
static uint64_t unshift(uint64_t x, uint32_t shift) {
  uint64_t y = x;
  for (uint32_t done = shift; done < 64; done += shift) y = x ^ y >> shift;
  return y;
}

/* The key that has this hash: ts_mix64 backwards, by the inverses of its factors modulo 2^64. */
static int64_t key_with_hash(uint64_t hash) {
  uint64_t x = unshift(hash, 31) * 0x319642b2d24d8ec3u;
  x = unshift(x, 27) * 0x96de1b173f119089u;
  return (int64_t)(unshift(x, 30) - 0x9e3779b97f4a7c15u);
}

/* Inserts keys whose hashes are equal in the bits of `mask`, finds them in a batch, removes every other, finds again. */
static void keys_with_equal_bits(uint64_t mask, uint64_t bits, uint32_t n, int64_t limit) {
  fixture *f = start(limit, 0, 0, 0);
  int64_t *keys = malloc(n * sizeof *keys);
  uint64_t *hashes = malloc(n * sizeof *hashes);
  ts_location *found = malloc(n * sizeof *found);
  for (uint32_t i = 0; i < n; i++) {
    hashes[i] = (ts_mix64(i) & ~mask) | bits;
    keys[i] = key_with_hash(hashes[i]);
    CHECK(ts_index_hash(keys[i]) == hashes[i]);
    insert_one(&f->index, keys[i], i);
  }
  CHECK(ts_index_live(&f->index) == n);
  for (uint32_t round = 0; round < 2; round++) {
    uint32_t wrong = 0;
    ts_index_find(&f->index, keys, hashes, n, found);
    for (uint32_t i = 0; i < n; i++) wrong += found[i] != (round == 1 && i % 2 == 0 ? TS_LOCATION_NONE : i);
    CHECK_MSG(wrong == 0, "%u keys", wrong);
    for (uint32_t i = 0; round == 0 && i < n; i += 2) CHECK(ts_index_remove(&f->index, keys[i], hashes[i]));
  }
  free(keys);
  free(hashes);
  free(found);
  finish(f);
}

/* ---- the batch path ---- */

#define SHARDS 16u

static void kernels_agree(void) {
  enum { KEYS = 300000, BATCH = 256 };
  fixture *shards[SHARDS];
  const ts_index *indexes[SHARDS];
  for (uint32_t i = 0; i < SHARDS; i++) {
    shards[i] = start(INT64_MAX, 4, 96, 88); /* tightly filled: many keys are far from home */
    indexes[i] = &shards[i]->index;
  }
  for (uint32_t i = 0; i < KEYS; i++) {
    int64_t key = key_of(i);
    insert_one(&shards[ts_index_hash(key) >> 60]->index, key, TS_LOCATION(i % 8, i));
  }
  for (uint32_t i = 0; i < KEYS; i += 5) {
    int64_t key = key_of(i);
    CHECK(ts_index_remove(&shards[ts_index_hash(key) >> 60]->index, key, ts_index_hash(key)));
  }
  uint32_t wrong = 0, levels = 0;
  for (uint32_t level = 0; level <= ts_cpu_level(); level++, levels++)
    for (uint32_t batch = 0; batch < 1000; batch++) {
      int64_t keys[BATCH];
      uint64_t hashes[BATCH], numbers[BATCH];
      ts_index_home homes[BATCH];
      ts_location found[BATCH];
      uint32_t n = batch < BATCH ? batch : BATCH;
      for (uint32_t i = 0; i < n; i++) {
        numbers[i] = ts_random64(9, batch, i) % (KEYS + KEYS / 4);
        if (i < 6) numbers[i] = i;
        keys[i] = key_of(numbers[i]);
      }
      ts_index_approach(indexes, 4, keys, n, hashes, homes);
      ts_index_read(level, keys, hashes, homes, n, NULL, 0, found);
      for (uint32_t i = 0; i < n; i++) {
        bool here = numbers[i] < KEYS && numbers[i] % 5 != 0;
        wrong += hashes[i] != ts_index_hash(keys[i]);
        wrong += found[i] != (here ? TS_LOCATION(numbers[i] % 8, numbers[i]) : TS_LOCATION_NONE);
      }
    }
  CHECK_MSG(wrong == 0, "%u answers", wrong);
  CHECK(levels > 0);
  for (uint32_t i = 0; i < SHARDS; i++) finish(shards[i]);
}

/* ---- a cursor across changes ---- */

static void cursor_misses_no_key_that_stays(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  enum { N = 50000 };
  static uint8_t seen[N];
  memset(seen, 0, sizeof seen);
  for (uint64_t i = 0; i < N; i++) insert_one(&f->index, key_of(i), TS_LOCATION(1, i));
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location location;
  uint64_t steps = 0, added = 0;
  while (ts_index_next(&f->index, &cursor, &key, &location)) {
    if (TS_LOCATION_TIER(location) == 1) seen[TS_LOCATION_ROW(location)] = 1;
    if (steps++ % 2 == 0 && added < 2 * N) { /* the index triples meanwhile, by splits too */
      insert_one(&f->index, key_of(N + added), TS_LOCATION(2, added));
      added++;
    }
  }
  uint64_t missed = 0;
  for (uint32_t i = 0; i < N; i++) missed += seen[i] == 0;
  CHECK_MSG(missed == 0, "%llu keys", (unsigned long long)missed);
  CHECK(added > N / 2);
  finish(f);
}

/* ---- readers beside a writer ---- */

#define KEYS_OF_WRITER 40000u
#define LASTING 2000u

typedef struct scene {
  fixture *shards[2];
  const ts_index *indexes[2];
  atomic_bool stop;
  uint32_t spread; /* keys the writer works on */
  uint32_t lasting; /* the first so many are never removed */
} scene;

typedef struct watcher {
  scene *scene;
  uint32_t level;
  uint64_t seed, found, missed, wrong, lost;
} watcher;

/* A location that belongs to one key: nine of its hash bits over a version; the high bits are a sum of key and low bits,
 * so that parts of two locations of one key do not pass for a third. */
static ts_location location_for(uint64_t hash, uint64_t version) {
  uint64_t low = (hash >> 20 & 0x1FF) << 23 | (version & 0x7FFFFF);
  return (ts_mix64(hash ^ low) & 15) << 32 | low;
}

static bool belongs(ts_location location, uint64_t hash) {
  return location == location_for(hash, location);
}

static void *watch(void *context) {
  enum { BATCH = 64 };
  watcher *w = context;
  scene *s = w->scene;
  ts_epoch_slot *slot = ts_epoch_claim(&s->shards[0]->epochs);
  for (uint64_t round = 0; !atomic_load_explicit(&s->stop, memory_order_relaxed); round++) {
    int64_t keys[BATCH];
    uint64_t hashes[BATCH], numbers[BATCH];
    ts_index_home homes[BATCH];
    ts_location found[BATCH];
    for (uint32_t i = 0; i < BATCH; i++) {
      numbers[i] = ts_random64(w->seed, round, i) % (i % 4 == 0 ? TS_MIN(LASTING, s->spread) : s->spread);
      keys[i] = key_of(numbers[i]);
    }
    ts_epoch_enter(&s->shards[0]->epochs, slot);
    ts_index_approach(s->indexes, 1, keys, BATCH, hashes, homes);
    ts_index_read(w->level, keys, hashes, homes, BATCH, NULL, 0, found);
    for (uint32_t i = 0; i < 4; i++) { /* and the patient search */
      ts_location l = ts_index_find_one(s->indexes[hashes[i] >> 63], keys[i]);
      if (l == TS_LOCATION_NONE) w->lost += numbers[i] < s->lasting;
      else w->wrong += !belongs(l, hashes[i]);
    }
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < BATCH; i++) {
      if (found[i] == TS_LOCATION_NONE) {
        w->missed++;
        w->lost += numbers[i] < s->lasting;
      } else {
        w->found++;
        w->wrong += !belongs(found[i], hashes[i]);
      }
    }
  }
  ts_epoch_release(slot);
  return NULL;
}

/* Few keys: the same slots are used over and over, and change counts return. Many: growth, and smaller again. Where none
 * lasts, the index is empty at times. */
static void readers_beside_a_writer(uint32_t spread, uint32_t lasting) {
  scene s = {.spread = spread, .lasting = lasting};
  for (uint32_t i = 0; i < 2; i++) s.shards[i] = start(INT64_MAX, 1, i == 0 ? 0 : 96, i == 0 ? 0 : 88);
  for (uint32_t i = 0; i < 2; i++) {
    s.shards[i]->index.options.epochs = &s.shards[0]->epochs; /* as in a store: one for all */
    s.indexes[i] = &s.shards[i]->index;
  }
  static bool present[KEYS_OF_WRITER + LASTING];
  memset(present, 0, sizeof present);
  for (uint32_t i = 0; i < lasting; i++) {
    uint64_t hash = ts_index_hash(key_of(i));
    insert_one(&s.shards[hash >> 63]->index, key_of(i), location_for(hash, 0));
    present[i] = true;
  }
  pthread_t ids[3];
  watcher watchers[3];
  for (uint32_t i = 0; i < 3; i++) {
    watchers[i] = (watcher){.scene = &s, .level = TS_MIN(i, ts_cpu_level()), .seed = i};
    CHECK(pthread_create(&ids[i], NULL, watch, &watchers[i]) == 0);
  }
  for (uint64_t step = 0; step < WRITER_STEPS; step++) {
    uint64_t r = ts_random64(77, spread, step);
    uint32_t k = (uint32_t)(r % (spread + (spread < LASTING ? LASTING : 0)));
    int64_t key = key_of(k);
    uint64_t hash = ts_index_hash(key);
    ts_index *index = &s.shards[hash >> 63]->index;
    ts_location location = location_for(hash, step);
    if (!present[k]) {
      insert_one(index, key, location);
      present[k] = true;
    } else if (k < lasting || (r >> 40) % 2 == 0) {
      ts_index_move(index, key, hash, location);
    } else {
      CHECK(ts_index_remove(index, key, hash));
      present[k] = false;
    }
    if (step % (WRITER_STEPS / 8) != 0) continue;
    for (uint32_t i = lasting; i < spread; i++) { /* it becomes small, and where nothing lasts empty */
      if (present[i]) CHECK(ts_index_remove(&s.shards[ts_index_hash(key_of(i)) >> 63]->index, key_of(i), ts_index_hash(key_of(i))));
      present[i] = false;
    }
    for (uint32_t i = 0; i < 2; i++) ts_index_shrink(&s.shards[i]->index);
  }
  atomic_store(&s.stop, true);
  uint64_t found = 0;
  for (uint32_t i = 0; i < 3; i++) {
    pthread_join(ids[i], NULL);
    found += watchers[i].found;
    CHECK_MSG(watchers[i].wrong == 0, "%llu locations of other keys", (unsigned long long)watchers[i].wrong);
    CHECK_MSG(watchers[i].lost == 0, "%llu lasting keys not found", (unsigned long long)watchers[i].lost);
  }
  CHECK(found > 1000);
  for (uint32_t i = 0; i < 2; i++) finish(s.shards[1 - i]);
}

/* ---- what a writer must not do while a reader is inside ---- */

typedef struct work {
  fixture *f;
  int64_t key;
  uint32_t moves; /* of the key; 0: reserve room for it, which settles its segment or replaces it */
  atomic_bool done;
} work;

static void *write_something(void *context) {
  work *w = context;
  uint64_t hash = ts_index_hash(w->key), wanted;
  for (uint32_t i = 0; i < w->moves; i++) ts_index_move(&w->f->index, w->key, hash, i);
  if (w->moves == 0) CHECK(ts_index_reserve(&w->f->index, &hash, 1, &wanted) == TS_OK);
  atomic_store(&w->done, true);
  return NULL;
}

static void must_wait(work *w, bool waits) {
  ts_epoch_slot *slot = ts_epoch_claim(&w->f->epochs);
  ts_epoch_enter(&w->f->epochs, slot);
  pthread_t writer;
  CHECK(pthread_create(&writer, NULL, write_something, w) == 0);
  if (waits)
    for (uint64_t end = ts_now_ns() + 50000000; ts_now_ns() < end;) sched_yield(); /* time enough for who does not wait */
  else
    while (!atomic_load(&w->done)) sched_yield();
  CHECK(atomic_load(&w->done) != waits);
  ts_epoch_leave(slot);
  pthread_join(writer, NULL);
  CHECK(atomic_load(&w->done));
  ts_epoch_release(slot);
}

static void writers_wait_where_they_must(void) {
  fixture *f = start(INT64_MAX, 0, 0, 0);
  for (uint64_t i = 0; i < 3000; i++) insert_one(&f->index, key_of(i), i);
  /* Change counts of a bucket return after 1024 changes; within half of that one wait is due. */
  must_wait(&(work){f, key_of(7), 512, false}, true);
  must_wait(&(work){f, key_of(7), 256, false}, false);
  must_wait(&(work){f, key_of(7), 512, false}, true);
  /* Settling: a quarter of the slots was removed from, and that is not enough for a smaller segment. */
  ts_segment *s = ts_segment_of(&f->index, 0);
  for (uint64_t i = 2000; s->removed <= s->buckets * TS_BUCKET_SLOTS / 4; i--) {
    CHECK(ts_index_remove(&f->index, key_of(i), ts_index_hash(key_of(i))));
    if (i % 2 == 0) ts_index_insert(&f->index, key_of(i), ts_index_hash(key_of(i)), i);
  }
  uint32_t number = s->number;
  must_wait(&(work){f, key_of(5000), 0, false}, true);
  CHECK(ts_segment_of(&f->index, 0) == s && s->number != number && s->removed == 0);
  must_wait(&(work){f, key_of(5001), 0, false}, false);
  /* Growth. */
  for (uint64_t i = 6000; ts_segment_of(&f->index, 0) == s && s->live + s->reserved + 1 <= s->buckets * 410 / 100; i++)
    ts_index_insert(&f->index, key_of(i), ts_index_hash(key_of(i)), i);
  must_wait(&(work){f, key_of(5002), 0, false}, true);
  CHECK(ts_segment_of(&f->index, 0) != s);
  finish(f);
}

int main(void) {
  skip_missing_levels("index_test");
  grows_from_empty();
  for (uint64_t n = 0; n <= MANY; n = n * 7 + 3) room_is_made_ahead(n);
  room_ahead_may_be_refused();
  for (uint32_t buckets = TS_SEGMENT_FIRST; buckets <= TS_SEGMENT_MOST; buckets = buckets * 3 / 2) a_search_visits_every_bucket(buckets);
  a_search_visits_every_bucket(TS_SEGMENT_MOST);
  can_be_filled_tightly();
  a_walk_fills_another_index_evenly();
  agrees_with_a_map(1, 0, 0, 0);
  agrees_with_a_map(2, 4, 0, 0);
  agrees_with_a_map(3, 0, 96, 88);
  shrinks_after_removals();
  gives_back_after_removals(1 << 20, false);
  gives_back_after_removals(1 << 20, true);
  gives_back_after_removals(0, false);
  coming_and_going_leaves_order();
  grows_in_pieces_as_small_as_asked();
  reserved_keys_need_nothing_more();
  refused_growth_changes_nothing(4096, 70);
  refused_growth_changes_nothing(3 << 20, 90000);
  keys_with_equal_bits(UINT64_C(0xfff) << 52, UINT64_C(0xabc) << 52, 150000, 8 << 20); /* no split tells them apart */
  keys_with_equal_bits(0xFFFFFFFFu, 0x12345678u, 3000, 8 << 20);                       /* all have one home */
  keys_with_equal_bits(0xFFFFFFFFu, 0xFFFFFFFFu, 3000, 8 << 20);                       /* the last bucket */
  kernels_agree();
  cursor_misses_no_key_that_stays();
  writers_wait_where_they_must();
  readers_beside_a_writer(KEYS_OF_WRITER, LASTING);
  readers_beside_a_writer(KEYS_OF_WRITER, 0);
  readers_beside_a_writer(40, 40);
  return test_result();
}
