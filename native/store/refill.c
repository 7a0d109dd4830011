/* refill.c - a cut brought back into a store whose tables have no rows: see store.h.
 *
 * Rows come in as misses do (bring.c), with the bytes that they had in place of first values: so they find their places in
 * whatever tiers there are, and limits hold. The walk met rows of the first tier first; of these none leaves it for another
 * row of the walk, so they are there again.
 *
 * Whoever calls has put the links of a chain together: a key that comes has not come in a later link. */
#include "store/store.h"

#include "base/sync_point.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE 1024u /* a block of the writer's has fewer: its rows are found and placed together */
#define WARMED_LEAST (UINT64_C(16) << 20) /* bytes of rows that are worth a thread */

/* Pages of the rows that are to come, had ready by a thread: clearing them is a third of what it takes to bring a row in. */
typedef struct warming {
  pthread_t thread;
  bool runs;
  _Atomic bool stop;
  ts_tier *tier;
  uint64_t bytes;
} warming;

struct ts_refill {
  ts_store *store;
  warming warming;
  uint32_t tables; /* before */
  bool over;       /* rows of a restore point are there */
  bool stepped;
  int64_t step; /* these two: before */
};

/* ---- whether there is anything ---- */

static bool filter_is_empty(const ts_bloom *bloom) {
  for (uint64_t i = 0; i < ts_bloom_counters(bloom); i++)
    if (ts_bloom_counter(bloom, i) != 0) return false;
  return true;
}

static bool table_is_empty(ts_table *table) {
  for (uint32_t s = 0; s < table->shard_count; s++) {
    pthread_mutex_lock(&table->shards[s].lock);
    const uint64_t entries = ts_index_live(&table->shards[s].index);
    pthread_mutex_unlock(&table->shards[s].lock);
    if (entries > 0) return false;
  }
  if (table->records != NULL) {
    ts_records_counts counts;
    ts_records_tier(table->store)->records->count(table->records, &counts);
    if (counts.rows > 0) return false;
  }
  return table->admission.bloom == NULL || filter_is_empty(table->admission.bloom);
}

/* ---- pages ahead of rows ---- */

static void *warm(void *argument) {
  warming *w = argument;
  w->tier->ops->warm(w->tier, w->bytes, &w->stop);
  return NULL;
}

static void stop_warming(warming *w) {
  if (!w->runs) return;
  atomic_store(&w->stop, true);
  pthread_join(w->thread, NULL);
  w->tier->ops->cool(w->tier);
  w->runs = false;
}

void ts_refill_warm(ts_refill *r) {
  warming *w = &r->warming;
  if (w->runs || w->bytes < WARMED_LEAST) return;
  ts_budget *budget = &r->store->tiers[0].budget;
  const uint64_t taken = ts_budget_taken(budget);
  w->tier = &r->store->tiers[0].tier;
  w->bytes = TS_MIN(w->bytes, budget->limit - TS_MIN(taken, budget->limit));
  if (w->tier->ops->warm == NULL) return;
  w->runs = pthread_create(&w->thread, NULL, warm, w) == 0;
}

/* ---- beginning and end ---- */

