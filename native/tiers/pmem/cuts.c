/* cuts.c - checkpoints of an open table: see table.h.
 *
 * What one consists of is known by numbers alone: how many records hold at its epoch, and the sum of their sums, both kept up
 * to date as records come and go. They are what opening it is measured against.
 *
 * Completing one: its note is written, all is made durable, then the root that names it, then the word that names the root.
 * Dropping one: the root without it is durable before the first place of it is used again. */
#include "base/seeded_bug.h"
#include "tiers/pmem/table.h"

#include "base/crc32c.h"
#include "base/sync_point.h"

#include <stdio.h>
#include <string.h>

#define MOST_NOTE (UINT32_C(1) << 20)
#define PLACES_A_HOLD 1024u

int32_t ts_pm_retaining(const ts_pm_table *t, uint32_t from, uint32_t until) {
  for (uint32_t i = t->cut_count; i-- > 0;)
    if (t->cuts[i].cut.epoch < until) return from <= t->cuts[i].cut.epoch ? (int32_t)i : -1;
  return -1;
}

void ts_pm_say_cuts(const ts_pm_table *t, bool complete_only, char *out, size_t cap) {
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < t->cut_count; i++)
    if ((t->cuts[i].complete || !complete_only) && !t->cuts[i].dropped && at < cap)
      at += (size_t)snprintf(out + at, cap - at, "%s%llu", at == 0 ? "" : ", ", (unsigned long long)t->cuts[i].cut.number);
}

/* ---- the root ---- */

void ts_pm_root_leave_out(ts_pm_root *root, uint32_t at) {
  root->cuts--;
  memmove(&root->cut[at], &root->cut[at + 1], (root->cuts - at) * sizeof root->cut[0]);
  root->cut[root->cuts] = (ts_pm_cut){0};
}

/* What was copied to the first file is durable. */
static int sync_first(ts_pm_table *t) {
  t->pmem->drain(t->pmem);
  return t->pmem->sync(t->pmem, &t->segments[0].map);
}

int32_t ts_pm_root_store(ts_pm_table *t, const ts_pm_root *root, ts_err err) {
  const uint64_t turn = TS_BUG("pmem: the root is written over") ? 0 : root->sequence % 2;
  const uint64_t word = ts_pm_word(t->pool, root->sequence);
  pthread_rwlock_rdlock(&t->lock);
  const ts_pmem_map map = t->segments[0].map;
  pthread_rwlock_unlock(&t->lock);
  int error = 0;
  if (TS_BUG("pmem: the word is written before the root")) t->pmem->copy(t->pmem, &map, TS_PM_WORD, &word, sizeof word);
  t->pmem->copy(t->pmem, &map, (1 + turn) * TS_PM_PAGE, root, sizeof *root);
  if (!TS_BUG("pmem: the root is not made durable before the word")) error = sync_first(t);
  if (error == 0 && !TS_BUG("pmem: no word is written")) t->pmem->copy(t->pmem, &map, TS_PM_WORD, &word, sizeof word);
  if (error == 0 && !TS_BUG("pmem: the word is not made durable")) error = sync_first(t);
  if (error == 0) return TS_OK;
  char path[TS_PM_PATH];
  t->sync_failed = true;
  const int32_t status = ts_pm_path(t, 0, path, err);
  return status != TS_OK ? status : ts_disk_fail(err, "synchronize", path, error);
}

int32_t ts_pm_root_write(ts_pm_table *t, const ts_pm_root *root, ts_err err) {
  ts_pm_root new = *root;
  new.sequence = t->root.sequence + 1;
  new.pool = t->pool;
  new.timeline = t->timeline;
  new.sum = ts_pm_root_sum(&new);
  const int32_t status = ts_pm_root_store(t, &new, err);
  if (status == TS_OK) t->root = new;
  return status;
}

static int32_t refused(const ts_pm_table *t, ts_err err) {
  return ts_fail(err, TS_EIO,
                 "Cannot keep checkpoints of table \"%s\": files in %s could not be synchronized, so what the medium has is not "
                 "known; open the table again, which takes up the newest complete checkpoint",
                 t->name, t->directory);
}

/* ---- the operations ---- */

/* Its place in the list, -1: it is not there. */
static int32_t find(const ts_pm_table *t, uint64_t number) {
  for (uint32_t i = 0; i < t->cut_count; i++)
    if (t->cuts[i].cut.number == number && !t->cuts[i].dropped) return (int32_t)i;
  return -1;
}

