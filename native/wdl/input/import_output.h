/* import_output.h - one of the two cache files that an import writes: rows wait in groups until these are full. */
#ifndef TS_INPUT_IMPORT_OUTPUT_H
#define TS_INPUT_IMPORT_OUTPUT_H

#include "wdl/input/cache_format.h"

typedef struct ts_import_output {
  ts_cache_writer writer;
  ts_cache_header header;
  ts_cache_group **groups; /* in memory, from number `first` on; empty ones behind those in use */
  uint64_t first, room;    /* number of groups[0]; how many there are */
  uint64_t clicks;
} ts_import_output;

/* Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_import_output_open(ts_import_output *out, const char *path, uint32_t split, uint32_t numerics, ts_err err);
void ts_import_output_close(ts_import_output *out);

/* Makes place for rows up to `rows` in all. False: out of memory. */
bool ts_import_output_reserve(ts_import_output *out, uint64_t rows);
static inline ts_cache_group *ts_import_output_group(const ts_import_output *out, uint64_t row) {
  return out->groups[row / TS_CACHE_GROUP - out->first];
}

/* Writes group groups[index], which has this many rows; *digest is its part of the digest. Several threads
 * may write different groups. Errors: TS_EIO. */
int32_t ts_import_output_write(ts_import_output *out, uint64_t index, uint32_t rows, uint64_t *digest,
                               ts_err err);
/* The first `n` groups were written: they become empty groups behind the others. */
void ts_import_output_rotate(ts_import_output *out, uint64_t n);

#endif
