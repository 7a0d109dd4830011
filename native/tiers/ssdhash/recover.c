/* recover.c - opening: the index from the files; and the live map, which is what removals and a clean close leave.
 *
 * Every record's checksum is verified. Of a key's records the one with the largest sequence counts; the sequence is not
 * in the index, so where two files have a key the earlier one's record is read again. After a close the live map says
 * which one it is, and that does not happen. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE (UINT64_C(2) << 20)

typedef struct map_header {
  uint64_t magic;
  uint32_t files, reserved;
  uint64_t sequence;
} map_header;

typedef struct map_entry {
  uint64_t number;
  uint32_t count, reserved;
} map_entry;

typedef struct map_tail {
  uint32_t checksum, clean;
} map_tail;

/* ---- writing the map ---- */

static uint64_t words_of(uint32_t records) { return ((uint64_t)records + 63) / 64; }

static bool in_map(const ts_ssd_file *file) { return file != NULL && file->state != TS_SSD_DOOMED && file->count > 0; }


typedef struct map_sink {
  const ts_disk_ops *disk;
  int handle, error; /* error: a negated errno, 0: none */
  uint32_t crc, fill;
  uint64_t offset; /* of the buffer */
  unsigned char buffer[TS_SSD_BLOCK];
} map_sink;

static void drain(map_sink *s) {
  if (s->error == 0) s->error = ts_disk_write(s->disk, s->handle, s->buffer, s->fill, s->offset);
  s->offset += s->fill;
  s->fill = 0;
}

static void emit(map_sink *s, const void *bytes, uint64_t n) {
  s->crc = ts_crc32c(s->crc, bytes, n);
  for (uint64_t done = 0, m; done < n; done += m) {
    if (s->fill == sizeof s->buffer) drain(s);
    m = TS_MIN(n - done, sizeof s->buffer - s->fill);
    memcpy(s->buffer + s->fill, (const unsigned char *)bytes + done, m);
    s->fill += (uint32_t)m;
  }
}

static int32_t map_failed(const ts_ssd_table *t, int error, ts_err err) {
  char reason[128];
  return ts_fail(err, TS_EIO, "Cannot write %s/%s (table \"%s\"): %s", t->folder, TS_SSD_MAP_NEW, t->table,
                 strerror_r(-error, reason, sizeof reason));
}

/* One group of files after the other, each with a walk over the index: little memory makes it slower, not impossible.
 */
static int32_t write_entries(ts_ssd_table *t, map_sink *s, ts_err err) {
  uint64_t *at = calloc(t->file_slots + 1, sizeof *at); /* per file: first word + 1 in the group, 0: not in it */
  if (at == NULL) return ts_fail(err, TS_ENOMEM, "Cannot write the live map of table \"%s\": out of memory", t->table);
  uint64_t most = UINT64_C(2) << 20; /* words of a group */
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < t->file_slots && status == TS_OK;) {
    uint64_t *bits = NULL, words = 0;
    uint32_t end;
    for (;;) {
      memset(at, 0, t->file_slots * sizeof *at);
      words = 0;
      for (end = first; end < t->file_slots; end++) {
        if (!in_map(t->files[end])) continue;
        uint64_t w = words_of(t->files[end]->count);
        if (words > 0 && words + w > most) break;
        at[end] = words + 1;
        words += w;
      }
      if (words == 0) break;
      bits = ts_ssd_take_memory(t, words * 8);
      if (bits != NULL || most == 1) break;
      most = most / 4 + (most < 4);
    }
    if (words == 0) break;
    if (bits == NULL) {
      status =
          ts_fail(err, TS_EFULL,
                  "Cannot write the live map of table \"%s\": the DRAM limit refuses %llu bytes; raise the first size",
                  t->table, (unsigned long long)words * 8);
      break;
    }
    memset(bits, 0, words * 8);
    ts_index_cursor cursor = {0};
    int64_t key;
    ts_location location;
    while (ts_index_next(&t->index, &cursor, &key, &location)) {
      uint64_t base = at[location >> t->shift];
      uint32_t record = ts_ssd_record_of(t, location);
      if (base != 0) bits[base - 1 + record / 64] |= UINT64_C(1) << (record % 64);
    }
    for (uint32_t id = first; id < end && status == TS_OK; id++) {
      if (at[id] == 0) continue;
      map_entry entry = {t->files[id]->number, t->files[id]->count, 0};
      emit(s, &entry, sizeof entry);
      emit(s, bits + at[id] - 1, words_of(entry.count) * 8);
    }
    ts_ssd_give_memory(t, bits, words * 8);
    first = end;
  }
  free(at);
  return status;
}

