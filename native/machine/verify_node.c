/* verify_node.c - whether a NUMA node gives memory, by trying: pages bound to it are touched, and the kernel is asked
 * where they lie (move_pages(2) without targets only answers). memkind is asked for its MEMKIND_DAX_KMEM kind.
 *
 * memkind decides once a process which nodes that kind means, from MEMKIND_DAX_KMEM_NODES at its first use, so that the
 * answer with and without the variable needs two processes; which one this is, is among the facts. Kinds of highest
 * capacity are never asked for: memkind 1.14.0 may end the process at its exit after that. */
#include "machine/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES ((size_t)8 << 20)
#define PAGES (BYTES / 4096)
#define MOST_NODES 1024

typedef struct memkind *memkind_t;

/* Where touched pages lie: "<key>.pages" lists node:pages, "<key>.landed" is yes if all are on `node`. */
static void landed(ts_probe *probe, const char *key, char *memory, size_t bytes, int node) {
  size_t count = bytes / 4096;
  void **pages = malloc(count * sizeof *pages);
  int *where = malloc(count * sizeof *where);
  uint32_t *on = calloc(MOST_NODES, sizeof *on);
  if (pages != NULL && where != NULL && on != NULL) {
    for (size_t i = 0; i < count; i++) pages[i] = memory + i * 4096;
    if (syscall(SYS_move_pages, 0, (unsigned long)count, pages, NULL, where, 0) != 0) {
      ts_probe_fact(probe, strerror(errno), "%s.move_pages_error", key);
    } else {
      for (size_t i = 0; i < count; i++)
        if (where[i] >= 0 && where[i] < MOST_NODES) on[where[i]]++;
      ts_text list = {0};
      for (int i = 0; i < MOST_NODES; i++)
        if (on[i] > 0) ts_text_add(&list, "%s%d:%u", list.length > 0 ? "," : "", i, on[i]);
      ts_probe_fact(probe, list.bytes == NULL ? "" : list.bytes, "%s.pages", key);
      free(list.bytes);
      ts_probe_fact(probe, on[node] == count ? "yes" : "no", "%s.landed", key);
    }
  }
  free(pages);
  free(where);
  free(on);
}

static void bound(ts_probe *probe, int node) {
  char message[512] = "";
  char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    ts_probe_fact(probe, strerror(errno), "bind.error");
    return;
  }
  int32_t status = ts_bind_memory(memory, BYTES, node, (ts_err){message, sizeof message});
  ts_probe_fact(probe, status == TS_OK ? "yes" : "no", "bind.allowed");
  if (status != TS_OK) {
    ts_probe_fact(probe, message, "bind.error");
  } else {
    /* With less than this free on the node the kernel would end the process instead of refusing. */
    uint64_t free_kb = 0;
    char *info = ts_probe_text(probe, "/sys/devices/system/node/node%d/meminfo", node);
    bool room = info == NULL || !ts_field_u64(info, "MemFree:", &free_kb) || free_kb * 1024 >= 4 * BYTES;
    free(info);
    if (room) {
      memset(memory, 1, BYTES);
      landed(probe, "bind", memory, BYTES, node);
    } else {
      ts_probe_fact(probe, "too little memory is free on the node to try", "bind.error");
    }
  }
  munmap(memory, BYTES);
}

static void through_memkind(ts_probe *probe, int node) {
  int (*check)(memkind_t kind), (*memalign)(memkind_t kind, void **out, size_t alignment, size_t bytes);
  void (*release)(memkind_t kind, void *block), (*message_of)(int error, char *text, size_t cap);
  memkind_t *kind; /* kinds are exported variables */
  static const char *const sonames[] = {"libmemkind.so.0", NULL};
  char message[512] = "";
  ts_err err = {message, sizeof message};
  void *handle;
  const ts_symbol symbols[] = {
      {"MEMKIND_DAX_KMEM", (void **)&kind},  {"memkind_check_available", (void **)&check},
      {"memkind_free", (void **)&release},   {"memkind_posix_memalign", (void **)&memalign},
      {"memkind_error_message", (void **)&message_of}, {NULL, NULL},
  };
  int32_t status = ts_library_open(sonames, "libmemkind0", &handle, err);
  if (status == TS_OK) status = ts_library_symbols(handle, sonames[0], symbols, err);
  ts_probe_fact(probe, status == TS_OK ? "yes" : "no", "memkind.library");
  if (status != TS_OK) {
    ts_probe_fact(probe, message, "memkind.error");
    return;
  }
  const char *nodes = getenv("MEMKIND_DAX_KMEM_NODES");
  if (nodes != NULL) ts_probe_fact(probe, nodes, "memkind.nodes_asked");
  int error = check(*kind);
  ts_probe_fact(probe, error == 0 ? "yes" : "no", "memkind.dax_kmem");
  if (error != 0) {
    message_of(error, message, sizeof message);
    ts_probe_fact(probe, message, "memkind.error");
    return;
  }
  void *memory = NULL;
  const size_t bytes = (size_t)1 << 20;
  if (memalign(*kind, &memory, 4096, bytes) != 0 || memory == NULL) {
    ts_probe_fact(probe, "a block of 1 MiB was refused", "memkind.error");
    return;
  }
  memset(memory, 1, bytes);
  landed(probe, "memkind", memory, bytes, node);
  release(*kind, memory);
}

int32_t ts_machine_verify_node(uint32_t node, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap) {
  ts_err message = {err, err_cap};
  if (needed == NULL || node >= MOST_NODES)
    return ts_fail(message, TS_EINVAL, "Cannot verify NUMA node %u: %s", node,
                   needed == NULL ? "`needed` is NULL" : "it must be below 1024");
  ts_probe probe = {.roots = ""};
  char line[1024];
  if (!ts_probe_line(&probe, line, sizeof line, "/sys/devices/system/node/node%u/cpulist", node))
    return ts_fail(message, TS_EUNAVAILABLE,
                   "Cannot verify NUMA node %u: there is no /sys/devices/system/node/node%u/cpulist; nodes there are: "
                   "see \"node.online\" of the machine's facts",
                   node, node);
  ts_probe_fact(&probe, line, "node.cpus");
  char *info = ts_probe_text(&probe, "/sys/devices/system/node/node%u/meminfo", node);
  uint64_t kb;
  if (info != NULL && ts_field_u64(info, "MemTotal:", &kb)) ts_probe_number(&probe, kb * 1024, "node.total");
  if (info != NULL && ts_field_u64(info, "MemFree:", &kb)) ts_probe_number(&probe, kb * 1024, "node.free");
  free(info);
  bound(&probe, (int)node);
  through_memkind(&probe, (int)node);
  return ts_text_tell(&probe.text, "the node", out, cap, needed, message);
}
