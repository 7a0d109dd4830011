/* bring.c - keys that the fast path did not find in the first tier: their rows come up from where they are, or are
 * created, or the key is not admitted yet.
 *
 * Keys are served by shard, up to 256 under one hold of its lock. Each row's bytes pass through the key's staging place:
 * a lookup leaves its weights there, an update lets the row take its step there before it is placed.
 *
 * Records are read before any lock is taken, all that a call needs together (fetch.c). */
#include "base/sync_point.h"
#include "store/store.h"

#include <string.h>

#define CHUNK 256u
#define SWEEPS 2u /* for memory of removed rows; no more, since one may give back what this call has just taken */

void ts_row_start(const ts_table *table, int64_t key, unsigned char *row, float *scratch) {
  ts_initializer_weights(&table->initializer, key, scratch, table->layout.dim);
  ts_optimizer_start_row(&table->optimizer, row, scratch);
  ts_row_set_version(&table->layout, row, TS_BORN(ts_step(table->store)));
}

void ts_row_changed(ts_shard *shard, uint32_t tier, uint64_t row) {
  ts_rows *rows = &shard->rows[tier];
  if (rows->policy == NULL) return;
  uint8_t *flags = ts_rows_flags(rows, row);
  if (*flags & TS_ROW_COPY) {
    ts_rows *below = &shard->rows[tier + 1];
    below->copies--;
    ts_rows_free(below, ts_rows_below(rows, row));
  }
  *flags = *flags & TS_ROW_RECORD ? TS_ROW_STALE : 0;
}

/* One chunk of keys of one shard. */
typedef struct chunk {
  const ts_bring *bring;
  ts_shard *shard;
  const uint32_t *numbers; /* of the keys in the work */
  uint32_t n;
  int64_t keys[CHUNK];
  uint64_t hashes[CHUNK];
  ts_location locations[CHUNK];
  enum fate { PRESENT, FETCHED, CREATED, REFUSED } fate[CHUNK];
  ts_traffic *traffic;
  uint64_t index_wanted;
  bool no_index; /* no room there for rows that stay where they are served */
  bool starved; /* rows got no place in the first tier, where the shard has none at all */
} chunk;

static bool in_memory(ts_location l) { return TS_LOCATION_TIER(l) < TS_NOT_ADMITTED; }

/* Lookups that the index counted of a key without a row before this call. */
static uint64_t counted_before(const chunk *c, uint32_t i) {
  const ts_location l = c->locations[i];
  return l == TS_LOCATION_NONE ? 0 : ts_waiting_count(&c->bring->table->admission, TS_LOCATION_ROW(l));
}

/* Whether a key without a row was looked up often enough before this call. */
static bool is_admitted(const chunk *c, uint32_t i) {
  const ts_admission *a = &c->bring->table->admission;
  const ts_work *w = c->bring->work;
  const uint32_t d = c->numbers[i];
  if (a->kind != TS_ADMIT_CBF) return counted_before(c, i) >= a->frequency;
  if (!c->bring->count) return ts_bloom_frequency(a->bloom, c->keys[i]) >= a->frequency;
  ts_bloom_add(a->bloom, c->keys[i], w->times[d]);
  return w->passed[d];
}

/* Takes away the rows in memory that have expired: their keys have none. */
static int32_t drop_expired(chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  if (!ts_may_expire(table)) return TS_OK;
  uint64_t gone = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < c->n; i++) {
    const ts_location l = c->locations[i];
    if (!in_memory(l) ||
        !ts_row_expired(table, ts_rows_at(&c->shard->rows[TS_LOCATION_TIER(l)], TS_LOCATION_ROW(l))))
      continue;
    status = ts_remove_in_memory(c->shard, c->keys[i], l, err);
    if (status != TS_OK) break;
    c->locations[i] = TS_LOCATION_NONE;
    gone++;
  }
  ts_count(table, TS_STAT_expired, gone);
  return status;
}

