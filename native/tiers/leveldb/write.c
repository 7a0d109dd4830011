/* write.c - puts, removals and flushes: batches of LevelDB's, under one lock a table, which keeps the number of rows
 * exact and the charges ahead of the bytes. */
#include "tiers/leveldb/database.h"

#include <string.h>

/* Writes the memtable out and waits. The range holds no key, so no table is compacted. */
static void write_out(ts_records *r) {
  r->api.compact_range(r->db, TS_LEVELDB_MARK_KEY, 1, TS_LEVELDB_MARK_KEY, 1);
}

/* Measures; and begins a new manifest if LevelDB's has outgrown what is kept for it. */
static int32_t measure(ts_records *r, ts_err err) {
  ts_leveldb_measure(&r->space);
  return ts_leveldb_outgrown(&r->space) ? ts_leveldb_open_again(r, err) : TS_OK;
}

/* lock held. A database that could not be opened again is closed. */
static int32_t is_open(ts_records *r, ts_err err) { return r->db != NULL ? TS_OK : ts_leveldb_open_again(r, err); }

/* Room for `bytes` more, under the lock, of which `fresh` rows are new: first as things stand, then measured, written out,
 * compacted. */
static int32_t make_room(ts_records *r, uint64_t fresh, uint64_t bytes, ts_err err) {
  uint64_t rows = atomic_load(&r->rows) + fresh;
  bool dram = false;
  int32_t status = r->space.since >= r->options.write_buffer_bytes ? measure(r, err) : TS_OK;
  if (status != TS_OK || ts_leveldb_charge(&r->space, rows, bytes, &dram)) return status;
  status = measure(r, err);
  if (status != TS_OK || ts_leveldb_charge(&r->space, rows, bytes, &dram)) return status;
  write_out(r);
  status = measure(r, err);
  if (status != TS_OK || ts_leveldb_charge(&r->space, rows, bytes, &dram)) return status;
  /* Worth it when what is gone fills a sixteenth of the files, or would be room enough; and for rows that are there, which
   * have been charged for then. */
  uint64_t gone = r->gone * r->space.record_bytes;
  if (fresh == 0 || (r->gone > 0 && (gone >= r->space.measured / 16 || gone >= bytes))) {
    r->api.compact_range(r->db, NULL, 0, NULL, 0);
    r->compactions++;
    r->gone = 0;
    status = measure(r, err);
    if (status != TS_OK || ts_leveldb_charge(&r->space, rows, bytes, &dram)) return status;
  }
  if (fresh == 0) { /* what reads had still used stays on the medium until another compaction, or this */
    status = ts_leveldb_open_again(r, err);
    if (status != TS_OK || ts_leveldb_charge(&r->space, rows, bytes, &dram)) return status;
  }
  const ts_budget *full = dram ? r->space.dram : r->space.budget;
  return ts_fail(err, TS_EFULL,
                 "Cannot put %llu bytes into the LevelDB database \"%s\": %llu of %llu bytes of the %s are used, and "
                 "with room for compactions it would take %llu instead of %llu; choose a larger size",
                 (unsigned long long)bytes, r->folder, (unsigned long long)atomic_load(&full->used),
                 (unsigned long long)full->limit, dram ? "first tier (for index and filters)" : "SSD tier",
                 (unsigned long long)ts_leveldb_need(&r->space, rows, bytes), (unsigned long long)r->space.charged);
}

static inline uint8_t what_is_known(const uint8_t *known, uint32_t at) {
  return known == NULL ? TS_RECORD_UNKNOWN : known[at];
}

/* Whether the key has a record; read only if the caller does not know. */
static int32_t exists(ts_records *r, int64_t key, uint8_t known, bool *yes, ts_err err) {
  char *value;
  *yes = known == TS_RECORD_THERE;
  if (known != TS_RECORD_UNKNOWN) return TS_OK;
  int32_t status = ts_leveldb_fetch(r, key, &value, err);
  *yes = value != NULL;
  if (value != NULL) r->api.free(value);
  return status;
}

/* Writes the batch; `bytes` is what it takes in the log. */
static int32_t write_batch(ts_records *r, uint64_t bytes, ts_err err) {
  char *words = NULL;
  r->api.write(r->db, r->write, r->batch, &words);
  r->api.writebatch_clear(r->batch);
  r->space.since += bytes; /* also after a failure: some of it may be there */
  r->logged += bytes;
  atomic_fetch_add_explicit(&r->writes, 1, memory_order_relaxed);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "write", words);
}

