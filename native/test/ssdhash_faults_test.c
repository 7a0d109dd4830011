/* SSDHASH on media that fail: damaged and foreign files, limits, a full disk, folders that cannot be written. */
#include "base/sync_point.h"
#include "test/ssdhash_world.h"

#include <sys/mount.h>

static void flipped_bit(void) {
  char path[600];
  const char *directory = where("flip");
  world w;
  make_files(&w, directory);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  log_file(directory, "t", 2, path, sizeof path);
  flip(path, 20000);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, 3000, 1, &wrong, &status) == 2999 && wrong == 0);
  CHECK_MSG(status == TS_EFORMAT && strstr(w.message, path) != NULL && strstr(w.message, "offset") != NULL, "%d %s",
            status, w.message);
  /* The rest of the table goes on, also through compaction. */
  for (uint64_t stamp = 2; stamp < 30; stamp++) CHECK_MSG(put_many(&w, 1500, 1500, stamp) == TS_OK, "%s", w.message);
  CHECK(read_many(&w, 1500, 1500, 29, &wrong, &status) == 1500 && wrong == 0);
  world_close(&w, true);
  CHECK(world_open(&w) == TS_EFORMAT);
  CHECK_MSG(strstr(w.message, path) != NULL && strstr(w.message, "offset") != NULL, "%s", w.message);
  world_end(&w);
}

static void truncated(void) {
  char path[600];
  const char *directory = where("cut");
  world w;
  make_files(&w, directory);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  log_file(directory, "t", 1, path, sizeof path);
  CHECK(truncate(path, 30000) == 0);
  uint32_t wrong = 0;
  int32_t status;
  uint32_t right = read_many(&w, 0, 3000, 1, &wrong, &status);
  CHECK_MSG(right > 2000 && right < 3000 && wrong == 0, "%u", right);
  CHECK_MSG(status == TS_EFORMAT && strstr(w.message, path) != NULL && strstr(w.message, "truncated") != NULL, "%s",
            w.message);
  world_close(&w, true);
  CHECK(world_open(&w) == TS_EFORMAT);
  CHECK_MSG(strstr(w.message, path) != NULL && strstr(w.message, "truncated") != NULL, "%s", w.message);
  /* Any closed file counts: also the last, cut at a record's end, or missing. */
  world_end(&w);
  for (uint32_t how = 0; how < 3; how++) {
    directory = where(how == 0 ? "cut0" : how == 1 ? "cut1" : "cut2");
    make_files(&w, directory);
    world_close(&w, true);
    uint32_t last = 0;
    do log_file(directory, "t", ++last, path, sizeof path);
    while (path[0] != '\0');
    log_file(directory, "t", last - 1, path, sizeof path);
    struct stat s;
    CHECK(stat(path, &s) == 0);
    CHECK(how == 0 ? truncate(path, 0) == 0 : how == 1 ? truncate(path, s.st_size - 4096) == 0 : unlink(path) == 0);
    CHECK_MSG(world_open(&w) == TS_EFORMAT, "%u: %s", how, w.message);
    world_end(&w);
  }
}

