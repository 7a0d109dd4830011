/* read.c - gets: positions of all keys first, equal and neighbouring blocks joined, then one stream of reads that keeps
 * `depth` of them in flight, each finished as it comes.
 *
 * A read covers the device blocks (512 bytes where the device has them) that hold its records. Records in write chunks
 * are copied under the state lock; files that are read are pinned by a count. Readers - ring, buffers, scratch - are
 * kept for the next call: a ring with the cheaper single-issuer completions serves the thread that made it. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IDLE_READERS 32u
#define POSITION_BITS 12 /* of a key in its batch, below the location in a word that is sorted */
_Static_assert(TS_SSD_BATCH <= 1u << POSITION_BITS, "positions fit");

/* ---- readers ---- */

/* Bytes of its parts, and what is charged. */
typedef struct reader_sizes {
  uint64_t slab, hashes, requests, slots, all;
} reader_sizes;

static reader_sizes sizes_of(uint32_t slot_bytes, uint32_t depth, uint32_t batch) {
  reader_sizes s = {.slab = TS_ROUND_UP((uint64_t)depth * slot_bytes, TS_SSD_BLOCK),
                    .hashes = (uint64_t)batch * 4 * 8,
                    .requests = (uint64_t)batch * sizeof(ts_ssd_request),
                    .slots = (uint64_t)depth * 8};
  s.all = sizeof(ts_ssd_reader) + ts_piece_bytes(s.slab) + ts_piece_bytes(s.hashes) + ts_piece_bytes(s.requests) +
          ts_piece_bytes(s.slots);
  return s;
}

static void reader_free(ts_ssd_table *t, ts_ssd_reader *r) {
  if (r->has_ring) ts_ring_close(&r->ring);
  const reader_sizes sizes = sizes_of(r->slot_bytes, r->depth, r->batch);
  ts_piece_give_back(t->pieces, r->slab, sizes.slab);
  ts_piece_give_back(t->pieces, r->hashes, sizes.hashes);
  ts_piece_give_back(t->pieces, r->requests, sizes.requests);
  ts_piece_give_back(t->pieces, r->free_slots, sizes.slots);
  free(r);
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, sizes.all);
}

static ts_ssd_reader *reader_make(ts_ssd_table *t, uint32_t slot_bytes, uint32_t depth, uint32_t batch) {
  const reader_sizes sizes = sizes_of(slot_bytes, depth, batch);
  if (!ts_budget_take(t->dram, TS_PURPOSE_BUFFERS, sizes.all)) return NULL;
  ts_ssd_reader *r = calloc(1, sizeof *r);
  if (r == NULL) {
    ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, sizes.all);
    return NULL;
  }
  *r = (ts_ssd_reader){.depth = depth, .batch = batch, .slot_bytes = slot_bytes};
  r->slab = ts_piece_take(t->pieces, sizes.slab);
  r->hashes = ts_piece_take(t->pieces, sizes.hashes);
  r->requests = ts_piece_take(t->pieces, sizes.requests);
  r->free_slots = ts_piece_take(t->pieces, sizes.slots);
  if (r->slab == NULL || r->hashes == NULL || r->requests == NULL || r->free_slots == NULL) {
    reader_free(t, r);
    return NULL;
  }
  r->locations = r->hashes + batch;
  r->sorted = r->locations + batch;
  r->swap = r->sorted + batch;
  r->slot_request = r->free_slots + depth;
  r->thread = syscall(SYS_gettid);
  return r;
}

static void reader_ring(ts_ssd_table *t, ts_ssd_reader *r) {
  if (!t->io_uring || r->depth < 2) return;
  r->has_ring = ts_ring_open(&r->ring, r->depth, true) == 0;
  if (r->has_ring) ts_ring_register(&r->ring, r->slab, (size_t)r->depth * r->slot_bytes);
}

/* An idle one that this thread may use; shared locked. */
static ts_ssd_reader *take_idle(ts_ssd_table *t, int64_t thread) {
  ts_ssd_reader **at = &t->shared->readers, *r;
  while ((r = *at) != NULL &&
         (r->slot_bytes != t->slot_bytes || (r->thread != thread && r->has_ring && r->ring.single)))
    at = &r->next;
  if (r == NULL) return NULL;
  *at = r->next;
  t->shared->idle_readers--;
  return r;
}

