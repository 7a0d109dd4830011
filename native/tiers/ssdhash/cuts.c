/* cuts.c - checkpoints of an open table.
 *
 * A checkpoint begins as a place in the sequence of puts: what was put before it, or is put "as of" it, has smaller
 * sequences. Nothing is copied. When a record is replaced or removed, the index tells where the old one lies, and if the
 * newest checkpoint was begun after that was put, it is retained: a bit of its file, by the newest checkpoint that can have
 * it. Which records a checkpoint has is thus known at any time: those that live and were put before, and those that are
 * retained by it or by a later one and were put before. That is written when it completes (image.c), so removals need no
 * records of their own.
 *
 * Compaction keeps what is retained as it keeps what lives, in files that say for which checkpoint (compact.c); a file goes
 * when it has neither, and only after what was moved out of it is durable. When a checkpoint is dropped, what it retains
 * is handed to the one before it, or becomes garbage.
 *
 * Beside the index all of this is a bit of DRAM a record, of files with retained ones. Where DRAM refuses them, the file
 * stays as it is until the checkpoint is dropped; a checkpoint that has not been written then cannot be completed. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_NOTE (UINT32_C(1) << 20)

/* ---- what is retained ---- */

uint32_t ts_ssd_count_before(const ts_ssd_file *file, uint64_t cut) {
  if (file->stream >= TS_SSD_AS_OF) return UINT32_MAX; /* nothing later is written there before the cut is complete */
  if (file->begun >= cut) return 0;
  for (uint32_t i = 0; i < file->mark_count; i++)
    if (file->marks[i].cut >= cut) return file->marks[i].slot;
  return UINT32_MAX;
}

bool ts_ssd_in_cut(const ts_ssd_table *t, ts_location location, int32_t cut) {
  return cut >= 0 && ts_ssd_record_of(t, location) < ts_ssd_count_before(ts_ssd_file_of(t, location), t->cuts[cut].number);
}

static uint64_t bits_bytes(const ts_ssd_file *file) { return ((uint64_t)file->capacity + 63) / 64 * 8; }

static void free_bits(ts_ssd_table *t, const ts_ssd_file *file, ts_ssd_retained *r) {
  if (r->bits == NULL) return;
  free(r->bits);
  r->bits = NULL;
  ts_budget_give_back(t->dram, TS_PURPOSE_INDEX, bits_bytes(file));
}

void ts_ssd_retain(ts_ssd_table *t, ts_ssd_file *file, uint32_t record, uint32_t cut) {
  ts_ssd_retained *r = &file->retained[cut];
  /* As the index itself it may use the headroom: rows can only move down when it knows them. */
  if (r->count == 0 && ts_budget_take_first(t->dram, TS_PURPOSE_INDEX, bits_bytes(file))) {
    r->bits = calloc(1, bits_bytes(file));
    if (r->bits == NULL) ts_budget_give_back(t->dram, TS_PURPOSE_INDEX, bits_bytes(file));
  }
  r->count++;
  file->retained_count++;
  t->retained++;
  if (r->bits != NULL)
    r->bits[record / 64] |= UINT64_C(1) << (record % 64);
  else if (!t->cuts[cut].complete)
    t->cuts[cut].lost = true;
}

void ts_ssd_release_retained(ts_ssd_table *t, ts_ssd_file *file, uint32_t record, uint32_t cut) {
  ts_ssd_retained *r = &file->retained[cut];
  r->bits[record / 64] &= ~(UINT64_C(1) << (record % 64));
  file->retained_count--;
  t->retained--;
  if (--r->count == 0) free_bits(t, file, r);
}

bool ts_ssd_retained_known(const ts_ssd_file *file) {
  for (uint32_t i = 0; file->retained_count > 0 && i < TS_RECORDS_CUTS; i++)
    if (file->retained[i].count > 0 && file->retained[i].bits == NULL) return false;
  return true;
}

