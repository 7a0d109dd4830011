/* image.c - files of checkpoints: which records of which log files a checkpoint has (format.h).
 *
 * Written beside puts, removals and gets, compaction standing still. The index is walked a piece at a time: a record that
 * lives and was put before the checkpoint began is of it. One that is replaced or removed meanwhile is met by the walk or
 * is retained when the walk is over: what is retained is added after it, so nothing is missed; and each key has one
 * record, because a record that the checkpoint has is replaced once. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER (UINT32_C(64) << 10)
#define WALK 2048u /* entries of the index between two looks at the lock */

static uint64_t words_of(uint32_t records) { return ((uint64_t)records + 63) / 64; }

static char *path_of(const ts_ssd_table *t, uint64_t number, const char *suffix, char *out, size_t cap) {
  snprintf(out, cap, "%s/checkpoint.%016llx%s", t->folder, (unsigned long long)number, suffix);
  return out;
}

/* ---- writing ---- */

typedef struct sink {
  const ts_disk_ops *disk;
  unsigned char *buffer;
  uint64_t offset; /* of the buffer */
  uint32_t fill, crc;
  int handle, error;
} sink;

static void drain(sink *s) {
  if (s->error == 0) s->error = ts_disk_write(s->disk, s->handle, s->buffer, s->fill, s->offset);
  s->offset += s->fill;
  s->fill = 0;
}

static void emit(sink *s, const void *bytes, uint64_t n) {
  s->crc = ts_crc32c(s->crc, bytes, n);
  for (uint64_t done = 0, m; done < n; done += m) {
    if (s->fill == BUFFER) drain(s);
    m = TS_MIN(n - done, BUFFER - s->fill);
    memcpy(s->buffer + s->fill, (const unsigned char *)bytes + done, m);
    s->fill += (uint32_t)m;
  }
}

/* A log file as it was when the writing began; it is pinned. */
typedef struct listed {
  ts_ssd_file *file;
  ts_ssd_image_entry entry;
  uint64_t first_word; /* in its group */
} listed;

static int by_number(const void *a, const void *b) {
  const uint64_t x = ((const listed *)a)->entry.number, y = ((const listed *)b)->entry.number;
  return x < y ? -1 : x > y;
}

/* append and state held */
static bool is_written(const ts_ssd_table *t, const ts_ssd_file *file) { return t->streams[file->stream].file == file; }

static listed *pin_files(ts_ssd_table *t, uint64_t number, uint32_t *slots, uint32_t *n) {
  pthread_mutex_lock(&t->append);
  listed *files = calloc(t->file_slots + 1, sizeof *files);
  *slots = t->file_slots;
  *n = 0;
  pthread_mutex_lock(&t->state);
  for (uint32_t id = 0; files != NULL && id < t->file_slots; id++) {
    ts_ssd_file *file = t->files[id];
    if (file == NULL) continue;
    const uint32_t before = ts_ssd_count_before(file, number);
    file->readers++;
    files[(*n)++] = (listed){.file = file, .entry = {file->number, TS_MIN(file->count, before), !is_written(t, file)}};
  }
  pthread_mutex_unlock(&t->state);
  pthread_mutex_unlock(&t->append);
  if (files != NULL) qsort(files, *n, sizeof *files, by_number);
  return files;
}

static void unpin_files(ts_ssd_table *t, listed *files, uint32_t n) {
  pthread_mutex_lock(&t->state);
  for (uint32_t i = 0; i < n; i++) files[i].file->readers--;
  if (t->doomed_bytes > 0) pthread_cond_broadcast(&t->freed);
  pthread_mutex_unlock(&t->state);
  free(files);
}

