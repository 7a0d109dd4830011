/* cut.c - a cut's beginning and end, and the touches between them: see cut.h.
 *
 * All that a cut needs is one piece of memory, charged to the first tier as working memory when it begins: as much as there
 * is, down to what a few rows take. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "store/cut_inside.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MEMORY (UINT64_C(16) << 20)
#define SHARE 128u             /* of the first tier, at most: an eighth of what is kept free for working memory */
#define ENTRIES_A_SLICE 512u   /* where there is memory; a block of so many costs little beside its rows */
#define ENTRIES_A_HOLD 4096u   /* looked at under one hold of a shard's lock */
#define TOLD_LEAST 16u
#define TOLD_AN_ENTRY 32u      /* keys remembered for each entry of a slice */

void ts_cut_fail(ts_cut *cut, int32_t status, const char *why) {
  pthread_mutex_lock(&cut->failing);
  if (!ts_cut_failed(cut)) {
    ts_fail((ts_err){cut->why, sizeof cut->why}, status, "%s", why);
    atomic_store_explicit(&cut->status, status, memory_order_release);
  }
  pthread_mutex_unlock(&cut->failing);
}

void ts_cut_give(ts_cut *cut, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n) {
  char why[512] = "";
  if (ts_cut_failed(cut) || count == 0) return;
  const int32_t status = cut->sink(cut->context, part, table, count, bytes, n, (ts_err){why, sizeof why});
  if (status != TS_OK) ts_cut_fail(cut, status, why);
}

/* ---- touches ---- */

static ts_cut_slice *slice_of(ts_cut *cut, uint32_t table) { return &cut->slices[table % cut->slice_count]; }

static void give_slice(ts_cut *cut, ts_cut_slice *s) {
  ts_cut_give(cut, TS_CUT_BEFORE, s->table, s->count, s->entries, s->used);
  s->count = 0;
  s->used = 0;
}

/* The slice is the table's from here on; its lock is held. */
static void turn_to(ts_cut *cut, ts_cut_slice *s, uint32_t table) {
  if (s->table == table) return;
  give_slice(cut, s);
  memset(s->told, 0, (cut->told_mask + 1) * sizeof *s->told);
  s->table = table;
}

static uint64_t *told_place(const ts_cut *cut, const ts_cut_slice *s, uint64_t hash) {
  return &s->told[hash >> 17 & cut->told_mask];
}

static void tell(ts_cut *cut, ts_cut_slice *s, const ts_table *table, const ts_touched *t) {
  const uint64_t bytes = sizeof(ts_cut_before) + table->layout.stride;
  if (s->used + bytes > cut->slice_bytes) give_slice(cut, s);
  ts_cut_before *entry = (ts_cut_before *)(void *)(s->entries + s->used);
  ts_cut_before head = {.key = t->key};
  if (t->row != NULL) {
    head.what = TS_CUT_ROW;
  } else if (t->location != TS_LOCATION_NONE) {
    head.what = TS_CUT_WAITS;
    head.waiting = (uint32_t)TS_MIN(ts_waiting_count(&table->admission, TS_LOCATION_ROW(t->location)), UINT32_MAX);
    head.step = ts_waiting_step(&table->admission, TS_LOCATION_ROW(t->location));
  }
  memcpy(entry, &head, sizeof head);
  if (t->row != NULL)
    memcpy(s->entries + s->used + sizeof head, t->row, table->layout.stride);
  else
    memset(s->entries + s->used + sizeof head, 0, table->layout.stride);
  s->used += bytes;
  s->count++;
}

void ts_cut_tell(ts_cut *cut, const ts_table *table, const ts_touched *touched) {
  ts_cut_slice *s = slice_of(cut, table->number);
  pthread_mutex_lock(&s->lock);
  turn_to(cut, s, table->number);
  tell(cut, s, table, touched);
  pthread_mutex_unlock(&s->lock);
}

/* Flags of the row that lies there, whose shard is locked; NULL: it is none of memory, or its tier keeps none. */
static uint8_t *flags_of(const ts_table *table, uint64_t hash, ts_location l) {
  if (TS_LOCATION_TIER(l) >= TS_NOT_ADMITTED) return NULL;
  const ts_rows *rows = &ts_shard_of(table, hash)->rows[TS_LOCATION_TIER(l)];
  return rows->policy == NULL ? NULL : ts_rows_flags(rows, TS_LOCATION_ROW(l));
}

