/* batch.c - the distinct keys of a batch, in bounded memory.
 *
 * Working memory counts against the first tier's limit, which keeps a headroom for it, so it has a limit itself. A
 * batch with more distinct keys than fit is worked off in parts, split by hash bits: all repetitions of a key fall into
 * the same part in the order of the batch, so gradients sum in the same order whatever the memory. Buffers are kept for
 * the next call; when memory is short a call waits for one to come back. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_KEY 2u
#define KEYS_AT_LEAST 16u
#define KEYS_AT_MOST (UINT64_C(1) << 30)
#define PIECES 8u /* of a buffer, each aligned to 64 bytes */

static uint64_t key_bytes(uint32_t sum_floats) {
  return sizeof(int64_t) + sizeof(uint64_t) + sizeof(ts_location) + sizeof(unsigned char *) + sizeof(uint32_t) +
         SLOTS_PER_KEY * sizeof(uint32_t) + (uint64_t)sum_floats * sizeof(float);
}

static uint64_t bytes_for(const ts_table *table, uint64_t keys, uint32_t sum_floats) {
  return TS_ROUND_UP(table->stride, 64u) + PIECES * 64 + keys * key_bytes(sum_floats);
}

static uint64_t power_of_two(uint64_t n) {
  uint64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

static void *carve(unsigned char **at, uint64_t bytes) {
  unsigned char *start = (unsigned char *)TS_ROUND_UP((uintptr_t)*at, 64u);
  *at = start + bytes;
  return start;
}

static void lay_out(const ts_table *table, ts_batch *b, uint64_t n, uint32_t sum_floats) {
  uint64_t capacity = power_of_two(TS_MAX(TS_MIN(n, KEYS_AT_MOST), KEYS_AT_LEAST));
  while (capacity > KEYS_AT_LEAST && bytes_for(table, capacity, sum_floats) > b->bytes) capacity /= 2;
  unsigned char *at = b->memory;
  b->capacity = (uint32_t)capacity;
  b->count = 0;
  b->keys = carve(&at, capacity * sizeof *b->keys);
  b->hashes = carve(&at, capacity * sizeof *b->hashes);
  b->locations = carve(&at, capacity * sizeof *b->locations);
  b->rows = carve(&at, capacity * sizeof *b->rows);
  b->inverse = carve(&at, capacity * sizeof *b->inverse);
  b->slots = carve(&at, capacity * SLOTS_PER_KEY * sizeof *b->slots);
  b->slot_mask = (uint32_t)(capacity * SLOTS_PER_KEY - 1);
  b->sums = carve(&at, capacity * sum_floats * sizeof *b->sums);
  b->sum_stride = sum_floats;
  b->spare_row = carve(&at, table->stride);
}

/* Grows a buffer to `bytes` if the budget allows; keeps it as it is otherwise. */
static void grow(ts_store *store, ts_batch *b, uint64_t bytes) {
  if (bytes <= b->bytes) return;
  ts_budget *budget = &store->tiers[0].budget;
  if (!ts_budget_take(budget, TS_PURPOSE_BUFFERS, bytes)) return;
  unsigned char *memory = malloc(bytes);
  if (memory == NULL) {
    ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, bytes);
    return;
  }
  free(b->memory);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, b->bytes);
  b->memory = memory;
  b->bytes = bytes;
  if (bytes > store->assured) store->assured = bytes;
}

static ts_batch *create(ts_store *store, uint64_t bytes) {
  if (!ts_budget_take(&store->tiers[0].budget, TS_PURPOSE_BUFFERS, sizeof(ts_batch))) return NULL;
  ts_batch *b = calloc(1, sizeof *b);
  if (b != NULL) grow(store, b, bytes);
  if (b == NULL || b->memory == NULL) {
    free(b);
    ts_budget_give_back(&store->tiers[0].budget, TS_PURPOSE_BUFFERS, sizeof(ts_batch));
    return NULL;
  }
  return b;
}

