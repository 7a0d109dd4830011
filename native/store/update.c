/* update.c - one optimizer step on the rows of a batch: gradients of equal keys are summed in the order of the batch,
 * then each row steps once, where it is.
 *
 * A call that is refused must have stepped nothing, so that it can be made again. So it goes in two passes: first every
 * key gets its row, and rows come up from below as far as there is room (which reads them); whatever can be refused is
 * refused there. Then the rows step (step.c). The first pass costs little where all rows are in memory: the second one
 * uses the places that the first has found, where nothing has moved in between. */
#include "store/update.h"

#include "kernels/gather.h"
#include "store/batches.h"

#include <stdlib.h>
#include <string.h>

/* ---- the distinct keys and their sums ---- */

static bool collect(const update *u, ts_part part) {
  ts_work *w = u->work;
  const uint32_t dim = u->table->layout.dim, level = u->table->store->level;
  ts_work_clear(w);
  for (uint64_t first = 0; first < u->n; first += TS_FAST_BLOCK) {
    const uint32_t n = (uint32_t)TS_MIN(u->n - first, TS_FAST_BLOCK);
    uint64_t hashes[TS_FAST_BLOCK];
    float *sums[TS_FAST_BLOCK];
    const float *more[TS_FAST_BLOCK];
    uint32_t repeated = 0;
    ts_index_hash_all(level, u->keys + first, n, hashes);
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&w->slots[ts_work_slot(w, hashes[i])], 1);
    for (uint32_t i = 0; i < n; i++) {
      if (!ts_part_has(part, hashes[i])) continue;
      const float *gradient = u->gradients + (first + i) * u->stride;
      const uint32_t before = w->count, d = ts_work_add(w, u->keys[first + i], hashes[i]);
      if (d == UINT32_MAX) return false;
      if (d == before) {
        w->gradients[d] = gradient;
        continue;
      }
      /* Another gradient for a key that has one: the sum gets a place of its own. */
      float *sum = w->sums + (uint64_t)d * w->sum_stride;
      if (w->gradients[d] != sum) {
        memcpy(sum, w->gradients[d], dim * sizeof *sum);
        w->gradients[d] = sum;
      }
      sums[repeated] = sum;
      more[repeated++] = gradient;
    }
    ts_gradients_add(level, dim, sums, more, repeated);
  }
  return true;
}

/* As collect, for bags: each key's gradient is made where its sum will be. `scratch` holds one gradient. */
static bool collect_bags(const update *u, ts_part part) {
  ts_work *w = u->work;
  const uint32_t dim = u->table->layout.dim;
  float *scratch = (float *)(void *)w->staging;
  ts_bags bags = *u->bags;
  ts_work_clear(w);
  for (uint64_t i = 0; i < u->n; i++) {
    uint64_t hash = ts_index_hash(u->keys[i]);
    ts_bags_spread(&bags, u->gradients, 1, scratch);
    if (!ts_part_has(part, hash)) continue;
    uint32_t before = w->count, d = ts_work_add(w, u->keys[i], hash);
    if (d == UINT32_MAX) return false;
    float *sum = w->sums + (uint64_t)d * w->sum_stride;
    if (d == before) {
      memcpy(sum, scratch, dim * sizeof *sum);
      w->gradients[d] = sum;
    } else {
      for (uint32_t j = 0; j < dim; j++) sum[j] += scratch[j];
    }
  }
  return true;
}

/* ---- the two passes ---- */

/* Numbers of absent keys in rising order, so that swapping them to the front meets each but once. */
static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

void ts_update_to_front(update *u) {
  ts_work *w = u->work;
  qsort(w->picked, u->absent, sizeof *w->picked, ascending);
  for (uint32_t i = 0; i < u->absent; i++) {
    const uint32_t d = w->picked[i];
    const int64_t key = w->keys[i];
    const uint64_t hash = w->hashes[i];
    const float *gradient = w->gradients[i];
    w->keys[i] = w->keys[d], w->keys[d] = key;
    w->hashes[i] = w->hashes[d], w->hashes[d] = hash;
    w->gradients[i] = w->gradients[d], w->gradients[d] = gradient;
  }
}

