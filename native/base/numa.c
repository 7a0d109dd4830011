/* numa.c - which NUMA nodes memory comes from, and where it lies: by the system calls themselves, mbind(2) and move_pages(2).
 * libnuma is not needed for a mask. */
#include "base/base.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD_BITS (8 * sizeof(unsigned long))
#define PAGE UINT64_C(4096)
#define MOST_SAMPLED 512u
#define WEIGHTED_INTERLEAVE 6 /* MPOL_WEIGHTED_INTERLEAVE, which headers before Linux 6.9 do not have */

int32_t ts_numa_add(ts_numa *numa, uint64_t node, ts_err err) {
  if (node >= TS_NUMA_NODES)
    return ts_fail(err, TS_EINVAL, "Cannot bind memory to NUMA node %llu: it must be 0..%u", (unsigned long long)node,
                   TS_NUMA_NODES - 1);
  numa->nodes[node / WORD_BITS] |= 1ul << node % WORD_BITS;
  return TS_OK;
}

static bool has_node(const ts_numa *numa, uint32_t node) { return numa->nodes[node / WORD_BITS] >> node % WORD_BITS & 1; }

void ts_numa_list(const ts_numa *numa, ts_text *text) {
  const char *before = "";
  for (uint32_t node = 0; node < TS_NUMA_NODES; node++) {
    if (!has_node(numa, node)) continue;
    ts_text_add(text, "%s%u", before, node);
    before = ",";
  }
}

static const char *why(const ts_numa *numa, int error) {
  if (error == EINVAL && numa->policy == TS_NUMA_WEIGHTED_INTERLEAVE)
    return "there is no such node with memory, or the kernel has no weighted interleave (Linux 6.9 has it)";
  return error == EINVAL  ? "there is no such node with memory"
         : error == EPERM ? "not permitted; in a container: --cap-add SYS_NICE"
                          : strerror(error);
}

int32_t ts_numa_place(const ts_numa *numa, void *memory, uint64_t bytes, ts_err err) {
  if (numa->policy == TS_NUMA_ANY) return TS_OK;
  const int mode = numa->policy == TS_NUMA_BIND ? MPOL_BIND : WEIGHTED_INTERLEAVE;
  /* The kernel reads one bit less than it is told. */
  if (syscall(SYS_mbind, memory, bytes, mode, numa->nodes, (unsigned long)TS_NUMA_NODES + 1, 0u) == 0) return TS_OK;
  const int error = errno;
  ts_text list = {0};
  ts_numa_list(numa, &list);
  const int32_t status = ts_fail(err, error == EINVAL ? TS_EINVAL : TS_EUNAVAILABLE, "Cannot %s NUMA node %s: %s",
                                 numa->policy == TS_NUMA_BIND ? "bind memory to" : "interleave memory over",
                                 list.bytes == NULL ? "" : list.bytes, why(numa, error));
  free(list.bytes);
  return status;
}

int32_t ts_bind_memory(void *memory, uint64_t bytes, int node, ts_err err) {
  ts_numa numa = {.policy = TS_NUMA_BIND};
  if (node < 0)
    return ts_fail(err, TS_EINVAL, "Cannot bind memory to NUMA node %d: it must be 0..%u", node, TS_NUMA_NODES - 1);
  int32_t status = ts_numa_add(&numa, (uint64_t)node, err);
  return status == TS_OK ? ts_numa_place(&numa, memory, bytes, err) : status;
}

void ts_numa_pages(void *memory, uint64_t bytes, uint32_t most, uint32_t on[TS_NUMA_NODES]) {
  const uint64_t all = bytes / PAGE, n = TS_MIN(all, TS_MIN(most, MOST_SAMPLED));
  void *pages[MOST_SAMPLED];
  int where[MOST_SAMPLED];
  for (uint64_t p = 0; p < n; p++) pages[p] = (unsigned char *)memory + all * p / n * PAGE;
  /* Without nodes to move to, the kernel only answers. */
  if (n == 0 || syscall(SYS_move_pages, 0, (unsigned long)n, pages, NULL, where, 0) != 0) return;
  for (uint64_t p = 0; p < n; p++)
    if (where[p] >= 0 && where[p] < (int)TS_NUMA_NODES) on[where[p]]++;
}

void ts_numa_describe_pages(const uint32_t on[TS_NUMA_NODES], ts_text *text) {
  const char *before = " pages=";
  for (uint32_t node = 0; node < TS_NUMA_NODES; node++) {
    if (on[node] == 0) continue;
    ts_text_add(text, "%s%u:%u", before, node, on[node]);
    before = ",";
  }
}