int32_t ts_batch_prepare(ts_table *table, ts_err err) {
  ts_store *store = table->store;
  /* Updates keep sums: dim floats, rounded up, at most one slot. */
  uint64_t bytes = bytes_for(table, KEYS_AT_LEAST, table->slot_bytes / sizeof(float));
  pthread_mutex_lock(&store->buffers_lock);
  if (store->assured == 0) {
    store->idle = create(store, bytes);
  } else if (store->assured < bytes) {
    while (store->idle == NULL) pthread_cond_wait(&store->buffer_free, &store->buffers_lock);
    grow(store, store->idle, bytes);
    pthread_cond_signal(&store->buffer_free); /* it is still there for the next who waits */
  }
  bool enough = store->assured >= bytes;
  pthread_mutex_unlock(&store->buffers_lock);
  return enough ? TS_OK
                : ts_fail(err, TS_EFULL,
                          "Cannot create table \"%s\": its working memory of %llu bytes does not fit the first tier's "
                          "%llu bytes; raise its size",
                          table->name, (unsigned long long)bytes, (unsigned long long)store->tiers[0].budget.limit);
}

ts_batch *ts_batch_acquire(ts_table *table, uint64_t n, uint32_t sum_floats) {
  ts_store *store = table->store;
  uint64_t least = bytes_for(table, KEYS_AT_LEAST, sum_floats);
  uint64_t want = bytes_for(table, power_of_two(TS_MIN(n, KEYS_AT_MOST)), sum_floats);
  want = TS_MAX(least, TS_MIN(want, store->batch_limit));
  pthread_mutex_lock(&store->buffers_lock);
  ts_batch *b;
  for (;;) {
    b = store->idle;
    if (b != NULL) {
      store->idle = b->next;
      grow(store, b, want);
      if (b->bytes >= least) break;
      /* A second buffer, too small for this table and unable to grow: let it go, the first will come back. */
      ts_budget_give_back(&store->tiers[0].budget, TS_PURPOSE_BUFFERS, b->bytes + sizeof *b);
      free(b->memory);
      free(b);
      continue;
    }
    b = create(store, want);
    if (b == NULL && want > least) b = create(store, least);
    if (b != NULL) break;
    pthread_cond_wait(&store->buffer_free, &store->buffers_lock);
  }
  pthread_mutex_unlock(&store->buffers_lock);
  b->next = NULL;
  lay_out(table, b, n, sum_floats);
  return b;
}

void ts_batch_release(ts_store *store, ts_batch *batch) {
  pthread_mutex_lock(&store->buffers_lock);
  batch->next = store->idle;
  store->idle = batch;
  pthread_cond_signal(&store->buffer_free);
  pthread_mutex_unlock(&store->buffers_lock);
}

bool ts_batch_collect(ts_batch *b, ts_part part, const int64_t *keys, uint64_t n) {
  memset(b->slots, 0, ((size_t)b->slot_mask + 1) * sizeof *b->slots);
  b->count = 0;
  const bool inverse = n <= b->capacity;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t hash = ts_index_hash(keys[i]);
    if (!ts_part_has(part, hash)) continue;
    uint32_t at = (uint32_t)(hash >> 40) & b->slot_mask, d;
    for (;; at = (at + 1) & b->slot_mask) {
      if (b->slots[at] == 0) {
        if (b->count == b->capacity) return false;
        d = b->count++;
        b->slots[at] = d + 1;
        b->keys[d] = keys[i];
        b->hashes[d] = hash;
        break;
      }
      d = b->slots[at] - 1;
      if (b->keys[d] == keys[i]) break;
    }
    if (inverse) b->inverse[i] = d;
  }
  return true;
}

uint32_t ts_batch_distinct(const ts_batch *b, int64_t key, uint64_t hash) {
  for (uint32_t at = (uint32_t)(hash >> 40) & b->slot_mask;; at = (at + 1) & b->slot_mask)
    if (b->keys[b->slots[at] - 1] == key) return b->slots[at] - 1;
}

static int32_t visit_part(ts_batch *b, ts_part part, const int64_t *keys, uint64_t n,
                          int32_t (*visit)(void *context, ts_part part), void *context) {
  if (ts_batch_collect(b, part, keys, n)) return visit(context, part);
  int32_t status = visit_part(b, (ts_part){part.parts * 2, part.part}, keys, n, visit, context);
  if (status != TS_OK) return status;
  return visit_part(b, (ts_part){part.parts * 2, part.part + part.parts}, keys, n, visit, context);
}

int32_t ts_batch_parts(ts_batch *b, const int64_t *keys, uint64_t n, int32_t (*visit)(void *context, ts_part part),
                       void *context) {
  return visit_part(b, (ts_part){1, 0}, keys, n, visit, context);
}
