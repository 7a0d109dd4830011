/* text_source.h - lines of a text file, plain or gzip (told by its first two bytes), in bounded memory. */
#ifndef TS_INPUT_TEXT_SOURCE_H
#define TS_INPUT_TEXT_SOURCE_H

#include "base/base.h"

/* Longest line: a Criteo row takes a few hundred bytes. */
#define TS_LINE_BYTES (UINT64_C(64) << 10)
#define TS_SOURCE_BYTES (UINT64_C(1) << 20)

typedef struct ts_gzip ts_gzip;

typedef struct ts_text_source {
  char *path;
  int fd;
  ts_gzip *gzip;            /* NULL for plain text */
  char *bytes;              /* TS_SOURCE_BYTES + 1 */
  uint64_t begin, end;      /* unread part of bytes */
  bool finished;            /* the file has been read to its end */
  uint64_t line;            /* number of the last line returned, from 1 */
  uint64_t total, consumed; /* bytes of the file (compressed, if it is), read so far */
} ts_text_source;

/* Errors: TS_EIO (missing, unreadable), TS_EUNAVAILABLE (gzip without libz), TS_ENOMEM. */
int32_t ts_text_source_open(const char *path, ts_text_source *out, ts_err err);
void ts_text_source_close(ts_text_source *source);

/* The next line without its end (\n or \r\n), NUL-terminated, valid until the next call; *line is NULL at the end.
 * Errors: TS_EIO; TS_EFORMAT (gzip cut short or damaged, a line beyond TS_LINE_BYTES, a NUL byte). */
int32_t ts_text_source_line(ts_text_source *source, char **line, uint64_t *length, ts_err err);

/* Inside: gzip.c. Reads up to n bytes; *got is 0 at a proper end. */
int32_t ts_gzip_open(int fd, const char *path, ts_gzip **out, ts_err err);
int32_t ts_gzip_read(ts_gzip *gzip, void *out, uint64_t n, uint64_t *got, uint64_t *consumed, ts_err err);
void ts_gzip_close(ts_gzip *gzip);

#endif
