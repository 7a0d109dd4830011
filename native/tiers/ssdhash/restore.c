/* restore.c - opening a table at a checkpoint: its rows exactly, whatever came later.
 *
 * All log files are read in order. Which of their records the checkpoint has, its file says, and for what compaction moved
 * afterwards the sequence and the file's header (format.h); no order between records of different files matters. The same
 * is asked of the older checkpoints, which stay: what only they have is retained. At the end there must be as many rows as
 * the checkpoint has: a file that is gone or damaged is noticed even where nothing lists it. Of an older checkpoint only
 * the records can be counted, and a copy that lies beside its original counts twice: it is dropped when it has too few,
 * and its rows are counted when it is opened.
 *
 * What compaction had moved may have been on its way when the process died: no file goes before the files of what was moved
 * are synchronized, as later (ts_ssd_sync_moved).
 *
 * Log files are not written to again. So whatever they hold of later times is garbage for all that follows: the next
 * checkpoint lists them without it. Later checkpoints go last, when this one has proved whole. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "tierstore.h"
#include "tiers/ssdhash/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct restoring {
  ts_ssd_read_image images[TS_RECORDS_CUTS]; /* as t->cuts; the last one is opened */
  uint32_t n;
  bool lost[TS_RECORDS_CUTS];      /* an older one whose records are damaged */
  uint64_t found[TS_RECORDS_CUTS]; /* its records; a copy and its original count twice */
  unsigned char *buffer, *scratch;
  uint64_t buffer_bytes;
  char suspect[320]; /* what else was damaged: nothing is to be had from it */
} restoring;

/* ---- the list of checkpoints ---- */

static int32_t choose(const ts_ssd_table *t, const uint64_t *checkpoints, uint32_t n, uint32_t *chosen, ts_err err) {
  char there[192];
  size_t at = 0;
  for (*chosen = 0; *chosen < n && t->at != 0 && checkpoints[*chosen] != t->at;) ++*chosen;
  if (t->at == 0) *chosen = n - 1;
  if (*chosen < n) return TS_OK;
  for (uint32_t i = 0; i < n && at < sizeof there; i++)
    at += (size_t)snprintf(there + at, sizeof there - at, "%s%llu", i == 0 ? "" : ", ", (unsigned long long)checkpoints[i]);
  return ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" at checkpoint %llu: it was dropped or never complete; %s has %s",
                 t->table, (unsigned long long)t->at, t->folder, there);
}

static int32_t read_images(ts_ssd_table *t, restoring *r, const uint64_t *checkpoints, uint32_t n, ts_err err) {
  if (n > TS_RECORDS_CUTS)
    return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": %s has %u checkpoints; at most %u can be", t->table, t->folder, n,
                   TS_RECORDS_CUTS);
  for (; r->n < n; r->n++) {
    ts_ssd_read_image *image = &r->images[r->n];
    int32_t status = ts_ssd_image_read(t, checkpoints[r->n], image, err);
    if (status != TS_OK) return status;
    const uint64_t charged = TS_ROUND_UP(image->length, TS_SSD_BLOCK);
    if (!ts_ssd_charge(t, charged, false)) {
      ts_ssd_image_free(t, image);
      return ts_fail(err, TS_EFULL,
                     "Cannot open table \"%s\": its files are larger than the tier's limit of %llu bytes; raise its size",
                     t->table, (unsigned long long)t->budget->limit);
    }
    const ts_ssd_image *h = &image->header;
    t->cuts[t->cut_count++] =
        (ts_ssd_cut){.number = h->number, .sequence = h->sequence, .charged = charged, .complete = true};
    t->next_number = TS_MAX(t->next_number, h->next_number);
    t->timeline = TS_MAX(t->timeline, h->timeline + 1);
    t->sequence = t->begun_sequence = h->sequence;
    t->begun = h->number;
  }
  const ts_ssd_read_image *last = &r->images[r->n - 1];
  t->note_bytes = last->header.note_bytes;
  t->note = malloc((size_t)t->note_bytes + 1);
  if (t->note == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  memcpy(t->note, last->note, t->note_bytes);
  return TS_OK;
}

/* ---- files ---- */

static const uint64_t *bits_of(const ts_ssd_image_entry *entry) { return (const uint64_t *)(entry + 1); }

static bool has_any(const ts_ssd_image_entry *entry) {
  for (uint32_t w = 0; entry != NULL && w < (entry->count + 63) / 64; w++)
    if (bits_of(entry)[w] != 0) return true;
  return false;
}

