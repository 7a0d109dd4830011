/* file.h - checkpoints as files: writing one, and reading a chain of them. What lies in the files is in format.h.
 *
 * A checkpoint is written in this order, and nothing before the last step makes a reader see it: blocks are appended to a
 * new data file; the file is synchronised; a manifest is written under a temporary name, synchronised and renamed; the
 * folder is synchronised. Numbers only rise. Of a delta, the manifest names its parent by number and identity (`id`): 128
 * random bits that a checkpoint gets once and keeps when compaction writes it anew.
 *
 * A restore begins a timeline: checkpoints that come after it in the folder and do not descend from it are of a timeline that
 * was abandoned. They stay as files until the chain is compacted, and no reader takes them any more. */
#ifndef TS_CHECKPOINT_FILE_H
#define TS_CHECKPOINT_FILE_H

#include "base/disk.h"
#include "checkpoint/format.h"
#include "checkpoint/manifest.h"

/* Which checkpoint a store's state descends from. Zeros: none. The store keeps it: a commit and a reader fill it in. */
typedef struct ts_checkpoint_origin {
  uint32_t number; /* 0: none */
  bool restored;   /* the store was restored from it; else it wrote it */
  uint8_t id[TS_CHECKPOINT_ID];
} ts_checkpoint_origin;

/* One data file of a checkpoint: there is one, or one of each rank (format.h). */
typedef struct ts_checkpoint_share {
  uint64_t blocks, bytes;
  uint32_t blocks_crc; /* CRC32C of all headers */
  uint8_t file[TS_CHECKPOINT_ID];
} ts_checkpoint_share;

/* ---- writing ---- */

typedef struct ts_checkpoint_writer ts_checkpoint_writer;
/* Makes the folder where it is missing (its parent must be there), locks it until the writer is gone, removes what writers
 * left that did not commit, and begins a data file. delta: its parent is the origin, which must be in this folder and, unless
 * the store was restored from it, the newest there.
 * disk: NULL: ts_disk_system; must outlive the writer, as must no string that is given.
 * Errors: TS_EINVAL (a delta without an origin), TS_EUNAVAILABLE (another writer has the folder), TS_EIO, TS_EFULL (the disk has
 * no room), TS_EFORMAT (the newest manifest is damaged; the origin is not there, or was continued by somebody else), TS_ENOMEM. */
int32_t ts_checkpoint_writer_open(const ts_disk_ops *disk, const char *path, bool delta,
                                  const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err);
/* The same, and *delta asks for one where it can be and costs less: the deltas that it would stand on have fewer bytes together
 * than the full one below them. So a restore reads at most about two full ones, and what is written for a chain is at most about
 * twice its deltas. Else a full one; *delta tells which. */
int32_t ts_checkpoint_writer_open_cheaper(const ts_disk_ops *disk, const char *path, bool *delta,
                                          const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err);
/* The same for a full one whose number is at least `least`. */
int32_t ts_checkpoint_writer_open_from(const ts_disk_ops *disk, const char *path, uint32_t least,
                                       const ts_checkpoint_origin *origin, ts_checkpoint_writer **out, ts_err err);
/* Appends a block. Thread-safe: blocks lie in the order of the calls. After a failure every later call, and commit, fails
 * with the same words. Errors: TS_EIO, TS_EFULL, TS_EINVAL (more than TS_CHECKPOINT_BLOCK_MOST bytes). */
int32_t ts_checkpoint_append(ts_checkpoint_writer *writer, ts_block_kind kind, uint32_t table, uint32_t count,
                             const void *payload, uint64_t bytes, ts_err err);
/* A writer for compaction: it gives the newest checkpoint data that needs no parent. Number, identity and timeline stay; commit
 * is given its manifest as `own`, and when the new data is durable it removes all other checkpoints of the folder. *write is
 * false if the newest is a full one, so that no blocks are wanted. After a failure the checkpoint is there, as it was or as it
 * was to be. *out is NULL and the call succeeds if the folder has no checkpoint. Errors: as writer_open. */
int32_t ts_checkpoint_writer_replace(const ts_disk_ops *disk, const char *path, ts_checkpoint_writer **out, bool *write,
                                     ts_err err);
/* Bytes appended so far, for progress and records. */
uint64_t ts_checkpoint_written(ts_checkpoint_writer *writer);
/* The number that the checkpoint will have. */
uint32_t ts_checkpoint_number(const ts_checkpoint_writer *writer);
/* Its identity. */
void ts_checkpoint_identity(const ts_checkpoint_writer *writer, uint8_t out[TS_CHECKPOINT_ID]);
/* Makes it durable, with the lines of `own` in its manifest behind those of this layer, whose keys are format, chain, number,
 * id, kind, timeline, parent, parent_id, file, data, blocks, bytes, blocks_crc32c. origin: filled in. The writer is gone
 * either way; after a failure so is what it wrote. Errors: TS_EIO, TS_EFULL, TS_ENOMEM. */
int32_t ts_checkpoint_commit(ts_checkpoint_writer *writer, const ts_manifest *own, ts_checkpoint_origin *origin,
                             ts_err err);
/* A writer of one more data file, `share` of 1 or more, of the checkpoint `number` that a writer of another process has begun in
 * this folder. It takes no lock: that process's stands for it. Errors: TS_EIO, TS_EFULL, TS_ENOMEM. */
