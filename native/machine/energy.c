/* energy.c - what processors and memory have used, by the counters that the kernel's powercap class shows (RAPL; AMD's under the
 * same names). Counters run over: their range is beside them. Zones within a package (core, uncore) are part of it, and a
 * platform's (psys) has the packages in it: neither is told, so that what is told can be added up. */
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

#define ZONES "/sys/class/powercap"

static bool number_of(const ts_probe *probe, const char *zone, const char *file, uint64_t *out) {
  char line[32], *end = line;
  if (!ts_probe_line(probe, line, sizeof line, ZONES "/%s/%s", zone, file) || line[0] < '0' || line[0] > '9') return false;
  *out = strtoull(line, &end, 10);
  return *end == '\n' || *end == '\0';
}

int32_t ts_machine_energy(const char *roots, char *out, uint64_t cap, uint64_t *needed) {
  ts_probe probe = {.roots = roots == NULL ? "" : roots};
  ts_names zones = ts_probe_names(&probe, "intel-rapl:", ZONES);
  uint32_t found = 0, read = 0;
  for (uint32_t i = 0; i < zones.count; i++) {
    char name[64];
    uint64_t used = 0, range = 0;
    if (!ts_probe_line(&probe, name, sizeof name, ZONES "/%s/name", zones.names[i])) continue;
    name[strcspn(name, "\n")] = '\0';
    if (strncmp(name, "package", 7) != 0 && strcmp(name, "dram") != 0) continue;
    found++;
    if (!number_of(&probe, zones.names[i], "energy_uj", &used) ||
        !number_of(&probe, zones.names[i], "max_energy_range_uj", &range))
      continue;
    read++;
    ts_probe_fact(&probe, name, "%s.name", zones.names[i]);
    ts_probe_number(&probe, used, "%s.used", zones.names[i]);
    ts_probe_number(&probe, range, "%s.range", zones.names[i]);
  }
  ts_names_free(&zones);
  if (found == 0)
    ts_probe_fact(&probe, "no processor shows its energy in " ZONES " (a virtual machine, or a kernel without RAPL)", "missing");
  else if (read == 0)
    ts_probe_fact(&probe, "the counters in " ZONES " may not be read: the kernel lets root alone read energy_uj", "missing");
  return ts_text_return(&probe.text, out, cap, needed);
}
