/* named.c - see named.h. */
#include "base/named.h"

#include <stdlib.h>
#include <string.h>

typedef struct head {
  uint32_t name_bytes, zero;
  uint64_t bytes;
} head;

_Static_assert(sizeof(head) == 16, "a piece's head has no padding");

void ts_named_add(ts_named *named, const void *from, uint64_t n) {
  if (named->bytes != NULL && n > 0) memcpy(named->bytes + named->used, from, n);
  named->used += n;
}

void ts_named_begin(ts_named *named, const char *name, uint64_t bytes) {
  const head h = {.name_bytes = (uint32_t)strlen(name), .bytes = bytes};
  ts_named_add(named, &h, sizeof h);
  ts_named_add(named, name, h.name_bytes);
}

void ts_named_put(ts_named *named, const char *name, const void *content, uint64_t bytes) {
  ts_named_begin(named, name, bytes);
  ts_named_add(named, content, bytes);
}

int32_t ts_named_allocate(ts_named *named) {
  named->bytes = malloc(named->used + 1);
  if (named->bytes == NULL) return TS_ENOMEM;
  named->used = 0;
  return TS_OK;
}

void ts_named_free(ts_named *named) {
  free(named->bytes);
  *named = (ts_named){0};
}

bool ts_named_next(const ts_named *named, uint64_t *at, ts_named_piece *out) {
  head h;
  if (named->used - *at < sizeof h) return false;
  memcpy(&h, named->bytes + *at, sizeof h);
  const uint64_t left = named->used - *at - sizeof h;
  if (h.zero != 0 || h.name_bytes > left || h.bytes > left - h.name_bytes) return false;
  const unsigned char *name = named->bytes + *at + sizeof h;
  *out = (ts_named_piece){(const char *)name, h.name_bytes, name + h.name_bytes, h.bytes};
  *at += sizeof h + h.name_bytes + h.bytes;
  return true;
}

bool ts_named_is(const ts_named_piece *piece, const char *name) {
  return piece->name_bytes == strlen(name) && memcmp(piece->name, name, piece->name_bytes) == 0;
}
