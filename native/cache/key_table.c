/* key_table.c - see key_table.h. */
#include "cache/key_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory that is zero; large tables ask for huge pages, since every access goes somewhere else. */
bool ts_key_table_init(ts_key_table *table, uint64_t entries, double load) {
  *table = (ts_key_table){0};
  /* Some buckets more, so that a small table, too, has room. */
  uint64_t count = (uint64_t)((double)entries / (TS_BUCKET_KEYS * load)) + entries / 1024 + 4;
  if (entries > UINT32_MAX || count > TS_KEY_TABLE_MOST) return false;
  const uint64_t huge = UINT64_C(2) << 20;
  uint64_t bytes = TS_ROUND_UP(count * sizeof(ts_key_bucket), count * sizeof(ts_key_bucket) >= huge ? huge : 64);
  table->buckets = aligned_alloc(bytes >= huge ? huge : 64, bytes);
  if (table->buckets == NULL) return false;
  if (bytes >= huge) madvise(table->buckets, bytes, MADV_HUGEPAGE);
  memset(table->buckets, 0, bytes);
  table->count = count;
  return true;
}

void ts_key_table_free(ts_key_table *table) {
  free(table->buckets);
  *table = (ts_key_table){0};
}

uint64_t ts_key_once(ts_key_table *seen, const int64_t *keys, uint64_t n, int64_t *to) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < n; i++) {
    const int64_t key = keys[i];
    const uint64_t home = ts_key_home(seen, ts_key_hash(key));
    if (ts_key_find(seen, key, home) != TS_NO_ENTRY) continue;
    ts_key_add(seen, key, home, 0);
    to[kept++] = key;
  }
  if (kept > 0) memset(seen->buckets, 0, ts_key_table_bytes(seen));
  return kept;
}

#define REGISTERS (1u << TS_DISTINCT_BITS)

uint64_t ts_distinct_of(const ts_distinct *seen, uint64_t n) {
  double sum = 0;
  uint32_t empty = 0;
  for (uint32_t i = 0; i < REGISTERS; i++) {
    sum += 1.0 / (double)(UINT64_C(1) << TS_MIN(seen->registers[i], 63));
    empty += seen->registers[i] == 0;
  }
  double estimate = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS * REGISTERS / sum;
  if (estimate < 2.5 * REGISTERS && empty > 0) estimate = REGISTERS * ts_det_log((double)REGISTERS / empty);
  return TS_MIN((uint64_t)(estimate + 0.5), n);
}

uint64_t ts_distinct_estimate(const int64_t *keys, uint64_t n) {
  ts_distinct seen = {0};
  for (uint64_t i = 0; i < n; i++) ts_distinct_add(&seen, ts_key_hash(keys[i]));
  return ts_distinct_of(&seen, n);
}
