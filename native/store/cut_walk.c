/* cut_walk.c - what a cut consists of, written beside calls that go on changing the store: see cut.h.
 *
 * From the top tier down, through all tables, so that a reader meets the rows of the first tier first. Why each row is met:
 * it has an entry in its shard's index for as long as it is in memory, and the walk of an index meets every entry that was
 * there all the time, however segments are rebuilt meanwhile; the row of a lower tier that went up since was told, and the
 * row of a tier that was walked already and has gone down is met again below. The same holds of records and their keys. */
#include "base/sync_point.h"
#include "store/cut_inside.h"

#include <string.h>

#define ENTRIES_A_HOLD 4096u /* looked at under one hold of a shard's lock */
#define CHANGES_A_BLOCK (UINT64_C(8) << 10) /* words */
#define RECORDS_A_PIECE 256u
/* A delta of at least a 16th of the slots reads all records. A disk reads one record here and one there at a few dozen
 * megabytes a second, and megabytes at a time at hundreds. */
#define SWEPT_SHARE_BITS 4u

typedef struct walk {
  ts_cut *cut;
  uint64_t *control;
  uint32_t table; /* of what is gathered */
  ts_cut_part part;
  uint32_t count;
  uint64_t used;
} walk;

static bool stopped(walk *w) {
  if (w->control != NULL && __atomic_load_n(&w->control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) != 0)
    ts_cut_fail(w->cut, TS_ECANCELLED, "Cannot write a checkpoint: it was cancelled");
  return ts_cut_failed(w->cut);
}

static void done(walk *w, uint64_t rows) {
  if (w->control != NULL) __atomic_fetch_add(&w->control[TS_CONTROL_DONE], rows, __ATOMIC_RELAXED);
}

static void give(walk *w) {
  ts_cut_give(w->cut, w->part, w->table, w->count, w->cut->rows, w->used);
  w->count = 0;
  w->used = 0;
}

static void gather(walk *w, const void *head, uint64_t bytes, const unsigned char *row, uint64_t row_bytes) {
  memcpy(w->cut->rows + w->used, head, bytes);
  if (row_bytes > 0) memcpy(w->cut->rows + w->used + bytes, row, row_bytes);
  w->used += bytes + row_bytes;
  w->count++;
}

/* Whether the cut has the key and was not told what there was of it. */
static bool is_needed(const walk *w, const ts_table *table, int64_t key) {
  const uint64_t hash = ts_index_hash(key);
  return ts_cut_has(w->cut, table->number, hash) && !ts_cut_told(w->cut, table->number, hash);
}

/* Keys that wait, of these entries; returns how many are that. */
static uint32_t gather_waiting(walk *w, const ts_table *table, const ts_entries *e) {
  uint32_t met = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (TS_LOCATION_TIER(e->locations[i]) < TS_NOT_ADMITTED) continue;
    met++;
    if (!is_needed(w, table, e->keys[i])) continue;
    const uint64_t word = TS_LOCATION_ROW(e->locations[i]);
    const ts_cut_waiting head = {.key = e->keys[i],
                                 .count = (uint32_t)TS_MIN(ts_waiting_count(&table->admission, word), UINT32_MAX),
                                 .step = ts_waiting_step(&table->admission, word)};
    gather(w, &head, sizeof head, NULL, 0);
  }
  return met;
}

/* Rows of a tier, of these entries, which can be looked at together; *met counts them. */
static int32_t gather_rows(walk *w, ts_shard *shard, uint32_t tier, const ts_entries *e, uint64_t *met, ts_err err) {
  const ts_table *table = shard->table;
  int64_t keys[TS_ENTRIES];
  uint64_t slots[TS_ENTRIES];
  const unsigned char *rows[TS_ENTRIES];
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (TS_LOCATION_TIER(e->locations[i]) != tier) continue;
    ++*met;
    if (!is_needed(w, table, e->keys[i]) || ts_cut_marked(table, ts_index_hash(e->keys[i]), e->locations[i])) continue;
    keys[n] = e->keys[i];
    slots[n++] = TS_LOCATION_ROW(e->locations[i]);
  }
  const int32_t status = ts_rows_see(&shard->rows[tier], n, slots, rows, err);
  for (uint32_t i = 0; status == TS_OK && i < n; i++) gather(w, &keys[i], sizeof keys[i], rows[i], table->layout.stride);
  return status;
}

