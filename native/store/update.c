/* update.c - one optimizer step on the rows of a batch: gradients of equal keys are summed in the order of the batch,
 * then each row steps once, where it is. Rows in ordinary memory change in place; rows of a tier that wants
 * non-temporal writes change in a spare row that is then written back whole. */
#include "store/store.h"

#include <string.h>

typedef struct update {
  ts_table *table;
  ts_batch *batch;
  const int64_t *keys;
  uint64_t n;
  const float *gradients;
  ts_optimizer_call call;
} update;

#define BLOCK 256u /* rows whose gradients are pointed at, on the stack */

static inline void add(float *restrict sum, const float *restrict g, uint32_t dim) {
  for (uint32_t j = 0; j < dim; j++) sum[j] += g[j];
}

/* Sums per distinct key; returns where they are and their stride in floats. */
static const float *sum_gradients(const update *u, ts_part part, size_t *stride) {
  ts_batch *b = u->batch;
  const uint32_t dim = u->table->dim;
  const bool inverse = part.parts == 1 && u->n <= b->capacity;
  if (inverse && b->count == u->n) { /* all keys differ: in order of appearance they are the batch itself */
    *stride = dim;
    return u->gradients;
  }
  *stride = b->sum_stride;
  memset(b->sums, 0, b->count * b->sum_stride * sizeof(float));
  for (uint64_t i = 0; i < u->n; i++) {
    uint32_t d;
    if (inverse) {
      d = b->inverse[i];
    } else {
      uint64_t hash = ts_index_hash(u->keys[i]);
      if (!ts_part_has(part, hash)) continue;
      d = ts_batch_distinct(b, u->keys[i], hash);
    }
    add(b->sums + d * b->sum_stride, u->gradients + i * dim, dim);
  }
  return b->sums;
}

static void step(const update *u, const float *sums, size_t stride) {
  ts_table *table = u->table;
  ts_batch *b = u->batch;
  const ts_optimizer *o = &table->optimizer;
  bool plain = true; /* every row may be changed where it is */
  for (uint32_t t = 0; t < table->store->tier_count; t++)
    plain = plain && table->rows[t].tier->ops->write_op != TS_MEDIA_WRITE_NT;
  if (plain) {
    for (uint32_t first = 0; first < b->count; first += BLOCK) {
      const float *gradients[BLOCK];
      uint32_t count = TS_MIN(b->count - first, BLOCK);
      for (uint32_t i = 0; i < count; i++) gradients[i] = sums + (first + i) * stride;
      o->apply(o, &u->call, (void *const *)(void *)(b->rows + first), gradients, b->keys + first, count);
    }
    return;
  }
  for (uint32_t i = 0; i < b->count; i++) {
    ts_tier *tier = table->rows[TS_LOCATION_TIER(b->locations[i])].tier;
    bool whole = tier->ops->write_op == TS_MEDIA_WRITE_NT;
    unsigned char *row = b->rows[i];
    void *target = row;
    if (whole) {
      memcpy(b->spare_row, row, table->stride);
      target = b->spare_row;
    }
    const float *gradient = sums + i * stride;
    o->apply(o, &u->call, &target, &gradient, &b->keys[i], 1);
    if (whole) tier->ops->write(tier, row, b->spare_row, table->stride);
  }
}

/* Waits for what the media model's time for changing these rows in place exceeds the real time. */
static void wait_for_updates(ts_table *table, const ts_batch *b, uint64_t start) {
  ts_store *store = table->store;
  uint64_t end = ts_now_ns(), wait = 0;
  for (uint32_t t = 0; t < store->tier_count; t++) {
    const ts_emulation *emulation = store->tiers[t].emulation;
    if (emulation == NULL) continue;
    uint64_t rows = ts_batch_rows_in(b, t);
    wait += ts_batch_excess(
        b, rows, end - start,
        ts_emulation_cost_ns(emulation, TS_MEDIA_READ, (uint32_t)table->stride, rows) +
            ts_emulation_cost_ns(emulation, table->rows[t].tier->ops->write_op, (uint32_t)table->stride, rows));
  }
  wait += ts_memory_mode_excess(table, b, (uint32_t)table->stride, true);
  if (wait == 0) return;
  ts_spin_until(end + wait);
  ts_count(store, TS_STAT_emulation_wait_ns, wait);
}

static int32_t update_part(void *context, ts_part part) {
  update *u = context;
  ts_batch *b = u->batch;
  ts_store *store = u->table->store;
  if (part.parts > 1) ts_index_find(&u->table->index, b->keys, b->hashes, b->count, b->locations);
  ts_move_resolve(u->table, b, false);
  size_t stride;
  const float *sums = sum_gradients(u, part, &stride);
  uint64_t start = ts_now_ns();
  step(u, sums, stride);
  if (store->tiers[store->tier_count - 1].emulation != NULL || store->memory_mode != NULL)
    wait_for_updates(u->table, b, start);
  ts_move_unpin(u->table, b);
  ts_count(store, TS_STAT_update_distinct, b->count);
  if (store->tier_count > 1) {
    uint64_t below = 0;
    for (uint32_t i = 0; i < b->count; i++) below += TS_LOCATION_TIER(b->locations[i]) != 0;
    ts_count(store, TS_STAT_in_place_updates, below);
  }
  return TS_OK;
}

int32_t ts_table_update(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, const float *gradients,
                        char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (n == 0) return TS_OK;
  if (keys == NULL || gradients == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot update %llu keys of table \"%s\": keys and gradients must not be NULL",
                   (unsigned long long)n, table->name);
  update u = {.table = table,
              .batch = ts_batch_acquire(table, n, table->slot_bytes / (uint32_t)sizeof(float)),
              .keys = keys,
              .n = n,
              .gradients = gradients};
  bool single;
  status = ts_room_for(table, u.batch, keys, n, &single, e);
  if (status == TS_OK) {
    ts_optimizer_begin(&table->optimizer, 0, &u.call);
    if (single)
      update_part(&u, (ts_part){1, 0});
    else
      ts_batch_parts(u.batch, keys, n, update_part, &u);
    for (uint32_t t = 0; t < store->tier_count; t++) ts_rows_settle(&table->rows[t]);
    pthread_mutex_unlock(&table->lock);
    ts_count(store, TS_STAT_update_calls, 1);
    ts_count(store, TS_STAT_update_keys, n);
  }
  ts_batch_release(store, u.batch);
  return status;
}
