/* files.c - the small readers that all probes share: one line, a whole text, names in a directory, where a link leads.
 * Every path is taken under the prefix of the probe, so that captured trees can stand in for a machine. */
#include "machine/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT (4u << 20)

static bool join(const ts_probe *probe, char *out, const char *format, va_list args) {
  int n = snprintf(out, PATH_MAX, "%s", probe->roots);
  if (n < 0 || n >= PATH_MAX) return false;
  int m = vsnprintf(out + n, (size_t)(PATH_MAX - n), format, args);
  return m >= 0 && m < PATH_MAX - n;
}

static void fact(ts_probe *probe, const char *value, const char *key, va_list args) {
  char name[256], clean[1024];
  if (vsnprintf(name, sizeof name, key, args) < 0) return;
  size_t n = 0;
  for (; value[n] != '\0' && n + 1 < sizeof clean; n++)
    clean[n] = (unsigned char)value[n] < 0x20 || value[n] == 0x7f ? ' ' : value[n];
  clean[n] = '\0';
  ts_text_add(&probe->text, "%s=%s\n", name, clean);
}

void ts_probe_fact(ts_probe *probe, const char *value, const char *key, ...) {
  va_list args;
  va_start(args, key);
  fact(probe, value, key, args);
  va_end(args);
}

void ts_probe_number(ts_probe *probe, uint64_t value, const char *key, ...) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  va_list args;
  va_start(args, key);
  fact(probe, text, key, args);
  va_end(args);
}

bool ts_probe_line(const ts_probe *probe, char *out, size_t cap, const char *path, ...) {
  char full[PATH_MAX];
  va_list args;
  va_start(args, path);
  bool ok = join(probe, full, path, args);
  va_end(args);
  FILE *file = ok ? fopen(full, "re") : NULL;
  if (file == NULL) return false;
  /* An empty file is a line too (the cpulist of a node without CPUs), a read error is not. */
  if (fgets(out, (int)cap, file) == NULL) out[0] = '\0';
  ok = ferror(file) == 0;
  fclose(file);
  size_t n = strlen(out);
  while (n > 0 && isspace((unsigned char)out[n - 1])) out[--n] = '\0';
  return ok;
}

/* At most MAX_TEXT bytes of a file and a NUL behind them, or NULL. */
static char *read_all(const char *full, size_t *length) {
  FILE *file = fopen(full, "re");
  if (file == NULL) return NULL;
  char *text = NULL;
  size_t n = 0, capacity = 0, got;
  do {
    if (capacity - n < 4096) {
      char *more = capacity >= MAX_TEXT ? NULL : realloc(text, capacity * 2 + 8192);
      if (more == NULL) break;
      text = more;
      capacity = capacity * 2 + 8192;
    }
    got = fread(text + n, 1, capacity - n - 1, file);
    n += got;
  } while (got > 0);
  if (ferror(file) != 0) {
    free(text);
    text = NULL;
  }
  fclose(file);
  if (text != NULL) text[n] = '\0';
  *length = n;
  return text;
}

char *ts_probe_text(const ts_probe *probe, const char *path, ...) {
  char full[PATH_MAX];
  size_t length;
  va_list args;
  va_start(args, path);
  bool ok = join(probe, full, path, args);
  va_end(args);
  return ok ? read_all(full, &length) : NULL;
}

char *ts_probe_bytes(const ts_probe *probe, size_t *length, const char *path, ...) {
  char full[PATH_MAX];
  va_list args;
  va_start(args, path);
  bool ok = join(probe, full, path, args);
  va_end(args);
  return ok ? read_all(full, length) : NULL;
}

bool ts_probe_there(const ts_probe *probe, const char *path) {
  char full[PATH_MAX];
  int n = snprintf(full, sizeof full, "%s%s", probe->roots, path);
  return n > 0 && (size_t)n < sizeof full && access(full, F_OK) == 0;
}

void ts_probe_copy(ts_probe *probe, const char *key, const char *path) {
  char line[1024];
  if (ts_probe_line(probe, line, sizeof line, "%s", path) && line[0] != '\0') ts_probe_fact(probe, line, "%s", key);
}

bool ts_probe_real(const ts_probe *probe, char *out, const char *path, ...) {
  char full[PATH_MAX];
  va_list args;
  va_start(args, path);
  bool ok = join(probe, full, path, args);
  va_end(args);
  return ok && realpath(full, out) != NULL;
}

static int natural(const void *a, const void *b) { return strverscmp(*(char *const *)a, *(char *const *)b); }

ts_names ts_probe_names(const ts_probe *probe, const char *prefix, const char *path, ...) {
  ts_names names = {0};
  char full[PATH_MAX];
  va_list args;
  va_start(args, path);
  bool ok = join(probe, full, path, args);
  va_end(args);
  DIR *dir = ok ? opendir(full) : NULL;
  if (dir == NULL) return names;
  uint32_t capacity = 0;
  for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
    if (names.count == capacity) {
      char **more = realloc(names.names, (capacity * 2 + 8) * sizeof *more);
      if (more == NULL) break;
      names.names = more;
      capacity = capacity * 2 + 8;
    }
    names.names[names.count] = strdup(entry->d_name);
    if (names.names[names.count] == NULL) break;
    names.count++;
  }
  closedir(dir);
  if (names.count > 0) qsort(names.names, names.count, sizeof *names.names, natural);
  return names;
}

void ts_names_free(ts_names *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->names[i]);
  free(names->names);
  *names = (ts_names){0};
}

bool ts_field_u64(const char *text, const char *label, uint64_t *out) {
  const char *at = strstr(text, label);
  if (at == NULL) return false;
  at += strlen(label);
  while (*at == ' ' || *at == '\t') at++;
  if (!isdigit((unsigned char)*at)) return false;
  *out = strtoull(at, NULL, 10);
  return true;
}

uint32_t ts_list_count(const char *list) {
  uint32_t count = 0;
  while (isdigit((unsigned char)*list)) {
    char *end;
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    if (last >= first) count += (uint32_t)(last - first + 1);
    list = *end == ',' ? end + 1 : end;
  }
  return count;
}
