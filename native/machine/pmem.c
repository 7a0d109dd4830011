/* pmem.c - persistent memory as the kernel's libnvdimm sees it: regions (what firmware or the command line offers),
 * the namespaces in them, and the block devices of those. */
#include "machine/machine.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DEVICES "/sys/bus/nd/devices"

static void copy(ts_probe *probe, const char *device, const char *file, const char *key) {
  char line[256];
  if (ts_probe_line(probe, line, sizeof line, DEVICES "/%s/%s", device, file) && line[0] != '\0')
    ts_probe_fact(probe, line, "pmem.%s.%s", device, key);
}

/* "namespace0.1" -> "0.1": the pfn (fsdax), dax and btt devices over a namespace have their own numbers in the same
 * region, so the block device is looked for in all of the region and kept when its parent names the namespace. */
static void block(ts_probe *probe, const char *name) {
  static const char *const kinds[] = {"pfn", "btt"};
  ts_names own = ts_probe_names(probe, "pmem", DEVICES "/%s/block", name);
  if (own.count > 0) ts_probe_fact(probe, own.names[0], "pmem.%s.block", name);
  bool found = own.count > 0;
  ts_names_free(&own);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !found; k++) {
    ts_names claims = ts_probe_names(probe, kinds[k], DEVICES);
    for (uint32_t i = 0; i < claims.count && !found; i++) {
      char line[128];
      if (!ts_probe_line(probe, line, sizeof line, DEVICES "/%s/namespace", claims.names[i]) || strcmp(line, name) != 0)
        continue;
      ts_names blocks = ts_probe_names(probe, "pmem", DEVICES "/%s/block", claims.names[i]);
      if (blocks.count > 0) ts_probe_fact(probe, blocks.names[0], "pmem.%s.block", name);
      found = blocks.count > 0;
      ts_names_free(&blocks);
    }
    ts_names_free(&claims);
  }
}

void ts_probe_pmem(ts_probe *probe) {
  ts_names regions = ts_probe_names(probe, "region", DEVICES);
  for (uint32_t i = 0; i < regions.count; i++) {
    const char *name = regions.names[i];
    /* The bus is the parent of the region: .../ndbus0/region0. */
    char real[PATH_MAX], line[256];
    if (ts_probe_real(probe, real, DEVICES "/%s", name)) {
      *strrchr(real, '/') = '\0';
      const char *bus = strrchr(real, '/');
      if (bus != NULL && strncmp(bus, "/ndbus", 6) == 0 &&
          ts_probe_line(probe, line, sizeof line, DEVICES "%s/provider", bus))
        ts_probe_fact(probe, line, "pmem.%s.provider", name);
    }
    copy(probe, name, "size", "size");
    copy(probe, name, "available_size", "available");
    copy(probe, name, "persistence_domain", "persistence_domain");
    copy(probe, name, "numa_node", "numa_node");
    copy(probe, name, "target_node", "target_node");
  }
  ts_names_free(&regions);
  ts_names modules = ts_probe_names(probe, "nmem", DEVICES);
  if (modules.count > 0) ts_probe_number(probe, modules.count, "pmem.modules");
  ts_names_free(&modules);
  ts_names spaces = ts_probe_names(probe, "namespace", DEVICES);
  for (uint32_t i = 0; i < spaces.count; i++) {
    const char *name = spaces.names[i];
    char size[64];
    /* Every region has one empty namespace, the seed of the next. */
    if (ts_probe_line(probe, size, sizeof size, DEVICES "/%s/size", name) && strcmp(size, "0") == 0) continue;
    unsigned region, number;
    if (sscanf(name, "namespace%u.%u", &region, &number) == 2) {
      char text[32];
      snprintf(text, sizeof text, "region%u", region);
      ts_probe_fact(probe, text, "pmem.%s.region", name);
    }
    copy(probe, name, "mode", "mode");
    copy(probe, name, "size", "size");
    block(probe, name);
  }
  ts_names_free(&spaces);
}
