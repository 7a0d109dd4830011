/* update.c - one optimizer step on the rows of a batch: gradients of equal keys are summed in the order of the batch,
 * then each row steps once, where it is.
 *
 * Distinct keys are worked off by shard under its lock, in blocks and short loops like lookups. Rows in ordinary memory change in place; rows of a tier
 * that wants non-temporal writes, or is emulated, pass through a staging place. Keys without a row in memory are left to
 * bring.c at the end. */
#include "store/store.h"

#include "kernels/gather.h"
#include "store/batches.h"

#include <stdlib.h>
#include <string.h>

typedef struct update {
  ts_table *table;
  ts_work *work;
  ts_optimizer_call call;
  /* The batch: gradients[i * stride ..) of keys[i]; or, of bags, what spreads them a block at a time. */
  const int64_t *keys;
  uint64_t n;
  const float *gradients;
  uint64_t stride; /* floats from one gradient to the next */
  const ts_bags *bags; /* at the first key */
  uint32_t turn;       /* the shard to begin with */
  bool plain;          /* rows of the first tier change in place, without a question */
  uint32_t absent;     /* in work->picked */
  uint64_t below;
} update;

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

/* ---- the steps ---- */

/* The rows of a block that step where they are. */
typedef struct stepping {
  uint32_t n;
  int64_t keys[TS_FAST_BLOCK];
  void *rows[TS_FAST_BLOCK];
  const float *gradients[TS_FAST_BLOCK];
} stepping;

/* A row of a medium that is written as a whole. */
static void step_whole(update *u, ts_shard *shard, uint32_t tier, uint64_t row, uint32_t number) {
  ts_table *table = u->table;
  ts_rows *rows = &shard->rows[tier];
  void *spare = u->work->spare_row;
  memcpy(spare, ts_rows_at(rows, row), rows->stride);
  table->optimizer.apply(&table->optimizer, &u->call, &spare, &u->work->gradients[number], &u->work->keys[number], 1);
  ts_row_set_version(&table->layout, spare, u->call.global_step);
  rows->tier->ops->write(rows->tier, ts_rows_at(rows, row), spare, rows->stride);
}

/* Whether rows of a tier may have a copy or a record below. */
static bool has_below(const ts_shard *shard, uint32_t tier) {
  const ts_store *store = shard->table->store;
  return tier + 1 < store->tier_count &&
         (shard->recorded > 0 || (tier + 1 < store->memory_tiers && shard->rows[tier + 1].copies > 0));
}

/* A row that is not in a first tier of plain memory, or may have expired. */
static void find_other(update *u, ts_shard *shard, ts_location l, uint32_t number, stepping *s) {
  ts_table *table = u->table;
  const uint32_t tier = TS_LOCATION_TIER(l);
  if (tier >= TS_NOT_ADMITTED) {
    u->work->picked[u->absent++] = number;
    return;
  }
  const ts_rows *rows = &shard->rows[tier];
  if (ts_row_expired(table, ts_rows_at(rows, TS_LOCATION_ROW(l)))) {
    u->work->picked[u->absent++] = number;
    return;
  }
  if (rows->tier->ops->write_op == TS_MEDIA_WRITE_NT) {
    step_whole(u, shard, tier, TS_LOCATION_ROW(l), number);
  } else {
    s->keys[s->n] = u->work->keys[number];
    s->gradients[s->n] = u->work->gradients[number];
    s->rows[s->n++] = ts_rows_at(rows, TS_LOCATION_ROW(l));
  }
  if (tier == 0) return;
  u->below++;
  ts_count(table, TS_STAT_tier1_written + (tier - 1), table->layout.stride);
  if (has_below(shard, tier)) ts_row_changed(shard, tier, TS_LOCATION_ROW(l));
}

