/* window.c - see window.h. */
#include "checkpoint/window.h"

#include "base/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE (UINT64_C(2) << 20)
#define DIRECT_LEAST (4 * LARGE_PAGE) /* of fewer bytes the memory costs more than it saves */
#define SMALL_WINDOW (UINT64_C(256) << 10) /* through the cache: what a core has in its own caches */
#define SAMPLES 64u /* pages of a file that are asked for in the cache */

/* ---- past the cache ---- */

/* Whether at least half of the file's bytes are in the page cache. A system that does not tell says that all are. */
static bool is_cached(int descriptor, uint64_t from, uint64_t until) {
  const uint64_t first = from / TS_PAGE * TS_PAGE, step = TS_MAX((until - first) / SAMPLES / TS_PAGE * TS_PAGE, TS_PAGE);
  unsigned char *file = mmap(NULL, until - first, PROT_READ, MAP_SHARED, descriptor, (off_t)first);
  if (file == MAP_FAILED) return true;
  uint32_t asked = 0, there = 0;
  for (uint64_t at = 0; at < until - first && asked < SAMPLES; at += step, asked++) {
    unsigned char resident = 1;
    there += mincore(file + at, TS_PAGE, &resident) != 0 || (resident & 1) != 0;
  }
  munmap(file, until - first);
  return 2 * there >= asked;
}

static bool set_direct(const ts_window *w, bool direct) {
  const int descriptor = w->disk->descriptor(w->disk, w->file), flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* ---- memory ---- */

static void unmap(ts_window *w) {
  if (w->memory != NULL) munmap(w->memory, w->capacity);
  w->memory = NULL;
  w->capacity = 0;
}

/* Memory for at least so many bytes; the first `kept` of what there was stay. */
static int grow(ts_window *w, uint64_t bytes, uint64_t kept) {
  bytes = TS_ROUND_UP(bytes, bytes < LARGE_PAGE ? TS_PAGE : LARGE_PAGE);
  unsigned char *memory = ts_pages_map(bytes, -1, true);
  if (memory == NULL) return -ENOMEM;
  if (w->direct) ts_pages_have_huge(memory, bytes); /* a block that is larger than a window */
  if (kept > 0) memcpy(memory, w->memory, kept);
  unmap(w);
  w->memory = memory;
  w->capacity = bytes;
  return 0;
}

/* ---- reading ---- */

void ts_window_begin(ts_window *w, const ts_disk_ops *disk, int file, uint64_t from, uint64_t until) {
  ts_window_end(w);
  *w = (ts_window){.disk = disk, .file = file, .until = until};
  const uint64_t all = until > from ? until - from : 0;
  const int descriptor = disk->descriptor(disk, file);
  if (all >= DIRECT_LEAST && descriptor >= 0 && !is_cached(descriptor, from, until) && grow(w, LARGE_PAGE, 0) == 0)
    w->direct = ts_pages_have_huge(w->memory, w->capacity) && set_direct(w, true);
  if (w->direct) return;
  unmap(w);
  /* Where there is no memory now, the first read says so. */
  grow(w, TS_MAX(TS_MIN(all, SMALL_WINDOW), TS_PAGE), 0);
}

void ts_window_end(ts_window *w) {
  if (w->direct) set_direct(w, false);
  unmap(w);
  *w = (ts_window){0};
}

/* Reads on behind what the window has, to `wanted` bytes, or `need` where the file ends before. */
static int fill(ts_window *w, uint64_t wanted, uint64_t need) {
  while (w->bytes < need || (w->bytes < wanted && w->at + w->bytes < w->until)) {
    const int64_t n = w->disk->read(w->disk, w->file, w->memory + w->bytes, wanted - w->bytes, w->at + w->bytes);
    if (n == -EINTR) continue;
    if (n == -EINVAL && w->direct) { /* a file system that took the flag and means it not, or a part that ends within a page */
      if (!set_direct(w, false)) return (int)n;
      w->direct = false;
      continue;
    }
    if (n < 0) return (int)n;
    if (n == 0) break;
    w->bytes += (uint64_t)n;
  }
  return w->bytes < need ? -ENODATA : 0;
}

int ts_window_read(ts_window *w, uint64_t place, uint64_t bytes, unsigned char **out) {
  if (place < w->at || bytes > w->bytes || place - w->at > w->bytes - bytes) {
    const uint64_t start = place / TS_PAGE * TS_PAGE, need = place - start + bytes;
    const uint64_t kept = start >= w->at && start - w->at < w->bytes ? w->at + w->bytes - start : 0;
    if (kept > 0) memmove(w->memory, w->memory + (start - w->at), kept);
    w->at = start;
    w->bytes = kept;
    if (need > w->capacity || w->memory == NULL) {
      const int status = grow(w, need, kept);
      if (status != 0) return status;
    }
    const uint64_t left = w->until > start ? TS_ROUND_UP(w->until - start, TS_PAGE) : 0;
    const int status = fill(w, TS_MAX(TS_MIN(w->capacity, left), TS_ROUND_UP(need, TS_PAGE)), need);
    if (status != 0) return status;
  }
  *out = w->memory + (place - w->at);
  return 0;
}
