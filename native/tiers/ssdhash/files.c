/* files.c - the set of a table's log files, and the bytes the medium's budget is charged for them.
 *
 * A file is charged chunk by chunk as it grows, and the disk is asked for a chunk's room before a record is taken for it:
 * what was taken can be written. Compaction must write before it can delete, so a table keeps a reserve
 * of one file and a little from the beginning: survivors are charged to it when the limit refuses, and what deleted
 * files give back fills it up first.
 *
 * To replace a record must always be possible. So files and reserve together are charged for more than all live records
 * would take in files that are no victims of compaction (`floor_of`); who adds a record pays for that first. Where puts
 * have used up the reserve but for what survivors need, there is so much garbage that some file is a victim, and
 * compacting it frees more than it takes.
 *
 * On the disk the reserve is a file of that length without contents, the ballast: where the disk is full, it is cut, and
 * grows again when files have gone. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALLEST_FILE (UINT64_C(64) << 10)

bool ts_ssd_charge(ts_ssd_table *t, uint64_t bytes, bool survivors) {
  bool ok = ts_budget_take(t->budget, TS_PURPOSE_ROWS, bytes);
  pthread_mutex_lock(&t->state);
  if (!ok && t->reserve >= bytes + (survivors ? 0 : t->reserve_wanted)) {
    t->reserve -= bytes;
    ok = true;
  }
  if (ok) t->medium_bytes += bytes;
  pthread_mutex_unlock(&t->state);
  return ok;
}

/* state held */
static void discharge(ts_ssd_table *t, uint64_t bytes) {
  t->medium_bytes -= bytes;
  t->reserve += bytes;
  const uint64_t keep = TS_MAX(t->reserve_wanted, t->promised - TS_MIN(t->promised, t->medium_bytes));
  if (t->reserve <= keep) return;
  ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, t->reserve - keep);
  t->reserve = keep;
}

void ts_ssd_discharge(ts_ssd_table *t, uint64_t bytes) {
  pthread_mutex_lock(&t->state);
  discharge(t, bytes);
  pthread_mutex_unlock(&t->state);
}

/* Of the smallest files, in chunks; compaction makes none that are shorter for good. */
static uint64_t least_chunks(const ts_ssd_table *t, uint64_t chunk_bytes) {
  const uint64_t bytes = TS_MIN(t->largest_file, SMALLEST_FILE);
  return bytes > TS_SSD_BLOCK + chunk_bytes ? (bytes - TS_SSD_BLOCK) / chunk_bytes : 1;
}

/* Files without a victim of compaction (compact.c) have less than a 32nd of garbage; beside them each stream may have a
 * chunk that is not full, a put needs another one, and survivors have the reserve. */
static uint64_t floor_of(const ts_ssd_table *t, uint64_t records) {
  if (records == 0) return 0;
  ts_ssd_layout l;
  ts_ssd_layout_make(t->row_bytes, t->version_bytes, &l);
  const uint64_t chunk_bytes = (uint64_t)ts_ssd_chunk_records(t, &l) / l.page_records * l.page_bytes;
  const uint64_t pages = ((records + l.page_records - 1) / l.page_records) * l.page_bytes;
  const uint64_t headers = pages / (least_chunks(t, chunk_bytes) * chunk_bytes) * TS_SSD_BLOCK;
  return pages + headers + (pages + headers) / 15 + ((t->durable ? TS_SSD_STREAMS : TS_SSD_PLAIN_STREAMS) + 1) * (chunk_bytes + TS_SSD_BLOCK) + t->reserve_wanted;
}

/* Memory without which nothing could be replaced: a chunk for puts, which survivors can go to, too, and what compaction
 * reads into. */