/* Of threads that may be gone: the one that is idle longest. shared locked, there is one. */
static void free_idle(ts_ssd_table *t) {
  ts_ssd_reader **at = &t->shared->readers;
  while ((*at)->next != NULL) at = &(*at)->next;
  reader_free(t, *at);
  *at = NULL;
  t->shared->idle_readers--;
}

/* A reader more leaves those who move rows down their part of the headroom. */
static bool leaves_room(const ts_ssd_table *t) {
  const ts_budget *dram = t->dram;
  const uint64_t bytes = sizes_of(t->slot_bytes, t->depth, t->batch).all, used = ts_budget_taken(dram);
  return dram->rows_only || (used < dram->limit && dram->limit - used >= bytes + dram->headroom / 2);
}

/* A new one, with less memory and less speed where there is less. shared locked: who comes next sees what it took. */
static ts_ssd_reader *reader_fit(ts_ssd_table *t) {
  TS_SYNC("ssd:get:make_reader");
  uint32_t depth = t->depth, batch = t->batch;
  for (;;) {
    ts_ssd_reader *r = reader_make(t, t->slot_bytes, depth, batch);
    if (r != NULL) reader_ring(t, r);
    if (r != NULL || (depth == 1 && batch == 16)) return r;
    depth = TS_MAX(1, depth / 2);
    batch = TS_MAX(16, batch / 2);
  }
}

/* Waits for one that is in use; shared locked. */
static void await_reader(ts_ssd_shared *shared) {
  TS_SYNC("ssd:get:wait_reader");
  pthread_cond_wait(&shared->returned, &shared->lock);
}

/* Waits for one that is in use where DRAM is short: whoever has one waits for nothing but the device. */
static ts_ssd_reader *reader_take(ts_ssd_table *t) {
  const int64_t thread = syscall(SYS_gettid);
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  ts_ssd_reader *r;
  for (;;) {
    while ((r = take_idle(t, thread)) == NULL && !leaves_room(t)) {
      if (shared->idle_readers > 0) free_idle(t);
      else if (shared->busy_readers > 0) await_reader(shared);
      else break;
    }
    if (r == NULL && shared->idle_readers >= IDLE_READERS) free_idle(t);
    if (r == NULL) r = reader_fit(t);
    if (r != NULL) {
      shared->busy_readers++;
      break;
    }
    /* Others than readers took the room meanwhile. What readers have of it comes back. */
    if (shared->idle_readers > 0) free_idle(t);
    else if (shared->busy_readers > 0) await_reader(shared);
    else break;
  }
  if (r == NULL) pthread_cond_signal(&shared->returned); /* nobody is left whom others could wait for */
  pthread_mutex_unlock(&shared->lock);
  return r;
}

static void reader_return(ts_ssd_table *t, ts_ssd_reader *r) {
  pthread_mutex_lock(&t->shared->lock);
  r->next = t->shared->readers;
  t->shared->readers = r;
  t->shared->idle_readers++;
  t->shared->busy_readers--;
  pthread_cond_signal(&t->shared->returned);
  pthread_mutex_unlock(&t->shared->lock);
}

void ts_ssd_readers_free(ts_ssd_table *t) {
  while (t->shared->readers != NULL) {
    ts_ssd_reader *r = t->shared->readers;
    t->shared->readers = r->next;
    reader_free(t, r);
  }
  t->shared->idle_readers = 0;
}

static int32_t no_memory(const ts_ssd_table *t, ts_err err) {
  return ts_fail(
      err, TS_EFULL,
      "Cannot read rows of table \"%s\" from SSD: read buffers need DRAM that the limit refuses; raise the first size",
      t->table);
}

/* ---- one batch ---- */

/* What is read and where it goes. */
typedef struct job {
  const int64_t *keys;
  unsigned char *const *rows; /* may be NULL, and each of them */
  uint64_t *versions;         /* may be NULL */
  uint8_t *found;
  ts_err err;
  int32_t status;
  uint64_t reads, bytes;
} job;

static void deliver(const ts_ssd_table *t, job *j, uint32_t i, const ts_ssd_record *record) {
  if (j->rows != NULL && j->rows[i] != NULL) memcpy(j->rows[i], record->row, t->row_bytes);
  if (j->versions != NULL) j->versions[i] = record->version;
  j->found[i] = 1;
}

