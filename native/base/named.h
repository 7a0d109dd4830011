/* named.h - bytes with names, one piece behind the other in one block of memory: {bytes of the name 4, zero 4, bytes 8, name,
 * bytes}, little-endian. Who fills it runs twice: with `bytes` NULL it is only measured, so that one allocation holds all. */
#ifndef TS_NAMED_H
#define TS_NAMED_H

#include "base/base.h"

typedef struct ts_named {
  unsigned char *bytes;
  uint64_t used;
} ts_named;

typedef struct ts_named_piece {
  const char *name; /* not terminated */
  uint32_t name_bytes;
  const unsigned char *content;
  uint64_t bytes;
} ts_named_piece;

/* A piece, of which ts_named_add adds all bytes, or both at once. */
void ts_named_begin(ts_named *named, const char *name, uint64_t bytes);
void ts_named_add(ts_named *named, const void *from, uint64_t n);
void ts_named_put(ts_named *named, const char *name, const void *content, uint64_t bytes);
/* Takes memory for what was measured and makes ready to fill it. Errors: TS_ENOMEM. */
int32_t ts_named_allocate(ts_named *named);
void ts_named_free(ts_named *named);

/* The piece at *at, which begins at 0 and moves on; false: none that is whole. */
bool ts_named_next(const ts_named *named, uint64_t *at, ts_named_piece *out);
bool ts_named_is(const ts_named_piece *piece, const char *name);

#endif
