/* step.c - the second pass of an update: rows step where they are.
 *
 * First those that are below all memory, read together, changed and put again: that alone can fail. Then those in memory,
 * by shard under its lock, in blocks and short loops like lookups: in ordinary memory in place; rows of a tier that wants
 * non-temporal writes, or is emulated, pass through a staging place. */
#include "store/flow.h"
#include "store/update.h"

#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

#define FINDS 4096u /* keys an epoch, which others may wait for */

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
static int32_t find_unexpired(update *u, uint32_t s, ts_err err) {
  ts_table *table = u->table;
  const ts_work *w = u->work;
  ts_shard *shard = &table->shards[s];
  pthread_mutex_lock(&shard->lock);
  u->changes[s] = ts_index_changes(&shard->index);
  for (uint32_t at = w->starts[s]; at < w->starts[s + 1]; at += TS_FAST_BLOCK)
    look_for(u, at, TS_MIN(w->starts[s + 1] - at, TS_FAST_BLOCK));
  int32_t status = TS_OK;
  for (uint32_t i = w->starts[s]; status == TS_OK && i < w->starts[s + 1]; i++) {
    const ts_location l = w->locations[i];
    const unsigned char *row = NULL;
    if (TS_LOCATION_TIER(l) < TS_NOT_ADMITTED) status = ts_row_see(shard, l, &row, err);
    if (status == TS_OK && (row == NULL || ts_row_expired(table, row))) w->picked[u->absent++] = w->order[i];
  }
  pthread_mutex_unlock(&shard->lock);
  return status;
}

/* All shards in one loop, FINDS keys an epoch. The number of changes of a shard is read before any of its keys is found. */
static void find_at_once(update *u, ts_epoch_slot *slot) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  for (uint32_t s = 0; s < table->shard_count; s++) u->changes[s] = ts_index_changes(&table->shards[s].index);
  for (uint32_t at = 0; at < w->count; at += FINDS) {
    ts_epoch_enter(&table->store->epochs, slot);
    ts_flow_find(table, w->keys, w->order + at, TS_MIN(w->count - at, FINDS), w->locations + at);
    ts_epoch_leave(slot);
  }
  for (uint32_t i = 0; i < w->count; i++)
    if (TS_UNLIKELY(TS_LOCATION_TIER(w->locations[i]) >= TS_NOT_ADMITTED)) w->picked[u->absent++] = w->order[i];
}

int32_t ts_update_find(update *u, ts_err err) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  u->absent = 0;
  if (ts_may_expire(table)) {
    int32_t status = TS_OK;
    for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) status = find_unexpired(u, s, err);
    return status;
  }
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  if (ts_flow_finds(table)) {
    find_at_once(u, slot);
    ts_epoch_release(slot);
    return TS_OK;
  }
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
  return TS_OK;
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
  if (rows->tier->ops->device != NULL) return; /* it has stepped */
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
  if (ts_is_on_device(shard->table->store)) return; /* they were, together */
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

/* What is told, or refused, of rows of a device before they step: those that have expired are absent. */
static int32_t look_before(update *u, ts_shard *shard, uint32_t at, uint32_t n, void **rows, ts_err err) {
  ts_table *table = u->table;
  const ts_work *w = u->work;
  ts_touched touched[TS_ROWS_SEEN];
  uint64_t slots[TS_ROWS_SEEN];
  uint32_t which[TS_ROWS_SEEN], m = 0, t = 0;
  const unsigned char *seen[TS_ROWS_SEEN];
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL) continue;
    slots[m] = TS_LOCATION_ROW(w->locations[at + i]);
    which[m++] = i;
  }
  const int32_t status = ts_rows_see(&shard->rows[0], m, slots, seen, err);
  if (status != TS_OK) return status;
  for (uint32_t k = 0, i = 0; i < n; i++) {
    const ts_location l = w->locations[at + i];
    const uint32_t tier = TS_LOCATION_TIER(l);
    if (tier >= TS_NOT_ADMITTED) continue;
    const unsigned char *row = k < m && which[k] == i ? seen[k++] : ts_rows_at(&shard->rows[tier], TS_LOCATION_ROW(l));
    touched[t++] = (ts_touched){w->keys[w->order[at + i]], row, l};
    if (tier > 0 || !ts_row_expired(table, row)) continue;
    u->work->picked[u->absent++] = w->order[at + i];
    rows[i] = NULL;
  }
  if (ts_is_watched(table)) ts_touch(table, touched, t, true);
  return TS_OK;
}