/* Rows of one tier that a shard has in memory, or its keys that wait (tier TS_NOT_ADMITTED). */
static void walk_shard(walk *w, ts_shard *shard, uint32_t tier) {
  ts_cut *cut = w->cut;
  const ts_table *table = shard->table;
  const bool waiting = tier == TS_NOT_ADMITTED;
  const uint64_t stride = table->layout.stride, entry = waiting ? sizeof(ts_cut_waiting) : sizeof(int64_t) + stride;
  ts_index_cursor cursor = {0};
  w->table = table->number;
  w->part = waiting ? TS_CUT_WAITING : TS_CUT_ROWS;
  for (bool more = true; more && !stopped(w);) {
    uint64_t looked = 0, met = 0;
    int32_t status = TS_OK;
    char why[256] = "";
    TS_SYNC("cut:walk:piece");
    pthread_mutex_lock(&shard->lock);
    while (status == TS_OK && looked < ENTRIES_A_HOLD && w->used + entry <= cut->rows_bytes) {
      ts_entries e;
      const uint64_t room = TS_MIN(ENTRIES_A_HOLD - looked, (cut->rows_bytes - w->used) / entry);
      const uint32_t at_once = waiting ? TS_ENTRIES : ts_rows_at_once(&shard->rows[tier]);
      status = ts_entries_next(shard, &cursor, (uint32_t)TS_MIN(room, at_once), false, &e, (ts_err){why, sizeof why});
      more = e.n > 0;
      if (!more) break;
      looked += e.n;
      if (waiting) met += gather_waiting(w, table, &e);
      else status = gather_rows(w, shard, tier, &e, &met, (ts_err){why, sizeof why});
    }
    pthread_mutex_unlock(&shard->lock);
    if (status != TS_OK) ts_cut_fail(cut, status, why);
    if (!waiting) done(w, met);
    if (w->used + entry > cut->rows_bytes) give(w);
  }
  give(w);
}

/* Where records come from: a sweep, or a walk where there is none. */
typedef struct source {
  ts_records_sweep *sweep;
  uint64_t cursor;
} source;

typedef struct found_records {
  int64_t keys[RECORDS_A_PIECE];
  const unsigned char *rows[RECORDS_A_PIECE]; /* NULL: it was read again, into the work */
  ts_record_place places[RECORDS_A_PIECE];
  uint32_t got;
  bool read; /* rows and places are there */
} found_records;

/* The rows among these keys that are records only, read into the work: as nobody has changed them since, or told before. */
static int32_t read_records(ts_table *table, ts_work *work, ts_err err) {
  ts_work_by_shard(table, work);
  memset(work->state, 0, work->count);
  int32_t status = ts_fetch_begin(table, work, err);
  TS_SYNC("cut:walk:records");
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    ts_shard *shard = &table->shards[s];
    if (work->starts[s] == work->starts[s + 1]) continue;
    uint32_t again[RECORDS_A_PIECE], n = 0;
    pthread_mutex_lock(&shard->lock);
    for (uint32_t i = work->starts[s]; i < work->starts[s + 1]; i++) {
      const uint32_t d = work->order[i];
      const bool above = TS_LOCATION_TIER(ts_index_find_one(&shard->index, work->keys[d])) < TS_NOT_ADMITTED;
      if (above) work->state[d] = 0;
      if (!above && !work->fetched[d]) again[n++] = d;
    }
    if (n > 0) status = ts_fetch_again(table, work, again, n, err);
    pthread_mutex_unlock(&shard->lock);
  }
  ts_fetch_end(table, work);
  return status;
}

/* What a sweep read: a row is as it was read if its record is still where that was. What lies elsewhere by now was moved,
 * or replaced by whoever moved the row down since: it is read again. */