/* Finds the rows of a block; those that step as a whole do it here. */
static void find_rows(update *u, ts_shard *shard, const uint32_t *numbers, uint32_t n, stepping *s) {
  ts_table *table = u->table;
  int64_t keys[TS_FAST_BLOCK];
  uint64_t hashes[TS_FAST_BLOCK];
  ts_index_home homes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = u->work->keys[numbers[i]];
    hashes[i] = u->work->hashes[numbers[i]];
  }
  ts_index_aim(table->store->level, table->indexes, table->shard_bits, hashes, n, true, homes);
  ts_index_read(table->store->level, keys, hashes, homes, n, NULL, 0, locations);
  s->n = 0;
  const ts_rows_view *first = &table->first[shard - table->shards];
  for (uint32_t i = 0; i < n; i++) {
    const ts_location l = locations[i];
    if (TS_LIKELY(u->plain && TS_LOCATION_TIER(l) == 0)) {
      s->keys[s->n] = keys[i];
      s->gradients[s->n] = u->work->gradients[numbers[i]];
      s->rows[s->n++] = ts_rows_view_at(first, l);
    } else {
      find_other(u, shard, l, numbers[i], s);
    }
  }
  if (has_below(shard, 0))
    for (uint32_t i = 0; i < n; i++)
      if (TS_LOCATION_TIER(locations[i]) == 0) ts_row_changed(shard, 0, locations[i]);
}

/* All keys of one shard, which is locked. */
static void step_shard(update *u, uint32_t s) {
  ts_table *table = u->table;
  const uint32_t *numbers = u->work->order + u->work->starts[s];
  const uint32_t n = u->work->starts[s + 1] - u->work->starts[s];
  for (uint32_t first = 0; first < n; first += TS_FAST_BLOCK) {
    stepping block;
    find_rows(u, &table->shards[s], numbers + first, TS_MIN(n - first, TS_FAST_BLOCK), &block);
    table->optimizer.apply(&table->optimizer, &u->call, block.rows, block.gradients, block.keys, block.n);
    if (table->layout.version_offset != 0)
      for (uint32_t i = 0; i < block.n; i++) ts_row_set_version(&table->layout, block.rows[i], u->call.global_step);
  }
}

/* Shards that another call holds are passed over at first. */
static void step_all(update *u) {
  ts_table *table = u->table;
  bool done[TS_MAX_SHARDS] = {false};
  uint32_t left = 0;
  for (uint32_t i = 0; i < table->shard_count; i++) {
    uint32_t s = (i + u->turn) % table->shard_count;
    done[s] = u->work->starts[s] == u->work->starts[s + 1];
    if (done[s]) continue;
    if (pthread_mutex_trylock(&table->shards[s].lock) != 0) {
      left++;
      continue;
    }
    step_shard(u, s);
    pthread_mutex_unlock(&table->shards[s].lock);
    done[s] = true;
  }
  for (uint32_t i = 0; left > 0 && i < table->shard_count; i++) {
    uint32_t s = (i + u->turn) % table->shard_count;
    if (done[s]) continue;
    uint64_t start = ts_now_ns();
    pthread_mutex_lock(&table->shards[s].lock);
    ts_count(table, TS_STAT_lock_wait_ns, ts_now_ns() - start);
    step_shard(u, s);
    pthread_mutex_unlock(&table->shards[s].lock);
    left--;
  }
}

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Keys without a row in memory. */
static int32_t step_absent(update *u, ts_err err) {
  ts_work *w = u->work;
  qsort(w->picked, u->absent, sizeof *w->picked, ascending);
  for (uint32_t i = 0; i < u->absent; i++) {
    uint32_t d = w->picked[i];
    w->keys[i] = w->keys[d];
    w->hashes[i] = w->hashes[d];
    w->gradients[i] = w->gradients[d];
  }
  const uint32_t absent = u->absent;
  int32_t status = TS_OK;
  for (uint32_t first = 0; status == TS_OK && first < absent; first += w->staging_capacity) {
    ts_work slice = *w;
    slice.keys += first;
    slice.hashes += first;
    slice.gradients += first;
    slice.times += first;
    slice.count = TS_MIN(absent - first, w->staging_capacity);
    if (u->table->records != NULL) ts_work_renumber(&slice);
    ts_bring bring = {.table = u->table, .work = &slice, .call = &u->call};
    status = ts_bring_all(&bring, err);
  }
  return status;
}