void ts_ssd_retained_free(ts_ssd_table *t, ts_ssd_file *file) {
  for (uint32_t i = 0; i < TS_RECORDS_CUTS; i++) free_bits(t, file, &file->retained[i]);
}

static uint32_t count_bits(const uint64_t *bits, uint64_t bytes) {
  uint32_t n = 0;
  for (uint64_t i = 0; i < bytes / 8; i++) n += (uint32_t)__builtin_popcountll(bits[i]);
  return n;
}

/* What cuts[cut] of a file retains goes to the one before it, if that can have records of the file; state held. */
static void hand_down(ts_ssd_table *t, ts_ssd_file *file, uint32_t cut) {
  ts_ssd_retained r = file->retained[cut];
  memmove(&file->retained[cut], &file->retained[cut + 1], (TS_RECORDS_CUTS - cut - 1) * sizeof r);
  file->retained[TS_RECORDS_CUTS - 1] = (ts_ssd_retained){0};
  if (r.count == 0) return;
  file->retained_count -= r.count;
  t->retained -= r.count;
  if (cut == 0 || ts_ssd_count_before(file, t->cuts[cut - 1].number) == 0) {
    free_bits(t, file, &r);
    return;
  }
  ts_ssd_retained *to = &file->retained[cut - 1];
  const uint32_t before = to->count;
  if (before == 0) {
    *to = r;
  } else if (r.bits == NULL || to->bits == NULL) {
    to->count += r.count;
    free_bits(t, file, to);
    free_bits(t, file, &r);
  } else {
    for (uint64_t i = 0; i < bits_bytes(file) / 8; i++) to->bits[i] |= r.bits[i];
    to->count = count_bits(to->bits, bits_bytes(file));
    free_bits(t, file, &r);
  }
  file->retained_count += to->count - before;
  t->retained += to->count - before;
}

static size_t say_cuts(const ts_ssd_table *t, bool complete_only, char *out, size_t cap) {
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < t->cut_count; i++)
    if ((t->cuts[i].complete || !complete_only) && at < cap)
      at += (size_t)snprintf(out + at, cap - at, "%s%llu", at == 0 ? "" : ", ", (unsigned long long)t->cuts[i].number);
  return at;
}

void ts_ssd_say_retained(const ts_ssd_table *t, char *out, size_t cap) {
  char cuts[192];
  out[0] = '\0';
  if (t->retained == 0 || say_cuts(t, false, cuts, sizeof cuts) == 0) return;
  snprintf(out, cap, " (%llu more were replaced and stay for the checkpoints %s: drop one)", (unsigned long long)t->retained,
           cuts);
}

/* ---- making things durable ---- */

static int32_t sync_refused(const ts_ssd_table *t, ts_err err) {
  return ts_fail(err, TS_EIO,
                 "Cannot keep checkpoints of table \"%s\": files in %s could not be synchronized, so what the disk has is not "
                 "known; open the table again, which takes up the newest complete checkpoint",
                 t->table, t->folder);
}

/* What a test's disk answers. */
typedef struct synchronization {
  const ts_ssd_file *file;
  int error; /* 0: ask the real one */
} synchronization;

static int32_t sync_file(ts_ssd_table *t, const ts_ssd_file *file, ts_err err) {
  synchronization s = {.file = file};
  TS_SYNC_VALUE("ssd:medium:sync", s);
  if (s.error == 0) s.error = -t->disk->sync(t->disk, file->handle);
  if (s.error == 0) return TS_OK;
  return ts_ssd_io_error(t, "synchronize", file, 0, s.error, err);
}

int32_t ts_ssd_sync_moved(ts_ssd_table *t, ts_err err) {
  for (uint32_t id = 0; id < t->file_slots && !t->sync_failed; id++) {
    ts_ssd_file *file = t->files[id];
    if (file == NULL || !file->dirty || file->stream < TS_SSD_AS_OF || file->state == TS_SSD_DOOMED) continue;
    if (TS_BUG("what was moved is not synchronised")) continue;
    t->sync_failed = sync_file(t, file, (ts_err){0}) != TS_OK;
    file->dirty = t->sync_failed;
  }
  return t->sync_failed ? sync_refused(t, err) : TS_OK;
}

