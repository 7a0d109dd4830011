/* gpu.c - graphics processors, without any vendor's library: what the kernel's drivers show. */
#include "machine/machine.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void nvidia(ts_probe *probe) {
  ts_probe_copy(probe, "gpu.nvidia.version", "/proc/driver/nvidia/version");
  ts_names gpus = ts_probe_names(probe, "", "/proc/driver/nvidia/gpus");
  for (uint32_t i = 0; i < gpus.count; i++) {
    char *text = ts_probe_text(probe, "/proc/driver/nvidia/gpus/%s/information", gpus.names[i]);
    char *model = text == NULL ? NULL : strstr(text, "Model:");
    if (model != NULL) {
      model += strlen("Model:");
      model += strspn(model, " \t");
      model[strcspn(model, "\n")] = '\0';
      ts_probe_fact(probe, model, "gpu.nvidia.%s.model", gpus.names[i]);
    }
    free(text);
  }
  ts_names_free(&gpus);
  ts_names nodes = ts_probe_names(probe, "nvidia", "/dev");
  uint32_t count = 0;
  for (uint32_t i = 0; i < nodes.count; i++) count += isdigit((unsigned char)nodes.names[i][strlen("nvidia")]) != 0;
  if (count > 0) ts_probe_number(probe, count, "gpu.nvidia.nodes");
  ts_names_free(&nodes);
}

void ts_probe_gpu(ts_probe *probe) {
  ts_names cards = ts_probe_names(probe, "card", "/sys/class/drm");
  for (uint32_t i = 0; i < cards.count; i++) {
    const char *name = cards.names[i];
    /* card0 is a device, card0-HDMI-A-1 one of its connectors. */
    if (strchr(name, '-') != NULL) continue;
    char line[64], real[PATH_MAX];
    if (ts_probe_line(probe, line, sizeof line, "/sys/class/drm/%s/device/vendor", name))
      ts_probe_fact(probe, line, "gpu.%s.vendor", name);
    if (ts_probe_line(probe, line, sizeof line, "/sys/class/drm/%s/device/device", name))
      ts_probe_fact(probe, line, "gpu.%s.device", name);
    if (ts_probe_real(probe, real, "/sys/class/drm/%s/device/driver", name))
      ts_probe_fact(probe, strrchr(real, '/') + 1, "gpu.%s.driver", name);
  }
  ts_names_free(&cards);
  nvidia(probe);
}
