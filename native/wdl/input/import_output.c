/* import_output.c - the groups of a cache file being imported. */
#include "wdl/input/import_output.h"

#include <stdlib.h>
#include <string.h>

int32_t ts_import_output_open(ts_import_output *out, const char *path, uint32_t split, uint32_t numerics, ts_err err) {
  double unknown = __builtin_nan("");
  out->header = (ts_cache_header){.vocabulary = TS_VOCABULARY_IMPORTED,
                                  .split = split,
                                  .numerics = numerics,
                                  .scale = unknown,
                                  .skew_s = unknown,
                                  .skew_q = unknown,
                                  .planted_auc = unknown,
                                  .planted_logloss = unknown,
                                  .numeric_auc = unknown,
                                  .categorical_variance = unknown,
                                  .unseen_share = unknown};
  return ts_cache_writer_open(path, &out->writer, err);
}

void ts_import_output_close(ts_import_output *out) {
  ts_cache_writer_close(&out->writer);
  for (uint64_t i = 0; i < out->room; i++) free(out->groups[i]);
  free(out->groups);
  out->groups = NULL;
  out->room = 0;
}

bool ts_import_output_reserve(ts_import_output *out, uint64_t rows) {
  uint64_t needed = (rows + TS_CACHE_GROUP - 1) / TS_CACHE_GROUP;
  if (needed <= out->first + out->room) return true;
  needed -= out->first;
  ts_cache_group **larger = realloc(out->groups, needed * sizeof *larger);
  if (larger == NULL) return false;
  out->groups = larger;
  for (; out->room < needed; out->room++)
    if ((larger[out->room] = calloc(1, sizeof **larger)) == NULL) return false;
  return true;
}

int32_t ts_import_output_write(ts_import_output *out, uint64_t index, uint32_t rows, uint64_t *digest,
                               ts_err err) {
  const ts_cache_group *group = out->groups[index];
  *digest = ts_cache_group_digest(group, out->first + index, rows);
  return ts_cache_writer_group(&out->writer, out->first + index, group, err);
}

void ts_import_output_rotate(ts_import_output *out, uint64_t n) {
  /* Reversing three times moves the first n behind the others; groups of rows that are still coming must be zeros. */
  for (uint64_t i = 0; i < n; i++) memset(out->groups[i], 0, sizeof **out->groups);
  const uint64_t parts[3][2] = {{0, n}, {n, out->room}, {0, out->room}};
  for (uint32_t k = 0; k < 3; k++)
    for (uint64_t i = parts[k][0], j = parts[k][1]; i + 1 < j; i++, j--) {
      ts_cache_group *group = out->groups[i];
      out->groups[i] = out->groups[j - 1];
      out->groups[j - 1] = group;
    }
  out->first += n;
}
