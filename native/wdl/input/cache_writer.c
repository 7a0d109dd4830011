/* cache_writer.c - writes a cache file beside its final path and renames it, so that nobody ever sees half a file. */
#include "wdl/input/cache_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t ts_cache_writer_open(const char *path, ts_cache_writer *out, ts_err err) {
  *out = (ts_cache_writer){.fd = -1};
  if (path == NULL || *path == '\0') return ts_fail(err, TS_EINVAL, "Cannot write a cache file: no path was given");
  size_t length = strlen(path);
  out->path = strdup(path);
  out->temporary = malloc(length + 16);
  if (out->path == NULL || out->temporary == NULL) {
    ts_cache_writer_close(out);
    return ts_fail(err, TS_ENOMEM, "Cannot write \"%s\": out of memory", path);
  }
  snprintf(out->temporary, length + 16, "%s.part-XXXXXX", path);
  out->fd = mkostemp(out->temporary, O_CLOEXEC);
  if (out->fd < 0) {
    int why = errno;
    free(out->temporary);
    out->temporary = NULL;
    ts_cache_writer_close(out);
    return ts_fail(err, TS_EIO, "Cannot write \"%s\": %s", path, strerror(why));
  }
  fchmod(out->fd, 0644); /* mkostemp gives 0600; the file is no secret */
  return TS_OK;
}

int32_t ts_cache_writer_group(const ts_cache_writer *writer, uint64_t index, const ts_cache_group *group, ts_err err) {
  const char *from = (const char *)group;
  uint64_t n = sizeof *group, at = TS_CACHE_PAGE + index * TS_CACHE_GROUP_BYTES;
  while (n > 0) {
    ssize_t put = pwrite(writer->fd, from, n, (off_t)at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return ts_fail(err, TS_EIO, "Cannot write \"%s\" at byte %llu: %s; the unfinished file was removed", writer->path,
                     (unsigned long long)at, put < 0 ? strerror(errno) : "nothing was written");
    from += put;
    at += (uint64_t)put;
    n -= (uint64_t)put;
  }
  return TS_OK;
}

int32_t ts_cache_writer_rename(ts_cache_writer *writer, ts_err err) {
  if (rename(writer->temporary, writer->path) != 0)
    return ts_fail(err, TS_EIO, "Cannot put \"%s\" in place: %s", writer->path, strerror(errno));
  free(writer->temporary);
  writer->temporary = NULL;
  return TS_OK;
}

void ts_cache_writer_close(ts_cache_writer *writer) {
  if (writer->fd >= 0) close(writer->fd);
  if (writer->temporary != NULL) unlink(writer->temporary);
  free(writer->temporary);
  free(writer->path);
  *writer = (ts_cache_writer){.fd = -1};
}
