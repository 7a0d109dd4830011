/* put.c - what changes and reads records. */
#include "base/seeded_bug.h"
#include "tiers/pmem/table.h"

#include <string.h>

/* ---- changes; lock held ---- */

/* What a record leaves when one takes its place, or none does, from an epoch on. */
static void end_record(ts_pm_table *t, uint64_t place, uint32_t epoch) {
  const ts_pm_head *head = ts_pm_at(t, place);
  const int32_t cut = ts_pm_retaining(t, head->from, epoch);
  if (!TS_BUG("pmem: what is replaced is not ended")) ts_pm_end(t, place, epoch);
  if (cut >= 0 && !TS_BUG("pmem: nothing is retained")) {
    ts_pm_push(t, &t->cuts[cut].retained, place);
    t->retained++;
  } else {
    ts_pm_push(t, &t->free, place);
  }
}

/* Of the running digests: of now, and of the checkpoint that is incomplete where it belongs to that. */
static void count(ts_pm_table *t, const ts_pm_head *head, bool as_of, bool added) {
  const uint64_t digest = added ? ts_pm_digest(head) : -ts_pm_digest(head);
  t->digest += digest;
  if (!as_of) return;
  ts_pm_cut *cut = &t->cuts[t->cut_count - 1].cut;
  cut->digest += digest;
  cut->rows += added ? 1 : UINT64_MAX;
}

static int32_t put_one(ts_pm_table *t, int64_t key, uint64_t hash, uint64_t version, const unsigned char *row, bool as_of,
                       ts_err err) {
  const uint32_t epoch = as_of ? t->cuts[t->cut_count - 1].cut.epoch : t->epoch;
  const ts_location old = ts_index_find_one(&t->index, key);
  ts_pm_head before;
  if (old != TS_LOCATION_NONE) before = *ts_pm_at(t, old);
  /* What is replaced leaves its place, unless a checkpoint retains it. */
  const bool stays = old == TS_LOCATION_NONE || ts_pm_retaining(t, before.from, epoch) >= 0;
  int32_t status = ts_pm_reserve(t, stays ? 2 : 1, "put a row of", err);
  if (status != TS_OK) return status;
  if (old == TS_LOCATION_NONE && !ts_budget_take_row(t->budget, t->row_bytes))
    return ts_fail(err, TS_EFULL,
                   "Cannot put a row of %u bytes of table \"%s\" in PMEM: that tier is full, %llu of %llu bytes are used; raise its size",
                   t->row_bytes, t->name, (unsigned long long)atomic_load(&t->budget->used), (unsigned long long)t->budget->limit);
  ts_pm_head head = {.key = key,
                     .version = version,
                     .from = TS_BUG("pmem: rows of a checkpoint are put as later ones") ? t->epoch : epoch,
                     .timeline = t->timeline,
                     .length = t->row_bytes};
  t->rows_paid += old == TS_LOCATION_NONE;
  const uint64_t place = ts_pm_take(t);
  ts_pm_write(t, place, &head, TS_PM_OPEN, row);
  count(t, &head, as_of, true);
  if (old == TS_LOCATION_NONE) {
    ts_index_insert(&t->index, key, hash, place);
  } else {
    ts_index_move(&t->index, key, hash, place);
    count(t, &before, as_of, false);
    end_record(t, old, epoch);
  }
  t->payload_written += t->row_bytes;
  return TS_OK;
}

static int32_t reserve_index(ts_pm_table *t, const uint64_t *hashes, const ts_location *found, uint32_t n, ts_err err) {
  uint64_t absent[TS_PM_BATCH], wanted = 0;
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++)
    if (found[i] == TS_LOCATION_NONE) absent[m++] = hashes[i];
  const int32_t status = m == 0 ? TS_OK : ts_index_reserve(&t->index, absent, m, &wanted);
  if (status == TS_OK) return TS_OK;
  ts_index_clear_reservations(&t->index);
  if (status == TS_EFULL)
    return ts_fail(err, TS_EFULL,
                   "Cannot put rows of table \"%s\" in PMEM: their index needs %llu more bytes of DRAM, the limit refuses them; "
                   "raise the first size",
                   t->name, (unsigned long long)wanted);
  return ts_fail(err, status, "Cannot put rows of table \"%s\" in PMEM: no memory for the index", t->name);
}

