/* gzip.c - reads gzip files by zlib's file functions, opened when first needed. */
#include "wdl/input/text_source.h"

#include <stdlib.h>
#include <unistd.h>

/* From zlib.h, whose interface has been stable since 1.2. */
enum { GZ_OK = 0, GZ_BUFFER_ERROR = -5 };

struct ts_gzip {
  const char *path;
  void *file; /* gzFile */
  void *(*gzdopen)(int fd, const char *mode);
  int (*gzread)(void *file, void *bytes, unsigned n);
  const char *(*gzerror)(void *file, int *code);
  long (*gzoffset)(void *file);
  int (*gzclose_r)(void *file);
};

int32_t ts_gzip_open(int fd, const char *path, ts_gzip **out, ts_err err) {
  static const char *const sonames[] = {"libz.so.1", NULL};
  void *library;
  int32_t status = ts_library_open(sonames, "zlib1g", &library, err);
  if (status != TS_OK) return status;
  ts_gzip *g = calloc(1, sizeof *g);
  if (g == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read \"%s\": out of memory", path);
  const ts_symbol symbols[] = {{"gzdopen", (void **)&g->gzdopen},     {"gzread", (void **)&g->gzread},
                               {"gzerror", (void **)&g->gzerror},     {"gzoffset", (void **)&g->gzoffset},
                               {"gzclose_r", (void **)&g->gzclose_r}, {NULL, NULL}};
  status = ts_library_symbols(library, "zlib", symbols, err);
  int copy = status == TS_OK ? dup(fd) : -1; /* zlib closes what it is given */
  if (copy >= 0) g->file = g->gzdopen(copy, "rb");
  if (status == TS_OK && g->file == NULL) {
    if (copy >= 0) close(copy);
    status = ts_fail(err, TS_ENOMEM, "Cannot read \"%s\": zlib could not start", path);
  }
  if (status != TS_OK) {
    free(g);
    return status;
  }
  g->path = path;
  *out = g;
  return TS_OK;
}

int32_t ts_gzip_read(ts_gzip *g, void *out, uint64_t n, uint64_t *got, uint64_t *consumed, ts_err err) {
  int count = g->gzread(g->file, out, (unsigned)TS_MIN(n, 1u << 20));
  int code = GZ_OK;
  const char *message = g->gzerror(g->file, &code);
  long at = g->gzoffset(g->file);
  *consumed = at > 0 ? (uint64_t)at : 0;
  *got = count > 0 ? (uint64_t)count : 0;
  /* An end inside the stream shows as fewer bytes than asked with a buffer error pending. */
  if (count >= 0 && code == GZ_BUFFER_ERROR)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot read \"%s\": the gzip stream is cut short at byte %llu; fetch the file again", g->path,
                   (unsigned long long)*consumed);
  if (count < 0)
    return ts_fail(err, TS_EFORMAT, "Cannot read \"%s\": the gzip stream is damaged near byte %llu (%s)", g->path,
                   (unsigned long long)*consumed, message);
  return TS_OK;
}

void ts_gzip_close(ts_gzip *g) {
  if (g == NULL) return;
  g->gzclose_r(g->file);
  free(g);
}
