/* manifest.c - see manifest.h. */
#include "checkpoint/manifest.h"

#include "base/crc32c.h"
#include "base/seeded_bug.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM "sum="
#define SUM_BYTES (sizeof SUM - 1)
#define SUM_LINE (SUM_BYTES + 8 + 1)

static ts_manifest_line *find(const ts_manifest *manifest, const char *key) {
  for (uint32_t i = 0; i < manifest->count; i++)
    if (strcmp(manifest->lines[i].key, key) == 0) return &manifest->lines[i];
  return NULL;
}

/* Takes the value, which malloc gave. */
static void put(ts_manifest *manifest, const char *key, size_t key_bytes, char *value) {
  char *name = strndup(key, key_bytes);
  if (name != NULL && value != NULL) {
    ts_manifest_line *line = find(manifest, name);
    if (line != NULL) {
      free(name);
      free(line->value);
      line->value = value;
      return;
    }
    if (manifest->count == manifest->capacity) {
      const uint32_t capacity = manifest->capacity * 2 + 32;
      ts_manifest_line *lines = realloc(manifest->lines, capacity * sizeof *lines);
      if (lines != NULL) {
        manifest->lines = lines;
        manifest->capacity = capacity;
      }
    }
    if (manifest->count < manifest->capacity) {
      manifest->lines[manifest->count++] = (ts_manifest_line){name, value};
      return;
    }
  }
  free(name);
  free(value);
  manifest->failed = true;
}

void ts_manifest_put(ts_manifest *manifest, const char *key, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *value = NULL;
  if (vasprintf(&value, format, args) < 0) value = NULL;
  va_end(args);
  put(manifest, key, strlen(key), value);
}

const char *ts_manifest_get(const ts_manifest *manifest, const char *key) {
  const ts_manifest_line *line = find(manifest, key);
  return line == NULL ? NULL : line->value;
}

