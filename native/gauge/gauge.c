/* gauge.c - opening and closing what is measured, and the form of a question; see gauge.h. */
#include "gauge/gauge.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS 0x01021994u /* f_type of file systems in memory, from <linux/magic.h> */
#define RAMFS 0x858458f6u

static int32_t use_cpus(ts_gauge *g, ts_config_reader *r, ts_err err) {
  g->cpus = ts_config_u64_list(r, "cpus", g->cpu, TS_GAUGE_CPUS);
  if (r->status != TS_OK || g->cpus > 0) return r->status;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot measure: the CPUs of this process are not known: %s", strerror(errno));
  for (uint64_t i = 0; i < CPU_SETSIZE && g->cpus < TS_GAUGE_CPUS; i++)
    if (CPU_ISSET(i, &allowed)) g->cpu[g->cpus++] = i;
  return TS_OK;
}

static bool in_memory(int file) {
  struct statfs about;
  return fstatfs(file, &about) == 0 && ((uint32_t)about.f_type == TMPFS || (uint32_t)about.f_type == RAMFS);
}

/* Whether mappings of it are of the medium itself: also where MAP_SYNC is refused, as on virtio-pmem (statx, Linux 5.8). */
static bool is_dax(int file) {
#ifdef STATX_ATTR_DAX
  struct statx about;
  return statx(file, "", AT_EMPTY_PATH, STATX_TYPE, &about) == 0 && (about.stx_attributes & STATX_ATTR_DAX) != 0;
#else
  (void)file;
  return false;
#endif
}

/* Why the system opened no file there. */
static int32_t not_opened(const char *folder, bool direct, int why, ts_err err) {
  if (why == EACCES || why == EPERM || why == EROFS)
    return ts_fail(err, TS_EIO, "Cannot measure \"%s\": no file may be put there: %s; name a folder that may be written to",
                   folder, strerror(why));
  return ts_fail(err, TS_EUNAVAILABLE, "Cannot measure \"%s\": its file system opens no file without a name%s: %s; name a folder "
                 "of another one", folder, direct ? " past the page cache (O_DIRECT)" : "", strerror(why));
}

/* A file without a name in a folder, so large. */
static int32_t open_file(ts_gauge *g, const char *folder, ts_err err) {
  struct stat about;
  if (stat(folder, &about) != 0)
    return ts_fail(err, TS_EIO, "Cannot measure \"%s\": %s; expected a folder to put a file into", folder, strerror(errno));
  if (!S_ISDIR(about.st_mode))
    return ts_fail(err, TS_EINVAL, "Cannot measure \"%s\": expected a folder to put a file into; devices and files "
                   "themselves are never written", folder);
  bool drive = g->kind == TS_GAUGE_DRIVE;
  g->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | (drive ? O_DIRECT : 0), 0600);
  if (g->file < 0) return not_opened(folder, drive, errno, err);
  if (drive && in_memory(g->file)) /* since Linux 6.6 such files open past a page cache that they are made of */
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot measure \"%s\": its file system is in memory, expected one on a drive", folder);
  int failed = posix_fallocate(g->file, 0, (off_t)g->bytes);
  if (failed != 0)
    return ts_fail(err, failed == ENOSPC ? TS_EFULL : TS_EIO, "Cannot measure \"%s\": no room for a file of %llu bytes: %s; "
                   "free some space or measure fewer bytes", folder, (unsigned long long)g->bytes, strerror(failed));
  return TS_OK;
}

/* Random bytes, so that no drive can leave them out. */
static int32_t fill_file(const ts_gauge *g, ts_err err) {
  enum { PIECE = 1 << 20 };
  uint64_t *piece = aligned_alloc(TS_GAUGE_BLOCK, PIECE);
  if (piece == NULL) return ts_fail(err, TS_ENOMEM, "Cannot measure a drive: out of memory");
  int32_t status = TS_OK;
  for (uint64_t at = 0; at < g->bytes && status == TS_OK; at += PIECE) {
    for (uint64_t i = 0; i < PIECE / 8; i++) piece[i] = ts_mix64(g->seed + at + i);
    if (pwrite(g->file, piece, PIECE, (off_t)at) != PIECE)
      status = ts_fail(err, TS_EIO, "Cannot measure a drive: writing its file failed: %s", strerror(errno));
  }
  free(piece);
  if (status == TS_OK && fsync(g->file) != 0)
    status = ts_fail(err, TS_EIO, "Cannot measure a drive: writing its file failed: %s", strerror(errno));
  return status;
}