/* Copies what is in memory, pins the files of the rest and lists it in r->sorted; state held. Returns how many. */
static uint32_t resolve(ts_ssd_table *t, ts_ssd_reader *r, job *j, uint32_t n) {
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++) {
    ts_location location = r->locations[i];
    j->found[i] = 0;
    if (location == TS_LOCATION_NONE) continue;
    ts_ssd_file *file = ts_ssd_file_of(t, location);
    const unsigned char *at = ts_ssd_in_memory(t, file, ts_ssd_record_of(t, location));
    if (at != NULL) {
      ts_ssd_record record = {.row = at + TS_SSD_RECORD_FIXED + file->layout.version_bytes};
      memcpy(&record.version, at + TS_SSD_RECORD_FIXED, file->layout.version_bytes);
      deliver(t, j, i, &record);
    } else {
      file->readers++;
      r->sorted[m++] = location << POSITION_BITS | i;
    }
  }
  return m;
}

/* By radix: 36 bits of location in four passes. */
static void sort(ts_ssd_reader *r, uint32_t n) {
  for (uint32_t shift = POSITION_BITS; shift < POSITION_BITS + 36; shift += 9) {
    uint32_t start[513] = {0};
    for (uint32_t i = 0; i < n; i++) start[(r->sorted[i] >> shift & 511) + 1]++;
    for (uint32_t i = 0; i < 512; i++) start[i + 1] += start[i];
    for (uint32_t i = 0; i < n; i++) r->swap[start[r->sorted[i] >> shift & 511]++] = r->sorted[i];
    uint64_t *other = r->sorted;
    r->sorted = r->swap;
    r->swap = other;
  }
}

/* Joins sorted records whose blocks touch, as far as a slot reaches; state held for files[]. */
static uint32_t plan(const ts_ssd_table *t, ts_ssd_reader *r, uint32_t n) {
  uint32_t count = 0;
  ts_ssd_request *last = NULL;
  for (uint32_t i = 0; i < n; i++) {
    ts_location location = r->sorted[i] >> POSITION_BITS;
    const ts_ssd_file *file = ts_ssd_file_of(t, location);
    uint64_t offset = ts_ssd_offset(&file->layout, ts_ssd_record_of(t, location));
    uint64_t first = offset / t->block * t->block, end = TS_ROUND_UP(offset + file->layout.record_bytes, t->block);
    if (last != NULL && last->file == file && first <= last->offset + last->length &&
        end - last->offset <= r->slot_bytes) {
      last->length = (uint32_t)(TS_MAX(end, last->offset + last->length) - last->offset);
      last->n++;
      continue;
    }
    last = &r->requests[count++];
    *last = (ts_ssd_request){.file = file, .offset = first, .length = (uint32_t)(end - first), .first = i, .n = 1};
  }
  return count;
}

static void fail(job *j, int32_t status) {
  if (j->status == TS_OK) j->status = status;
}

static void damaged(const ts_ssd_table *t, job *j, const ts_ssd_file *file, uint64_t offset, const char *what) {
  if (j->status != TS_OK) return;
  j->status = ts_fail(j->err, TS_EFORMAT,
                      "Cannot use the record at offset %llu of %s/%016llx.log (table \"%s\"): %s; the file was damaged",
                      (unsigned long long)offset, t->folder, (unsigned long long)file->number, t->table, what);
}

static void finish(const ts_ssd_table *t, const ts_ssd_reader *r, job *j, const ts_ssd_request *q,
                   const unsigned char *bytes) {
  for (uint32_t k = q->first; k < q->first + q->n; k++) {
    uint32_t i = (uint32_t)(r->sorted[k] & ((1u << POSITION_BITS) - 1));
    uint32_t slot = ts_ssd_record_of(t, r->sorted[k] >> POSITION_BITS);
    uint64_t offset = ts_ssd_offset(&q->file->layout, slot);
    ts_ssd_record record;
    if (!ts_ssd_decode(&q->file->layout, t->row_bytes, q->file->number, slot, bytes + (offset - q->offset), &record))
      damaged(t, j, q->file, offset, "its checksum is wrong");
    else if (record.key != j->keys[i])
      damaged(t, j, q->file, offset, "it has another key");
    else
      deliver(t, j, i, &record);
  }
}

