/* memory.c - how much memory there is, how much of it this process may use, and huge pages. */
#include "machine/machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tighten(ts_probe *probe, const char *path, uint64_t *limit, char *source, size_t cap) {
  char line[64];
  if (!ts_probe_line(probe, line, sizeof line, "%s", path) || line[0] < '0' || line[0] > '9') return; /* "max" */
  uint64_t bytes = strtoull(line, NULL, 10);
  /* cgroup v1 says "no limit" as a number near 2^63. */
  if (bytes == 0 || bytes >= UINT64_C(1) << 62 || bytes >= *limit) return;
  *limit = bytes;
  snprintf(source, cap, "%s", path);
}

/* The limits of the process's own group and of all groups above it hold together: the smallest counts. In a container
 * the group's own path may not exist under the mount; then the mount's root is the container's group. */
static void tighten_group(ts_probe *probe, const char *mount, const char *group, const char *file, uint64_t *limit,
                          char *source, size_t cap) {
  char at[1024], path[PATH_MAX];
  snprintf(at, sizeof at, "%s", strcmp(group, "/") == 0 ? "" : group);
  for (;;) {
    snprintf(path, sizeof path, "%s%s/%s", mount, at, file);
    tighten(probe, path, limit, source, cap);
    char *slash = strrchr(at, '/');
    if (slash == NULL) return;
    *slash = '\0';
  }
}

static void limits(ts_probe *probe) {
  char *groups = ts_probe_text(probe, "/proc/self/cgroup"), *rest = NULL;
  if (groups == NULL) return;
  uint64_t limit = UINT64_MAX;
  char source[PATH_MAX] = "";
  for (char *line = strtok_r(groups, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    /* hierarchy:controllers:path */
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL) continue;
    *path++ = '\0';
    controllers++;
    if (controllers[0] == '\0') {
      tighten_group(probe, "/sys/fs/cgroup", path, "memory.max", &limit, source, sizeof source);
      tighten_group(probe, "/sys/fs/cgroup/unified", path, "memory.max", &limit, source, sizeof source);
    } else if (strcmp(controllers, "memory") == 0) {
      tighten_group(probe, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", &limit, source, sizeof source);
    }
  }
  free(groups);
  if (limit == UINT64_MAX) return;
  ts_probe_number(probe, limit, "memory.limit");
  ts_probe_fact(probe, source, "memory.limit_source");
}

/* "always [madvise] never" -> "madvise". */
static void chosen(ts_probe *probe, const char *key, const char *path) {
  char line[256];
  if (!ts_probe_line(probe, line, sizeof line, "%s", path)) return;
  char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
  if (close == NULL) return;
  *close = '\0';
  ts_probe_fact(probe, open + 1, "%s", key);
}

void ts_probe_memory(ts_probe *probe) {
  char *info = ts_probe_text(probe, "/proc/meminfo");
  if (info != NULL) {
    static const char *const labels[][2] = {{"MemTotal:", "memory.total"},
                                            {"MemAvailable:", "memory.available"},
                                            {"SwapTotal:", "memory.swap_total"}};
    uint64_t kb;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
      if (ts_field_u64(info, labels[i][0], &kb)) ts_probe_number(probe, kb * 1024, "%s", labels[i][1]);
    free(info);
  }
  limits(probe);
  chosen(probe, "hugepages.transparent", "/sys/kernel/mm/transparent_hugepage/enabled");
  chosen(probe, "hugepages.defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
  ts_names sizes = ts_probe_names(probe, "hugepages-", "/sys/kernel/mm/hugepages");
  for (uint32_t i = 0; i < sizes.count; i++) {
    const char *size = sizes.names[i] + strlen("hugepages-");
    char line[64];
    if (ts_probe_line(probe, line, sizeof line, "/sys/kernel/mm/hugepages/%s/nr_hugepages", sizes.names[i]))
      ts_probe_fact(probe, line, "hugepages.%s.total", size);
    if (ts_probe_line(probe, line, sizeof line, "/sys/kernel/mm/hugepages/%s/free_hugepages", sizes.names[i]))
      ts_probe_fact(probe, line, "hugepages.%s.free", size);
  }
  ts_names_free(&sizes);
}
