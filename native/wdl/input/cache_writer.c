/* cache_writer.c - writes a cache file beside its final path and renames it, so that nobody ever sees half a file. */
#include "wdl/input/cache_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Locks a file until it is closed or this process ends. False: it is gone already. A file system without locks is taken
 * as it is. */
static bool is_ours(int fd) {
  struct stat st;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

int32_t ts_cache_writer_open(const char *path, ts_cache_writer *out, ts_err err) {
  *out = (ts_cache_writer){.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
  if (path == NULL || *path == '\0') return ts_fail(err, TS_EINVAL, "Cannot write a cache file: no path was given");
  size_t length = strlen(path);
  out->path = strdup(path);
  out->temporary = malloc(length + 16);
  if (out->path == NULL || out->temporary == NULL) {
    ts_cache_writer_close(out);
    return ts_fail(err, TS_ENOMEM, "Cannot write \"%s\": out of memory", path);
  }
  for (;;) {
    snprintf(out->temporary, length + 16, "%s.part-XXXXXX", path);
    out->fd = mkostemp(out->temporary, O_CLOEXEC);
    if (out->fd < 0) {
      int why = errno;
      free(out->temporary);
      out->temporary = NULL;
      ts_cache_writer_close(out);
      return ts_fail(err, TS_EIO, "Cannot write \"%s\": %s", path, strerror(why));
    }
    if (is_ours(out->fd)) break;
    close(out->fd); /* somebody who cleans up took it between the two calls */
  }
  fchmod(out->fd, 0644); /* mkostemp gives 0600; the file is no secret */
  return TS_OK;
}

/* Keeps the sum of a group, whichever thread has written it. */
static int32_t keep_sum(ts_cache_writer *writer, uint64_t index, uint64_t sum, ts_err err) {
  int32_t status = TS_OK;
  pthread_mutex_lock(&writer->lock);
  if (index >= writer->room) {
    const uint64_t room = TS_MAX(index + 1, 2 * writer->room);
    uint64_t *larger = realloc(writer->sums, room * sizeof *larger);
    if (larger == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot write \"%s\": out of memory", writer->path);
    else {
      memset(larger + writer->room, 0, (room - writer->room) * sizeof *larger);
      writer->sums = larger;
      writer->room = room;
    }
  }
  if (status == TS_OK) writer->sums[index] = sum;
  pthread_mutex_unlock(&writer->lock);
  return status;
}

int32_t ts_cache_writer_group(ts_cache_writer *writer, uint64_t index, const ts_cache_group *group, ts_err err) {
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
  ts_cache_sum sum = ts_cache_sum_begin(index);
  ts_cache_sum_add(&sum, (const uint64_t *)(const void *)group, sizeof *group / sizeof(uint64_t));
  return keep_sum(writer, index, ts_cache_sum_end(&sum), err);
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
  free(writer->sums);
  *writer = (ts_cache_writer){.fd = -1};
}
