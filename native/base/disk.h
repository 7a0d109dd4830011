/* disk.h - the one interface through which persistent files are written, made durable and read back.
 *
 * Code that promises something about what a crash leaves takes a table of these operations: ts_disk_system, or a test's,
 * which records what was done, loses what was not synchronised, and fails where it is told to (test/crash). What such code
 * may rely on, and tests hold it to:
 *
 *   - what was written to a file is certain to be there after a crash only once `sync` of that file has succeeded; before
 *     that any part of it may be there, in any order, and the file may be as long as it was at any time since;
 *   - what was made, renamed or unlinked in a folder is certain only once `sync_folder` has succeeded; before that the
 *     first few of these operations have happened and the rest have not (file systems keep their order within a folder);
 *   - after a sync that failed nothing is known of what it should have made durable, and another sync does not repair it.
 *
 * Every operation takes its table, so that a test's may be a larger struct that starts with it. All are thread-safe. Status:
 * 0 or what is asked for, or the negated errno. Paths are as open(2) takes them. */
#ifndef TS_DISK_H
#define TS_DISK_H

#include "base/base.h"

typedef struct ts_disk_ops ts_disk_ops;
struct ts_disk_ops {
  int (*make_folder)(const ts_disk_ops *disk, const char *path); /* -EEXIST: it is there */
  /* Calls each(context, name) for what is in the folder, in no order, "." and ".." left out. */
  int (*list)(const ts_disk_ops *disk, const char *folder, void (*each)(void *context, const char *name), void *context);
  /* A handle that keeps others from locking the same folder until it is closed or the process ends; -EWOULDBLOCK. */
  int (*lock_folder)(const ts_disk_ops *disk, const char *folder);
  int (*sync_folder)(const ts_disk_ops *disk, const char *folder);
  int (*open)(const ts_disk_ops *disk, const char *path);   /* a handle to read from */
  int (*create)(const ts_disk_ops *disk, const char *path); /* a handle to write to and read from, of a new file; -EEXIST */
  int (*reopen)(const ts_disk_ops *disk, const char *path); /* the same of a file that is there */
  int64_t (*size)(const ts_disk_ops *disk, int file);       /* bytes */
  /* Bytes done, which may be fewer than asked for. */
  int64_t (*read)(const ts_disk_ops *disk, int file, void *out, uint64_t bytes, uint64_t offset);
  int64_t (*write)(const ts_disk_ops *disk, int file, const void *in, uint64_t bytes, uint64_t offset);
  int (*sync)(const ts_disk_ops *disk, int file); /* contents and length, as fdatasync */
  int (*close)(const ts_disk_ops *disk, int file);
  /* Takes room for bytes at `offset`; length and contents stay. -EOPNOTSUPP: the file system knows no such thing. */
  int (*allocate)(const ts_disk_ops *disk, int file, uint64_t offset, uint64_t bytes);
  int (*truncate)(const ts_disk_ops *disk, int file, uint64_t length); /* certain like a write: with the next sync */
  /* The file descriptor behind a handle, for what has to go past this interface (io_uring, flags of descriptors); -1: none. */
  int (*descriptor)(const ts_disk_ops *disk, int file);
  int (*rename)(const ts_disk_ops *disk, const char *from, const char *to); /* replaces */
  int (*unlink)(const ts_disk_ops *disk, const char *path);
  int (*remove_folder)(const ts_disk_ops *disk, const char *path); /* an empty one */
};

extern const ts_disk_ops ts_disk_system;

/* All of it, where one call does a part. 0 or a negated errno; a write that makes no progress is -ENOSPC, a read behind
 * the end of the file -ENODATA. */
int ts_disk_write(const ts_disk_ops *disk, int file, const void *in, uint64_t bytes, uint64_t offset);
int ts_disk_read(const ts_disk_ops *disk, int file, void *out, uint64_t bytes, uint64_t offset);

/* Whether there is something of this name in the folder, which is there. 0 or a negated errno. */
int ts_disk_has(const ts_disk_ops *disk, const char *folder, const char *name, bool *has);
/* Removes all files of a folder and of those in it, and the folders; what cannot be removed stays. */
void ts_disk_remove_all(const ts_disk_ops *disk, const char *folder);

/* "Cannot <what> <path>: <reason>". TS_EFULL where the disk has no room, else TS_EIO. error: errno or its negation. */
int32_t ts_disk_fail(ts_err err, const char *what, const char *path, int error);

#endif