static int32_t take_buffers(ts_ssd_table *t, ts_err err) {
  ts_ssd_chunk *cold = t->streams[TS_SSD_COLD].chunks;
  if (t->can_replace) return TS_OK;
  if (cold[0].buffer.memory == NULL && cold[1].buffer.memory == NULL) {
    cold[0].buffer = ts_ssd_take_buffer(t, t->chunk_memory);
    if (cold[0].buffer.memory == NULL) cold[0].buffer.memory = ts_ssd_take_needed(t, cold[0].buffer.bytes);
  }
  t->can_replace = (cold[0].buffer.memory != NULL || cold[1].buffer.memory != NULL) && ts_ssd_keep_last(t);
  return t->can_replace ? TS_OK
                        : ts_fail(err, TS_EFULL,
                                  "Cannot put rows of table \"%s\" on SSD: a write buffer needs %llu bytes of DRAM, the "
                                  "limit refuses them; raise the first size or lower ssdhash.buffer_bytes",
                                  t->table, (unsigned long long)t->chunk_memory);
}

int32_t ts_ssd_promise(ts_ssd_table *t, uint32_t fresh, ts_err err) {
  int32_t status = take_buffers(t, err);
  t->hopeless = false;
  if (status != TS_OK || fresh == 0) return status;
  pthread_mutex_lock(&t->state); /* a checkpoint that ends charges its file beside this */
  const uint64_t live = ts_index_live(&t->index) + t->retained, wanted = floor_of(t, live + fresh), have = t->medium_bytes + t->reserve;
  if (wanted <= have) t->promised = TS_MAX(t->promised, wanted);
  pthread_mutex_unlock(&t->state);
  if (wanted <= have) return TS_OK;
  t->disk_full = false;
  uint64_t more = TS_MAX(wanted - have, t->chunk_memory);
  if (!ts_budget_take(t->budget, TS_PURPOSE_ROWS, more)) {
    more = wanted - have;
    if (!ts_budget_take(t->budget, TS_PURPOSE_ROWS, more)) {
      const uint64_t used = atomic_load(&t->budget->used), now = floor_of(t, live);
      t->hopeless = used + more > t->budget->limit + (have - TS_MIN(have, now));
      return TS_SSD_NO_ROOM;
    }
  }
  pthread_mutex_lock(&t->state);
  t->reserve += more;
  pthread_mutex_unlock(&t->state);
  ts_ssd_ballast_resize(t, t->reserve);
  t->disk_full = t->ballast_bytes < t->reserve && !t->no_ballast && t->ballast >= 0;
  pthread_mutex_lock(&t->state);
  if (t->disk_full) {
    t->reserve -= more;
    ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, more);
  } else {
    t->promised = TS_MAX(t->promised, wanted);
  }
  pthread_mutex_unlock(&t->state);
  return t->disk_full ? TS_SSD_NO_ROOM : TS_OK;
}

void ts_ssd_release(ts_ssd_table *t) {
  t->promised = TS_MIN(t->promised, floor_of(t, ts_index_live(&t->index) + t->retained));
  discharge(t, 0);
}

int32_t ts_ssd_file_add(ts_ssd_table *t, ts_ssd_file *file, ts_err err) {
  uint32_t id = 0;
  while (id < t->file_slots && t->files[id] != NULL) id++;
  if (id >= t->max_files)
    return ts_fail(
        err, TS_EFULL,
        "Cannot add a log file to table \"%s\": it has %u, which is the most; set a larger ssdhash.file_bytes",
        t->table, id);
  if (id == t->file_slots) {
    uint32_t slots = t->file_slots * 2 + 64;
    ts_ssd_file **more = malloc(slots * sizeof(*more));
    if (more == NULL) return ts_fail(err, TS_ENOMEM, "Cannot add a log file to table \"%s\": out of memory", t->table);
    memset(more, 0, slots * sizeof(*more));
    pthread_mutex_lock(&t->state);
    if (t->file_slots > 0) memcpy(more, t->files, t->file_slots * sizeof(*more));
    free(t->files);
    t->files = more;
    t->file_slots = slots;
    pthread_mutex_unlock(&t->state);
  }
  pthread_mutex_lock(&t->state);
  file->id = id;
  t->files[id] = file;
  pthread_mutex_unlock(&t->state);
  return TS_OK;
}

