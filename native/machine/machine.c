/* machine.c - asks all probes and returns their facts as one text. The keys are listed in machine.h. */
#include "machine/machine.h"

int32_t ts_machine_probe(const char *roots, char *out, uint64_t cap, uint64_t *needed) {
  ts_probe probe = {.roots = roots == NULL ? "" : roots};
  ts_probe_copy(&probe, "kernel.release", "/proc/sys/kernel/osrelease");
  ts_probe_copy(&probe, "kernel.auto_online_blocks", "/sys/devices/system/memory/auto_online_blocks");
  ts_probe_copy(&probe, "kernel.numa_demotion", "/sys/kernel/mm/numa/demotion_enabled");
  ts_probe_copy(&probe, "kernel.memmap_on_memory", "/sys/module/memory_hotplug/parameters/memmap_on_memory");
  ts_probe_cpu(&probe);
  ts_probe_memory(&probe);
  ts_probe_modules(&probe);
  ts_probe_ranges(&probe);
  ts_probe_container(&probe);
  ts_probe_permissions(&probe);
  ts_probe_numa(&probe);
  ts_probe_pmem(&probe);
  ts_probe_dax(&probe);
  ts_probe_mounts(&probe);
  ts_probe_cxl(&probe);
  ts_probe_gpu(&probe);
  ts_probe_noise(&probe);
  ts_probe_libraries(&probe);
  return ts_text_return(&probe.text, out, cap, needed);
}
