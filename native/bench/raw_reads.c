/* raw_reads.c - what the device gives: random 4 KiB reads with O_DIRECT through io_uring, a fixed number always in
 * flight. Spoken to by raw system calls, since a library for them need not be installed.
 *
 *   raw_reads <file> <bytes> <seed>    writes the file (random bytes, so that nothing can be left out) and answers
 *   stdin lines "<depth> <ms>" with "ok reads=<n> seconds=<s> cpu=<s>". */
#include "contender.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK 4096u
#define DEPTH 256u

typedef struct ring {
  int fd;
  _Atomic unsigned *sq_tail, *cq_head, *cq_tail;
  unsigned sq_mask, cq_mask, *sq_array;
  struct io_uring_sqe *sqes;
  struct io_uring_cqe *cqes;
} ring;

static void *map_ring(int fd, size_t bytes, off_t offset) {
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
  return at == MAP_FAILED ? NULL : at;
}

static bool ring_open(ring *r, char *error) {
  struct io_uring_params p = {.flags = 0};
  r->fd = (int)syscall(SYS_io_uring_setup, DEPTH, &p);
  if (r->fd < 0) return bench_fail(error, "Cannot read through io_uring: %s", strerror(errno));
  char *sq = map_ring(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  char *cq = map_ring(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
  r->sqes = map_ring(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
  if (sq == NULL || cq == NULL || r->sqes == NULL) return bench_fail(error, "Cannot map the ring: %s", strerror(errno));
  r->sq_tail = (void *)(sq + p.sq_off.tail);
  r->sq_mask = *(unsigned *)(void *)(sq + p.sq_off.ring_mask);
  r->sq_array = (void *)(sq + p.sq_off.array);
  r->cq_head = (void *)(cq + p.cq_off.head);
  r->cq_tail = (void *)(cq + p.cq_off.tail);
  r->cq_mask = *(unsigned *)(void *)(cq + p.cq_off.ring_mask);
  r->cqes = (void *)(cq + p.cq_off.cqes);
  return true;
}

static bool write_file(const char *path, uint64_t bytes, uint64_t seed, char *error) {
  enum { PIECE = 1 << 20 };
  static uint64_t piece[PIECE / 8] __attribute__((aligned(4096)));
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) return bench_fail(error, "Cannot write \"%s\" with O_DIRECT: %s", path, strerror(errno));
  for (uint64_t done = 0; done < bytes; done += PIECE) {
    for (size_t i = 0; i < PIECE / 8; i++) piece[i] = bench_mix(seed + done + i);
    if (write(fd, piece, PIECE) != PIECE) return bench_fail(error, "Cannot write \"%s\": %s", path, strerror(errno));
  }
  fsync(fd);
  close(fd);
  return true;
}

static bool reads(ring *r, int file, uint64_t blocks, unsigned depth, uint64_t limit, char *reply, char *error) {
  static char *buffers;
  static uint64_t state;
  if (buffers == NULL) buffers = bench_pages((uint64_t)DEPTH * BLOCK);
  uint64_t cpu = bench_cpu_ns(), start = bench_now_ns(), elapsed = 0, done = 0;
  unsigned in_flight = 0, free_count = depth;
  unsigned slots[DEPTH];
  for (unsigned i = 0; i < depth; i++) slots[i] = i;
  while (in_flight > 0 || elapsed < limit) {
    unsigned submitted = 0, tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);
    for (; free_count > 0 && elapsed < limit; submitted++, tail++) {
      unsigned slot = slots[--free_count];
      r->sqes[tail & r->sq_mask] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                                         .fd = file,
                                                         .addr = (uintptr_t)(buffers + (uint64_t)slot * BLOCK),
                                                         .len = BLOCK,
                                                         .off = bench_mix(++state) % blocks * BLOCK,
                                                         .user_data = slot};
      r->sq_array[tail & r->sq_mask] = tail & r->sq_mask;
    }
    atomic_store_explicit(r->sq_tail, tail, memory_order_release);
    in_flight += submitted;
    if (in_flight == 0) break;
    while (syscall(SYS_io_uring_enter, r->fd, submitted, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
      if (errno != EINTR) return bench_fail(error, "Cannot submit reads: %s", strerror(errno));
    unsigned head = atomic_load_explicit(r->cq_head, memory_order_relaxed);
    for (; head != atomic_load_explicit(r->cq_tail, memory_order_acquire); head++) {
      const struct io_uring_cqe *cqe = &r->cqes[head & r->cq_mask];
      if (cqe->res != (int)BLOCK)
        return bench_fail(error, "Cannot read: %s", cqe->res < 0 ? strerror(-cqe->res) : "a short read");
      slots[free_count++] = (unsigned)cqe->user_data;
      in_flight--;
      done++;
    }
    atomic_store_explicit(r->cq_head, head, memory_order_release);
    elapsed = bench_now_ns() - start;
  }
  snprintf(reply, BENCH_TEXT, "reads=%llu seconds=%.6f cpu=%.6f", (unsigned long long)done,
           (double)(bench_now_ns() - start) * 1e-9, (double)(bench_cpu_ns() - cpu) * 1e-9);
  return true;
}

int main(int argc, char **argv) {
  char error[BENCH_TEXT] = "Usage: raw_reads <file> <bytes> <seed>", reply[BENCH_TEXT], line[256];
  static ring r;
  bool ok = argc == 4;
  uint64_t bytes = ok ? strtoull(argv[2], NULL, 10) : 0;
  ok = ok && bytes >= BLOCK && write_file(argv[1], bytes, strtoull(argv[3], NULL, 10), error) && ring_open(&r, error);
  int file = ok ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
  printf(ok ? "ok\n" : "error %s\n", error);
  fflush(stdout);
  while (ok && fgets(line, sizeof line, stdin) != NULL) {
    unsigned depth = 0, ms = 0;
    if (sscanf(line, "%u %u", &depth, &ms) != 2 || depth == 0 || depth > DEPTH)
      ok = bench_fail(error, "Cannot read \"%s\": expected depth (1 to %u) and milliseconds", line, DEPTH);
    else
      ok = reads(&r, file, bytes / BLOCK, depth, ms * 1000000ull, reply, error);
    printf("%s %s\n", ok ? "ok" : "error", ok ? reply : error);
    fflush(stdout);
  }
  return 0;
}