static void touch_cut(ts_cut *cut, ts_table *table, const ts_touched *touched, uint32_t n, bool change) {
  if (ts_cut_failed(cut)) return;
  TS_SYNC("cut:touch");
  ts_cut_slice *s = slice_of(cut, table->number);
  pthread_mutex_lock(&s->lock);
  turn_to(cut, s, table->number);
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t hash = ts_index_hash(touched[i].key);
    if (!ts_cut_has(cut, table->number, hash)) continue;
    if (cut->in_place != 0 && !ts_kept_must_tell(table, &touched[i], change)) continue;
    uint8_t *flags = cut->in_place == 0 ? flags_of(table, hash, touched[i].location) : NULL;
    if (flags != NULL && *flags & TS_ROW_TOLD) continue;
    cut->tables[table->number].marked = true;
    if (flags != NULL) *flags |= TS_ROW_TOLD;
    uint64_t *told = told_place(cut, s, hash);
    if (*told == hash && hash != 0) continue;
    *told = hash;
    tell(cut, s, table, &touched[i]);
  }
  pthread_mutex_unlock(&s->lock);
}

void ts_touch(ts_table *table, const ts_touched *touched, uint32_t n, bool change) {
  if (change && table->changes.words != NULL && !TS_BUG("changes are left out of the next delta"))
    for (uint32_t i = 0; i < n; i++) ts_changes_set(&table->changes, ts_index_hash(touched[i].key));
  if (table->cut != NULL && n > 0 && !TS_BUG("what changes is not told to a cut")) touch_cut(table->cut, table, touched, n, change);
}

bool ts_cut_told(ts_cut *cut, uint32_t table, uint64_t hash) {
  ts_cut_slice *s = slice_of(cut, table);
  pthread_mutex_lock(&s->lock);
  const bool told = s->table == table && hash != 0 && *told_place(cut, s, hash) == hash;
  pthread_mutex_unlock(&s->lock);
  return told;
}

bool ts_cut_marked(const ts_table *table, uint64_t hash, ts_location location) {
  const uint8_t *flags = flags_of(table, hash, location);
  return flags != NULL && *flags & TS_ROW_TOLD;
}

uint8_t ts_cut_new_row(const ts_table *table, uint64_t hash) {
  const bool told = table->cut != NULL && table->cut->in_place == 0 && ts_cut_told(table->cut, table->number, hash);
  return told ? table->turn | TS_ROW_TOLD : table->turn;
}

/* The next cut is told anew. A row has its key in the index for as long as it is in memory, wherever it moves meanwhile; what comes up gets no mark. */
static void unmark(ts_cut *cut) {
  for (uint32_t i = 0; i < cut->table_count; i++) {
    ts_table *table = cut->store->tables[i];
    for (uint32_t s = 0; cut->tables[i].marked && s < table->shard_count; s++) {
      ts_shard *shard = &table->shards[s];
      ts_index_cursor cursor = {0};
      for (bool more = true; more;) {
        int64_t key;
        ts_location l;
        pthread_mutex_lock(&shard->lock);
        for (uint32_t n = 0; more && n < ENTRIES_A_HOLD; n++) {
          more = ts_index_next(&shard->index, &cursor, &key, &l);
          uint8_t *flags = more ? flags_of(table, ts_index_hash(key), l) : NULL;
          if (flags != NULL) *flags &= (uint8_t)~TS_ROW_TOLD;
        }
        pthread_mutex_unlock(&shard->lock);
      }
    }
  }
}

void ts_cut_flush(ts_cut *cut) {
  for (uint32_t i = 0; i < cut->slice_count; i++) {
    pthread_mutex_lock(&cut->slices[i].lock);
    give_slice(cut, &cut->slices[i]);
    pthread_mutex_unlock(&cut->slices[i].lock);
  }
}

/* ---- filters: a part is told before its first counter changes ---- */

static uint64_t filter_parts(const ts_table *table) {
  if (table->admission.bloom == NULL) return 0;
  return (ts_bloom_counter_bytes(table->admission.bloom) + TS_FILTER_PART - 1) / TS_FILTER_PART;
}