/* The same for records that were read. */
static int32_t drop_expired_records(chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  if (!ts_may_expire(table)) return TS_OK;
  uint64_t gone = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < c->n; i++) {
    const uint32_t d = c->numbers[i];
    if (in_memory(c->locations[i]) || w->state[d] == 0 || !ts_row_expired(table, ts_work_staging(w, d))) continue;
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
static int32_t decide(chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  uint32_t again[CHUNK], n = 0;
  ts_index_find(&c->shard->index, c->keys, c->hashes, c->n, c->locations);
  int32_t dropped = drop_expired(c, err);
  if (dropped != TS_OK) return dropped;
  if (table->records != NULL) {
    for (uint32_t i = 0; i < c->n; i++)
      if (!in_memory(c->locations[i]) && !w->fetched[c->numbers[i]]) again[n++] = c->numbers[i];
    int32_t status = ts_fetch_again(table, w, again, n, err);
    if (status == TS_OK) status = drop_expired_records(c, err);
    if (status != TS_OK) return status;
  }
  for (uint32_t i = 0; i < c->n; i++)
    c->fate[i] = in_memory(c->locations[i])         ? PRESENT
                 : w->state[c->numbers[i]] != 0 ? FETCHED
                 : c->bring->existing           ? REFUSED
                                                : CREATED;
  return TS_OK;
}

/* Index slots for what comes in. Nothing has changed yet. */
static int32_t reserve_index(chunk *c) {
  uint64_t hashes[CHUNK];
  uint32_t n = 0;
  const ts_store *store = c->bring->table->store;
  if (store->memory_tiers == 0 && c->bring->table->admission.kind != TS_ADMIT_COUNTED) return TS_OK;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->locations[i] == TS_LOCATION_NONE && c->fate[i] != REFUSED) hashes[n++] = c->hashes[i];
  ts_index_clear_reservations(&c->shard->index);
  return n == 0 ? TS_OK : ts_index_reserve(&c->shard->index, hashes, n, &c->index_wanted);
}

/* Keys that are not admitted: counted, and answered with the default. */
static void admit(chunk *c) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  if (table->admission.kind == TS_ADMIT_ALL) return;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != CREATED) continue;
    if (is_admitted(c, i) && !c->bring->again) continue;
    c->fate[i] = REFUSED;
    if (!c->bring->count || table->admission.kind != TS_ADMIT_COUNTED) continue;
    const uint64_t count = counted_before(c, i) + w->times[c->numbers[i]];
    const ts_location counted =
        TS_LOCATION(TS_NOT_ADMITTED, ts_waiting_word(&table->admission, count, ts_step(table->store)));
    if (c->locations[i] == TS_LOCATION_NONE)
      ts_index_insert(&c->shard->index, c->keys[i], c->hashes[i], counted);
    else
      ts_index_move(&c->shard->index, c->keys[i], c->hashes[i], counted);
  }
}

/* Frequency that a new row starts with: what was counted before it was admitted. */
static void start_frequency(chunk *c, uint32_t i, unsigned char *row) {
  if (c->bring->table->layout.frequency_offset == 0) return;
  ts_row_set_frequency(&c->bring->table->layout, row, (uint32_t)TS_MIN(counted_before(c, i), UINT32_MAX));
}

static void count_frequency(chunk *c, uint32_t i, unsigned char *row) {
  const ts_row_layout *layout = &c->bring->table->layout;
  if (layout->frequency_offset == 0 || !c->bring->count) return;
  ts_row_set_frequency(layout, row, ts_row_frequency(layout, row) + c->bring->work->times[c->numbers[i]]);
}

static void insert_or_move(chunk *c, uint32_t i, ts_location to) {
  if (c->locations[i] == TS_LOCATION_NONE)
    ts_index_insert(&c->shard->index, c->keys[i], c->hashes[i], to);
  else
    ts_index_move(&c->shard->index, c->keys[i], c->hashes[i], to);
  c->locations[i] = to;
}

/* Tells the policy that this lookup used the row as often as its key comes in it, but for `told` times. */
static void tell_uses(chunk *c, uint32_t i, uint32_t tier, uint64_t row, uint32_t told) {
  const ts_rows *rows = &c->shard->rows[tier];
  const uint32_t times = c->bring->work->times[c->numbers[i]];
  if (rows->policy != NULL && c->bring->count && times > told)
    ts_policy_repeat(rows->policy, ts_rows_word(rows, row), c->hashes[i], times - told);
}

