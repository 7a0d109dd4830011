/* noise.c - what makes timings unsteady: frequency scaling, hyper-threads, neighbours on the host, load. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

static void switch_of(ts_probe *probe, const char *key, const char *path, const char *on) {
  char line[32];
  if (ts_probe_line(probe, line, sizeof line, "%s", path) && line[0] != '\0')
    ts_probe_fact(probe, strcmp(line, on) == 0 ? "on" : "off", "%s", key);
}

void ts_probe_noise(ts_probe *probe) {
  char line[512];
  ts_probe_copy(probe, "noise.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/intel_pstate/no_turbo"))
    switch_of(probe, "noise.turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  else
    switch_of(probe, "noise.turbo", "/sys/devices/system/cpu/cpufreq/boost", "1");
  switch_of(probe, "noise.smt", "/sys/devices/system/cpu/smt/active", "1");
  /* cpu user nice system idle iowait irq softirq steal guest guest_nice; guest time is part of user time already. */
  unsigned long long t[8];
  if (ts_probe_line(probe, line, sizeof line, "/proc/stat") &&
      sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
             &t[7]) == 8) {
    unsigned long long total = 0;
    for (int i = 0; i < 8; i++) total += t[i];
    char text[32];
    snprintf(text, sizeof text, "%.2f", total == 0 ? 0.0 : 100.0 * (double)t[7] / (double)total);
    ts_probe_fact(probe, text, "noise.steal_percent");
  }
  if (ts_probe_line(probe, line, sizeof line, "/proc/loadavg")) {
    /* "0.10 0.20 0.30 1/234 5678": the first three. */
    char *end = line;
    for (int i = 0; i < 3 && end != NULL; i++) end = strchr(i == 0 ? end : end + 1, ' ');
    if (end != NULL) *end = '\0';
    ts_probe_fact(probe, line, "noise.loadavg");
  }
  ts_probe_copy(probe, "noise.vendor", "/sys/class/dmi/id/sys_vendor");
  ts_probe_copy(probe, "noise.product", "/sys/class/dmi/id/product_name");
  ts_probe_copy(probe, "firmware.vendor", "/sys/class/dmi/id/bios_vendor");
  ts_probe_copy(probe, "firmware.version", "/sys/class/dmi/id/bios_version");
  ts_probe_copy(probe, "firmware.date", "/sys/class/dmi/id/bios_date");
  ts_probe_copy(probe, "noise.clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  ts_probe_copy(probe, "noise.numa_balancing", "/proc/sys/kernel/numa_balancing");
}