int32_t ts_ssd_write_map(ts_ssd_table *t, ts_err err) {
  map_header header = {TS_SSD_MAP_MAGIC, 0, 0, t->sequence};
  uint64_t bytes = sizeof header + sizeof(map_tail);
  for (uint32_t id = 0; id < t->file_slots; id++)
    if (in_map(t->files[id])) {
      header.files++;
      bytes += sizeof(map_entry) + words_of(t->files[id]->count) * 8;
    }
  bytes = TS_ROUND_UP(bytes, TS_SSD_BLOCK);
  if (!ts_ssd_charge(t, bytes, true))
    return ts_fail(
        err, TS_EFULL,
        "Cannot write the live map of table \"%s\": it needs %llu bytes, the tier's limit refuses them; raise its size",
        t->table, (unsigned long long)bytes);
  if (t->disk_full) ts_ssd_ballast_resize(t, t->ballast_bytes - TS_MIN(bytes, t->ballast_bytes));
  char path[TS_SSD_PATH], final[TS_SSD_PATH];
  ts_ssd_path(t, TS_SSD_MAP_NEW, path);
  t->disk->unlink(t->disk, path); /* of a process that died */
  map_sink sink = {.disk = t->disk, .handle = t->disk->create(t->disk, path)};
  int32_t status = sink.handle < 0 ? map_failed(t, sink.handle, err) : TS_OK;
  if (status == TS_OK) {
    emit(&sink, &header, sizeof header);
    status = write_entries(t, &sink, err);
    const map_tail tail = {sink.crc, t->closing};
    emit(&sink, &tail, sizeof tail);
    drain(&sink);
    t->disk->close(t->disk, sink.handle);
    if (sink.error == 0 && status == TS_OK) sink.error = t->disk->rename(t->disk, path, ts_ssd_path(t, TS_SSD_MAP_NAME, final));
    if (status == TS_OK && sink.error != 0) status = map_failed(t, sink.error, err);
    if (status != TS_OK) t->disk->unlink(t->disk, path);
  }
  if (status == TS_OK) {
    ts_ssd_discharge(t, t->map_bytes);
    t->map_bytes = bytes;
    t->bytes_written += bytes;
    t->writes++;
    t->removed = false;
  } else {
    ts_ssd_discharge(t, bytes);
  }
  return status;
}

/* ---- reading it ---- */

typedef struct live_map {
  unsigned char *bytes;
  uint64_t length;
  uint32_t files;
  bool clean;
} live_map;

static int32_t map_bad(const ts_ssd_table *t, uint64_t offset, const char *what, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": %s/%s is damaged at offset %llu: %s", t->table, t->folder,
                 TS_SSD_MAP_NAME, (unsigned long long)offset, what);
}

static int32_t read_map(ts_ssd_table *t, live_map *map, ts_err err) {
  *map = (live_map){0};
  char path[TS_SSD_PATH], reason[128];
  const int handle = t->disk->open(t->disk, ts_ssd_path(t, TS_SSD_MAP_NAME, path));
  if (handle == -ENOENT) return TS_OK;
  const int64_t size = handle < 0 ? handle : t->disk->size(t->disk, handle);
  if (size < 0) {
    if (handle >= 0) t->disk->close(t->disk, handle);
    return ts_disk_fail(err, "open", path, (int)size);
  }
  int32_t status = TS_OK;
  map->length = (uint64_t)size;
  if (map->length < sizeof(map_header) + sizeof(map_tail)) {
    status = map_bad(t, map->length, "the file ends there", err);
  } else if ((map->bytes = ts_ssd_take_memory(t, map->length)) == NULL) {
    status = ts_fail(
        err, TS_EFULL,
        "Cannot open table \"%s\": its live map needs %llu bytes of DRAM, the limit refuses them; raise the first size",
        t->table, (unsigned long long)map->length);
  }
  const int error = status == TS_OK ? ts_disk_read(t->disk, handle, map->bytes, map->length, 0) : 0;
  if (error != 0)
    status = ts_fail(err, TS_EIO, "Cannot read %s/%s (table \"%s\"): %s", t->folder, TS_SSD_MAP_NAME, t->table,
                     error == -ENODATA ? "it became shorter" : strerror_r(-error, reason, sizeof reason));
  t->disk->close(t->disk, handle);
  if (status != TS_OK) return status;
  t->map_bytes = TS_ROUND_UP(map->length, TS_SSD_BLOCK);
  if (!ts_ssd_charge(t, t->map_bytes, false)) {
    t->map_bytes = 0;
    return ts_fail(err, TS_EFULL,
                   "Cannot open table \"%s\": its files are larger than the tier's limit of %llu bytes; raise its size",
                   t->table, (unsigned long long)t->budget->limit);
  }
  map_header header;
  map_tail tail;
  memcpy(&header, map->bytes, sizeof header);
  memcpy(&tail, map->bytes + map->length - sizeof tail, sizeof tail);
  if (header.magic != TS_SSD_MAP_MAGIC) return map_bad(t, 0, "it does not begin as a live map", err);
  if (tail.checksum != ts_crc32c(0, map->bytes, map->length - sizeof tail))
    return map_bad(t, map->length - sizeof tail, "the checksum is wrong", err);
  map->files = header.files;
  map->clean = tail.clean != 0;
  t->sequence = header.sequence;
  return TS_OK;
}

