/* log.c - the log of records below puts and compaction: streams, their chunks of memory, and their way to the medium. It
 * calls neither: where the limit or the disk has no room it says so (TS_SSD_NO_ROOM), and whoever asked makes some. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <stdlib.h>
#include <unistd.h>

uint32_t ts_ssd_chunk_records(const ts_ssd_table *t, const ts_ssd_layout *layout) {
  return (uint32_t)TS_MAX(1, t->buffer_bytes / layout->page_bytes) * layout->page_records;
}

static unsigned char *place(const ts_ssd_chunk *c, uint32_t record) {
  return c->buffer.memory + (ts_ssd_offset(&c->file->layout, record) - c->offset);
}

const unsigned char *ts_ssd_in_memory(const ts_ssd_table *t, const ts_ssd_file *file, uint32_t record) {
  if (record < file->memory_from) return NULL;
  for (uint32_t i = 0; i < 2; i++) {
    const ts_ssd_chunk *c = &t->streams[file->stream].chunks[i];
    if (c->used && c->file == file && record >= c->first && record - c->first < c->capacity) return place(c, record);
  }
  return NULL;
}

/* ---- writing chunks ---- */

static void retire(ts_ssd_table *t, ts_ssd_stream *stream, ts_ssd_chunk *c) {
  pthread_mutex_lock(&t->state);
  const ts_ssd_chunk *next = stream->filling;
  c->file->memory_from = next != NULL && next != c && next->file == c->file ? next->first : UINT32_MAX;
  c->used = false;
  c->file = NULL;
  pthread_mutex_unlock(&t->state);
  if (stream->writing == c) stream->writing = NULL;
  if (stream->filling == c) stream->filling = NULL;
  /* One stays with the stream, so that it can always go on. */
  const ts_ssd_chunk *other = &stream->chunks[c == &stream->chunks[0]];
  if (other->buffer.memory != NULL) ts_ssd_give_buffer(t, &c->buffer);
}

/* Waits for the stream's write under way, or repeats the one that failed. After an error the chunk stays in memory. */
static int32_t finish_writing(ts_ssd_table *t, ts_ssd_stream *stream, ts_err err) {
  ts_ssd_chunk *c = stream->writing;
  if (c == NULL) return TS_OK;
  if (c->submitted) TS_SYNC("ssd:log:wait");
  while (c->submitted) {
    uint64_t data;
    int32_t result;
    while (ts_ring_take(&t->write_ring, &data, &result)) {
      ts_ssd_chunk *done = (ts_ssd_chunk *)(uintptr_t)data;
      TS_SYNC_VALUE("ssd:log:ring_wrote", result);
      done->submitted = false;
      done->result = result;
    }
    if (!c->submitted) break;
    int error = ts_ring_enter(&t->write_ring, 1);
    if (error < 0) return ts_ssd_io_error(t, "wait for a write to", c->file, c->offset, -error, err);
  }
  uint32_t length = c->length - c->written;
  if (c->result != (int32_t)length) { /* failed, short, or never tried: the plain call completes it or says why not */
    int32_t status = ts_ssd_pwrite(t, c->file, c->buffer.memory + c->written, length, c->offset + c->written, err);
    if (status != TS_OK) return status;
  } else {
    t->writes++;
    t->bytes_written += length;
  }
  c->flushed_fill = c->fill;
  c->file->dirty = true;
  retire(t, stream, c);
  return TS_OK;
}

/* Sends the full chunk on its way; the one before must have arrived. */
static int32_t start_writing(ts_ssd_table *t, ts_ssd_stream *stream, ts_err err) {
  int32_t status = finish_writing(t, stream, err);
  if (status != TS_OK) return status;
  ts_ssd_chunk *c = stream->filling;
  stream->filling = NULL;
  stream->writing = c;
  c->result = -1;
  uint32_t length = c->length - c->written;
  if (t->ring_writes && length <= INT32_MAX) {
    struct io_uring_sqe *sqe = ts_ring_prepare(&t->write_ring);
    sqe->opcode = IORING_OP_WRITE;
    sqe->fd = t->disk->descriptor(t->disk, c->file->handle);
    sqe->addr = (uintptr_t)(c->buffer.memory + c->written);
    sqe->len = length;
    sqe->off = c->offset + c->written;
    sqe->user_data = (uintptr_t)c;
    c->submitted = true;
    int error = ts_ring_enter(&t->write_ring, 0);
    if (error < 0) {
      c->submitted = false;
      t->ring_writes = false; /* those in flight are still waited for */
    }
    TS_SYNC("ssd:log:submitted");
    if (c->submitted) return TS_OK;
  }
  return finish_writing(t, stream, err);
}

