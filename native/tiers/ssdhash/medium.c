/* medium.c - the table's folder, and every read and write of log files that does not go through a ring. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef STATX_DIOALIGN /* Linux 6.1 */
#define STATX_DIOALIGN 0x2000u
#endif

#define BALLAST_NAME "ballast"

int32_t ts_ssd_io_error(const ts_ssd_table *t, const char *what, const ts_ssd_file *file, uint64_t offset, int error,
                        ts_err err) {
  char reason[128];
  return ts_fail(err, TS_EIO, "Cannot %s %s/%016llx.log at offset %llu (table \"%s\"): %s", what, t->folder,
                 (unsigned long long)file->number, (unsigned long long)offset, t->table,
                 strerror_r(error, reason, sizeof reason));
}

const char *ts_ssd_path(const ts_ssd_table *t, const char *name, char out[TS_SSD_PATH]) {
  snprintf(out, TS_SSD_PATH, "%s/%s", t->folder, name);
  return out;
}

const char *ts_ssd_log_path(const ts_ssd_table *t, uint64_t number, char out[TS_SSD_PATH]) {
  snprintf(out, TS_SSD_PATH, "%s/%016llx.log", t->folder, (unsigned long long)number);
  return out;
}

int ts_ssd_open_log(const ts_ssd_table *t, uint64_t number, bool create) {
  char path[TS_SSD_PATH];
  ts_ssd_log_path(t, number, path);
  const int handle = create ? t->disk->create(t->disk, path) : t->disk->reopen(t->disk, path);
  if (handle < 0 || !t->direct) return handle;
  const int fd = t->disk->descriptor(t->disk, handle), flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0) return handle;
  const int error = -errno;
  t->disk->close(t->disk, handle);
  return error;
}

int32_t ts_ssd_pread(ts_ssd_table *t, const ts_ssd_file *file, void *out, uint64_t length, uint64_t offset,
                     ts_err err) {
  for (uint64_t done = 0; done < length;) {
    int64_t n = t->disk->read(t->disk, file->handle, (unsigned char *)out + done, length - done, offset + done);
    TS_SYNC_VALUE("ssd:medium:read", n);
    if (n == -EINTR) continue;
    if (n < 0) return ts_ssd_io_error(t, "read", file, offset + done, (int)-n, err);
    t->reads++;
    t->bytes_read += (uint64_t)n;
    if (n == 0)
      return ts_fail(err, TS_EFORMAT,
                     "Cannot read %s/%016llx.log at offset %llu (table \"%s\"): the file ends there, %llu bytes were "
                     "wanted; it was truncated",
                     t->folder, (unsigned long long)file->number, (unsigned long long)(offset + done), t->table,
                     (unsigned long long)(length - done));
    done += (uint64_t)n;
  }
  return TS_OK;
}

int32_t ts_ssd_pwrite(ts_ssd_table *t, const ts_ssd_file *file, const void *in, uint64_t length, uint64_t offset,
                      ts_err err) {
  for (uint64_t done = 0; done < length;) {
    int64_t n = t->disk->write(t->disk, file->handle, (const unsigned char *)in + done, length - done, offset + done);
    TS_SYNC_VALUE("ssd:medium:wrote", n);
    if (n == -EINTR) continue;
    if (n <= 0) return ts_ssd_io_error(t, "write", file, offset + done, n < 0 ? (int)-n : ENOSPC, err);
    t->writes++;
    t->bytes_written += (uint64_t)n;
    /* What a short write leaves may no longer be aligned. */
    done += t->direct ? (uint64_t)n / TS_SSD_BLOCK * TS_SSD_BLOCK : (uint64_t)n;
    if (t->direct && (uint64_t)n < TS_SSD_BLOCK) return ts_ssd_io_error(t, "write", file, offset + done, ENOSPC, err);
  }
  return TS_OK;
}

/* What a test's disk answers (sync points). */
typedef struct allocation {
  uint64_t bytes;
  int error; /* 0: ask the real one */
} allocation;

static int promise(ts_ssd_table *t, int handle, uint64_t offset, uint64_t length) {
  allocation a = {.bytes = length};
  TS_SYNC_VALUE("ssd:medium:allocate", a);
  if (a.error != 0) return a.error;
  return -t->disk->allocate(t->disk, handle, offset, length);
}

static bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

