/* disk.c - see disk.h: the operations as the system does them. */
#include "base/disk.h"

#include "base/seeded_bug.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int result(int status) { return status < 0 ? -errno : status; }

static int make_folder(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  return result(mkdir(path, 0777));
}

static int list(const ts_disk_ops *disk, const char *folder, void (*each)(void *context, const char *name),
                void *context) {
  (void)disk;
  DIR *dir = opendir(folder);
  if (dir == NULL) return -errno;
  errno = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL; errno = 0)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) each(context, entry->d_name);
  const int error = errno;
  closedir(dir);
  return -error;
}

static int open_folder(const char *folder) { return result(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

static int lock_folder(const ts_disk_ops *disk, const char *folder) {
  (void)disk;
  const int fd = open_folder(folder);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

static int sync_folder(const ts_disk_ops *disk, const char *folder) {
  (void)disk;
  const int fd = open_folder(folder);
  if (fd < 0) return fd;
  const int status = result(fsync(fd));
  close(fd);
  return status;
}

static int open_file(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  const int fd = result(open(path, O_RDONLY | O_CLOEXEC));
  if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* advice: a refusal changes nothing */
  return fd;
}

static int create(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  return result(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

static int reopen(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  return result(open(path, O_RDWR | O_CLOEXEC));
}

static int64_t size(const ts_disk_ops *disk, int file) {
  (void)disk;
  struct stat status;
  return fstat(file, &status) != 0 ? -errno : status.st_size;
}

static int64_t read_some(const ts_disk_ops *disk, int file, void *out, uint64_t bytes, uint64_t offset) {
  (void)disk;
  for (;;) {
    const ssize_t n = pread(file, out, bytes, (off_t)offset);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

static int64_t write_some(const ts_disk_ops *disk, int file, const void *in, uint64_t bytes, uint64_t offset) {
  (void)disk;
  for (;;) {
    const ssize_t n = pwrite(file, in, bytes, (off_t)offset);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

static int sync_file(const ts_disk_ops *disk, int file) {
  (void)disk;
  return result(fdatasync(file));
}

static int close_handle(const ts_disk_ops *disk, int file) {
  (void)disk;
  return result(close(file));
}

static int allocate(const ts_disk_ops *disk, int file, uint64_t offset, uint64_t bytes) {
  (void)disk;
  for (;;) {
    if (fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

static int truncate_file(const ts_disk_ops *disk, int file, uint64_t length) {
  (void)disk;
  return result(ftruncate(file, (off_t)length));
}

static int descriptor(const ts_disk_ops *disk, int file) {
  (void)disk;
  return file;
}

static int rename_file(const ts_disk_ops *disk, const char *from, const char *to) {
  (void)disk;
  return result(rename(from, to));
}

static int unlink_file(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  return result(unlink(path));
}

static int remove_folder(const ts_disk_ops *disk, const char *path) {
  (void)disk;
  return result(rmdir(path));
}

const ts_disk_ops ts_disk_system = {.make_folder = make_folder,
                                    .list = list,
                                    .lock_folder = lock_folder,
                                    .sync_folder = sync_folder,
                                    .open = open_file,
                                    .create = create,
                                    .reopen = reopen,
                                    .size = size,
                                    .read = read_some,
                                    .write = write_some,
                                    .sync = sync_file,
                                    .close = close_handle,
                                    .allocate = allocate,
                                    .truncate = truncate_file,
                                    .descriptor = descriptor,
                                    .rename = rename_file,
                                    .unlink = unlink_file,
                                    .remove_folder = remove_folder};

int ts_disk_write(const ts_disk_ops *disk, int file, const void *in, uint64_t bytes, uint64_t offset) {
  for (uint64_t done = 0; done < bytes;) {
    const int64_t n = disk->write(disk, file, (const unsigned char *)in + done, bytes - done, offset + done);
    if (n <= 0) return n == 0 ? -ENOSPC : (int)n;
    done += TS_BUG("a short write is taken for a whole one") ? bytes : (uint64_t)n;
  }
  return 0;
}

int ts_disk_read(const ts_disk_ops *disk, int file, void *out, uint64_t bytes, uint64_t offset) {
  for (uint64_t done = 0; done < bytes;) {
    const int64_t n = disk->read(disk, file, (unsigned char *)out + done, bytes - done, offset + done);
    if (n <= 0) return n == 0 ? -ENODATA : (int)n;
    done += (uint64_t)n;
  }
  return 0;
}

typedef struct looking {
  const char *name;
  bool found;
} looking;

static void look(void *context, const char *name) {
  looking *l = context;
  l->found |= strcmp(name, l->name) == 0;
}

int ts_disk_has(const ts_disk_ops *disk, const char *folder, const char *name, bool *has) {
  looking l = {.name = name};
  const int error = disk->list(disk, folder, look, &l);
  *has = l.found;
  return error;
}

typedef struct removing {
  const ts_disk_ops *disk;
  const char *folder;
} removing;

static void remove_one(void *context, const char *name) {
  const removing *r = context;
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", r->folder, name) >= sizeof path) return;
  const int status = r->disk->unlink(r->disk, path);
  if (status == -EISDIR || status == -EPERM) ts_disk_remove_all(r->disk, path);
}

void ts_disk_remove_all(const ts_disk_ops *disk, const char *folder) {
  removing r = {disk, folder};
  disk->list(disk, folder, remove_one, &r);
  disk->remove_folder(disk, folder);
}

int32_t ts_disk_fail(ts_err err, const char *what, const char *path, int error) {
  char reason[128];
  error = error < 0 ? -error : error;
  return ts_fail(err, error == ENOSPC || error == EDQUOT ? TS_EFULL : TS_EIO, "Cannot %s %s: %s", what, path,
                 strerror_r(error, reason, sizeof reason));
}
