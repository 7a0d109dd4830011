/* numa.c - NUMA nodes: their CPUs, memory, distances, the kernel's memory tiers and weights, what firmware and devices say
 * of their speed (HMAT, CDAT), and caches in front of their memory, which is how Memory Mode shows in sysfs. */
#include "machine/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NODES "/sys/devices/system/node"

/* Whether a list like "0-3,8" names a number. */
static bool names_number(const char *list, unsigned long wanted) {
  while (isdigit((unsigned char)*list)) {
    char *end;
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    if (wanted >= first && wanted <= last) return true;
    list = *end == ',' ? end + 1 : end;
  }
  return false;
}

static void tier(ts_probe *probe, const char *number) {
  ts_names tiers = ts_probe_names(probe, "memory_tier", "/sys/devices/virtual/memory_tiering");
  for (uint32_t i = 0; i < tiers.count; i++) {
    char list[256];
    if (ts_probe_line(probe, list, sizeof list, "/sys/devices/virtual/memory_tiering/%s/nodelist", tiers.names[i]) &&
        names_number(list, strtoul(number, NULL, 10)))
      ts_probe_fact(probe, tiers.names[i], "node.%s.tier", number);
  }
  ts_names_free(&tiers);
}

static void speed(ts_probe *probe, const char *number) {
  static const char *const files[][2] = {{"read_latency", "read_latency_ns"},
                                         {"write_latency", "write_latency_ns"},
                                         {"read_bandwidth", "read_bandwidth_mb_s"},
                                         {"write_bandwidth", "write_bandwidth_mb_s"}};
  char line[64];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    /* The kernel shows 0 where firmware gave nothing. */
    if (ts_probe_line(probe, line, sizeof line, NODES "/node%s/access0/initiators/%s", number, files[i][0]) &&
        strcmp(line, "0") != 0 && line[0] != '\0')
      ts_probe_fact(probe, line, "node.%s.%s", number, files[i][1]);
}

static void side_cache(ts_probe *probe, const char *number) {
  static const char *const files[][2] = {{"size", "size"},
                                         {"line_size", "line"},
                                         {"indexing", "indexing"},
                                         {"write_policy", "write_policy"}};
  char line[64];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (ts_probe_line(probe, line, sizeof line, NODES "/node%s/memory_side_cache/index1/%s", number, files[i][0]))
      ts_probe_fact(probe, line, "node.%s.side_cache_%s", number, files[i][1]);
}

void ts_probe_numa(ts_probe *probe) {
  ts_probe_copy(probe, "node.online", NODES "/online");
  ts_probe_copy(probe, "node.has_cpu", NODES "/has_cpu");
  ts_probe_copy(probe, "node.has_memory", NODES "/has_memory");
  ts_names nodes = ts_probe_names(probe, "node", NODES);
  for (uint32_t i = 0; i < nodes.count; i++) {
    const char *number = nodes.names[i] + strlen("node");
    if (!isdigit((unsigned char)*number)) continue;
    char line[1024];
    if (ts_probe_line(probe, line, sizeof line, NODES "/node%s/cpulist", number))
      ts_probe_fact(probe, line, "node.%s.cpus", number);
    char *info = ts_probe_text(probe, NODES "/node%s/meminfo", number);
    if (info != NULL) {
      uint64_t kb;
      if (ts_field_u64(info, "MemTotal:", &kb)) ts_probe_number(probe, kb * 1024, "node.%s.total", number);
      if (ts_field_u64(info, "MemFree:", &kb)) ts_probe_number(probe, kb * 1024, "node.%s.free", number);
      free(info);
    }
    if (ts_probe_line(probe, line, sizeof line, NODES "/node%s/distance", number))
      ts_probe_fact(probe, line, "node.%s.distance", number);
    tier(probe, number);
    speed(probe, number);
    side_cache(probe, number);
    if (ts_probe_line(probe, line, sizeof line, "/sys/kernel/mm/mempolicy/weighted_interleave/node%s", number))
      ts_probe_fact(probe, line, "node.%s.interleave_weight", number);
  }
  ts_names_free(&nodes);
}
