/* ring.c - see ring.h. Head and tail words are shared with the kernel: each side publishes its own with release order
 * and reads the other's with acquire. */
#include "tiers/ssdhash/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* From Linux 6.0 and 6.1; older headers lack them. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif
#ifndef IORING_SETUP_COOP_TASKRUN
#define IORING_SETUP_COOP_TASKRUN (1u << 8)
#endif

int ts_ring_open(ts_ring *ring, uint32_t entries, bool single) {
  static const uint32_t tries[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_COOP_TASKRUN,
                                   0};
  struct io_uring_params p;
  memset(ring, 0, sizeof *ring);
  ring->fd = -1;
  for (uint32_t i = single ? 0 : 1; i < 3; i++) {
    memset(&p, 0, sizeof p);
    p.flags = tries[i];
    ring->fd = (int)syscall(SYS_io_uring_setup, entries, &p);
    ring->single = i == 0;
    if (ring->fd >= 0 || errno != EINVAL) break;
  }
  if (ring->fd < 0) return -errno;
  if ((p.features & IORING_FEAT_SINGLE_MMAP) == 0) { /* before Linux 5.4 */
    ts_ring_close(ring);
    return -ENOSYS;
  }
  size_t sq = p.sq_off.array + p.sq_entries * sizeof(uint32_t),
         cq = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
  ring->rings_bytes = TS_MAX(sq, cq);
  ring->sqes_bytes = p.sq_entries * sizeof(struct io_uring_sqe);
  void *rings =
      mmap(NULL, ring->rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
  void *sqes =
      mmap(NULL, ring->sqes_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
  ring->rings = rings == MAP_FAILED ? NULL : rings;
  ring->sqes = sqes == MAP_FAILED ? NULL : sqes;
  if (ring->rings == NULL || ring->sqes == NULL) {
    ts_ring_close(ring);
    return -ENOMEM;
  }
  unsigned char *base = ring->rings;
  ring->sq_tail = (uint32_t *)(base + p.sq_off.tail);
  ring->sq_array = (uint32_t *)(base + p.sq_off.array);
  ring->sq_mask = *(uint32_t *)(base + p.sq_off.ring_mask);
  ring->cq_head = (uint32_t *)(base + p.cq_off.head);
  ring->cq_tail = (uint32_t *)(base + p.cq_off.tail);
  ring->cq_mask = *(uint32_t *)(base + p.cq_off.ring_mask);
  ring->cqes = (struct io_uring_cqe *)(base + p.cq_off.cqes);
  ring->entries = p.sq_entries;
  return 0;
}

void ts_ring_close(ts_ring *ring) {
  if (ring->rings != NULL) munmap(ring->rings, ring->rings_bytes);
  if (ring->sqes != NULL) munmap(ring->sqes, ring->sqes_bytes);
  if (ring->fd >= 0) close(ring->fd);
  memset(ring, 0, sizeof *ring);
  ring->fd = -1;
}

void ts_ring_register(ts_ring *ring, void *buffer, size_t bytes) {
  struct iovec iov = {buffer, bytes};
  ring->fixed = syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &iov, 1) == 0;
}

struct io_uring_sqe *ts_ring_prepare(ts_ring *ring) {
  uint32_t slot = (*ring->sq_tail + ring->queued) & ring->sq_mask;
  ring->sq_array[slot] = slot;
  ring->queued++;
  struct io_uring_sqe *sqe = &ring->sqes[slot];
  memset(sqe, 0, sizeof *sqe);
  return sqe;
}

int ts_ring_enter(ts_ring *ring, uint32_t wait) {
  uint32_t left = ring->queued;
  __atomic_store_n(ring->sq_tail, *ring->sq_tail + left, __ATOMIC_RELEASE);
  ring->queued = 0;
  do {
    long n = syscall(SYS_io_uring_enter, ring->fd, left, wait, wait > 0 ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      /* Short of memory or completions to be taken: wait for one of those in flight and try again. */
      if ((errno == EAGAIN || errno == EBUSY) && *ring->cq_head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) {
        syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
        usleep(50);
        continue;
      }
      if (errno == EAGAIN || errno == EBUSY) { /* the caller takes them; what is not submitted stays queued */
        __atomic_store_n(ring->sq_tail, *ring->sq_tail - left, __ATOMIC_RELEASE);
        ring->queued = left;
        return 0;
      }
      return -errno;
    }
    left -= (uint32_t)n;
  } while (left > 0);
  return 0;
}

bool ts_ring_take(ts_ring *ring, uint64_t *user_data, int32_t *result) {
  uint32_t head = *ring->cq_head;
  if (head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) return false;
  const struct io_uring_cqe *cqe = &ring->cqes[head & ring->cq_mask];
  *user_data = cqe->user_data;
  *result = cqe->res;
  __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
  return true;
}