static int32_t put_batch(ts_pm_table *t, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, bool as_of, ts_err err) {
  uint64_t hashes[TS_PM_BATCH] = {0};
  ts_location found[TS_PM_BATCH];
  for (uint32_t i = 0; i < n; i++) hashes[i] = ts_index_hash(keys[i]);
  ts_index_find(&t->index, keys, hashes, n, found);
  for (uint32_t i = 0; i < n; i++)
    if (found[i] != TS_LOCATION_NONE) __builtin_prefetch(ts_pm_at(t, found[i]));
  int32_t status = reserve_index(t, hashes, found, n, err);
  if (status != TS_OK) return status;
  for (uint32_t i = 0; i < n && status == TS_OK; i++)
    status = put_one(t, keys[i], hashes[i], versions == NULL ? 0 : versions[i], rows[i], as_of, err);
  ts_index_clear_reservations(&t->index);
  if (!TS_BUG("pmem: rows are not drained")) t->pmem->drain(t->pmem);
  return status;
}

static int32_t put(ts_pm_table *t, uint32_t n, const int64_t *keys, const uint64_t *versions, const unsigned char *const *rows,
                   bool as_of, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t at = 0; at < n && status == TS_OK; at += TS_PM_BATCH) {
    pthread_rwlock_wrlock(&t->lock);
    if (as_of && !ts_pm_is_pending(t))
      status = ts_fail(err, TS_EINVAL, "Cannot put rows of table \"%s\" as of a checkpoint: none has begun and is incomplete", t->name);
    else
      status = put_batch(t, TS_MIN(n - at, TS_PM_BATCH), keys + at, versions == NULL ? NULL : versions + at, rows + at, as_of, err);
    pthread_rwlock_unlock(&t->lock);
  }
  return status;
}

int32_t ts_pm_put(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                  const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  (void)known; /* the index knows */
  return put((ts_pm_table *)records, n, keys, versions, rows, false, err);
}

int32_t ts_pm_put_as_of(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                        const unsigned char *const *rows, ts_err err) {
  return put((ts_pm_table *)records, n, keys, versions, rows, true, err);
}

int32_t ts_pm_remove(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err) {
  (void)known, (void)err;
  ts_pm_table *t = (ts_pm_table *)records;
  for (uint32_t at = 0; at < n; at += TS_PM_BATCH) {
    pthread_rwlock_wrlock(&t->lock);
    for (uint32_t i = at; i < TS_MIN(at + TS_PM_BATCH, n); i++) {
      const ts_location place = ts_index_find_one(&t->index, keys[i]);
      if (place == TS_LOCATION_NONE) continue;
      count(t, ts_pm_at(t, place), false, false);
      ts_index_remove(&t->index, keys[i], ts_index_hash(keys[i]));
      end_record(t, place, t->epoch);
      ts_budget_give_back_row(t->budget, t->row_bytes);
      t->rows_paid--;
    }
    if (ts_index_is_wide(&t->index)) ts_index_shrink(&t->index);
    if (!TS_BUG("pmem: removals are not drained")) t->pmem->drain(t->pmem);
    pthread_rwlock_unlock(&t->lock);
  }
  return TS_OK;
}

/* ---- reading; lock shared ---- */

static int32_t damaged(const ts_pm_table *t, uint64_t place, ts_err err) {
  char path[TS_PM_PATH];
  const int32_t status = ts_pm_path(t, (uint32_t)(place >> TS_PM_SEGMENT_BITS), path, err);
  if (status != TS_OK) return status;
  return ts_fail(err, TS_EFORMAT, "Cannot read a row of table \"%s\": the record at offset %llu of %s is damaged", t->name,
                 (unsigned long long)ts_pm_offset(t, place), path);
}

/* The record's row, if it is the key's and nothing has changed it. */
static int32_t read_place(ts_pm_table *t, int64_t key, uint64_t place, unsigned char *row, uint64_t *version, ts_err err) {
  const ts_pm_head head = *ts_pm_at(t, place);
  const unsigned char *from = (const unsigned char *)(ts_pm_at(t, place) + 1);
  if (row != NULL) {
    memcpy(row, from, t->row_bytes);
    from = row;
  }
  if (head.key != key || head.length != t->row_bytes || ts_pm_sum(t->pool, place, &head, from) != head.sum)
    return damaged(t, place, err);
  if (version != NULL) *version = head.version;
  return TS_OK;
}

