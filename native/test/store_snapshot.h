/* store_snapshot.h - all that a cut of a store consists of, put together in memory: what two stores are compared by, and what one
 * is refilled from. */
#ifndef TS_TEST_STORE_SNAPSHOT_H
#define TS_TEST_STORE_SNAPSHOT_H

#include "store/store.h"
#include "test/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
  ts_cut_part part;
  uint32_t table, count;
  uint64_t n;
  unsigned char *bytes;
} block;

/* A sink in memory. */
typedef struct blocks {
  pthread_mutex_t lock;
  block *all;
  uint32_t count, capacity;
  uint64_t bytes, of_part[5]; /* of_part: entries */
  int32_t refuse;             /* if not TS_OK: what every further block is answered with */
} blocks;

static inline void blocks_init(blocks *b) {
  *b = (blocks){0};
  pthread_mutex_init(&b->lock, NULL);
}

static inline void blocks_free(blocks *b) {
  for (uint32_t i = 0; i < b->count; i++) free(b->all[i].bytes);
  free(b->all);
  pthread_mutex_destroy(&b->lock);
  *b = (blocks){0};
}

static inline int32_t keep_block(void *context, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n,
                          ts_err err) {
  blocks *b = context;
  pthread_mutex_lock(&b->lock);
  const int32_t status = b->refuse;
  if (status == TS_OK) {
    if (b->count == b->capacity) {
      b->capacity = 2 * b->capacity + 16;
      b->all = realloc(b->all, b->capacity * sizeof *b->all);
    }
    b->all[b->count++] = (block){part, table, count, n, memcpy(malloc(n + 1), bytes, n)};
    b->bytes += n;
    b->of_part[part] += count;
  }
  pthread_mutex_unlock(&b->lock);
  return status == TS_OK ? TS_OK : ts_fail(err, status, "the sink was told to refuse");
}

/* What there is of a key. */
typedef struct kept {
  uint32_t table, what; /* ts_cut_what */
  int64_t key;
  uint64_t count, step; /* of one that waits */
  const unsigned char *row;
  uint64_t bytes;
  uint64_t order; /* of equal keys the first counts */
} kept;

typedef struct snapshot {
  blocks b;
  kept *keys;
  uint64_t count;
  uint64_t filters; /* hash of all filters' counters */
} snapshot;

