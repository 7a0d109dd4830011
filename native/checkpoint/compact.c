/* compact.c - the newest checkpoint of a chain, written anew as a full one: what merge.h reads goes into one file, so that
 * nothing but a block and the maps of changed slots is in memory. */
#include "base/control.h"
#include "base/seeded_bug.h"
#include "checkpoint/file.h"
#include "checkpoint/merge.h"
#include "checkpoint/tend.h"

/* All that counts of the chain. Of a key's BEFORE entries the first counts, so they go over in their order. */
static int32_t copy(ts_checkpoint_reader *reader, ts_checkpoint_writer *writer, uint64_t *control, ts_err err) {
  ts_checkpoint_merge *merge;
  int32_t status = ts_checkpoint_merge_open(reader, &merge, err);
  bool there = status == TS_OK;
  if (there) status = ts_checkpoint_merge_link(merge, &there, err);
  while (status == TS_OK && there) {
    ts_checkpoint_block block;
    status = ts_checkpoint_merge_next(merge, &block, err);
    if (status != TS_OK) break;
    if (ts_control_cancelled(control)) {
      status = ts_fail(err, TS_ECANCELLED, "The compaction was cancelled");
    } else if (block.kind == TS_BLOCK_END) {
      status = ts_checkpoint_merge_link(merge, &there, err);
      if (TS_BUG("compaction reads the newest link alone")) there = false;
    } else if (block.kind == TS_BLOCK_BEFORE && TS_BUG("compaction leaves out images before a change")) {
      continue;
    } else {
      status = ts_checkpoint_append(writer, block.kind, block.table, block.count, block.payload, block.bytes, err);
    }
  }
  ts_checkpoint_merge_close(merge);
  return status;
}

int32_t ts_chain_compact(const ts_disk_ops *disk, const char *path, uint64_t *control, ts_err err) {
  ts_checkpoint_writer *writer;
  ts_checkpoint_reader *reader = NULL;
  ts_checkpoint_origin origin;
  bool write;
  int32_t status = ts_checkpoint_writer_replace(disk, path, &writer, &write, err);
  if (status != TS_OK) return status;
  if (writer == NULL) return ts_fail(err, TS_EINVAL, "Cannot compact the checkpoints of %s: there is none", path);
  status = ts_checkpoint_reader_open(disk, path, 0, &reader, err);
  ts_control_start(control, status == TS_OK && write ? ts_checkpoint_reader_bytes(reader) : 0);
  if (status == TS_OK) ts_checkpoint_count_in(reader, control);
  if (status == TS_OK && write) status = copy(reader, writer, control, err);
  if (status == TS_OK) status = ts_checkpoint_commit(writer, ts_checkpoint_link_manifest(reader, TS_BUG("compaction keeps the oldest manifest's lines") ? ts_checkpoint_links(reader) - 1 : 0), &origin, err);
  else ts_checkpoint_abandon(writer);
  ts_checkpoint_reader_close(reader);
  if (status == TS_OK) ts_control_finish(control);
  return status;
}

int32_t ts_checkpoint_compact(const char *path, uint64_t *control, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (path == NULL) return ts_fail(e, TS_EINVAL, "Cannot compact checkpoints: a path is needed");
  return ts_chain_compact(&ts_disk_system, path, control, e);
}