/* A file that cannot be read. Damage to the checkpoint that is opened is an error; an older one is lost. Where neither
 * lists it, it may be what a crash left, or have what was moved: the number of rows shows it. */
static int32_t unreadable(restoring *r, uint64_t number, int32_t status, const char *text, ts_err err) {
  if (has_any(ts_ssd_image_find(&r->images[r->n - 1], number))) return ts_fail(err, status, "%s", text);
  for (uint32_t i = 0; i + 1 < r->n; i++) r->lost[i] |= has_any(ts_ssd_image_find(&r->images[i], number));
  if (r->suspect[0] == '\0') snprintf(r->suspect, sizeof r->suspect, "%s", text);
  return TS_OK;
}

static int32_t open_files(ts_ssd_table *t, restoring *r, ts_ssd_found **out, uint32_t *opened, uint64_t **broken,
                          uint32_t *broken_count, ts_err err) {
  uint64_t *numbers = NULL;
  uint32_t n = 0;
  int32_t status = ts_ssd_list(t, &numbers, &n, err);
  ts_ssd_found *found = calloc((size_t)n + 1, sizeof *found);
  *broken = calloc((size_t)n + 1, sizeof **broken);
  unsigned char *block = aligned_alloc(TS_SSD_BLOCK, TS_SSD_BLOCK);
  if (status == TS_OK && (found == NULL || block == NULL || *broken == NULL))
    status = ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  *out = found;
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    ts_ssd_found one = {0};
    char text[320] = "";
    bool listed = false;
    for (uint32_t k = 0; k < r->n; k++) listed |= has_any(ts_ssd_image_find(&r->images[k], numbers[i]));
    t->next_number = TS_MAX(t->next_number, numbers[i] + 1);
    status = ts_ssd_open_file(t, numbers[i], listed, block, &one, (ts_err){text, sizeof text});
    if (status == TS_EFORMAT) {
      (*broken)[(*broken_count)++] = numbers[i];
      status = unreadable(r, numbers[i], status, text, err);
      continue;
    }
    if (status != TS_OK) ts_fail(err, status, "%s", text);
    if (one.file == NULL) continue;
    if (status == TS_OK) status = ts_ssd_file_add(t, one.file, err);
    if (status != TS_OK) {
      t->disk->close(t->disk, one.file->handle);
      free(one.file);
    } else {
      found[(*opened)++] = one;
    }
  }
  free(block);
  free(numbers);
  return status;
}

/* What the checkpoints say of a file. */
typedef struct claims {
  const uint64_t *bits[TS_RECORDS_CUTS];
  uint32_t covered[TS_RECORDS_CUTS]; /* records that the bits tell of */
  bool moved[TS_RECORDS_CUTS];       /* others may belong to it, too */
} claims;

static uint32_t read_claims(const restoring *r, const ts_ssd_found *f, claims *c) {
  const ts_ssd_file *file = f->file;
  uint32_t end = 0;
  *c = (claims){0};
  for (uint32_t i = 0; i < r->n; i++) {
    const ts_ssd_image_entry *entry = ts_ssd_image_find(&r->images[i], file->number);
    c->bits[i] = entry != NULL ? bits_of(entry) : NULL;
    c->covered[i] = entry != NULL ? TS_MIN(entry->count, file->capacity) : 0;
    c->moved[i] = (entry == NULL || !entry->closed) && file->through >= r->images[i].header.number;
    end = TS_MAX(end, c->moved[i] ? (f->counted > 0 ? f->counted : file->capacity) : 0);
    end = TS_MAX(end, c->covered[i]);
  }
  return end;
}

