/* writer.c - writes a checkpoint's data file and commits it with its manifest (file.h). */
#include "base/crc32c.h"
#include "base/seeded_bug.h"
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
  bool replaces;       /* the newest checkpoint's data by that of a full one */
  bool kept;           /* its manifest may be there: its data stays */
  uint32_t number, parent;
  ts_checkpoint_share *shares; /* of other ranks, from 1 on; NULL: none */
  uint32_t share_count;
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
  w->folder = TS_BUG("the folder is not locked") ? -1 : w->disk->lock_folder(w->disk, w->path);
  if (TS_BUG("the folder is not locked")) return TS_OK;
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
  if (ours && !origin->restored && newest->number != from && !TS_BUG("a store that was overtaken goes on"))
    return ts_fail(err, TS_EFORMAT, "Cannot begin a checkpoint in %s: the store descends from checkpoint %u, but another went on "
                   "to %u; use another folder, or restore the newest", w->path, from, newest->number);
  w->first = newest == NULL;
  w->number = TS_BUG("checkpoints are counted anew") ? chain->count + 1 : chain->highest + 1;
  w->parent = ours ? from : 0;
  if (ours) memcpy(w->parent_id, origin->id, TS_CHECKPOINT_ID);
  w->timeline = newest == NULL ? 1 : newest->timeline + ((ours && !origin->restored) || TS_BUG("a restore begins no timeline") ? 0 : 1);
  if (newest != NULL) memcpy(w->chain, newest->chain, TS_CHECKPOINT_ID);
  return newest == NULL ? random_id(w->chain, err) : TS_OK;
}

/* The place of the newest checkpoint, for other data of the same contents. */
static void take_newest(ts_checkpoint_writer *w, const ts_chain_link *newest) {
  w->replaces = true;
  w->number = newest->number;
  w->timeline = newest->timeline;
  w->parent = newest->parent;
  memcpy(w->chain, newest->chain, TS_CHECKPOINT_ID);
  memcpy(w->id, TS_BUG("compaction gives another identity") ? newest->shares[0].file : newest->id, TS_CHECKPOINT_ID);
  memcpy(w->parent_id, newest->parent_id, TS_CHECKPOINT_ID);
}

static void destroy(ts_checkpoint_writer *w) {
  if (w->file >= 0) w->disk->close(w->disk, w->file);
  if (w->folder >= 0) w->disk->close(w->disk, w->folder);
  pthread_mutex_destroy(&w->lock);
  free(w->shares);
  free(w->path);
  free(w->data);
  free(w);
}

/* A writer of a folder. */
static ts_checkpoint_writer *make(const ts_disk_ops *disk, const char *path, ts_err err) {
  ts_checkpoint_writer *w = calloc(1, sizeof *w);
  char *copy = strdup(path);
  if (w == NULL || copy == NULL) {
    free(w);
    free(copy);
    ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", path);
    return NULL;
  }
  w->disk = disk == NULL ? &ts_disk_system : disk;
  w->path = copy;
  w->folder = w->file = -1;
  pthread_mutex_init(&w->lock, NULL);
  return w;
}

/* A writer with the folder and what is in it; NULL on failure. */
static ts_checkpoint_writer *begin(const ts_disk_ops *disk, const char *path, ts_chain *chain, int32_t *status,
                                   ts_err err) {
  *chain = (ts_chain){0};
  ts_checkpoint_writer *w = make(disk, path, err);
  if (w == NULL) {
    *status = TS_ENOMEM;
    return NULL;
  }
  *status = take_folder(w, err);
  if (*status == TS_OK) *status = ts_chain_read(w->disk, w->path, chain, err);
  if (*status == TS_OK) return w;
  destroy(w);
  return NULL;
}