int32_t ts_checkpoint_share_open(const ts_disk_ops *disk, const char *path, uint32_t number, uint32_t share,
                                 ts_checkpoint_writer **out, ts_err err);
/* Makes a share's data durable and tells what it is. The writer stays, and abandon removes its file until
 * ts_checkpoint_share_leave. Errors: TS_EIO, TS_EFULL. */
int32_t ts_checkpoint_share_end(ts_checkpoint_writer *writer, ts_checkpoint_share *out, ts_err err);
/* The writer is gone, its file stays: a manifest names it, or the next writer of the folder removes it. */
void ts_checkpoint_share_leave(ts_checkpoint_writer *writer);
/* Before the commit: shares[1] to shares[count - 1] are data of the checkpoint as well. Each is looked up, so that a folder that
 * processes do not share is noticed. Errors: TS_EFORMAT (a file is missing, or has another length), TS_EIO, TS_ENOMEM. */
int32_t ts_checkpoint_add_shares(ts_checkpoint_writer *writer, const ts_checkpoint_share *shares, uint32_t count, ts_err err);
/* Removes what was written. NULL: nothing. */
void ts_checkpoint_abandon(ts_checkpoint_writer *writer);

/* ---- reading ---- */

typedef struct ts_checkpoint_block {
  ts_block_kind kind; /* TS_BLOCK_END: there was none left, the rest is zeros */
  uint32_t table, count;
  uint64_t bytes;
  const unsigned char *payload; /* of no alignment; the reader's, until its next call */
} ts_checkpoint_block;

typedef struct ts_checkpoint_reader ts_checkpoint_reader;
/* Opens checkpoint `number` (0: the newest) and all that it needs: a full one alone, or a delta and its parents down to a
 * full one. Every manifest and the length of every data file is checked here, every block when it is read.
 * Errors: TS_EIO (no folder, unreadable), TS_EINVAL (no such checkpoint, or one of an abandoned timeline), TS_EFORMAT (a link is
 * damaged, missing, doubled, truncated, in the wrong order or of another chain: the words name it), TS_ENOMEM. */
int32_t ts_checkpoint_reader_open(const ts_disk_ops *disk, const char *path, uint32_t number,
                                  ts_checkpoint_reader **out, ts_err err);
void ts_checkpoint_reader_close(ts_checkpoint_reader *reader);
/* Links from 0, the one that was asked for, to links - 1, the full one. */
uint32_t ts_checkpoint_links(const ts_checkpoint_reader *reader);
const ts_manifest *ts_checkpoint_link_manifest(const ts_checkpoint_reader *reader, uint32_t link);
uint64_t ts_checkpoint_link_bytes(const ts_checkpoint_reader *reader, uint32_t link); /* of all its shares */
ts_checkpoint_origin ts_checkpoint_reader_origin(const ts_checkpoint_reader *reader); /* restored */
/* Starts reading a link from the first block of its first share; the others follow. Errors: TS_EIO. */
int32_t ts_checkpoint_select(ts_checkpoint_reader *reader, uint32_t link, ts_err err);
/* Parts of a link that can be read side by side, `parts` of them or fewer: each begins at a block, places[0] is 0, and
 * places[*found] the end. One is found of a link with several shares. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_checkpoint_split(ts_checkpoint_reader *reader, uint32_t link, uint32_t parts, uint64_t *places, uint32_t *found, ts_err err);
/* Another reader of one link alone, its link 0, for another thread; of no use when the first one is closed. Errors: TS_ENOMEM. */
int32_t ts_checkpoint_reader_beside(const ts_checkpoint_reader *reader, uint32_t link, ts_checkpoint_reader **out, ts_err err);
/* Starts reading such a part; until is 0: all there is from there on. Its END says that its blocks were whole, not that all are there: ts_checkpoint_parts_whole says
 * that once of each the END has come. Errors: TS_EIO. */
int32_t ts_checkpoint_select_part(ts_checkpoint_reader *reader, uint32_t link, uint64_t from, uint64_t until, ts_err err);
/* Errors: TS_EFORMAT. */
int32_t ts_checkpoint_parts_whole(ts_checkpoint_reader *const *readers, uint32_t parts, ts_err err);
/* The next block of the link; the END says that all were there. Errors: TS_EIO, TS_EFORMAT (damaged: file and offset), TS_ENOMEM. */
int32_t ts_checkpoint_next(ts_checkpoint_reader *reader, ts_checkpoint_block *out, ts_err err);
/* From here on blocks that come are counted in `control` (base/control.h), in bytes of the file; NULL: they are not. */
void ts_checkpoint_count_in(ts_checkpoint_reader *reader, uint64_t *control);
/* Bytes of all links. */
uint64_t ts_checkpoint_reader_bytes(const ts_checkpoint_reader *reader);
/* Reads a link to its end, and checks each block; counts in `control` and stops when told to.
 * Errors: as ts_checkpoint_select and _next; TS_ECANCELLED. */
int32_t ts_checkpoint_read_through(ts_checkpoint_reader *reader, uint32_t link, uint64_t *control, ts_err err);
/* After END, or another of these: the BEFORE blocks of the link from its last to its first, then END. Errors: as next. */
int32_t ts_checkpoint_previous_before(ts_checkpoint_reader *reader, ts_checkpoint_block *out, ts_err err);
/* The block that came last, for messages about what is in it: "<file>, the block at offset N". */
const char *ts_checkpoint_where(const ts_checkpoint_reader *reader, char *out, size_t cap);

#endif