/* Writes what the filling chunk holds so far; it stays. The last block is written again when it has more. */
static int32_t write_partly(ts_ssd_table *t, ts_ssd_chunk *c, ts_err err) {
  if (c->fill == c->flushed_fill) return TS_OK;
  uint64_t end = ts_ssd_offset(&c->file->layout, c->first + c->fill - 1) + c->file->layout.record_bytes - c->offset;
  uint64_t until = TS_ROUND_UP(end, TS_SSD_BLOCK);
  int32_t status =
      ts_ssd_pwrite(t, c->file, c->buffer.memory + c->written, until - c->written, c->offset + c->written, err);
  if (status != TS_OK) return status;
  c->written = (uint32_t)(end / TS_SSD_BLOCK * TS_SSD_BLOCK);
  c->flushed_fill = c->fill;
  c->file->dirty = true;
  return TS_OK;
}

int32_t ts_ssd_write_out(ts_ssd_table *t, ts_err err) {
  int32_t first = TS_OK;
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++) {
    ts_ssd_stream *stream = &t->streams[s];
    int32_t status = finish_writing(t, stream, err);
    if (status == TS_OK && stream->filling != NULL) status = write_partly(t, stream->filling, err);
    if (first == TS_OK) first = status;
  }
  return first;
}

/* ---- streams ---- */

static void sealed(ts_ssd_table *t, ts_ssd_stream *stream) {
  pthread_mutex_lock(&t->state);
  stream->file->state = TS_SSD_SEALED;
  ts_ssd_file_doom_if_dead(t, stream->file);
  pthread_mutex_unlock(&t->state);
  stream->file = NULL;
}

int32_t ts_ssd_seal_stream(ts_ssd_table *t, uint32_t s, ts_err err) {
  ts_ssd_stream *stream = &t->streams[s];
  int32_t status = finish_writing(t, stream, err);
  if (status != TS_OK || stream->file == NULL) return status;
  ts_ssd_file *file = stream->file;
  ts_ssd_chunk *c = stream->filling;
  if (c != NULL) {
    status = write_partly(t, c, err);
    if (status != TS_OK) return status;
  }
  if (file->count < file->capacity) {
    unsigned char *block = aligned_alloc(TS_SSD_BLOCK, TS_SSD_BLOCK);
    if (block == NULL)
      return ts_fail(err, TS_ENOMEM, "Cannot close a log file of table \"%s\": out of memory", t->table);
    ts_ssd_header_make(t, file, file->count, block);
    status = ts_ssd_pwrite(t, file, block, TS_SSD_BLOCK, 0, err);
    file->dirty = true;
    free(block);
    if (status != TS_OK) return status;
  }
  if (c != NULL) {
    uint64_t rest = file->charged - TS_MIN(file->charged, ts_ssd_extent(&file->layout, file->count));
    file->charged -= rest;
    /* What was taken for the rest of the chunk goes back; if that fails, it is only more than is charged. */
    if (t->disk->truncate(t->disk, file->handle, ts_ssd_extent(&file->layout, file->count)) == 0) TS_SYNC_VALUE("ssd:medium:free", rest);
    ts_ssd_discharge(t, rest);
    retire(t, stream, c);
  }
  sealed(t, stream);
  return TS_OK;
}

void ts_ssd_streams_free(ts_ssd_table *t) {
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++)
    for (uint32_t i = 0; i < 2; i++) {
      ts_ssd_chunk *c = &t->streams[s].chunks[i];
      ts_ssd_give_buffer(t, &c->buffer);
    }
}

/* A free chunk of the stream, waiting for one if need be. */
static int32_t free_chunk(ts_ssd_table *t, ts_ssd_stream *stream, ts_ssd_chunk **out, ts_err err) {
  for (;;) {
    /* Memory that it has first. */
    const uint32_t with = stream->chunks[0].used || stream->chunks[0].buffer.memory == NULL;
    for (uint32_t i = 0; i < 2; i++) {
      ts_ssd_chunk *c = &stream->chunks[i ^ with];
      if (c->used) continue;
      if (c->buffer.memory == NULL) c->buffer = ts_ssd_take_buffer(t, t->chunk_memory);
      if (c->buffer.memory == NULL) continue;
      *out = c;
      return TS_OK;
    }
    if (stream->writing == NULL)
      return ts_fail(err, TS_EFULL,
                     "Cannot put rows of table \"%s\" on SSD: a write buffer needs %llu bytes of DRAM, the limit "
                     "refuses them; raise the first size or lower ssdhash.buffer_bytes",
                     t->table, (unsigned long long)t->chunk_memory);
    int32_t status = finish_writing(t, stream, err);
    if (status != TS_OK) return status;
  }
}

