/* work.c - working memory of slow calls, and the distinct keys of a batch in it.
 *
 * Working memory counts against the first tier's limit, which keeps a headroom for it, so it has a limit itself. A
 * batch with more distinct keys than fit is worked off in parts, split by hash bits: all repetitions of a key fall into
 * the same part in the order of the batch, so gradients sum in the same order whatever the memory. Memory is kept for
 * the next call, unless the first tier is short of it; then a call waits for some to come back. */
#include "base/sync_point.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_KEY 2u
#define KEYS_AT_LEAST 16u
#define KEYS_AT_MOST (UINT64_C(1) << 20)
#define STAGED_LOOKUPS 16384u /* rows that a lookup brings up at a time where none of them must be read from a disk */
#define STAGED_UPDATES 1024u  /* rows that an update works on below memory at a time */
#define PIECES 16u           /* of the memory, each aligned to 64 bytes */

static uint64_t power_of_two(uint64_t n) {
  uint64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

static uint64_t staging_bytes(const ts_table *table) {
  uint64_t weights = (uint64_t)table->layout.dim * sizeof(float);
  return TS_ROUND_UP(TS_MAX((uint64_t)table->layout.stride, weights), 64u);
}

static uint32_t sum_stride(const ts_table *table) { return TS_ROUND_UP(table->layout.dim, 16u); }

/* Of a store of records alone all rows of an update are read before the first one steps. */
static uint64_t staged(const ts_table *table, uint64_t keys, ts_work_kind kind) {
  return kind == TS_WORK_LOOKUP || table->store->memory_tiers == 0 ? keys : TS_MIN(keys, STAGED_UPDATES);
}

static uint64_t bytes_for(const ts_table *table, uint64_t keys, ts_work_kind kind) {
  uint64_t key = sizeof(int64_t) + sizeof(uint64_t) + sizeof(ts_location) + sizeof(unsigned char *) + 4 +
                 (3 + SLOTS_PER_KEY) * sizeof(uint32_t);
  if (kind == TS_WORK_UPDATE) key += sizeof(float *) + (uint64_t)sum_stride(table) * sizeof(float);
  return PIECES * 64 + keys * key + (staged(table, keys, kind) + 1) * staging_bytes(table);
}

static void *carve(unsigned char **at, uint64_t bytes) {
  unsigned char *start = (unsigned char *)TS_ROUND_UP((uintptr_t)*at, 64u);
  *at = start + bytes;
  return start;
}

static void lay_out(const ts_table *table, ts_work *w, uint64_t n, ts_work_kind kind) {
  uint64_t capacity = power_of_two(TS_MAX(TS_MIN(n, KEYS_AT_MOST), KEYS_AT_LEAST));
  while (capacity > KEYS_AT_LEAST && bytes_for(table, capacity, kind) > w->bytes) capacity /= 2;
  unsigned char *at = w->memory;
  w->capacity = (uint32_t)capacity;
  w->keys = carve(&at, capacity * sizeof *w->keys);
  w->hashes = carve(&at, capacity * sizeof *w->hashes);
  w->locations = carve(&at, capacity * sizeof *w->locations);
  w->rows = carve(&at, capacity * sizeof *w->rows);
  w->times = carve(&at, capacity * sizeof *w->times);
  w->order = carve(&at, capacity * sizeof *w->order);
  w->slots = carve(&at, capacity * SLOTS_PER_KEY * sizeof *w->slots);
  w->picked = carve(&at, capacity * sizeof *w->picked);
  w->state = carve(&at, capacity);
  w->found = carve(&at, capacity);
  w->fetched = carve(&at, capacity);
  w->passed = carve(&at, capacity);
  w->slot_mask = (uint32_t)(capacity * SLOTS_PER_KEY - 1);
  w->staging_bytes = staging_bytes(table);
  w->staging_capacity = (uint32_t)staged(table, capacity, kind);
  w->staging = carve(&at, w->staging_capacity * w->staging_bytes);
  w->spare_row = carve(&at, w->staging_bytes);
  w->gradients = NULL;
  w->sums = NULL;
  w->sum_stride = sum_stride(table);
  if (kind == TS_WORK_UPDATE) {
    w->gradients = carve(&at, capacity * sizeof *w->gradients);
    w->sums = carve(&at, capacity * w->sum_stride * sizeof *w->sums);
  }
  w->count = 0;
}

/* Makes it `bytes` large if the budget allows; keeps it as it is otherwise. */
static void grow(ts_store *store, ts_work *w, uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, TS_PAGE);
  if (bytes <= w->bytes) return;
  ts_budget *budget = ts_dram_budget(store);
  ts_pieces *pieces = ts_blocks_pieces(store->blocks);
  if (!ts_budget_take(budget, TS_PURPOSE_WORK, bytes)) return;
  unsigned char *memory = ts_piece_take(pieces, bytes);
  if (memory == NULL) {
    ts_budget_give_back(budget, TS_PURPOSE_WORK, bytes);
    return;
  }
  ts_piece_give_back(pieces, w->memory, w->bytes);
  ts_budget_give_back(budget, TS_PURPOSE_WORK, w->bytes);
  if (w->memory != NULL && w->bytes == store->assured) store->largest_works--;
  if (bytes > store->assured) {
    store->assured = bytes;
    store->largest_works = 0;
  }
  store->largest_works += bytes == store->assured;
  w->memory = memory;
  w->bytes = bytes;
}

