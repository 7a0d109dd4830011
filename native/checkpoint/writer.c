/* writer.c - writes a checkpoint's data file and commits it with its manifest (file.h). */
#include "base/crc32c.h"
#include "checkpoint/chain.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct ts_checkpoint_writer {
  const ts_disk_ops *disk;
  pthread_mutex_t lock; /* of what follows, until the words */
  uint64_t bytes, blocks;
  uint32_t blocks_crc; /* CRC32C of all headers */
  int32_t status;      /* the first failure ... */
  char words[512];     /* ... and its words */
  char *path, *data;   /* folder, data file */
  int folder, file;    /* -1: none */
  bool delta, first;   /* first: the folder has no checkpoint yet */
  uint32_t number, parent;
  uint64_t timeline;
  uint8_t chain[TS_CHECKPOINT_ID], id[TS_CHECKPOINT_ID], parent_id[TS_CHECKPOINT_ID], file_id[TS_CHECKPOINT_ID];
};

static int32_t random_id(uint8_t out[TS_CHECKPOINT_ID], ts_err err) {
  return getrandom(out, TS_CHECKPOINT_ID, 0) == TS_CHECKPOINT_ID
             ? TS_OK
             : ts_fail(err, TS_EUNAVAILABLE, "Cannot begin a checkpoint: the system gives no random numbers");
}

/* The folder, made and locked. */
static int32_t take_folder(ts_checkpoint_writer *w, ts_err err) {
  const int made = w->disk->make_folder(w->disk, w->path);
  if (made < 0 && made != -EEXIST) return ts_disk_fail(err, "make the folder of checkpoints", w->path, made);
  w->folder = w->disk->lock_folder(w->disk, w->path);
  if (w->folder == -EWOULDBLOCK)
    return ts_fail(err, TS_EUNAVAILABLE,
                   "Cannot begin a checkpoint in %s: another writer is at work there; wait for it, or use another folder",
                   w->path);
  return w->folder < 0 ? ts_disk_fail(err, "lock the folder of checkpoints", w->path, w->folder) : TS_OK;
}

/* What the checkpoint is in this chain: number, timeline and parent. */
static int32_t take_place(ts_checkpoint_writer *w, const ts_chain *chain, const ts_checkpoint_origin *origin,
                          ts_err err) {
  const ts_chain_link *newest = chain->count == 0 ? NULL : &chain->links[chain->count - 1];
  if (newest != NULL && newest->status != TS_OK) return ts_fail(err, newest->status, "%s", newest->words);
  const uint32_t from = origin == NULL ? 0 : origin->number;
  const ts_chain_link *parent = from == 0 ? NULL : ts_chain_find(chain, from);
  const bool ours = parent != NULL && parent->status == TS_OK && memcmp(parent->id, origin->id, TS_CHECKPOINT_ID) == 0;
  if (w->delta && from == 0)
    return ts_fail(err, TS_EINVAL, "Cannot begin a delta in %s: the store descends from no checkpoint; write a full one",
                   w->path);
  if (w->delta && !ours)
    return ts_fail(err, TS_EFORMAT, "Cannot begin a delta in %s: checkpoint %u, which the store descends from, is not there; "
                   "write a full one", w->path, from);
  if (ours && !origin->restored && newest->number != from)
    return ts_fail(err, TS_EFORMAT, "Cannot begin a checkpoint in %s: the store descends from checkpoint %u, but another went on "
                   "to %u; use another folder, or restore the newest", w->path, from, newest->number);
  w->first = newest == NULL;
  w->number = chain->highest + 1;
  w->parent = ours ? from : 0;
  if (ours) memcpy(w->parent_id, origin->id, TS_CHECKPOINT_ID);
  w->timeline = newest == NULL ? 1 : newest->timeline + (ours && !origin->restored ? 0 : 1);
  if (newest != NULL) memcpy(w->chain, newest->chain, TS_CHECKPOINT_ID);
  return newest == NULL ? random_id(w->chain, err) : TS_OK;
}

