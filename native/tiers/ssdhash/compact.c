/* compact.c - makes room: rewrites what lives in a file that is mostly garbage, and lets the file go.
 *
 * Victim: the sealed file with the highest (garbage / live) * age, the benefit by the cost of LFS (Rosenblum and
 * Ousterhout, 1992), age in records appended since it began: young files are left alone while their records go on dying
 * (taking the emptiest file instead costs a tenth more bytes written where updates are skewed). The victim is read with
 * no lock held; its live records are added a piece at a time under the append lock, each only if the index still means
 * this one. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <stdio.h>

static bool in_chunks(const ts_ssd_table *t, const ts_ssd_file *file) {
  return file->memory_from != UINT32_MAX || (t->streams[file->stream].file == file);
}

/* append held. NULL: none is worth it. */
static ts_ssd_file *choose(ts_ssd_table *t) {
  ts_ssd_file *best = NULL;
  double best_score = 0;
  pthread_mutex_lock(&t->state);
  for (uint32_t id = 0; id < t->file_slots; id++) {
    ts_ssd_file *file = t->files[id];
    if (file == NULL || file->state != TS_SSD_SEALED || file->bad || in_chunks(t, file)) continue;
    if (!ts_ssd_retained_known(file)) continue;
    const uint32_t kept = file->live + file->retained_count, garbage = file->count - kept;
    /* Below a 32nd, room costs 32 times its bytes in writes. */
    if (garbage == 0 || garbage < file->count / 32) continue;
    double score = (double)garbage / kept * (double)(t->appended - file->born + 1);
    if (score <= best_score) continue;
    best = file;
    best_score = score;
  }
  if (best != NULL) best->state = TS_SSD_COMPACTING;
  pthread_mutex_unlock(&t->state);
  return best;
}

/* A pass over a victim. What cannot be read or has a wrong checksum is passed over: the rest is kept all the same, and
 * whether something that lives was among it shows at the end. */
typedef struct pass {
  ts_ssd_file *victim;
  bool live;      /* live records are kept, */
  int32_t cut;    /* and those that t->cuts[cut] retains, -1: none */
  uint32_t done;  /* cuts that had a pass, a bit each */
  int32_t damage; /* first one: TS_OK, TS_EFORMAT, or why a read failed */
  char what[256];
} pass;

static void damaged(const ts_ssd_table *t, pass *p, uint64_t offset) {
  if (p->damage != TS_OK) return;
  p->damage = ts_fail((ts_err){p->what, sizeof p->what}, TS_EFORMAT,
                      "Cannot compact %s/%016llx.log: the record at offset %llu (table \"%s\") has a wrong checksum; the "
                      "file was damaged",
                      t->folder, (unsigned long long)p->victim->number, (unsigned long long)offset, t->table);
}

/* Moves a record that t->cuts[cut] retains, if its sequence says that this checkpoint or an earlier one has it; append
 * held. */
static int32_t keep_retained(ts_ssd_table *t, ts_ssd_file *victim, uint32_t slot, const ts_ssd_record *record, uint32_t cut,
                             ts_err err) {
  const ts_ssd_file *file = t->streams[TS_SSD_RETAINED].file;
  const bool needed = record->sequence < t->cuts[cut].sequence; /* which rise */
  ts_location location = TS_LOCATION_NONE;
  int32_t status = TS_OK;
  t->retaining = t->cuts[cut].number;
  if (needed && file != NULL && file->through != t->retaining) status = ts_ssd_seal_stream(t, TS_SSD_RETAINED, err);
  if (needed && status == TS_OK) status = ts_ssd_append(t, TS_SSD_RETAINED, record, &location, err);
  if (status != TS_OK) return status;
  pthread_mutex_lock(&t->state);
  if (needed) {
    ts_ssd_file *to = ts_ssd_file_of(t, location);
    ts_ssd_retain(t, to, ts_ssd_record_of(t, location), cut);
    to->live--; /* it is being written: nobody takes it for dead */
    t->retained_rows++;
  }
  ts_ssd_release_retained(t, victim, slot, cut);
  pthread_mutex_unlock(&t->state);
  return TS_OK;
}

/* Where a survivor goes: what the last checkpoint may have stays apart from what is later. */
static uint32_t stream_of_survivor(const ts_ssd_table *t, const ts_ssd_record *record) {
  return t->cut_count > 0 && record->sequence < t->begun_sequence ? TS_SSD_AS_OF : TS_SSD_SURVIVORS;
}

