/* drive.c - reads and writes of a file past the page cache, a fixed number always under way (io_uring). Latency is the
 * time from one completion to the next times the requests under way (Little's law). */
#include "gauge/gauge.h"
#include "tiers/ssdhash/ring.h"

#include <stdlib.h>
#include <string.h>

typedef struct stream {
  ts_gauge *gauge;
  const ts_gauge_query *query;
  unsigned char *buffers;
  uint64_t next, done;
  double due;
} stream;

static void ask(stream *s, ts_ring *ring, uint64_t slot) {
  const ts_gauge_query *q = s->query;
  uint64_t places = s->gauge->bytes / q->bytes, at = s->next++ % places;
  if (!q->sequential) at = (uint64_t)((unsigned __int128)ts_random64(s->gauge->seed, 2, s->next) * places >> 64);
  s->due += q->mixed ? q->read_share : q->op == TS_GAUGE_LOAD ? 1 : 0;
  bool read = s->due >= 1;
  if (read) s->due -= 1;
  struct io_uring_sqe *e = ts_ring_prepare(ring);
  e->opcode = read ? IORING_OP_READ : IORING_OP_WRITE;
  e->fd = s->gauge->file;
  e->addr = (uint64_t)(uintptr_t)(s->buffers + slot * q->bytes);
  e->len = q->bytes;
  e->off = at * q->bytes;
  e->user_data = slot;
}

int32_t ts_gauge_drive(ts_gauge *g, const ts_gauge_query *q, uint64_t ns, double out[2], ts_err err) {
  if (q->bytes % TS_GAUGE_BLOCK != 0)
    return ts_fail(err, TS_EINVAL, "Cannot measure a drive with accesses of %u bytes: expected whole blocks of %u", q->bytes,
                   TS_GAUGE_BLOCK);
  g->seed = ts_mix64(g->seed + 1);
  stream s = {.gauge = g, .query = q, .next = ts_random64(g->seed, 3, 0) % (g->bytes / q->bytes)};
  s.buffers = aligned_alloc(TS_GAUGE_BLOCK, (size_t)q->bytes * q->threads);
  if (s.buffers == NULL) return ts_fail(err, TS_ENOMEM, "Cannot measure a drive: out of memory");
  for (size_t i = 0; i < (size_t)q->bytes * q->threads / 8; i++) ((uint64_t *)(void *)s.buffers)[i] = ts_mix64(g->seed + i);
  ts_ring ring;
  int failed = ts_ring_open(&ring, q->threads, true);
  if (failed != 0) {
    free(s.buffers);
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot measure a drive: the kernel gives no io_uring: %s", strerror(-failed));
  }
  uint64_t start = ts_now_ns(), elapsed = 0, slot;
  uint32_t under_way = 0;
  int32_t result;
  for (; under_way < q->threads; under_way++) ask(&s, &ring, under_way);
  while (under_way > 0 && failed == 0) {
    failed = ts_ring_enter(&ring, 1);
    bool more = failed == 0 && elapsed < ns;
    while (ts_ring_take(&ring, &slot, &result)) {
      under_way--;
      if (result != (int32_t)q->bytes) failed = result < 0 ? result : -5, more = false;
      else s.done++;
      if (more) ask(&s, &ring, slot), under_way++;
    }
    elapsed = ts_now_ns() - start;
  }
  ts_ring_close(&ring);
  free(s.buffers);
  if (failed != 0) return ts_fail(err, TS_EIO, "Cannot measure a drive: a request failed: %s", strerror(-failed));
  double each = (double)elapsed / (double)TS_MAX(s.done, 1u);
  out[0] = q->latency ? each * q->threads : q->bytes / each * 1e9;
  out[1] = 0;
  return TS_OK;
}