/* Buffers out, then every file with records of the checkpoint; no lock but perhaps compacting. */
static int32_t sync_records(ts_ssd_table *t, uint64_t number, ts_err err) {
  pthread_mutex_lock(&t->append);
  ts_ssd_file **files = malloc((t->file_slots + 1) * sizeof *files);
  int32_t status = files == NULL ? ts_fail(err, TS_ENOMEM, "Cannot complete a checkpoint of table \"%s\": out of memory", t->table)
                   : t->sync_failed ? sync_refused(t, err)
                                    : ts_ssd_write_out(t, err);
  uint32_t n = 0;
  pthread_mutex_lock(&t->state);
  for (uint32_t id = 0; status == TS_OK && id < t->file_slots; id++) {
    ts_ssd_file *file = t->files[id];
    if (file == NULL || !file->dirty || file->state == TS_SSD_DOOMED || ts_ssd_count_before(file, number) == 0) continue;
    if (TS_BUG("records are not synchronised")) continue;
    file->dirty = false;
    file->readers++; /* it stays */
    files[n++] = file;
  }
  pthread_mutex_unlock(&t->state);
  pthread_mutex_unlock(&t->append);
  TS_SYNC("ssd:cut:sync");
  for (uint32_t i = 0; i < n && status == TS_OK; i++) status = sync_file(t, files[i], err);
  pthread_mutex_lock(&t->append);
  pthread_mutex_lock(&t->state);
  if (status == TS_EIO && n > 0) t->sync_failed = true;
  for (uint32_t i = 0; i < n; i++) files[i]->readers--;
  if (t->doomed_bytes > 0) pthread_cond_broadcast(&t->freed);
  pthread_mutex_unlock(&t->state);
  pthread_mutex_unlock(&t->append);
  free(files);
  return status;
}

/* ---- the operations ---- */

/* What a table needs that may have checkpoints: room and memory for two more streams; append held. */
static int32_t prepare(ts_ssd_table *t, ts_err err) {
  const bool before = t->durable;
  t->durable = true;
  int32_t status = before ? TS_OK : ts_ssd_promise(t, 1, err);
  for (uint32_t s = TS_SSD_AS_OF; s <= TS_SSD_RETAINED && status == TS_OK; s++) {
    ts_ssd_chunk *chunks = t->streams[s].chunks;
    if (chunks[0].buffer.memory == NULL && chunks[1].buffer.memory == NULL)
      chunks[0].buffer = ts_ssd_take_buffer(t, t->chunk_memory);
    if (chunks[0].buffer.memory == NULL && chunks[1].buffer.memory == NULL)
      status = ts_fail(err, TS_EFULL,
                       "Cannot begin a checkpoint of table \"%s\": a write buffer needs %llu bytes of DRAM, the limit refuses "
                       "them; raise the first size or lower ssdhash.buffer_bytes",
                       t->table, (unsigned long long)t->chunk_memory);
  }
  if (status != TS_OK) t->durable = before;
  return status;
}

/* Where the files that are being written are divided; append held. */
static int32_t mark_files(ts_ssd_table *t, uint64_t number, ts_err err) {
  for (uint32_t s = 0; s < TS_SSD_PLAIN_STREAMS; s++) {
    ts_ssd_file *file = t->streams[s].file;
    if (file == NULL) continue;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < file->mark_count; i++) {
      bool wanted = false;
      for (uint32_t k = 0; k < t->cut_count; k++) wanted |= t->cuts[k].number == file->marks[i].cut;
      if (wanted) file->marks[kept++] = file->marks[i];
    }
    file->mark_count = kept;
    ts_ssd_mark *more = realloc(file->marks, (kept + 1) * sizeof *more);
    if (more == NULL)
      return ts_fail(err, TS_ENOMEM, "Cannot begin checkpoint %llu of table \"%s\": out of memory", (unsigned long long)number,
                     t->table);
    file->marks = more;
    file->marks[kept] = (ts_ssd_mark){number, file->count};
    file->mark_count++;
  }
  return TS_OK;
}