void ts_cut_tell_filter(ts_cut *cut, const ts_table *table, uint64_t part) {
  uint64_t *told = &cut->tables[table->number].filter_told[part / 64];
  pthread_mutex_lock(&cut->filters);
  if (!(*told >> part % 64 & 1)) {
    struct {
      ts_cut_place place;
      uint64_t words[TS_FILTER_PART / 2 / sizeof(uint64_t)];
    } piece;
    const uint64_t all = ts_bloom_counter_bytes(table->admission.bloom), end = TS_MIN((part + 1) * TS_FILTER_PART, all);
    for (uint64_t at = part * TS_FILTER_PART; at < end; at += sizeof piece.words) {
      const uint64_t bytes = TS_MIN(sizeof piece.words, end - at), words = (bytes + 7) / 8;
      piece.place = (ts_cut_place){.first_word = at / 8};
      if (words > 0) piece.words[words - 1] = 0;
      ts_bloom_save(table->admission.bloom, at, bytes, piece.words);
      ts_cut_give(cut, TS_CUT_FILTER, table->number, (uint32_t)words, &piece, sizeof piece.place + words * 8);
    }
    *told |= UINT64_C(1) << part % 64;
  }
  pthread_mutex_unlock(&cut->filters);
}

void ts_touch_filter(const ts_table *table, int64_t key) {
  ts_cut *cut = table->cut;
  if (cut == NULL || ts_cut_failed(cut)) return;
  uint64_t indices[TS_BLOOM_HASHES];
  const ts_bloom *bloom = table->admission.bloom;
  const uint32_t width = ts_bloom_width(bloom);
  ts_bloom_indices(bloom, key, indices);
  for (uint32_t i = 0; i < ts_bloom_hashes(bloom); i++) ts_cut_tell_filter(cut, table, indices[i] * width / TS_FILTER_PART);
}

/* ---- memory ---- */

/* What is beside the buffers. */
typedef struct plan {
  uint32_t tables;
  uint64_t row;          /* the longest of any table */
  uint64_t filter_words; /* of all tables */
} plan;

static plan make_plan(const ts_store *store) {
  plan p = {.tables = atomic_load_explicit(&store->table_count, memory_order_acquire)};
  for (uint32_t i = 0; i < p.tables; i++) {
    p.row = TS_MAX(p.row, (uint64_t)store->tables[i]->layout.stride);
    p.filter_words += (filter_parts(store->tables[i]) + 63) / 64;
  }
  return p;
}

static uint64_t entry_of(const plan *p) { return TS_ROUND_UP(sizeof(ts_cut_before) + p->row, 8u); }

/* Bytes with so many entries a slice. */
static uint64_t bytes_for(const plan *p, uint32_t slices, uint64_t entries, uint64_t told) {
  return TS_ROUND_UP(sizeof(ts_cut), 64u) + p->tables * sizeof(ts_cut_table) + p->filter_words * 8 +
         slices * (sizeof(ts_cut_slice) + entries * entry_of(p) + told * sizeof(uint64_t)) + entries * entry_of(p);
}

static void *carve(unsigned char **at, uint64_t bytes) {
  unsigned char *start = *at;
  *at += TS_ROUND_UP(bytes, 8u);
  return start;
}

static ts_cut *take(ts_store *store, const plan *p, uint32_t slices, uint64_t entries, uint64_t told, bool first) {
  ts_budget *budget = ts_dram_budget(store);
  const uint64_t bytes = bytes_for(p, slices, entries, told), charged = ts_piece_bytes(bytes);
  if (!(first ? ts_budget_take_first : ts_budget_take)(budget, TS_PURPOSE_WORK, charged)) return NULL;
  unsigned char *memory = ts_piece_take(ts_blocks_pieces(store->blocks), bytes), *at = memory;
  if (memory == NULL) {
    ts_budget_give_back(budget, TS_PURPOSE_WORK, charged);
    return NULL;
  }
  ts_cut *cut = carve(&at, TS_ROUND_UP(sizeof(ts_cut), 64u));
  cut->bytes = bytes;
  cut->table_count = p->tables;
  cut->tables = carve(&at, p->tables * sizeof *cut->tables);
  for (uint32_t i = 0; i < p->tables; i++) {
    const uint64_t parts = filter_parts(store->tables[i]);
    if (parts > 0) cut->tables[i].filter_told = carve(&at, (parts + 63) / 64 * 8);
  }
  cut->slice_count = slices;
  cut->slices = carve(&at, slices * sizeof *cut->slices);
  cut->slice_bytes = entries * entry_of(p);
  cut->told_mask = told - 1;
  for (uint32_t i = 0; i < slices; i++) {
    cut->slices[i].table = i < p->tables ? i : 0;
    cut->slices[i].told = carve(&at, told * sizeof(uint64_t));
    cut->slices[i].entries = carve(&at, cut->slice_bytes);
    pthread_mutex_init(&cut->slices[i].lock, NULL);
  }
  cut->rows_bytes = entries * entry_of(p);
  cut->rows = carve(&at, cut->rows_bytes);
  pthread_mutex_init(&cut->filters, NULL);
  pthread_mutex_init(&cut->failing, NULL);
  return cut;
}