/* Puts the staged row into a reserved place of a memory tier. */
static void place(chunk *c, uint32_t i, uint32_t tier, const unsigned char *row, uint8_t flags) {
  ts_rows *rows = &c->shard->rows[tier];
  uint64_t at = ts_rows_take(rows, c->keys[i]);
  ts_traffic_write(c->shard, tier, at, row, c->traffic);
  if (rows->policy != NULL) {
    *ts_rows_flags(rows, at) = flags;
    ts_policy_insert(rows->policy, at, ts_rows_word(rows, at), c->hashes[i]);
    tell_uses(c, i, tier, at, 1);
  }
  insert_or_move(c, i, TS_LOCATION(tier, at));
}

/* Brings a row of a lower memory tier up; what it leaves there stays as its copy. */
static void promote(chunk *c, uint32_t i, unsigned char *staging) {
  ts_shard *shard = c->shard;
  uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
  uint64_t from = TS_LOCATION_ROW(c->locations[i]);
  ts_rows *rows = &shard->rows[tier];
  uint8_t record = 0;
  if (rows->policy != NULL) {
    record = *ts_rows_flags(rows, from) & TS_ROW_RECORD;
    ts_policy_remove(rows->policy, from, ts_rows_word(rows, from), c->hashes[i], false);
  }
  place(c, i, 0, staging, record);
  uint64_t to = TS_LOCATION_ROW(c->locations[i]);
  if (tier == 1) {
    ts_rows_set_below(&shard->rows[0], to, from);
    rows->copies++;
  } else {
    ts_rows_free(rows, from);
  }
}

static int32_t is_full(chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  const ts_store *store = table->store;
  uint32_t t = store->memory_tiers - 1;
  const ts_budget *first = &store->tiers[0].budget;
  if (t > 0 && c->shard->rows[t].dram_wanted > 0)
    return ts_fail(err, TS_EFULL,
                   "Cannot add a row to table \"%s\": more rows in tier %u (%s) need %llu bytes beside them in tier 0, which "
                   "is full with %llu of %llu bytes used; raise its size",
                   table->name, t, store->tiers[t].type, (unsigned long long)c->shard->rows[t].dram_wanted,
                   (unsigned long long)atomic_load(&first->used), (unsigned long long)first->limit);
  return ts_fail(err, TS_EFULL,
                 "Cannot add a row to table \"%s\": tier %u (%s) is full with %llu of %llu bytes used and nothing can be "
                 "moved; raise its size",
                 table->name, t, store->tiers[t].type, (unsigned long long)atomic_load(&store->tiers[t].budget.used),
                 (unsigned long long)store->tiers[t].budget.limit);
}

/* Rows that take their step where they are. */
static void step_in_place(chunk *c) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  uint64_t below = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != PRESENT) continue;
    uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
    uint64_t row = TS_LOCATION_ROW(c->locations[i]);
    void *to = ts_work_staging(w, c->numbers[i]);
    ts_traffic_read(c->shard, tier, row, to, c->traffic);
    table->optimizer.apply(&table->optimizer, c->bring->call, &to, &w->gradients[c->numbers[i]], &c->keys[i], 1);
    ts_row_set_version(&table->layout, to, c->bring->call->global_step);
    ts_traffic_write(c->shard, tier, row, to, c->traffic);
    ts_row_changed(c->shard, tier, row);
    below += tier > 0;
  }
  ts_count(table, TS_STAT_in_place_updates, below);
}

/* The staged rows that take their step before they are placed. */
static void step_staged(chunk *c) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  void *rows[CHUNK];
  const float *gradients[CHUNK];
  int64_t keys[CHUNK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
    rows[n] = ts_work_staging(w, c->numbers[i]);
    gradients[n] = w->gradients[c->numbers[i]];
    keys[n++] = c->keys[i];
  }
  table->optimizer.apply(&table->optimizer, c->bring->call, rows, gradients, keys, n);
  for (uint32_t i = 0; i < n; i++) ts_row_set_version(&table->layout, rows[i], c->bring->call->global_step);
}