/* The entry of a file; false if the map does not list it. */
static bool map_find(const live_map *map, uint64_t number, map_entry *entry, const uint64_t **bits) {
  if (map->bytes == NULL) return false;
  const unsigned char *at = map->bytes + sizeof(map_header);
  for (uint32_t i = 0; i < map->files; i++) {
    memcpy(entry, at, sizeof *entry);
    at += sizeof *entry;
    if (entry->number == number) {
      *bits = (const uint64_t *)at; /* whole words from the beginning on */
      return true;
    }
    at += words_of(entry->count) * 8;
  }
  return false;
}

/* ---- files ---- */

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

typedef struct listing {
  uint64_t *numbers;
  uint32_t n, capacity;
  bool no_memory;
} listing;

static void list_one(void *context, const char *name) {
  listing *l = context;
  char *end;
  if (strlen(name) != 20 || strcmp(name + 16, ".log") != 0) return;
  const uint64_t number = strtoull(name, &end, 16);
  if (end != name + 16) return;
  if (l->n == l->capacity) {
    uint64_t *more = realloc(l->numbers, (l->capacity * 2 + 64) * sizeof *more);
    l->no_memory |= more == NULL;
    if (more == NULL) return;
    l->numbers = more;
    l->capacity = l->capacity * 2 + 64;
  }
  l->numbers[l->n++] = number;
}

int32_t ts_ssd_list(ts_ssd_table *t, uint64_t **out, uint32_t *count, ts_err err) {
  listing l = {0};
  char reason[128];
  const int error = t->disk->list(t->disk, t->folder, list_one, &l);
  if (error != 0 || l.no_memory) {
    free(l.numbers);
    if (error == 0) return ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
    return ts_fail(err, TS_EIO, "Cannot list the folder %s of table \"%s\": %s", t->folder, t->table,
                   strerror_r(-error, reason, sizeof reason));
  }
  if (l.n > 0) qsort(l.numbers, l.n, sizeof *l.numbers, by_number);
  *out = l.numbers;
  *count = l.n;
  return TS_OK;
}

static int32_t header_bad(const ts_ssd_table *t, uint64_t number, const char *what, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": the header of %s/%016llx.log, at offset 0, %s", t->table,
                 t->folder, (unsigned long long)number, what);
}

/* Whether a file has no byte but the zeros that took room for it (medium.c); `block` has its first ones. */
static bool is_zeros(ts_ssd_table *t, const ts_ssd_file *file, uint64_t size, unsigned char *block) {
  for (uint64_t at = 0;; at += TS_SSD_BLOCK) {
    if (at > 0 && (at + TS_SSD_BLOCK > size || ts_ssd_pread(t, file, block, TS_SSD_BLOCK, at, (ts_err){0}) != TS_OK))
      return at >= size;
    if (block[0] != 0 || memcmp(block, block + 1, TS_SSD_BLOCK - 1) != 0) return false;
  }
}

/* A file that was made, and had nothing written to it before the process died, goes. */
static void remove_empty(const ts_ssd_table *t, ts_ssd_file *file) {
  char path[TS_SSD_PATH];
  TS_SYNC_VALUE("ssd:medium:unlink", file->number);
  t->disk->unlink(t->disk, ts_ssd_log_path(t, file->number, path));
  t->disk->close(t->disk, file->handle);
  free(file);
}