static int32_t may_begin(const ts_pm_table *t, uint64_t number, ts_err err) {
  char cuts[192];
  ts_pm_say_cuts(t, false, cuts, sizeof cuts);
  if (t->temporary)
    return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint of table \"%s\": its files go when it closes; open it to stay", t->name);
  if (number <= t->begun || number == UINT64_MAX)
    return ts_fail(err, TS_EINVAL, "Cannot begin checkpoint %llu of table \"%s\": the last one was %llu; numbers rise, below 2^64 - 1",
                   (unsigned long long)number, t->name, (unsigned long long)t->begun);
  if (ts_pm_is_pending(t))
    return ts_fail(err, TS_EINVAL,
                   "Cannot begin checkpoint %llu of table \"%s\": checkpoint %llu is not complete yet; complete or drop it",
                   (unsigned long long)number, t->name, (unsigned long long)t->cuts[t->cut_count - 1].cut.number);
  if (t->cut_count == TS_RECORDS_CUTS)
    return ts_fail(err, TS_EINVAL, "Cannot begin checkpoint %llu of table \"%s\": there are %u (%s), which is the most; drop one",
                   (unsigned long long)number, t->name, t->cut_count, cuts);
  if (t->epoch >= TS_PM_OPEN - 1)
    return ts_fail(err, TS_EINVAL, "Cannot begin checkpoint %llu of table \"%s\": it has had %u; dump the store and begin anew",
                   (unsigned long long)number, t->name, t->epoch);
  return t->sync_failed ? refused(t, err) : TS_OK;
}

static int32_t begin(ts_records *records, uint64_t number, ts_err err) {
  ts_pm_table *t = (ts_pm_table *)records;
  pthread_mutex_lock(&t->cutting);
  pthread_rwlock_wrlock(&t->lock);
  const int32_t status = may_begin(t, number, err);
  if (status == TS_OK) {
    t->begun = number;
    t->cuts[t->cut_count++] = (ts_pm_kept){.cut = {.number = number,
                                                   .rows = ts_index_live(&t->index),
                                                   .digest = t->digest,
                                                   .epoch = t->epoch,
                                                   .timeline = t->timeline}};
    if (!TS_BUG("pmem: a checkpoint closes no epoch")) t->epoch++;
  }
  pthread_rwlock_unlock(&t->lock);
  pthread_mutex_unlock(&t->cutting);
  TS_SYNC("pmem:cut:begun");
  return status;
}

/* A note that no root names: its places are free, and nobody takes it for a note. */
static void forget_note(ts_pm_table *t, ts_pm_kept *kept) {
  for (uint64_t place; (place = ts_pm_pop(t, &kept->note)) != TS_PM_NO_PLACE;) {
    ts_pm_end(t, place, kept->cut.epoch);
    ts_pm_push(t, &t->free, place);
  }
  t->pmem->drain(t->pmem);
}

static int32_t write_note(ts_pm_table *t, ts_pm_kept *kept, const unsigned char *note, uint32_t bytes, ts_err err) {
  const uint32_t parts = bytes / t->row_bytes + (bytes % t->row_bytes != 0);
  const int32_t status = ts_pm_reserve(t, (uint64_t)parts + 1, "complete a checkpoint of", err);
  if (status != TS_OK) return status;
  kept->cut.note_bytes = bytes;
  kept->cut.note_sum = ts_crc32c(0, note, bytes);
  for (uint32_t i = 0; i < parts; i++) {
    const uint32_t at = i * t->row_bytes;
    ts_pm_head head = {.key = i, .from = kept->cut.epoch, .timeline = t->timeline, .length = TS_PM_NOTE | TS_MIN(t->row_bytes, bytes - at)};
    const uint64_t place = ts_pm_take(t);
    ts_pm_write(t, place, &head, kept->cut.epoch + 1, note + at);
    ts_pm_push(t, &kept->note, place);
  }
  t->pmem->drain(t->pmem);
  return TS_OK;
}

/* cutting and lock held */
static int32_t may_complete(const ts_pm_table *t, uint64_t number, uint32_t note_bytes, int32_t *at, ts_err err) {
  *at = find(t, number);
  if (*at < 0 || t->cuts[*at].complete)
    return ts_fail(err, TS_EINVAL, "Cannot complete checkpoint %llu of table \"%s\": it %s", (unsigned long long)number, t->name,
                   *at < 0 ? "has not begun, or was dropped" : "is complete");
  if (note_bytes > MOST_NOTE)
    return ts_fail(err, TS_EINVAL, "Cannot complete checkpoint %llu of table \"%s\": a note of %u bytes; at most %u are taken",
                   (unsigned long long)number, t->name, note_bytes, MOST_NOTE);
  return t->sync_failed ? refused(t, err) : TS_OK;
}

static int32_t complete(ts_records *records, uint64_t number, const void *note, uint32_t note_bytes, ts_err err) {
  ts_pm_table *t = (ts_pm_table *)records;
  int32_t at;
  pthread_mutex_lock(&t->cutting);
  pthread_rwlock_wrlock(&t->lock);
  int32_t status = may_complete(t, number, note_bytes, &at, err);
  if (status == TS_OK) status = ts_pm_reserve(t, 1, "complete a checkpoint of", err); /* the first file has the root */
  if (status == TS_OK) status = write_note(t, &t->cuts[at], note, note_bytes, err);
  ts_pm_root root = t->root;
  if (status == TS_OK) {
    root.segments = t->segment_count;
    root.cut[root.cuts++] = t->cuts[at].cut;
  }
  pthread_rwlock_unlock(&t->lock);
  const bool noted = status == TS_OK;
  if (status == TS_OK && TS_BUG("pmem: the root is written before the rows are durable")) status = ts_pm_root_write(t, &root, err);
  if (status == TS_OK) status = ts_pm_sync(t, err);
  TS_SYNC("pmem:cut:synced");
  if (status == TS_OK && !TS_BUG("pmem: the root is written before the rows are durable")) status = ts_pm_root_write(t, &root, err);
  pthread_rwlock_wrlock(&t->lock);
  if (status == TS_OK) t->cuts[at].complete = true;
  else if (noted && !t->sync_failed) forget_note(t, &t->cuts[at]);
  pthread_rwlock_unlock(&t->lock);
  pthread_mutex_unlock(&t->cutting);
  return status;
}