/* Records of staged rows that got no place in memory. */
static int32_t put_staged(chunk *c, const uint32_t *which, uint32_t n, ts_err err) {
  ts_table *table = c->bring->table;
  int64_t keys[CHUNK];
  uint64_t versions[CHUNK];
  const unsigned char *rows[CHUNK];
  uint8_t known[CHUNK];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = c->keys[which[i]];
    known[i] = c->fate[which[i]] == FETCHED ? TS_RECORD_THERE : TS_RECORD_NONE;
    rows[i] = ts_work_staging(c->bring->work, c->numbers[which[i]]);
    versions[i] = ts_record_version(&table->layout, rows[i]);
  }
  int32_t status = ts_records_put(table, n, keys, versions, rows, known, err);
  while (status == TS_EFULL && ts_give_up_records(c->shard, n) > 0) /* what was refused may be there in part */
    status = ts_records_put(table, n, keys, versions, rows, NULL, err);
  if (status != TS_OK) return status;
  if (table->store->memory_tiers > 0)
    ts_count(table, TS_STAT_tier1_written + (table->store->memory_tiers - 1), n * table->layout.stride);
  for (uint32_t i = 0; i < n; i++)
    if (c->locations[which[i]] != TS_LOCATION_NONE) /* it was counted for admission */
      ts_index_remove(&c->shard->index, c->keys[which[i]], c->hashes[which[i]]);
  return TS_OK;
}

/* Free places in the first tier for the chunk's rows, by moving others down if there is no other way. */
static int32_t make_places(chunk *c, uint64_t need, uint64_t *got, ts_err err) {
  ts_shard *shard = c->shard;
  ts_store *store = c->bring->table->store;
  *got = 0;
  if (store->memory_tiers == 0 || need == 0) return TS_OK;
  if (c->no_index) return TS_OK;
  *got = ts_rows_reserve(&shard->rows[0], need);
  if (*got == need || !ts_is_tiered(store) || c->bring->stay) return TS_OK;
  shard->full = true;
  atomic_store_explicit(&c->bring->table->tracking, true, memory_order_relaxed);
  while (*got < need) {
    uint32_t freed = 0;
    int32_t status = ts_evict(shard, 0, (uint32_t)(need - *got), &freed, c->traffic, err);
    ts_count(c->bring->table, TS_STAT_evicted_by_calls, freed);
    *got = ts_rows_reserve(&shard->rows[0], need);
    if (status == TS_EFULL) break; /* rows below can be served there; a new one tells that there is no room */
    if (status != TS_OK) return status;
    if (freed == 0) break;
  }
  return TS_OK;
}

/* Making places may have moved rows of this chunk down, also into records: these are read again. */
static int32_t look_again(chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  uint32_t moved[CHUNK], n = 0;
  ts_index_find(&c->shard->index, c->keys, c->hashes, c->n, c->locations);
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != PRESENT || in_memory(c->locations[i])) continue;
    moved[n++] = c->numbers[i];
    c->fate[i] = FETCHED;
  }
  if (n == 0) return TS_OK;
  int32_t status = ts_fetch_again(table, c->bring->work, moved, n, err);
  for (uint32_t k = 0; status == TS_OK && k < n; k++)
    if (c->bring->work->state[moved[k]] == 0)
      status = ts_fail(err, TS_EINTERNAL, "Lost a row of table \"%s\" while it was moved down", table->name);
  return status;
}

/* Which rows get the places: where there are fewer places than rows, those that the call uses most, of equals first what is in
 * memory. */