int32_t ts_refill_begin(ts_store *store, ts_refill **out, ts_err err) {
  *out = NULL;
  pthread_mutex_lock(&store->cutting);
  ts_gate_close(&store->gate);
  const uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  int32_t status = TS_OK;
  if (store->cut != NULL) status = ts_fail(err, TS_EINVAL, "Cannot restore a store: a checkpoint of it is open; close that first");
  for (uint32_t i = 0; status == TS_OK && i < n; i++)
    if (!table_is_empty(store->tables[i]))
      status = ts_fail(err, TS_EINVAL, "Cannot restore a store: table \"%s\" has rows, or keys that wait for one; restore into "
                       "a store that has just been opened", store->tables[i]->name);
  ts_refill *r = status == TS_OK ? calloc(1, sizeof *r) : NULL;
  if (status == TS_OK && r == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot restore a store: out of memory");
  if (status != TS_OK) {
    ts_gate_open(&store->gate);
    pthread_mutex_unlock(&store->cutting);
    return status;
  }
  r->store = store;
  r->tables = n;
  r->step = ts_step(store);
  r->stepped = atomic_load(&store->stepped);
  *out = r;
  return TS_OK;
}

/* A table as it was created. An error of the medium leaves records that nobody can read: told by whoever meets them. */
static void empty(ts_table *table) {
  ts_store *store = table->store;
  int64_t keys[TS_FAST_BLOCK];
  uint64_t n = 0, gone;
  for (uint32_t s = 0; s < table->shard_count; s++)
    do {
      ts_index_cursor cursor = {0};
      ts_location l;
      n = 0;
      pthread_mutex_lock(&table->shards[s].lock);
      while (n < TS_FAST_BLOCK && ts_index_next(&table->shards[s].index, &cursor, &keys[n], &l)) n++;
      pthread_mutex_unlock(&table->shards[s].lock);
    } while (n > 0 && ts_remove_rows(table, keys, n, NULL, &gone, (ts_err){NULL, 0}) == TS_OK);
  for (uint32_t got = 1; table->records != NULL && got > 0;) {
    uint64_t cursor = 0;
    if (ts_records_tier(store)->records->walk(table->records, &cursor, TS_FAST_BLOCK, keys, NULL, NULL, &got,
                                              (ts_err){NULL, 0}) != TS_OK ||
        ts_remove_rows(table, keys, got, NULL, &gone, (ts_err){NULL, 0}) != TS_OK)
      break;
  }
  if (table->admission.bloom != NULL) ts_bloom_clear(table->admission.bloom);
}

void ts_refill_end(ts_refill *r, bool kept) {
  if (r == NULL) return;
  ts_store *store = r->store;
  stop_warming(&r->warming);
  const uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  if (!kept) ts_refill_state(r, r->step, r->stepped);
  if (!kept) atomic_store(&store->table_count, r->tables);
  for (uint32_t i = r->tables; !kept && i < n; i++) {
    ts_table_destroy(store->tables[i]);
    store->tables[i] = NULL;
  }
  for (uint32_t i = 0; i < (kept ? n : r->tables); i++) {
    ts_table *table = store->tables[i];
    if (!kept) empty(table);
    /* What has come in is what changes are counted from. */
    if (table->changes.words != NULL) memset(table->changes.words, 0, ts_changes_words(table->changes.log2) * 8);
  }
  ts_gate_open(&store->gate);
  pthread_mutex_unlock(&store->cutting);
  free(r);
}

/* A key that waits is said over what there was of it in two steps, and may have been met as a row before: one thread's work. */
bool ts_refill_any_order(const ts_refill *r) {
  const ts_store *store = r->store;
  const uint32_t tables = atomic_load_explicit(&store->table_count, memory_order_acquire);
  if (store->memory_tiers != 1 || store->tier_count != 1 || r->over || ts_is_on_device(store)) return false;
  for (uint32_t i = 0; i < tables; i++)
    if (store->tables[i]->admission.kind != TS_ADMIT_ALL) return false;
  return true;
}

void ts_refill_over(ts_refill *r) { r->over = true; }

void ts_refill_state(ts_refill *r, int64_t step, bool stepped) {
  atomic_store(&r->store->step, step);
  atomic_store(&r->store->stepped, stepped);
}

void ts_refill_expect(ts_refill *r, uint32_t number, uint64_t rows) {
  ts_table *table = r->store->tables[number];
  if (table->records != NULL) return; /* which rows stay in memory is not known */
  for (uint32_t s = 0; s < table->shard_count; s++) {
    pthread_mutex_lock(&table->shards[s].lock);
    ts_index_expect(&table->shards[s].index, rows / table->shard_count);
    pthread_mutex_unlock(&table->shards[s].lock);
  }
  r->warming.bytes += rows * table->layout.stride;
}

void ts_refill_table_state(ts_refill *r, uint32_t table, uint64_t updates, float learning_rate) {
  atomic_store(&r->store->tables[table]->optimizer.steps, updates);
  atomic_store(&r->store->tables[table]->optimizer.learning_rate, learning_rate);
}

/* ---- parts ---- */

static int32_t damaged(const ts_refill *r, uint32_t table, const char *what, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot restore table \"%s\": a block of %s is not as long as its entries", r->store->tables[table]->name,
                 what);
}