/* Reads by a plain call: single requests, machines without io_uring, and what the ring could not do. */
static void read_plainly(ts_ssd_table *t, ts_ssd_reader *r, job *j, const ts_ssd_request *q, unsigned char *bytes) {
  ts_err err = j->status == TS_OK ? j->err : (ts_err){0};
  int32_t status = ts_ssd_pread(t, q->file, bytes, q->length, q->offset, err);
  if (status != TS_OK)
    fail(j, status);
  else
    finish(t, r, j, q, bytes);
}

/* Keeps the queue full until all requests are done. False: the ring failed with nothing in flight; *done requests are
 * finished. */
static bool read_by_ring(ts_ssd_table *t, ts_ssd_reader *r, job *j, uint32_t count, uint32_t *done) {
  uint32_t next = 0, flying = 0, free_slots = r->depth;
  for (uint32_t i = 0; i < r->depth; i++) r->free_slots[i] = i;
  while (next < count || flying > 0) {
    while (next < count && free_slots > 0) {
      uint32_t slot = r->free_slots[--free_slots];
      const ts_ssd_request *q = &r->requests[next];
      struct io_uring_sqe *sqe = ts_ring_prepare(&r->ring);
      sqe->opcode = r->ring.fixed ? IORING_OP_READ_FIXED : IORING_OP_READ;
      sqe->fd = t->disk->descriptor(t->disk, q->file->handle);
      sqe->addr = (uintptr_t)(r->slab + (size_t)slot * r->slot_bytes);
      sqe->len = q->length;
      sqe->off = q->offset;
      sqe->user_data = slot;
      r->slot_request[slot] = next++;
      flying++;
    }
    /* A few at a time: each wait is a system call. */
    TS_SYNC("ssd:get:wait");
    int error = ts_ring_enter(&r->ring, TS_MIN(flying, TS_MAX(1, r->depth / 4)));
    if (error == -EEXIST && flying == next) { /* the ring of a thread that had this number before */
      *done = 0;
      return false;
    }
    if (error < 0) usleep(100); /* what is in flight completes all the same */
    uint64_t slot;
    int32_t result;
    while (ts_ring_take(&r->ring, &slot, &result)) {
      TS_SYNC_VALUE("ssd:get:ring_read", result);
      const ts_ssd_request *q = &r->requests[r->slot_request[slot]];
      unsigned char *bytes = r->slab + (size_t)slot * r->slot_bytes;
      if (result == (int32_t)q->length) {
        j->reads++;
        j->bytes += q->length;
        finish(t, r, j, q, bytes);
      } else {
        read_plainly(t, r, j, q, bytes);
      }
      r->free_slots[free_slots++] = (uint32_t)slot;
      flying--;
    }
  }
  *done = count;
  return true;
}

static void run(ts_ssd_table *t, ts_ssd_reader *r, job *j, uint32_t count) {
  uint32_t done = 0;
  if (r->has_ring && count > 1) {
    if (!read_by_ring(t, r, j, count, &done)) {
      ts_ring_close(&r->ring);
      reader_ring(t, r);
      r->thread = syscall(SYS_gettid);
      if (r->has_ring && !read_by_ring(t, r, j, count, &done)) {
        ts_ring_close(&r->ring);
        r->has_ring = false;
      }
    }
  }
  for (; done < count; done++) read_plainly(t, r, j, &r->requests[done], r->slab);
  t->reads += j->reads;
  t->bytes_read += j->bytes;
}

/* state held at entry, not at the end. */
static void read_batch(ts_ssd_table *t, ts_ssd_reader *r, job *j, uint32_t n) {
  uint32_t m = resolve(t, r, j, n), count = 0;
  if (m > 0) {
    sort(r, m);
    count = plan(t, r, m);
  }
  pthread_mutex_unlock(&t->state);
  if (m == 0) return;
  TS_SYNC("ssd:get:pinned");
  run(t, r, j, count);
  TS_SYNC("ssd:get:arrived");
  pthread_mutex_lock(&t->state);
  for (uint32_t i = 0; i < m; i++) ts_ssd_file_of(t, r->sorted[i] >> POSITION_BITS)->readers--;
  if (t->doomed_bytes > 0) pthread_cond_broadcast(&t->freed);
  pthread_mutex_unlock(&t->state);
  TS_SYNC("ssd:get:left");
}

/* ---- the operations ---- */

