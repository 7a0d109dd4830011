/* cxl.c - CXL memory devices, the regions built on them, and the windows of physical addresses that firmware gives to CXL
 * (CFMWS of ACPI's CEDT, which Linux shows as decoders of the root). Whatever memory lies in a window is behind CXL, whoever
 * mapped it: firmware itself often does, and leaves neither region nor device of ours. */
#include "machine/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/cxl/devices"

static void copy(ts_probe *probe, const char *device, const char *file, const char *key, bool size) {
  char line[128];
  if (!ts_probe_line(probe, line, sizeof line, DEVICES "/%s/%s", device, file) || line[0] == '\0') return;
  /* Sizes are hexadecimal here, decimal elsewhere in sysfs. */
  if (size) ts_probe_number(probe, strtoull(line, NULL, 0), "cxl.%s.%s", device, key);
  else ts_probe_fact(probe, line, "cxl.%s.%s", device, key);
}

void ts_probe_cxl(ts_probe *probe) {
  ts_names devices = ts_probe_names(probe, "mem", DEVICES);
  for (uint32_t i = 0; i < devices.count; i++) {
    if (!isdigit((unsigned char)devices.names[i][3])) continue;
    copy(probe, devices.names[i], "pmem/size", "pmem_size", true);
    copy(probe, devices.names[i], "ram/size", "ram_size", true);
    copy(probe, devices.names[i], "numa_node", "numa_node", false);
    copy(probe, devices.names[i], "serial", "serial", false);
    copy(probe, devices.names[i], "firmware_version", "firmware_version", false);
  }
  ts_names_free(&devices);
  ts_names regions = ts_probe_names(probe, "region", DEVICES);
  for (uint32_t i = 0; i < regions.count; i++) {
    copy(probe, regions.names[i], "size", "size", true);
    copy(probe, regions.names[i], "mode", "mode", false);
    copy(probe, regions.names[i], "resource", "start", true);
  }
  ts_names_free(&regions);
  ts_names decoders = ts_probe_names(probe, "decoder", DEVICES);
  for (uint32_t i = 0; i < decoders.count; i++) {
    char line[16];
    /* Only decoders of a root say which memory they take. Where they begin, only root may read. */
    if (!ts_probe_line(probe, line, sizeof line, DEVICES "/%s/cap_ram", decoders.names[i])) continue;
    copy(probe, decoders.names[i], "start", "start", true);
    copy(probe, decoders.names[i], "size", "size", true);
  }
  ts_names_free(&decoders);
}