bool ts_manifest_u64(const ts_manifest *manifest, const char *key, uint64_t *out) {
  const char *value = ts_manifest_get(manifest, key);
  if (value == NULL || *value < '0' || *value > '9') return false;
  char *end;
  errno = 0;
  const unsigned long long n = strtoull(value, &end, 10);
  if (errno != 0 || *end != '\0') return false;
  *out = n;
  return true;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool ts_manifest_id(const ts_manifest *manifest, const char *key, uint8_t out[16]) {
  const char *value = ts_manifest_get(manifest, key);
  if (value == NULL || strlen(value) != 32) return false;
  for (uint32_t i = 0; i < 16; i++) {
    const int high = digit(value[2 * i]), low = digit(value[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

void ts_manifest_put_id(ts_manifest *manifest, const char *key, const uint8_t id[16]) {
  char text[33];
  for (uint32_t i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", id[i]);
  ts_manifest_put(manifest, key, "%s", text);
}

void ts_manifest_free(ts_manifest *manifest) {
  for (uint32_t i = 0; i < manifest->count; i++) {
    free(manifest->lines[i].key);
    free(manifest->lines[i].value);
  }
  free(manifest->lines);
  *manifest = (ts_manifest){0};
}

void ts_manifest_escape(const char *value, ts_text *out) {
  for (const char *from = value, *c = value;; c++) {
    const unsigned char u = (unsigned char)*c;
    if (u >= 32 && u != 127 && u != '\\') continue;
    ts_text_add(out, "%.*s", (int)(c - from), from);
    if (u == '\0') return;
    ts_text_add(out, "\\x%02x", u);
    from = c + 1;
  }
}

void ts_manifest_text(const ts_manifest *manifest, ts_text *out) {
  for (uint32_t i = 0; i < manifest->count; i++) {
    ts_text_add(out, "%s=", manifest->lines[i].key);
    ts_manifest_escape(manifest->lines[i].value, out);
    ts_text_add(out, "\n");
  }
  if (out->failed) return;
  ts_text_add(out, SUM "%08x\n", ts_crc32c(0, out->bytes, out->length));
}

static int32_t damaged(ts_err err, const char *path, uint64_t offset, const char *how) {
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: it is damaged at offset %llu: %s", path, (unsigned long long)offset,
                 how);
}

/* The sum of the lines before `body`, or what is wrong with it. */
static int32_t check_sum(const char *bytes, uint64_t length, uint64_t body, const char *path, ts_err err) {
  const char *line = bytes + body;
  for (uint32_t i = 0; i < SUM_BYTES; i++)
    if (line[i] != SUM[i]) return damaged(err, path, body + i, "\"" SUM "\" and 8 digits were expected in its last line");
  uint32_t stored = 0;
  for (uint32_t i = 0; i < 8; i++) {
    const int d = digit(line[SUM_BYTES + i]);
    if (d < 0) return damaged(err, path, body + SUM_BYTES + i, "it is no digit of a sum");
    stored = stored << 4 | (uint32_t)d;
  }
  if (bytes[length - 1] != '\n') return damaged(err, path, length - 1, "the end of its last line was expected");
  const uint32_t found = ts_crc32c(0, bytes, body);
  if (found == stored || TS_BUG("a manifest's sum is not compared")) return TS_OK;
  uint64_t byte;
  uint32_t bit;
  if (ts_crc32c_flipped(stored, found, body, &byte, &bit))
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: it is damaged at offset %llu: bit %u is flipped", path,
                   (unsigned long long)byte, bit);
  char right[9];
  snprintf(right, sizeof right, "%08x", found);
  for (uint32_t i = 0, wrong = 0, at = 0; i < 8; i++) {
    if (line[SUM_BYTES + i] != right[i]) wrong++, at = i;
    if (i == 7 && wrong == 1) return damaged(err, path, body + SUM_BYTES + at, "its sum is not that of its lines");
  }
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: it is damaged: its sum is %08x, its last line says %08x", path, found,
                 stored);
}

/* A value without its escapes; NULL: no memory, or an escape that is none (`bad`). */
static char *unescape(const char *from, const char *end, bool *bad) {
  char *value = malloc((size_t)(end - from) + 1), *to = value;
  if (value == NULL) return NULL;
  while (from < end) {
    if (*from != '\\') {
      *to++ = *from++;
      continue;
    }
    const int high = end - from >= 4 && from[1] == 'x' ? digit(from[2]) : -1, low = high < 0 ? -1 : digit(from[3]);
    if (low < 0 || (high == 0 && low == 0)) {
      *bad = true;
      free(value);
      return NULL;
    }
    *to++ = (char)(high << 4 | low);
    from += 4;
  }
  *to = '\0';
  return value;
}

int32_t ts_manifest_parse(const char *bytes, uint64_t length, const char *path, ts_manifest *out, ts_err err) {
  *out = (ts_manifest){0};
  if (length < SUM_LINE)
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: it has %llu bytes and no sum; it was truncated", path,
                   (unsigned long long)length);
  const uint64_t body = length - SUM_LINE;
  int32_t status = check_sum(bytes, length, body, path, err);
  for (uint64_t at = 0; status == TS_OK && at < body;) {
    const char *line = bytes + at, *end = memchr(line, '\n', body - at);
    const char *equals = end == NULL ? NULL : memchr(line, '=', (size_t)(end - line));
    bool bad = equals == NULL || equals == line || memchr(line, '\0', (size_t)(end - line)) != NULL;
    if (!bad) {
      char *value = unescape(equals + 1, end, &bad);
      if (!bad) put(out, line, (size_t)(equals - line), value);
    }
    if (bad) status = damaged(err, path, at, "a line \"key=value\" was expected");
    else if (out->failed) status = ts_fail(err, TS_ENOMEM, "Cannot read %s: out of memory", path);
    else at = (uint64_t)(end - bytes) + 1;
  }
  if (status != TS_OK) ts_manifest_free(out);
  return status;
}
