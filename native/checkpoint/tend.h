/* tend.h - chains looked after: what tierstore.h offers under ts_checkpoint_describe, _verify and _compact, over any disk. */
#ifndef TS_CHECKPOINT_TEND_H
#define TS_CHECKPOINT_TEND_H

#include "base/disk.h"

int32_t ts_chain_describe(const ts_disk_ops *disk, const char *path, ts_text *out, ts_err err);
int32_t ts_chain_verify(const ts_disk_ops *disk, const char *path, uint64_t *control, ts_err err);
int32_t ts_chain_compact(const ts_disk_ops *disk, const char *path, uint64_t *control, ts_err err);

#endif
