/* errors.c - LevelDB's messages as ours, and its properties as numbers. */
#include "tiers/leveldb/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t ts_leveldb_failed(const ts_records *r, ts_err err, const char *what, char *words) {
  int32_t status = ts_fail(err, strncmp(words, "Corruption", 10) == 0 ? TS_EFORMAT : TS_EIO,
                           "Cannot %s the LevelDB database \"%s\": %s", what, r->folder, words);
  r->api.free(words);
  return status;
}

int32_t ts_leveldb_wrong_length(const ts_records *r, ts_err err, int64_t key, size_t found) {
  return ts_fail(err, TS_EFORMAT,
                 "Cannot read the LevelDB database \"%s\": the record of key %lld has %llu bytes, not %llu", r->folder,
                 (long long)key, (unsigned long long)found,
                 (unsigned long long)TS_LEVELDB_VERSION_BYTES + r->row_bytes);
}

uint64_t ts_leveldb_property(const ts_records *r, const char *name) {
  char *text = r->api.property_value(r->db, name);
  uint64_t n = text == NULL ? 0 : strtoull(text, NULL, 10);
  if (text != NULL) r->api.free(text);
  return n;
}

/* Lines "level files size time read written" in MiB, after three of heading. */
void ts_leveldb_traffic(const ts_records *r, uint64_t *bytes_read, uint64_t *bytes_written) {
  char *text = r->api.property_value(r->db, "leveldb.stats");
  *bytes_read = *bytes_written = 0;
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    unsigned level, files;
    double size, seconds, read, written;
    if (sscanf(line, " %u %u %lf %lf %lf %lf", &level, &files, &size, &seconds, &read, &written) != 6) continue;
    *bytes_read += (uint64_t)(read * 0x1p20);
    *bytes_written += (uint64_t)(written * 0x1p20);
  }
  if (text != NULL) r->api.free(text);
}

uint32_t ts_leveldb_count_tables(const ts_records *r) {
  uint32_t tables = 0;
  for (int level = 0; level < 7; level++) {
    char name[40];
    snprintf(name, sizeof name, "leveldb.num-files-at-level%d", level);
    tables += (uint32_t)ts_leveldb_property(r, name);
  }
  return tables;
}
