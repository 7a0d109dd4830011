/* bring.c - a miss: keys that the fast path did not find in the first tier. Their rows come up (promotion), are read from
 * records, or are created; or the key is not admitted yet.
 *
 * Keys are served by shard, up to 256 under one hold of its lock: here is decided what becomes of each, place.c carries it
 * out. Records are read before any lock is taken, all that a call needs together (fetch.c). */
#include "base/sync_point.h"
#include "store/bring.h"

#include <string.h>

#define SWEEPS 2u /* for memory of removed rows; no more, since one may give back what this call has just taken */

/* Takes away the rows in memory that have expired: their keys have none. */
static int32_t drop_expired(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  if (!ts_may_expire(table)) return TS_OK;
  uint64_t gone = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < c->n; i++) {
    const ts_location l = c->locations[i];
    if (!ts_location_in_memory(l)) continue;
    if (!ts_row_expired(table, ts_bring_row(c, i))) continue;
    status = ts_remove_in_memory(c->shard, c->keys[i], l, err);
    if (status != TS_OK) break;
    c->locations[i] = TS_LOCATION_NONE;
    gone++;
  }
  ts_count(table, TS_STAT_expired, gone);
  return status;
}

/* The same for records that were read. */
static int32_t drop_expired_records(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  if (!ts_may_expire(table)) return TS_OK;
  uint64_t gone = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < c->n; i++) {
    const uint32_t d = c->numbers[i];
    if (ts_location_in_memory(c->locations[i]) || w->state[d] == 0 || !ts_row_expired(table, ts_work_staging(w, d))) continue;
    ts_touch_one(table, c->keys[i], ts_work_staging(w, d), TS_LOCATION_NONE, true);
    status = ts_records_remove(table, c->keys[i], err);
    if (status != TS_OK) break;
    w->state[d] = 0;
    w->fetched[d] = 1; /* that there is none is known */
    gone++;
  }
  ts_count(table, TS_STAT_expired, gone);
  return status;
}

/* What is to be done for each key. */
static int32_t decide(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  uint32_t again[TS_BRING_CHUNK], n = 0;
  ts_index_find(&c->shard->index, c->keys, c->hashes, c->n, c->locations);
  int32_t dropped = ts_bring_stage(c, err);
  if (dropped == TS_OK) dropped = drop_expired(c, err);
  if (dropped != TS_OK) return dropped;
  if (table->records != NULL) {
    for (uint32_t i = 0; i < c->n; i++)
      if (!ts_location_in_memory(c->locations[i]) && !w->fetched[c->numbers[i]]) again[n++] = c->numbers[i];
    int32_t status = ts_fetch_again(table, w, again, n, err);
    if (status == TS_OK) status = drop_expired_records(c, err);
    if (status != TS_OK) return status;
  }
  for (uint32_t i = 0; i < c->n; i++)
    c->fate[i] = ts_location_in_memory(c->locations[i]) ? PRESENT
                 : w->state[c->numbers[i]] != 0         ? FETCHED
                 : c->bring->existing                   ? REFUSED
                                                        : CREATED;
  return TS_OK;
}

/* Index slots for what comes in. Nothing has changed yet. */
static int32_t reserve_index(ts_bring_chunk *c) {
  uint64_t hashes[TS_BRING_CHUNK];
  uint32_t n = 0;
  const ts_store *store = c->bring->table->store;
  if (store->memory_tiers == 0 && c->bring->table->admission.kind != TS_ADMIT_COUNTED) return TS_OK;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->locations[i] == TS_LOCATION_NONE && c->fate[i] != REFUSED) hashes[n++] = c->hashes[i];
  ts_index_clear_reservations(&c->shard->index);
  return n == 0 ? TS_OK : ts_index_reserve(&c->shard->index, hashes, n, &c->index_wanted);
}

