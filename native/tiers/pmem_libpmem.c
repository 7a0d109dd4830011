/* pmem_libpmem.c - rows in a pool file mapped by libpmem (fsdax): non-temporal copies, no system calls on the path.
 *
 * The pool is created in the given directory at its full length, so that a full disk is found when the store opens
 * and not by a fault later, and loses its name at once: the tier is volatile, as in DeepRec, and a killed program leaves
 * nothing behind. Whether the
 * mapping is real persistent memory is libpmem's word; PMEM_IS_PMEM_FORCE in the environment overrides it and is
 * reported as `forced`. A mapping that is not pmem is still used through the same copies (they need no msync while
 * the tier is volatile) and is reported as is_pmem=0. */
#include "tiers/tier.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of libpmem.h 1.12: the four functions and three flags used here. */
#define PMEM_FILE_CREATE (1 << 0)
#define PMEM_FILE_EXCL (1 << 1)
#define PMEM_F_MEM_NODRAIN (1u << 0)
#define PMEM_F_MEM_NONTEMPORAL (1u << 1)

typedef struct pool {
  void *(*map_file)(const char *path, size_t len, int flags, mode_t mode, size_t *mapped, int *is_pmem);
  int (*unmap)(void *addr, size_t len);
  void *(*copy)(void *to, const void *from, size_t len, unsigned flags);
  const char *(*errormsg)(void);
  char path[PATH_MAX];
  const char *file_system; /* its kind, asked while the file had a name */
  void *base;
  size_t bytes;
  int is_pmem;
  ts_arena *arena;
} pool;

static const char *file_system(const char *path) {
  struct statfs fs;
  if (statfs(path, &fs) != 0) return "unknown";
  switch ((uint32_t)fs.f_type) {
    case 0x01021994u: return "tmpfs";
    case 0xef53u: return "ext4";
    case 0x58465342u: return "xfs";
    case 0x9123683eu: return "btrfs";
    case 0x794c7630u: return "overlayfs";
    default: return "other";
  }
}

static void libpmem_close(ts_tier *tier) {
  pool *p = tier->state;
  ts_arena_destroy(p->arena);
  if (p->base != NULL) p->unmap(p->base, p->bytes);
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
  static const char *const sonames[] = {"libpmem.so.1", NULL};
  void *handle;
  const ts_symbol symbols[] = {
      {"pmem_map_file", (void **)&p->map_file},     {"pmem_unmap", (void **)&p->unmap},
      {"pmem_memcpy", (void **)&p->copy},           {"pmem_errormsg", (void **)&p->errormsg},
      {NULL, NULL},
  };
  int32_t status = ts_library_open(sonames, "libpmem1", &handle, err);
  if (status == TS_OK) status = ts_library_symbols(handle, sonames[0], symbols, err);
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
  p->base = p->map_file(p->path, bytes, PMEM_FILE_CREATE | PMEM_FILE_EXCL, 0600, &p->bytes, &p->is_pmem);
  if (p->base == NULL) {
    status = ts_fail(err, TS_EIO, "Cannot map a pool of %llu bytes at \"%s\": %s", (unsigned long long)bytes, p->path,
                     p->errormsg()); /* libpmem has removed what it created */
    libpmem_close(tier);
    return status;
  }
  p->file_system = file_system(p->path);
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
  ((pool *)tier->state)->copy(to, from, bytes, PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN);
}

static void libpmem_describe(const ts_tier *tier, ts_text *text) {
  const pool *p = tier->state;
  const char *forced = getenv("PMEM_IS_PMEM_FORCE");
  bool is_forced = forced != NULL && strcmp(forced, "1") == 0;
  ts_text_add(text, " medium=%s is_pmem=%d forced=%d file_system=%s path=%s", p->is_pmem && !is_forced ? "fsdax" : "file",
              p->is_pmem ? 1 : 0, is_forced ? 1 : 0, p->file_system, p->path);
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