/* The file system has no such call. */
static bool is_unknown(int error) { return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

#define MOST_ZEROS (UINT64_C(64) << 10)

/* Takes room by writing zeros, where the file system cannot promise any; what was written of them goes when it fails. */
static int write_zeros(ts_ssd_table *t, int handle, uint64_t offset, uint64_t length) {
  allocation a = {.bytes = length};
  TS_SYNC_VALUE("ssd:medium:zeros", a);
  if (a.error != 0) return a.error;
  const uint64_t most = TS_MIN(length, MOST_ZEROS);
  unsigned char *zeros = aligned_alloc(TS_SSD_BLOCK, TS_ROUND_UP(most, TS_SSD_BLOCK));
  if (zeros == NULL) return ENOMEM;
  memset(zeros, 0, most);
  int error = 0;
  for (uint64_t done = 0; done < length && error == 0;) {
    const int64_t n = t->disk->write(t->disk, handle, zeros, TS_MIN(most, length - done), offset + done);
    if (n <= 0) error = n < 0 ? (int)-n : ENOSPC;
    if (n <= 0) break;
    t->writes++;
    t->bytes_written += (uint64_t)n;
    done += (uint64_t)n;
    if ((uint64_t)n % TS_SSD_BLOCK != 0 && done < length) error = ENOSPC; /* a short write: it is full */
  }
  free(zeros);
  /* What waits in the page cache has no room yet on some file systems (NFS, FUSE). */
  if (error == 0) error = -t->disk->sync(t->disk, handle);
  if (error != 0) t->disk->truncate(t->disk, handle, offset); /* where that fails, it is only more than is charged */
  return error;
}

static int allocate(ts_ssd_table *t, int handle, uint64_t offset, uint64_t length) {
  const int error = promise(t, handle, offset, length);
  return is_unknown(error) ? write_zeros(t, handle, offset, length) : error;
}

int32_t ts_ssd_allocate(ts_ssd_table *t, const ts_ssd_file *file, uint64_t offset, uint64_t length, ts_err err) {
  const int error = allocate(t, file->handle, offset, length);
  if (error == 0) return TS_OK;
  if (is_full(error)) return TS_SSD_NO_ROOM;
  return ts_ssd_io_error(t, "take room for", file, offset, error, err);
}

void ts_ssd_ballast_resize(ts_ssd_table *t, uint64_t bytes) {
  if (bytes == t->ballast_bytes || t->no_ballast) return;
  if (t->ballast < 0) {
    char path[TS_SSD_PATH];
    t->ballast = t->disk->create(t->disk, ts_ssd_path(t, BALLAST_NAME, path)); /* opening removed that of a dead process */
    if (t->ballast < 0) return;
  }
  if (bytes > t->ballast_bytes) {
    const int error = allocate(t, t->ballast, t->ballast_bytes, bytes - t->ballast_bytes);
    t->no_ballast = error != 0 && !is_full(error);
    if (error != 0) return;
  } else {
    uint64_t freed = t->ballast_bytes - bytes;
    TS_SYNC_VALUE("ssd:medium:free", freed);
    (void)freed;
  }
  /* Beyond its end blocks may be taken: so its length says how many there are, and cutting it frees them. */
  if (t->disk->truncate(t->disk, t->ballast, bytes) == 0) t->ballast_bytes = bytes;
}

void ts_ssd_ballast_remove(ts_ssd_table *t) {
  char path[TS_SSD_PATH];
  if (t->folder_lock >= 0) t->disk->unlink(t->disk, ts_ssd_path(t, BALLAST_NAME, path));
  if (t->ballast >= 0) t->disk->close(t->disk, t->ballast);
  t->ballast = -1;
  t->ballast_bytes = 0;
}

static void *take_memory(ts_ssd_table *t, uint64_t bytes, bool (*charge)(ts_budget *, ts_purpose, uint64_t)) {
  bytes = TS_ROUND_UP(bytes, TS_SSD_BLOCK);
  if (!charge(t->dram, TS_PURPOSE_BUFFERS, bytes)) return NULL;
  void *memory = ts_piece_take(t->pieces, bytes);
  if (memory == NULL) ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, bytes);
  return memory;
}

void *ts_ssd_take_memory(ts_ssd_table *t, uint64_t bytes) { return take_memory(t, bytes, ts_budget_take); }
void *ts_ssd_take_needed(ts_ssd_table *t, uint64_t bytes) { return take_memory(t, bytes, ts_budget_take_lent); }

void ts_ssd_give_memory(ts_ssd_table *t, void *memory, uint64_t bytes) {
  if (memory == NULL) return;
  bytes = TS_ROUND_UP(bytes, TS_SSD_BLOCK);
  ts_piece_give_back(t->pieces, memory, bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, bytes);
}