/* As much as the first tier has for it: fewer keys remembered, then smaller blocks, then tables that share a slice. */
static ts_cut *allocate(ts_store *store, ts_err err) {
  const plan p = make_plan(store);
  const ts_budget *budget = ts_dram_budget(store);
  const uint64_t wish = TS_MIN(budget->limit / SHARE, MOST_MEMORY);
  ts_cut *cut = NULL;
  uint32_t slices = TS_MAX(p.tables, 1u);
  uint64_t entries = ENTRIES_A_SLICE;
  for (; cut == NULL; entries = TS_MAX(entries / 2, 1u)) {
    for (uint64_t told = entries * TOLD_AN_ENTRY; cut == NULL && told >= TOLD_LEAST; told /= 2)
      if (bytes_for(&p, slices, entries, told) <= wish) cut = take(store, &p, slices, entries, told, false);
    if (cut != NULL || (entries == 1 && slices == 1)) break;
    if (entries == 1) slices = (slices + 1) / 2;
  }
  /* What is kept for moving rows, of which this leaves the most. */
  const uint64_t least = bytes_for(&p, 1, 1, TOLD_LEAST);
  if (cut == NULL) cut = take(store, &p, 1, 1, TOLD_LEAST, false);
  if (cut == NULL && (store->rows_only || least <= budget->headroom / 4)) cut = take(store, &p, 1, 1, TOLD_LEAST, true);
  if (cut == NULL)
    ts_fail(err, TS_EFULL,
            "Cannot begin a checkpoint: its buffers need %llu bytes of tier 0 (%s), which has %llu of %llu bytes used; raise "
            "its size", (unsigned long long)least, store->tiers[store->dram].type, (unsigned long long)atomic_load(&budget->used),
            (unsigned long long)budget->limit);
  return cut;
}

static void release(ts_cut *cut) {
  ts_store *store = cut->store;
  for (uint32_t i = 0; i < cut->slice_count; i++) pthread_mutex_destroy(&cut->slices[i].lock);
  pthread_mutex_destroy(&cut->filters);
  pthread_mutex_destroy(&cut->failing);
  const uint64_t bytes = cut->bytes;
  ts_piece_give_back(ts_blocks_pieces(store->blocks), cut, bytes);
  ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_WORK, ts_piece_bytes(bytes));
}

/* ---- beginning and end ---- */

static void freeze(ts_cut *cut, uint32_t i) {
  ts_table *table = cut->store->tables[i];
  cut->tables[i].updates = atomic_load(&table->optimizer.steps);
  cut->tables[i].learning_rate = atomic_load(&table->optimizer.learning_rate);
  table->cut = cut;
  ts_cut_table *t = &cut->tables[i];
  if (table->changes.words == NULL || cut->in_place != 0) return;
  t->changes = table->changes;
  if (t->larger[0] == NULL) {
    table->changes.words = table->spare_changes;
    table->spare_changes = NULL;
  } else {
    table->changes = (ts_changes){t->larger[0], t->larger_log2};
    t->larger[0] = table->spare_changes; /* to be given back */
    table->spare_changes = t->larger[1];
  }
}

/* What a cut had taken of a table's maps goes back where it came from. A chain's maps are of one size: without the cut that
 * was to begin another, they are what they were. The gate is closed. */
static void thaw(ts_cut *cut, uint32_t i, bool kept) {
  ts_table *table = cut->store->tables[i];
  ts_changes *before = &cut->tables[i].changes;
  uint64_t *spare = cut->tables[i].larger[0];
  if (before->words == NULL) return;
  if (spare == NULL) {
    if (!kept && !TS_BUG("a failed checkpoint forgets its changes")) ts_changes_add(&table->changes, before);
    memset(before->words, 0, ts_changes_words(before->log2) * sizeof *before->words);
    table->spare_changes = before->words;
  } else if (kept) {
    ts_tracking_give_back(cut->store, before->words, before->log2);
    ts_tracking_give_back(cut->store, spare, before->log2);
  } else {
    ts_changes_add(before, &table->changes);
    ts_tracking_end(table);
    table->changes = *before;
    table->spare_changes = spare;
  }
}