static void choose(const chunk *c, uint64_t places, bool *gets) {
  uint64_t uses[CHUNK];
  uint32_t which[CHUNK], n = 0;
  bool chosen[CHUNK];
  memset(gets, 0, c->n * sizeof *gets);
  for (uint32_t created = 0; created < 2; created++)
    for (uint32_t i = 0; i < c->n; i++) {
      const bool below = c->fate[i] == PRESENT && c->bring->call == NULL && TS_LOCATION_TIER(c->locations[i]) > 0;
      if (created == 0 ? !below : c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
      uses[n] = c->bring->work->times[c->numbers[i]];
      which[n++] = i;
    }
  ts_policy_choose(uses, n, places, chosen);
  for (uint32_t j = 0; j < n; j++) gets[which[j]] = chosen[j];
}

/* The chunk's changes; shard locked, index reserved. */
static int32_t carry_out(chunk *c, ts_err err) {
  const ts_bring *b = c->bring;
  ts_table *table = b->table;
  ts_store *store = table->store;
  ts_work *w = b->work;
  const bool update = b->call != NULL;
  uint64_t hits[TS_MAX_TIERS] = {0}, need = 0, places = 0, promoted = 0, in_place = 0, created = 0, refused = 0, again = 0,
           away = 0; /* found no place in the first tier */
  admit(c);
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t d = c->numbers[i];
    unsigned char *row = ts_work_staging(w, d);
    switch (c->fate[i]) {
      case PRESENT:
        hits[TS_LOCATION_TIER(c->locations[i])]++;
        need += !update && TS_LOCATION_TIER(c->locations[i]) > 0;
        break;
      case FETCHED:
        hits[store->memory_tiers]++;
        need++;
        break;
      case CREATED:
        ts_row_start(table, c->keys[i], row, (float *)(void *)w->spare_row);
        start_frequency(c, i, row);
        created++;
        need++;
        break;
      case REFUSED: refused++; break;
    }
    again += c->fate[i] == REFUSED ? 0 : w->times[d] - 1;
  }
  int32_t status = make_places(c, need, &places, err);
  if (status != TS_OK) return status;
  status = look_again(c, err);
  if (status != TS_OK) return status;
  if (update) {
    step_in_place(c);
    step_staged(c);
  }
  bool gets[CHUNK];
  choose(c, places, gets);
  /* What is in memory first: making places for new rows below may move it on. */
  for (uint32_t i = 0; i < c->n; i++) {
    unsigned char *row = ts_work_staging(w, c->numbers[i]);
    w->state[c->numbers[i]] = c->fate[i] == REFUSED ? TS_NO_ROW_YET : TS_BROUGHT;
    if (c->fate[i] != PRESENT || update) continue;
    uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
    ts_traffic_read(c->shard, tier, TS_LOCATION_ROW(c->locations[i]), row, c->traffic);
    count_frequency(c, i, row);
    if (gets[i]) {
      promote(c, i, row);
      promoted++;
      continue;
    }
    in_place += tier > 0;
    away += tier > 0;
    tell_uses(c, i, tier, TS_LOCATION_ROW(c->locations[i]), 0);
    if (b->count && table->layout.frequency_offset != 0)
      memcpy(ts_rows_at(&c->shard->rows[tier], TS_LOCATION_ROW(c->locations[i])) + table->layout.frequency_offset,
             row + table->layout.frequency_offset, sizeof(uint32_t));
  }
  /* A row whose frequency is counted differs from its record in that soon: it is put again when it leaves. */
  const bool counted = b->count && table->layout.frequency_offset != 0;
  const uint8_t fetched = update || table->layout.frequency_offset != 0 ? TS_ROW_STALE : TS_ROW_SAVED;
  uint32_t unplaced[CHUNK], left = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    unsigned char *row = ts_work_staging(w, c->numbers[i]);
    if (c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
    count_frequency(c, i, row);
    away += !gets[i];
    if (gets[i]) {
      place(c, i, 0, row, c->fate[i] == CREATED ? 0 : fetched);
      promoted += c->fate[i] == FETCHED;
      c->shard->recorded += c->fate[i] == FETCHED;
    } else if (c->fate[i] == FETCHED) {
      in_place++;
      if (update || counted) unplaced[left++] = i;
    } else {
      uint32_t tier = 1;
      while (tier < store->memory_tiers && ts_evict_places(c->shard, tier, 1, &status, c->traffic, err) == 0) tier++;
      if (status != TS_OK) return status;
      if (tier < store->memory_tiers)
        place(c, i, tier, row, 0);
      else if (table->records != NULL)
        unplaced[left++] = i;
      else
        return is_full(c, err);
    }
  }
  if (left > 0) status = put_staged(c, unplaced, left, err);
  if (ts_is_tiered(store) && away > 0 && !b->stay) {
    atomic_fetch_add_explicit(&c->shard->evictions, away, memory_order_relaxed);
    c->starved = c->shard->rows[0].live == 0;
  }
  if (update) *b->stepped += c->n - refused; /* also after an error: some of the records may be there */
  if (!update && b->count) {
    for (uint32_t t = 0; t < store->tier_count; t++) ts_count(table, TS_STAT_tier0_hits + t, hits[t] + (t == 0 ? again : 0));
    ts_count(table, TS_STAT_not_admitted, refused);
    ts_count(table, TS_STAT_in_place_reads, in_place);
  } else if (update) {
    ts_count(table, TS_STAT_in_place_updates, in_place);
  }
  ts_count(table, TS_STAT_created, created);
  ts_count(table, TS_STAT_promoted, promoted);
  return status;
}