/* Letters, digits, '-' and '_' stay; long names end in their hash. */
static void escape(const char *name, uint64_t hash, char out[224]) {
  size_t at = 0;
  for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++) {
    bool plain =
        (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '_';
    if (at > 180) {
      at += (size_t)snprintf(out + at, 224 - at, "~%016llx", (unsigned long long)hash);
      break;
    }
    if (plain)
      out[at++] = (char)*p;
    else
      at += (size_t)snprintf(out + at, 224 - at, "%%%02X", *p);
  }
  out[at] = '\0';
}

/* What reads must be aligned to, by the kernel's word where it gives it. False: O_DIRECT does not work here. */
static bool direct_alignment(ts_ssd_table *t) {
  t->block = t->alignment = 512;
  if (t->disk->descriptor(t->disk, t->folder_lock) < 0) return false;
  char path[TS_SSD_PATH];
  int fd = open(ts_ssd_path(t, ".direct-io-test", path), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_DIRECT, 0644);
  if (fd < 0) return false;
  struct statx s = {0};
  bool works = true;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 && (s.stx_mask & STATX_DIOALIGN) != 0) {
    t->block = TS_MAX(512u, s.stx_dio_offset_align);
    t->alignment = TS_MAX(512u, s.stx_dio_mem_align);
    works = s.stx_dio_offset_align != 0 && t->block <= TS_SSD_BLOCK && t->alignment <= TS_SSD_BLOCK;
  } else {
    t->block = t->alignment = TS_SSD_BLOCK;
  }
  if (works) { /* the proof: write a block, read its smallest part */
    unsigned char *memory = aligned_alloc(TS_SSD_BLOCK, TS_SSD_BLOCK);
    if (memory != NULL) {
      memset(memory, 0, TS_SSD_BLOCK);
      ssize_t wrote = pwrite(fd, memory, TS_SSD_BLOCK, 0);
      /* A full disk is not a reason: it is told when a record is put. */
      if (wrote < 0 && errno == EINVAL) works = false;
      if (wrote == TS_SSD_BLOCK && pread(fd, memory, t->block, t->block % TS_SSD_BLOCK) < 0) works = false;
      free(memory);
    }
  }
  close(fd);
  unlink(path);
  return works;
}

int32_t ts_ssd_folder_open(ts_ssd_table *t, const char *directory, ts_err err) {
  char name[224], reason[128];
  escape(t->table, t->name_hash, name);
  size_t cap = strlen(directory) + strlen(name) + 16;
  t->folder = malloc(cap);
  if (t->folder == NULL)
    return ts_fail(err, TS_ENOMEM, "Cannot open the SSDHASH table \"%s\": out of memory", t->table);
  snprintf(t->folder, cap, "%s/%s.ssdhash", directory, name);
  if (cap + 48 > TS_SSD_PATH)
    return ts_fail(err, TS_EINVAL, "Cannot open the SSDHASH table \"%s\": the path of its folder has %zu bytes; at most %u are taken",
                   t->table, strlen(t->folder), TS_SSD_PATH - 64);
  const int made = t->disk->make_folder(t->disk, t->folder);
  if (made != 0 && made != -EEXIST)
    return ts_fail(err, TS_EIO, "Cannot create the folder %s of table \"%s\": %s", t->folder, t->table,
                   strerror_r(-made, reason, sizeof reason));
  t->folder_lock = t->disk->lock_folder(t->disk, t->folder);
  if (t->folder_lock < 0 && t->folder_lock != -EWOULDBLOCK)
    return ts_fail(err, TS_EIO, "Cannot open the folder %s of table \"%s\": %s", t->folder, t->table,
                   strerror_r(-t->folder_lock, reason, sizeof reason));
  if (t->folder_lock < 0)
    return ts_fail(
        err, TS_EIO,
        "Cannot open the folder %s of table \"%s\": another store has it open; give each store a path of its own",
        t->folder, t->table);
  t->direct = t->options.direct != 2 && direct_alignment(t);
  if (!t->direct) {
    if (t->options.direct == 1)
      return ts_fail(err, TS_EUNAVAILABLE,
                     "Cannot use %s with ssdhash.direct=direct: its file system refuses O_DIRECT; use auto", t->folder);
    t->why_not_direct = t->options.direct == 2 ? "asked for" : "the file system refuses O_DIRECT";
    t->block = t->alignment = 512;
  }
  return TS_OK;
}
