/* shares.c - the data files of one checkpoint: one, or one of each rank. What a manifest says of them, whether they are there, and
 * writing those of ranks 1 and above (writer.c has rank 0's, which is the checkpoint's own). */
#include "base/seeded_bug.h"
#include "checkpoint/chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ts_chain_data(const ts_chain *chain, const ts_chain_link *link, uint32_t share) {
  return share == 0 ? ts_chain_path(chain->path, ts_manifest_get(&link->manifest, "data"))
                    : ts_chain_share_file(chain->path, link->number, share);
}

/* The lines of one file, each behind `before`. */
static bool take_share(const ts_manifest *m, const char *before, ts_checkpoint_share *out) {
  char key[4][64];
  static const char *const names[] = {"blocks", "bytes", "file", "blocks_crc32c"};
  for (uint32_t i = 0; i < 4; i++) snprintf(key[i], sizeof key[i], "%s%s", before, names[i]);
  const char *crc = ts_manifest_get(m, key[3]);
  char *end = NULL;
  if (crc == NULL || strlen(crc) != 8) return false;
  out->blocks_crc = (uint32_t)strtoul(crc, &end, 16);
  return *end == '\0' && ts_manifest_u64(m, key[0], &out->blocks) && ts_manifest_u64(m, key[1], &out->bytes) &&
         ts_manifest_id(m, key[2], out->file);
}

bool ts_chain_take_shares(ts_chain_link *link) {
  const ts_manifest *m = &link->manifest;
  uint64_t format = 0, count = 1;
  ts_manifest_u64(m, "format", &format);
  if (format == TS_CHECKPOINT_SHARES_FORMAT && (!ts_manifest_u64(m, "shares", &count) || count < 2 || count > TS_CHECKPOINT_MOST_SHARES))
    return false;
  link->shares = calloc(count, sizeof *link->shares);
  if (link->shares == NULL) return false;
  link->share_count = (uint32_t)count;
  for (uint32_t i = 0; i < count; i++) {
    char before[32] = "";
    if (i > 0) snprintf(before, sizeof before, "share.%u.", i);
    if (!take_share(m, before, &link->shares[i])) return false;
    link->bytes += link->shares[i].bytes;
  }
  return true;
}

int32_t ts_chain_file_length(const ts_disk_ops *disk, const char *data, const char *path, uint32_t number, uint64_t expected,
                             ts_err err) {
  const int file = disk->open(disk, data);
  const int64_t bytes = file < 0 ? file : disk->size(disk, file);
  int32_t status = TS_OK;
  if (file == -ENOENT)
    status = ts_fail(err, TS_EFORMAT, "Cannot read checkpoint %u of %s: its data %s is missing", number, path, data);
  else if (bytes < 0)
    status = ts_disk_fail(err, "read", data, (int)bytes);
  else if ((uint64_t)bytes != expected && !TS_BUG("the length of data is not compared"))
    status = ts_fail(err, TS_EFORMAT, "Cannot read %s: it has %lld bytes, %llu were written; it was %s", data, (long long)bytes,
                     (unsigned long long)expected, (uint64_t)bytes < expected ? "truncated" : "appended to");
  if (file >= 0) disk->close(disk, file);
  return status;
}

int32_t ts_chain_data_length(const ts_chain *chain, const ts_chain_link *link, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < link->share_count; i++) {
    char *data = ts_chain_data(chain, link, i);
    if (data == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", chain->path);
    status = ts_chain_file_length(chain->disk, data, chain->path, link->number, link->shares[i].bytes, err);
    free(data);
  }
  return status;
}
