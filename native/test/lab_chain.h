/* lab_chain.h - a full checkpoint of blocks that a test makes up, on the crash lab's disk. */
#ifndef TS_TEST_LAB_CHAIN_H
#define TS_TEST_LAB_CHAIN_H

#include "checkpoint/file.h"
#include "test/check.h"
#include "test/crash/disk.h"

/* Of a disk that is empty yet; blocks are appended to what it returns. */
static inline ts_checkpoint_writer *begin_chain(lab_disk *disk, const char *path, ts_err err) {
  const ts_checkpoint_origin none = {0};
  ts_checkpoint_writer *writer = NULL;
  lab_disk_begin(disk);
  CHECK_MSG(ts_checkpoint_writer_open(&disk->ops, path, false, &none, &writer, err) == TS_OK, "%s", err.text);
  return writer;
}

static inline void end_chain(ts_checkpoint_writer *writer, ts_err err) {
  ts_checkpoint_origin origin;
  ts_manifest own = {0};
  CHECK_MSG(ts_checkpoint_commit(writer, &own, &origin, err) == TS_OK, "%s", err.text);
  ts_manifest_free(&own);
}

#endif
