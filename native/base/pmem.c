/* pmem.c - see pmem.h: persistent memory by libpmem. */
#include "base/pmem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static ts_libpmem library;
static bool loaded;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

int32_t ts_libpmem_load(const ts_libpmem **out, ts_err err) {
  static const char *const sonames[] = {"libpmem.so.1", NULL};
  const ts_symbol symbols[] = {
      {"pmem_map_file", (void **)&library.map_file}, {"pmem_unmap", (void **)&library.unmap},
      {"pmem_memcpy", (void **)&library.copy},       {"pmem_drain", (void **)&library.drain},
      {"pmem_msync", (void **)&library.msync},       {"pmem_errormsg", (void **)&library.errormsg},
      {NULL, NULL},
  };
  pthread_mutex_lock(&loading);
  int32_t status = TS_OK;
  if (!loaded) {
    void *handle;
    status = ts_library_open(sonames, "libpmem1", &handle, err);
    if (status == TS_OK) status = ts_library_symbols(handle, sonames[0], symbols, err);
    loaded = status == TS_OK;
  }
  pthread_mutex_unlock(&loading);
  *out = &library;
  return status;
}

static int map(const char *path, uint64_t bytes, int flags, ts_pmem_map *out) {
  size_t mapped = 0;
  int is_pmem = 0;
  errno = 0;
  void *base = library.map_file(path, bytes, flags, 0600, &mapped, &is_pmem);
  if (base == NULL) return errno == 0 ? -EIO : -errno;
  *out = (ts_pmem_map){.base = base, .bytes = mapped, .is_pmem = is_pmem != 0, .file = -1};
  return 0;
}

static int sync_path(const char *path, int flags) {
  const int fd = open(path, flags | O_CLOEXEC);
  int status = fd < 0 ? -errno : 0;
  if (fd >= 0 && fsync(fd) != 0) status = -errno;
  if (fd >= 0) close(fd);
  return status;
}

static int unlink_file(const ts_pmem_ops *pmem, const char *path) {
  (void)pmem;
  return unlink(path) == 0 ? 0 : -errno;
}

static int create(const ts_pmem_ops *pmem, const char *path, uint64_t bytes, ts_pmem_map *out) {
  (void)pmem;
  char folder[PATH_MAX];
  const int n = snprintf(folder, sizeof folder, "%s", path);
  if (n < 0 || (size_t)n >= sizeof folder) return -ENAMETOOLONG;
  int status = map(path, bytes, TS_PMEM_FILE_CREATE | TS_PMEM_FILE_EXCL, out);
  if (status != 0) return status; /* libpmem has removed what it created */
  char *slash = strrchr(folder, '/');
  if (slash != NULL) slash[slash == folder ? 1 : 0] = '\0';
  status = sync_path(path, O_RDWR); /* its length */
  if (status == 0) status = sync_path(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY);
  if (status != 0) {
    library.unmap(out->base, out->bytes);
    unlink(path);
  }
  return status;
}

static int open_file(const ts_pmem_ops *pmem, const char *path, ts_pmem_map *out) {
  (void)pmem;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return -errno;
  const off_t length = lseek(fd, 0, SEEK_END);
  close(fd);
  return length <= 0 ? -ENODATA : map(path, 0, 0, out);
}

static void close_map(const ts_pmem_ops *pmem, ts_pmem_map *out) {
  (void)pmem;
  if (out->base != NULL) library.unmap(out->base, out->bytes);
  out->base = NULL;
}

static void copy(const ts_pmem_ops *pmem, const ts_pmem_map *to, uint64_t offset, const void *from, uint64_t bytes) {
  (void)pmem;
  library.copy(to->base + offset, from, bytes, TS_PMEM_NONTEMPORAL | TS_PMEM_NODRAIN);
}

static void drain(const ts_pmem_ops *pmem) {
  (void)pmem;
  library.drain();
}

static int sync_map(const ts_pmem_ops *pmem, const ts_pmem_map *of) {
  (void)pmem;
  return of->is_pmem || library.msync(of->base, of->bytes) == 0 ? 0 : -errno;
}

const ts_pmem_ops ts_pmem_system = {.create = create,
                                    .open = open_file,
                                    .unlink = unlink_file,
                                    .close = close_map,
                                    .copy = copy,
                                    .drain = drain,
                                    .sync = sync_map};

static bool is_forced(void) {
  const char *value = getenv("PMEM_IS_PMEM_FORCE");
  return value != NULL && strcmp(value, "1") == 0;
}

const char *ts_pmem_medium(bool is_pmem) { return is_pmem && !is_forced() ? "fsdax" : "file"; }

void ts_pmem_describe(bool is_pmem, const char *file_system, ts_text *text) {
  ts_text_add(text, " is_pmem=%d forced=%d file_system=%s", is_pmem, is_forced(), file_system);
}

const char *ts_file_system(const char *path) {
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
