/* verify_dax.c - whether files of a directory are persistent memory, by trying: a file of a few MiB is created there,
 * loses its name at once, so that nothing stays behind however this ends, and is mapped.
 *
 * MAP_SYNC (mmap(2), Linux 4.15) is granted only where stores reach the medium without the page cache. libpmem is asked
 * for its own opinion on the same file through /proc/self/fd, which needs no name. PMEM_IS_PMEM_FORCE in the
 * environment makes libpmem repeat what it is told (libpmem(7)), so its value is reported with the answer.
 *
 * The size of the pages in use is not in smaps for DAX. It shows in the number of faults: the first store to 2 MiB that
 * one entry maps is one fault, with 4 KiB pages it is one for each of 512. */
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define CHUNKS 4u
#define BYTES (CHUNKS * HUGE)
#define PERSISTED ((size_t)1 << 20)
#define FEW_FAULTS 8 /* one, and others that the kernel may take for tables and interrupts */

#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif

static void flag(ts_probe *probe, const char *key, bool value) {
  ts_probe_fact(probe, value ? "yes" : "no", "%s", key);
}

/* Creates the file and takes its name away; -1 with the reason among the facts. */
static int unnamed_file(ts_probe *probe, const char *path) {
  char name[PATH_MAX];
  int n = snprintf(name, sizeof name, "%s/tierstore-verify-%ld-%llx", path, (long)getpid(),
                   (unsigned long long)(ts_mix64(ts_now_ns()) & 0xffffffffu));
  if (n < 0 || (size_t)n >= sizeof name) {
    ts_probe_fact(probe, strerror(ENAMETOOLONG), "file.error");
    return -1;
  }
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    ts_probe_fact(probe, strerror(errno), "file.error");
    return -1;
  }
  /* A file without a name is gone with its last descriptor, also when this process is killed. */
  bool removed = unlink(name) == 0;
  flag(probe, "file.removed", removed);
  if (!removed) ts_probe_fact(probe, name, "file.left");
  /* Blocks are taken now: a full disk is an answer here and a signal later. */
  int error = posix_fallocate(fd, 0, (off_t)BYTES);
  if (error == 0) return fd;
  ts_probe_fact(probe, strerror(error), "file.error");
  close(fd);
  return -1;
}

