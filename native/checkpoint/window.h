/* window.h - a file read from front to back in large pieces, each lent to who asks for what lies in it.
 *
 * Large files that the page cache has little of are read past it (O_DIRECT), into memory in large pages: it saves the
 * cache's pages and a copy out of them, which is a fifth of a restore's processor time, and the device is asked for
 * megabytes at a time. Where the file system refuses that, the system gives no large pages (a device of a virtual machine
 * takes direct reads into small ones at a fraction of its speed), or the cache has the file, it is read through the
 * cache. */
#ifndef TS_CHECKPOINT_WINDOW_H
#define TS_CHECKPOINT_WINDOW_H

#include "base/disk.h"

/* Zeros: nothing was begun. */
typedef struct ts_window {
  const ts_disk_ops *disk;
  int file;
  uint64_t until;        /* nothing is read ahead from there on */
  unsigned char *memory; /* of `capacity` bytes, whole pages; NULL: none yet */
  uint64_t capacity;
  uint64_t at, bytes; /* which bytes of the file it has */
  bool direct;
} ts_window;

/* Of a file that is open to be read, whose bytes from `from` to `until` will be asked for, in this order. While it lasts nobody else
 * reads from the handle. */
void ts_window_begin(ts_window *window, const ts_disk_ops *disk, int file, uint64_t from, uint64_t until);
/* Frees its memory; the handle is as it was. Of zeros too. */
void ts_window_end(ts_window *window);
/* `bytes` of the file from `place` on, in *out until the next call. 0 or a negated errno: -ENODATA where the file ends before
 * them, -ENOMEM. */
int ts_window_read(ts_window *window, uint64_t place, uint64_t bytes, unsigned char **out);

#endif
