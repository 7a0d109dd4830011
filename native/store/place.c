/* place.c - the misses of one shard carried out: which rows get a place in the first tier (promotion; others are evicted for
 * them), and which are served where they are.
 *
 * Each row's bytes pass through the key's staging place: a lookup leaves its weights there, an update lets the row take its
 * step there before it is placed. */
#include "store/bring.h"

#include <string.h>

#define AHEAD 8u /* keys whose buckets are asked for before they are written */

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
  *flags = (uint8_t)((*flags & (TS_ROW_TURN | TS_ROW_TOLD)) | (*flags & TS_ROW_RECORD ? TS_ROW_STALE : 0));
}

/* Frequency that a new row starts with: what was counted before it was admitted. */
static void start_frequency(ts_bring_chunk *c, uint32_t i, unsigned char *row) {
  if (c->bring->table->layout.frequency_offset == 0) return;
  ts_row_set_frequency(&c->bring->table->layout, row, (uint32_t)TS_MIN(ts_bring_counted(c, i), UINT32_MAX));
}

static void count_frequency(ts_bring_chunk *c, uint32_t i, unsigned char *row) {
  const ts_row_layout *layout = &c->bring->table->layout;
  if (layout->frequency_offset == 0 || !c->bring->count) return;
  ts_row_set_frequency(layout, row, ts_row_frequency(layout, row) + c->bring->work->times[c->numbers[i]]);
}

/* Tells the policy that this lookup used the row as often as its key comes in it, but for `told` times. */
static void tell_uses(ts_bring_chunk *c, uint32_t i, uint32_t tier, uint64_t row, uint32_t told) {
  const ts_rows *rows = &c->shard->rows[tier];
  const uint32_t times = c->bring->work->times[c->numbers[i]];
  if (rows->policy != NULL && c->bring->count && times > told)
    ts_policy_repeat(rows->policy, ts_rows_word(rows, row), c->hashes[i], times - told);
}

/* Puts the staged row into a reserved place of a memory tier. */
static void place(ts_bring_chunk *c, uint32_t i, uint32_t tier, const unsigned char *row, uint8_t flags) {
  ts_rows *rows = &c->shard->rows[tier];
  const bool written = tier == 0 && c->taken[i] != TS_NO_ROW;
  uint64_t at = written ? c->taken[i] : ts_rows_take(rows, c->keys[i]);
  c->taken[i] = TS_NO_ROW;
  if (!written) ts_traffic_write(c->shard, tier, at, row, c->traffic);
  if (rows->policy != NULL) {
    *ts_rows_flags(rows, at) = flags;
    ts_policy_insert(rows->policy, at, ts_rows_word(rows, at), c->hashes[i]);
    tell_uses(c, i, tier, at, 1);
  }
  ts_bring_locate(c, i, TS_LOCATION(tier, at));
}

/* Brings a row of a lower memory tier up; what it leaves there stays as its copy. */
static void promote(ts_bring_chunk *c, uint32_t i, unsigned char *staging) {
  ts_shard *shard = c->shard;
  uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
  uint64_t from = TS_LOCATION_ROW(c->locations[i]);
  ts_rows *rows = &shard->rows[tier];
  uint8_t stays = 0;
  if (rows->policy != NULL) {
    stays = *ts_rows_flags(rows, from) & TS_ROW_STAYS;
    ts_policy_remove(rows->policy, from, ts_rows_word(rows, from), c->hashes[i], false);
  }
  place(c, i, 0, staging, stays);
  uint64_t to = TS_LOCATION_ROW(c->locations[i]);
  if (tier == 1) {
    ts_rows_set_below(&shard->rows[0], to, from);
    rows->copies++;
  } else {
    ts_rows_free(rows, from);
  }
}

