/* kept.c - restore points: checkpoints in place of the tier that outlives the process, the kept one (records.h).
 *
 * A restore point is a cut (cut.h) of another kind. When it begins, so does a checkpoint of each table's kept tier, and
 * nothing is copied. What the tier has stays as it is for the point; rows of the memory above that it has not, or has in an
 * older form, are put down "as of" the point. That is done by a walk beside the calls that go on, and, where one of them is
 * first, by whoever moves such a row down. A row that changes before either has come by is told as other cuts are told.
 *
 * Each row in memory has a bit, its turn. A table's turn is the other way round from each point to the next; where the two
 * are equal, the point is done with the row, or the row came after it. So a key is never put as of a point after it was put
 * or removed anew, which the kept tier does not allow, and all rows are done with at the end. */
#include "base/control.h"
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "store/cut_inside.h"

#define ROWS_A_HOLD 256u     /* put under one hold of a shard's lock */
#define ENTRIES_A_HOLD 4096u /* looked at */

int32_t ts_kept_check(const ts_storage_type *type, ts_err err) {
  const uint32_t last = ts_storage_tiers(type) - 1;
  const bool records = type->records != NULL && type->records->cuts != NULL;
  if (records) return TS_OK;
  const char *tier = ts_storage_tier_type(type, last);
  if (type->records != NULL)
    return ts_fail(err, TS_EUNSUPPORTED,
                   "Cannot open store: persistent=1 needs a tier that keeps restore points, and %s of storage %s keeps none; use "
                   "SSDHASH or PMEM over libpmem as the last tier, or checkpoints", tier, type->name);
  return ts_fail(err, TS_EUNSUPPORTED,
                 "Cannot open store: persistent=1 needs a tier that outlives the process; the memory of %s, the last tier of "
                 "storage %s, is volatile here; use SSDHASH or PMEM over libpmem as the last tier, or checkpoints", tier, type->name);
}

ts_kept ts_table_kept(const ts_table *table) {
  if (table->records == NULL) return (ts_kept){NULL, NULL};
  return (ts_kept){ts_records_tier(table->store)->records->cuts, table->records};
}

/* ---- rows ---- */

static bool is_open(const ts_table *table) { return table->cut != NULL && table->cut->in_place != 0; }

/* Whether the point still needs the row; it is done with it from here on. */
static bool take(const ts_table *table, uint8_t *flags) {
  const bool done = (*flags & TS_ROW_TURN) == table->turn;
  *flags = (uint8_t)((*flags & ~TS_ROW_TURN) | table->turn);
  return !done && !(*flags & TS_ROW_SAVED);
}

/* What the point has of a row is said in the file beside. */
static void tell(ts_table *table, const ts_touched *touched) {
  ts_cut_tell(table->cut, table, touched);
  ts_count(table, TS_STAT_persisted, 1);
}

/* Rows of a locked shard that the point needs, as many as can be looked at together, of which nothing has been put or removed
 * since it began. */
static void put_seen(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n) {
  ts_table *table = shard->table;
  ts_rows *rows = &shard->rows[tier];
  const ts_kept kept = ts_table_kept(table);
  int64_t keys[ROWS_A_HOLD];
  uint64_t versions[ROWS_A_HOLD];
  const unsigned char *images[ROWS_A_HOLD];
  if (n == 0 || ts_cut_failed(table->cut)) return;
  char why[256] = "";
  const int32_t seen = ts_rows_see(rows, n, slots, images, (ts_err){why, sizeof why});
  if (seen != TS_OK) {
    ts_cut_fail(table->cut, seen, why);
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = *ts_rows_key(rows, slots[i]);
    versions[i] = ts_record_version(&table->layout, images[i]);
  }
  const int32_t status = kept.cuts->put(kept.state, n, keys, versions, images, (ts_err){NULL, 0});
  if (status != TS_OK && status != TS_EFULL) atomic_store_explicit(&table->doubtful, true, memory_order_relaxed);
  TS_SYNC("kept:put");
  ts_fetch_changed(table, keys, n);
  /* A row whose frequency is counted differs from its record soon. */
  const uint8_t is = status == TS_OK && table->layout.frequency_offset == 0 ? TS_ROW_SAVED : TS_ROW_STALE;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t *flags = ts_rows_flags(rows, slots[i]);
    const bool had = *flags & TS_ROW_RECORD;
    /* Of a refused call some are there. What of these the point has is said beside, and counts first. */
    if (status != TS_OK) tell(table, &(ts_touched){keys[i], images[i], TS_LOCATION(tier, slots[i])});
    if (status != TS_OK && !had && !ts_records_has(table, keys[i])) continue;
    *flags = (uint8_t)((*flags & ~TS_ROW_RECORD) | is);
    shard->recorded += !had;
  }
  if (status != TS_OK) return;
  ts_count(table, TS_STAT_persisted, n);
  ts_count(table, TS_STAT_tier1_written + (table->store->memory_tiers - 1), n * rows->stride);
}

