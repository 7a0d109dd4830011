/* text.c - growing text for the functions that return it as (out, cap, needed). */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ts_text_add(ts_text *text, const char *format, ...) {
  if (text->failed) return;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  size_t want = text->length + (size_t)(n < 0 ? 0 : n) + 1;
  if (want > text->capacity) {
    size_t capacity = TS_MAX(want, text->capacity * 2 + 256);
    char *bytes = realloc(text->bytes, capacity);
    if (bytes == NULL) {
      text->failed = true;
      va_end(again);
      return;
    }
    text->bytes = bytes;
    text->capacity = capacity;
  }
  vsnprintf(text->bytes + text->length, text->capacity - text->length, format, again);
  va_end(again);
  text->length = want - 1;
}

int32_t ts_text_return(ts_text *text, char *out, uint64_t cap, uint64_t *needed) {
  int32_t status = text->failed ? TS_ENOMEM : TS_OK;
  uint64_t want = text->length + 1;
  if (needed != NULL) *needed = want;
  if (status == TS_OK && (out == NULL || cap < want)) status = TS_ERANGE;
  if (status == TS_OK) {
    if (text->length > 0) memcpy(out, text->bytes, text->length);
    out[text->length] = '\0';
  } else if (out != NULL && cap > 0) {
    out[0] = '\0';
  }
  free(text->bytes);
  *text = (ts_text){0};
  return status;
}

int32_t ts_text_tell(ts_text *text, const char *what, char *out, uint64_t cap, uint64_t *needed, ts_err err) {
  const uint64_t want = text->length + 1;
  const int32_t status = ts_text_return(text, out, cap, needed);
  if (status == TS_ENOMEM) return ts_fail(err, status, "Cannot describe %s: out of memory", what);
  if (status == TS_ERANGE)
    return ts_fail(err, status, "Cannot describe %s: it takes %llu bytes, the buffer has %llu", what,
                   (unsigned long long)want, (unsigned long long)cap);
  return status;
}