/* Whether a key without a row was looked up often enough before this call. */
static bool is_admitted(const ts_bring_chunk *c, uint32_t i) {
  const ts_admission *a = &c->bring->table->admission;
  if (a->kind != TS_ADMIT_BLOOM) return ts_bring_counted(c, i) >= a->frequency;
  return c->bring->count ? c->bring->work->passed[c->numbers[i]] : ts_bloom_frequency(a->bloom, c->keys[i]) >= a->frequency;
}

/* Keys that are not admitted: answered with the default. */
static void admit(ts_bring_chunk *c) {
  memset(c->asks, 0, sizeof c->asks);
  if (c->bring->table->admission.kind == TS_ADMIT_ALL || c->bring->images != NULL) return;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != CREATED) continue;
    c->asks[i] = c->bring->count;
    if (!is_admitted(c, i) || c->bring->again) c->fate[i] = REFUSED;
  }
}

void ts_bring_count_asking(ts_bring_chunk *c) {
  ts_table *table = c->bring->table;
  const ts_admission *a = &table->admission;
  for (uint32_t i = 0; i < c->n; i++) {
    if (!c->asks[i]) continue;
    const uint32_t times = c->bring->work->times[c->numbers[i]];
    if (a->kind == TS_ADMIT_BLOOM) {
      ts_touch_filter(table, c->keys[i]);
      ts_bloom_add(a->bloom, c->keys[i], times);
    } else if (c->fate[i] == REFUSED) {
      const uint64_t word = ts_waiting_word(a, ts_bring_counted(c, i) + times, ts_step(table->store));
      ts_bring_locate(c, i, TS_LOCATION(TS_NOT_ADMITTED, word));
    }
  }
}

/* What may become of the keys is told, before anything does. */
static __attribute__((noinline)) void touch_keys(ts_bring_chunk *c) {
  const ts_bring *b = c->bring;
  const bool changes = ts_bring_changes(b), counts = b->count && b->table->layout.frequency_offset != 0;
  ts_touched changed[TS_BRING_CHUNK], moved[TS_BRING_CHUNK];
  uint32_t n = 0, m = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    const ts_location l = c->locations[i];
    const uint32_t tier = TS_LOCATION_TIER(l);
    ts_touched t = {c->keys[i], NULL, l};
    if (c->fate[i] == REFUSED) continue;
    if (c->fate[i] == PRESENT) t.row = ts_bring_row(c, i);
    if (c->fate[i] == FETCHED) t.row = ts_work_staging(b->work, c->numbers[i]);
    if (changes || counts || c->fate[i] == CREATED)
      changed[n++] = t;
    else if (c->fate[i] == FETCHED || tier > 0)
      moved[m++] = t;
  }
  ts_touch(b->table, changed, n, true);
  ts_touch(b->table, moved, m, false);
}

/* Whether there are new rows that memory has no places for, where nothing can move further down. */
static bool lacks_places(ts_bring_chunk *c) {
  const ts_table *table = c->bring->table;
  const uint32_t last = table->store->memory_tiers - 1;
  ts_rows *rows = c->shard->rows;
  uint64_t need = 0;
  if (table->records != NULL || table->store->rows_only) return false;
  for (uint32_t i = 0; i < c->n; i++) need += c->fate[i] == CREATED;
  uint64_t got = need == 0 ? 0 : ts_rows_reserve(&rows[0], need);
  for (uint32_t t = 1; got < need && t <= last; t++) got += rows[t].copies + ts_rows_reserve(&rows[t], need - got);
  return got < need;
}

static void lock(ts_shard *shard) {
  if (pthread_mutex_trylock(&shard->lock) == 0) return;
  uint64_t start = ts_now_ns();
  pthread_mutex_lock(&shard->lock);
  ts_count(shard->table, TS_STAT_lock_wait_ns, ts_now_ns() - start);
}

/* Rows that no index of memory knows can only be records. New ones are put there at once; keys that are counted for
 * admission have no other place than the index. */