static int32_t is_full(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  const ts_store *store = table->store;
  uint32_t t = store->memory_tiers - 1;
  const ts_budget *first = ts_dram_budget(store);
  if (t > 0 && c->shard->rows[t].dram_wanted > 0)
    return ts_fail(err, TS_EFULL,
                   "Cannot add a row to table \"%s\": more rows in tier %u (%s) need %llu bytes beside them in tier %u, which "
                   "is full with %llu of %llu bytes used; raise its size",
                   table->name, t, store->tiers[t].type, (unsigned long long)c->shard->rows[t].dram_wanted, store->dram,
                   (unsigned long long)atomic_load(&first->used), (unsigned long long)first->limit);
  if (t == 0 && ts_is_on_device(store) && store->tiers[0].tier.ops->device->refused((ts_tier *)(uintptr_t)&store->tiers[0].tier))
    return ts_fail(err, TS_EFULL,
                   "Cannot add a row to table \"%s\": the device gives no more memory, with %llu of %llu bytes of tier 0 (%s) used, "
                   "and nothing can be moved; free some, or set hbm_host_bytes",
                   table->name, (unsigned long long)atomic_load(&store->tiers[0].budget.used),
                   (unsigned long long)store->tiers[0].budget.limit, store->tiers[0].type);
  return ts_fail(err, TS_EFULL,
                 "Cannot add a row to table \"%s\": tier %u (%s) is full with %llu of %llu bytes used and nothing can be "
                 "moved; raise its size",
                 table->name, t, store->tiers[t].type, (unsigned long long)atomic_load(&store->tiers[t].budget.used),
                 (unsigned long long)store->tiers[t].budget.limit);
}

static bool is_on_device(const ts_bring_chunk *c, uint32_t i) {
  return TS_LOCATION_TIER(c->locations[i]) == 0 && ts_is_on_device(c->bring->table->store);
}

/* Rows that take their step where they are; of a device, at their staging places. */
static void step_in_place(ts_bring_chunk *c, bool staged) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  uint64_t below = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != PRESENT || is_on_device(c, i) != staged) continue;
    uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
    uint64_t row = TS_LOCATION_ROW(c->locations[i]);
    void *to = ts_work_staging(w, c->numbers[i]);
    if (c->bring->images != NULL) {
      memcpy(to, c->bring->images[c->numbers[i]], table->layout.stride);
    } else {
      if (!c->staged[i]) ts_traffic_read(c->shard, tier, row, to, c->traffic);
      table->optimizer.apply(&table->optimizer, c->bring->call, &to, &w->gradients[c->numbers[i]], &c->keys[i], 1);
      ts_row_set_version(&table->layout, to, c->bring->call->global_step);
    }
    if (staged) continue; /* it is written with others, and has changed then */
    ts_traffic_write(c->shard, tier, row, to, c->traffic);
    ts_row_changed(c->shard, tier, row);
    below += tier > 0;
  }
  ts_count(table, TS_STAT_in_place_updates, below);
}

/* Bytes of a row that is to be placed: its image, or what is staged. */
static const unsigned char *bytes_of(const ts_bring_chunk *c, uint32_t i) {
  const uint32_t d = c->numbers[i];
  return c->bring->images != NULL ? c->bring->images[d] : ts_work_staging(c->bring->work, d);
}

/* The staged rows that take their step before they are placed. */
static void step_staged(ts_bring_chunk *c) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  void *rows[TS_BRING_CHUNK];
  const float *gradients[TS_BRING_CHUNK];
  int64_t keys[TS_BRING_CHUNK];
  uint32_t n = 0;
  if (c->bring->images != NULL) return;
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
    rows[n] = ts_work_staging(w, c->numbers[i]);
    gradients[n] = w->gradients[c->numbers[i]];
    keys[n++] = c->keys[i];
  }
  if (n == 0) return;
  table->optimizer.apply(&table->optimizer, c->bring->call, rows, gradients, keys, n);
  for (uint32_t i = 0; i < n; i++) ts_row_set_version(&table->layout, rows[i], c->bring->call->global_step);
}

