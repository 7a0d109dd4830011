/* cpu.c - the processor: its name, which CPUs there are and which this process may use, and the few instruction sets
 * that the store and the trainer care about. */
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

/* Copies the value of "label : value" of /proc/cpuinfo or /proc/self/status; false if it is not there. */
static bool field(const char *text, const char *label, char *out, size_t cap) {
  size_t n = strlen(label);
  for (const char *line = text, *next; *line != '\0'; line = next) {
    next = strchrnul(line, '\n');
    next += *next == '\n';
    if (strncmp(line, label, n) != 0) continue;
    const char *at = line + n;
    while (*at == ' ' || *at == '\t') at++;
    if (*at != ':') continue;
    at++;
    while (*at == ' ' || *at == '\t') at++;
    size_t length = strcspn(at, "\n");
    if (length >= cap) length = cap - 1;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
  }
  return false;
}

static bool has_word(const char *words, const char *word) {
  size_t n = strlen(word);
  for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word))
    if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
  return false;
}

/* Distinct package numbers of the online CPUs, as a fact; absent if the kernel does not know one (it says -1). */
static void packages(ts_probe *probe) {
  enum { MOST = 4096 };
  bool seen[MOST] = {false};
  uint32_t count = 0, read = 0;
  char line[64];
  ts_names cpus = ts_probe_names(probe, "cpu", "/sys/devices/system/cpu");
  for (uint32_t i = 0; i < cpus.count; i++) {
    if (!ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/%s/topology/physical_package_id",
                       cpus.names[i]))
      continue; /* cpufreq, cpuidle; a CPU that is offline has no topology */
    char *end;
    long id = strtol(line, &end, 10);
    if (end == line || id < 0 || id >= MOST) {
      count = 0;
      break;
    }
    read++;
    count += !seen[id];
    seen[id] = true;
  }
  ts_names_free(&cpus);
  if (read > 0 && count > 0) ts_probe_number(probe, count, "cpu.packages");
}

void ts_probe_cpu(ts_probe *probe) {
  char line[8192];
  char *info = ts_probe_text(probe, "/proc/cpuinfo");
  if (info != NULL) {
    if (field(info, "model name", line, sizeof line) || field(info, "Model", line, sizeof line))
      ts_probe_fact(probe, line, "cpu.model");
    if (field(info, "flags", line, sizeof line)) {
      static const char *const wanted[] = {"avx2", "avx512f", "avx512_bf16", "clflushopt", "clwb"};
      ts_text found = {0};
      for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (has_word(line, wanted[i])) ts_text_add(&found, "%s%s", found.length > 0 ? "," : "", wanted[i]);
      ts_probe_fact(probe, found.bytes == NULL ? "" : found.bytes, "cpu.flags");
      free(found.bytes);
      ts_probe_fact(probe, has_word(line, "hypervisor") ? "yes" : "no", "cpu.virtual");
    }
    free(info);
  }
  if (ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/online") && line[0] != '\0') {
    ts_probe_fact(probe, line, "cpu.online");
    ts_probe_number(probe, ts_list_count(line), "cpu.online_count");
  }
  packages(probe);
  char *status = ts_probe_text(probe, "/proc/self/status");
  if (status != NULL && field(status, "Cpus_allowed_list", line, sizeof line)) {
    ts_probe_fact(probe, line, "cpu.allowed");
    ts_probe_number(probe, ts_list_count(line), "cpu.allowed_count");
  }
  free(status);
}
