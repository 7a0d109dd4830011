/* text_source.c - cuts a file into lines through one buffer of 1 MiB. */
#include "wdl/input/text_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t ts_text_source_open(const char *path, ts_text_source *out, ts_err err) {
  *out = (ts_text_source){.fd = -1};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) {
    int why = errno;
    if (fd >= 0) close(fd);
    return ts_fail(err, TS_EIO, "Cannot open \"%s\": %s", path, strerror(why));
  }
  out->fd = fd;
  out->total = (uint64_t)st.st_size;
  out->path = strdup(path);
  out->bytes = malloc(TS_SOURCE_BYTES + 1);
  int32_t status = TS_OK;
  if (out->path == NULL || out->bytes == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot open \"%s\": out of memory", path);
  if (status == TS_OK && !S_ISREG(st.st_mode)) status = ts_fail(err, TS_EIO, "Cannot open \"%s\": not a file", path);
  unsigned char magic[2] = {0};
  if (status == TS_OK && pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
    status = ts_gzip_open(fd, out->path, &out->gzip, err);
  if (status != TS_OK) ts_text_source_close(out);
  return status;
}

void ts_text_source_close(ts_text_source *s) {
  ts_gzip_close(s->gzip);
  if (s->fd >= 0) close(s->fd);
  free(s->path);
  free(s->bytes);
  *s = (ts_text_source){.fd = -1};
}

/* Moves the unread part to the front and reads on behind it. */
static int32_t fill(ts_text_source *s, ts_err err) {
  memmove(s->bytes, s->bytes + s->begin, s->end - s->begin);
  s->end -= s->begin;
  s->begin = 0;
  uint64_t got = 0;
  int32_t status = TS_OK;
  if (s->gzip != NULL) {
    status = ts_gzip_read(s->gzip, s->bytes + s->end, TS_SOURCE_BYTES - s->end, &got, &s->consumed, err);
  } else {
    ssize_t n;
    do n = read(s->fd, s->bytes + s->end, TS_SOURCE_BYTES - s->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
      return ts_fail(err, TS_EIO, "Cannot read \"%s\" at byte %llu: %s", s->path, (unsigned long long)s->consumed,
                     strerror(errno));
    got = (uint64_t)n;
    s->consumed += got;
  }
  s->end += got;
  s->finished = got == 0;
  return status;
}

int32_t ts_text_source_line(ts_text_source *s, char **line, uint64_t *length, ts_err err) {
  uint64_t searched = 0;
  for (;;) {
    char *start = s->bytes + s->begin, *newline = memchr(start + searched, '\n', s->end - s->begin - searched);
    searched = newline != NULL ? (uint64_t)(newline - start) : s->end - s->begin;
    if (searched > TS_LINE_BYTES)
      return ts_fail(err, TS_EFORMAT, "%s:%llu: the line is longer than %llu bytes; this is no Criteo text", s->path,
                     (unsigned long long)s->line + 1, (unsigned long long)TS_LINE_BYTES);
    if (newline != NULL || (s->finished && searched > 0)) {
      s->begin += searched + (newline != NULL);
      s->line++;
      if (searched > 0 && start[searched - 1] == '\r') searched--;
      start[searched] = '\0';
      if (memchr(start, '\0', searched) != NULL)
        return ts_fail(err, TS_EFORMAT, "%s:%llu: the line holds a NUL byte; this is no text", s->path,
                       (unsigned long long)s->line);
      *line = start;
      *length = searched;
      return TS_OK;
    }
    if (s->finished) {
      *line = NULL;
      *length = 0;
      return TS_OK;
    }
    int32_t status = fill(s, err);
    if (status != TS_OK) return status;
  }
}