static void put_as_of(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n) {
  const uint32_t at_once = ts_rows_at_once(&shard->rows[tier]);
  for (uint32_t first = 0; first < n; first += at_once) put_seen(shard, tier, slots + first, TS_MIN(n - first, at_once));
}

void ts_kept_before_leaving(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n) {
  if (!is_open(shard->table)) return;
  uint64_t needed[ROWS_A_HOLD];
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (take(shard->table, ts_rows_flags(&shard->rows[tier], slots[i]))) needed[count++] = slots[i];
    if (count < ROWS_A_HOLD && i + 1 < n) continue;
    put_as_of(shard, tier, needed, count);
    count = 0;
  }
}

void ts_kept_before_loss(ts_shard *shard, uint32_t tier, uint64_t row) {
  ts_table *table = shard->table;
  ts_rows *rows = &shard->rows[tier];
  if (!is_open(table) || !take(table, ts_rows_flags(rows, row)) || ts_cut_failed(table->cut)) return;
  if (TS_BUG("a row that goes beside a point is not told")) return;
  char why[256] = "";
  const unsigned char *bytes;
  const int32_t seen = ts_rows_see(rows, 1, &row, &bytes, (ts_err){why, sizeof why});
  if (seen == TS_OK) tell(table, &(ts_touched){*ts_rows_key(rows, row), bytes, TS_LOCATION(tier, row)});
  else ts_cut_fail(table->cut, seen, why);
}

bool ts_kept_must_tell(ts_table *table, const ts_touched *touched, bool change) {
  const uint32_t tier = TS_LOCATION_TIER(touched->location);
  if (tier >= TS_NOT_ADMITTED) return touched->row == NULL; /* the kept tier has a row that memory has not */
  ts_shard *shard = ts_shard_of(table, ts_index_hash(touched->key));
  if (TS_BUG("a change beside a point is not told")) return false;
  if (!change || !take(table, ts_rows_flags(&shard->rows[tier], TS_LOCATION_ROW(touched->location)))) return false;
  ts_count(table, TS_STAT_persisted, 1);
  return true;
}

/* ---- all of them ---- */

typedef struct gathered {
  uint64_t slots[TS_MAX_MEMORY_TIERS][ROWS_A_HOLD];
  uint32_t counts[TS_MAX_MEMORY_TIERS];
} gathered;

/* The next rows of a shard that the point needs; returns how many entries were looked at, 0: there are no more. */
static uint32_t gather(ts_shard *shard, ts_index_cursor *cursor, gathered *g) {
  uint32_t looked = 0, most = 0;
  memset(g->counts, 0, sizeof g->counts);
  while (looked < ENTRIES_A_HOLD && most < ROWS_A_HOLD) {
    int64_t key;
    ts_location l;
    if (!ts_index_next(&shard->index, cursor, &key, &l)) break;
    looked++;
    const uint32_t tier = TS_LOCATION_TIER(l);
    if (tier >= TS_NOT_ADMITTED || !take(shard->table, ts_rows_flags(&shard->rows[tier], TS_LOCATION_ROW(l)))) continue;
    g->slots[tier][g->counts[tier]++] = TS_LOCATION_ROW(l);
    most = TS_MAX(most, g->counts[tier]);
  }
  return looked;
}