int32_t ts_ssd_open_file(ts_ssd_table *t, uint64_t number, bool in_use, unsigned char *block, ts_ssd_found *found,
                         ts_err err) {
  ts_ssd_file *file = calloc(1, sizeof *file);
  if (file == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  *file = (ts_ssd_file){
      .number = number, .handle = ts_ssd_open_log(t, number, false), .state = TS_SSD_SEALED, .memory_from = UINT32_MAX, .dirty = true};
  const int64_t size = file->handle < 0 ? file->handle : t->disk->size(t->disk, file->handle);
  int32_t status = TS_OK;
  if (size < 0) {
    status = ts_ssd_io_error(t, "open", file, 0, (int)-size, err);
  } else {
    if (size > 0 || in_use) status = ts_ssd_pread(t, file, block, TS_SSD_BLOCK, 0, err);
    if (status == TS_OK && !in_use && (size == 0 || is_zeros(t, file, (uint64_t)size, block))) {
      remove_empty(t, file);
      return TS_OK;
    }
  }
  ts_ssd_header h;
  if (status == TS_OK) {
    memcpy(&h, block, sizeof h);
    if (h.magic != TS_SSD_MAGIC)
      status = header_bad(t, number, "is not that of an SSDHASH log file", err);
    else if (h.checksum != ts_crc32c(0, &h, offsetof(ts_ssd_header, checksum)))
      status = header_bad(t, number, "has a wrong checksum; the file was damaged", err);
    else if (h.format != TS_SSD_FORMAT)
      status = header_bad(
          t, number, "is of another version of the format; remove the folder or use the library that wrote it", err);
    else if (h.name_hash != t->name_hash)
      status = header_bad(
          t, number, "says that it belongs to another table; give each table's files back to their own folder", err);
    else if (h.row_bytes != t->row_bytes)
      status = ts_fail(err, TS_EFORMAT,
                       "Cannot open table \"%s\": %s/%016llx.log holds rows of %u bytes, the table has rows of %u; "
                       "open it with the options it was made with, or remove the folder",
                       t->table, t->folder, (unsigned long long)number, h.row_bytes, t->row_bytes);
    else if (h.number != number)
      status = header_bad(t, number, "has another number; the file was renamed", err);
    else if (!ts_ssd_layout_make(t->row_bytes, h.version_bytes, &file->layout) ||
             h.page_bytes != file->layout.page_bytes || h.page_records != file->layout.page_records ||
             h.stream >= TS_SSD_STREAMS || h.capacity == 0 || h.count > h.capacity)
      status = header_bad(t, number, "has numbers that do not fit together", err);
  }
  if (status != TS_OK) {
    if (file->handle >= 0) t->disk->close(t->disk, file->handle);
    free(file);
    return status;
  }
  file->stream = h.stream;
  file->through = h.through;
  file->capacity = h.capacity;
  *found = (ts_ssd_found){file, (uint64_t)size, h.count, false};
  return TS_OK;
}

/* The sequence of the record the index has. */
static int32_t sequence_at(ts_ssd_table *t, ts_location location, int64_t key, unsigned char *scratch,
                           uint64_t *sequence, ts_err err) {
  const ts_ssd_file *file = ts_ssd_file_of(t, location);
  uint32_t slot = ts_ssd_record_of(t, location);
  uint64_t offset = ts_ssd_offset(&file->layout, slot), first = offset / t->block * t->block;
  int32_t status =
      ts_ssd_pread(t, file, scratch, TS_ROUND_UP(offset + file->layout.record_bytes, t->block) - first, first, err);
  ts_ssd_record record;
  if (status != TS_OK) return status;
  if (!ts_ssd_decode(&file->layout, t->row_bytes, file->number, slot, scratch + (offset - first), &record) ||
      record.key != key)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open table \"%s\": the record at offset %llu of %s/%016llx.log changed while it was read",
                   t->table, (unsigned long long)offset, t->folder, (unsigned long long)file->number);
  *sequence = record.sequence;
  return TS_OK;
}

