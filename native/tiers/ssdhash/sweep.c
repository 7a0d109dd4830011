/* sweep.c - all live records in the order in which they lie in the files, a megabyte a read.
 *
 * Two passes. When a sweep begins it takes down how many records each file has on the medium: its extents. The first pass reads
 * them from front to back and gives the records that the index still means. The second walks the index and gives the keys whose
 * records lie outside of all extents: in memory, or put or moved since. Nothing is missed: a record never comes to lie at a
 * place that was there before it, so what lies in an extent at the second pass lay and lived there at the first.
 *
 * A place that cannot be read, or has a wrong checksum, ends its file's extent: the second pass names the keys behind it, and
 * whoever gets these is told of the damage. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <stdlib.h>

#define BUFFER (UINT64_C(1) << 20)
#define SHARE 64u /* of the first tier, at most */
#define PIECE 256u  /* keys looked up together */
#define A_HOLD 4096u /* entries of the index looked at under one hold of the lock */

typedef struct extent {
  uint64_t number;
  uint32_t id, count; /* of the file; records */
} extent;

struct ts_records_sweep {
  extent *extents; /* [files], by number */
  uint32_t files, file; /* the one that is being read; files: the first pass is over */
  uint32_t slot;        /* the next record in it */
  uint32_t *by_id;      /* [ids] position among the extents, UINT32_MAX: none */
  uint32_t ids;
  unsigned char *buffer;
  uint64_t bytes, own_bytes; /* of the buffer; charged with it for the rest */
  ts_ssd_layout layout; /* of the file that is in the buffer */
  uint32_t first, end;  /* the records that are in the buffer: of [file] */
  ts_index_cursor cursor;
};

static int by_number(const void *a, const void *b) {
  const extent *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

/* append held, so that what is appended is published. */
static bool take_extents(const ts_ssd_table *t, ts_records_sweep *s, uint64_t *page) {
  s->ids = t->file_slots;
  s->extents = calloc(TS_MAX(s->ids, 1u), sizeof *s->extents);
  s->by_id = malloc(TS_MAX(s->ids, 1u) * sizeof *s->by_id);
  if (s->extents == NULL || s->by_id == NULL) return false;
  for (uint32_t id = 0; id < s->ids; id++) {
    const ts_ssd_file *file = t->files[id];
    if (file == NULL || file->live == 0) continue;
    s->extents[s->files++] = (extent){.number = file->number, .id = id, .count = TS_MIN(file->count, file->memory_from)};
    *page = TS_MAX(*page, file->layout.page_bytes);
  }
  qsort(s->extents, s->files, sizeof *s->extents, by_number);
  for (uint32_t id = 0; id < s->ids; id++) s->by_id[id] = UINT32_MAX;
  for (uint32_t i = 0; i < s->files; i++) s->by_id[s->extents[i].id] = i;
  return true;
}

static void close_sweep(ts_records *records, ts_records_sweep *s) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  if (s == NULL) return;
  if (s->buffer != NULL) ts_ssd_give_memory(t, s->buffer, s->bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, s->own_bytes);
  free(s->extents);
  free(s->by_id);
  free(s);
}

/* What it leaves is enough for those who move rows down meanwhile. */
static unsigned char *take_buffer(ts_ssd_table *t, uint64_t bytes) {
  const ts_budget *dram = t->dram;
  const uint64_t used = ts_budget_taken(dram);
  if (!dram->rows_only && (used >= dram->limit || dram->limit - used < bytes + dram->headroom / 2)) return NULL;
  return ts_ssd_take_memory(t, bytes);
}

static int32_t open_sweep(ts_records *records, ts_records_sweep **out, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  *out = NULL;
  ts_records_sweep *s = calloc(1, sizeof *s);
  uint64_t page = TS_SSD_BLOCK;
  pthread_mutex_lock(&t->append);
  pthread_mutex_lock(&t->state);
  const uint64_t own = sizeof *s + t->file_slots * (sizeof *s->extents + sizeof *s->by_id);
  const bool charged = s != NULL && ts_budget_take(t->dram, TS_PURPOSE_BUFFERS, own);
  const bool taken = charged && take_extents(t, s, &page);
  pthread_mutex_unlock(&t->state);
  pthread_mutex_unlock(&t->append);
  if (s != NULL) s->own_bytes = charged ? own : 0;
  if (!taken) {
    close_sweep(records, s);
    return charged || s == NULL ? ts_fail(err, TS_ENOMEM, "Cannot sweep table \"%s\": out of memory", t->table)
                                : ts_fail(err, TS_EFULL, "Cannot sweep table \"%s\": DRAM is full", t->table);
  }
  s->bytes = TS_MAX(page, TS_MIN(t->dram->limit / SHARE, BUFFER));
  while ((s->buffer = take_buffer(t, s->bytes)) == NULL && s->bytes > page) s->bytes = TS_MAX(page, s->bytes / 2);
  if (s->buffer == NULL) {
    close_sweep(records, s);
    return ts_fail(err, TS_EFULL, "Cannot sweep table \"%s\": reading it needs %llu bytes of DRAM, the limit refuses them",
                   t->table, (unsigned long long)page);
  }
  *out = s;
  return TS_OK;
}

/* What is still there of an extent's file, pinned; NULL: it has gone, and all its records with it. */
static ts_ssd_file *pin(ts_ssd_table *t, const extent *e) {
  pthread_mutex_lock(&t->state);
  ts_ssd_file *file = t->files[e->id];
  if (file != NULL && file->number != e->number) file = NULL;
  if (file != NULL) file->readers++;
  pthread_mutex_unlock(&t->state);
  return file;
}

