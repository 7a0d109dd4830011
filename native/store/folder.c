/* folder.c - see folder.h. One that stays is locked itself. Another folder in use holds a file that is locked for as long as its program lives, however that ends;
 * so what is not locked is nobody's and can go. The file gets its name when it is locked: stores that open side by side sweep
 * away nobody's new folder. */
#include "store/folder.h"

#include "base/sync_point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "tierstore-ssd-"
#define LOCK "in-use"
#define NEW_LOCK "in-making"
#define KEPT "tierstore-kept" /* not of the prefix: nobody sweeps it away */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  remove(path);
  return 0;
}

static void remove_all(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static bool path_in(char *path, const char *folder, const char *name) {
  return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* Locks a file; -1 if somebody has it, or there is none. */
static int lock_file(const char *path, int flags) {
  int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
  TS_SYNC("folder:opened");
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
  }
  return fd;
}

/* Takes the lock of a folder; -1 if somebody has it, or it has none yet. */
static int take_lock(const char *folder) {
  char path[PATH_MAX];
  return path_in(path, folder, LOCK) ? lock_file(path, 0) : -1;
}

/* The lock of a new folder; -1 and errno if it cannot be made. */
static int make_lock(const char *folder) {
  char made[PATH_MAX], path[PATH_MAX];
  if (!path_in(made, folder, NEW_LOCK) || !path_in(path, folder, LOCK)) return -1;
  int fd = lock_file(made, O_CREAT);
  if (fd < 0 || rename(made, path) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

static void sweep(const char *parent) {
  DIR *dir = opendir(parent);
  if (dir == NULL) return;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[PATH_MAX];
    if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= sizeof path) continue;
    int fd = take_lock(path);
    if (fd < 0) continue;
    remove_all(path);
    close(fd);
  }
  closedir(dir);
}

int32_t ts_folder_create(const char *parent, ts_folder *out, ts_err err) {
  *out = (ts_folder){.lock = -1};
  sweep(parent);
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s/" PREFIX "XXXXXX", parent) >= sizeof path)
    return ts_fail(err, TS_EINVAL, "Cannot make a folder in \"%s\": the path is longer than %d bytes", parent, PATH_MAX - 1);
  if (mkdtemp(path) == NULL)
    return ts_fail(err, TS_EIO, "Cannot make a folder for the SSD tier in \"%s\": %s; choose another path", parent,
                   strerror(errno));
  out->lock = make_lock(path);
  out->path = strdup(path);
  if (out->lock >= 0 && out->path != NULL) return TS_OK;
  int32_t status = out->path == NULL ? ts_fail(err, TS_ENOMEM, "Cannot open store: out of memory")
                                     : ts_fail(err, TS_EIO, "Cannot lock a file in \"%s\": %s", path, strerror(errno));
  remove_all(path);
  if (out->lock >= 0) close(out->lock);
  free(out->path);
  *out = (ts_folder){.lock = -1};
  return status;
}

int32_t ts_folder_keep(const ts_disk_ops *disk, const char *parent, ts_folder *out, ts_err err) {
  *out = (ts_folder){.lock = -1, .disk = disk};
  char path[PATH_MAX], reason[128];
  if (!path_in(path, parent, KEPT))
    return ts_fail(err, TS_EINVAL, "Cannot make a folder in \"%s\": the path is longer than %d bytes", parent, PATH_MAX - 1);
  const int made = disk->make_folder(disk, path);
  if (made != 0 && made != -EEXIST)
    return ts_fail(err, TS_EIO, "Cannot make the folder \"%s\": %s; choose another path", path, strerror_r(-made, reason, sizeof reason));
  out->lock = disk->lock_folder(disk, path);
  if (out->lock == -EWOULDBLOCK)
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot open store: another store has \"%s\" open; close it, or choose another path", path);
  if (out->lock < 0) return ts_fail(err, TS_EIO, "Cannot lock \"%s\": %s", path, strerror_r(-out->lock, reason, sizeof reason));
  out->stays = true;
  out->path = strdup(path);
  if (out->path != NULL) return TS_OK;
  disk->close(disk, out->lock);
  *out = (ts_folder){.lock = -1};
  return ts_fail(err, TS_ENOMEM, "Cannot open store: out of memory");
}

typedef struct clearing {
  const ts_folder *folder;
  const char *but;
} clearing;

static void clear_one(void *context, const char *name) {
  const clearing *c = context;
  const ts_disk_ops *disk = c->folder->disk;
  char path[PATH_MAX];
  if (name[0] == '.' || strcmp(name, c->but) == 0 || !path_in(path, c->folder->path, name)) return;
  const int lock = disk->lock_folder(disk, path);
  if (lock < 0) return;
  ts_disk_remove_all(disk, path);
  disk->close(disk, lock);
}

void ts_folder_clear(const ts_folder *folder, const char *but) {
  clearing c = {folder, but};
  folder->disk->list(folder->disk, folder->path, clear_one, &c);
}

int32_t ts_folder_has(const ts_folder *folder, const char *name, bool *has, ts_err err) {
  const int error = ts_disk_has(folder->disk, folder->path, name, has);
  return error == 0 ? TS_OK : ts_disk_fail(err, "list the folder", folder->path, error);
}

void ts_folder_remove(ts_folder *folder) {
  if (folder->path == NULL) return;
  if (folder->stays) {
    folder->disk->close(folder->disk, folder->lock);
  } else {
    remove_all(folder->path);
    close(folder->lock);
  }
  free(folder->path);
  folder->path = NULL;
}
