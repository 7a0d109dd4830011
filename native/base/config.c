/* config.c - options as text pairs. The caller sets them one by one; each opening call reads those it knows and
 * refuses the rest, so a misspelt option never passes silently. */
#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES TS_CONFIG_MOST /* bits of ts_config_reader.known */

typedef struct entry {
  char *key, *value;
} entry;

struct ts_config {
  entry entries[MAX_ENTRIES];
  uint32_t count;
};

int32_t ts_config_create(ts_config **out) {
  if (out == NULL) return TS_EINVAL;
  *out = calloc(1, sizeof **out);
  return *out == NULL ? TS_ENOMEM : TS_OK;
}

void ts_config_free(ts_config *config) {
  if (config == NULL) return;
  for (uint32_t i = 0; i < config->count; i++) {
    free(config->entries[i].key);
    free(config->entries[i].value);
  }
  free(config);
}

static entry *find(const ts_config *config, const char *key) {
  if (config == NULL) return NULL;
  for (uint32_t i = 0; i < config->count; i++)
    if (strcmp(config->entries[i].key, key) == 0) return (entry *)&config->entries[i];
  return NULL;
}

int32_t ts_config_set(ts_config *config, const char *key, const char *value, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (config == NULL || key == NULL || value == NULL || key[0] == '\0')
    return ts_fail(e, TS_EINVAL, "Cannot set option: a config, a key and a value are needed");
  char *copy = strdup(value);
  if (copy == NULL) return ts_fail(e, TS_ENOMEM, "Cannot set option \"%s\": out of memory", key);
  entry *old = find(config, key);
  if (old != NULL) {
    free(old->value);
    old->value = copy;
    return TS_OK;
  }
  char *name = strdup(key);
  if (name == NULL || config->count == MAX_ENTRIES) {
    free(copy);
    free(name);
    if (name == NULL) return ts_fail(e, TS_ENOMEM, "Cannot set option \"%s\": out of memory", key);
    return ts_fail(e, TS_EINVAL, "Cannot set option \"%s\": more than %u options", key, MAX_ENTRIES);
  }
  config->entries[config->count++] = (entry){name, copy};
  return TS_OK;
}

bool ts_config_has(const ts_config *config, const char *key) { return find(config, key) != NULL; }

ts_config_reader ts_config_read(const ts_config *config, const char *what, ts_err err) {
  ts_config_reader r = {.config = config, .what = what, .err = err, .status = TS_OK};
  if (config == NULL) r.status = ts_fail(err, TS_EINVAL, "Cannot open %s: no options were given", what);
  return r;
}

static const char *look_up(ts_config_reader *r, const char *key) {
  if (r->status != TS_OK) return NULL;
  entry *e = find(r->config, key);
  if (e == NULL) return NULL;
  size_t i = (size_t)(e - r->config->entries);
  r->known[i / 64] |= UINT64_C(1) << (i % 64);
  return e->value;
}

const char *ts_config_text(ts_config_reader *r, const char *key, const char *fallback) {
  const char *value = look_up(r, key);
  return value == NULL ? fallback : value;
}

void ts_config_found(ts_config_reader *r, const char *key, const char *format, ...) {
  if (r->found == NULL || r->status != TS_OK) return;
  char value[128];
  va_list list;
  va_start(list, format);
  vsnprintf(value, sizeof value, format, list);
  va_end(list);
  ts_text_add(r->found, "%s=%s\n", key, value);
}

static bool parse_u64(const char *text, const char **end, uint64_t *out) {
  if (*text < '0' || *text > '9') return false;
  char *stop;
  errno = 0;
  unsigned long long n = strtoull(text, &stop, 10);
  *end = stop;
  *out = n;
  return errno == 0;
}

