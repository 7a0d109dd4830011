/* Windows lend the file's bytes, whatever pieces are asked for: through the page cache and past it, where reads are short,
 * fail or are refused, where blocks are larger than windows, and where there is no memory. */
#include "checkpoint/window.h"

#include "test/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((UINT64_C(12) << 20) + 1234) /* enough to be read past the cache; no whole number of pages */

/* ---- memory that the system refuses ---- */

static uint32_t maps; /* so many are made, then none; UINT32_MAX: all */
static bool no_large_pages;

void *__real_mmap(void *at, size_t bytes, int how, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int how, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int how, int flags, int file, off_t offset) {
  if (maps == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (maps != UINT32_MAX) maps--;
  return __real_mmap(at, bytes, how, flags, file, offset);
}

int __real_madvise(void *at, size_t bytes, int what);
int __wrap_madvise(void *at, size_t bytes, int what);
int __wrap_madvise(void *at, size_t bytes, int what) {
  if (no_large_pages && what != MADV_DONTNEED) {
    errno = EINVAL;
    return -1;
  }
  return __real_madvise(at, bytes, what);
}

/* ---- a disk whose reads are as a test wants them ---- */

typedef struct odd_disk {
  ts_disk_ops ops;
  uint64_t reads, fails_at; /* the number of the read that fails; UINT64_MAX: none */
  int error;
  bool refuses_direct; /* reads past the cache are -EINVAL, though the flag was taken */
  uint64_t most;       /* bytes that a read gives; 0: all */
} odd_disk;

static int64_t read_oddly(const ts_disk_ops *ops, int file, void *out, uint64_t bytes, uint64_t offset) {
  odd_disk *disk = (odd_disk *)(uintptr_t)ops;
  if (disk->reads++ == disk->fails_at) return disk->error;
  if (disk->refuses_direct && (fcntl(file, F_GETFL) & O_DIRECT) != 0) return -EINVAL;
  return ts_disk_system.read(&ts_disk_system, file, out, disk->most == 0 ? bytes : TS_MIN(bytes, disk->most), offset);
}

static odd_disk begin_disk(void) {
  odd_disk disk = {.ops = ts_disk_system, .fails_at = UINT64_MAX};
  disk.ops.read = read_oddly;
  return disk;
}

/* ---- a file ---- */

static unsigned char *content;
static int file = -1;

static void make_file(void) {
  char path[] = "./window-test-XXXXXX";
  content = malloc(BYTES);
  for (uint64_t i = 0; i < BYTES; i += 8) {
    const uint64_t word = ts_mix64(i);
    memcpy(content + i, &word, TS_MIN(BYTES - i, UINT64_C(8)));
  }
  const int made = mkstemp(path);
  CHECK(made >= 0 && ts_disk_write(&ts_disk_system, made, content, BYTES, 0) == 0 && fsync(made) == 0);
  close(made);
  file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && unlink(path) == 0);
}

static void have_cached(void) {
  unsigned char *all = malloc(BYTES);
  CHECK(all != NULL && ts_disk_read(&ts_disk_system, file, all, BYTES, 0) == 0);
  free(all);
}

static void forget_cached(void) { CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0); }

/* Reads from `from` to `until` in pieces of drawn sizes, as blocks are: a head, then all of it. Stops at the first error. */
static int read_through(ts_window *w, uint64_t seed, uint64_t from, uint64_t until, uint64_t most) {
  for (uint64_t at = from, n = 0; at < until; n++) {
    const uint64_t some = TS_MIN(1 + ts_mix64(seed + n) % most, until - at), head = TS_MIN(some, 64u);
    unsigned char *bytes = NULL;
    int status = ts_window_read(w, at, head, &bytes);
    if (status != 0) return status;
    CHECK(memcmp(bytes, content + at, head) == 0);
    status = ts_window_read(w, at, some, &bytes);
    if (status != 0) return status;
    CHECK_MSG(memcmp(bytes, content + at, some) == 0, "%llu bytes at %llu", (unsigned long long)some, (unsigned long long)at);
    at += some;
  }
  return 0;
}

/* ---- tests ---- */

static bool direct; /* whether this machine reads past the cache at all */