/* What was put has a row now and waits for admission no more; of a refused batch some are there. Returns how many are new. */
static uint64_t after_put(ts_bring_chunk *c, const uint32_t *which, uint32_t n, bool all) {
  uint64_t created = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t k = which[i];
    const bool is_new = c->fate[k] == CREATED;
    if (is_new && !all && !ts_records_has(c->bring->table, c->keys[k])) continue;
    created += is_new;
    if (c->locations[k] != TS_LOCATION_NONE) ts_index_remove(&c->shard->index, c->keys[k], c->hashes[k]);
  }
  return created;
}

/* Records of staged rows that got no place in memory. */
static int32_t put_staged(ts_bring_chunk *c, const uint32_t *which, uint32_t n, uint64_t *created, ts_err err) {
  ts_table *table = c->bring->table;
  int64_t keys[TS_BRING_CHUNK];
  uint64_t versions[TS_BRING_CHUNK];
  const unsigned char *rows[TS_BRING_CHUNK];
  uint8_t known[TS_BRING_CHUNK];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = c->keys[which[i]];
    known[i] = c->fate[which[i]] == FETCHED ? TS_RECORD_THERE : TS_RECORD_NONE;
    rows[i] = bytes_of(c, which[i]);
    versions[i] = ts_record_version(&table->layout, rows[i]);
  }
  int32_t status = ts_records_put(table, n, keys, versions, rows, known, err);
  while (status == TS_EFULL && ts_give_up_records(c->shard, n) > 0) /* what was refused may be there in part */
    status = ts_records_put(table, n, keys, versions, rows, NULL, err);
  *created += after_put(c, which, n, status == TS_OK);
  if (status == TS_OK && table->store->memory_tiers > 0)
    ts_count(table, TS_STAT_tier1_written + (table->store->memory_tiers - 1), n * table->layout.stride);
  return status;
}

/* Free places in the first tier for the chunk's rows, by moving others down if there is no other way; *moved tells whether any
 * were. */