uint64_t ts_config_u64(ts_config_reader *r, const char *key, uint64_t fallback, uint64_t min, uint64_t max) {
  const char *value = look_up(r, key), *end;
  if (value == NULL) {
    ts_config_found(r, key, "%llu", (unsigned long long)fallback);
    return fallback;
  }
  uint64_t n = 0;
  if (!parse_u64(value, &end, &n) || *end != '\0' || n < min || n > max) {
    r->status = ts_fail(r->err, TS_EINVAL,
                        "Cannot open %s: option \"%s\" must be a whole number from %llu to %llu, found \"%s\"", r->what,
                        key, (unsigned long long)min, (unsigned long long)max, value);
    return fallback;
  }
  ts_config_found(r, key, "%llu", (unsigned long long)n);
  return n;
}

double ts_config_f64(ts_config_reader *r, const char *key, double fallback, double min, double max) {
  const char *value = look_up(r, key);
  if (value == NULL) {
    ts_config_found(r, key, "%.17g", fallback);
    return fallback;
  }
  char *end;
  double x = strtod(value, &end);
  if (end == value || *end != '\0' || !isfinite(x) || x < min || x > max) {
    r->status = ts_fail(r->err, TS_EINVAL, "Cannot open %s: option \"%s\" must be a number from %g to %g, found \"%s\"",
                        r->what, key, min, max, value);
    return fallback;
  }
  ts_config_found(r, key, "%.17g", x);
  return x;
}

uint32_t ts_config_choice(ts_config_reader *r, const char *key, const char *fallback, const char *const *choices) {
  const char *value = ts_config_text(r, key, fallback);
  if (r->status != TS_OK) return 0;
  if (value != NULL)
    for (uint32_t i = 0; choices[i] != NULL; i++)
      if (strcmp(choices[i], value) == 0) {
        ts_config_found(r, key, "%s", choices[i]);
        return i;
      }
  ts_text list = {0};
  for (uint32_t i = 0; choices[i] != NULL; i++) ts_text_add(&list, "%s%s", i ? ", " : "", choices[i]);
  r->status = value == NULL
                  ? ts_fail(r->err, TS_EINVAL, "Cannot open %s: option \"%s\" is required, one of %s", r->what, key,
                            list.bytes ? list.bytes : "")
                  : ts_fail(r->err, TS_EINVAL, "Cannot open %s: unknown %s \"%s\", known are %s", r->what, key, value,
                            list.bytes ? list.bytes : "");
  free(list.bytes);
  return 0;
}

uint32_t ts_config_u64_list(ts_config_reader *r, const char *key, uint64_t *out, uint32_t cap) {
  const char *value = look_up(r, key);
  if (value == NULL || *value == '\0') return 0;
  uint32_t count = 0;
  for (const char *at = value;;) {
    uint64_t n;
    const char *end;
    if (!parse_u64(at, &end, &n) || (*end != ',' && *end != '\0')) {
      r->status = ts_fail(r->err, TS_EINVAL,
                          "Cannot open %s: option \"%s\" must be whole numbers separated by commas, found \"%s\"", r->what,
                          key, value);
      return 0;
    }
    if (count < cap) out[count] = n;
    count++;
    if (*end == '\0') return count;
    at = end + 1;
  }
}

static void mark(ts_config_reader *r, const char *prefix, bool starts) {
  if (r->status != TS_OK) return;
  size_t n = strlen(prefix);
  for (uint32_t i = 0; i < r->config->count; i++)
    if ((strncmp(r->config->entries[i].key, prefix, n) == 0) == starts) r->known[i / 64] |= UINT64_C(1) << (i % 64);
}

void ts_config_ignore_prefix(ts_config_reader *r, const char *prefix) { mark(r, prefix, true); }

void ts_config_ignore_others(ts_config_reader *r, const char *prefix) { mark(r, prefix, false); }

int32_t ts_config_finish(ts_config_reader *r) {
  if (r->status != TS_OK) return r->status;
  for (uint32_t i = 0; i < r->config->count; i++)
    if (!(r->known[i / 64] >> (i % 64) & 1))
      return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open %s: unknown option \"%s\" with value \"%s\"", r->what,
                                 r->config->entries[i].key, r->config->entries[i].value);
  return TS_OK;
}