int32_t ts_ssd_index_record(ts_ssd_table *t, ts_ssd_file *file, uint32_t slot, const ts_ssd_record *record,
                            unsigned char *scratch, ts_err err) {
  uint64_t hash = ts_index_hash(record->key), wanted = 0;
  ts_location old, here = (uint64_t)file->id << t->shift | slot;
  ts_index_find(&t->index, &record->key, &hash, 1, &old);
  if (old == TS_LOCATION_NONE) {
    int32_t status = ts_index_reserve(&t->index, &hash, 1, &wanted);
    if (status == TS_EFULL)
      return ts_fail(err, TS_EFULL,
                     "Cannot open table \"%s\": its index needs %llu more bytes of DRAM, the limit refuses them; raise "
                     "the first size",
                     t->table, (unsigned long long)wanted);
    if (status != TS_OK) return ts_fail(err, status, "Cannot open table \"%s\": no memory for the index", t->table);
    ts_index_insert(&t->index, record->key, hash, here);
    file->live++;
    return TS_OK;
  }
  uint64_t sequence = 0;
  int32_t status = sequence_at(t, old, record->key, scratch, &sequence, err);
  if (status != TS_OK || sequence >= record->sequence) return status;
  ts_index_move(&t->index, record->key, hash, here);
  ts_ssd_file_of(t, old)->live--;
  file->live++;
  return TS_OK;
}

/* Reads a file's records in order; buffer of `bytes`, whole pages. `*end`: the first that is not valid, or all. */
static int32_t scan(ts_ssd_table *t, const ts_ssd_found *f, uint32_t from, uint32_t to, unsigned char *buffer,
                    uint64_t bytes,
                    int32_t (*each)(ts_ssd_table *, ts_ssd_file *, uint32_t, const ts_ssd_record *, unsigned char *,
                                    ts_err),
                    bool stop_at_valid, unsigned char *scratch, uint32_t *end, ts_err err) {
  const ts_ssd_layout *l = &f->file->layout;
  uint32_t step = (uint32_t)(bytes / l->page_bytes) * l->page_records;
  *end = to;
  for (uint32_t first = from / l->page_records * l->page_records; first < to; first += step) {
    uint32_t n = TS_MIN(step, to - first);
    uint64_t offset = ts_ssd_offset(l, first),
             until = TS_ROUND_UP(ts_ssd_offset(l, first + n - 1) + l->record_bytes, TS_SSD_BLOCK);
    uint64_t there = TS_MIN(until, f->size / TS_SSD_BLOCK * TS_SSD_BLOCK);
    if (there > offset) {
      int32_t status = ts_ssd_pread(t, f->file, buffer, there - offset, offset, err);
      if (status != TS_OK) return status;
    }
    for (uint32_t slot = TS_MAX(first, from); slot < first + n; slot++) {
      uint64_t at = ts_ssd_offset(l, slot);
      ts_ssd_record record;
      bool valid = at + l->record_bytes <= there &&
                   ts_ssd_decode(l, t->row_bytes, f->file->number, slot, buffer + (at - offset), &record);
      if (valid == stop_at_valid) {
        *end = slot;
        return TS_OK;
      }
      if (!valid) continue;
      t->sequence = TS_MAX(t->sequence, record.sequence + 1);
      bool dead = f->file->live_bits != NULL && slot < f->file->live_bits_count &&
                  (f->file->live_bits[slot / 64] >> (slot % 64) & 1) == 0;
      int32_t status = dead ? TS_OK : each(t, f->file, slot, &record, scratch, err);
      if (status != TS_OK) return status;
    }
  }
  return TS_OK;
}