/* in_place: the number of a restore point; 0: none. */
static int32_t begin(ts_store *store, bool delta, uint64_t in_place, ts_cut_sink *sink, void *context, ts_cut **out, ts_err err) {
  int32_t status = TS_OK;
  *out = NULL;
  pthread_mutex_lock(&store->cutting);
  pthread_mutex_lock(&store->tables_lock);
  if (store->cut != NULL)
    status = ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint: the one before is still open; write it, then close it");
  else if (delta && !store->track_changes)
    status = ts_fail(err, TS_EINVAL, "Cannot begin a delta: the store does not keep what changes; open it with track_changes=1");
  ts_cut *cut = status == TS_OK ? allocate(store, err) : NULL;
  if (status == TS_OK && cut == NULL) status = TS_EFULL;
  if (cut != NULL) {
    cut->store = store;
    cut->sink = sink;
    cut->context = context;
    cut->delta = delta;
    cut->in_place = in_place;
    for (uint32_t i = 0; !delta && in_place == 0 && i < cut->table_count; i++) {
      ts_cut_table *t = &cut->tables[i];
      if (!ts_tracking_grow(store->tables[i], ts_cut_rows_of(store->tables[i]), t->larger, &t->larger_log2)) t->larger[0] = NULL;
    }
    TS_SYNC("cut:begin:wait");
    ts_gate_close(&store->gate);
    TS_SYNC("cut:begin:alone");
    cut->step = ts_step(store);
    cut->stepped = atomic_load(&store->stepped);
    if (in_place != 0) {
      ts_evictors_settle(store->evictors); /* rows that move down are on one side of it or the other */
      status = ts_kept_begin(cut, err);
    }
    for (uint32_t i = 0; status == TS_OK && i < cut->table_count; i++) freeze(cut, i);
    if (status == TS_OK) *out = store->cut = cut;
    ts_gate_open(&store->gate);
    if (status != TS_OK) release(cut);
  }
  pthread_mutex_unlock(&store->tables_lock);
  pthread_mutex_unlock(&store->cutting);
  return status;
}

int32_t ts_cut_begin(ts_store *store, bool delta, ts_cut_sink *sink, void *context, ts_cut **out, ts_err err) {
  return begin(store, delta, 0, sink, context, out, err);
}

int32_t ts_cut_begin_in_place(ts_store *store, uint64_t number, ts_cut_sink *sink, void *context, ts_cut **out, ts_err err) {
  return begin(store, false, number, sink, context, out, err);
}

void ts_cut_detach(ts_cut *cut) {
  ts_store *store = cut->store;
  if (cut->detached) return;
  cut->detached = true;
  TS_SYNC("cut:detach:wait");
  ts_gate_close(&store->gate);
  if (cut->in_place != 0) ts_evictors_settle(store->evictors); /* they ask for it, too */
  for (uint32_t i = 0; i < cut->table_count; i++) store->tables[i]->cut = NULL;
  ts_gate_open(&store->gate);
}

void ts_cut_end(ts_cut *cut, bool kept) {
  if (cut == NULL) return;
  ts_store *store = cut->store;
  pthread_mutex_lock(&store->cutting);
  ts_cut_detach(cut);
  unmark(cut);
  ts_gate_close(&store->gate);
  if (cut->in_place != 0 && !kept) ts_kept_give_up(cut);
  for (uint32_t i = 0; i < cut->table_count; i++) thaw(cut, i, kept);
  store->cut = NULL;
  ts_gate_open(&store->gate);
  release(cut);
  pthread_mutex_unlock(&store->cutting);
}

ts_cut_state ts_cut_state_of(const ts_cut *cut) {
  return (ts_cut_state){.step = cut->step, .stepped = cut->stepped, .tables = cut->table_count};
}

ts_cut_table_state ts_cut_table_state_of(const ts_cut *cut, uint32_t table) {
  const ts_cut_table *t = &cut->tables[table];
  return (ts_cut_table_state){.name = cut->store->tables[table]->name,
                              .options = cut->store->tables[table]->options,
                              .layout = &cut->store->tables[table]->layout,
                              .updates = t->updates,
                              .rows = ts_cut_rows_of(cut->store->tables[table]),
                              .changes_log2 = t->larger[0] != NULL ? t->larger_log2 : t->changes.log2,
                              .learning_rate = t->learning_rate};
}
