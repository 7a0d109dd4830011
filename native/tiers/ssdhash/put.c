/* put.c - what changes records: puts, which append to the log and make room where it has none, removals, flush. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

static uint32_t version_width(uint64_t version) { return version == 0 ? 0 : version <= UINT32_MAX ? 4 : 8; }

/* Which stream a put goes to: hot if the record it replaces was young, that is of a file begun less than four fifths of
 * the table's rows ago. Behind a first tier no record is very young: a row stays there for a while before it can be put
 * again. Measured with updates of 128 byte rows by Zipf 1.05, twice the live bytes as limit and a first tier of a tenth of
 * the rows: 1.65 bytes written a byte put for a tenth of the rows, 1.61 for two fifths, 1.58 for four fifths, 1.59 for
 * one and a half. */
static uint32_t stream_of_put(const ts_ssd_table *t, ts_location old) {
  if (old == TS_LOCATION_NONE) return TS_SSD_COLD;
  const ts_ssd_file *file = ts_ssd_file_of(t, old);
  if (file->stream >= TS_SSD_SURVIVORS) return TS_SSD_COLD;
  return (t->appended - file->born) * 5 < ts_index_live(&t->index) * 4 ? TS_SSD_HOT : TS_SSD_COLD;
}

static int32_t reserve_index(ts_ssd_table *t, const uint64_t *hashes, const ts_location *found, uint32_t n,
                             ts_err err) {
  uint64_t absent[TS_SSD_PUT_BATCH], wanted = 0;
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++)
    if (found[i] == TS_LOCATION_NONE) absent[m++] = hashes[i];
  if (m == 0) return TS_OK;
  pthread_mutex_lock(&t->state);
  int32_t status = ts_index_reserve(&t->index, absent, m, &wanted);
  if (status != TS_OK) ts_index_clear_reservations(&t->index);
  pthread_mutex_unlock(&t->state);
  if (status == TS_EFULL)
    return ts_fail(err, TS_EFULL,
                   "Cannot put rows of table \"%s\" on SSD: their index needs %llu more bytes of DRAM, the limit "
                   "refuses them; raise the first size",
                   t->table, (unsigned long long)wanted);
  if (status != TS_OK)
    return ts_fail(err, status, "Cannot put rows of table \"%s\" on SSD: no memory for the index", t->table);
  return TS_OK;
}

/* The last checkpoint that can have what is replaced by a put now, or as of the last one. */
static int32_t retaining_cut(const ts_ssd_table *t, bool as_of) { return (int32_t)t->cut_count - 1 - as_of; }

/* Adds records until one does not fit; append held. as_of: of the checkpoint that is incomplete. */
static int32_t put_batch(ts_ssd_table *t, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, bool as_of, uint32_t *done, ts_err err) {
  uint64_t hashes[TS_SSD_PUT_BATCH] = {0};
  ts_location found[TS_SSD_PUT_BATCH], locations[TS_SSD_PUT_BATCH] = {0};
  uint32_t width = t->version_bytes;
  *done = 0;
  for (uint32_t i = 0; i < n; i++) {
    hashes[i] = ts_index_hash(keys[i]);
    if (versions != NULL) width = TS_MAX(width, version_width(versions[i]));
  }
  if (width > t->version_bytes) {
    for (uint32_t s = 0; s < TS_SSD_STREAMS; s++) {
      int32_t status = ts_ssd_seal_stream(t, s, err);
      if (status != TS_OK) return status;
    }
    t->version_bytes = width;
  }
  ts_index_find(&t->index, keys, hashes, n, found);
  uint32_t i = 0, fresh = 0;
  /* What a checkpoint retains is not replaced: the new record needs room of its own. */
  const int32_t cut = retaining_cut(t, as_of);
  for (; i < n; i++) fresh += found[i] == TS_LOCATION_NONE || ts_ssd_in_cut(t, found[i], cut);
  int32_t status = ts_ssd_promise(t, fresh, err);
  if (status == TS_OK) status = reserve_index(t, hashes, found, n, err);
  if (status != TS_OK) return status;
  for (i = 0; i < n; i++) {
    /* Where only rows count, each key pays for one. */
    if (found[i] == TS_LOCATION_NONE && !ts_budget_take_row(t->budget, t->row_bytes)) {
      status = ts_fail(err, TS_EFULL,
                       "Cannot put a row of %u bytes of table \"%s\" on SSD: that tier is full, %llu of %llu bytes are "
                       "used; raise its size",
                       t->row_bytes, t->table, (unsigned long long)atomic_load(&t->budget->used),
                       (unsigned long long)t->budget->limit);
      break;
    }
    ts_ssd_record record = {as_of ? t->begun_sequence - 1 : t->sequence, versions != NULL ? versions[i] : 0, keys[i], rows[i]};
    status = ts_ssd_append(t, as_of ? TS_SSD_AS_OF : stream_of_put(t, found[i]), &record, &locations[i], err);
    if (status == TS_EFULL && !as_of) status = ts_ssd_append(t, TS_SSD_COLD, &record, &locations[i], err); /* which has memory */
    if (status != TS_OK) {
      if (found[i] == TS_LOCATION_NONE) ts_budget_give_back_row(t->budget, t->row_bytes);
      break;
    }
    if (!as_of) t->sequence++;
  }
  const uint64_t before = ts_index_live(&t->index);
  ts_ssd_publish(t, i, keys, hashes, locations, cut);
  uint64_t paid = 0;
  for (uint32_t k = 0; k < i; k++) paid += found[k] == TS_LOCATION_NONE;
  for (paid -= ts_index_live(&t->index) - before; paid > 0; paid--) /* a key that the batch repeats */
    ts_budget_give_back_row(t->budget, t->row_bytes);
  pthread_mutex_lock(&t->state);
  ts_index_clear_reservations(&t->index);
  t->payload_written += (uint64_t)i * t->row_bytes;
  pthread_mutex_unlock(&t->state);
  *done = i;
  return status;
}