/* Whether there are new rows that memory has no places for, where nothing can move further down. */
static bool lacks_places(chunk *c) {
  const ts_table *table = c->bring->table;
  const uint32_t last = table->store->memory_tiers - 1;
  ts_rows *rows = c->shard->rows;
  uint64_t need = 0;
  if (table->records != NULL || table->store->rows_only) return false;
  for (uint32_t i = 0; i < c->n; i++) need += c->fate[i] == CREATED;
  uint64_t got = need == 0 ? 0 : ts_rows_reserve(&rows[0], need);
  if (got < need && last > 0) got += rows[last].copies + ts_rows_reserve(&rows[last], need - got);
  return got < need;
}

static void lock(ts_shard *shard) {
  if (pthread_mutex_trylock(&shard->lock) == 0) return;
  uint64_t start = ts_now_ns();
  pthread_mutex_lock(&shard->lock);
  ts_count(shard->table, TS_STAT_lock_wait_ns, ts_now_ns() - start);
}

static bool creates(const chunk *c) {
  bool any = false;
  for (uint32_t i = 0; i < c->n; i++) any = any || c->fate[i] == CREATED;
  return any;
}

static int32_t serve(chunk *c, ts_err err) {
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
      c->no_index = status == TS_EFULL && (c->bring->stay || (crowded && !creates(c)));
      if (c->no_index) status = TS_OK;
      for_index = status == TS_EFULL;
      if (status == TS_ENOMEM) ts_fail(err, TS_ENOMEM, "Cannot add rows to table \"%s\": out of memory", table->name);
    }
    const bool lacks = status == TS_OK && sweeps < SWEEPS && lacks_places(c);
    if (status == TS_OK && !lacks) status = carry_out(c, err);
    for (uint32_t t = 0; t < store->memory_tiers; t++) ts_rows_settle(&c->shard->rows[t]);
    if (c->shard->full) ts_evictors_call(c->shard);
    pthread_mutex_unlock(&c->shard->lock);
    if (for_index) {
      TS_SYNC("bring:index_wanted");
      status = ts_room_free(c->shard, c->index_wanted, err);
      if (status == TS_OK) continue;
      crowded = status == TS_EFULL && !crowded; /* once more: rows that are there can be served where they are */
      if (crowded) continue;
    }
    if (lacks) { /* what removed rows of any table left; then as far as it goes */
      const bool all = sweeps > 0;
      sweeps = ts_spare_free(store, store->memory_tiers - 1, all) || ts_spare_free(store, 0, all) ? sweeps + 1 : SWEEPS;
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
  chunk c = {.bring = b, .traffic = &traffic};
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    c.shard = &table->shards[s];
    for (uint32_t at = w->starts[s]; status == TS_OK && at < w->starts[s + 1]; at += CHUNK) {
      c.numbers = w->order + at;
      c.n = TS_MIN(w->starts[s + 1] - at, CHUNK);
      ts_descent_begin(table->store);
      status = serve(&c, err);
      ts_descent_end(table->store);
      if (ts_is_tiered(table->store)) ts_room_restore(table->store);
    }
  }
  ts_fetch_end(table, w);
  /* What is brought up ahead of time takes nobody's time. */
  if (table->store->tier_count > 1 && !b->existing) ts_count(table, TS_STAT_eviction_ns, ts_now_ns() - start);
  ts_traffic_wait(table, &traffic);
  if (ts_is_tiered(table->store)) ts_room_balance(table->store);
  return status;
}