/* Bits of a group of files; group[id]: 1 + its place in files, 0: not of the group. */
static int32_t collect(ts_ssd_table *t, uint32_t cut, const listed *files, const uint32_t *group, uint32_t slots,
                       uint64_t *bits, ts_err err) {
  ts_index_cursor cursor = {0};
  for (bool more = true; more;) {
    pthread_mutex_lock(&t->state);
    int64_t key;
    ts_location location;
    for (uint32_t i = 0; i < WALK && (more = ts_index_next(&t->index, &cursor, &key, &location)); i++) {
      const uint64_t id = location >> t->shift;
      const uint32_t record = ts_ssd_record_of(t, location);
      if (id >= slots || group[id] == 0) continue;
      const listed *l = &files[group[id] - 1];
      if (record < l->entry.count) bits[l->first_word + record / 64] |= UINT64_C(1) << (record % 64);
    }
    pthread_mutex_unlock(&t->state);
    TS_SYNC("ssd:cut:walk");
  }
  bool known = true;
  pthread_mutex_lock(&t->state);
  for (uint32_t id = 0; id < slots; id++) {
    if (group[id] == 0) continue;
    const listed *l = &files[group[id] - 1];
    for (uint32_t i = cut; i < t->cut_count; i++) {
      const ts_ssd_retained *r = &l->file->retained[i];
      known &= r->count == 0 || r->bits != NULL;
      for (uint64_t w = 0; r->bits != NULL && w < words_of(l->entry.count); w++) {
        const uint64_t left = l->entry.count - w * 64;
        if (!TS_BUG("what was replaced is left out of a checkpoint")) bits[l->first_word + w] |= r->bits[w] & (left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1);
      }
    }
  }
  pthread_mutex_unlock(&t->state);
  if (known) return TS_OK;
  return ts_fail(err, TS_EFULL,
                 "Cannot complete checkpoint %llu of table \"%s\": the DRAM limit refused what tells which replaced records it "
                 "has; drop it, raise the first size",
                 (unsigned long long)t->cuts[cut].number, t->table);
}

/* Group by group of files, each with a walk over the index: little memory makes it slower, not impossible. */
static int32_t write_entries(ts_ssd_table *t, uint32_t cut, listed *files, uint32_t n, uint32_t slots, sink *s,
                             uint64_t *rows, ts_err err) {
  uint32_t *group = calloc(slots + 1, sizeof *group);
  if (group == NULL) return ts_fail(err, TS_ENOMEM, "Cannot write a checkpoint of table \"%s\": out of memory", t->table);
  int32_t status = TS_OK;
  uint64_t most = UINT64_C(2) << 20; /* words of a group */
  for (uint32_t first = 0, end; first < n && status == TS_OK; first = end) {
    uint64_t *bits = NULL, words;
    for (;;) {
      memset(group, 0, slots * sizeof *group);
      words = 0;
      for (end = first; end < n; end++) {
        const uint64_t w = words_of(files[end].entry.count);
        if (words > 0 && words + w > most) break;
        files[end].first_word = words;
        group[files[end].file->id] = end + 1;
        words += w;
      }
      bits = ts_ssd_take_memory(t, TS_MAX(words, 1) * 8);
      if (bits != NULL || most == 1) break;
      most = most / 4 + (most < 4);
    }
    if (bits == NULL) {
      status = ts_fail(err, TS_EFULL,
                       "Cannot write checkpoint %llu of table \"%s\": the DRAM limit refuses %llu bytes; raise the first size",
                       (unsigned long long)t->cuts[cut].number, t->table, (unsigned long long)words * 8);
      break;
    }
    memset(bits, 0, TS_MAX(words, 1) * 8);
    status = collect(t, cut, files, group, slots, bits, err);
    for (uint64_t w = 0; w < words; w++) *rows += (uint64_t)__builtin_popcountll(bits[w]);
    for (uint32_t i = first; i < end && status == TS_OK; i++) {
      emit(s, &files[i].entry, sizeof files[i].entry);
      emit(s, bits + files[i].first_word, words_of(files[i].entry.count) * 8);
    }
    ts_ssd_give_memory(t, bits, TS_MAX(words, 1) * 8);
  }
  free(group);
  return status;
}