static int32_t load(ts_ssd_table *t, ts_ssd_found *f, unsigned char *buffer, uint64_t bytes, unsigned char *scratch,
                    ts_err err) {
  ts_ssd_file *file = f->file;
  uint32_t wanted = f->counted > 0 ? f->counted : file->capacity, end, valid;
  int32_t status = scan(t, f, 0, wanted, buffer, bytes, ts_ssd_index_record, false, scratch, &end, err);
  if (status != TS_OK) return status;
  file->count = end;
  t->records += end;
  if (end == wanted) return TS_OK;
  uint64_t offset = ts_ssd_offset(&file->layout, end);
  bool cut = offset + file->layout.record_bytes > f->size / TS_SSD_BLOCK * TS_SSD_BLOCK;
  bool torn = f->newest && f->counted == 0 && (file->live_bits == NULL || end >= file->live_bits_count);
  if (torn) {
    status = scan(t, f, end + 1, wanted, buffer, bytes, ts_ssd_index_record, true, scratch, &valid, err);
    if (status != TS_OK) return status;
    torn = valid == wanted;
  }
  if (!torn)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open table \"%s\": record %u of %u, at offset %llu of %s/%016llx.log, %s; restore the file, "
                   "or remove the folder",
                   t->table, end, wanted, (unsigned long long)offset, t->folder, (unsigned long long)file->number,
                   cut ? "is missing: the file was truncated" : "has a wrong checksum: the file was damaged");
  /* The write during which the process died: what it left behind the last whole record goes. */
  if (end == 0) return TS_OK; /* nothing lives in it, it is deleted */
  uint64_t keep = TS_ROUND_UP(ts_ssd_offset(&file->layout, end - 1) + file->layout.record_bytes, TS_SSD_BLOCK);
  const int error = f->size > keep ? t->disk->truncate(t->disk, file->handle, keep) : 0;
  if (error != 0) return ts_ssd_io_error(t, "truncate", file, keep, -error, err);
  ts_ssd_header_make(t, file, end, scratch);
  status = ts_ssd_pwrite(t, file, scratch, TS_SSD_BLOCK, 0, err);
  if (f->size > keep) {
    uint64_t rest = TS_MIN(file->charged, f->size - keep);
    file->charged -= rest;
    ts_ssd_discharge(t, rest);
  }
  return status;
}

void ts_ssd_measure(ts_ssd_table *t, const ts_ssd_found *found, uint32_t n) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < n; i++) {
    most = TS_MAX(most, found[i].file->capacity);
    t->version_bytes = TS_MAX(t->version_bytes, found[i].file->layout.version_bytes);
  }
  while (t->shift < 32 && (UINT64_C(1) << t->shift) < most) t->shift++;
  t->max_files = (uint32_t)TS_MIN((UINT64_C(7) << TS_LOCATION_ROW_BITS) >> t->shift, UINT32_MAX / 2);
}

uint64_t ts_ssd_scratch_bytes(const ts_ssd_table *t) {
  ts_ssd_layout widest;
  ts_ssd_layout_make(t->row_bytes, 8, &widest);
  return TS_ROUND_UP((uint64_t)widest.record_bytes, TS_SSD_BLOCK) + 2 * TS_SSD_BLOCK;
}

unsigned char *ts_ssd_take_pages(ts_ssd_table *t, const ts_ssd_found *found, uint32_t n, uint64_t *bytes) {
  uint64_t page = TS_SSD_BLOCK;
  for (uint32_t i = 0; i < n; i++) page = TS_MAX(page, found[i].file->layout.page_bytes);
  for (*bytes = TS_ROUND_UP(page, LARGE_PAGE);; *bytes = TS_MAX(page, *bytes / 2)) {
    unsigned char *buffer = NULL;
    const bool charged = ts_budget_take(t->dram, TS_PURPOSE_BUFFERS, *bytes);
    if (charged) buffer = ts_pages_map(*bytes, -1, *bytes % LARGE_PAGE == 0);
    if (charged && buffer == NULL) ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, *bytes);
    if (buffer != NULL && *bytes % LARGE_PAGE == 0) ts_pages_have_huge(buffer, *bytes); /* reads are slower without */
    if (buffer != NULL || *bytes <= page) return buffer;
  }
}

void ts_ssd_give_pages(ts_ssd_table *t, unsigned char *buffer, uint64_t bytes) {
  if (buffer == NULL) return;
  munmap(buffer, bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, bytes);
}

static int32_t load_all(ts_ssd_table *t, ts_ssd_found *found, uint32_t n, const live_map *map, ts_err err) {
  uint32_t newest[TS_SSD_STREAMS] = {0};
  ts_ssd_measure(t, found, n);
  for (uint32_t i = 0; i < n; i++) newest[found[i].file->stream] = i + 1;
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++)
    if (newest[s] > 0) found[newest[s] - 1].newest = true;
  if (n == 0) return TS_OK;
  const uint64_t scratch_bytes = ts_ssd_scratch_bytes(t);
  uint64_t bytes;
  unsigned char *scratch = ts_ssd_take_memory(t, scratch_bytes), *buffer = ts_ssd_take_pages(t, found, n, &bytes);
  int32_t status = TS_OK;
  if (buffer == NULL || scratch == NULL)
    status = ts_fail(
        err, TS_EFULL,
        "Cannot open table \"%s\": reading it needs %llu bytes of DRAM, the limit refuses them; raise the first size",
        t->table, (unsigned long long)(bytes + scratch_bytes));
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    ts_ssd_file *file = found[i].file;
    map_entry entry;
    if (map_find(map, file->number, &entry, &file->live_bits))
      file->live_bits_count = entry.count;
    else if (map->clean)
      status = ts_fail(err, TS_EFORMAT,
                       "Cannot open table \"%s\": %s/%016llx.log was not there when the table was closed; remove it",
                       t->table, t->folder, (unsigned long long)file->number);
    if (status == TS_OK && !ts_ssd_charge(t, found[i].size, false))
      status =
          ts_fail(err, TS_EFULL,
                  "Cannot open table \"%s\": its files are larger than the tier's limit of %llu bytes; raise its size",
                  t->table, (unsigned long long)t->budget->limit);
    else if (status == TS_OK)
      file->charged = found[i].size;
    if (status == TS_OK) status = load(t, &found[i], buffer, bytes, scratch, err);
    t->next_number = TS_MAX(t->next_number, file->number + 1);
  }
  ts_ssd_give_pages(t, buffer, bytes);
  ts_ssd_give_memory(t, scratch, scratch_bytes);
  return status;
}