/* One batch of puts, `n` at most TS_LEVELDB_PIECE. */
static int32_t put_piece(ts_records *r, uint32_t first, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  ts_leveldb_key sorted[TS_LEVELDB_PIECE];
  ts_leveldb_sort(sorted, keys, first, n);
  uint64_t fresh = 0, replaced = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    if (i > 0 && sorted[i].key == sorted[i - 1].key) {
      replaced++;
      continue;
    }
    bool there = false;
    status = exists(r, sorted[i].key, what_is_known(known, sorted[i].at), &there, err);
    if (status != TS_OK) break;
    if (there) {
      replaced++;
    } else if (ts_budget_take_row(r->space.budget, r->row_bytes)) {
      fresh++;
    } else {
      status = ts_fail(err, TS_EFULL,
                       "Cannot put rows of %u bytes into the LevelDB database \"%s\": the SSD tier is full with %llu "
                       "of %llu bytes used; choose a larger size",
                       r->row_bytes, r->folder, (unsigned long long)atomic_load(&r->space.budget->used),
                       (unsigned long long)r->space.budget->limit);
    }
  }
  if (status == TS_OK) status = make_room(r, fresh, n * r->space.record_bytes, err);
  r->api.writebatch_clear(r->batch);
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    uint32_t at = sorted[i].at;
    char encoded[TS_LEVELDB_KEY_BYTES];
    ts_leveldb_put_ordered(encoded, ts_leveldb_ordered(keys[at]));
    ts_leveldb_put_u64(r->value, versions == NULL ? 0 : versions[at]);
    memcpy(r->value + TS_LEVELDB_VERSION_BYTES, rows[at], r->row_bytes);
    r->api.writebatch_put(r->batch, encoded, TS_LEVELDB_KEY_BYTES, (const char *)r->value,
                          TS_LEVELDB_VERSION_BYTES + (size_t)r->row_bytes);
  }
  if (status == TS_OK) status = write_batch(r, n * r->space.record_bytes, err);
  if (status != TS_OK) {
    for (uint64_t i = 0; i < fresh; i++) ts_budget_give_back_row(r->space.budget, r->row_bytes);
    return status;
  }
  atomic_fetch_add(&r->rows, fresh);
  atomic_fetch_add_explicit(&r->payload_written, (uint64_t)n * r->row_bytes, memory_order_relaxed);
  r->gone += replaced;
  return TS_OK;
}

int32_t ts_leveldb_put(ts_records *r, uint32_t n, const int64_t *keys, const uint64_t *versions,
                       const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  uint64_t piece = ts_leveldb_within(ts_leveldb_batch_bytes(r) / r->space.record_bytes, 1, TS_LEVELDB_PIECE);
  pthread_mutex_lock(&r->lock);
  int32_t status = is_open(r, err);
  for (uint32_t first = 0; first < n && status == TS_OK; first += (uint32_t)piece) {
    uint32_t count = (uint32_t)TS_MIN(piece, n - first);
    status = put_piece(r, first, count, keys, versions, rows, known, err);
  }
  pthread_mutex_unlock(&r->lock);
  ts_leveldb_look_for_tables(r);
  return status;
}

int32_t ts_leveldb_remove(ts_records *r, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err) {
  pthread_mutex_lock(&r->lock);
  int32_t status = is_open(r, err);
  for (uint32_t first = 0; first < n && status == TS_OK; first += TS_LEVELDB_PIECE) {
    ts_leveldb_key sorted[TS_LEVELDB_PIECE];
    uint32_t count = TS_MIN(TS_LEVELDB_PIECE, n - first);
    ts_leveldb_sort(sorted, keys, first, count);
    uint64_t found = 0;
    r->api.writebatch_clear(r->batch);
    for (uint32_t i = 0; i < count && status == TS_OK; i++) {
      bool there = false;
      if (i > 0 && sorted[i].key == sorted[i - 1].key) continue;
      status = exists(r, sorted[i].key, what_is_known(known, sorted[i].at), &there, err);
      if (status != TS_OK || !there) continue;
      char encoded[TS_LEVELDB_KEY_BYTES];
      ts_leveldb_put_ordered(encoded, ts_leveldb_ordered(sorted[i].key));
      r->api.writebatch_delete(r->batch, encoded, TS_LEVELDB_KEY_BYTES);
      found++;
    }
    if (status != TS_OK || found == 0) continue;
    status = write_batch(r, found * (TS_LEVELDB_KEY_BYTES + 24), err);
    if (status != TS_OK) continue;
    atomic_fetch_sub(&r->rows, found);
    r->gone += found;
    for (uint64_t i = 0; i < found; i++) ts_budget_give_back_row(r->space.budget, r->row_bytes);
  }
  /* Its bytes were charged with the rows; this gives back what has become free. */
  bool dram;
  /* Should that fail, the next write tells. */
  if (status == TS_OK && r->space.since >= r->options.write_buffer_bytes) (void)measure(r, (ts_err){0});
  (void)ts_leveldb_charge(&r->space, atomic_load(&r->rows), 0, &dram);
  pthread_mutex_unlock(&r->lock);
  ts_leveldb_look_for_tables(r);
  return status;
}

int32_t ts_leveldb_flush(ts_records *r, ts_err err) {
  char *words = NULL;
  bool dram;
  pthread_mutex_lock(&r->lock);
  int32_t status = is_open(r, err);
  if (status == TS_OK) {
    write_out(r); /* syncs the table; tells of no error, the next write does */
    r->api.writebatch_clear(r->batch);
    r->api.write(r->db, r->write_sync, r->batch, &words);
    status = words == NULL ? measure(r, err) : ts_leveldb_failed(r, err, "flush", words);
    (void)ts_leveldb_charge(&r->space, atomic_load(&r->rows), 0, &dram);
  }
  pthread_mutex_unlock(&r->lock);
  return status;
}