static int32_t write_image(ts_ssd_table *t, uint32_t cut, listed *files, uint32_t n, uint32_t slots, const void *note,
                           uint32_t note_bytes, const char *path, sink *s, ts_err err) {
  const ts_ssd_image header = {.magic = TS_SSD_IMAGE_MAGIC,
                               .format = TS_SSD_FORMAT,
                               .row_bytes = t->row_bytes,
                               .name_hash = t->name_hash,
                               .number = t->cuts[cut].number,
                               .timeline = t->timeline,
                               .sequence = t->cuts[cut].sequence,
                               .next_number = n > 0 ? files[n - 1].entry.number + 1 : 1,
                               .files = n,
                               .layout_words = t->layout_words,
                               .note_bytes = note_bytes};
  static const uint64_t none;
  ts_ssd_image_tail tail = {0};
  emit(s, &header, sizeof header);
  emit(s, t->layout, (uint64_t)t->layout_words * 8);
  emit(s, note, note_bytes);
  emit(s, &none, TS_ROUND_UP(note_bytes, 8) - note_bytes);
  int32_t status = write_entries(t, cut, files, n, slots, s, &tail.rows, err);
  if (status != TS_OK) return status;
  emit(s, &tail, offsetof(ts_ssd_image_tail, checksum));
  tail.checksum = s->crc;
  emit(s, &tail.checksum, sizeof tail - offsetof(ts_ssd_image_tail, checksum));
  drain(s);
  if (s->error == 0 && !TS_BUG("the file of a table's checkpoint is not synchronised")) s->error = s->disk->sync(s->disk, s->handle);
  return s->error == 0 ? TS_OK : ts_disk_fail(err, "write", path, s->error);
}

int32_t ts_ssd_image_write(ts_ssd_table *t, uint32_t cut, const void *note, uint32_t note_bytes, ts_err err) {
  uint32_t slots, n;
  listed *files = pin_files(t, t->cuts[cut].number, &slots, &n);
  if (files == NULL) return ts_fail(err, TS_ENOMEM, "Cannot write a checkpoint of table \"%s\": out of memory", t->table);
  uint64_t bytes = sizeof(ts_ssd_image) + sizeof(ts_ssd_image_tail) + (uint64_t)t->layout_words * 8 + TS_ROUND_UP(note_bytes, 8);
  for (uint32_t i = 0; i < n; i++) bytes += sizeof files[i].entry + words_of(files[i].entry.count) * 8;
  bytes = TS_ROUND_UP(bytes, TS_SSD_BLOCK);
  const size_t cap = strlen(t->folder) + 48;
  char *path = malloc(cap), *temporary = malloc(cap);
  sink s = {.disk = t->disk, .handle = -1, .buffer = ts_ssd_take_memory(t, BUFFER)};
  bool charged = false, renamed = false;
  int32_t status = TS_OK;
  if (path == NULL || temporary == NULL) {
    status = ts_fail(err, TS_ENOMEM, "Cannot write a checkpoint of table \"%s\": out of memory", t->table);
  } else if (s.buffer == NULL) {
    status = ts_fail(err, TS_EFULL,
                     "Cannot write checkpoint %llu of table \"%s\": the DRAM limit refuses %u bytes; raise the first size",
                     (unsigned long long)t->cuts[cut].number, t->table, BUFFER);
  } else if (!(charged = ts_ssd_charge(t, bytes, true))) {
    status = ts_fail(err, TS_EFULL,
                     "Cannot write checkpoint %llu of table \"%s\": its file needs %llu bytes, the tier's limit refuses them; "
                     "drop another one or raise the size",
                     (unsigned long long)t->cuts[cut].number, t->table, (unsigned long long)bytes);
  } else {
    path_of(t, t->cuts[cut].number, "", path, cap);
    path_of(t, t->cuts[cut].number, ".new", temporary, cap);
    s.handle = t->disk->create(t->disk, temporary);
    if (s.handle < 0) status = ts_disk_fail(err, "create", temporary, s.handle);
  }
  if (status == TS_OK) status = write_image(t, cut, files, n, slots, note, note_bytes, temporary, &s, err);
  if (s.handle >= 0 && t->disk->close(t->disk, s.handle) != 0 && status == TS_OK)
    status = ts_disk_fail(err, "close", temporary, EIO);
  /* The names of log files first: a name that is there is the checkpoint. */
  if (status == TS_OK && (s.error = t->disk->sync_folder(t->disk, t->folder)) != 0)
    status = ts_disk_fail(err, "synchronize", t->folder, s.error);
  TS_SYNC("ssd:cut:written");
  if (status == TS_OK && (s.error = t->disk->rename(t->disk, temporary, path)) != 0)
    status = ts_disk_fail(err, "rename", temporary, s.error);
  renamed = status == TS_OK;
  if (status == TS_OK && !TS_BUG("the name of a table's checkpoint is not synchronised") && (s.error = t->disk->sync_folder(t->disk, t->folder)) != 0)
    status = ts_disk_fail(err, "synchronize", t->folder, s.error);
  if (status != TS_OK && renamed) t->disk->unlink(t->disk, path);
  if (status != TS_OK && s.handle >= 0 && !renamed) t->disk->unlink(t->disk, temporary);
  if (status == TS_OK) {
    t->cuts[cut].charged = bytes;
    t->bytes_written += bytes;
    t->writes++;
  } else if (charged) {
    ts_ssd_discharge(t, bytes);
  }
  ts_ssd_give_memory(t, s.buffer, BUFFER);
  free(path);
  free(temporary);
  unpin_files(t, files, n);
  return status;
}