static bool is_pending(const ts_ssd_table *t) { return t->cut_count > 0 && !t->cuts[t->cut_count - 1].complete; }

static int32_t put(ts_ssd_table *t, uint32_t n, const int64_t *keys, const uint64_t *versions,
                   const unsigned char *const *rows, bool as_of, ts_err err) {
  for (uint32_t at = 0; at < n;) {
    uint32_t done, m = TS_MIN(n - at, TS_SSD_PUT_BATCH);
    pthread_mutex_lock(&t->append);
    done = 0;
    int32_t status =
        as_of && !is_pending(t)
            ? ts_fail(err, TS_EINVAL, "Cannot put rows of table \"%s\" as of a checkpoint: none has begun and is incomplete",
                      t->table)
            : put_batch(t, m, keys + at, versions == NULL ? NULL : versions + at, rows + at, as_of, &done, err);
    const bool hopeless = t->hopeless;
    if (status == TS_SSD_NO_ROOM && ts_ssd_reap(t) > 0) status = TS_OK;
    pthread_mutex_unlock(&t->append);
    at += done;
    TS_SYNC("ssd:put:unlocked");
    if (status == TS_SSD_NO_ROOM) status = ts_ssd_make_room(t, hopeless, err);
    if (status != TS_OK) return status;
  }
  ts_ssd_tidy(t);
  return TS_OK;
}

int32_t ts_ssd_put(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                   const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  (void)known; /* the index knows */
  return put((ts_ssd_table *)records, n, keys, versions, rows, false, err);
}

int32_t ts_ssd_put_as_of(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, ts_err err) {
  return put((ts_ssd_table *)records, n, keys, versions, rows, true, err);
}

int32_t ts_ssd_remove(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err) {
  (void)known;
  (void)err;
  ts_ssd_table *t = (ts_ssd_table *)records;
  pthread_mutex_lock(&t->append);
  pthread_mutex_lock(&t->state);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash = ts_index_hash(keys[i]);
    ts_location location;
    ts_index_find(&t->index, &keys[i], &hash, 1, &location);
    if (location == TS_LOCATION_NONE) continue;
    ts_index_remove(&t->index, keys[i], hash);
    ts_budget_give_back_row(t->budget, t->row_bytes);
    const int32_t cut = retaining_cut(t, false);
    if (ts_ssd_in_cut(t, location, cut))
      ts_ssd_retain(t, ts_ssd_file_of(t, location), ts_ssd_record_of(t, location), (uint32_t)cut);
    ts_ssd_file_lose(t, ts_ssd_file_of(t, location));
    t->removed = true;
  }
  ts_ssd_release(t);
  if (ts_index_is_wide(&t->index)) ts_index_shrink(&t->index);
  pthread_mutex_unlock(&t->state);
  ts_ssd_reap(t);
  pthread_mutex_unlock(&t->append);
  ts_ssd_tidy(t);
  return TS_OK;
}

int32_t ts_ssd_flush(ts_records *records, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  pthread_mutex_lock(&t->append);
  pthread_mutex_lock(&t->state);
  if (ts_index_is_wide(&t->index)) ts_index_shrink(&t->index); /* a removal had no memory for it */
  pthread_mutex_unlock(&t->state);
  int32_t status = ts_ssd_write_out(t, err);
  if (status == TS_OK && t->removed && !t->temporary && !t->durable) status = ts_ssd_write_map(t, err);
  ts_ssd_reap(t);
  pthread_mutex_unlock(&t->append);
  return status;
}