int32_t ts_update_bring(update *u, uint32_t count, const ts_optimizer_call *call, ts_err err) {
  ts_work *w = u->work;
  int32_t status = TS_OK;
  for (uint32_t first = 0; status == TS_OK && first < count; first += w->staging_capacity) {
    ts_work slice = *w;
    slice.keys += first;
    slice.hashes += first;
    slice.gradients += first;
    slice.times += first;
    slice.count = TS_MIN(count - first, w->staging_capacity);
    if (u->table->records != NULL) ts_work_renumber(&slice);
    const ts_bring bring = {
        .table = u->table, .work = &slice, .existing = call != NULL, .stay = call != NULL, .call = call, .stepped = &u->stepped};
    status = ts_bring_all(&bring, err);
  }
  return status;
}

/* Of records alone: reads all rows, and leaves them to the step if each key has one; else says which have none. */
static int32_t read_records(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  u->absent = 0;
  memset(w->state, 0, w->count);
  const int32_t status = ts_fetch_begin(table, w, err);
  for (uint32_t d = 0; status == TS_OK && d < w->count; d++)
    if (w->state[d] == 0 || ts_row_expired(table, ts_work_staging(w, d))) w->picked[u->absent++] = d;
  u->fetched = status == TS_OK && u->absent == 0;
  if (!u->fetched) ts_fetch_end(table, w);
  return status;
}

/* Each key of the work has its row afterwards, or is not admitted. */
static int32_t prepare(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_work_by_shard(table, u->work);
  if (table->store->memory_tiers == 0) {
    int32_t status = read_records(u, err);
    if (status != TS_OK || u->absent == 0) return status;
    ts_update_to_front(u);
    status = ts_update_bring(u, u->absent, NULL, err);
    ts_work_by_shard(table, u->work);
    return status;
  }
  int32_t found = ts_update_find(u, err);
  if (found != TS_OK) return found;
  /* What came up may have moved other rows of the batch down: once more, as long as that makes far fewer. */
  for (uint32_t before = UINT32_MAX; u->absent > 0 && u->absent <= before / 2;) {
    before = u->absent;
    ts_update_to_front(u);
    int32_t status = ts_update_bring(u, u->absent, NULL, err);
    if (status != TS_OK) return status;
    ts_work_by_shard(table, u->work);
    status = ts_update_find(u, err);
    if (status != TS_OK) return status;
    if (table->records == NULL) break; /* who is absent now is not admitted */
  }
  return TS_OK;
}

static bool collect_any(const update *u, ts_part part) {
  return u->bags == NULL ? collect(u, part) : collect_bags(u, part);
}

/* A batch that is too large for the working memory, its rows made before; parts of it. */
static int32_t step_parts(update *u, ts_part part, ts_err err) {
  if (!collect_any(u, part)) {
    int32_t status = step_parts(u, (ts_part){part.parts * 2, part.part}, err);
    return status != TS_OK ? status : step_parts(u, (ts_part){part.parts * 2, part.part + part.parts}, err);
  }
  ts_work_by_shard(u->table, u->work);
  const int32_t status = u->table->store->memory_tiers > 0 ? ts_update_find(u, err) : TS_OK;
  return status == TS_OK ? ts_update_step(u, err) : status;
}

static void begin_step(update *u) {
  ts_table *table = u->table;
  ts_optimizer_begin(&table->optimizer, ts_step(table->store), &u->call);
  /* Calls side by side are numbered as they come; the step is the same for all of them. */
  if (atomic_load_explicit(&table->store->stepped, memory_order_relaxed)) u->call.moment = TS_STEP_MOMENT(u->call.global_step);
  /* Calls side by side begin at different shards. */
  u->turn = (uint32_t)(u->call.step * (table->shard_count / 2 + 1)) % table->shard_count;
}

