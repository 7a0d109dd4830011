/* pmem_libpmem.c - rows in a pool file mapped by libpmem (fsdax): non-temporal copies, no system calls on the path.
 *
 * The pool is created in the given directory at its full length, so that a full disk is found when the store opens
 * and not by a fault later, and loses its name at once: the tier is volatile, as in DeepRec, and a killed program leaves
 * nothing behind. Whether the
 * mapping is real persistent memory is libpmem's word; PMEM_IS_PMEM_FORCE in the environment overrides it and is
 * reported as `forced`. A mapping that is not pmem is still used through the same copies (they need no msync while
 * the tier is volatile) and is reported as is_pmem=0. */
#include "base/pmem.h"
#include "tiers/tier.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/vfs.h>
#include <unistd.h>

typedef struct pool {
  const ts_libpmem *library;
  char path[PATH_MAX];
  const char *file_system; /* its kind, asked while the file had a name */
  void *base;
  size_t bytes;
  int is_pmem;
  ts_arena *arena;
} pool;

static void libpmem_close(ts_tier *tier) {
  pool *p = tier->state;
  ts_arena_destroy(p->arena);
  if (p->base != NULL) p->library->unmap(p->base, p->bytes);
  free(p);
  tier->state = NULL;
}

static int32_t libpmem_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  const char *path = place->path;
  if (path == NULL || path[0] == '\0')
    return ts_fail(err, TS_EINVAL, "Cannot open the libpmem tier: option \"path\" must name a directory");
  pool *p = calloc(1, sizeof *p);
  if (p == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the libpmem tier: out of memory");
  tier->state = p;
  int32_t status = ts_libpmem_load(&p->library, err);
  if (status != TS_OK) {
    libpmem_close(tier);
    return status;
  }
  /* A name of its own: several stores may share a directory. */
  int n = snprintf(p->path, sizeof p->path, "%s/tierstore-%ld-%llx.pool", path, (long)getpid(),
                   (unsigned long long)(ts_mix64(ts_now_ns() ^ (uintptr_t)p) & 0xffffffffffu));
  if (n < 0 || (size_t)n >= sizeof p->path) {
    libpmem_close(tier);
    return ts_fail(err, TS_EINVAL, "Cannot open the libpmem tier: the path is longer than %d bytes", PATH_MAX - 1);
  }
  struct statfs fs;
  if (statfs(path, &fs) != 0) {
    status = ts_fail(err, TS_EIO, "Cannot use directory \"%s\" for the libpmem tier: %s", path, strerror(errno));
    libpmem_close(tier);
    return status;
  }
  uint64_t free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
  if (bytes > free_bytes) {
    libpmem_close(tier);
    return ts_fail(err, TS_EIO,
                   "Cannot create a pool of %llu bytes in \"%s\": %llu bytes are free there; choose a smaller size or "
                   "another path",
                   (unsigned long long)bytes, path, (unsigned long long)free_bytes);
  }
  p->base = p->library->map_file(p->path, bytes, TS_PMEM_FILE_CREATE | TS_PMEM_FILE_EXCL, 0600, &p->bytes, &p->is_pmem);
  if (p->base == NULL) {
    status = ts_fail(err, TS_EIO, "Cannot map a pool of %llu bytes at \"%s\": %s", (unsigned long long)bytes, p->path,
                     p->library->errormsg()); /* libpmem has removed what it created */
    libpmem_close(tier);
    return status;
  }
  p->file_system = ts_file_system(p->path);
  if (unlink(p->path) != 0)
    status = ts_fail(err, TS_EIO, "Cannot remove the name of the pool \"%s\": %s", p->path, strerror(errno));
  if (status == TS_OK) status = ts_arena_create(p->base, p->bytes, TS_ARENA_FILE, &p->arena, err);
  if (status != TS_OK) libpmem_close(tier);
  return status;
}

static void *libpmem_take(ts_tier *tier, uint64_t bytes) { return ts_arena_take(((pool *)tier->state)->arena, bytes); }

static void libpmem_give_back(ts_tier *tier, void *block, uint64_t bytes) {
  ts_arena_give_back(((pool *)tier->state)->arena, block, bytes);
}

static void libpmem_write(ts_tier *tier, void *to, const void *from, size_t bytes) {
  ((pool *)tier->state)->library->copy(to, from, bytes, TS_PMEM_NONTEMPORAL | TS_PMEM_NODRAIN);
}

static void libpmem_describe(const ts_tier *tier, ts_text *text) {
  const pool *p = tier->state;
  ts_text_add(text, " medium=%s", ts_pmem_medium(p->is_pmem != 0));
  ts_pmem_describe(p->is_pmem != 0, p->file_system, text);
  ts_text_add(text, " path=%s", p->path);
}

const ts_tier_ops ts_pmem_libpmem_tier = {
    .type = "PMEM_LIBPMEM",
    .place = "PMEM",
    .write_op = TS_MEDIA_WRITE_NT,
    .open = libpmem_open,
    .close = libpmem_close,
    .take = libpmem_take,
    .give_back = libpmem_give_back,
    .write = libpmem_write,
    .describe = libpmem_describe,
};