/* Maps the file at an address that huge pages need; MAP_FAILED as mmap. */
static void *map_aligned(int fd, int flags) {
  char *room = mmap(NULL, BYTES + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return MAP_FAILED;
  char *start = room + (TS_ROUND_UP((uintptr_t)room, HUGE) - (uintptr_t)room);
  void *mapped = mmap(start, BYTES, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
  int error = errno;
  if (mapped == MAP_FAILED) {
    munmap(room, BYTES + HUGE);
    errno = error;
    return MAP_FAILED;
  }
  if (start > room) munmap(room, (size_t)(start - room));
  if (start < room + HUGE) munmap(start + BYTES, (size_t)(room + HUGE - start));
  return mapped;
}

static long faults(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : -1;
}

static void page_size(ts_probe *probe, volatile char *memory) {
  uint32_t huge = 0;
  long sum = 0;
  for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
    long before = faults();
    for (size_t at = 0; at < HUGE; at += 4096) memory[chunk * HUGE + at] = 1;
    long taken = faults() - before;
    if (before < 0 || taken < 0) return;
    sum += taken;
    huge += taken <= FEW_FAULTS;
  }
  ts_probe_number(probe, (uint64_t)sum, "map.faults");
  ts_probe_fact(probe, huge == CHUNKS ? "2097152" : huge == 0 ? "4096" : "mixed", "map.page_size");
}

/* What libpmem says and does; `fd` holds the file. */
static void libpmem(ts_probe *probe, int fd) {
  void *(*map_file)(const char *path, size_t len, int flags, mode_t mode, size_t *mapped, int *is_pmem);
  int (*unmap)(void *addr, size_t len), (*is_pmem)(const void *addr, size_t len), (*auto_flush)(void);
  int (*msync_range)(const void *addr, size_t len);
  void (*persist)(const void *addr, size_t len);
  const char *(*errormsg)(void);
  const char *force = getenv("PMEM_IS_PMEM_FORCE");
  if (force != NULL) ts_probe_fact(probe, force, "pmem.force");
  static const char *const sonames[] = {"libpmem.so.1", NULL};
  char message[512] = "";
  ts_err err = {message, sizeof message};
  void *handle;
  const ts_symbol symbols[] = {
      {"pmem_map_file", (void **)&map_file}, {"pmem_unmap", (void **)&unmap},
      {"pmem_is_pmem", (void **)&is_pmem},   {"pmem_has_auto_flush", (void **)&auto_flush},
      {"pmem_msync", (void **)&msync_range}, {"pmem_persist", (void **)&persist},
      {"pmem_errormsg", (void **)&errormsg}, {NULL, NULL},
  };
  int32_t status = ts_library_open(sonames, "libpmem1", &handle, err);
  if (status == TS_OK) status = ts_library_symbols(handle, sonames[0], symbols, err);
  flag(probe, "pmem.library", status == TS_OK);
  if (status != TS_OK) {
    ts_probe_fact(probe, message, "pmem.error");
    return;
  }
  int flush = auto_flush();
  if (flush >= 0) flag(probe, "pmem.auto_flush", flush == 1);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  size_t mapped = 0;
  int said = 0;
  char *memory = map_file(path, 0, 0, 0, &mapped, &said);
  if (memory == NULL) {
    flag(probe, "pmem.map_file", false);
    ts_probe_fact(probe, errormsg(), "pmem.error");
    return;
  }
  bool asked = is_pmem(memory, mapped) == 1;
  flag(probe, "pmem.map_file", true);
  flag(probe, "pmem.map_file_is_pmem", said == 1);
  flag(probe, "pmem.is_pmem", asked);
  flag(probe, "pmem.aligned_2m", (uintptr_t)memory % HUGE == 0);
  /* Stored and made persistent through the mapping, read back through the file. */
  for (size_t at = 0; at < PERSISTED; at += sizeof(uint64_t)) {
    uint64_t value = ts_mix64(at + 1);
    memcpy(memory + at, &value, sizeof value);
  }
  bool ok = true;
  if (asked) persist(memory, PERSISTED);
  else ok = msync_range(memory, PERSISTED) == 0;
  ts_probe_fact(probe, asked ? "pmem_persist" : "pmem_msync", "persist.by");
  if (!ok) ts_probe_fact(probe, strerror(errno), "persist.error");
  char *copy = malloc(PERSISTED);
  if (copy != NULL) {
    ok = ok && pread(fd, copy, PERSISTED, 0) == (ssize_t)PERSISTED && memcmp(copy, memory, PERSISTED) == 0;
    ts_probe_number(probe, PERSISTED, "persist.bytes");
    flag(probe, "persist.read_back", ok);
    free(copy);
  }
  unmap(memory, mapped);
}

int32_t ts_machine_verify_dax(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
                              uint32_t err_cap) {
  ts_err message = {err, err_cap};
  if (path == NULL || path[0] == '\0' || needed == NULL)
    return ts_fail(message, TS_EINVAL, "Cannot verify a DAX directory: %s",
                   needed == NULL ? "`needed` is NULL" : "no path is given");
  struct stat folder;
  bool there = stat(path, &folder) == 0;
  if (!there || !S_ISDIR(folder.st_mode))
    return ts_fail(message, TS_EINVAL, "Cannot verify \"%s\" as a DAX directory: %s", path,
                   there ? "it is not a directory" : strerror(errno));
  ts_probe probe = {.roots = ""};
  ts_probe_number(&probe, folder.st_uid, "folder.owner");
  char mode[16];
  snprintf(mode, sizeof mode, "%04o", (unsigned)folder.st_mode & 07777u);
  ts_probe_fact(&probe, mode, "folder.mode");
  struct statfs space;
  if (statfs(path, &space) == 0) {
    ts_probe_number(&probe, (uint64_t)space.f_bavail * (uint64_t)space.f_bsize, "file_system.free");
    ts_probe_number(&probe, (uint64_t)space.f_bsize, "file_system.block_size");
  }
  int fd = unnamed_file(&probe, path);
  flag(&probe, "file.created", fd >= 0);
  if (fd < 0) return ts_text_tell(&probe.text, path, out, cap, needed, message);
  void *memory = map_aligned(fd, MAP_SHARED_VALIDATE | MAP_SYNC);
  flag(&probe, "map_sync", memory != MAP_FAILED);
  if (memory == MAP_FAILED) {
    ts_probe_fact(&probe, strerror(errno), "map_sync.error");
    memory = map_aligned(fd, MAP_SHARED);
  }
  if (memory != MAP_FAILED) {
    page_size(&probe, memory);
    munmap(memory, BYTES);
  } else {
    ts_probe_fact(&probe, strerror(errno), "map.error");
  }
  libpmem(&probe, fd);
  close(fd);
  return ts_text_tell(&probe.text, path, out, cap, needed, message);
}