static bool needs_index(const ts_bring_chunk *c) {
  const ts_table *table = c->bring->table;
  bool any = false;
  if (table->records != NULL && table->admission.kind != TS_ADMIT_COUNTED) return false;
  for (uint32_t i = 0; i < c->n; i++) any = any || c->fate[i] == CREATED;
  return any;
}

static int32_t serve(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  ts_store *store = table->store;
  for (uint32_t i = 0; i < c->n; i++) {
    c->keys[i] = c->bring->work->keys[c->numbers[i]];
    c->hashes[i] = c->bring->work->hashes[c->numbers[i]];
  }
  bool crowded = false;
  for (uint32_t sweeps = 0;;) {
    lock(c->shard);
    c->starved = false;
    c->index_wanted = 0;
    int32_t status = decide(c, err);
    bool for_index = false;
    if (status == TS_OK) {
      status = reserve_index(c);
      c->no_index = status == TS_EFULL && (c->bring->stay || (crowded && !needs_index(c)));
      if (c->no_index) status = TS_OK;
      for_index = status == TS_EFULL;
      if (status == TS_ENOMEM) ts_fail(err, TS_ENOMEM, "Cannot add rows to table \"%s\": out of memory", table->name);
    }
    const bool lacks = status == TS_OK && sweeps < SWEEPS && lacks_places(c);
    if (status == TS_OK && !lacks) {
      if (ts_is_watched(table)) touch_keys(c);
      admit(c);
      status = ts_bring_place(c, err);
    }
    for (uint32_t t = 0; t < store->memory_tiers; t++) ts_rows_settle(&c->shard->rows[t]);
    if (c->shard->full) ts_evictors_call(c->shard);
    pthread_mutex_unlock(&c->shard->lock);
    if (for_index) {
      TS_SYNC("bring:index_wanted");
      status = ts_room_free(c->shard, c->index_wanted, err);
      if (status == TS_OK) continue;
      crowded = status == TS_EFULL && !crowded; /* once more: served where they are, or made below */
      if (crowded) continue;
    }
    if (lacks) { /* what removed rows of any table left; then as far as it goes */
      const bool all = sweeps > 0;
      bool freed = false;
      for (uint32_t t = store->memory_tiers; !freed && t-- > 0;) freed = ts_spare_free(store, t, all);
      sweeps = freed ? sweeps + 1 : SWEEPS;
      continue;
    }
    if (c->starved) ts_room_feed(c->shard);
    return status;
  }
}

int32_t ts_bring_all(const ts_bring *b, ts_err err) {
  ts_table *table = b->table;
  ts_work *w = b->work;
  uint64_t start = ts_now_ns();
  int32_t status = TS_OK;
  if (!b->fetched) {
    ts_work_by_shard(table, w);
    memset(w->state, 0, w->count);
    status = ts_fetch_begin(table, w, err);
  }
  ts_traffic traffic;
  ts_traffic_begin(table->store, &traffic);
  ts_bring_chunk c = {.bring = b, .traffic = &traffic};
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    c.shard = &table->shards[s];
    for (uint32_t at = w->starts[s]; status == TS_OK && at < w->starts[s + 1]; at += TS_BRING_CHUNK) {
      c.numbers = w->order + at;
      c.n = TS_MIN(w->starts[s + 1] - at, TS_BRING_CHUNK);
      ts_descent_begin(table->store);
      status = serve(&c, err);
      ts_descent_end(table->store);
      if (ts_is_tiered(table->store)) ts_room_restore(table->store);
    }
  }
  ts_fetch_end(table, w);
  /* What is brought up ahead of time takes nobody's time. */
  if (table->store->tier_count > 1 && !b->existing) ts_count(table, TS_STAT_miss_ns, ts_now_ns() - start);
  ts_traffic_wait(table, &traffic);
  if (ts_is_tiered(table->store)) ts_room_balance(table->store);
  return status;
}
