/* pmem.h - the one interface through which memory that keeps what is stored is written: files of fsdax, or of any other file
 * system, mapped by libpmem. What base/disk.h is for files that are written, this is for files that are stored into.
 *
 * Code that promises something about what a crash leaves takes a table of these operations: ts_pmem_system, or a test's,
 * which records what was stored (test/crash). What such code may rely on, and tests hold it to:
 *
 *   - what was copied is certain to be there after a crash only once both a later `drain` of the same thread has returned
 *     and, after that, `sync` of the mapping has succeeded. On fsdax the first does the work, elsewhere the second;
 *   - before that any of its aligned words of 8 bytes may be there and any may not, in any order;
 *   - after a sync that failed nothing is known of what it should have made durable, and another sync does not repair it.
 *
 * What is read through `base`, and stored there directly, is not promised anything. All are thread-safe. */
#ifndef TS_PMEM_H
#define TS_PMEM_H

#include "base/base.h"

#include <sys/types.h>

typedef struct ts_pmem_map {
  unsigned char *base;
  uint64_t bytes;
  bool is_pmem; /* persistent memory, by libpmem's word: `sync` has nothing to do */
  int file;     /* of a test's */
} ts_pmem_map;

typedef struct ts_pmem_ops ts_pmem_ops;
struct ts_pmem_ops {
  /* 0 or a negated errno. -EEXIST: there is one; else the new file of `bytes` zeros is certain to be there after a crash. */
  int (*create)(const ts_pmem_ops *pmem, const char *path, uint64_t bytes, ts_pmem_map *out);
  int (*open)(const ts_pmem_ops *pmem, const char *path, ts_pmem_map *out); /* whole; -ENOENT, -ENODATA: it is empty */
  int (*unlink)(const ts_pmem_ops *pmem, const char *path);
  void (*close)(const ts_pmem_ops *pmem, ts_pmem_map *map);
  /* Offset and bytes are multiples of 8. */
  void (*copy)(const ts_pmem_ops *pmem, const ts_pmem_map *map, uint64_t offset, const void *from, uint64_t bytes);
  void (*drain)(const ts_pmem_ops *pmem);
  int (*sync)(const ts_pmem_ops *pmem, const ts_pmem_map *map); /* 0 or a negated errno */
};

/* By libpmem, which ts_libpmem_load must have found. */
extern const ts_pmem_ops ts_pmem_system;

/* Of libpmem.h 1.12: the functions and flags used here. */
#define TS_PMEM_FILE_CREATE (1 << 0)
#define TS_PMEM_FILE_EXCL (1 << 1)
#define TS_PMEM_NODRAIN (1u << 0)
#define TS_PMEM_NONTEMPORAL (1u << 1)
typedef struct ts_libpmem {
  void *(*map_file)(const char *path, size_t bytes, int flags, mode_t mode, size_t *mapped, int *is_pmem);
  int (*unmap)(void *base, size_t bytes);
  void *(*copy)(void *to, const void *from, size_t bytes, unsigned flags);
  void (*drain)(void);
  int (*msync)(const void *base, size_t bytes);
  const char *(*errormsg)(void);
} ts_libpmem;
/* The library, loaded once. Errors: TS_EUNAVAILABLE naming the package. */
int32_t ts_libpmem_load(const ts_libpmem **out, ts_err err);

/* fsdax | file: what a mapping that libpmem calls pmem, or not, is; a forced one (below) is a file. */
const char *ts_pmem_medium(bool is_pmem);
/* Adds " is_pmem=0|1 forced=0|1 file_system=...": forced is PMEM_IS_PMEM_FORCE=1 in the environment, which makes libpmem say so
 * of any file. */
void ts_pmem_describe(bool is_pmem, const char *file_system, ts_text *text);
/* "ext4", "xfs", ...; "other", or "unknown" where the path cannot be asked. */
const char *ts_file_system(const char *path);

#endif