/* Rows of the keys in the work; images by number. */
static int32_t put_rows(ts_table *table, ts_work *w, const unsigned char *const *images, bool fill, ts_err err) {
  if (w->count == 0) return TS_OK;
  const ts_bring bring = {.table = table, .work = w, .images = images, .fill = fill};
  memset(w->times, 0, w->count * sizeof *w->times);
  for (uint32_t d = 0; d < w->count; d++) w->times[d] = 1;
  return ts_bring_all(&bring, err);
}

static bool has_row(ts_table *table, int64_t key) {
  ts_shard *shard = ts_shard_of(table, ts_index_hash(key));
  pthread_mutex_lock(&shard->lock);
  const bool above = TS_LOCATION_TIER(ts_index_find_one(&shard->index, key)) < TS_NOT_ADMITTED;
  pthread_mutex_unlock(&shard->lock);
  return above || (table->records != NULL && ts_records_has(table, key));
}

/* Says of a key that it waits, over what there was of it. */
static int32_t put_waiting(const ts_refill *r, ts_table *table, int64_t key, uint64_t count, int64_t step, ts_err err) {
  const uint64_t hash = ts_index_hash(key);
  ts_shard *shard = ts_shard_of(table, hash);
  const ts_location to = TS_LOCATION(TS_NOT_ADMITTED, ts_waiting_word(&table->admission, count, step));
  uint64_t gone, wanted = 0;
  if (r->over && has_row(table, key)) return TS_OK;
  int32_t status = ts_remove_rows(table, &key, 1, NULL, &gone, err);
  while (status == TS_OK) {
    pthread_mutex_lock(&shard->lock);
    ts_index_clear_reservations(&shard->index);
    status = ts_index_reserve(&shard->index, &hash, 1, &wanted);
    if (status == TS_OK) ts_index_insert(&shard->index, key, hash, to);
    pthread_mutex_unlock(&shard->lock);
    if (status == TS_OK) break;
    if (status == TS_ENOMEM) return ts_fail(err, status, "Cannot restore table \"%s\": out of memory", table->name);
    status = ts_room_free(shard, wanted, err);
  }
  return status;
}

/* Working memory for as many of `n` rows as there is room for, and where their images are. */
static ts_work *take_work(ts_table *table, uint32_t n, const unsigned char *images[ROWS_AT_ONCE], uint32_t *most) {
  ts_work *w = ts_work_acquire(table, TS_MIN(n, ROWS_AT_ONCE), TS_WORK_LOOKUP);
  memset(images, 0, ROWS_AT_ONCE * sizeof *images);
  *most = TS_MIN(TS_MIN(w->capacity, w->staging_capacity), ROWS_AT_ONCE);
  return w;
}

static int32_t refill_rows(ts_refill *r, uint32_t number, uint32_t count, const unsigned char *bytes, ts_err err) {
  ts_table *table = r->store->tables[number];
  const uint64_t entry = sizeof(int64_t) + table->layout.stride;
  int32_t status = TS_OK;
  for (uint32_t at = 0; status == TS_OK && at < count;) {
    const unsigned char *images[ROWS_AT_ONCE];
    uint32_t most;
    ts_work *w = take_work(table, count - at, images, &most);
    ts_work_clear(w);
    for (; at < count && w->count < most; at++) {
      int64_t key;
      memcpy(&key, bytes + at * entry, sizeof key);
      images[ts_work_add(w, key, ts_index_hash(key))] = bytes + at * entry + sizeof key;
    }
    status = put_rows(table, w, images, true, err);
    ts_work_release(r->store, w);
  }
  return status;
}

/* One entry after the other from the last to the first, as many at a time as are staged; of a key's entries among these the first
 * counts. */