int32_t ts_ssd_file_extend(ts_ssd_table *t, ts_ssd_file *file, uint64_t offset, uint64_t length, ts_err err) {
  /* Bytes of the reserve that were given to survivors are theirs on the disk, too. */
  if (t->ballast_bytes > t->reserve) ts_ssd_ballast_resize(t, t->reserve);
  int32_t status = ts_ssd_allocate(t, file, offset, length, err);
  const uint64_t kept = t->surviving ? 0 : t->reserve_wanted;
  if (status == TS_SSD_NO_ROOM && t->ballast_bytes >= kept + length) {
    ts_ssd_ballast_resize(t, t->ballast_bytes - length);
    status = ts_ssd_allocate(t, file, offset, length, err);
  }
  t->disk_full = status == TS_SSD_NO_ROOM;
  return status;
}

int32_t ts_ssd_file_create(ts_ssd_table *t, uint32_t stream, uint32_t chunk_records, ts_ssd_file **out, ts_err err) {
  ts_ssd_layout layout;
  ts_ssd_layout_make(t->row_bytes, t->version_bytes, &layout);
  uint64_t chunk_bytes = (uint64_t)chunk_records / layout.page_records * layout.page_bytes;
  /* A 64th of the table: small tables get small files, and garbage is never far from a file's worth. */
  uint64_t wanted = TS_MIN(t->largest_file, TS_MAX(t->medium_bytes / 64, SMALLEST_FILE));
  uint64_t chunks = TS_MAX(1, wanted > TS_SSD_BLOCK ? (wanted - TS_SSD_BLOCK) / chunk_bytes : 0);
  uint64_t capacity = TS_MIN(chunks * chunk_records, (UINT64_C(1) << t->shift) / chunk_records * chunk_records);
  uint64_t bytes = ts_ssd_extent(&layout, (uint32_t)capacity);
  /* The reserve: survivors of one victim and a chunk that is begun for each stream. */
  uint64_t reserve = bytes + chunk_bytes + TS_SSD_BLOCK;
  if (t->durable) reserve += (TS_SSD_STREAMS - TS_SSD_PLAIN_STREAMS) * (chunk_bytes + 2 * TS_SSD_BLOCK);
  if (reserve > t->reserve_wanted) {
    uint64_t more = reserve - t->reserve_wanted;
    if (ts_budget_take(t->budget, TS_PURPOSE_ROWS, more)) {
      pthread_mutex_lock(&t->state);
      t->reserve_wanted += more;
      t->reserve += more;
      pthread_mutex_unlock(&t->state);
      ts_ssd_ballast_resize(t, t->reserve);
    } else if (t->reserve_wanted == 0) {
      return TS_SSD_NO_ROOM;
    } else { /* as large as the reserve allows */
      uint64_t fits = (t->reserve_wanted - 2 * TS_SSD_BLOCK) / chunk_bytes;
      capacity = TS_MIN(capacity, TS_MAX(1, fits > 0 ? fits - 1 : 0) * chunk_records);
    }
  }
  ts_ssd_file *file = calloc(1, sizeof *file);
  if (file == NULL) return ts_fail(err, TS_ENOMEM, "Cannot add a log file to table \"%s\": out of memory", t->table);
  *file = (ts_ssd_file){.number = t->next_number,
                        .handle = -1,
                        .stream = stream,
                        .layout = layout,
                        .capacity = (uint32_t)capacity,
                        .memory_from = UINT32_MAX,
                        .born = t->appended,
                        .begun = t->begun,
                        .through = stream == TS_SSD_RETAINED ? t->retaining : UINT64_MAX,
                        .dirty = true};
  if (!ts_ssd_charge(t, TS_SSD_BLOCK, t->surviving)) {
    free(file);
    return TS_SSD_NO_ROOM;
  }
  file->charged = TS_SSD_BLOCK;
  file->handle = ts_ssd_open_log(t, file->number, true);
  int32_t status = file->handle < 0 ? ts_ssd_io_error(t, "create", file, 0, -file->handle, err) : ts_ssd_file_add(t, file, err);
  if (status != TS_OK) {
    ts_ssd_discharge(t, file->charged);
    if (file->handle >= 0) {
      char path[TS_SSD_PATH];
      t->disk->close(t->disk, file->handle);
      t->disk->unlink(t->disk, ts_ssd_log_path(t, file->number, path));
    }
    free(file);
    return status;
  }
  t->next_number++;
  *out = file;
  return TS_OK;
}

