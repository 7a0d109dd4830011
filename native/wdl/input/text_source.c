/* text_source.c - cuts a file into blocks of whole lines. */
#include "wdl/input/text_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t ts_text_source_open(const char *path, uint32_t capacity, ts_text_source *out, ts_err err) {
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
  out->capacity = capacity;
  out->rest = malloc(capacity);
  int32_t status = TS_OK;
  if (out->path == NULL || out->rest == NULL)
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
  free(s->rest);
  *s = (ts_text_source){.fd = -1};
}

/* Reads up to n bytes behind the rest. */
static int32_t read_some(ts_text_source *s, char *out, uint32_t n, uint64_t *got, ts_err err) {
  if (s->gzip != NULL) return ts_gzip_read(s->gzip, out, n, got, &s->consumed, err);
  ssize_t count;
  do count = read(s->fd, out, n);
  while (count < 0 && errno == EINTR);
  *got = count > 0 ? (uint64_t)count : 0;
  if (count < 0)
    return ts_fail(err, TS_EIO, "Cannot read \"%s\" at byte %llu: %s", s->path, (unsigned long long)s->consumed,
                   strerror(errno));
  s->consumed += *got;
  return TS_OK;
}

/* Fills a block up to one byte less than it holds: the end of the last line may be missing. */
static uint32_t fill(ts_text_source *s, char *out) {
  uint32_t n = s->kept;
  memcpy(out, s->rest, n);
  s->kept = 0;
  while (n < s->capacity - 1 && !s->finished && s->failed == TS_OK) {
    uint64_t got = 0;
    s->failed = read_some(s, out + n, s->capacity - 1 - n, &got, (ts_err){s->failure, sizeof s->failure});
    n += (uint32_t)got;
    s->finished = got == 0;
  }
  return n;
}

static void keep(ts_text_source *s, const char *from, uint32_t n) {
  memcpy(s->rest, from, n);
  s->kept = n;
}

int32_t ts_text_source_block(ts_text_source *s, char *out, uint32_t *n, bool *too_long, bool *end, ts_err err) {
  *n = 0;
  *too_long = *end = false;
  uint32_t filled = fill(s, out);
  if (s->dropping) {
    char *newline = memchr(out, '\n', filled);
    uint32_t dropped = newline == NULL ? filled : (uint32_t)(newline + 1 - out);
    s->dropping = newline == NULL;
    keep(s, out + dropped, filled - dropped);
    filled = 0; /* the rest comes with the next call */
    if (newline != NULL || (!s->finished && s->failed == TS_OK)) return TS_OK;
  }
  if (filled > 0 && s->finished && s->failed == TS_OK && out[filled - 1] != '\n') out[filled++] = '\n';
  char *last = memrchr(out, '\n', filled);
  if (last != NULL) {
    *n = (uint32_t)(last + 1 - out);
    keep(s, last + 1, filled - *n);
    return TS_OK;
  }
  if (s->failed != TS_OK) return ts_fail(err, s->failed, "%s", s->failure);
  *end = filled == 0 && s->finished;
  *too_long = s->dropping = filled > 0;
  return TS_OK;
}