static void count_reads(ts_pm_table *t, uint64_t n) {
  atomic_fetch_add_explicit(&t->reads, n, memory_order_relaxed);
  atomic_fetch_add_explicit(&t->bytes_read, n * (sizeof(ts_pm_head) + t->row_bytes), memory_order_relaxed);
}

int32_t ts_pm_get(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found, ts_err err) {
  ts_pm_table *t = (ts_pm_table *)records;
  int32_t status = TS_OK;
  for (uint32_t at = 0; at < n && status == TS_OK; at += TS_PM_BATCH) {
    const uint32_t m = TS_MIN(n - at, TS_PM_BATCH);
    uint64_t hashes[TS_PM_BATCH];
    ts_location places[TS_PM_BATCH];
    uint64_t read = 0;
    for (uint32_t i = 0; i < m; i++) hashes[i] = ts_index_hash(keys[at + i]);
    pthread_rwlock_rdlock(&t->lock);
    ts_index_find(&t->index, keys + at, hashes, m, places);
    for (uint32_t i = 0; i < m; i++)
      if (places[i] != TS_LOCATION_NONE) __builtin_prefetch(ts_pm_at(t, places[i]));
    for (uint32_t i = 0; i < m && status == TS_OK; i++) {
      found[at + i] = places[i] != TS_LOCATION_NONE;
      if (!found[at + i]) continue;
      status = read_place(t, keys[at + i], places[i], rows[at + i], NULL, err);
      read++;
    }
    pthread_rwlock_unlock(&t->lock);
    count_reads(t, read);
  }
  return status;
}

int32_t ts_pm_contains(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err) {
  (void)err;
  ts_pm_table *t = (ts_pm_table *)records;
  pthread_rwlock_rdlock(&t->lock);
  for (uint32_t i = 0; i < n; i++) found[i] = ts_index_find_one(&t->index, keys[i]) != TS_LOCATION_NONE;
  pthread_rwlock_unlock(&t->lock);
  return TS_OK;
}

/* Walks follow the index, so that each key comes once however records move meanwhile; the index's cursor is longer than a
 * word, so the table keeps it. */
int32_t ts_pm_walk_some(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                        unsigned char *const *rows, uint32_t *got, ts_err err) {
  ts_pm_table *t = (ts_pm_table *)records;
  *got = 0;
  if (n == 0) return TS_OK;
  pthread_rwlock_wrlock(&t->lock);
  ts_pm_walk *walk = NULL, *oldest = &t->walks[0];
  for (uint32_t i = 0; i < TS_PM_WALKS; i++) {
    if (t->walks[i].token < oldest->token) oldest = &t->walks[i];
    if (*cursor != 0 && t->walks[i].token == *cursor) walk = &t->walks[i];
  }
  int32_t status = TS_OK;
  if (*cursor == 0) {
    walk = oldest;
    *walk = (ts_pm_walk){.token = ++t->next_walk};
    *cursor = walk->token;
  } else if (walk == NULL) {
    status = ts_fail(err, TS_EINVAL,
                     "Cannot go on with a walk over table \"%s\": its cursor is not of one of the last %u walks; start again with 0",
                     t->name, TS_PM_WALKS);
  }
  ts_location place;
  ts_index_cursor at = {0};
  if (status == TS_OK) at = walk->cursor;
  while (status == TS_OK && *got < n && ts_index_next(&t->index, &at, &keys[*got], &place)) {
    const uint32_t i = *got;
    unsigned char *row = rows == NULL ? NULL : rows[i];
    if (row != NULL || versions != NULL)
      status = read_place(t, keys[i], place, row, versions == NULL ? NULL : &versions[i], err);
    *got += status == TS_OK;
  }
  if (status == TS_OK) *walk = *got == 0 ? (ts_pm_walk){0} : (ts_pm_walk){walk->token, at};
  pthread_rwlock_unlock(&t->lock);
  return status;
}