/* Adds the live ones of these records to the stream of survivors; append held. Only what the checksum vouches for is a
 * key: a damaged one would be asked for in the index in vain, and count as garbage. */
static int32_t rewrite(ts_ssd_table *t, pass *p, uint32_t first, uint32_t n, const unsigned char *bytes, uint64_t offset,
                       ts_err err) {
  ts_ssd_file *victim = p->victim;
  int64_t keys[TS_SSD_PUT_BATCH];
  uint64_t hashes[TS_SSD_PUT_BATCH];
  ts_location locations[TS_SSD_PUT_BATCH];
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < n && status == TS_OK;) {
    uint32_t m = 0;
    for (; i < n && m < TS_SSD_PUT_BATCH; i++) {
      const uint64_t at = ts_ssd_offset(&victim->layout, first + i);
      ts_ssd_record record;
      if (!ts_ssd_decode(&victim->layout, t->row_bytes, victim->number, first + i, bytes + (at - offset), &record)) {
        damaged(t, p, at);
        continue;
      }
      if (p->cut >= 0 && ts_ssd_is_retained(victim, first + i, (uint32_t)p->cut)) {
        status = keep_retained(t, victim, first + i, &record, (uint32_t)p->cut, err);
        if (status != TS_OK) break;
        continue;
      }
      const uint64_t hash = ts_index_hash(record.key);
      ts_location location = TS_LOCATION_NONE;
      if (p->live) ts_index_find(&t->index, &record.key, &hash, 1, &location);
      if (location != ((uint64_t)victim->id << t->shift | (first + i))) continue;
      const uint32_t stream = stream_of_survivor(t, &record);
      status = ts_ssd_append(t, stream, &record, &locations[m], err);
      if (status == TS_EFULL && stream == TS_SSD_SURVIVORS) status = ts_ssd_append(t, TS_SSD_COLD, &record, &locations[m], err); /* which has memory */
      if (status != TS_OK) break;
      keys[m] = record.key;
      hashes[m++] = hash;
    }
    ts_ssd_publish(t, m, keys, hashes, locations, -1);
    pthread_mutex_lock(&t->state);
    t->compacted_rows += m;
    pthread_mutex_unlock(&t->state);
  }
  return status;
}

/* A table that was only read from so far has kept nothing yet. */
static bool can_replace(ts_ssd_table *t) {
  pthread_mutex_lock(&t->append);
  const bool yes = t->can_replace;
  pthread_mutex_unlock(&t->append);
  return yes;
}

/* The live records and the latest that are retained, then checkpoint by checkpoint what else is: a file of retained records
 * has those of one. A checkpoint may begin meanwhile; what it retains is found in a pass of its own. False: that was all. */
static bool next_pass(ts_ssd_table *t, pass *p, bool first) {
  pthread_mutex_lock(&t->append);
  int32_t cut = (int32_t)t->cut_count - 1;
  while (cut >= 0 && (p->victim->retained[cut].count == 0 || (p->done >> cut & 1) != 0)) cut--;
  pthread_mutex_unlock(&t->append);
  p->live = first;
  p->cut = cut;
  if (cut >= 0) p->done |= 1u << cut;
  return first || cut >= 0;
}

static int32_t pass_over(ts_ssd_table *t, pass *p, const ts_ssd_buffer *buffer, ts_err err) {
  const ts_ssd_file *victim = p->victim;
  const ts_ssd_layout *l = &victim->layout;
  const uint32_t step = (uint32_t)(buffer->bytes / l->page_bytes) * l->page_records;
  int32_t status = TS_OK;
  for (uint32_t first = 0; status == TS_OK && first < victim->count; first += step) {
    uint32_t n = TS_MIN(step, victim->count - first);
    uint64_t offset = ts_ssd_offset(l, first);
    uint64_t end = ts_ssd_offset(l, first + n - 1) + l->record_bytes;
    ts_err first_error = p->damage == TS_OK ? (ts_err){p->what, sizeof p->what} : (ts_err){0};
    int32_t read = ts_ssd_pread(t, victim, buffer->memory, TS_ROUND_UP(end, TS_SSD_BLOCK) - offset, offset, first_error);
    if (read != TS_OK) {
      if (p->damage == TS_OK) p->damage = read;
      continue;
    }
    TS_SYNC("ssd:compact:read");
    pthread_mutex_lock(&t->append);
    t->surviving = true;
    status = rewrite(t, p, first, n, buffer->memory, offset, err);
    t->surviving = false;
    pthread_mutex_unlock(&t->append);
  }
  return status;
}

