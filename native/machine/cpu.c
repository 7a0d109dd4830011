/* cpu.c - the processor: its name, which CPUs there are and which this process may use, and the few instruction sets
 * that the store and the trainer care about. */
#include "machine/machine.h"

#include <stdio.h>
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

/* The package of a CPU by its name in sysfs; -1 if the kernel does not know it, -2 if this names no CPU that is online
 * (cpufreq and cpuidle lie beside them, and a CPU that is offline has no topology). */
static long package_of(const ts_probe *probe, const char *name) {
  char line[64], *end;
  if (!ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/%s/topology/physical_package_id", name))
    return -2;
  long id = strtol(line, &end, 10);
  return end == line || id < 0 ? -1 : id;
}

/* The CPUs of a package as a list like 0-3,8; the names are in natural order. */
static void package_fact(ts_probe *probe, const ts_names *cpus, const long *packages, long id) {
  ts_text list = {0};
  for (uint32_t i = 0; i < cpus->count; i++) {
    if (packages[i] != id) continue;
    long first = strtol(cpus->names[i] + strlen("cpu"), NULL, 10), last = first;
    while (i + 1 < cpus->count && packages[i + 1] == id &&
           strtol(cpus->names[i + 1] + strlen("cpu"), NULL, 10) == last + 1) {
      i++;
      last++;
    }
    ts_text_add(&list, "%s%ld", list.length > 0 ? "," : "", first);
    if (last > first) ts_text_add(&list, "-%ld", last);
  }
  if (list.bytes != NULL) ts_probe_fact(probe, list.bytes, "cpu.package.%ld.cpus", id);
  free(list.bytes);
}

/* Packages (sockets) and their CPUs. NUMA nodes do not tell them: a socket may be cut into several (SNC, NPS2, NPS4), and
 * one node may be both sockets (NPS0). Nothing is said if the package of one CPU is not known. */
static void packages(ts_probe *probe) {
  ts_names cpus = ts_probe_names(probe, "cpu", "/sys/devices/system/cpu");
  long *of = calloc(cpus.count + 1, sizeof *of);
  uint64_t count = 0;
  bool known = of != NULL;
  for (uint32_t i = 0; known && i < cpus.count; i++) {
    of[i] = package_of(probe, cpus.names[i]);
    known = of[i] != -1;
  }
  for (uint32_t i = 0; known && i < cpus.count; i++) {
    bool first = of[i] >= 0;
    for (uint32_t j = 0; first && j < i; j++) first = of[j] != of[i];
    if (!first) continue;
    count++;
    package_fact(probe, &cpus, of, of[i]);
  }
  if (count > 0) ts_probe_number(probe, count, "cpu.packages");
  free(of);
  ts_names_free(&cpus);
}

/* The largest cache of the first CPU, shared or not (sysfs writes "32768K"). */
static void last_cache(ts_probe *probe) {
  char line[64];
  uint64_t most = 0;
  for (int i = 0; ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i); i++) {
    char *unit;
    uint64_t bytes = strtoull(line, &unit, 10);
    bytes <<= *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    if (bytes > most) most = bytes;
  }
  if (most > 0) ts_probe_number(probe, most, "cpu.last_cache_bytes");
}

/* What the kernel says of each weakness of the processor, and what it does against it. */
static void mitigations(ts_probe *probe) {
  char line[512];
  ts_names names = ts_probe_names(probe, "", "/sys/devices/system/cpu/vulnerabilities");
  for (uint32_t i = 0; i < names.count; i++)
    if (ts_probe_line(probe, line, sizeof line, "/sys/devices/system/cpu/vulnerabilities/%s", names.names[i]))
      ts_probe_fact(probe, line, "cpu.mitigations.%s", names.names[i]);
  ts_names_free(&names);
}

/* Processors' worth of time that control groups of version 2 allow: the smallest of this process's own and those above. */
static void quota(ts_probe *probe) {
  char *groups = ts_probe_text(probe, "/proc/self/cgroup"), line[64];
  char *at = groups == NULL ? NULL : strstr(groups, "0::/");
  if (at != NULL && (at == groups || at[-1] == '\n')) {
    double least = 0;
    at += strlen("0::");
    at[strcspn(at, "\n")] = '\0';
    if (strcmp(at, "/") == 0) *at = '\0';
    for (char *slash = at; slash != NULL;) {
      /* "150000 100000": microseconds in a period; "max 100000": no limit. */
      if (ts_probe_line(probe, line, sizeof line, "/sys/fs/cgroup%s/cpu.max", at)) {
        char *end;
        const double most = strtod(line, &end), period = strtod(end, NULL);
        if (end != line && period > 0 && (least == 0 || most / period < least)) least = most / period;
      }
      slash = strrchr(at, '/');
      if (slash != NULL) *slash = '\0';
    }
    if (least > 0) {
      snprintf(line, sizeof line, "%.2f", least);
      ts_probe_fact(probe, line, "cpu.quota");
    }
  }
  free(groups);
}

void ts_probe_cpu(ts_probe *probe) {
  char line[8192];
  char *info = ts_probe_text(probe, "/proc/cpuinfo");
  if (info != NULL) {
    if (field(info, "model name", line, sizeof line) || field(info, "Model", line, sizeof line))
      ts_probe_fact(probe, line, "cpu.model");
    if (field(info, "microcode", line, sizeof line)) ts_probe_fact(probe, line, "cpu.microcode");
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
  last_cache(probe);
  mitigations(probe);
  quota(probe);
  char *status = ts_probe_text(probe, "/proc/self/status");
  if (status != NULL && field(status, "Cpus_allowed_list", line, sizeof line)) {
    ts_probe_fact(probe, line, "cpu.allowed");
    ts_probe_number(probe, ts_list_count(line), "cpu.allowed_count");
  }
  free(status);
}