static int32_t make_places(ts_bring_chunk *c, uint64_t need, uint64_t *got, bool *moved, ts_err err) {
  ts_shard *shard = c->shard;
  ts_store *store = c->bring->table->store;
  *got = 0;
  *moved = false;
  if (store->memory_tiers == 0 || need == 0) return TS_OK;
  if (c->no_index) return TS_OK;
  /* What became free since the tier was full is room for what must grow, and for rows that are used. */
  if (c->bring->fill && shard->full && ts_is_tiered(store)) return TS_OK;
  *got = ts_rows_reserve(&shard->rows[0], need);
  if (*got == need || !ts_is_tiered(store) || c->bring->stay) return TS_OK;
  shard->full = true;
  atomic_store_explicit(&c->bring->table->tracking, true, memory_order_relaxed);
  if (c->bring->fill) return TS_OK;
  while (*got < need) {
    uint32_t freed = 0;
    *moved = true;
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
static int32_t look_again(ts_bring_chunk *c, ts_err err) {
  ts_table *table = c->bring->table;
  uint32_t moved[TS_BRING_CHUNK], n = 0;
  ts_index_find(&c->shard->index, c->keys, c->hashes, c->n, c->locations);
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != PRESENT || ts_location_in_memory(c->locations[i])) continue;
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
static void choose(const ts_bring_chunk *c, uint64_t places, bool *gets) {
  uint64_t uses[TS_BRING_CHUNK];
  uint32_t which[TS_BRING_CHUNK], n = 0;
  bool chosen[TS_BRING_CHUNK];
  memset(gets, 0, c->n * sizeof *gets);
  for (uint32_t created = 0; created < 2; created++)
    for (uint32_t i = 0; i < c->n; i++) {
      const bool below = c->fate[i] == PRESENT && !ts_bring_changes(c->bring) && TS_LOCATION_TIER(c->locations[i]) > 0;
      if (created == 0 ? !below : c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
      uses[n] = c->bring->work->times[c->numbers[i]];
      which[n++] = i;
    }
  ts_policy_choose(uses, n, places, chosen);
  for (uint32_t j = 0; j < n; j++) gets[which[j]] = chosen[j];
}

/* What is told of a chunk in statistics. */
typedef struct tally {
  uint64_t hits[TS_MAX_TIERS], again; /* by tier; keys that the call repeats */
  uint64_t created; /* rows that are there now */
  uint64_t refused, promoted, in_place;
  uint64_t away; /* rows that found no place in the first tier */
} tally;

/* Counts what each key met and starts the new rows; returns for how many rows there should be places. */
static uint64_t count(ts_bring_chunk *c, tally *t) {
  ts_table *table = c->bring->table;
  ts_work *w = c->bring->work;
  uint64_t below = 0, fetched = 0, created = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    const uint32_t d = c->numbers[i], tier = TS_LOCATION_TIER(c->locations[i]);
    unsigned char *row = ts_work_staging(w, d);
    switch (c->fate[i]) {
      case PRESENT:
        t->hits[tier]++;
        below += tier > 0;
        break;
      case FETCHED: fetched++; break;
      case CREATED:
        if (c->bring->images == NULL) {
          ts_row_start(table, c->keys[i], row, (float *)(void *)w->spare_row);
          start_frequency(c, i, row);
        }
        created++;
        break;
      case REFUSED: t->refused++; break;
    }
    t->again += c->fate[i] == REFUSED ? 0 : w->times[d] - 1;
  }
  t->hits[table->store->memory_tiers] += fetched;
  return fetched + created + (ts_bring_changes(c->bring) ? 0 : below);
}

/* Lookups of rows in memory: promoted, or read where they are. */
static void serve_present(ts_bring_chunk *c, const bool *gets, tally *t) {
  const ts_row_layout *layout = &c->bring->table->layout;
  const bool on_device = ts_is_on_device(c->bring->table->store);
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->fate[i] != PRESENT) continue;
    unsigned char *row = ts_work_staging(c->bring->work, c->numbers[i]);
    const uint32_t tier = TS_LOCATION_TIER(c->locations[i]);
    const uint64_t at = TS_LOCATION_ROW(c->locations[i]);
    if (!on_device) {
      ts_traffic_read(c->shard, tier, at, row, c->traffic);
      count_frequency(c, i, row);
    }
    if (gets[i]) {
      promote(c, i, row);
      t->promoted++;
      continue;
    }
    t->in_place += tier > 0;
    t->away += tier > 0;
    tell_uses(c, i, tier, at, 0);
    if (c->bring->count && layout->frequency_offset != 0 && !is_on_device(c, i))
      memcpy(ts_rows_at(&c->shard->rows[tier], at) + layout->frequency_offset, row + layout->frequency_offset,
             sizeof(uint32_t));
  }
}

/* A place below the first tier for a new row, in memory if there is one; *placed tells whether there was. */
static int32_t place_below(ts_bring_chunk *c, uint32_t i, bool *placed, ts_err err) {
  const ts_table *table = c->bring->table;
  int32_t status = TS_OK;
  uint32_t tier = c->no_index ? table->store->memory_tiers : 1;
  while (tier < table->store->memory_tiers && ts_evict_places(c->shard, tier, 1, &status, c->traffic, err) == 0) tier++;
  *placed = status == TS_OK && tier < table->store->memory_tiers;
  if (*placed) place(c, i, tier, bytes_of(c, i), ts_cut_new_row(table, c->hashes[i]));
  return status != TS_OK || *placed || table->records != NULL ? status : is_full(c, err);
}