static int32_t begin_chunk(ts_ssd_table *t, uint32_t s, ts_err err) {
  ts_ssd_stream *stream = &t->streams[s];
  ts_ssd_chunk *c = NULL;
  int32_t status;
  if (stream->filling != NULL) {
    ts_ssd_file *file = stream->file;
    status = start_writing(t, stream, err);
    if (status != TS_OK) return status;
    if (file != NULL && file->count == file->capacity) sealed(t, stream);
  } else if (stream->writing != NULL && !stream->writing->submitted) {
    /* It failed before: no more is taken until it succeeds. */
    status = finish_writing(t, stream, err);
    if (status != TS_OK) return status;
  }
  if (stream->file != NULL && stream->file->count == stream->file->capacity) sealed(t, stream);
  status = free_chunk(t, stream, &c, err);
  if (status != TS_OK) return status;
  ts_ssd_file *file = stream->file;
  ts_ssd_layout layout;
  ts_ssd_layout_make(t->row_bytes, t->version_bytes, &layout);
  uint32_t records = ts_ssd_chunk_records(t, &layout);
  if (file == NULL) {
    status = ts_ssd_file_create(t, s, records, &file, err);
    if (status != TS_OK) return status;
    stream->file = file;
  }
  records = TS_MIN(records, file->capacity - file->count);
  uint64_t bytes = ts_ssd_extent(&layout, file->count + records) - ts_ssd_extent(&layout, file->count);
  t->disk_full = false;
  if (!ts_ssd_charge(t, bytes, t->surviving)) return TS_SSD_NO_ROOM;
  uint64_t offset = file->count == 0 ? 0 : ts_ssd_offset(&layout, file->count);
  uint32_t length = (uint32_t)(ts_ssd_extent(&layout, file->count + records) - offset);
  status = ts_ssd_file_extend(t, file, offset, length, err);
  if (status != TS_OK) {
    ts_ssd_discharge(t, bytes);
    return status;
  }
  file->charged += bytes;
  memset(c->buffer.memory, 0, length);
  if (file->count == 0) ts_ssd_header_make(t, file, 0, c->buffer.memory);
  pthread_mutex_lock(&t->state);
  *c = (ts_ssd_chunk){.buffer = c->buffer,
                      .used = true,
                      .file = file,
                      .offset = offset,
                      .first = file->count,
                      .capacity = records,
                      .length = length,
                      .first_append = t->appended};
  if (file->memory_from == UINT32_MAX) file->memory_from = file->count;
  pthread_mutex_unlock(&t->state);
  stream->filling = c;
  return TS_OK;
}

int32_t ts_ssd_append(ts_ssd_table *t, uint32_t s, const ts_ssd_record *record, ts_location *location, ts_err err) {
  ts_ssd_chunk *c = t->streams[s].filling;
  if (c == NULL || c->fill == c->capacity) {
    int32_t status = begin_chunk(t, s, err);
    if (status != TS_OK) return status;
    c = t->streams[s].filling;
  }
  ts_ssd_file *file = c->file;
  uint32_t slot = c->first + c->fill;
  ts_ssd_encode(&file->layout, t->row_bytes, file->number, slot, record, place(c, slot));
  if (c->fill == c->flushed_fill) c->first_append = t->appended;
  c->fill++;
  t->appended++;
  pthread_mutex_lock(&t->state);
  file->count++;
  file->live++; /* before the index says so: a file with records on their way is not dead */
  t->records++;
  pthread_mutex_unlock(&t->state);
  *location = (uint64_t)file->id << t->shift | slot;
  return TS_OK;
}

void ts_ssd_publish(ts_ssd_table *t, uint32_t n, const int64_t *keys, const uint64_t *hashes,
                    const ts_location *locations, int32_t cut) {
  pthread_mutex_lock(&t->state);
  for (uint32_t i = 0; i < n; i++) {
    ts_location old;
    ts_index_find(&t->index, &keys[i], &hashes[i], 1, &old);
    if (old == TS_LOCATION_NONE) {
      ts_index_insert(&t->index, keys[i], hashes[i], locations[i]);
    } else {
      ts_index_move(&t->index, keys[i], hashes[i], locations[i]);
      if (ts_ssd_in_cut(t, old, cut)) ts_ssd_retain(t, ts_ssd_file_of(t, old), ts_ssd_record_of(t, old), (uint32_t)cut);
      ts_ssd_file_lose(t, ts_ssd_file_of(t, old));
    }
  }
  pthread_mutex_unlock(&t->state);
}