/* compacting held, no other lock. *bad: live records are left that cannot be kept. Their file stays as it is and is no
 * victim again; whoever asks for such a record is told. */
static int32_t compact(ts_ssd_table *t, ts_ssd_file *victim, bool *bad, ts_err err) {
  pass p = {.victim = victim, .damage = TS_OK};
  ts_ssd_buffer buffer = ts_ssd_take_buffer(t, t->chunk_memory);
  if (buffer.memory == NULL) buffer = can_replace(t) ? ts_ssd_take_last(t) : ts_ssd_take_buffer(t, victim->layout.page_bytes);
  int32_t status = TS_OK;
  if (buffer.memory == NULL)
    status = ts_fail(
        err, TS_EFULL,
        "Cannot compact table \"%s\": %llu bytes of DRAM are needed, the limit refuses them; raise the first size",
        t->table, (unsigned long long)buffer.bytes);
  for (bool first = true; status == TS_OK && next_pass(t, &p, first); first = false)
    status = pass_over(t, &p, &buffer, err);
  if (buffer.memory != NULL) ts_ssd_give_last(t, &buffer);
  TS_SYNC("ssd:compact:rewritten");
  pthread_mutex_lock(&t->append);
  pthread_mutex_lock(&t->state);
  t->compactions++;
  *bad = status == TS_OK && victim->live + victim->retained_count > 0;
  victim->bad = *bad;
  victim->state = TS_SSD_SEALED;
  ts_ssd_file_doom_if_dead(t, victim);
  pthread_mutex_unlock(&t->state);
  pthread_mutex_unlock(&t->append);
  if (*bad && p.damage == TS_OK) /* nothing that lives was passed over */
    return ts_fail(err, TS_EINTERNAL, "Cannot compact %s/%016llx.log (table \"%s\"): the index does not know %u of its records",
                   t->folder, (unsigned long long)victim->number, t->table, victim->live + victim->retained_count);
  return *bad ? ts_fail(err, p.damage, "%s", p.what) : status;
}

static void remember(ts_ssd_table *t, const char *trouble) {
  pthread_mutex_lock(&t->state);
  snprintf(t->trouble, sizeof t->trouble, "%s", trouble);
  pthread_mutex_unlock(&t->state);
}

/* Makes an active file with garbage a possible victim; append held. */
static bool seal_one(ts_ssd_table *t, ts_err err, int32_t *status) {
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++) {
    const ts_ssd_file *file = t->streams[s].file;
    if (file == NULL || file->count - file->live - file->retained_count <= file->count / 32) continue;
    *status = ts_ssd_seal_stream(t, s, err);
    return *status == TS_OK;
  }
  return false;
}

/* state held: a doomed file that no read is under way in. Whoever made room looked before; a reader may have left since. */
static bool one_can_go(const ts_ssd_table *t) {
  for (uint32_t id = 0; id < t->file_slots; id++)
    if (t->files[id] != NULL && t->files[id]->state == TS_SSD_DOOMED && t->files[id]->readers == 0) return true;
  return false;
}

static int32_t no_room(const ts_ssd_table *t, uint64_t live, uint64_t bytes, const char *retained, const char *trouble,
                       ts_err err) {
  const char *also = trouble[0] != '\0' ? ". Also: " : "";
  if (t->disk_full)
    return ts_fail(err, TS_EFULL,
                   "Cannot put rows of table \"%s\" on SSD: No space left on the disk of %s, where its %llu live records are "
                   "in %llu bytes of files that compaction could not make smaller%s; free some there, or lower the tier's "
                   "size of %llu bytes%s%s",
                   t->table, t->folder, (unsigned long long)live, (unsigned long long)bytes, retained,
                   (unsigned long long)t->budget->limit, also, trouble);
  return ts_fail(err, TS_EFULL,
                 "Cannot put rows of table \"%s\" on SSD: its %llu live records are in %llu bytes of files%s, and the tier's "
                 "limit of %llu bytes leaves no room that compaction could make; raise its size%s%s",
                 t->table, (unsigned long long)live, (unsigned long long)bytes, retained,
                 (unsigned long long)t->budget->limit, also, trouble);
}