/* Places fetched and created rows; those that are left to be put into records are in unplaced[0..*left). */
static int32_t place_staged(ts_bring_chunk *c, const bool *gets, tally *t, uint32_t *unplaced, uint32_t *left, ts_err err) {
  const bool update = ts_bring_changes(c->bring), counts = c->bring->table->layout.frequency_offset != 0;
  const bool on_device = ts_is_on_device(c->bring->table->store);
  /* A row whose frequency is counted differs from its record in that soon: it is put again when it leaves. */
  const uint8_t fetched = update || counts ? TS_ROW_STALE : TS_ROW_SAVED;
  for (uint32_t i = 0; i < c->n; i++) {
    if (i + AHEAD < c->n) ts_index_prepare(&c->shard->index, c->hashes[i + AHEAD]);
    if (c->fate[i] != FETCHED && c->fate[i] != CREATED) continue;
    bool put = update || (c->bring->count && counts);
    if (!on_device) count_frequency(c, i, ts_work_staging(c->bring->work, c->numbers[i]));
    t->away += !gets[i];
    if (gets[i]) {
      place(c, i, 0, bytes_of(c, i), (uint8_t)((c->fate[i] == CREATED ? 0 : fetched) | ts_cut_new_row(c->bring->table, c->hashes[i])));
      t->promoted += c->fate[i] == FETCHED;
      t->created += c->fate[i] == CREATED;
      c->shard->recorded += c->fate[i] == FETCHED;
      continue;
    }
    if (c->fate[i] == FETCHED) {
      t->in_place++;
    } else {
      bool placed;
      const int32_t status = place_below(c, i, &placed, err);
      if (status != TS_OK) return status;
      t->created += placed;
      put = !placed;
    }
    if (put) unplaced[(*left)++] = i;
  }
  return TS_OK;
}

static void tell(const ts_bring_chunk *c, const tally *t) {
  const ts_bring *b = c->bring;
  ts_table *table = b->table;
  if (b->call != NULL) {
    *b->stepped += c->n - t->refused; /* also after an error: some of the records may be there */
    ts_count(table, TS_STAT_in_place_updates, t->in_place);
  } else if (b->count) {
    for (uint32_t tier = 0; tier < table->store->tier_count; tier++)
      ts_count(table, TS_STAT_tier0_hits + tier, t->hits[tier] + (tier == 0 ? t->again : 0));
    ts_count(table, TS_STAT_not_admitted, t->refused);
    ts_count(table, TS_STAT_in_place_reads, t->in_place);
  }
  ts_count(table, TS_STAT_created, t->created);
  ts_count(table, TS_STAT_promoted, t->promoted);
}

/* ---- a device's memory ----
 *
 * What of a chunk goes there is written in one transfer, before anything else has changed: rows into places that nobody
 * knows of yet, and those that are there over themselves. */

int32_t ts_bring_stage(ts_bring_chunk *c, ts_err err) {
  ts_tier *tier = &c->bring->table->store->tiers[0].tier;
  const void *rows[TS_BRING_CHUNK];
  uint32_t places[TS_BRING_CHUNK], n = 0;
  memset(c->staged, 0, sizeof c->staged);
  memset(c->taken, 0xFF, sizeof c->taken);
  if (!ts_is_on_device(c->bring->table->store)) return TS_OK;
  for (uint32_t i = 0; i < c->n; i++) {
    c->staged[i] = ts_location_in_memory(c->locations[i]) && TS_LOCATION_TIER(c->locations[i]) == 0;
    if (!c->staged[i]) continue;
    rows[n] = ts_rows_at(&c->shard->rows[0], TS_LOCATION_ROW(c->locations[i]));
    places[n++] = c->numbers[i];
  }
  if (n == 0) return TS_OK;
  return tier->ops->device->read(tier, n, rows, c->bring->table->layout.stride, c->bring->work->staging,
                                 c->bring->work->staging_bytes, places, err);
}

/* Whether a staged row differs now from what the device has. */
static bool differs(const ts_bring_chunk *c, uint32_t i) {
  const ts_bring *b = c->bring;
  return c->fate[i] == PRESENT && is_on_device(c, i) &&
         (ts_bring_changes(b) || (b->count && b->table->layout.frequency_offset != 0));
}