static void all_pieces_come(void) {
  const uint64_t mosts[] = {1, 300, 70000, 900000, 5000000};
  for (uint32_t cached = 0; cached < 2; cached++)
    for (uint32_t i = 0; i < 5; i++) {
      odd_disk disk = begin_disk();
      ts_window w = {0};
      const uint64_t from = ts_mix64(i) % 9999, until = mosts[i] == 1 ? from + 70000 : BYTES - ts_mix64(i) % 3 * 777;
      if (cached) have_cached();
      else forget_cached();
      ts_window_begin(&w, &disk.ops, file, mosts[i] == 1 ? 0 : from, until);
      if (mosts[i] != 1) CHECK(cached ? !w.direct : w.direct == direct);
      CHECK(read_through(&w, i, from, until, mosts[i]) == 0);
      /* Pieces at a time, not blocks: what is read ahead. */
      if (mosts[i] <= 70000) CHECK_MSG(disk.reads <= (w.direct ? 16 : 64), "%llu reads", (unsigned long long)disk.reads);
      ts_window_end(&w);
      CHECK((fcntl(file, F_GETFL) & O_DIRECT) == 0);
      unsigned char *none = content;
      ts_window_begin(&w, &disk.ops, file, BYTES - 10, BYTES);
      CHECK(ts_window_read(&w, BYTES - 10, 11, &none) == -ENODATA && none == content);
      CHECK(ts_window_read(&w, BYTES - 10, 10, &none) == 0 && memcmp(none, content + BYTES - 10, 10) == 0);
      ts_window_end(&w);
    }
}

static void reads_may_be_short_or_refused(void) {
  for (uint32_t refuses = 0; refuses < 2; refuses++)
    for (uint64_t most = 1000; most <= 1 << 20; most = most * 7 + 96) {
      odd_disk disk = begin_disk();
      ts_window w = {0};
      disk.most = refuses ? 0 : most; /* short by no whole pages: reads past the cache are given up */
      disk.refuses_direct = refuses;
      forget_cached();
      ts_window_begin(&w, &disk.ops, file, 0, BYTES);
      CHECK(w.direct == direct);
      CHECK(read_through(&w, most, 0, BYTES, 100000) == 0);
      if (refuses) CHECK(!w.direct);
      ts_window_end(&w);
      CHECK((fcntl(file, F_GETFL) & O_DIRECT) == 0);
    }
}

static void errors_are_told(void) {
  uint64_t all = 1;
  for (uint64_t at = 0; at < all; at++)
    for (uint32_t i = 0; i < 2; i++) {
      odd_disk disk = begin_disk();
      ts_window w = {0};
      disk.fails_at = at;
      disk.error = i == 0 ? -EIO : -EINTR;
      forget_cached();
      ts_window_begin(&w, &disk.ops, file, 0, BYTES);
      const int status = read_through(&w, 3, 0, BYTES, 80000);
      CHECK_MSG(status == (i == 0 ? -EIO : 0), "read %llu: %d", (unsigned long long)at, status);
      if (i == 1) all = disk.reads - 1; /* the one that was interrupted is made again */
      ts_window_end(&w);
      CHECK((fcntl(file, F_GETFL) & O_DIRECT) == 0);
    }
  CHECK(all > 4);
}

/* Without large pages reads go through the cache; without memory they say so, until there is some. */
static void memory_may_be_refused(void) {
  ts_window w = {0};
  no_large_pages = true;
  forget_cached();
  ts_window_begin(&w, &ts_disk_system, file, 0, BYTES);
  CHECK(!w.direct && read_through(&w, 1, 0, BYTES, 60000) == 0);
  ts_window_end(&w);
  no_large_pages = false;
  for (uint32_t most = 0; most < 4; most++) {
    forget_cached();
    maps = most;
    ts_window_begin(&w, &ts_disk_system, file, 0, BYTES);
    const int status = read_through(&w, 1, 0, BYTES, 5000000);
    CHECK(status == -ENOMEM || status == 0);
    CHECK(most > 0 || status == -ENOMEM);
    maps = UINT32_MAX;
    CHECK(read_through(&w, 1, 0, BYTES, 5000000) == 0);
    ts_window_end(&w);
  }
}

int main(void) {
  maps = UINT32_MAX;
  make_file();
  forget_cached();
  ts_window w = {0};
  ts_window_begin(&w, &ts_disk_system, file, 0, BYTES);
  direct = w.direct;
  ts_window_end(&w);
  if (!direct) SKIP("checkpoint_window_test: reads past the page cache", "no O_DIRECT in %s, or no large pages", ".");
  all_pieces_come();
  reads_may_be_short_or_refused();
  errors_are_told();
  memory_may_be_refused();
  close(file);
  free(content);
  return test_result();
}
