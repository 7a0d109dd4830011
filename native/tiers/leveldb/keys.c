/* keys.c - the keys of one piece of a call in LevelDB's order. */
#include "tiers/leveldb/database.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b) {
  const ts_leveldb_key *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

void ts_leveldb_sort(ts_leveldb_key *sorted, const int64_t *keys, uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) sorted[i] = (ts_leveldb_key){keys[first + i], first + i};
  if (n > 1) qsort(sorted, n, sizeof *sorted, by_key);
}