static void let_go(ts_store *store, ts_work *w) {
  if (w->bytes == store->assured) store->largest_works--;
  ts_piece_give_back(ts_blocks_pieces(store->blocks), w->memory, w->bytes);
  ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_WORK, w->bytes + sizeof *w);
  free(w);
}

/* Where memory is so short that a call would not get any now, none is kept for the next: what moves rows down needs it.
 * One of the largest stays, so that those who wait get one. */
static bool is_wanted(const ts_store *store, const ts_work *w) {
  const ts_budget *budget = ts_dram_budget(store);
  const bool is_short = !budget->rows_only && ts_budget_taken(budget) > budget->limit - budget->headroom / 8 * 3;
  return is_short && (w->bytes < store->assured || store->largest_works > 1);
}

static ts_work *create(ts_store *store, uint64_t bytes) {
  if (!ts_budget_take(ts_dram_budget(store), TS_PURPOSE_WORK, sizeof(ts_work))) return NULL;
  ts_work *w = calloc(1, sizeof *w);
  if (w != NULL) grow(store, w, bytes);
  if (w == NULL || w->memory == NULL) {
    free(w);
    ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_WORK, sizeof(ts_work));
    return NULL;
  }
  return w;
}

static uint64_t least_for(const ts_table *table) {
  return TS_MAX(bytes_for(table, KEYS_AT_LEAST, TS_WORK_LOOKUP), bytes_for(table, KEYS_AT_LEAST, TS_WORK_UPDATE));
}

int32_t ts_work_prepare(ts_table *table, ts_err err) {
  ts_store *store = table->store;
  uint64_t bytes = least_for(table);
  pthread_mutex_lock(&store->work_lock);
  if (store->assured == 0) {
    store->idle = create(store, bytes);
  } else if (store->assured < bytes) {
    TS_SYNC("work:prepare:wait");
    while (store->idle == NULL) pthread_cond_wait(&store->work_free, &store->work_lock);
    grow(store, store->idle, bytes);
    pthread_cond_signal(&store->work_free); /* it is still there for the next who waits */
  }
  bool enough = store->assured >= bytes;
  pthread_mutex_unlock(&store->work_lock);
  return enough ? TS_OK
                : ts_fail(err, TS_EFULL,
                          "Cannot create table \"%s\": its working memory of %llu bytes does not fit the first tier's "
                          "%llu bytes; raise its size",
                          table->name, (unsigned long long)bytes, (unsigned long long)ts_dram_budget(store)->limit);
}