static int32_t take_read(ts_table *table, ts_work *work, found_records *p, ts_err err) {
  ts_work_by_shard(table, work);
  memset(work->state, 0, work->count);
  int32_t status = TS_OK;
  TS_SYNC("cut:walk:swept");
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    ts_shard *shard = &table->shards[s];
    int64_t keys[RECORDS_A_PIECE];
    ts_record_place places[RECORDS_A_PIECE];
    uint8_t same[RECORDS_A_PIECE];
    uint32_t numbers[RECORDS_A_PIECE], again[RECORDS_A_PIECE], n = 0, m = 0;
    if (work->starts[s] == work->starts[s + 1]) continue;
    pthread_mutex_lock(&shard->lock);
    for (uint32_t i = work->starts[s]; i < work->starts[s + 1]; i++) {
      const uint32_t d = work->order[i];
      if (TS_LOCATION_TIER(ts_index_find_one(&shard->index, work->keys[d])) < TS_NOT_ADMITTED) continue;
      keys[n] = work->keys[d];
      places[n] = p->places[d];
      numbers[n++] = d;
    }
    ts_records_tier(table->store)->records->sweeps->still(table->records, n, keys, places, same);
    for (uint32_t i = 0; i < n; i++) {
      work->state[numbers[i]] = 1;
      if (same[i]) continue;
      p->rows[numbers[i]] = NULL;
      again[m++] = numbers[i];
    }
    if (m > 0) status = ts_fetch_again(table, work, again, m, err);
    pthread_mutex_unlock(&shard->lock);
  }
  return status;
}

/* Some keys of the tier of records, and where they lie together their rows. */
static int32_t next_records(ts_table *table, source *from, uint32_t most, found_records *p, ts_err err) {
  const ts_records_ops *ops = ts_records_tier(table->store)->records;
  p->read = false;
  if (from->sweep == NULL) return ops->walk(table->records, &from->cursor, most, p->keys, NULL, NULL, &p->got, err);
  return ops->sweeps->next(table->records, from->sweep, most, p->keys, p->rows, p->places, &p->read, &p->got, err);
}

static int32_t walk_some(walk *w, ts_table *table, source *from, bool *more, ts_err err) {
  found_records p = {.got = 0};
  ts_work *work = ts_work_acquire(table, RECORDS_A_PIECE, TS_WORK_LOOKUP);
  const uint32_t most = TS_MIN(TS_MIN(work->capacity, work->staging_capacity), RECORDS_A_PIECE);
  int32_t status = next_records(table, from, most, &p, err);
  ts_work_clear(work);
  for (uint32_t i = 0; status == TS_OK && i < p.got; i++) {
    const uint64_t hash = ts_index_hash(p.keys[i]);
    if (!ts_cut_has(w->cut, table->number, hash) || ts_cut_told(w->cut, table->number, hash)) continue;
    const uint32_t d = ts_work_add(work, p.keys[i], hash); /* a key may come twice */
    work->times[d] = 0;
    p.rows[d] = p.rows[i]; /* d is at most i */
    p.places[d] = p.places[i];
  }
  if (status == TS_OK && work->count > 0) status = p.read ? take_read(table, work, &p, err) : read_records(table, work, err);
  const uint64_t stride = table->layout.stride;
  for (uint32_t d = 0; status == TS_OK && d < work->count; d++) {
    if (work->state[d] == 0) continue;
    if (w->used + sizeof(int64_t) + stride > w->cut->rows_bytes) give(w);
    gather(w, &work->keys[d], sizeof(int64_t), p.read && p.rows[d] != NULL ? p.rows[d] : ts_work_staging(work, d), stride);
  }
  ts_work_release(table->store, work);
  done(w, p.got);
  *more = p.got > 0;
  return status;
}

/* Whether so many records are wanted that reading all of them, one behind the other, takes less time. */
static bool wants_most(const walk *w, const ts_table *table) {
  const ts_changes *changes = &w->cut->tables[table->number].changes;
  return !w->cut->delta || ts_changes_count(changes) >> (changes->log2 - TS_MIN(changes->log2, SWEPT_SHARE_BITS)) > 0;
}