/* put: else the rows are only marked. */
static void walk_shard(ts_cut *cut, ts_shard *shard, bool put, uint64_t *control) {
  ts_store *store = shard->table->store;
  ts_index_cursor cursor = {0};
  gathered g;
  for (uint32_t looked = 1; looked > 0;) {
    TS_SYNC("kept:walk:piece");
    if (ts_control_cancelled(control)) {
      ts_cut_fail(cut, TS_ECANCELLED, "Cannot make a restore point: it was cancelled");
      return;
    }
    if (put) ts_descent_begin(store);
    pthread_mutex_lock(&shard->lock);
    looked = gather(shard, &cursor, &g);
    for (uint32_t t = 0; put && t < store->memory_tiers; t++) put_as_of(shard, t, g.slots[t], g.counts[t]);
    pthread_mutex_unlock(&shard->lock);
    if (put) ts_descent_end(store);
    if (put && ts_is_tiered(store)) ts_room_restore(store);
    ts_control_add(control, looked);
  }
}

void ts_kept_walk(ts_cut *cut, ts_table *table, uint64_t *control) {
  for (uint32_t s = TS_BUG("a shard is left out") ? 1 : 0; s < table->shard_count && !ts_cut_failed(cut); s++)
    walk_shard(cut, &table->shards[s], true, control);
}

/* ---- beginning and end ---- */

int32_t ts_kept_begin(ts_cut *cut, ts_err err) {
  ts_store *store = cut->store;
  int32_t status = TS_OK;
  uint32_t begun = 0;
  for (; status == TS_OK && begun < cut->table_count; begun++) {
    const ts_kept kept = ts_table_kept(store->tables[begun]);
    status = kept.cuts->begin(kept.state, cut->in_place, err);
    if (status != TS_OK) break;
  }
  for (uint32_t i = 0; status != TS_OK && i < begun; i++) {
    const ts_kept kept = ts_table_kept(store->tables[i]);
    kept.cuts->drop(kept.state, cut->in_place, (ts_err){NULL, 0});
  }
  for (uint32_t i = 0; status == TS_OK && i < begun; i++) store->tables[i]->turn ^= TS_ROW_TURN;
  return status;
}

void ts_kept_give_up(ts_cut *cut) {
  for (uint32_t i = 0; i < cut->table_count; i++) {
    ts_table *table = cut->store->tables[i];
    const ts_kept kept = ts_table_kept(table);
    for (uint32_t s = 0; s < table->shard_count; s++) walk_shard(cut, &table->shards[s], false, NULL);
    /* The first one of a table that is complete there stays until there is another: ts_kept_tidy. */
    kept.cuts->drop(kept.state, cut->in_place, (ts_err){NULL, 0});
  }
}

int32_t ts_kept_complete(ts_cut *cut, const void *note, uint32_t bytes, ts_err err) {
  for (uint32_t i = 0; i < cut->table_count; i++) {
    const ts_kept kept = ts_table_kept(cut->store->tables[i]);
    const int32_t status = kept.cuts->complete(kept.state, cut->in_place, note, bytes, err);
    if (status != TS_OK) return status;
    cut->store->tables[i]->kept = true;
    TS_SYNC("kept:completed");
  }
  return TS_OK;
}

static bool is_one_of(uint64_t number, const uint64_t *numbers, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (numbers[i] == number) return true;
  return false;
}

int32_t ts_kept_tidy(ts_store *store, const uint64_t *numbers, uint32_t n, ts_err err) {
  const uint32_t tables = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < tables; i++) {
    const ts_kept kept = ts_table_kept(store->tables[i]);
    ts_records_checkpoint there[TS_RECORDS_CUTS];
    const uint32_t count = kept.cuts->list(kept.state, there);
    uint32_t complete = 0;
    for (uint32_t k = 0; k < count; k++) complete += there[k].complete;
    for (uint32_t k = 0; k < count; k++) {
      if ((is_one_of(there[k].number, numbers, n) && !TS_BUG("a table's checkpoint goes before its manifest")) || (there[k].complete && complete == 1)) continue;
      const int32_t status = kept.cuts->drop(kept.state, there[k].number, err);
      if (status != TS_OK) return status;
      complete -= there[k].complete;
    }
  }
  return TS_OK;
}