void ts_ssd_file_doom_if_dead(ts_ssd_table *t, ts_ssd_file *file) {
  if (file->live > 0 || file->retained_count > 0 || (file->state != TS_SSD_SEALED && file->state != TS_SSD_COMPACTING)) return;
  file->state = TS_SSD_DOOMED;
  file->mark = t->appended;
  t->doomed_bytes += file->charged;
  t->records -= file->count;
}

void ts_ssd_file_lose(ts_ssd_table *t, ts_ssd_file *file) {
  file->live--;
  /* A file that is being compacted is finished by whoever does that. */
  if (file->state == TS_SSD_SEALED) ts_ssd_file_doom_if_dead(t, file);
}

static bool unlink_log(ts_ssd_table *t, ts_ssd_file *file) {
  char path[TS_SSD_PATH];
  TS_SYNC_VALUE("ssd:medium:unlink", file->number);
  const int error = t->disk->unlink(t->disk, ts_ssd_log_path(t, file->number, path));
  if (error == 0) TS_SYNC_VALUE("ssd:medium:free", file->charged);
  return error == 0 || error == -ENOENT;
}

void ts_ssd_file_drop(ts_ssd_table *t, ts_ssd_file *file, bool unlink_it) {
  if (unlink_it) unlink_log(t, file);
  if (file->handle >= 0) t->disk->close(t->disk, file->handle);
  t->files[file->id] = NULL;
  ts_ssd_retained_free(t, file);
  free(file->marks);
  free(file);
}

/* Whether a chunk of it is in memory still; append held. One that was written out when it was just full is written once more
 * when the next begins, and its file may have died by then. */
static bool has_chunk(const ts_ssd_table *t, const ts_ssd_file *file) {
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++)
    for (uint32_t i = 0; i < 2; i++)
      if (t->streams[s].chunks[i].used && t->streams[s].chunks[i].file == file) return true;
  return false;
}

uint64_t ts_ssd_reap(ts_ssd_table *t) {
  if (t->ballast_bytes != t->reserve && !t->disk_full) ts_ssd_ballast_resize(t, t->reserve);
  if (t->doomed_bytes == 0) return 0;
  uint64_t freed = 0, unwritten = t->appended;
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++)
    for (uint32_t i = 0; i < 2; i++) {
      const ts_ssd_chunk *c = &t->streams[s].chunks[i];
      if (c->used && c->fill > c->flushed_fill) unwritten = TS_MIN(unwritten, c->first_append);
    }
  if (t->cut_count > 0 && ts_ssd_sync_moved(t, (ts_err){0}) != TS_OK) return 0;
  pthread_mutex_lock(&t->state);
  for (uint32_t id = 0; id < t->file_slots; id++) {
    ts_ssd_file *file = t->files[id];
    if (file == NULL || file->state != TS_SSD_DOOMED || file->readers > 0 || file->mark > unwritten || has_chunk(t, file))
      continue;
    /* One that could not be removed is not forgotten: a checkpoint that does not list it would have its records. */
    if (!unlink_log(t, file) && !TS_BUG("a log that could not be removed is forgotten")) continue;
    freed += file->charged;
    t->doomed_bytes -= file->charged;
    uint64_t charged = file->charged;
    ts_ssd_file_drop(t, file, false);
    discharge(t, charged); /* after the bytes are gone */
  }
  pthread_mutex_unlock(&t->state);
  if (freed > 0) ts_ssd_ballast_resize(t, t->reserve);
  return freed;
}

void ts_ssd_header_make(const ts_ssd_table *t, const ts_ssd_file *file, uint32_t count, unsigned char *block) {
  ts_ssd_header h = {.magic = TS_SSD_MAGIC,
                     .format = TS_SSD_FORMAT,
                     .row_bytes = t->row_bytes,
                     .name_hash = t->name_hash,
                     .number = file->number,
                     .stream = file->stream,
                     .version_bytes = file->layout.version_bytes,
                     .page_bytes = file->layout.page_bytes,
                     .page_records = file->layout.page_records,
                     .capacity = file->capacity,
                     .count = count,
                     .through = file->through};
  h.checksum = ts_crc32c(0, &h, offsetof(ts_ssd_header, checksum));
  memset(block, 0, TS_SSD_BLOCK);
  memcpy(block, &h, sizeof h);
}