ts_work *ts_work_acquire(ts_table *table, uint64_t n, ts_work_kind kind) {
  ts_store *store = table->store;
  uint64_t least = least_for(table);
  if (kind == TS_WORK_LOOKUP && table->records == NULL) n = TS_MIN(n, STAGED_LOOKUPS);
  uint64_t want = bytes_for(table, power_of_two(TS_MAX(TS_MIN(n, KEYS_AT_MOST), KEYS_AT_LEAST)), kind);
  want = TS_MAX(least, TS_MIN(want, store->work_limit));
  pthread_mutex_lock(&store->work_lock);
  ts_work *w;
  for (;;) {
    w = store->idle;
    if (w != NULL) {
      store->idle = w->next;
      grow(store, w, want);
      if (w->bytes >= least) break;
      /* A second one, too small for this table and unable to grow: let it go, the first will come back. */
      let_go(store, w);
      continue;
    }
    w = create(store, want);
    if (w == NULL && want > least) w = create(store, least);
    if (w != NULL) break;
    TS_SYNC("work:acquire:wait");
    pthread_cond_wait(&store->work_free, &store->work_lock);
  }
  pthread_mutex_unlock(&store->work_lock);
  w->next = NULL;
  lay_out(table, w, n, kind);
  return w;
}

void ts_work_release(ts_store *store, ts_work *work) {
  TS_SYNC("work:release");
  pthread_mutex_lock(&store->work_lock);
  if (is_wanted(store, work)) {
    let_go(store, work);
  } else {
    work->next = store->idle;
    store->idle = work;
  }
  pthread_cond_signal(&store->work_free);
  pthread_mutex_unlock(&store->work_lock);
}

void ts_work_clear(ts_work *w) {
  memset(w->slots, 0, ((size_t)w->slot_mask + 1) * sizeof *w->slots);
  w->count = 0;
}

void ts_work_renumber(ts_work *w) {
  w->slot_mask = (uint32_t)TS_MIN((uint64_t)w->slot_mask, power_of_two((uint64_t)w->count * SLOTS_PER_KEY) - 1);
  memset(w->slots, 0, ((size_t)w->slot_mask + 1) * sizeof *w->slots);
  for (uint32_t d = 0; d < w->count; d++) {
    uint32_t at = ts_work_slot(w, w->hashes[d]);
    while (w->slots[at] != 0) at = (at + 1) & w->slot_mask;
    w->slots[at] = d + 1;
  }
}

void ts_work_approach(const ts_work *w, uint64_t hash) { __builtin_prefetch(&w->slots[ts_work_slot(w, hash)]); }

uint32_t ts_work_find(const ts_work *w, int64_t key, uint64_t hash) {
  for (uint32_t at = ts_work_slot(w, hash); w->slots[at] != 0; at = (at + 1) & w->slot_mask)
    if (w->keys[w->slots[at] - 1] == key) return w->slots[at] - 1;
  return UINT32_MAX;
}

uint32_t ts_work_number(const ts_work *w, int64_t key, uint64_t hash) {
  for (uint32_t at = ts_work_slot(w, hash);; at = (at + 1) & w->slot_mask)
    if (w->keys[w->slots[at] - 1] == key) return w->slots[at] - 1;
}

void ts_work_by_shard(const ts_table *table, ts_work *w) {
  uint32_t at[TS_MAX_SHARDS + 1] = {0};
  for (uint32_t d = 0; d < w->count; d++) at[ts_shard_number(table, w->hashes[d]) + 1]++;
  for (uint32_t s = 0; s < table->shard_count; s++) at[s + 1] += at[s];
  memcpy(w->starts, at, sizeof at);
  for (uint32_t d = 0; d < w->count; d++) w->order[at[ts_shard_number(table, w->hashes[d])]++] = d;
}
