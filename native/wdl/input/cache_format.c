/* cache_format.c - opening and checking a cache file, and reading rows out of its groups. */
#include "wdl/input/cache_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t ts_cache_group_digest(const ts_cache_group *group, uint64_t index, uint32_t rows) {
  uint64_t h = ts_mix64(index + 1);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) h = ts_hash_bytes(group->keys[c], rows * sizeof(int64_t), h);
  return h;
}

static uint64_t header_checksum(const ts_cache_header *header) {
  return ts_hash_bytes(header, offsetof(ts_cache_header, checksum), TS_CACHE_MAGIC);
}

static uint64_t file_bytes(uint64_t rows) {
  return TS_CACHE_PAGE + ts_cache_groups(rows) * (TS_CACHE_GROUP_BYTES + sizeof(uint64_t));
}

static uint64_t sums_at(uint64_t rows) { return TS_CACHE_PAGE + ts_cache_groups(rows) * TS_CACHE_GROUP_BYTES; }

int32_t ts_cache_read_at(const ts_cache *cache, void *out, uint64_t n, uint64_t at, ts_err err) {
  const char *path = cache->path;
  char *to = out;
  while (n > 0) {
    ssize_t got = pread(cache->fd, to, n, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return ts_fail(err, TS_EIO, "Cannot read \"%s\" at byte %llu: %s", path, (unsigned long long)at, strerror(errno));
    if (got == 0)
      return ts_fail(err, TS_EFORMAT,
                     "Cannot read \"%s\": the file ends at byte %llu, before its rows do; write it again", path,
                     (unsigned long long)at);
    to += got;
    at += (uint64_t)got;
    n -= (uint64_t)got;
  }
  return TS_OK;
}

static int32_t check_header(const ts_cache *cache, uint64_t size, ts_err err) {
  const ts_cache_header *h = &cache->header;
  if (h->magic != TS_CACHE_MAGIC)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open \"%s\": not a cache file of this library (Criteo text must be imported first)",
                   cache->path);
  if (h->version != TS_CACHE_VERSION)
    return ts_fail(err, TS_EFORMAT, "Cannot open \"%s\": cache format %u, this library reads %u; write the file again",
                   cache->path, h->version, TS_CACHE_VERSION);
  if (h->checksum != header_checksum(h) || h->file_bytes != file_bytes(h->rows))
    return ts_fail(err, TS_EFORMAT, "Cannot open \"%s\": its header is damaged; write the file again", cache->path);
  if (h->numerics >= TS_NUMERICS_KINDS)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open \"%s\": numerics of kind %u, this library knows %u; write the file again", cache->path,
                   h->numerics, TS_NUMERICS_KINDS);
  if (size != h->file_bytes)
    return ts_fail(err, TS_EFORMAT, "Cannot open \"%s\": %llu bytes, its header says %llu; write the file again",
                   cache->path, (unsigned long long)size, (unsigned long long)h->file_bytes);
  return TS_OK;
}

/* The sums of the groups, with which every group is compared when it is first read. */
static int32_t read_sums(ts_cache *cache, ts_err err) {
  const uint64_t groups = ts_cache_groups(cache->header.rows);
  cache->sums = malloc(TS_MAX(groups, 1u) * sizeof *cache->sums);
  cache->checked = calloc(groups / 64 + 1, sizeof *cache->checked);
  if (cache->sums == NULL || cache->checked == NULL)
    return ts_fail(err, TS_ENOMEM, "Cannot open \"%s\": out of memory", cache->path);
  int32_t status =
      ts_cache_read_at(cache, cache->sums, groups * sizeof *cache->sums, sums_at(cache->header.rows), err);
  if (status == TS_OK && ts_hash_bytes(cache->sums, groups * sizeof *cache->sums, TS_CACHE_MAGIC) !=
                             cache->header.sums_checksum)
    return ts_fail(err, TS_EFORMAT, "Cannot open \"%s\": the sums of its rows are damaged; write the file again",
                   cache->path);
  return status;
}