static int32_t refill_before(ts_refill *r, uint32_t number, uint32_t count, const unsigned char *bytes, ts_err err) {
  ts_table *table = r->store->tables[number];
  const uint64_t entry = sizeof(ts_cut_before) + table->layout.stride;
  int32_t status = TS_OK;
  for (uint32_t end = count; status == TS_OK && end > 0;) {
    const unsigned char *images[ROWS_AT_ONCE];
    ts_cut_before others[ROWS_AT_ONCE];
    uint32_t most, n = 0;
    ts_work *w = take_work(table, end, images, &most);
    const uint32_t first = end - TS_MIN(end, most);
    /* All keys, so that each counts once; then those with a row to the front. */
    ts_work_clear(w);
    for (uint32_t at = first; at < end; at++) {
      ts_cut_before head;
      memcpy(&head, bytes + at * entry, sizeof head);
      const uint32_t before = w->count;
      if (ts_work_add(w, head.key, ts_index_hash(head.key)) != before) continue;
      images[before] = head.what == TS_CUT_ROW ? bytes + at * entry + sizeof head : NULL;
      if (head.what != TS_CUT_ROW) others[n++] = head;
    }
    uint32_t rows = 0;
    for (uint32_t d = 0; d < w->count; d++) {
      if (images[d] == NULL) continue;
      w->keys[rows] = w->keys[d];
      w->hashes[rows] = w->hashes[d];
      images[rows++] = images[d];
    }
    w->count = rows;
    ts_work_renumber(w);
    /* What changed while the cut was written is what training needs next: others leave the first tier for it. */
    status = put_rows(table, w, images, false, err);
    ts_work_release(r->store, w);
    for (uint32_t i = 0; status == TS_OK && i < n; i++) {
      uint64_t gone;
      if (others[i].what == TS_CUT_ABSENT && r->over && has_row(table, others[i].key)) continue;
      status = others[i].what == TS_CUT_WAITS ? put_waiting(r, table, others[i].key, others[i].waiting, others[i].step, err)
                                              : ts_remove_rows(table, &others[i].key, 1, NULL, &gone, err);
    }
    end = first;
  }
  return status;
}

static int32_t refill_waiting(ts_refill *r, uint32_t number, uint32_t count, const unsigned char *bytes, ts_err err) {
  ts_table *table = r->store->tables[number];
  int32_t status = TS_OK;
  if (table->admission.kind != TS_ADMIT_COUNTED) return damaged(r, number, "waiting keys", err);
  for (uint32_t i = 0; status == TS_OK && i < count; i++) {
    ts_cut_waiting entry;
    memcpy(&entry, bytes + i * sizeof entry, sizeof entry);
    status = put_waiting(r, table, entry.key, entry.count, entry.step, err);
  }
  return status;
}

static int32_t refill_filter(ts_refill *r, uint32_t number, uint32_t count, const unsigned char *bytes, ts_err err) {
  ts_bloom *bloom = r->store->tables[number]->admission.bloom;
  ts_cut_place place;
  memcpy(&place, bytes, sizeof place);
  const uint64_t all = bloom == NULL ? 0 : ts_bloom_counter_bytes(bloom);
  if (place.first_word >= (all + 7) / 8 || count > (all + 7) / 8 - place.first_word) return damaged(r, number, "a filter", err);
  ts_bloom_load(bloom, place.first_word * 8, TS_MIN((uint64_t)count * 8, all - place.first_word * 8), bytes + sizeof place);
  return TS_OK;
}

int32_t ts_refill_part(ts_refill *r, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n,
                       ts_err err) {
  static const char *const names[] = {"rows", "rows before the cut", "waiting keys", "a filter"};
  const uint32_t tables = atomic_load_explicit(&r->store->table_count, memory_order_acquire);
  if (table >= tables || part > TS_CUT_FILTER)
    return ts_fail(err, TS_EFORMAT, "Cannot restore a store: a block of part %u is of table %u of %u", (unsigned)part, table, tables);
  const uint64_t stride = r->store->tables[table]->layout.stride, place = sizeof(ts_cut_place) + (uint64_t)count * 8;
  const uint64_t want[] = {count * (sizeof(int64_t) + stride), count * (sizeof(ts_cut_before) + stride),
                           count * sizeof(ts_cut_waiting), place};
  if (n != want[part]) return damaged(r, table, names[part], err);
  TS_SYNC("refill:part");
  switch (part) {
    case TS_CUT_ROWS: return refill_rows(r, table, count, bytes, err);
    case TS_CUT_BEFORE: return refill_before(r, table, count, bytes, err);
    case TS_CUT_WAITING: return refill_waiting(r, table, count, bytes, err);
    default: return refill_filter(r, table, count, bytes, err);
  }
}
