/* step.c - the second pass of an update: rows step where they are.
 *
 * First those that are below all memory, read together, changed and put again: that alone can fail. Then those in memory,
 * by shard under its lock, in blocks and short loops like lookups: in ordinary memory in place; rows of a tier that wants
 * non-temporal writes, or is emulated, pass through a staging place. */
#include "store/update.h"

#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

/* Fills in the locations of n keys, the first of them `at` in the order. */
static void look_for(const update *u, uint32_t at, uint32_t n) {
  const ts_table *table = u->table;
  const ts_work *w = u->work;
  int64_t keys[TS_FAST_BLOCK];
  uint64_t hashes[TS_FAST_BLOCK];
  ts_index_home homes[TS_FAST_BLOCK];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = w->keys[w->order[at + i]];
    hashes[i] = w->hashes[w->order[at + i]];
  }
  ts_index_aim(table->store->level, table->indexes, table->shard_bits, hashes, n, true, homes);
  ts_index_read(table->store->level, keys, hashes, homes, n, NULL, 0, w->locations + at);
}

/* The rows of one shard, under its lock: those that have expired are looked at, and count as absent. */
static void find_unexpired(update *u, uint32_t s) {
  ts_table *table = u->table;
  const ts_work *w = u->work;
  ts_shard *shard = &table->shards[s];
  pthread_mutex_lock(&shard->lock);
  u->changes[s] = ts_index_changes(&shard->index);
  for (uint32_t at = w->starts[s]; at < w->starts[s + 1]; at += TS_FAST_BLOCK)
    look_for(u, at, TS_MIN(w->starts[s + 1] - at, TS_FAST_BLOCK));
  for (uint32_t i = w->starts[s]; i < w->starts[s + 1]; i++) {
    const ts_location l = w->locations[i];
    const uint32_t tier = TS_LOCATION_TIER(l);
    if (tier >= TS_NOT_ADMITTED || ts_row_expired(table, ts_rows_at(&shard->rows[tier], TS_LOCATION_ROW(l))))
      w->picked[u->absent++] = w->order[i];
  }
  pthread_mutex_unlock(&shard->lock);
}

void ts_update_find(update *u) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  u->absent = 0;
  if (ts_may_expire(table)) {
    for (uint32_t s = 0; s < table->shard_count; s++) find_unexpired(u, s);
    return;
  }
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  for (uint32_t s = 0; s < table->shard_count; s++) {
    u->changes[s] = ts_index_changes(&table->shards[s].index);
    for (uint32_t at = w->starts[s]; at < w->starts[s + 1]; at += TS_FAST_BLOCK) {
      const uint32_t n = TS_MIN(w->starts[s + 1] - at, TS_FAST_BLOCK);
      ts_epoch_enter(&table->store->epochs, slot);
      look_for(u, at, n);
      ts_epoch_leave(slot);
      for (uint32_t i = at; i < at + n; i++)
        if (TS_LOCATION_TIER(w->locations[i]) >= TS_NOT_ADMITTED) w->picked[u->absent++] = w->order[i];
    }
  }
  ts_epoch_release(slot);
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

/* Rows of a block that are about to step. */
static __attribute__((noinline)) void touch_rows(const update *u, ts_shard *shard, uint32_t at, uint32_t n) {
  const ts_work *w = u->work;
  ts_touched touched[TS_FAST_BLOCK];
  uint32_t m = 0;
  for (uint32_t i = at; i < at + n; i++) {
    const ts_location l = w->locations[i];
    const uint32_t tier = TS_LOCATION_TIER(l);
    if (tier >= TS_NOT_ADMITTED) continue;
    touched[m++] = (ts_touched){w->keys[w->order[i]], ts_rows_at(&shard->rows[tier], TS_LOCATION_ROW(l)), l};
  }
  ts_touch(u->table, touched, m, true);
}

/* The rows of a block, which begins `at` keys into the order; those that step as a whole do it here. */
static void find_rows(update *u, ts_shard *shard, bool still, uint32_t at, uint32_t n, stepping *s) {
  ts_table *table = u->table;
  const ts_work *w = u->work;
  const uint32_t *numbers = w->order + at;
  ts_location *locations = w->locations + at;
  if (!still) look_for(u, at, n);
  if (ts_is_watched(table)) touch_rows(u, shard, at, n);
  s->n = 0;
  const ts_rows_view *first = &table->first[shard - table->shards];
  for (uint32_t i = 0; i < n; i++) {
    const ts_location l = locations[i];
    if (TS_LIKELY(u->plain && TS_LOCATION_TIER(l) == 0)) {
      s->keys[s->n] = w->keys[numbers[i]];
      s->gradients[s->n] = w->gradients[numbers[i]];
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
  const uint32_t end = u->work->starts[s + 1];
  const bool still = ts_index_changes(&table->shards[s].index) == u->changes[s];
  for (uint32_t at = u->work->starts[s]; at < end; at += TS_FAST_BLOCK) {
    stepping block;
    find_rows(u, &table->shards[s], still, at, TS_MIN(end - at, TS_FAST_BLOCK), &block);
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

/* Rows in memory. */
static void step_memory(update *u) {
  ts_table *table = u->table;
  const uint32_t emulated = ts_traffic_tier(table->store);
  const uint64_t start = emulated != UINT32_MAX ? ts_now_ns() : 0, all = u->work->count;
  u->absent = 0;
  u->below = 0;
  step_all(u);
  ts_count(table, TS_STAT_in_place_updates, u->below);
  if (emulated == UINT32_MAX || all == u->absent) return;
  const uint64_t rows = emulated == 0 ? all - u->absent : u->below;
  ts_traffic_updated(table, rows, (ts_now_ns() - start) * rows / (all - u->absent));
}

/* Rows below, the first `count` keys. That can only fail with the disk (tiers/records.h), and what has stepped then is told. */
static int32_t step_below(update *u, uint32_t count, ts_err err) {
  const ts_bring read = {.table = u->table, .work = u->work, .existing = true, .fetched = true, .stay = true, .call = &u->call,
                         .stepped = &u->stepped};
  const int32_t status = u->fetched ? ts_bring_all(&read, err) : ts_update_bring(u, count, &u->call, err);
  if (status == TS_OK || u->stepped == 0) return status;
  char why[512];
  snprintf(why, sizeof why, "%s", err.text != NULL && err.cap > 0 ? err.text : "");
  return ts_fail(err, status, "%s; up to %llu rows of the batch have taken their step", why, (unsigned long long)u->stepped);
}

int32_t ts_update_step(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  int32_t status = TS_OK;
  ts_count(table, TS_STAT_update_distinct, w->count);
  if (table->store->memory_tiers == 0) return step_below(u, w->count, err);
  ts_work rest = *w; /* of a work that is in no list of fetches */
  if (u->absent > 0 && table->records != NULL) {
    const uint32_t count = u->absent;
    ts_update_to_front(u);
    status = step_below(u, count, err);
    rest.keys += count;
    rest.hashes += count;
    rest.gradients += count;
    rest.times += count;
    rest.count -= count;
    ts_work_by_shard(table, &rest);
    u->work = &rest;
    ts_update_find(u);
  }
  if (status == TS_OK) {
    step_memory(u);
    u->stepped += u->work->count - u->absent;
    /* Those that another call or thread has just moved down. */
    if (u->absent > 0 && table->records != NULL) {
      const uint32_t count = u->absent;
      ts_update_to_front(u);
      status = step_below(u, count, err);
    }
  }
  u->work = w;
  return status;
}
