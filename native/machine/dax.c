/* dax.c - device DAX: memory that the kernel hands out as /dev/daxN.M or, with the kmem driver, as a NUMA node. Only
 * the latter is what KMEM DAX means; which node it became is `target_node`. */
#include "machine/machine.h"

#include <limits.h>
#include <string.h>

#define DEVICES "/sys/bus/dax/devices"

/* Where the memory comes from, by the devices above it: .../ndbus0/region1/dax1.0/dax1.0 is PMEM (also CXL PMEM, whose
 * bus has the provider "CXL"), .../root0/decoder0.0/region0/dax_region0/dax0.0 is CXL memory, .../hmem.0/dax0.0 is
 * memory that firmware marked "special purpose". */
static void origin(ts_probe *probe, const char *name) {
  char real[PATH_MAX];
  if (!ts_probe_real(probe, real, DEVICES "/%s", name)) return;
  const char *path = real + strlen(probe->roots);
  const char *kind = strstr(path, "/ndbus") != NULL                              ? "pmem"
                     : strstr(path, "/ACPI0017") != NULL || strstr(path, "/cxl") != NULL ? "cxl"
                     : strstr(path, "/hmem") != NULL                             ? "hmem"
                                                                                 : NULL;
  if (kind == NULL) return;
  ts_probe_fact(probe, kind, "dax.%s.origin", name);
  char *region = strstr(real, "/region");
  if (region == NULL) return;
  region++;
  region[strcspn(region, "/")] = '\0';
  ts_probe_fact(probe, region, "dax.%s.region", name);
}

void ts_probe_dax(ts_probe *probe) {
  ts_names devices = ts_probe_names(probe, "dax", DEVICES);
  for (uint32_t i = 0; i < devices.count; i++) {
    const char *name = devices.names[i];
    char real[PATH_MAX], line[64];
    if (ts_probe_real(probe, real, DEVICES "/%s/driver", name))
      ts_probe_fact(probe, strrchr(real, '/') + 1, "dax.%s.driver", name);
    static const char *const files[] = {"size", "target_node", "numa_node"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
      if (ts_probe_line(probe, line, sizeof line, DEVICES "/%s/%s", name, files[f]) && line[0] != '\0')
        ts_probe_fact(probe, line, "dax.%s.%s", name, files[f]);
    origin(probe, name);
  }
  ts_names_free(&devices);
}
