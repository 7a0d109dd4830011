/* gauges.c - what the first tier would hit at other sizes, counted beside lookups (cache/reuse.h): a sampler a store, since its
 * tables share the tier. */
#include "store/store.h"

#include <stdlib.h>

#define SHARE 64u /* of the tier that pays for it, at most, but for the smallest sample */

int32_t ts_gauges_create(ts_store *store, uint64_t limit, double rate, uint64_t *bytes, ts_err err) {
  uint32_t rows = TS_REUSE_MOST_ROWS, shift = 1;
  for (double share = 0.5; share > rate && shift < TS_REUSE_MOST_SHIFT; share /= 2) shift++;
  while (rows > TS_REUSE_LEAST_ROWS && ts_reuse_bytes(rows) > limit / SHARE) rows /= 2;
  *bytes = ts_reuse_bytes(rows);
  const int32_t status = ts_reuse_create(rows, shift, store->level, &store->reuse);
  return status == TS_OK ? TS_OK : ts_fail(err, status, "Cannot open store: out of memory for its gauges");
}

#define FACTS 7u

int32_t ts_store_gauges(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  int32_t status = ts_store_check(store, "read gauges", e);
  if (status != TS_OK) return status;
  if (out == NULL && n > 0) return ts_fail(e, TS_EINVAL, "Cannot read gauges: the output is NULL");
  if (store->reuse == NULL) return ts_fail(e, TS_EINVAL, "Cannot read gauges: the store was opened without gauges=1");
  const uint32_t all = FACTS + TS_REUSE_BINS + TS_REUSE_GROUPS * TS_REUSE_COLUMNS;
  if (needed != NULL) *needed = all;
  if (n == 0) return TS_OK;
  if (n < all) return ts_fail(e, TS_ERANGE, "Cannot read gauges: room for %u numbers, %u are needed", n, all);
  ts_reuse_counts *c = malloc(sizeof *c);
  if (c == NULL) return ts_fail(e, TS_ENOMEM, "Cannot read gauges: out of memory");
  ts_reuse_read(store->reuse, c);
  const uint64_t facts[FACTS] = {TS_REUSE_GROUPS, TS_REUSE_BINS, c->shift, c->rows, c->bytes,
                                 ts_store_counted(store, TS_STAT_lookup_keys), store->rows_only};
  memcpy(out, facts, sizeof facts);
  for (uint32_t b = 0; b < TS_REUSE_BINS; b++) out[FACTS + b] = ts_reuse_bound(b);
  memcpy(out + FACTS + TS_REUSE_BINS, c->counts, sizeof c->counts);
  free(c);
  return TS_OK;
}