/* Rows of a device that step on the host, as many at a time as are staged. */
static int32_t step_here(update *u, uint32_t n, void *const *rows, uint32_t *stepped, ts_err err) {
  ts_table *table = u->table;
  const ts_work *w = u->work;
  ts_tier *tier = &table->store->tiers[0].tier;
  const ts_tier_device_ops *device = tier->ops->device;
  const uint32_t stride = table->layout.stride, most = TS_MIN(w->staging_capacity, TS_ROWS_SEEN);
  int32_t status = TS_OK;
  for (*stepped = 0; status == TS_OK && *stepped < n;) {
    const uint32_t first = *stepped;
    uint32_t m = 0, i = first;
    void *there[TS_ROWS_SEEN], *here[TS_ROWS_SEEN];
    const float *gradients[TS_ROWS_SEEN];
    int64_t keys[TS_ROWS_SEEN];
    for (; i < n && m < most; i++) {
      if (rows[i] == NULL) continue;
      there[m] = rows[i];
      here[m] = ts_work_staging(w, m);
      gradients[m] = w->gradients[i];
      keys[m++] = w->keys[i];
    }
    if (m > 0) status = device->read(tier, m, (const void *const *)there, stride, w->staging, w->staging_bytes, NULL, err);
    if (status != TS_OK) break;
    table->optimizer.apply(&table->optimizer, &u->call, here, gradients, keys, m);
    for (uint32_t k = 0; k < m; k++) ts_row_set_version(&table->layout, here[k], u->call.global_step);
    if (m > 0) status = device->write(tier, m, there, (const unsigned char *const *)(void *)here, stride, err);
    if (status == TS_OK) *stepped = i;
  }
  return status;
}

/* Rows of a device step together, in one transfer and one kernel; where that would give other bits than the host's rule, they
 * come, step here, and go back. Which have expired counts as absent. */
static int32_t step_on_device(update *u, ts_shard *shard, uint32_t from, uint32_t to, ts_err err) {
  ts_table *table = u->table;
  ts_work *w = u->work;
  ts_tier *tier = &table->store->tiers[0].tier;
  const ts_tier_device_ops *device = tier->ops->device;
  const uint32_t n = to - from, at_once = ts_rows_at_once(&shard->rows[0]);
  int32_t status = TS_OK;
  /* One shard: keys and gradients are in its order. */
  void **rows = (void **)w->rows;
  for (uint32_t at = from; at < to; at += TS_FAST_BLOCK) look_for(u, at, TS_MIN(to - at, TS_FAST_BLOCK));
  u->changes[shard - table->shards] = ts_index_changes(&shard->index);
  for (uint32_t i = 0; i < n; i++) {
    const ts_location l = w->locations[from + i];
    rows[i] = TS_LOCATION_TIER(l) == 0 ? ts_rows_at(&shard->rows[0], TS_LOCATION_ROW(l)) : NULL;
  }
  if (ts_is_watched(table) || ts_may_expire(table))
    for (uint32_t at = 0; status == TS_OK && at < n; at += at_once)
      status = look_before(u, shard, from + at, TS_MIN(n - at, at_once), rows + at, err);
  uint32_t stepped = 0;
  if (status == TS_OK)
    status = table->steps_on_device ? device->step(tier, &table->optimizer, &u->call, n, rows, w->gradients, w->keys, &stepped, err)
                                    : step_here(u, n, rows, &stepped, err);
  if (status == TS_OK) return TS_OK; /* find_rows says of all that they have changed */
  for (uint32_t i = 0; i < stepped; i++)
    if (rows[i] != NULL && has_below(shard, 0)) ts_row_changed(shard, 0, TS_LOCATION_ROW(w->locations[from + i]));
  u->stepped += stepped;
  return status;
}