int32_t ts_ssd_get(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                   ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  int32_t first = TS_OK;
  if (n == 0) return TS_OK;
  ts_ssd_reader *r = reader_take(t);
  if (r == NULL) return no_memory(t, err);
  for (uint32_t at = 0, m; at < n; at += m) {
    m = TS_MIN(n - at, r->batch);
    job j = {.keys = keys + at, .rows = rows + at, .found = found + at, .err = first == TS_OK ? err : (ts_err){0}};
    for (uint32_t i = 0; i < m; i++) r->hashes[i] = ts_index_hash(keys[at + i]);
    pthread_mutex_lock(&t->state);
    ts_index_find(&t->index, keys + at, r->hashes, m, r->locations);
    read_batch(t, r, &j, m);
    if (first == TS_OK) first = j.status;
  }
  reader_return(t, r);
  return first;
}

int32_t ts_ssd_contains(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err) {
  (void)err;
  ts_ssd_table *t = (ts_ssd_table *)records;
  uint64_t hashes[256];
  ts_location locations[256];
  for (uint32_t at = 0, m; at < n; at += m) {
    m = TS_MIN(n - at, 256);
    for (uint32_t i = 0; i < m; i++) hashes[i] = ts_index_hash(keys[at + i]);
    pthread_mutex_lock(&t->state);
    ts_index_find(&t->index, keys + at, hashes, m, locations);
    pthread_mutex_unlock(&t->state);
    for (uint32_t i = 0; i < m; i++) found[at + i] = locations[i] != TS_LOCATION_NONE;
  }
  return TS_OK;
}

/* Walks follow the index, so that each key comes once however records move meanwhile. The table keeps the cursors: the
 * index's is longer than a word. The cursor of the oldest unfinished walk is given up for a 17th. */
int32_t ts_ssd_walk_some(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                         unsigned char *const *rows, uint32_t *got, ts_err err) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  *got = 0;
  if (n == 0) return TS_OK;
  bool reads = versions != NULL;
  for (uint32_t i = 0; rows != NULL && i < n && !reads; i++) reads = rows[i] != NULL;
  ts_ssd_reader *r = reads ? reader_take(t) : NULL;
  if (reads && r == NULL) return no_memory(t, err);
  uint8_t *found = reads ? malloc(r->batch) : NULL; /* a byte a key, less than the reader's slack */
  if (reads && found == NULL) {
    reader_return(t, r);
    return ts_fail(err, TS_ENOMEM, "Cannot walk table \"%s\": out of memory", t->table);
  }
  pthread_mutex_lock(&t->state);
  ts_ssd_walk *walk = NULL, *oldest = &t->walks[0];
  for (uint32_t i = 0; i < TS_SSD_WALKS; i++) {
    if (t->walks[i].token < oldest->token) oldest = &t->walks[i];
    if (*cursor != 0 && t->walks[i].token == *cursor) walk = &t->walks[i];
  }
  int32_t status = TS_OK;
  if (*cursor == 0) {
    walk = oldest;
    *walk = (ts_ssd_walk){.token = ++t->next_walk};
    *cursor = walk->token;
  } else if (walk == NULL) {
    status = ts_fail(
        err, TS_EINVAL,
        "Cannot go on with a walk over table \"%s\": its cursor is not of one of the last %u walks; start again with 0",
        t->table, TS_SSD_WALKS);
  }
  bool more = status == TS_OK;
  ts_index_cursor at = {0};
  if (more) at = walk->cursor;
  uint64_t token = *cursor;
  while (more && *got < n && status == TS_OK) {
    uint32_t m = 0, most = reads ? TS_MIN(n - *got, r->batch) : TS_MIN(n - *got, TS_SSD_BATCH);
    ts_location location;
    while (m < most && (more = ts_index_next(&t->index, &at, &keys[*got + m], &location))) {
      if (reads) r->locations[m] = location;
      m++;
    }
    if (reads) {
      job j = {.keys = keys + *got,
               .rows = rows == NULL ? NULL : rows + *got,
               .versions = versions == NULL ? NULL : versions + *got,
               .found = found,
               .err = err};
      read_batch(t, r, &j, m);
      status = j.status;
      pthread_mutex_lock(&t->state);
    }
    if (status == TS_OK) *got += m;
  }
  for (uint32_t i = 0; i < TS_SSD_WALKS; i++)
    if (t->walks[i].token == token && status == TS_OK)
      t->walks[i] = *got == 0 ? (ts_ssd_walk){0} : (ts_ssd_walk){token, at};
  pthread_mutex_unlock(&t->state);
  free(found);
  if (r != NULL) reader_return(t, r);
  return status;
}