static int32_t map_memory(ts_gauge *g, const char *folder, bool bound, uint64_t node, ts_err err) {
  void *at = MAP_FAILED;
  int access = PROT_READ | PROT_WRITE;
  if (g->file < 0) at = mmap(NULL, g->bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  else if (in_memory(g->file) || is_dax(g->file)) at = mmap(NULL, g->bytes, access, MAP_SHARED, g->file, 0);
  else {
#if defined(MAP_SYNC) && defined(MAP_SHARED_VALIDATE)
    at = mmap(NULL, g->bytes, access, MAP_SHARED_VALIDATE | MAP_SYNC, g->file, 0);
#else
    errno = EOPNOTSUPP;
#endif
    if (at == MAP_FAILED && (errno == EOPNOTSUPP || errno == EINVAL)) /* another mapping would be one of the page cache */
      return ts_fail(err, TS_EUNAVAILABLE, "Cannot measure \"%s\": its file system maps no memory of its own (DAX), so that the page "
                     "cache would be measured; mount it with -o dax, or measure it as a drive", folder);
  }
  if (at == MAP_FAILED)
    return ts_fail(err, TS_ENOMEM, "Cannot measure memory: no room for %llu bytes: %s; measure fewer", (unsigned long long)g->bytes,
                   strerror(errno));
  g->memory = at;
  if (g->file < 0) madvise(at, g->bytes, MADV_HUGEPAGE); /* as tiers ask for their rows; a hint */
  int32_t status = bound ? ts_bind_memory(at, g->bytes, (int)node, err) : TS_OK;
  if (status == TS_OK) memset(at, 1, g->bytes); /* pages are there before anything is timed */
  return status;
}

int32_t ts_gauge_open(const ts_config *config, ts_gauge **out, char *text, uint32_t cap) {
  static const char *const kinds[] = {"memory", "file", "drive", NULL};
  ts_err err = {text, cap};
  if (config == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot measure: options or room for the handle are missing");
  *out = NULL;
  ts_gauge *g = calloc(1, sizeof *g);
  if (g == NULL) return ts_fail(err, TS_ENOMEM, "Cannot measure: out of memory");
  g->file = -1;
  g->seed = ts_now_ns();
  ts_config_reader r = ts_config_read(config, "gauge", err);
  g->kind = (ts_gauge_kind)ts_config_choice(&r, "kind", "memory", kinds);
  g->bytes = ts_config_u64(&r, "bytes", 1u << 28, 1u << 20, UINT64_C(1) << 44) & ~UINT64_C(0xfffff);
  uint64_t node = ts_config_u64(&r, "node", 0, 0, 1023);
  const char *folder = ts_config_text(&r, "folder", "");
  int32_t status = use_cpus(g, &r, err);
  if (status == TS_OK) status = ts_config_finish(&r);
  if (status == TS_OK && g->kind != TS_GAUGE_MEMORY) status = open_file(g, folder, err);
  if (status == TS_OK)
    status = g->kind == TS_GAUGE_DRIVE ? fill_file(g, err) : map_memory(g, folder, ts_config_has(config, "node"), node, err);
  if (status == TS_OK) *out = g;
  else ts_gauge_close(g);
  return status;
}

int32_t ts_gauge_close(ts_gauge *g) {
  if (g == NULL) return TS_OK;
  if (g->memory != NULL) munmap(g->memory, g->bytes);
  if (g->file >= 0) close(g->file);
  free(g);
  return TS_OK;
}

/* False for a question that has no meaning, or that nothing here can measure. */
static bool read_query(const ts_gauge *g, const double *q, ts_gauge_query *out) {
  if (!((q[0] == 0 || q[0] == 2) && q[1] >= 0 && q[1] < TS_GAUGE_OPS)) return false;
  if (!(q[2] >= 1 && q[2] <= 1 << 20 && q[3] >= 1 && q[3] <= TS_GAUGE_DEPTH)) return false;
  if (!(q[7] <= 1 && q[8] == 0 && q[10] >= 0 && q[10] <= (double)(g->bytes / 2))) return false;
  *out = (ts_gauge_query){.latency = q[0] == 0, .op = (ts_gauge_op)q[1], .bytes = (uint32_t)q[2],
                          .threads = (uint32_t)q[3], .sequential = q[4] != 0, .fenced = q[5] != 0 || (q[0] == 0 && q[1] > 0), .mixed = q[7] >= 0,
                          .read_share = TS_MAX(0, q[7]), .region = (uint64_t)q[10]};
  return true;
}

int32_t ts_gauge_take(ts_gauge *g, const double *query, uint64_t ns, double *out, char *text, uint32_t cap) {
  ts_err err = {text, cap};
  if (g == NULL || query == NULL || out == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot measure: the gauge, the question or room for the answer is missing");
  ts_gauge_query q;
  if (!read_query(g, query, &q))
    return ts_fail(err, TS_EINVAL, "Cannot measure: the question has a number out of range");
  if (g->kind == TS_GAUGE_DRIVE) return ts_gauge_drive(g, &q, ns, out, err);
  if (q.threads > g->cpus)
    return ts_fail(err, TS_EINVAL, "Cannot measure with %u threads: %u CPUs may be used", q.threads, g->cpus);
  if (!ts_gauge_has(q.op) || (q.mixed && q.op == TS_GAUGE_LOAD && q.read_share < 1 && !ts_gauge_has(TS_GAUGE_NT)))
    return ts_fail(err, TS_EUNSUPPORTED, "Cannot measure operation %u: this CPU does not have it", (unsigned)q.op);
  return ts_gauge_memory(g, &q, ns, out, err);
}