int32_t ts_ssd_make_room(ts_ssd_table *t, bool hopeless, ts_err err) {
  char trouble[256] = "";
  int32_t status = TS_OK;
  bool bad = false;
  pthread_mutex_lock(&t->compacting);
  for (;;) {
    pthread_mutex_lock(&t->append);
    bool freed = ts_ssd_reap(t) > 0;
    ts_ssd_file *victim = freed || hopeless || t->doomed_bytes > 0 ? NULL : choose(t);
    if (!freed && !hopeless && victim == NULL) {
      /* What replaced the records of doomed files, or the last ones of a file, is still in memory. */
      status = ts_ssd_write_out(t, err);
      freed = status == TS_OK && ts_ssd_reap(t) > 0;
      if (status == TS_OK && t->sync_failed) status = ts_ssd_sync_moved(t, err); /* says so: no file goes any more */
      victim = freed || status != TS_OK ? NULL : choose(t);
    }
    bool again = victim == NULL && !freed && !hopeless && status == TS_OK && seal_one(t, err, &status);
    pthread_mutex_unlock(&t->append);
    if (freed || status != TS_OK) break;
    if (again) continue;
    if (victim != NULL) {
      status = compact(t, victim, &bad, (ts_err){trouble, sizeof trouble});
      if (bad) {
        remember(t, trouble);
        status = TS_OK;
      }
      if (status == TS_SSD_NO_ROOM)
        status = TS_EFULL;
      else if (status != TS_OK)
        status = ts_fail(err, status, "%s", trouble);
      if (status != TS_OK && status != TS_EFULL) break;
      if (status == TS_OK) continue;
    }
    status = TS_OK;
    TS_SYNC("ssd:room:before_wait");
    pthread_mutex_lock(&t->state);
    const bool doomed = !hopeless && t->doomed_bytes > 0; /* only readers are in the way */
    if (doomed && !one_can_go(t)) pthread_cond_wait(&t->freed, &t->state);
    uint64_t live = ts_index_live(&t->index), bytes = t->medium_bytes;
    char retained[256];
    ts_ssd_say_retained(t, retained, sizeof retained);
    pthread_mutex_unlock(&t->state);
    if (doomed) continue;
    status = no_room(t, live, bytes, retained, trouble, err);
    break;
  }
  pthread_mutex_unlock(&t->compacting);
  return status;
}

static bool untidy(ts_ssd_table *t) {
  pthread_mutex_lock(&t->state);
  const uint64_t live = ts_index_live(&t->index) + t->retained;
  bool yes = (t->records - TS_MIN(live, t->records)) * 100 > t->records * t->options.garbage_percent;
  pthread_mutex_unlock(&t->state);
  return yes;
}

static void tidy_now(ts_ssd_table *t) {
  while (untidy(t) && !t->stop) {
    char trouble[256] = "";
    bool bad = false;
    pthread_mutex_lock(&t->compacting);
    pthread_mutex_lock(&t->append);
    ts_ssd_reap(t);
    ts_ssd_file *victim = choose(t);
    pthread_mutex_unlock(&t->append);
    int32_t status = victim == NULL ? TS_OK : compact(t, victim, &bad, (ts_err){trouble, sizeof trouble});
    pthread_mutex_unlock(&t->compacting);
    if (status != TS_OK && trouble[0] != '\0') remember(t, trouble);
    if (victim == NULL || (status != TS_OK && !bad)) return;
  }
}

void ts_ssd_tidy(ts_ssd_table *t) {
  if (!untidy(t)) return;
  if (!t->has_thread) {
    tidy_now(t);
    return;
  }
  pthread_mutex_lock(&t->state);
  t->wanted = true;
  pthread_cond_signal(&t->work);
  pthread_mutex_unlock(&t->state);
}

void *ts_ssd_compactor(void *table) {
  ts_ssd_table *t = table;
  for (;;) {
    pthread_mutex_lock(&t->state);
    TS_SYNC("ssd:compactor:looks");
    while (!t->wanted && !t->stop) pthread_cond_wait(&t->work, &t->state);
    bool stop = t->stop;
    t->wanted = false;
    pthread_mutex_unlock(&t->state);
    if (stop) return NULL;
    tidy_now(t);
  }
}