static void unpin(ts_ssd_table *t, ts_ssd_file *file) {
  pthread_mutex_lock(&t->state);
  file->readers--;
  if (t->doomed_bytes > 0) pthread_cond_broadcast(&t->freed);
  pthread_mutex_unlock(&t->state);
}

/* Whole pages of the file from s->slot on, which begins one. */
static void fill(ts_ssd_table *t, ts_records_sweep *s) {
  extent *e = &s->extents[s->file];
  ts_ssd_file *file = pin(t, e);
  s->first = s->end = s->slot;
  if (file == NULL) {
    e->count = 0;
    return;
  }
  s->layout = file->layout;
  const ts_ssd_layout *l = &s->layout;
  const uint64_t from = ts_ssd_offset(l, s->slot), to = TS_MIN(from + s->bytes / l->page_bytes * l->page_bytes, ts_ssd_extent(l, e->count));
  const uint64_t pages = (to - from) / l->page_bytes;
  TS_SYNC("ssd:sweep:read");
  if (ts_ssd_pread(t, file, s->buffer, to - from, from, (ts_err){NULL, 0}) == TS_OK)
    s->end = (uint32_t)TS_MIN(s->slot + pages * l->page_records, (uint64_t)e->count);
  else
    e->count = s->slot;
  unpin(t, file);
}

/* Records of the buffer that the index means. */
static uint32_t give(ts_ssd_table *t, ts_records_sweep *s, uint32_t n, int64_t *keys, const unsigned char **rows, ts_record_place *places) {
  extent *e = &s->extents[s->file];
  const uint64_t offset = ts_ssd_offset(&s->layout, s->first);
  uint32_t got = 0;
  while (got < n && s->slot < s->end) {
    int64_t piece[PIECE];
    const unsigned char *at[PIECE];
    uint32_t slots[PIECE], m = 0;
    uint64_t hashes[PIECE];
    ts_location locations[PIECE];
    for (; m < TS_MIN(PIECE, n - got) && s->slot < s->end; s->slot++, m++) {
      ts_ssd_record record;
      if (!ts_ssd_decode(&s->layout, t->row_bytes, e->number, s->slot, s->buffer + (ts_ssd_offset(&s->layout, s->slot) - offset), &record)) {
        e->count = s->end = s->slot;
        break;
      }
      piece[m] = record.key;
      at[m] = record.row;
      hashes[m] = ts_index_hash(record.key);
      slots[m] = s->slot;
    }
    pthread_mutex_lock(&t->state);
    ts_index_find(&t->index, piece, hashes, m, locations);
    pthread_mutex_unlock(&t->state);
    for (uint32_t i = 0; i < m; i++) {
      const ts_location here = (uint64_t)e->id << t->shift | slots[i];
      if (locations[i] != here) continue;
      keys[got] = piece[i];
      rows[got] = at[i];
      places[got++] = (ts_record_place){.file = e->number, .at = here};
    }
  }
  return got;
}

/* Whether the first pass had this place; state held. */
static bool was_given(const ts_ssd_table *t, const ts_records_sweep *s, ts_location location) {
  const ts_ssd_file *file = ts_ssd_file_of(t, location);
  const uint32_t i = file->id < s->ids ? s->by_id[file->id] : UINT32_MAX;
  return i != UINT32_MAX && s->extents[i].number == file->number && ts_ssd_record_of(t, location) < s->extents[i].count;
}

static int32_t next(ts_records *records, ts_records_sweep *s, uint32_t n, int64_t *keys, const unsigned char **rows,
                    ts_record_place *places, bool *read, uint32_t *got, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  (void)err;
  *got = 0;
  *read = true;
  while (*got == 0 && s->file < s->files) {
    if (s->slot == s->end && s->slot < s->extents[s->file].count) fill(t, s);
    if (s->slot < s->end) *got = give(t, s, n, keys, rows, places);
    if (s->slot < s->extents[s->file].count) continue;
    s->file++;
    s->slot = s->end = 0;
    if (*got > 0) return TS_OK; /* the buffer stays until the next call */
  }
  if (*got > 0 || n == 0) return TS_OK;
  TS_SYNC("ssd:sweep:rest");
  *read = false;
  for (bool more = true; more && *got == 0;) {
    ts_location location;
    pthread_mutex_lock(&t->state);
    for (uint32_t i = 0; i < A_HOLD && *got < n && (more = ts_index_next(&t->index, &s->cursor, &keys[*got], &location)); i++)
      *got += !was_given(t, s, location);
    pthread_mutex_unlock(&t->state);
  }
  return TS_OK;
}

static void still(ts_records *records, uint32_t n, const int64_t *keys, const ts_record_place *places, uint8_t *same) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  uint64_t hashes[PIECE];
  ts_location locations[PIECE];
  for (uint32_t at = 0, m; at < n; at += m) {
    m = TS_MIN(n - at, PIECE);
    for (uint32_t i = 0; i < m; i++) hashes[i] = ts_index_hash(keys[at + i]);
    pthread_mutex_lock(&t->state);
    ts_index_find(&t->index, keys + at, hashes, m, locations);
    for (uint32_t i = 0; i < m; i++)
      same[at + i] = locations[i] == places[at + i].at && ts_ssd_file_of(t, locations[i])->number == places[at + i].file;
    pthread_mutex_unlock(&t->state);
  }
}

const ts_records_sweeps ts_ssd_sweeps = {.open = open_sweep, .close = close_sweep, .next = next, .still = still};
