/* numa.c - binding memory to a node, by the system call: libnuma is not needed for one mask. */
#include "base/base.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES 1024u

int32_t ts_bind_memory(void *memory, uint64_t bytes, int node, ts_err err) {
  unsigned long mask[NODES / (8 * sizeof(unsigned long))] = {0};
  if (node < 0 || (uint32_t)node >= NODES)
    return ts_fail(err, TS_EINVAL, "Cannot bind memory to NUMA node %d: it must be 0..%u", node, NODES - 1);
  mask[(uint32_t)node / (8 * sizeof *mask)] = 1ul << (uint32_t)node % (8 * sizeof *mask);
  if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, (unsigned long)NODES, 0u) == 0) return TS_OK;
  return ts_fail(err, errno == EINVAL ? TS_EINVAL : TS_EUNAVAILABLE, "Cannot bind memory to NUMA node %d: %s", node,
                 errno == EINVAL ? "there is no such node with memory" : strerror(errno));
}
