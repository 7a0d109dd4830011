/* cache_sums.c - whether the rows of a cache file are those that were written.
 *
 * Training reads batches at any row, so a whole file would have to be read before its first step to be sure of it. Instead
 * a group is compared with its sum when the first row of it is asked for; what was found whole is not read again. Four
 * sums run side by side over every fourth word, each of them a bijection of the word it takes in, so that a change within
 * one word never goes unseen. Labels and numerics are looked at on the way: a sum proves what was written, not that it
 * can be trained on. */
#include "base/control.h"
#include "wdl/input/cache_format.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 8192u /* bytes read at a time: labels and numerics end with a piece */
#define NUMERICS_END TS_CACHE_KEYS_AT

_Static_assert(TS_CACHE_GROUP_BYTES % PIECE == 0 && NUMERICS_END % PIECE == 0, "a group is whole pieces");

ts_cache_sum ts_cache_sum_begin(uint64_t index) {
  ts_cache_sum sum;
  for (uint64_t l = 0; l < 4; l++) sum.lanes[l] = ts_mix64(4 * index + l + 1);
  return sum;
}

void ts_cache_sum_add(ts_cache_sum *sum, const uint64_t *words, uint64_t n) {
  uint64_t a = sum->lanes[0], b = sum->lanes[1], c = sum->lanes[2], d = sum->lanes[3];
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  for (uint64_t i = 0; i + 4 <= n; i += 4) {
    a = (a ^ words[i]) * odd;
    b = (b ^ words[i + 1]) * odd;
    c = (c ^ words[i + 2]) * odd;
    d = (d ^ words[i + 3]) * odd;
    a ^= a >> 32;
    b ^= b >> 32;
    c ^= c >> 32;
    d ^= d >> 32;
  }
  *sum = (ts_cache_sum){{a, b, c, d}};
}

uint64_t ts_cache_sum_end(const ts_cache_sum *sum) {
  uint64_t h = 0;
  for (uint32_t l = 0; l < 4; l++) h = ts_mix64(h ^ sum->lanes[l]);
  return h;
}

/* The first of n floats that is neither finite nor, for a label, 0 or 1; n if all are. */
static uint64_t first_odd(const float *x, uint64_t n, bool labels) {
  bool good = true;
  for (uint64_t i = 0; i < n; i++) good &= labels ? x[i] == 0 || x[i] == 1 : x[i] - x[i] == 0;
  if (good) return n;
  uint64_t i = 0;
  while (labels ? x[i] == 0 || x[i] == 1 : x[i] - x[i] == 0) i++;
  return i;
}

/* Labels and numerics of a piece of a group that has `rows` rows. */
static int32_t check_values(const ts_cache *cache, uint64_t group, uint64_t rows, const float *x, uint64_t at,
                            ts_err err) {
  for (uint64_t column = at / (4 * TS_CACHE_GROUP); column < (at + PIECE) / (4 * TS_CACHE_GROUP); column++) {
    const float *values = x + column * TS_CACHE_GROUP - at / 4;
    const uint64_t odd = first_odd(values, rows, column == 0);
    if (odd == rows) continue;
    const unsigned long long row = (unsigned long long)(group * TS_CACHE_GROUP + odd);
    if (column == 0)
      return ts_fail(err, TS_EFORMAT, "Cannot read \"%s\": the label of row %llu is %g, expected 0 or 1", cache->path,
                     row, (double)values[odd]);
    return ts_fail(err, TS_EFORMAT, "Cannot read \"%s\": I%u of row %llu is %g, expected a finite number", cache->path,
                   (uint32_t)column, row, (double)values[odd]);
  }
  return TS_OK;
}