/* The last write of a process that died, torn: what is before it stays. Torn anywhere else: an error. */
static void torn_tail(void) {
  const char *directory = where("torn");
  static const char *const options[] = {"file_bytes=262144", "buffer_bytes=65536", NULL};
  char path[600], command[1200], copy[512];
  world w;
  world_make(&w, directory, "t", 128, 16 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 4000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  for (uint32_t how = 0; how < 3; how++) {
    snprintf(copy, sizeof copy, "%s.copy%u", directory, how);
    snprintf(command, sizeof command, "cp -r %s %s", directory, copy);
    CHECK(system(command) == 0);
    uint32_t files = 0;
    do log_file(copy, "t", ++files, path, sizeof path);
    while (path[0] != '\0');
    CHECK(files > 2);
    log_file(copy, "t", how == 2 ? files - 3 : files - 1, path, sizeof path); /* 2: not the newest */
    struct stat s;
    CHECK(stat(path, &s) == 0);
    if (how != 1) /* torn inside the last block */
      CHECK(truncate(path, s.st_size - 4096 + 512) == 0);
    else /* damage before whole records is no torn write */
      flip(path, 5000);
    world v;
    world_make(&v, copy, "t", 128, 16 << 20, 8 << 20, options);
    int32_t status = world_open(&v);
    if (how == 0) {
      CHECK_MSG(status == TS_OK, "%s", v.message);
      uint32_t wrong = 0;
      if (status == TS_OK) {
        uint32_t right = read_many(&v, 0, 4000, 1, &wrong, &status);
        CHECK_MSG(right > 3950 && right < 4000 && wrong == 0 && status == TS_OK, "%u", right);
        CHECK(put_many(&v, 0, 1000, 2) == TS_OK);
        world_close(&v, true);
        CHECK(world_open(&v) == TS_OK && read_many(&v, 0, 1000, 2, &wrong, &status) == 1000);
      }
    } else {
      CHECK_MSG(status == TS_EFORMAT && strstr(v.message, path) != NULL, "%d %s", status, v.message);
    }
    world_end(&v);
  }
  world_end(&w);
}

static void foreign_files(void) {
  const char *directory = where("foreign");
  world w, v;
  make_files(&w, directory);
  world_make(&v, directory, "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EIO && strstr(v.message, "another store") != NULL, "%s", v.message);
  world_end(&v);
  world_close(&w, true);
  world_make(&v, directory, "t", 132, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EFORMAT && strstr(v.message, "128") != NULL && strstr(v.message, "132") != NULL, "%s",
            v.message);
  world_end(&v);
  char command[1200];
  snprintf(command, sizeof command, "mv %s/t.ssdhash %s/u.ssdhash", directory, directory);
  CHECK(system(command) == 0);
  world_make(&v, directory, "u", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EFORMAT && strstr(v.message, "another table") != NULL, "%s", v.message);
  world_end(&v);
  world_end(&w);
}

static void limits(void) {
  world w;
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world_make(&w, where("limit"), "t", 128, 1 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 4000, 1) == TS_OK);
  int32_t status = put_many(&w, 4000, 4000, 1);
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "limit") != NULL, "%d %s", status, w.message);
  CHECK(w.medium.used <= w.medium.limit);
  uint32_t wrong = 0;
  CHECK(read_many(&w, 0, 4000, 1, &wrong, &status) == 4000 && wrong == 0 && status == TS_OK);
  /* Removals make room. */
  int64_t keys[2000];
  for (int64_t i = 0; i < 2000; i++) keys[i] = i * 2;
  CHECK(ops->remove(w.table, 2000, keys, NULL, err_of(&w)) == TS_OK);
  CHECK_MSG(put_many(&w, 10000, 1000, 1) == TS_OK, "%s", w.message);
  CHECK(read_many(&w, 10000, 1000, 1, &wrong, &status) == 1000 && wrong == 0);
  world_end(&w);
  /* DRAM: index and buffers. */
  world_make(&w, where("limit"), "t", 128, 64 << 20, 150 << 10, options);
  CHECK(world_open(&w) == TS_OK);
  status = put_many(&w, 0, 50000, 1);
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "DRAM") != NULL, "%d %s", status, w.message);
  CHECK(w.dram.used <= w.dram.limit);
  world_end(&w);
}

static void full_disk(void) {
  char mount_point[512];
  snprintf(mount_point, sizeof mount_point, "%s", where("tmpfs"));
  if (mount("none", mount_point, "tmpfs", 0, "size=700k") != 0) {
    SKIP("ssdhash_faults_test: full_disk", "a file system cannot be mounted: %s", strerror(errno));
    return;
  }
  world w;
  static const char *const options[] = {"file_bytes=131072", "buffer_bytes=16384", NULL};
  world_make(&w, mount_point, "t", 128, 64 << 20, 8 << 20, options);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  int32_t status = TS_OK;
  int64_t n = 0;
  for (; n < 10000 && status == TS_OK; n++) status = put_one(&w, n, 1, 0);
  n--;
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "No space left") != NULL && strstr(w.message, mount_point) != NULL, "%d %s",
            status, w.message);
  uint32_t wrong = 0;
  CHECK_MSG(read_many(&w, 0, (uint32_t)n, 1, &wrong, &status) == (uint32_t)n && wrong == 0, "%s", w.message);
  CHECK_MSG(ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message); /* what was taken has its room */
  /* Room comes back: so do puts. */
  char remount[] = "size=2m";
  CHECK(mount("none", mount_point, "tmpfs", MS_REMOUNT, remount) == 0);
  CHECK_MSG(put_many(&w, n, 100, 1) == TS_OK, "%s", w.message);
  CHECK_MSG(ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
  world_close(&w, true);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 0, (uint32_t)n + 100, 1, &wrong, &status) == (uint32_t)n + 100 && wrong == 0);
  world_end(&w);
  umount(mount_point);
}