int32_t ts_ssd_image_remove(ts_ssd_table *t, uint64_t number, ts_err err) {
  const size_t cap = strlen(t->folder) + 48;
  char *path = malloc(cap);
  if (path == NULL) return ts_fail(err, TS_ENOMEM, "Cannot drop a checkpoint of table \"%s\": out of memory", t->table);
  int error = t->disk->unlink(t->disk, path_of(t, number, "", path, cap));
  if (error == -ENOENT) error = 0; /* a drop before failed at what comes now */
  if (error == 0) error = t->disk->sync_folder(t->disk, t->folder);
  const int32_t status = error == 0 ? TS_OK : ts_disk_fail(err, "remove", path, error);
  free(path);
  return status;
}

/* ---- reading ---- */

typedef struct listing {
  ts_ssd_table *t;
  uint64_t *numbers;
  uint32_t n, capacity;
  bool no_memory;
} listing;

static void list_one(void *context, const char *name) {
  listing *l = context;
  char *end;
  if (strncmp(name, "checkpoint.", 11) != 0 || (strlen(name) != 27 && strcmp(name + 27, ".new") != 0)) return;
  const uint64_t number = strtoull(name + 11, &end, 16);
  if (end != name + 27) return;
  if (*end != '\0') { /* not finished */
    const size_t cap = strlen(l->t->folder) + 48;
    char *path = malloc(cap);
    if (path != NULL) l->t->disk->unlink(l->t->disk, path_of(l->t, number, ".new", path, cap));
    free(path);
    return;
  }
  if (l->n == l->capacity) {
    uint64_t *more = realloc(l->numbers, (l->capacity + TS_RECORDS_CUTS) * sizeof *more);
    l->no_memory |= more == NULL;
    if (more == NULL) return;
    l->numbers = more;
    l->capacity += TS_RECORDS_CUTS;
  }
  l->numbers[l->n++] = number;
}

static int number_order(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

int32_t ts_ssd_image_list(ts_ssd_table *t, uint64_t **numbers, uint32_t *count, ts_err err) {
  listing l = {.t = t};
  const int error = t->disk->list(t->disk, t->folder, list_one, &l);
  *numbers = l.numbers;
  *count = l.n;
  if (l.n > 0) qsort(l.numbers, l.n, sizeof *l.numbers, number_order);
  if (error != 0) return ts_disk_fail(err, "list the folder", t->folder, error);
  return l.no_memory ? ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table) : TS_OK;
}

static int32_t bad(const char *path, const char *what, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot open at the checkpoint of %s: it %s", path, what);
}

static int32_t check_layout(const ts_ssd_table *t, const ts_ssd_read_image *image, const char *path, ts_err err) {
  const ts_ssd_image *h = &image->header;
  if (h->row_bytes != t->row_bytes)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open table \"%s\" at the checkpoint of %s: it has rows of %u bytes, the table has rows of %u; open "
                   "it with the options it was made with",
                   t->table, path, h->row_bytes, t->row_bytes);
  if (h->layout_words != t->layout_words)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open table \"%s\" at the checkpoint of %s: the layout of its rows has %u words, the table's has %u; "
                   "open it with the options it was made with",
                   t->table, path, h->layout_words, t->layout_words);
  for (uint32_t i = 0; i < t->layout_words; i++) {
    uint64_t word;
    memcpy(&word, image->bytes + sizeof *h + (uint64_t)i * 8, 8);
    if (word != t->layout[i])
      return ts_fail(err, TS_EFORMAT,
                     "Cannot open table \"%s\" at the checkpoint of %s: word %u of the layout of its rows is %llu, the table's is "
                     "%llu; open it with the options it was made with",
                     t->table, path, i, (unsigned long long)word, (unsigned long long)t->layout[i]);
  }
  return TS_OK;
}