static int32_t check_group(const ts_cache *cache, uint64_t index, ts_err err) {
  const uint64_t first = index * TS_CACHE_GROUP, rows = TS_MIN(cache->header.rows - first, TS_CACHE_GROUP);
  union {
    uint64_t words[PIECE / 8];
    float values[PIECE / 4];
  } piece;
  char odd[300] = "";
  int32_t values = TS_OK;
  ts_cache_sum sum = ts_cache_sum_begin(index);
  for (uint64_t at = 0; at < TS_CACHE_GROUP_BYTES; at += PIECE) {
    int32_t status =
        ts_cache_read_at(cache, piece.words, PIECE, TS_CACHE_PAGE + index * TS_CACHE_GROUP_BYTES + at, err);
    if (status != TS_OK) return status;
    ts_cache_sum_add(&sum, piece.words, PIECE / 8);
    if (at < NUMERICS_END && values == TS_OK)
      values = check_values(cache, index, rows, piece.values, at, (ts_err){odd, sizeof odd});
  }
  /* Damage is told as damage, whatever value it made. */
  if (ts_cache_sum_end(&sum) != cache->sums[index])
    return ts_fail(err, TS_EFORMAT,
                   "Cannot read \"%s\": rows %llu to %llu are damaged (their sum is %016llx, %016llx was written); "
                   "write the file again, or remove it so that a run does",
                   cache->path, (unsigned long long)first, (unsigned long long)(first + rows - 1),
                   (unsigned long long)ts_cache_sum_end(&sum), (unsigned long long)cache->sums[index]);
  return values == TS_OK ? TS_OK : ts_fail(err, values, "%s", odd);
}

int32_t ts_cache_check_rows(const ts_cache *cache, uint64_t first, uint64_t count, ts_err err) {
  if (cache->sums == NULL || count == 0) return TS_OK;
  for (uint64_t g = first / TS_CACHE_GROUP; g <= (first + count - 1) / TS_CACHE_GROUP; g++) {
    const uint64_t bit = UINT64_C(1) << (g % 64);
    if (atomic_load_explicit(&cache->checked[g / 64], memory_order_relaxed) & bit) continue;
    int32_t status = check_group(cache, g, err);
    if (status != TS_OK) return status;
    atomic_fetch_or_explicit(&cache->checked[g / 64], bit, memory_order_relaxed);
  }
  return TS_OK;
}

/* The digest of the keys as they lie in the file. */
static int32_t read_digest(const ts_cache *cache, uint64_t group, ts_cache_group *out, uint64_t *digest, ts_err err) {
  const uint64_t rows = TS_MIN(cache->header.rows - group * TS_CACHE_GROUP, TS_CACHE_GROUP);
  int32_t status = ts_cache_read_at(cache, out->keys, sizeof out->keys,
                                    TS_CACHE_PAGE + group * TS_CACHE_GROUP_BYTES + TS_CACHE_KEYS_AT, err);
  if (status == TS_OK) *digest += ts_cache_group_digest(out, group, (uint32_t)rows);
  return status;
}

int32_t ts_data_verify(const char *path, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  ts_cache cache;
  int32_t status = ts_cache_open(path, &cache, err);
  if (status != TS_OK) return status;
  const uint64_t rows = cache.header.rows;
  ts_cache_group *group = malloc(sizeof *group);
  if (group == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot verify \"%s\": out of memory", path);
  ts_control_start(control, rows);
  uint64_t digest = 0;
  for (uint64_t g = 0; g < ts_cache_groups(rows) && status == TS_OK; g++) {
    if (ts_control_cancelled(control)) {
      status = ts_fail(err, TS_ECANCELLED, "The verification was cancelled");
      break;
    }
    status = ts_cache_check_rows(&cache, g * TS_CACHE_GROUP, 1, err);
    if (status == TS_OK) status = read_digest(&cache, g, group, &digest, err);
    ts_control_set(control, TS_MIN(rows, (g + 1) * TS_CACHE_GROUP));
  }
  if (status == TS_OK && digest != cache.header.key_digest)
    status = ts_fail(err, TS_EFORMAT,
                     "Cannot use \"%s\": its keys have the digest %016llx, its header says %016llx; write it again", path,
                     (unsigned long long)digest, (unsigned long long)cache.header.key_digest);
  free(group);
  ts_cache_close(&cache);
  return status;
}