/* What it retained goes to the one before it, as far as that has it, or is free; a piece a hold of the lock. cutting held. */
static void release(ts_pm_table *t, ts_pm_kept *kept, int32_t below) {
  for (bool more = true; more;) {
    pthread_rwlock_wrlock(&t->lock);
    for (uint32_t i = 0; i < PLACES_A_HOLD && more; i++) {
      uint64_t place = ts_pm_pop(t, &kept->retained);
      if (place != TS_PM_NO_PLACE) {
        const bool stays = below >= 0 && ts_pm_at(t, place)->from <= t->cuts[below].cut.epoch;
        ts_pm_push(t, stays && !TS_BUG("pmem: what a dropped one shared is free") ? &t->cuts[below].retained : &t->free, place);
        t->retained -= !stays;
      } else if (kept->complete && (place = ts_pm_pop(t, &kept->note)) != TS_PM_NO_PLACE) {
        ts_pm_push(t, &t->free, place);
      } else {
        more = false;
      }
    }
    pthread_rwlock_unlock(&t->lock);
  }
}

static int32_t may_drop(const ts_pm_table *t, uint64_t number, int32_t *at, ts_err err) {
  uint32_t complete_ones = 0;
  for (uint32_t i = 0; i < t->cut_count; i++) complete_ones += t->cuts[i].complete;
  *at = find(t, number);
  if (*at < 0) {
    char cuts[192];
    ts_pm_say_cuts(t, false, cuts, sizeof cuts);
    return ts_fail(err, TS_EINVAL, "Cannot drop checkpoint %llu of table \"%s\": there is none; there are %s", (unsigned long long)number,
                   t->name, cuts[0] == '\0' ? "none" : cuts);
  }
  if (t->cuts[*at].complete && complete_ones == 1)
    return ts_fail(err, TS_EINVAL,
                   "Cannot drop checkpoint %llu of table \"%s\": it is the only complete one; complete another first",
                   (unsigned long long)number, t->name);
  return t->cuts[*at].complete && t->sync_failed ? refused(t, err) : TS_OK;
}

static int32_t drop(ts_records *records, uint64_t number, ts_err err) {
  ts_pm_table *t = (ts_pm_table *)records;
  int32_t at;
  pthread_mutex_lock(&t->cutting);
  int32_t status = may_drop(t, number, &at, err);
  if (status == TS_OK && t->cuts[at].complete && !TS_BUG("pmem: a dropped checkpoint stays in the root")) {
    ts_pm_root root = t->root;
    ts_pm_root_leave_out(&root, (uint32_t)at); /* the incomplete one is the last, and in no root */
    status = ts_pm_root_write(t, &root, err);
    TS_SYNC("pmem:cut:removed");
  }
  if (status == TS_OK && t->sync_failed && !TS_BUG("pmem: what may be on the medium is free")) {
    pthread_rwlock_wrlock(&t->lock);
    t->cuts[at].dropped = true;
    pthread_rwlock_unlock(&t->lock);
  } else if (status == TS_OK) {
    pthread_rwlock_wrlock(&t->lock);
    ts_pm_kept kept = t->cuts[at];
    if (!kept.complete) forget_note(t, &kept);
    t->cut_count--;
    memmove(&t->cuts[at], &t->cuts[at + 1], (t->cut_count - (uint32_t)at) * sizeof t->cuts[0]);
    pthread_rwlock_unlock(&t->lock);
    release(t, &kept, at - 1);
  }
  pthread_mutex_unlock(&t->cutting);
  return status;
}

static uint32_t list(ts_records *records, ts_records_checkpoint out[TS_RECORDS_CUTS]) {
  ts_pm_table *t = (ts_pm_table *)records;
  pthread_rwlock_rdlock(&t->lock);
  const uint32_t n = t->cut_count - (t->cut_count > 0 && t->cuts[t->cut_count - 1].dropped);
  for (uint32_t i = 0; i < n; i++) out[i] = (ts_records_checkpoint){t->cuts[i].cut.number, t->cuts[i].complete};
  pthread_rwlock_unlock(&t->lock);
  return n;
}

static const void *note_of(ts_records *records, uint32_t *bytes) {
  const ts_pm_table *t = (const ts_pm_table *)records;
  *bytes = t->note_bytes;
  return t->note;
}

const ts_records_cuts ts_pm_cuts = {
    .begin = begin, .put = ts_pm_put_as_of, .complete = complete, .drop = drop, .list = list, .note = note_of};
