/* text_source.h - a text file, plain or gzip (told by its first two bytes), as blocks of whole lines. */
#ifndef TS_INPUT_TEXT_SOURCE_H
#define TS_INPUT_TEXT_SOURCE_H

#include "base/base.h"

typedef struct ts_gzip ts_gzip;

typedef struct ts_text_source {
  char *path;
  int fd;
  ts_gzip *gzip;           /* NULL for plain text */
  char *rest;              /* `capacity` bytes: the beginning of the next block, already read */
  uint32_t capacity, kept; /* bytes of a block; of the rest */
  bool finished;           /* the file has been read to its end */
  bool dropping;           /* inside a line that is longer than a block */
  int32_t failed;          /* reading failed behind the rest, with this message */
  char failure[512];
  uint64_t total, consumed; /* bytes of the file (compressed, if it is), read so far */
} ts_text_source;

/* Errors: TS_EIO (missing, unreadable), TS_EUNAVAILABLE (gzip without libz), TS_ENOMEM. */
int32_t ts_text_source_open(const char *path, uint32_t capacity, ts_text_source *out, ts_err err);
void ts_text_source_close(ts_text_source *source);

/* The next whole lines, at most `capacity` bytes into `out`, each ended by \n (one is added to a last line without). *n
 * is 0 at the end, where *end is true, and for a line longer than a block, which is dropped: *too_long is true once for
 * it. A call reads a block at most, so a file without line ends does not hold it up. Errors: TS_EIO; TS_EFORMAT (gzip
 * cut short or damaged), after the whole lines before the fault were given. */
int32_t ts_text_source_block(ts_text_source *source, char *out, uint32_t *n, bool *too_long, bool *end, ts_err err);

/* Inside: gzip.c. Reads up to n bytes; *got is 0 at a proper end, and counts what was read before an error too. */
int32_t ts_gzip_open(int fd, const char *path, ts_gzip **out, ts_err err);
int32_t ts_gzip_read(ts_gzip *gzip, void *out, uint64_t n, uint64_t *got, uint64_t *consumed, ts_err err);
void ts_gzip_close(ts_gzip *gzip);

#endif