static int32_t update_part(update *u, ts_part part, ts_err err) {
  if (!(u->bags == NULL ? collect(u, part) : collect_bags(u, part))) {
    int32_t status = update_part(u, (ts_part){part.parts * 2, part.part}, err);
    return status != TS_OK ? status : update_part(u, (ts_part){part.parts * 2, part.part + part.parts}, err);
  }
  ts_table *table = u->table;
  ts_work_by_shard(table, u->work);
  ts_count(table, TS_STAT_update_distinct, u->work->count);
  u->absent = 0;
  u->below = 0;
  const uint32_t emulated = ts_traffic_tier(table->store);
  uint64_t start = emulated != UINT32_MAX ? ts_now_ns() : 0, all = u->work->count;
  if (table->store->memory_tiers > 0) {
    step_all(u);
  } else {
    for (uint32_t d = 0; d < u->work->count; d++) u->work->picked[u->absent++] = d;
  }
  ts_count(table, TS_STAT_in_place_updates, u->below);
  if (emulated != UINT32_MAX && all > u->absent) {
    uint64_t rows = emulated == 0 ? all - u->absent : u->below;
    ts_traffic_updated(table, rows, (ts_now_ns() - start) * rows / (all - u->absent));
  }
  return u->absent == 0 ? TS_OK : step_absent(u, err);
}

/* Whether the last tier surely has room for as many new rows as the batch has keys. */
static bool has_room(const ts_table *table, uint64_t n) {
  const ts_store *store = table->store;
  const ts_budget *last = &store->tiers[store->tier_count - 1].budget, *first = &store->tiers[0].budget;
  uint64_t used = atomic_load_explicit(&last->used, memory_order_relaxed);
  /* A chunk in each shard, index slots, and as much again. */
  uint64_t need = 2 * n * (table->layout.stride + 32u) + used / 8 + last->headroom;
  if (last->rows_only) return last->limit > used && last->limit - used >= n * table->layout.stride;
  return last->limit > used && last->limit - used > need && (last == first || n < first->headroom / 64);
}

static int32_t run(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_store *store = table->store;
  /* A full store must refuse before any row has stepped: then all rows are made first. */
  if (!has_room(table, u->n)) {
    int32_t made = ts_lookup_make_rows(table, u->keys, u->n, err);
    if (made != TS_OK) return made;
  }
  ts_optimizer_begin(&table->optimizer, ts_step(store), &u->call);
  /* Calls side by side are numbered as they come; the step is the same for all of them. */
  if (atomic_load_explicit(&store->stepped, memory_order_relaxed)) u->call.moment = TS_STEP_MOMENT(u->call.global_step);
  /* Calls side by side begin at different shards. */
  u->turn = (uint32_t)(u->call.step * (table->shard_count / 2 + 1)) % table->shard_count;
  u->plain = store->memory_tiers > 0 && store->tiers[0].tier.ops->write_op != TS_MEDIA_WRITE_NT && !ts_may_expire(table);
  u->work = ts_work_acquire(table, u->n, TS_WORK_UPDATE);
  uint64_t start = store->memory_mode != NULL ? ts_now_ns() : 0;
  int32_t status = update_part(u, (ts_part){1, 0}, err);
  ts_work_release(store, u->work);
  if (store->memory_mode != NULL && status == TS_OK) ts_traffic_in_place(table, u->keys, u->n, ts_now_ns() - start, true);
  ts_count(table, TS_STAT_update_calls, 1);
  ts_count(table, TS_STAT_update_keys, u->n);
  if (status == TS_OK && ts_may_expire(table)) {
    uint64_t removed;
    status = ts_expire_piece(table, u->n, &removed, err);
  }
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