/* A file system without fallocate. */
static void no_promise(void *context, void *value) {
  struct {
    uint64_t bytes;
    int error;
  } *asked = value;
  asked->error = *(const int *)context;
}

/* A disk of so many bytes, whatever the one below has. */
typedef struct small_disk {
  uint64_t used, size, refused;
} small_disk;

static void disk_asked(void *context, void *value) {
  small_disk *d = context;
  struct {
    uint64_t bytes;
    int error;
  } *asked = value;
  if (d->used + asked->bytes > d->size) {
    asked->error = ENOSPC;
    d->refused++;
  } else {
    d->used += asked->bytes;
  }
}

static void disk_given_back(void *context, void *value) {
  small_disk *d = context;
  d->used -= TS_MIN(*(uint64_t *)value, d->used);
}

/* The disk is full long before the tier's limit is reached: garbage is made room of first, then the call is refused with
 * the figures, and what was taken stays and can be written. */
static void full_disk_compacts(bool real, int unknown) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", "garbage_percent=95", NULL};
  small_disk disk = {.size = 1200 << 10};
  const char *directory = where(real ? "tmpfs" : "small");
  if (real && mount("none", directory, "tmpfs", 0, "size=1200k") != 0) return; /* full_disk has said so */
  world w;
  world_make(&w, directory, "t", 128, 64 << 20, 8 << 20, options);
  ts_sync_start();
  if (unknown != 0) ts_sync_call("ssd:medium:allocate", no_promise, &unknown);
  if (!real) ts_sync_call(unknown != 0 ? "ssd:medium:zeros" : "ssd:medium:allocate", disk_asked, &disk);
  if (!real) ts_sync_call("ssd:medium:free", disk_given_back, &disk);
  CHECK(world_open(&w) == TS_OK);
  uint64_t stamps[4000] = {0};
  for (uint64_t stamp = 1; stamp <= 40; stamp++)
    for (uint32_t key = 0; key < 4000; key++) {
      if (stamp > 1 && ts_random64(9, stamp, key) % 8 != 0) continue;
      CHECK_MSG(put_one(&w, key, stamp, 0) == TS_OK, "stamp %llu, key %u: %s", (unsigned long long)stamp, key, w.message);
      stamps[key] = stamp;
    }
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK_MSG((real || disk.refused > 0) && counts.compactions > 0, "refused %llu, compactions %llu", (unsigned long long)disk.refused,
            (unsigned long long)counts.compactions);
  int32_t status = TS_OK;
  uint32_t more = 0, wrong = 0;
  for (; status == TS_OK && more < 20000; more++) status = put_one(&w, 10000 + more, 7, 0);
  more--;
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "No space left") != NULL && strstr(w.message, "4") != NULL, "%d %s",
            status, w.message);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  for (uint32_t key = 0; key < 4000; key++) {
    int32_t read;
    CHECK(read_many(&w, key, 1, stamps[key], &wrong, &read) == 1 && read == TS_OK);
  }
  CHECK(read_many(&w, 10000, more, 7, &wrong, &status) == more && wrong == 0);
  /* Removals make room, and so does a disk that grows. */
  int64_t keys[2000];
  for (int64_t i = 0; i < 2000; i++) keys[i] = i * 2;
  CHECK(ops->remove(w.table, 2000, keys, NULL, err_of(&w)) == TS_OK);
  CHECK_MSG(put_many(&w, 50000, 1000, 1) == TS_OK, "%s", w.message);
  disk.size *= 2;
  char remount[] = "size=2400k";
  CHECK(!real || mount("none", w.open.directory, "tmpfs", MS_REMOUNT, remount) == 0);
  CHECK_MSG(put_many(&w, 60000, 3000, 1) == TS_OK, "%s", w.message);
  CHECK(read_many(&w, 60000, 3000, 1, &wrong, &status) == 3000 && wrong == 0);
  world_close(&w, true);
  CHECK(ts_sync_stop());
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 50000, 1000, 1, &wrong, &status) == 1000 && wrong == 0);
  char mounted[512];
  snprintf(mounted, sizeof mounted, "%s", w.open.directory);
  world_end(&w);
  if (real) umount(mounted);
}