/* All keys of one shard, which is locked. */
static int32_t step_shard(update *u, uint32_t s, ts_err err) {
  ts_table *table = u->table;
  const uint32_t end = u->work->starts[s + 1];
  if (ts_is_on_device(table->store)) {
    const int32_t status = step_on_device(u, &table->shards[s], u->work->starts[s], end, err);
    if (status != TS_OK) return status;
  }
  const bool still = ts_index_changes(&table->shards[s].index) == u->changes[s];
  for (uint32_t at = u->work->starts[s]; at < end; at += TS_FAST_BLOCK) {
    stepping block;
    find_rows(u, &table->shards[s], still, at, TS_MIN(end - at, TS_FAST_BLOCK), &block);
    table->optimizer.apply(&table->optimizer, &u->call, block.rows, block.gradients, block.keys, block.n);
    if (table->layout.version_offset != 0)
      for (uint32_t i = 0; i < block.n; i++) ts_row_set_version(&table->layout, block.rows[i], u->call.global_step);
  }
  return TS_OK;
}

/* Shards that another call holds are passed over at first. */
static int32_t step_all(update *u, ts_err err) {
  int32_t status = TS_OK;
  ts_table *table = u->table;
  bool done[TS_MAX_SHARDS] = {false};
  uint32_t left = 0;
  for (uint32_t i = 0; status == TS_OK && i < table->shard_count; i++) {
    uint32_t s = (i + u->turn) % table->shard_count;
    done[s] = u->work->starts[s] == u->work->starts[s + 1];
    if (done[s]) continue;
    if (pthread_mutex_trylock(&table->shards[s].lock) != 0) {
      left++;
      continue;
    }
    status = step_shard(u, s, err);
    pthread_mutex_unlock(&table->shards[s].lock);
    done[s] = true;
  }
  for (uint32_t i = 0; status == TS_OK && left > 0 && i < table->shard_count; i++) {
    uint32_t s = (i + u->turn) % table->shard_count;
    if (done[s]) continue;
    uint64_t start = ts_now_ns();
    pthread_mutex_lock(&table->shards[s].lock);
    ts_count(table, TS_STAT_lock_wait_ns, ts_now_ns() - start);
    status = step_shard(u, s, err);
    pthread_mutex_unlock(&table->shards[s].lock);
    left--;
  }
  return status;
}

/* Rows in memory. */
static int32_t step_memory(update *u, ts_err err) {
  ts_table *table = u->table;
  const uint32_t emulated = ts_traffic_tier(table->store);
  const uint64_t start = emulated != UINT32_MAX ? ts_now_ns() : 0, all = u->work->count;
  u->absent = 0;
  u->below = 0;
  const int32_t status = step_all(u, err);
  if (status != TS_OK) return status;
  ts_count(table, TS_STAT_in_place_updates, u->below);
  if (emulated == UINT32_MAX || all == u->absent) return TS_OK;
  const uint64_t rows = emulated == 0 ? all - u->absent : u->below;
  ts_traffic_updated(table, rows, (ts_now_ns() - start) * rows / (all - u->absent));
  return TS_OK;
}

/* A failure in the middle says how far it got. */
static int32_t tell_stepped(const update *u, int32_t status, ts_err err) {
  if (u->stepped == 0) return status;
  char why[512];
  snprintf(why, sizeof why, "%s", err.text != NULL && err.cap > 0 ? err.text : "");
  return ts_fail(err, status, "%s; up to %llu rows of the batch have taken their step", why, (unsigned long long)u->stepped);
}

/* Rows below, the first `count` keys. That can only fail with the disk (tiers/records.h), and what has stepped then is told. */
static int32_t step_below(update *u, uint32_t count, ts_err err) {
  const ts_bring read = {.table = u->table, .work = u->work, .existing = true, .fetched = true, .stay = true, .call = &u->call,
                         .stepped = &u->stepped};
  const int32_t status = u->fetched ? ts_bring_all(&read, err) : ts_update_bring(u, count, &u->call, err);
  return status == TS_OK ? TS_OK : tell_stepped(u, status, err);
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
    if (status == TS_OK) status = ts_update_find(u, err);
  }
  if (status == TS_OK) {
    status = step_memory(u, err);
    if (status != TS_OK) {
      u->work = w;
      return tell_stepped(u, status, err);
    }
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