static bool is_zeros(const unsigned char *bytes, uint32_t n) {
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* One record; bytes NULL: the file ends before it. */
static int32_t take_record(ts_ssd_table *t, restoring *r, const claims *c, ts_ssd_file *file, uint32_t slot,
                           const unsigned char *bytes, ts_err err) {
  ts_ssd_record record;
  const bool valid = bytes != NULL && ts_ssd_decode(&file->layout, t->row_bytes, file->number, slot, bytes, &record);
  int32_t newest = -1;
  for (uint32_t i = 0; i < r->n; i++) {
    const bool covered = slot < c->covered[i];
    if (covered ? (c->bits[i][slot / 64] >> (slot % 64) & 1) == 0
                : !c->moved[i] || !valid || (record.sequence >= t->cuts[i].sequence && !TS_BUG("sequences are not compared")))
      continue;
    newest = (int32_t)i;
    r->found[i] += valid;
  }
  if (valid) {
    t->sequence = TS_MAX(t->sequence, record.sequence + 1);
    file->count = TS_MAX(file->count, slot + 1);
    if (newest == (int32_t)r->n - 1) return ts_ssd_index_record(t, file, slot, &record, r->scratch, err);
    if (newest >= 0) ts_ssd_retain(t, file, slot, (uint32_t)newest);
    return TS_OK;
  }
  if (newest < 0 && (bytes == NULL || is_zeros(bytes, file->layout.record_bytes))) return TS_OK;
  char text[320];
  snprintf(text, sizeof text, "Cannot open table \"%s\": the record at offset %llu of %s/%016llx.log %s", t->table,
           (unsigned long long)ts_ssd_offset(&file->layout, slot), t->folder, (unsigned long long)file->number,
           bytes == NULL ? "is missing: the file was truncated" : "has a wrong checksum: the file was damaged");
  if (newest == (int32_t)r->n - 1) return ts_fail(err, TS_EFORMAT, "%s", text);
  for (uint32_t i = 0; i + 1 < r->n; i++)
    r->lost[i] |= slot < c->covered[i] && (c->bits[i][slot / 64] >> (slot % 64) & 1) != 0;
  if (newest < 0 && r->suspect[0] == '\0') snprintf(r->suspect, sizeof r->suspect, "%s", text);
  return TS_OK;
}

static int32_t load(ts_ssd_table *t, restoring *r, const ts_ssd_found *f, ts_err err) {
  ts_ssd_file *file = f->file;
  const ts_ssd_layout *l = &file->layout;
  claims c;
  const uint32_t end = read_claims(r, f, &c), step = (uint32_t)(r->buffer_bytes / l->page_bytes) * l->page_records;
  const uint64_t there = f->size / TS_SSD_BLOCK * TS_SSD_BLOCK;
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < end && status == TS_OK; first += step) {
    const uint32_t n = TS_MIN(step, end - first);
    const uint64_t offset = ts_ssd_offset(l, first),
                   until = TS_ROUND_UP(ts_ssd_offset(l, first + n - 1) + l->record_bytes, TS_SSD_BLOCK);
    const uint64_t length = TS_MIN(until, TS_MAX(there, offset)) - offset;
    if (t->control != NULL && __atomic_load_n(&t->control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) != 0)
      return ts_fail(err, TS_ECANCELLED, "Opening table \"%s\" was cancelled", t->table);
    if (length > 0) status = ts_ssd_pread(t, file, r->buffer, length, offset, err);
    for (uint32_t slot = first; slot < first + n && status == TS_OK; slot++) {
      const uint64_t at = ts_ssd_offset(l, slot) - offset;
      status = take_record(t, r, &c, file, slot, at + l->record_bytes <= length ? r->buffer + at : NULL, err);
    }
    if (t->control != NULL) __atomic_fetch_add(&t->control[TS_CONTROL_DONE], length, __ATOMIC_RELAXED);
  }
  if (status != TS_OK) return status;
  t->records += file->count;
  const uint64_t keep = file->count == 0 ? TS_SSD_BLOCK : ts_ssd_extent(l, file->count);
  if (f->size <= keep) return TS_OK;
  const int error = t->disk->truncate(t->disk, file->handle, keep);
  if (error != 0) return ts_ssd_io_error(t, "truncate", file, keep, -error, err);
  const uint64_t rest = file->charged - TS_MIN(file->charged, keep);
  file->charged -= rest;
  ts_ssd_discharge(t, rest);
  return TS_OK;
}

static int32_t load_all(ts_ssd_table *t, restoring *r, const ts_ssd_found *found, uint32_t n, ts_err err) {
  const uint64_t scratch_bytes = ts_ssd_scratch_bytes(t);
  uint64_t total = 0;
  ts_ssd_measure(t, found, n);
  r->scratch = ts_ssd_take_memory(t, scratch_bytes);
  r->buffer = ts_ssd_take_pages(t, found, n, &r->buffer_bytes);
  int32_t status = TS_OK;
  if (r->scratch == NULL || r->buffer == NULL)
    status = ts_fail(
        err, TS_EFULL,
        "Cannot open table \"%s\": reading it needs %llu bytes of DRAM, the limit refuses them; raise the first size",
        t->table, (unsigned long long)(r->buffer_bytes + scratch_bytes));
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    total += found[i].size;
    if (!ts_ssd_charge(t, found[i].size, false))
      status =
          ts_fail(err, TS_EFULL,
                  "Cannot open table \"%s\": its files are larger than the tier's limit of %llu bytes; raise its size",
                  t->table, (unsigned long long)t->budget->limit);
    else
      found[i].file->charged = found[i].size;
  }
  /* Its segments as large as they will be: keys come in the order in which rows went down, shard after shard, and would lie far
   * from their homes in segments that grow. */
  if (status == TS_OK) ts_index_expect(&t->index, TS_MIN(r->images[r->n - 1].tail.rows, total / t->row_bytes));
  if (t->control != NULL) __atomic_fetch_add(&t->control[TS_CONTROL_TOTAL], total, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < n && status == TS_OK; i++) status = load(t, r, &found[i], err);
  ts_ssd_give_pages(t, r->buffer, r->buffer_bytes);
  ts_ssd_give_memory(t, r->scratch, scratch_bytes);
  return status;
}