/* Zeros take room where nothing promises it: a process that dies leaves files that have nothing else, and all rows that
 * were flushed are there; a header of zeros before records is damage. */
static void killed_without_promises(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  const char *directory = where("zeros");
  char path[600], next[600], copy[512], command[1200];
  int unknown = EOPNOTSUPP, status;
  world w, v;
  world_make(&w, directory, "t", 128, 16 << 20, 8 << 20, options);
  ts_sync_start();
  ts_sync_call("ssd:medium:allocate", no_promise, &unknown);
  CHECK(world_open(&w) == TS_OK);
  CHECK_MSG(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
  CHECK_MSG(put_many(&w, 1000, 200, 1) == TS_OK, "%s", w.message); /* part of them only in buffers */
  for (uint32_t how = 0; how < 2; how++) {
    snprintf(copy, sizeof copy, "%s.copy%u", directory, how);
    snprintf(command, sizeof command, "cp -r %s %s", directory, copy);
    CHECK(system(command) == 0);
    uint32_t files = 0;
    do log_file(copy, "t", ++files, path, sizeof path);
    while (path[0] != '\0');
    log_file(copy, "t", files - 1, path, sizeof path);
    /* Behind the newest file one that has its room and nothing else; and a file that lost its header. */
    snprintf(next, sizeof next, "%s/t.ssdhash/00000000ffffffff.log", copy);
    int fd = open(how == 0 ? next : path, O_RDWR | O_CREAT, 0644);
    static const char zeros[4096];
    CHECK(fd >= 0 && (how == 0 ? ftruncate(fd, 16384) == 0 : pwrite(fd, zeros, sizeof zeros, 0) == sizeof zeros));
    close(fd);
    world_make(&v, copy, "t", 128, 16 << 20, 8 << 20, options);
    status = world_open(&v);
    uint32_t wrong = 0;
    if (how == 0) {
      CHECK_MSG(status == TS_OK, "%s", v.message);
      CHECK(v.table != NULL && read_many(&v, 0, 1000, 1, &wrong, &status) == 1000 && wrong == 0);
      CHECK(access(next, F_OK) != 0);
      CHECK_MSG(v.table != NULL && put_many(&v, 2000, 1000, 1) == TS_OK, "%s", v.message);
    } else {
      CHECK_MSG(status == TS_EFORMAT && strstr(v.message, path) != NULL, "%d %s", status, v.message);
    }
    world_end(&v);
  }
  world_end(&w);
  CHECK(ts_sync_stop());
}

static void unwritable(void) {
  world w;
  world_make(&w, "/proc/self", "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&w) == TS_EIO && strstr(w.message, "/proc/self/t.ssdhash") != NULL, "%s", w.message);
  CHECK_MSG(ops->probe("/proc/self", err_of(&w)) == TS_EIO && strstr(w.message, "/proc/self") != NULL, "%s", w.message);
  CHECK(ops->probe(root, err_of(&w)) == TS_OK);
  world_end(&w);
  /* The folder goes away under an open table. */
  const char *directory = where("gone");
  char command[700];
  world_make(&w, directory, "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  snprintf(command, sizeof command, "rm -r %s", directory);
  CHECK(system(command) == 0);
  int32_t status = put_one(&w, 1, 1, 0);
  CHECK_MSG(status == TS_EIO && strstr(w.message, ".log") != NULL, "%d %s", status, w.message);
  world_end(&w);
}

int main(void) {
  make_root(false);
  flipped_bit();
  truncated();
  torn_tail();
  foreign_files();
  limits();
  full_disk();
  full_disk_compacts(false, 0);
  full_disk_compacts(true, 0);
  full_disk_compacts(false, EOPNOTSUPP);
  full_disk_compacts(true, ENOSYS);
  killed_without_promises();
  unwritable();
  remove_root();
  return test_result();
}