static void walk_records(walk *w, ts_table *table) {
  char why[512] = "";
  source from = {.cursor = 0};
  const ts_records_sweeps *sweeps = ts_records_tier(table->store)->records->sweeps;
  w->table = table->number;
  w->part = TS_CUT_ROWS;
  /* Without memory for long reads, row by row. */
  if (sweeps != NULL && wants_most(w, table) && sweeps->open(table->records, &from.sweep, (ts_err){NULL, 0}) != TS_OK)
    from.sweep = NULL;
  for (bool more = true; more && !stopped(w);) {
    const int32_t status = walk_some(w, table, &from, &more, (ts_err){why, sizeof why});
    if (status != TS_OK) ts_cut_fail(w->cut, status, why);
  }
  if (from.sweep != NULL) sweeps->close(table->records, from.sweep);
  give(w);
}

static void walk_changes(walk *w, uint32_t number) {
  const ts_changes *c = &w->cut->tables[number].changes;
  struct {
    ts_cut_place place;
    uint64_t words[CHANGES_A_BLOCK / 8];
  } piece;
  const uint64_t all = ts_changes_words(c->log2), most = sizeof piece.words / 8;
  for (uint64_t first = 0; first < all && !stopped(w); first += most) {
    const uint64_t n = TS_MIN(most, all - first);
    piece.place = (ts_cut_place){.log2 = c->log2, .first_word = first};
    memcpy(piece.words, c->words + first, n * 8);
    ts_cut_give(w->cut, TS_CUT_CHANGES, number, (uint32_t)n, &piece, sizeof piece.place + n * 8);
  }
}

static void walk_filter(walk *w, const ts_table *table) {
  const uint64_t bytes = ts_bloom_counter_bytes(table->admission.bloom);
  for (uint64_t part = 0; part * TS_FILTER_PART < bytes && !stopped(w); part++) ts_cut_tell_filter(w->cut, table, part);
}

static uint64_t rows_in_memory(ts_table *table) {
  const ts_store *store = table->store;
  uint64_t rows = 0;
  for (uint32_t s = 0; s < table->shard_count; s++) {
    pthread_mutex_lock(&table->shards[s].lock);
    for (uint32_t t = 0; t < store->memory_tiers; t++) rows += table->shards[s].rows[t].live - table->shards[s].rows[t].copies;
    pthread_mutex_unlock(&table->shards[s].lock);
  }
  return rows;
}

uint64_t ts_cut_rows_of(ts_table *table) {
  const uint64_t rows = rows_in_memory(table);
  if (table->records == NULL) return rows;
  ts_records_counts counts;
  ts_records_tier(table->store)->records->count(table->records, &counts);
  return rows + counts.rows;
}

int32_t ts_cut_write(ts_cut *cut, uint64_t *control, ts_err err) {
  ts_store *store = cut->store;
  walk w = {.cut = cut, .control = control};
  if (control != NULL) {
    __atomic_store_n(&control[TS_CONTROL_DONE], 0, __ATOMIC_RELAXED);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < cut->table_count; i++) rows += cut->in_place != 0 ? rows_in_memory(store->tables[i]) : ts_cut_rows_of(store->tables[i]);
    __atomic_store_n(&control[TS_CONTROL_TOTAL], rows, __ATOMIC_RELAXED);
  }
  for (uint32_t i = 0; cut->delta && i < cut->table_count; i++) walk_changes(&w, i);
  for (uint32_t i = 0; cut->in_place != 0 && i < cut->table_count && !stopped(&w); i++)
    ts_kept_walk(cut, store->tables[i], control);
  for (uint32_t tier = 0; cut->in_place == 0 && tier < store->memory_tiers; tier++)
    for (uint32_t i = 0; i < cut->table_count; i++)
      for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) walk_shard(&w, &store->tables[i]->shards[s], tier);
  TS_SYNC("cut:walk:below_memory");
  for (uint32_t i = 0; i < cut->table_count; i++) {
    ts_table *table = store->tables[i];
    for (uint32_t s = 0; table->admission.kind == TS_ADMIT_COUNTED && s < table->shard_count; s++)
      walk_shard(&w, &table->shards[s], TS_NOT_ADMITTED);
    if (table->records != NULL && cut->in_place == 0) walk_records(&w, table);
    if (table->admission.bloom != NULL) walk_filter(&w, table);
  }
  ts_cut_detach(cut);
  ts_cut_flush(cut);
  (void)stopped(&w);
  return ts_cut_failed(cut) ? ts_fail(err, atomic_load(&cut->status), "%s", cut->why) : TS_OK;
}