static int32_t begin_now(ts_ssd_table *t, uint64_t number, ts_err err) {
  char cuts[192];
  say_cuts(t, false, cuts, sizeof cuts);
  if (t->temporary)
    return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint of table \"%s\": its files go when it closes; open it to stay",
                   t->table);
  if (number <= t->begun || number == UINT64_MAX)
    return ts_fail(err, TS_EINVAL,
                   "Cannot begin checkpoint %llu of table \"%s\": the last one was %llu; numbers rise, below 2^64 - 1",
                   (unsigned long long)number, t->table, (unsigned long long)t->begun);
  if (t->cut_count > 0 && !t->cuts[t->cut_count - 1].complete)
    return ts_fail(err, TS_EINVAL,
                   "Cannot begin checkpoint %llu of table \"%s\": checkpoint %llu is not complete yet; complete or drop it",
                   (unsigned long long)number, t->table, (unsigned long long)t->cuts[t->cut_count - 1].number);
  if (t->cut_count == TS_RECORDS_CUTS)
    return ts_fail(err, TS_EINVAL,
                   "Cannot begin checkpoint %llu of table \"%s\": there are %u (%s), which is the most; drop one",
                   (unsigned long long)number, t->table, t->cut_count, cuts);
  if (t->sync_failed) return sync_refused(t, err);
  int32_t status = prepare(t, err);
  if (status == TS_OK) status = mark_files(t, number, err);
  if (status != TS_OK) return status;
  pthread_mutex_lock(&t->state);
  t->begun = number;
  t->begun_sequence = ++t->sequence;
  t->cuts[t->cut_count++] = (ts_ssd_cut){.number = number, .sequence = t->begun_sequence};
  pthread_mutex_unlock(&t->state);
  return TS_OK;
}

static int32_t begin(ts_records *records, uint64_t number, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  for (;;) {
    pthread_mutex_lock(&t->append);
    int32_t status = begin_now(t, number, err);
    const bool hopeless = t->hopeless;
    const bool freed = status == TS_SSD_NO_ROOM && ts_ssd_reap(t) > 0;
    pthread_mutex_unlock(&t->append);
    TS_SYNC("ssd:cut:begun");
    if (status != TS_SSD_NO_ROOM) return status;
    if (!freed) status = ts_ssd_make_room(t, hopeless, err);
    if (!freed && status != TS_OK) return status;
  }
}

/* Its place in the list, -1: it is not there. */
static int32_t find(const ts_ssd_table *t, uint64_t number) {
  for (uint32_t i = 0; i < t->cut_count; i++)
    if (t->cuts[i].number == number) return (int32_t)i;
  return -1;
}

/* append held */
static int32_t may_complete(const ts_ssd_table *t, uint64_t number, int32_t *cut, ts_err err) {
  *cut = find(t, number);
  if (*cut < 0 || t->cuts[*cut].complete)
    return ts_fail(err, TS_EINVAL, "Cannot complete checkpoint %llu of table \"%s\": it %s", (unsigned long long)number, t->table,
                   *cut < 0 ? "has not begun, or was dropped" : "is complete");
  if (t->cuts[*cut].lost)
    return ts_fail(err, TS_EFULL,
                   "Cannot complete checkpoint %llu of table \"%s\": the DRAM limit refused what tells which replaced records "
                   "it has; drop it, raise the first size",
                   (unsigned long long)number, t->table);
  return TS_OK;
}