/* Both passes, in the working memory that there is. */
static int32_t both_passes(update *u, ts_err err) {
  int32_t status;
  u->work = ts_work_acquire(u->table, u->n, TS_WORK_UPDATE);
  if (collect_any(u, (ts_part){1, 0})) {
    status = prepare(u, err);
    if (status == TS_OK) {
      begin_step(u);
      status = ts_update_step(u, err);
    }
  } else {
    ts_work_release(u->table->store, u->work); /* nobody waits for a second one while he has one */
    u->work = NULL;
    status = ts_lookup_make_rows(u->table, u->keys, u->n, err);
    if (status != TS_OK) return status;
    u->work = ts_work_acquire(u->table, u->n, TS_WORK_UPDATE);
    begin_step(u);
    status = step_parts(u, (ts_part){2, 0}, err);
    if (status == TS_OK) status = step_parts(u, (ts_part){2, 1}, err);
  }
  ts_work_release(u->table->store, u->work);
  return status;
}

static int32_t run_inside(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_store *store = table->store;
  u->plain = store->memory_tiers > 0 && !ts_is_on_device(store) && store->tiers[0].tier.ops->write_op != TS_MEDIA_WRITE_NT && !ts_may_expire(table);
  uint64_t start = store->memory_mode != NULL ? ts_now_ns() : 0;
  int32_t status = both_passes(u, err);
  if (status != TS_OK) return status;
  if (store->memory_mode != NULL) ts_traffic_in_place(table, u->keys, u->n, ts_now_ns() - start, true);
  ts_count(table, TS_STAT_update_calls, 1);
  ts_count(table, TS_STAT_update_keys, u->n);
  if (ts_may_expire(table)) {
    uint64_t removed;
    /* The rows have stepped: what fails here is met again by the next piece, and told by ts_table_expire. */
    (void)ts_expire_piece(table, u->n, &removed, (ts_err){NULL, 0});
  }
  return TS_OK;
}

static int32_t run(update *u, ts_err err) {
  ts_gate *gate = &u->table->store->gate;
  ts_gate_enter(gate);
  const int32_t status = run_inside(u, err);
  ts_gate_leave(gate);
  return status;
}

/* stride 0: that of the table's rows. */
static int32_t update_rows(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, const float *gradients,
                           uint64_t stride, ts_err e) {
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (n == 0) return TS_OK;
  if (keys == NULL || gradients == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot update %llu keys of table \"%s\": keys and gradients must not be NULL",
                   (unsigned long long)n, table->name);
  if (stride == 0) stride = table->layout.dim;
  update u = {.table = table, .keys = keys, .n = n, .gradients = gradients, .stride = stride};
  return run(&u, e);
}

int32_t ts_table_update(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, const float *gradients,
                        char *err, uint32_t err_cap) {
  return update_rows(store, number, keys, n, gradients, 0, (ts_err){err, err_cap});
}

int32_t ts_table_skip_update(ts_store *store, uint32_t number, ts_err err) {
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, err);
  if (status != TS_OK) return status;
  ts_optimizer_call call;
  ts_optimizer_begin(&table->optimizer, ts_step(store), &call);
  return TS_OK;
}

int32_t ts_table_update_strided(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, const float *gradients,
                                uint64_t stride, ts_err err) {
  return update_rows(store, number, keys, n, gradients, stride, err);
}

int32_t ts_table_update_bags(ts_store *store, uint32_t number, const int64_t *keys, const uint64_t *offsets, uint64_t count,
                             const float *weights, uint32_t combiner, const float *gradients, char *err,
                             uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK || count == 0) return status;
  status = ts_bags_check(table, "update", keys, offsets, count, combiner, gradients, e);
  if (status != TS_OK || offsets[count] == 0) return status;
  ts_bags bags;
  ts_bags_begin(&bags, store->level, table->layout.dim, offsets, count, weights, combiner);
  update u = {.table = table, .keys = keys, .n = offsets[count], .gradients = gradients, .bags = &bags};
  return run(&u, e);
}