/* Removes what earlier writers left and makes the data file. */
static int32_t begin_data(ts_checkpoint_writer *w, const ts_chain *chain, ts_err err) {
  int32_t status = random_id(w->file_id, err);
  if (status == TS_OK) status = ts_chain_sweep(chain, err);
  if (status != TS_OK) return status;
  w->data = ts_chain_file(w->path, w->number, w->replaces ? TS_CHECKPOINT_FULL_DATA : TS_CHECKPOINT_DATA);
  if (w->data == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", w->path);
  w->file = w->disk->create(w->disk, w->data);
  return w->file < 0 ? ts_disk_fail(err, "create", w->data, w->file) : TS_OK;
}

/* Ends an opening: the writer, or nothing. */
static int32_t opened(ts_checkpoint_writer *w, ts_chain *chain, int32_t status, ts_checkpoint_writer **out) {
  ts_chain_free(chain);
  if (status == TS_OK) *out = w;
  else destroy(w);
  return status;
}

/* Whether the deltas that another one would stand on have fewer bytes together than the full one below them. */
static bool delta_pays(const ts_checkpoint_writer *w, const ts_chain *chain) {
  uint64_t deltas = 0;
  ts_chain_link *link = ts_chain_find(chain, w->parent);
  while (link != NULL && link->delta) {
    deltas += link->bytes;
    if (ts_chain_parent(chain, link, &link, (ts_err){NULL, 0}) != TS_OK) return false;
  }
  return link != NULL && deltas < link->bytes;
}

/* A delta, if that is asked for; with `choose`, a full one where no delta can be or pays. */
static int32_t place_chosen(ts_checkpoint_writer *w, const ts_chain *chain, const ts_checkpoint_origin *origin, bool choose,
                            ts_err err) {
  const int32_t status = take_place(w, chain, origin, err);
  const bool cannot = status == TS_EFORMAT || status == TS_EINVAL;
  if (!choose || !w->delta || (!cannot && (status != TS_OK || delta_pays(w, chain)))) return status;
  w->delta = false;
  return take_place(w, chain, origin, err);
}

static int32_t open_writer(const ts_disk_ops *disk, const char *path, bool *delta, bool choose, uint32_t least,
                           const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err) {
  *out = NULL;
  ts_chain chain;
  int32_t status;
  ts_checkpoint_writer *w = begin(disk, path, &chain, &status, err);
  if (w == NULL) return status;
  w->delta = *delta;
  status = place_chosen(w, &chain, origin, choose, err);
  *delta = w->delta;
  w->number = TS_MAX(w->number, least);
  if (status == TS_OK) status = random_id(w->id, err);
  if (status == TS_OK) status = begin_data(w, &chain, err);
  return opened(w, &chain, status, out);
}

int32_t ts_checkpoint_writer_open(const ts_disk_ops *disk, const char *path, bool delta,
                                  const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err) {
  return open_writer(disk, path, &delta, false, 0, origin, out, err);
}

int32_t ts_checkpoint_writer_open_cheaper(const ts_disk_ops *disk, const char *path, bool *delta,
                                          const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err) {
  return open_writer(disk, path, delta, true, 0, origin, out, err);
}

int32_t ts_checkpoint_writer_open_from(const ts_disk_ops *disk, const char *path, uint32_t least,
                                       const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err) {
  bool delta = false;
  return open_writer(disk, path, &delta, false, least, origin, out, err);
}

int32_t ts_checkpoint_writer_replace(const ts_disk_ops *disk, const char *path, ts_checkpoint_writer **out, bool *write,
                                     ts_err err) {
  *out = NULL;
  *write = false;
  ts_chain chain;
  int32_t status;
  ts_checkpoint_writer *w = begin(disk, path, &chain, &status, err);
  if (w == NULL) return status;
  const ts_chain_link *newest = chain.count == 0 ? NULL : &chain.links[chain.count - 1];
  if (newest == NULL) {
    destroy(w);
    ts_chain_free(&chain);
    return TS_OK;
  }
  status = newest->status == TS_OK ? TS_OK : ts_fail(err, newest->status, "%s", newest->words);
  if (status == TS_OK) take_newest(w, newest);
  if (status == TS_OK && newest->delta) {
    status = begin_data(w, &chain, err);
    *write = true;
  }
  return opened(w, &chain, status, out);
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
    if (error != 0 && !TS_BUG("a failed write passes")) status = keep(w, ts_disk_fail(own, "write", w->data, error), own);
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

void ts_checkpoint_identity(const ts_checkpoint_writer *w, uint8_t out[TS_CHECKPOINT_ID]) { memcpy(out, w->id, TS_CHECKPOINT_ID); }

static void share_lines(const ts_checkpoint_share *share, uint32_t i, ts_manifest *out) {
  char key[64];
#define KEY(name) (snprintf(key, sizeof key, "share.%u." name, i), key)
  ts_manifest_put_id(out, KEY("file"), share->file);
  ts_manifest_put(out, KEY("blocks"), "%llu", (unsigned long long)share->blocks);
  ts_manifest_put(out, KEY("bytes"), "%llu", (unsigned long long)share->bytes);
  ts_manifest_put(out, KEY("blocks_crc32c"), "%08x", share->blocks_crc);
#undef KEY
}

/* This layer's lines, then the caller's. */
static void fill_manifest(const ts_checkpoint_writer *w, const ts_manifest *own, ts_manifest *out) {
  ts_manifest_put(out, "format", "%u", w->shares == NULL ? TS_CHECKPOINT_FORMAT : TS_CHECKPOINT_SHARES_FORMAT);
  ts_manifest_put_id(out, "chain", w->chain);
  ts_manifest_put(out, "number", "%u", w->number);
  ts_manifest_put_id(out, "id", w->id);
  ts_manifest_put(out, "kind", w->delta ? "delta" : "full");
  ts_manifest_put(out, "timeline", "%llu", (unsigned long long)w->timeline);
  ts_manifest_put(out, "parent", "%u", w->parent);
  if (w->parent != 0) ts_manifest_put_id(out, "parent_id", w->parent_id);
  ts_manifest_put_id(out, "file", w->file_id);
  ts_manifest_put(out, "data", "%s", strrchr(w->data, '/') + 1);
  ts_manifest_put(out, "blocks", "%llu", (unsigned long long)w->blocks);
  ts_manifest_put(out, "bytes", "%llu", (unsigned long long)w->bytes);
  ts_manifest_put(out, "blocks_crc32c", "%08x", w->blocks_crc);
  if (w->shares != NULL) ts_manifest_put(out, "shares", "%u", w->share_count);
  for (uint32_t i = 1; i < w->share_count; i++) share_lines(&w->shares[i], i, out);
  if (own != NULL && own->failed) out->failed = true;
  for (uint32_t i = 0; own != NULL && i < own->count; i++)
    if (ts_manifest_get(out, own->lines[i].key) == NULL)
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
  if (TS_BUG("a failed sync of the manifest passes")) error = 0;
  if (file >= 0) {
    const int closed = disk->close(disk, file);
    if (error == 0) error = closed;
  }
  free(text.bytes);
  return error == 0 ? TS_OK : ts_disk_fail(err, "write", path, error);
}

static int32_t sync_data(const ts_checkpoint_writer *w, ts_err err) {
  const int error = w->disk->sync(w->disk, w->file);
  return error == 0 || TS_BUG("a failed sync of data passes") ? TS_OK : ts_disk_fail(err, "synchronise", w->data, error);
}

/* The folder's own entry is made durable with its first checkpoint. */
static int32_t sync_above(const ts_checkpoint_writer *w, ts_err err) {
  char *up = ts_chain_path(w->path, "..");
  if (up == NULL) return ts_fail(err, TS_ENOMEM, "Cannot commit a checkpoint in %s: out of memory", w->path);
  const int error = w->disk->sync_folder(w->disk, up);
  free(up);
  return error == 0 ? TS_OK : ts_disk_fail(err, "synchronise the folder above", w->path, error);
}

/* The commit: from here on a reader sees the checkpoint, and after it, for ever. */
static int32_t show(ts_checkpoint_writer *w, const char *temporary, const char *final, ts_err err) {
  const bool early = TS_BUG("the folder is synchronised before the rename");
  if (early) w->disk->sync_folder(w->disk, w->path);
  int error = w->disk->rename(w->disk, temporary, final);
  if (error != 0 && !TS_BUG("a failed rename passes")) return ts_disk_fail(err, "rename", temporary, error);
  error = early ? 0 : w->disk->sync_folder(w->disk, w->path);
  if (error == 0 || TS_BUG("a failed sync of the folder passes")) return TS_OK;
  if (TS_BUG("data of a failed checkpoint is removed first")) w->disk->unlink(w->disk, w->data);
  /* Whether the rename lasts is not known. Another checkpoint is taken back, its manifest first, so that none is without its
   * data; one that only has other data now is good either way. */
  const bool stays = w->replaces && !TS_BUG("a failed compaction is taken back");
  w->kept = stays || w->disk->unlink(w->disk, final) != 0;
  return ts_disk_fail(err, "synchronise the folder", w->path, error);
}

static int32_t make_durable(ts_checkpoint_writer *w, const ts_manifest *manifest, ts_err err) {
  char *final = ts_chain_file(w->path, w->number, TS_CHECKPOINT_MANIFEST);
  char *temporary = ts_chain_file(w->path, w->number, TS_CHECKPOINT_MANIFEST TS_CHECKPOINT_NEW);
  const bool late = TS_BUG("data is synchronised last");
  int32_t status = TS_OK;
  if (final == NULL || temporary == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot commit a checkpoint in %s: out of memory", w->path);
  if (status == TS_OK && !late) status = sync_data(w, err);
  if (status == TS_OK) status = write_manifest(w->disk, temporary, manifest, err);
  if (status == TS_OK && w->first) status = sync_above(w, err);
  if (status == TS_OK) status = show(w, temporary, final, err);
  if (status == TS_OK && late) status = sync_data(w, err);
  if (status != TS_OK && temporary != NULL) w->disk->unlink(w->disk, temporary);
  free(final);
  free(temporary);
  return status;
}

/* After a compaction: what the newest checkpoint needs no more. */
static int32_t remove_older(const ts_checkpoint_writer *w, ts_err err) {
  ts_chain chain;
  int32_t status = ts_chain_read(w->disk, w->path, &chain, err);
  if (status != TS_OK) return status;
  status = ts_chain_forget_older(&chain, err);
  ts_chain_free(&chain);
  if (status == TS_OK) status = ts_chain_read(w->disk, w->path, &chain, err);
  if (status == TS_OK) status = ts_chain_sweep(&chain, err);
  ts_chain_free(&chain);
  return status;
}

int32_t ts_checkpoint_commit(ts_checkpoint_writer *w, const ts_manifest *own, ts_checkpoint_origin *origin,
                             ts_err err) {
  int32_t status = w->status == TS_OK ? TS_OK : ts_fail(err, w->status, "%s", w->words);
  if (status == TS_OK && w->replaces && TS_BUG("compaction removes before it is durable")) status = remove_older(w, err);
  if (status == TS_OK && w->file >= 0) {
    ts_manifest manifest = {0};
    fill_manifest(w, own, &manifest);
    status = make_durable(w, &manifest, err);
    ts_manifest_free(&manifest);
  }
  if (status != TS_OK) {
    ts_checkpoint_abandon(w);
    return status;
  }
  *origin = (ts_checkpoint_origin){.number = w->number};
  memcpy(origin->id, w->id, TS_CHECKPOINT_ID);
  if (w->replaces) status = remove_older(w, err);
  destroy(w);
  return status;
}

/* ---- shares ---- */

int32_t ts_checkpoint_share_open(const ts_disk_ops *disk, const char *path, uint32_t number, uint32_t share,
                                 ts_checkpoint_writer **out, ts_err err) {
  *out = NULL;
  ts_checkpoint_writer *w = make(disk, path, err);
  if (w == NULL) return TS_ENOMEM;
  w->number = number;
  int32_t status = random_id(w->file_id, err);
  if (status == TS_OK && (w->data = ts_chain_share_file(path, number, share)) == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint in %s: out of memory", path);
  if (status == TS_OK && (w->file = w->disk->create(w->disk, w->data)) < 0) {
    status = ts_disk_fail(err, "create", w->data, w->file);
    w->file = -1;
  }
  if (status == TS_OK) *out = w;
  else destroy(w);
  return status;
}

int32_t ts_checkpoint_share_end(ts_checkpoint_writer *w, ts_checkpoint_share *out, ts_err err) {
  if (w->status != TS_OK) return ts_fail(err, w->status, "%s", w->words);
  int32_t status = sync_data(w, err);
  const int error = status == TS_OK ? w->disk->sync_folder(w->disk, w->path) : 0; /* the file's name, as this machine has made it */
  if (error != 0) status = ts_disk_fail(err, "synchronise the folder", w->path, error);
  *out = (ts_checkpoint_share){.blocks = w->blocks, .bytes = w->bytes, .blocks_crc = w->blocks_crc};
  memcpy(out->file, w->file_id, TS_CHECKPOINT_ID);
  return status;
}

void ts_checkpoint_share_leave(ts_checkpoint_writer *w) {
  if (w != NULL) destroy(w);
}

int32_t ts_checkpoint_add_shares(ts_checkpoint_writer *w, const ts_checkpoint_share *shares, uint32_t count, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t i = 1; status == TS_OK && i < count; i++) {
    char *data = ts_chain_share_file(w->path, w->number, i);
    if (data == NULL) return ts_fail(err, TS_ENOMEM, "Cannot commit a checkpoint in %s: out of memory", w->path);
    status = ts_chain_file_length(w->disk, data, w->path, w->number, shares[i].bytes, err);
    free(data);
  }
  if (status != TS_OK || count < 2) return status;
  w->shares = malloc(count * sizeof *shares);
  if (w->shares == NULL) return ts_fail(err, TS_ENOMEM, "Cannot commit a checkpoint in %s: out of memory", w->path);
  memcpy(w->shares, shares, count * sizeof *shares);
  w->share_count = count;
  return TS_OK;
}

void ts_checkpoint_abandon(ts_checkpoint_writer *w) {
  if (w == NULL) return;
  /* What cannot be removed now is removed by the next writer. */
  if (w->file >= 0 && !w->kept) w->disk->unlink(w->disk, w->data);
  destroy(w);
}