/* What is left of writers that did not commit, and of compactions that did not remove what they replaced. */
static int32_t sweep(ts_checkpoint_writer *w, const ts_chain *chain, ts_err err) {
  for (uint32_t i = 0; i < chain->name_count; i++) {
    if (ts_chain_names(chain, chain->names[i])) continue;
    char *file = ts_chain_path(w->path, chain->names[i]);
    if (file == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", w->path);
    const int error = w->disk->unlink(w->disk, file);
    const int32_t status = error == 0 ? TS_OK : ts_disk_fail(err, "remove what a writer left", file, error);
    free(file);
    if (status != TS_OK) return status;
  }
  return TS_OK;
}

static void destroy(ts_checkpoint_writer *w) {
  if (w->file >= 0) w->disk->close(w->disk, w->file);
  if (w->folder >= 0) w->disk->close(w->disk, w->folder);
  pthread_mutex_destroy(&w->lock);
  free(w->path);
  free(w->data);
  free(w);
}

int32_t ts_checkpoint_writer_open(const ts_disk_ops *disk, const char *path, bool delta,
                                  const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err) {
  *out = NULL;
  ts_checkpoint_writer *w = calloc(1, sizeof *w);
  if (w == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", path);
  w->disk = disk == NULL ? &ts_disk_system : disk;
  w->path = strdup(path);
  w->folder = w->file = -1;
  w->delta = delta;
  pthread_mutex_init(&w->lock, NULL);
  ts_chain chain = {0};
  int32_t status = w->path == NULL ? TS_ENOMEM : take_folder(w, err);
  if (status == TS_OK) status = ts_chain_read(w->disk, w->path, &chain, err);
  if (status == TS_OK) status = take_place(w, &chain, origin, err);
  if (status == TS_OK) status = random_id(w->id, err);
  if (status == TS_OK) status = random_id(w->file_id, err);
  if (status == TS_OK) status = sweep(w, &chain, err);
  if (status == TS_OK && (w->data = ts_chain_file(w->path, w->number, TS_CHECKPOINT_DATA)) == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", path);
  if (status == TS_OK) {
    w->file = w->disk->create(w->disk, w->data);
    if (w->file < 0) status = ts_disk_fail(err, "create", w->data, w->file);
  }
  ts_chain_free(&chain);
  if (status != TS_OK) {
    destroy(w);
    return status;
  }
  *out = w;
  return TS_OK;
}

/* Keeps the first failure for later calls. */
static int32_t keep(ts_checkpoint_writer *w, int32_t status, ts_err err) {
  if (status != TS_OK && w->status == TS_OK) {
    w->status = status;
    snprintf(w->words, sizeof w->words, "%s", err.text == NULL ? "" : err.text);
  }
  return status;
}

int32_t ts_checkpoint_append(ts_checkpoint_writer *w, ts_block_kind kind, uint32_t table, uint32_t count,
                             const void *payload, uint64_t bytes, ts_err err) {
  if (bytes > TS_CHECKPOINT_BLOCK_MOST || kind <= TS_BLOCK_END || kind >= TS_BLOCK_KINDS)
    return ts_fail(err, TS_EINVAL, "Cannot append to %s: a block of kind %d with %llu bytes; at most %llu are possible", w->data,
                   (int)kind, (unsigned long long)bytes, (unsigned long long)TS_CHECKPOINT_BLOCK_MOST);
  ts_block_header header = {.magic = TS_CHECKPOINT_MAGIC,
                            .format = TS_CHECKPOINT_FORMAT,
                            .kind = (uint32_t)kind,
                            .table = table,
                            .count = count,
                            .number = w->number,
                            .bytes = bytes,
                            .payload_crc = ts_crc32c(0, payload, bytes)};
  memcpy(header.file, w->file_id, TS_CHECKPOINT_ID);
  char words[512] = "";
  const ts_err own = {words, sizeof words}; /* the caller may want no words; the writer keeps them */
  pthread_mutex_lock(&w->lock);
  int32_t status = w->status;
  if (status == TS_OK) {
    header.place = w->bytes;
    header.header_crc = ts_crc32c(0, &header, offsetof(ts_block_header, header_crc));
    int error = ts_disk_write(w->disk, w->file, &header, sizeof header, w->bytes);
    if (error == 0) error = ts_disk_write(w->disk, w->file, payload, bytes, w->bytes + sizeof header);
    if (error != 0) status = keep(w, ts_disk_fail(own, "write", w->data, error), own);
  }
  if (status == TS_OK) {
    w->bytes += sizeof header + bytes;
    w->blocks++;
    w->blocks_crc = ts_crc32c(w->blocks_crc, &header, sizeof header);
  } else {
    ts_fail(err, status, "%s", w->words);
  }
  pthread_mutex_unlock(&w->lock);
  return status;
}

uint64_t ts_checkpoint_written(ts_checkpoint_writer *w) {
  pthread_mutex_lock(&w->lock);
  const uint64_t bytes = w->bytes;
  pthread_mutex_unlock(&w->lock);
  return bytes;
}

uint32_t ts_checkpoint_number(const ts_checkpoint_writer *w) { return w->number; }

/* This layer's lines, then the caller's. */
static void fill_manifest(const ts_checkpoint_writer *w, const ts_manifest *own, ts_manifest *out) {
  ts_manifest_put(out, "format", "%u", TS_CHECKPOINT_FORMAT);
  ts_manifest_put_id(out, "chain", w->chain);
  ts_manifest_put(out, "number", "%u", w->number);
  ts_manifest_put_id(out, "id", w->id);
  ts_manifest_put(out, "kind", w->delta ? "delta" : "full");
  ts_manifest_put(out, "timeline", "%llu", (unsigned long long)w->timeline);
  ts_manifest_put(out, "parent", "%u", w->parent);
  if (w->parent != 0) ts_manifest_put_id(out, "parent_id", w->parent_id);
  ts_manifest_put_id(out, "file", w->file_id);
  ts_manifest_put(out, "data", "%08x" TS_CHECKPOINT_DATA, w->number);
  ts_manifest_put(out, "blocks", "%llu", (unsigned long long)w->blocks);
  ts_manifest_put(out, "bytes", "%llu", (unsigned long long)w->bytes);
  ts_manifest_put(out, "blocks_crc32c", "%08x", w->blocks_crc);
  if (own != NULL && own->failed) out->failed = true;
  for (uint32_t i = 0; own != NULL && i < own->count; i++)
    ts_manifest_put(out, own->lines[i].key, "%s", own->lines[i].value);
}

/* Writes the manifest under a temporary name and makes it durable. */
static int32_t write_manifest(const ts_disk_ops *disk, const char *path, const ts_manifest *manifest, ts_err err) {
  ts_text text = {0};
  ts_manifest_text(manifest, &text);
  if (text.failed || manifest->failed) {
    free(text.bytes);
    return ts_fail(err, TS_ENOMEM, "Cannot write %s: out of memory", path);
  }
  const int file = disk->create(disk, path);
  int error = file < 0 ? file : ts_disk_write(disk, file, text.bytes, text.length, 0);
  if (error == 0) error = disk->sync(disk, file);
  if (file >= 0) {
    const int closed = disk->close(disk, file);
    if (error == 0) error = closed;
  }
  free(text.bytes);
  return error == 0 ? TS_OK : ts_disk_fail(err, "write", path, error);
}

/* The folder's own entry is made durable with its first checkpoint. */
static int sync_parent(const ts_checkpoint_writer *w) {
  char *up = ts_chain_path(w->path, "..");
  if (up == NULL) return -ENOMEM;
  const int error = w->disk->sync_folder(w->disk, up);
  free(up);
  return error;
}

static int32_t make_durable(ts_checkpoint_writer *w, const ts_manifest *manifest, ts_err err) {
  char *final = ts_chain_file(w->path, w->number, TS_CHECKPOINT_MANIFEST);
  char *temporary = ts_chain_file(w->path, w->number, TS_CHECKPOINT_MANIFEST TS_CHECKPOINT_NEW);
  int32_t status = TS_OK;
  if (final == NULL || temporary == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot commit a checkpoint in %s: out of memory", w->path);
  int error = 0;
  if (status == TS_OK && (error = w->disk->sync(w->disk, w->file)) != 0) status = ts_disk_fail(err, "synchronise", w->data, error);
  if (status == TS_OK) status = write_manifest(w->disk, temporary, manifest, err);
  if (status == TS_OK && w->first && (error = sync_parent(w)) != 0)
    status = ts_disk_fail(err, "synchronise the folder above", w->path, error);
  if (status == TS_OK && (error = w->disk->rename(w->disk, temporary, final)) != 0)
    status = ts_disk_fail(err, "rename", temporary, error);
  if (status == TS_OK && (error = w->disk->sync_folder(w->disk, w->path)) != 0) {
    status = ts_disk_fail(err, "synchronise the folder", w->path, error);
    w->disk->unlink(w->disk, final); /* first, so that no manifest is without its data */
  }
  if (status != TS_OK && temporary != NULL) w->disk->unlink(w->disk, temporary);
  free(final);
  free(temporary);
  return status;
}

int32_t ts_checkpoint_commit(ts_checkpoint_writer *w, const ts_manifest *own, ts_checkpoint_origin *origin,
                             ts_err err) {
  ts_manifest manifest = {0};
  fill_manifest(w, own, &manifest);
  int32_t status = w->status == TS_OK ? make_durable(w, &manifest, err) : ts_fail(err, w->status, "%s", w->words);
  ts_manifest_free(&manifest);
  if (status != TS_OK) {
    ts_checkpoint_abandon(w);
    return status;
  }
  *origin = (ts_checkpoint_origin){.number = w->number};
  memcpy(origin->id, w->id, TS_CHECKPOINT_ID);
  destroy(w);
  return TS_OK;
}

void ts_checkpoint_abandon(ts_checkpoint_writer *w) {
  if (w == NULL) return;
  w->disk->unlink(w->disk, w->data); /* what cannot be removed now is removed by the next writer */
  destroy(w);
}