/* Places that were written to and not given to a row. */
static void free_taken(ts_bring_chunk *c) {
  for (uint32_t i = c->n; i-- > 0;) {
    if (c->taken[i] == TS_NO_ROW) continue;
    ts_rows_free(&c->shard->rows[0], c->taken[i]);
    c->taken[i] = TS_NO_ROW;
  }
}

static int32_t to_device(ts_bring_chunk *c, const bool *gets, ts_err err) {
  ts_table *table = c->bring->table;
  ts_rows *first = &c->shard->rows[0];
  void *rows[TS_BRING_CHUNK];
  const unsigned char *from[TS_BRING_CHUNK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    unsigned char *row = ts_work_staging(c->bring->work, c->numbers[i]);
    if (c->fate[i] == REFUSED) continue;
    if (c->fate[i] == PRESENT && !is_on_device(c, i) && !ts_bring_changes(c->bring))
      ts_traffic_read(c->shard, TS_LOCATION_TIER(c->locations[i]), TS_LOCATION_ROW(c->locations[i]), row, c->traffic);
    if (!ts_bring_changes(c->bring)) count_frequency(c, i, row);
    if (differs(c, i)) {
      rows[n] = ts_rows_at(first, TS_LOCATION_ROW(c->locations[i]));
      from[n++] = row;
    } else if (gets[i]) {
      c->taken[i] = ts_rows_take(first, c->keys[i]);
      rows[n] = ts_rows_at(first, c->taken[i]);
      from[n++] = c->fate[i] == PRESENT ? row : bytes_of(c, i);
    }
  }
  if (n == 0) return TS_OK;
  const int32_t status = first->tier->ops->device->write(first->tier, n, rows, from, table->layout.stride, err);
  if (status != TS_OK) free_taken(c);
  for (uint32_t i = 0; status == TS_OK && i < c->n; i++)
    if (differs(c, i) && ts_bring_changes(c->bring)) ts_row_changed(c->shard, 0, TS_LOCATION_ROW(c->locations[i]));
  return status;
}

int32_t ts_bring_place(ts_bring_chunk *c, ts_err err) {
  const ts_bring *b = c->bring;
  uint64_t places = 0;
  uint32_t unplaced[TS_BRING_CHUNK], left = 0;
  bool gets[TS_BRING_CHUNK];
  tally t = {0};
  const uint64_t need = count(c, &t);
  bool moved;
  int32_t status = make_places(c, need, &places, &moved, err);
  if (status == TS_OK && moved) status = look_again(c, err);
  if (status != TS_OK) return status;
  if (ts_bring_changes(b)) {
    step_in_place(c, true);
    step_staged(c);
  }
  choose(c, places, gets);
  if (ts_is_on_device(b->table->store)) status = to_device(c, gets, err);
  if (status != TS_OK) return status;
  ts_bring_count_asking(c);
  if (ts_bring_changes(b)) step_in_place(c, false);
  for (uint32_t i = 0; i < c->n; i++) b->work->state[c->numbers[i]] = c->fate[i] == REFUSED ? TS_NO_ROW_YET : TS_BROUGHT;
  /* What is in memory first: making places for new rows below may move it on. */
  if (!ts_bring_changes(b)) serve_present(c, gets, &t);
  status = place_staged(c, gets, &t, unplaced, &left, err);
  free_taken(c);
  if (status != TS_OK) {
    ts_count(b->table, TS_STAT_created, t.created);
    return status;
  }
  if (left > 0) status = put_staged(c, unplaced, left, &t.created, err);
  if (ts_is_tiered(b->table->store) && t.away > 0 && !b->stay) {
    atomic_fetch_add_explicit(&c->shard->evictions[0], t.away, memory_order_relaxed);
    c->starved = c->shard->rows[0].live == 0;
  }
  tell(c, &t);
  return status;
}
