/* manifest.h - what a checkpoint says of itself: lines "key=value", the last of them "sum=", the CRC32C of the lines before
 * it in 8 hexadecimal digits. Keys are of [a-z0-9_.]; of values, bytes below 32, 127 and the backslash are written \xNN. */
#ifndef TS_CHECKPOINT_MANIFEST_H
#define TS_CHECKPOINT_MANIFEST_H

#include "base/base.h"

typedef struct ts_manifest_line {
  char *key, *value;
} ts_manifest_line;

/* Starts as zeros. */
typedef struct ts_manifest {
  ts_manifest_line *lines;
  uint32_t count, capacity;
  bool failed; /* out of memory: what was put is not all there */
} ts_manifest;

/* Adds a line, or gives one that is there another value. */
void ts_manifest_put(ts_manifest *manifest, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: there is no such line. Valid until the manifest changes. */
const char *ts_manifest_get(const ts_manifest *manifest, const char *key);
/* False: there is no such line, or it is not a whole number below 2^64. */
bool ts_manifest_u64(const ts_manifest *manifest, const char *key, uint64_t *out);
/* An identity, from 32 hexadecimal digits. */
bool ts_manifest_id(const ts_manifest *manifest, const char *key, uint8_t out[16]);
void ts_manifest_put_id(ts_manifest *manifest, const char *key, const uint8_t id[16]);
void ts_manifest_free(ts_manifest *manifest);

/* A value as it stands in the text. */
void ts_manifest_escape(const char *value, ts_text *out);
/* The text with its sum. */
void ts_manifest_text(const ts_manifest *manifest, ts_text *out);
/* path: for messages. Errors: TS_EFORMAT (damaged: says where, of one flipped bit), TS_ENOMEM. */
int32_t ts_manifest_parse(const char *bytes, uint64_t length, const char *path, ts_manifest *out, ts_err err);

#endif