int32_t ts_cache_open(const char *path, ts_cache *out, ts_err err) {
  *out = (ts_cache){.fd = -1};
  if (path == NULL || *path == '\0') return ts_fail(err, TS_EINVAL, "Cannot open a cache file: no path was given");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) {
    int why = errno;
    if (fd >= 0) close(fd);
    return ts_fail(err, TS_EIO, "Cannot open \"%s\": %s", path, strerror(why));
  }
  out->fd = fd;
  out->path = strdup(path);
  int32_t status = TS_OK;
  if (out->path == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot open \"%s\": out of memory", path);
  else if (!S_ISREG(st.st_mode)) status = ts_fail(err, TS_EIO, "Cannot open \"%s\": not a file", path);
  else if (st.st_size < (off_t)TS_CACHE_PAGE)
    status = ts_fail(err, TS_EFORMAT, "Cannot open \"%s\": %lld bytes are too few for a cache file", path,
                     (long long)st.st_size);
  if (status == TS_OK) status = ts_cache_read_at(out, &out->header, sizeof out->header, 0, err);
  if (status == TS_OK) status = check_header(out, (uint64_t)st.st_size, err);
  if (status == TS_OK) status = read_sums(out, err);
  if (status != TS_OK) ts_cache_close(out);
  return status;
}

void ts_cache_close(ts_cache *cache) {
  if (cache->fd >= 0) close(cache->fd);
  free(cache->path);
  free(cache->sums);
  free(cache->checked);
  *cache = (ts_cache){.fd = -1};
}

int32_t ts_cache_read(const ts_cache *cache, uint64_t first, uint64_t count, uint64_t stride, float *labels,
                      float *numerics, int64_t *keys, ts_err err) {
  int32_t status = ts_cache_check_rows(cache, first, count, err);
  for (uint64_t done = 0; done < count && status == TS_OK;) {
    uint64_t row = first + done, in_group = row % TS_CACHE_GROUP;
    uint64_t n = TS_MIN(count - done, TS_CACHE_GROUP - in_group);
    uint64_t group = TS_CACHE_PAGE + row / TS_CACHE_GROUP * TS_CACHE_GROUP_BYTES;
    if (labels != NULL) status = ts_cache_read_at(cache, labels + done, n * 4, group + in_group * 4, err);
    for (uint32_t j = 0; numerics != NULL && j < TS_NUMERICS && status == TS_OK; j++)
      status = ts_cache_read_at(cache, numerics + j * stride + done, n * 4,
                       group + TS_CACHE_NUMERICS_AT + (j * TS_CACHE_GROUP + in_group) * 4, err);
    for (uint32_t c = 0; keys != NULL && c < TS_CATEGORIES && status == TS_OK; c++)
      status = ts_cache_read_at(cache, keys + c * stride + done, n * 8,
                       group + TS_CACHE_KEYS_AT + (c * TS_CACHE_GROUP + in_group) * 8, err);
    done += n;
  }
  return status;
}

int32_t ts_cache_read_column(const ts_cache *cache, uint32_t column, uint64_t first, uint64_t count, int64_t *keys,
                             ts_err err) {
  int32_t status = ts_cache_check_rows(cache, first, count, err);
  for (uint64_t done = 0; done < count && status == TS_OK;) {
    uint64_t row = first + done, in_group = row % TS_CACHE_GROUP;
    uint64_t n = TS_MIN(count - done, TS_CACHE_GROUP - in_group);
    status = ts_cache_read_at(cache, keys + done, n * 8,
                     TS_CACHE_PAGE + row / TS_CACHE_GROUP * TS_CACHE_GROUP_BYTES + TS_CACHE_KEYS_AT +
                         (column * TS_CACHE_GROUP + in_group) * 8,
                     err);
    done += n;
  }
  return status;
}

int32_t ts_cache_writer_header(const ts_cache_writer *writer, ts_cache_header *header, ts_err err) {
  header->magic = TS_CACHE_MAGIC;
  header->version = TS_CACHE_VERSION;
  header->file_bytes = file_bytes(header->rows);
  const uint64_t groups = ts_cache_groups(header->rows), bytes = groups * sizeof *writer->sums;
  header->sums_checksum = ts_hash_bytes(writer->sums, bytes, TS_CACHE_MAGIC);
  for (uint64_t done = 0; done < bytes;) {
    ssize_t put = pwrite(writer->fd, (const char *)writer->sums + done, bytes - done,
                         (off_t)(sums_at(header->rows) + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return ts_fail(err, TS_EIO, "Cannot write \"%s\": %s", writer->path, put < 0 ? strerror(errno) : "disk full");
    done += (uint64_t)put;
  }
  header->checksum = header_checksum(header);
  char page[TS_CACHE_PAGE] = {0};
  memcpy(page, header, sizeof *header);
  ssize_t put = pwrite(writer->fd, page, sizeof page, 0);
  if (put != (ssize_t)sizeof page)
    return ts_fail(err, TS_EIO, "Cannot write \"%s\": %s", writer->path, put < 0 ? strerror(errno) : "disk full");
  return TS_OK;
}
