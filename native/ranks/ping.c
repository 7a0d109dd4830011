/* ping.c - what a message between ranks takes. */
#include "ranks/ranks.h"

#include <stdlib.h>

#define MOST_BYTES (UINT64_C(1) << 24)

int32_t ts_ranks_ping(ts_ranks *ranks, uint64_t bytes, uint32_t times, uint64_t *ns, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (ranks == NULL || ns == NULL) return ts_fail(e, TS_EINVAL, "Cannot time messages: an argument is NULL");
  if (bytes < 1 || bytes > MOST_BYTES) return ts_fail(e, TS_EINVAL, "Cannot time messages: bytes must be from 1 to 2^24");
  const uint32_t size = ranks->ops.size;
  if (size < 2) return ts_fail(e, TS_EINVAL, "Cannot time messages: this process is one rank alone");
  unsigned char *memory = calloc(2 * (size_t)size, bytes);
  int32_t status = memory == NULL ? ts_fail(e, TS_ENOMEM, "Cannot time messages: out of memory") : TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < times; i++) {
    const uint64_t start = ts_now_ns();
    status = ts_ranks_alltoall(ranks, memory, bytes, memory + size * bytes, e);
    ns[i] = ts_now_ns() - start;
  }
  free(memory);
  return status;
}
