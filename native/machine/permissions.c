/* permissions.c - what this process may do with memory: the nodes it may use, the bytes it may lock, the capabilities
 * that memory policies and devices need (capabilities(7)), and whether a seccomp filter is before system calls. */
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_SYS_ADMIN 21u
#define CAP_SYS_NICE 23u

/* The word after "label:" of /proc/self/status. */
static bool word(const char *text, const char *label, char *out, size_t cap) {
  const char *at = strstr(text, label);
  if (at == NULL || (at != text && at[-1] != '\n')) return false;
  at += strlen(label);
  at += strspn(at, " \t");
  snprintf(out, cap, "%.*s", (int)strcspn(at, " \t\n"), at);
  return out[0] != '\0';
}

void ts_probe_permissions(ts_probe *probe) {
  char value[1024];
  char *status = ts_probe_text(probe, "/proc/self/status");
  if (status != NULL) {
    if (word(status, "Mems_allowed_list:", value, sizeof value)) ts_probe_fact(probe, value, "memory.nodes_allowed");
    char *end;
    if (word(status, "CapEff:", value, sizeof value)) {
      uint64_t held = strtoull(value, &end, 16);
      if (*end == '\0') {
        ts_probe_fact(probe, (held >> CAP_SYS_NICE & 1) != 0 ? "yes" : "no", "process.sys_nice");
        ts_probe_fact(probe, (held >> CAP_SYS_ADMIN & 1) != 0 ? "yes" : "no", "process.sys_admin");
      }
    }
    static const char *const modes[] = {"off", "strict", "filter"};
    if (word(status, "Seccomp:", value, sizeof value) && value[0] >= '0' && value[0] <= '2' && value[1] == '\0')
      ts_probe_fact(probe, modes[value[0] - '0'], "process.seccomp");
    free(status);
  }
  /* "Max locked memory         8388608              8388608              bytes" */
  char *limits = ts_probe_text(probe, "/proc/self/limits");
  if (limits != NULL && word(limits, "Max locked memory", value, sizeof value))
    ts_probe_fact(probe, value, "memory.lock_limit");
  free(limits);
}