static int32_t complete(ts_records *records, uint64_t number, const void *note, uint32_t note_bytes, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  int32_t cut;
  if (note_bytes > MOST_NOTE)
    return ts_fail(err, TS_EINVAL, "Cannot complete checkpoint %llu of table \"%s\": a note of %u bytes; at most %u are taken",
                   (unsigned long long)number, t->table, note_bytes, MOST_NOTE);
  pthread_mutex_lock(&t->append);
  int32_t status = may_complete(t, number, &cut, err);
  pthread_mutex_unlock(&t->append);
  if (status != TS_OK) return status;
  status = sync_records(t, number, err); /* most of it, while compaction goes on */
  TS_SYNC("ssd:cut:synced");
  pthread_mutex_lock(&t->compacting);
  if (status == TS_OK) status = sync_records(t, number, err);
  pthread_mutex_lock(&t->append);
  if (status == TS_OK) status = may_complete(t, number, &cut, err);
  pthread_mutex_unlock(&t->append);
  if (status == TS_OK) status = ts_ssd_image_write(t, (uint32_t)cut, note, note_bytes, err);
  if (status == TS_OK) {
    pthread_mutex_lock(&t->append);
    pthread_mutex_lock(&t->state);
    t->cuts[cut].complete = true;
    pthread_mutex_unlock(&t->state);
    pthread_mutex_unlock(&t->append);
  }
  pthread_mutex_unlock(&t->compacting);
  return status;
}

static int32_t drop(ts_records *records, uint64_t number, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  uint32_t complete_ones = 0;
  pthread_mutex_lock(&t->compacting);
  pthread_mutex_lock(&t->state);
  const int32_t cut = find(t, number);
  for (uint32_t i = 0; i < t->cut_count; i++) complete_ones += t->cuts[i].complete;
  pthread_mutex_unlock(&t->state);
  int32_t status = TS_OK;
  if (cut < 0)
    status = ts_fail(err, TS_EINVAL, "Cannot drop checkpoint %llu of table \"%s\": there is none", (unsigned long long)number,
                     t->table);
  else if (t->cuts[cut].complete && complete_ones == 1)
    status = ts_fail(err, TS_EINVAL,
                     "Cannot drop checkpoint %llu of table \"%s\": it is the only complete one; complete another one first",
                     (unsigned long long)number, t->table);
  else /* before anything that it needs can go; of an incomplete one a failure may have left a file */
    status = ts_ssd_image_remove(t, number, err);
  if (status == TS_OK) {
    TS_SYNC("ssd:cut:removed");
    pthread_mutex_lock(&t->append);
    ts_ssd_discharge(t, t->cuts[cut].charged);
    pthread_mutex_lock(&t->state);
    for (uint32_t id = 0; id < t->file_slots; id++)
      if (t->files[id] != NULL) hand_down(t, t->files[id], (uint32_t)cut);
    t->cut_count--;
    memmove(&t->cuts[cut], &t->cuts[cut + 1], (t->cut_count - (uint32_t)cut) * sizeof t->cuts[0]);
    for (uint32_t id = 0; id < t->file_slots; id++)
      if (t->files[id] != NULL && t->files[id]->state == TS_SSD_SEALED) ts_ssd_file_doom_if_dead(t, t->files[id]);
    ts_ssd_release(t);
    pthread_mutex_unlock(&t->state);
    ts_ssd_reap(t);
    pthread_mutex_unlock(&t->append);
  }
  pthread_mutex_unlock(&t->compacting);
  if (status == TS_OK) ts_ssd_tidy(t);
  return status;
}

static uint32_t list(ts_records *records, ts_records_checkpoint out[TS_RECORDS_CUTS]) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  pthread_mutex_lock(&t->state);
  const uint32_t n = t->cut_count;
  for (uint32_t i = 0; i < n; i++) out[i] = (ts_records_checkpoint){t->cuts[i].number, t->cuts[i].complete};
  pthread_mutex_unlock(&t->state);
  return n;
}

static const void *note(ts_records *records, uint32_t *bytes) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  *bytes = t->note_bytes;
  return t->note;
}

const ts_records_cuts ts_ssd_cuts = {
    .begin = begin, .put = ts_ssd_put_as_of, .complete = complete, .drop = drop, .list = list, .note = note};
