/* ring.h - io_uring by its two system calls. liburing's fast path is inline functions over the mapped rings, which
 * dlopen cannot give us; what is left of the library is smaller than the code to load it would be, so the rings are
 * mapped here (struct layouts from <linux/io_uring.h>), and no library is needed. */
#ifndef TS_SSDHASH_RING_H
#define TS_SSDHASH_RING_H

#include "base/base.h"

#include <linux/io_uring.h>

typedef struct ts_ring {
  int fd;
  bool single; /* belongs to one thread (IORING_SETUP_SINGLE_ISSUER): enter fails with -EEXIST from another */
  bool fixed;  /* buffer 0 is registered */
  unsigned char *rings;
  struct io_uring_sqe *sqes;
  size_t rings_bytes, sqes_bytes;
  uint32_t *sq_tail, *sq_array, *cq_head, *cq_tail;
  struct io_uring_cqe *cqes;
  uint32_t sq_mask, cq_mask, entries, queued;
} ts_ring;

/* A ring of at least `entries` (at most 4096). single: cheaper completions where the kernel has them, for use by the
 * calling thread alone. 0 or -errno. */
int ts_ring_open(ts_ring *ring, uint32_t entries, bool single);
void ts_ring_close(ts_ring *ring);
/* Registers one buffer for READ_FIXED; sets ring->fixed if the kernel agrees. */
void ts_ring_register(ts_ring *ring, void *buffer, size_t bytes);
/* The next free submission entry, zeroed. The caller keeps count of what is in flight: at most `entries`. */
struct io_uring_sqe *ts_ring_prepare(ts_ring *ring);
/* Submits what was prepared and waits until `wait` completions are there. 0 or -errno. */
int ts_ring_enter(ts_ring *ring, uint32_t wait);
/* Takes one completion; false if there is none. */
bool ts_ring_take(ts_ring *ring, uint64_t *user_data, int32_t *result);

#endif
