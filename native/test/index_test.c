/* The index against a plain list: any key, growth from empty, moves, budget refusals. */
#include "index/index.h"
#include "test/check.h"

#include <stdlib.h>

typedef struct purse {
  int64_t used, limit;
} purse;

static bool pay(void *context, int64_t bytes) {
  purse *p = context;
  if (bytes > 0 && p->used + bytes > p->limit) return false;
  p->used += bytes;
  return true;
}

static int64_t key_of(uint64_t i) {
  switch (i) {
    case 0: return 0;
    case 1: return -1;
    case 2: return -2;
    case 3: return INT64_MIN;
    case 4: return INT64_MAX;
    default: return (int64_t)(i % 3 == 0 ? i : ts_mix64(i));
  }
}

static void grows_from_empty(void) {
  purse p = {0, INT64_MAX};
  ts_index index;
  CHECK(ts_index_init(&index, pay, &p) == TS_OK);
  const uint64_t n = 3000000, batch = 1000;
  uint64_t wanted, worst = 0;
  for (uint64_t first = 0; first < n; first += batch) {
    uint64_t hashes[1000];
    for (uint64_t i = 0; i < batch; i++) hashes[i] = ts_index_hash(key_of(first + i));
    CHECK(ts_index_reserve(&index, hashes, (uint32_t)batch, &wanted) == TS_OK);
    int64_t bytes = p.used;
    for (uint64_t i = 0; i < batch; i++)
      ts_index_insert(&index, key_of(first + i), hashes[i], TS_LOCATION(i % 3, first + i));
    CHECK(p.used == bytes);
    if (index.live >= 1000000) worst = TS_MAX(worst, (uint64_t)bytes * 1000 / index.live);
  }
  CHECK_MSG(worst <= 18000, "%.2f bytes a row at most", (double)worst / 1000);
  CHECK(index.live == n);
  for (uint64_t i = 0; i < n; i++) {
    ts_location l = ts_index_find_one(&index, key_of(i));
    if (l != TS_LOCATION(i % batch % 3, i)) {
      CHECK_MSG(false, "key %llu", (unsigned long long)i);
      break;
    }
  }
  CHECK(ts_index_find_one(&index, (int64_t)ts_mix64(n + 12345678)) == TS_LOCATION_NONE);
  for (uint64_t i = 0; i < n; i += 7) ts_index_move(&index, key_of(i), TS_LOCATION(5, n + i));
  CHECK(ts_index_find_one(&index, key_of(14)) == TS_LOCATION(5, n + 14));
  uint64_t seen = 0, moved = 0;
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location location;
  while (ts_index_next(&index, &cursor, &key, &location)) {
    seen++;
    moved += TS_LOCATION_TIER(location) == 5;
  }
  CHECK(seen == n && moved == (n + 6) / 7);
  ts_index_destroy(&index);
  CHECK(p.used == 0);
}

static void refused_growth_changes_nothing(void) {
  purse p = {0, 4096};
  ts_index index;
  CHECK(ts_index_init(&index, pay, &p) == TS_OK);
  uint64_t inserted = 0, wanted = 0;
  int32_t status = TS_OK;
  for (; inserted < 10000; inserted++) {
    uint64_t hash = ts_index_hash((int64_t)inserted);
    status = ts_index_reserve(&index, &hash, 1, &wanted);
    if (status != TS_OK) break;
    ts_index_insert(&index, (int64_t)inserted, hash, inserted);
  }
  CHECK(status == TS_EFULL && wanted > 0 && p.used <= p.limit && inserted > 50);
  for (uint64_t i = 0; i < inserted; i++) CHECK(ts_index_find_one(&index, (int64_t)i) == i);
  CHECK(ts_index_find_one(&index, (int64_t)inserted) == TS_LOCATION_NONE);
  ts_index_destroy(&index);
  CHECK(p.used == 0);
}

/* x ^= x >> shift, undone. */
static uint64_t unshift(uint64_t x, uint32_t shift) {
  uint64_t y = x;
  for (uint32_t done = shift; done < 64; done += shift) y = x ^ y >> shift;
  return y;
}

/* The key that has this hash: ts_mix64 backwards, by the inverses of its factors modulo 2^64. */
static int64_t key_with_hash(uint64_t hash) {
  uint64_t x = unshift(hash, 31) * 0x319642b2d24d8ec3u;
  x = unshift(x, 27) * 0x96de1b173f119089u;
  return (int64_t)(unshift(x, 30) - 0x9e3779b97f4a7c15u);
}

/* Keys chosen so that every split of their segment leaves all of them on one side. */
static void keys_of_one_segment_find_room(void) {
  purse p = {0, 64 << 20};
  ts_index index;
  CHECK(ts_index_init(&index, pay, &p) == TS_OK);
  const uint64_t n = 150000;
  uint64_t wanted, inserted = 0;
  int32_t status = TS_OK;
  for (; inserted < n && status == TS_OK; inserted += status == TS_OK) {
    uint64_t hash = UINT64_C(0xabc) << 52 | inserted << 16; /* twelve equal bits */
    CHECK(ts_index_hash(key_with_hash(hash)) == hash);
    status = ts_index_reserve(&index, &hash, 1, &wanted);
    if (status == TS_OK) ts_index_insert(&index, key_with_hash(hash), hash, inserted);
  }
  CHECK(status == TS_OK && index.live == n);
  for (uint64_t i = 0; i < n; i++)
    if (ts_index_find_one(&index, key_with_hash(UINT64_C(0xabc) << 52 | i << 16)) != i) {
      CHECK_MSG(false, "key %llu", (unsigned long long)i);
      break;
    }
  ts_index_destroy(&index);
  CHECK(p.used == 0);
}

int main(void) {
  grows_from_empty();
  keys_of_one_segment_find_room();
  refused_growth_changes_nothing();
  return test_result();
}