static int32_t check(ts_ssd_table *t, uint64_t number, const char *path, ts_ssd_read_image *image, ts_err err) {
  ts_ssd_image *h = &image->header;
  memcpy(h, image->bytes, sizeof *h);
  memcpy(&image->tail, image->bytes + image->length - sizeof image->tail, sizeof image->tail);
  if (h->magic != TS_SSD_IMAGE_MAGIC) return bad(path, "does not begin as one, at offset 0", err);
  if (image->tail.checksum !=
          ts_crc32c(0, image->bytes, image->length - sizeof image->tail + offsetof(ts_ssd_image_tail, checksum)) ||
      image->tail.reserved != 0)
    return bad(path, "has a wrong checksum: the file was damaged", err);
  if (h->format != TS_SSD_FORMAT) return bad(path, "is of another version of the format", err);
  if (h->name_hash != t->name_hash) return bad(path, "belongs to another table", err);
  if (h->number != number) return bad(path, "has another number: the file was renamed", err);
  const int32_t status = check_layout(t, image, path, err);
  if (status != TS_OK) return status;
  const unsigned char *at = image->bytes + sizeof *h + (uint64_t)h->layout_words * 8;
  image->note = at;
  at += TS_ROUND_UP(h->note_bytes, 8);
  image->entries = malloc(((size_t)h->files + 1) * sizeof(ts_ssd_image_entry *));
  if (image->entries == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  for (uint32_t i = 0; i < h->files; i++) {
    image->entries[i] = (const ts_ssd_image_entry *)at; /* whole words from the beginning on */
    at += sizeof(ts_ssd_image_entry) + words_of(image->entries[i]->count) * 8;
  }
  return TS_OK;
}

int32_t ts_ssd_image_read(ts_ssd_table *t, uint64_t number, ts_ssd_read_image *out, ts_err err) {
  *out = (ts_ssd_read_image){0};
  const size_t cap = strlen(t->folder) + 48;
  char *path = malloc(cap);
  if (path == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->table);
  const int handle = t->disk->open(t->disk, path_of(t, number, "", path, cap));
  const int64_t size = handle < 0 ? handle : t->disk->size(t->disk, handle);
  int32_t status = TS_OK;
  if (size < 0) {
    status = ts_disk_fail(err, "read", path, (int)size);
  } else if ((uint64_t)size < sizeof(ts_ssd_image) + sizeof(ts_ssd_image_tail) || size % 8 != 0) {
    status = bad(path, "was truncated", err);
  } else if ((out->bytes = ts_ssd_take_memory(t, (uint64_t)size)) == NULL) {
    status = ts_fail(err, TS_EFULL,
                     "Cannot open table \"%s\": its checkpoint needs %llu bytes of DRAM, the limit refuses them; raise the "
                     "first size",
                     t->table, (unsigned long long)size);
  } else {
    out->length = (uint64_t)size;
    const int error = ts_disk_read(t->disk, handle, out->bytes, out->length, 0);
    status = error != 0 ? ts_disk_fail(err, "read", path, error) : check(t, number, path, out, err);
  }
  if (handle >= 0) t->disk->close(t->disk, handle);
  free(path);
  if (status != TS_OK) ts_ssd_image_free(t, out);
  return status;
}

void ts_ssd_image_free(ts_ssd_table *t, ts_ssd_read_image *image) {
  ts_ssd_give_memory(t, image->bytes, image->length);
  free(image->entries);
  *image = (ts_ssd_read_image){0};
}

const ts_ssd_image_entry *ts_ssd_image_find(const ts_ssd_read_image *image, uint64_t number) {
  uint32_t from = 0, to = image->header.files;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    const ts_ssd_image_entry *entry = image->entries[middle];
    if (entry->number == number) return entry;
    if (entry->number < number)
      from = middle + 1;
    else
      to = middle;
  }
  return NULL;
}