static inline int by_key(const void *x, const void *y) {
  const kept *a = x, *b = y;
  if (a->table != b->table) return a->table < b->table ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

/* Blocks as a reader takes them: BEFORE over the rest. Of a row that came twice without BEFORE the bytes must be the same. */
static inline void put_together(snapshot *s) {
  const blocks *b = &s->b;
  uint64_t n = 0, order = 0, k = 0;
  for (uint32_t i = 0; i < b->count; i++) n += b->all[i].part <= TS_CUT_WAITING ? b->all[i].count : 0;
  kept *all = calloc(n + 1, sizeof *all);
  for (uint32_t i = 0; i < b->count; i++) {
    const block *at = &b->all[i];
    if (at->part == TS_CUT_FILTER) {
      ts_cut_place place;
      memcpy(&place, at->bytes, sizeof place);
      for (uint32_t w = 0; w < at->count; w++) {
        uint64_t word;
        memcpy(&word, at->bytes + sizeof place + (uint64_t)w * 8, 8);
        s->filters += ts_mix64(ts_mix64(word) ^ (at->table + (place.first_word + w) * UINT64_C(4096)));
      }
    }
    if (at->part > TS_CUT_WAITING) continue;
    const uint64_t each = at->n / at->count;
    for (uint32_t e = 0; e < at->count; e++) {
      const unsigned char *from = at->bytes + e * each;
      kept *to = &all[k++];
      *to = (kept){.table = at->table, .order = order++ + (at->part == TS_CUT_BEFORE ? 0 : UINT64_C(1) << 60)};
      memcpy(&to->key, from, sizeof to->key);
      if (at->part == TS_CUT_ROWS) {
        to->what = TS_CUT_ROW;
        to->row = from + 8;
        to->bytes = each - 8;
      } else if (at->part == TS_CUT_BEFORE) {
        ts_cut_before head;
        memcpy(&head, from, sizeof head);
        to->what = head.what;
        to->count = head.waiting;
        to->step = (uint64_t)head.step;
        to->row = from + sizeof head;
        to->bytes = head.what == TS_CUT_ROW ? each - sizeof head : 0;
      } else {
        ts_cut_waiting head;
        memcpy(&head, from, sizeof head);
        to->what = TS_CUT_WAITS;
        to->count = head.count;
        to->step = (uint64_t)head.step;
      }
    }
  }
  qsort(all, k, sizeof *all, by_key);
  uint64_t left = 0;
  for (uint64_t i = 0; i < k; i++) {
    if (i > 0 && all[i].table == all[i - 1].table && all[i].key == all[i - 1].key) {
      const kept *before = &all[i - 1];
      if (before->order >= UINT64_C(1) << 60)
        CHECK_MSG(before->what == all[i].what && (before->what != TS_CUT_ROW || memcmp(before->row, all[i].row, before->bytes) == 0),
                  "key %lld came twice, with different contents", (long long)all[i].key);
      all[i].order = TS_MIN(all[i].order, before->order); /* the whole run is of the first */
      all[i].what = before->what, all[i].row = before->row, all[i].bytes = before->bytes;
      all[i].count = before->count, all[i].step = before->step;
      all[left - 1] = all[i];
      continue;
    }
    all[left++] = all[i];
  }
  uint64_t there = 0;
  for (uint64_t i = 0; i < left; i++)
    if (all[i].what != TS_CUT_ABSENT) all[there++] = all[i];
  s->keys = all;
  s->count = there;
}

static inline void snapshot_free(snapshot *s) {
  blocks_free(&s->b);
  free(s->keys);
  *s = (snapshot){0};
}

/* Of a store that nobody changes meanwhile; of its expired rows nothing. */
static inline void snapshot_take(ts_store *store, snapshot *s) {
  char text[512] = "";
  ts_cut *cut = NULL;
  *s = (snapshot){0};
  blocks_init(&s->b);
  for (uint32_t t = 0; t < atomic_load(&store->table_count); t++) {
    uint64_t counts[3];
    CHECK(ts_table_rows(store, t, counts, 3, NULL, 0) == TS_OK);
  }
  CHECK_MSG(ts_cut_begin(store, false, keep_block, &s->b, &cut, (ts_err){text, sizeof text}) == TS_OK, "%s", text);
  if (cut != NULL) CHECK_MSG(ts_cut_write(cut, NULL, (ts_err){text, sizeof text}) == TS_OK, "%s", text);
  ts_cut_end(cut, false);
  CHECK_MSG(s->b.of_part[TS_CUT_BEFORE] == 0, "%s", "nobody changed anything");
  put_together(s);
}

/* How many keys differ; what: for the message. */
static inline uint64_t snapshots_differ(const snapshot *a, const snapshot *b, const char *what) {
  uint64_t i = 0, j = 0, differ = 0;
  while (i < a->count || j < b->count) {
    const kept *x = i < a->count ? &a->keys[i] : NULL, *y = j < b->count ? &b->keys[j] : NULL;
    int order = x == NULL ? 1 : y == NULL ? -1 : x->table != y->table ? (x->table < y->table ? -1 : 1) : x->key < y->key ? -1 : x->key > y->key;
    bool same = order == 0 && x->what == y->what && x->count == y->count && x->step == y->step && x->bytes == y->bytes &&
                (x->what != TS_CUT_ROW || memcmp(x->row, y->row, x->bytes) == 0);
    if (!same && differ++ < 3) {
      const kept *k = order <= 0 ? x : y;
      fprintf(stderr, "%s: table %u, key %lld: %s\n", what, k->table, (long long)k->key,
              order < 0 ? "is missing" : order > 0 ? "should not be there" : "is something else");
    }
    i += order <= 0;
    j += order >= 0;
  }
  if (a->filters != b->filters && differ++ < 3) fprintf(stderr, "%s: Bloom filters differ\n", what);
  return differ;
}

/* Fills an empty store with the same tables, as a restore does. */
static inline int32_t snapshot_refill(const blocks *b, const ts_cut_state *state, const ts_cut_table_state *tables, ts_store *store,
                               ts_err err) {
  ts_refill *r = NULL;
  int32_t status = ts_refill_begin(store, &r, err);
  if (status != TS_OK) return status;
  ts_refill_state(r, state->step, state->stepped);
  for (uint32_t i = 0; status == TS_OK && i < b->count; i++)
    if (b->all[i].part != TS_CUT_BEFORE && b->all[i].part != TS_CUT_CHANGES)
      status = ts_refill_part(r, b->all[i].part, b->all[i].table, b->all[i].count, b->all[i].bytes, b->all[i].n, err);
  for (uint32_t i = b->count; status == TS_OK && i-- > 0;)
    if (b->all[i].part == TS_CUT_BEFORE)
      status = ts_refill_part(r, b->all[i].part, b->all[i].table, b->all[i].count, b->all[i].bytes, b->all[i].n, err);
  for (uint32_t t = 0; status == TS_OK && t < state->tables; t++)
    ts_refill_table_state(r, t, tables[t].updates, tables[t].learning_rate);
  ts_refill_end(r, status == TS_OK);
  return status;
}

#endif