static int32_t recover_newest(ts_ssd_table *t, ts_err err) {
  uint64_t *numbers = NULL;
  uint32_t n = 0, opened = 0;
  live_map map = {0};
  ts_ssd_found *found = NULL;
  unsigned char *block = NULL;
  int32_t status = ts_ssd_list(t, &numbers, &n, err);
  if (status == TS_OK) status = read_map(t, &map, err);
  if (status == TS_OK) {
    found = calloc((size_t)n + 1, sizeof *found);
    block = aligned_alloc(TS_SSD_BLOCK, TS_SSD_BLOCK);
    if (found == NULL || block == NULL)
      status = ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  }
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    ts_ssd_found one = {0};
    map_entry entry;
    const uint64_t *bits;
    status = ts_ssd_open_file(t, numbers[i], map_find(&map, numbers[i], &entry, &bits), block, &one, err);
    if (one.file == NULL) continue;
    status = ts_ssd_file_add(t, one.file, err);
    if (status != TS_OK) {
      t->disk->close(t->disk, one.file->handle);
      free(one.file);
    } else {
      found[opened++] = one;
    }
  }
  if (status == TS_OK) status = load_all(t, found, opened, &map, err);
  if (status == TS_OK && map.clean && opened < map.files)
    status =
        ts_fail(err, TS_EFORMAT,
                "Cannot open table \"%s\": %u of its %u log files are gone from %s; restore them, or remove the folder",
                t->table, map.files - opened, map.files, t->folder);
  if (status == TS_OK && map.clean) { /* from here on files may go and come */
    char path[TS_SSD_PATH];
    const uint32_t no = 0;
    const int handle = t->disk->reopen(t->disk, ts_ssd_path(t, TS_SSD_MAP_NAME, path));
    const int error = handle < 0 ? handle : ts_disk_write(t->disk, handle, &no, sizeof no, map.length - sizeof no);
    if (error != 0) status = ts_disk_fail(err, "mark as open", path, error);
    if (handle >= 0) t->disk->close(t->disk, handle);
  }
  if (status == TS_OK) {
    pthread_mutex_lock(&t->state);
    for (uint32_t i = 0; i < opened; i++) {
      found[i].file->live_bits = NULL;
      ts_ssd_file_doom_if_dead(t, found[i].file);
    }
    pthread_mutex_unlock(&t->state);
    ts_ssd_reap(t);
  }
  ts_ssd_give_memory(t, map.bytes, map.length);
  free(block);
  free(found);
  free(numbers);
  return status;
}

int32_t ts_ssd_recover(ts_ssd_table *t, ts_err err) {
  char path[TS_SSD_PATH];
  t->disk->unlink(t->disk, ts_ssd_path(t, TS_SSD_MAP_NEW, path));
  ts_ssd_ballast_remove(t); /* of a process that died */
  uint64_t *checkpoints = NULL;
  uint32_t n = 0;
  int32_t status = ts_ssd_image_list(t, &checkpoints, &n, err);
  if (status == TS_OK && n == 0 && t->at != 0)
    status = ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" at checkpoint %llu: %s has no checkpoints", t->table,
                     (unsigned long long)t->at, t->folder);
  if (status == TS_OK) status = n == 0 ? recover_newest(t, err) : ts_ssd_restore(t, checkpoints, n, err);
  free(checkpoints);
  return status;
}