static int32_t check_rows(const ts_ssd_table *t, restoring *r, ts_err err) {
  const uint64_t rows = ts_index_live(&t->index), wanted = r->images[r->n - 1].tail.rows;
  for (uint32_t i = 0; i + 1 < r->n; i++) r->lost[i] |= r->found[i] < r->images[i].tail.rows;
  if (rows == wanted || TS_BUG("rows of a table's checkpoint are not counted")) return TS_OK;
  return ts_fail(err, TS_EFORMAT,
                 "Cannot open table \"%s\" at checkpoint %llu: it has %llu rows, %llu were found in %s; log files are gone or "
                 "damaged%s%s",
                 t->table, (unsigned long long)t->begun, (unsigned long long)wanted, (unsigned long long)rows, t->folder,
                 r->suspect[0] != '\0' ? ". Also: " : "", r->suspect);
}

/* The checkpoint is whole: what does not lead to it goes. */
static int32_t leave_rest(ts_ssd_table *t, restoring *r, const uint64_t *later, uint32_t n, uint64_t *broken,
                          uint32_t broken_count, ts_err err) {
  int32_t status = TS_OK;
  char path[TS_SSD_PATH];
  while (n > 0 && status == TS_OK) status = ts_ssd_image_remove(t, later[--n], err); /* the newest first */
  for (uint32_t i = r->n - 1; i-- > 0 && status == TS_OK;)
    if (r->lost[i]) {
      snprintf(t->trouble, sizeof t->trouble, "checkpoint %llu was dropped when the table was opened: log files are damaged",
               (unsigned long long)t->cuts[i].number);
      status = ts_ssd_cuts.drop((ts_records *)t, t->cuts[i].number, err);
    }
  for (uint32_t i = 0; i < broken_count && status == TS_OK; i++) {
    TS_SYNC_VALUE("ssd:medium:unlink", broken[i]);
    t->disk->unlink(t->disk, ts_ssd_log_path(t, broken[i], path));
  }
  t->disk->unlink(t->disk, ts_ssd_path(t, TS_SSD_MAP_NAME, path)); /* of before the first checkpoint */
  return status;
}

int32_t ts_ssd_restore(ts_ssd_table *t, const uint64_t *checkpoints, uint32_t n, ts_err err) {
  restoring r = {0};
  ts_ssd_found *found = NULL;
  uint64_t *broken = NULL;
  uint32_t chosen, opened = 0, broken_count = 0;
  if (t->temporary)
    return ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" for a while: %s has checkpoints; remove it, or open it to stay",
                   t->table, t->folder);
  int32_t status = choose(t, checkpoints, n, &chosen, err);
  if (status != TS_OK) return status;
  t->durable = true;
  status = read_images(t, &r, checkpoints, chosen + 1, err);
  if (status == TS_OK) status = open_files(t, &r, &found, &opened, &broken, &broken_count, err);
  if (status == TS_OK && opened > 0) status = load_all(t, &r, found, opened, err);
  if (status == TS_OK) status = check_rows(t, &r, err);
  for (uint32_t i = 0; i < r.n; i++) ts_ssd_image_free(t, &r.images[i]);
  if (status == TS_OK && !t->looks) {
    pthread_mutex_lock(&t->state);
    for (uint32_t i = 0; i < opened; i++) ts_ssd_file_doom_if_dead(t, found[i].file);
    pthread_mutex_unlock(&t->state);
    TS_SYNC("ssd:restore:loaded");
    status = leave_rest(t, &r, checkpoints + chosen + 1, n - chosen - 1, broken, broken_count, err);
  }
  if (status == TS_OK && !t->looks) ts_ssd_reap(t);
  free(found);
  free(broken);
  return status;
}
