/* What flow.c looks up and finds, against one search a key: rows of every width that it copies, batches that end anywhere, keys that are
 * absent, come twice, are far from home, or are the filler's. */
#include "store/flow.h"

#include "index/probe.h"
#include "test/store_types.h"

#define MOST 5000u
#define UNTOUCHED 12345.0f
#define CROWDED 150u /* keys whose homes are a 256th of the segment */
static char text[512];

/* Keys of a row each are the first `rows`; behind them others that have none. */
static int64_t key_at(uint32_t rows, uint32_t i) {
  static int64_t crowded[CROWDED];
  if (crowded[0] == 0)
    for (uint64_t j = 0, found = 0; found < CROWDED; j++)
      if ((ts_index_hash((int64_t)j + 1) & 0xFFFFFFFFu) >> 24 == 0) crowded[found++] = (int64_t)j + 1;
  if (i == 1) return TS_BUCKET_FILLER;
  if (rows > 4 * CROWDED && i % 4 == 2 && i / 4 < CROWDED) return crowded[i / 4];
  return (int64_t)ts_random64(5, 1, i);
}

static uint64_t look_up_one_by_one(const ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t stride,
                                   uint64_t first, uint64_t *missed) {
  uint64_t misses = 0;
  for (uint32_t i = 0; i < n; i++) {
    const ts_shard *shard = &table->shards[ts_shard_number(table, ts_index_hash(keys[i]))];
    const ts_location l = ts_index_find_one(&shard->index, keys[i]);
    if (l == TS_LOCATION_NONE) {
      missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
      memset(out + i * stride, 0, table->layout.dim * sizeof *out);
      misses++;
    } else {
      memcpy(out + i * stride, ts_rows_at(&shard->rows[0], l), table->layout.dim * sizeof *out);
    }
  }
  return misses;
}

static void compare(ts_table *table, uint32_t rows, uint32_t present, uint32_t n, uint64_t stride) {
  static float out[2][MOST * 40];
  static int64_t keys[MOST];
  uint64_t missed[2][MOST / 64 + 8] = {0}, misses[2];
  const uint64_t first = 64 * (n % 3);
  for (uint32_t i = 0; i < n; i++) keys[i] = key_at(rows, (uint32_t)(ts_random64(6, n, i) % present));
  for (uint32_t i = 0; i < n * stride; i++) out[0][i] = out[1][i] = UNTOUCHED;
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  ts_epoch_enter(&table->store->epochs, slot);
  misses[0] = ts_flow_lookup(table, keys, n, out[0], stride, first, missed[0]);
  misses[1] = look_up_one_by_one(table, keys, n, out[1], stride, first, missed[1]);
  ts_epoch_leave(slot);
  ts_epoch_release(slot);
  CHECK_MSG(misses[0] == misses[1], "%u rows, %u of them asked for, %u keys: %llu missed, expected %llu", rows, present, n,
            (unsigned long long)misses[0], (unsigned long long)misses[1]);
  CHECK_MSG(memcmp(missed[0], missed[1], sizeof missed[0]) == 0, "%u rows, %u keys: others missed", rows, n);
  CHECK_MSG(memcmp(out[0], out[1], n * stride * sizeof(float)) == 0, "%u rows, dim %u, %u keys, %llu apart: wrong weights", rows,
            table->layout.dim, n, (unsigned long long)stride);
}

/* Keys in an order of their own. */
static void compare_locations(const ts_table *table, uint32_t rows, uint32_t present, uint32_t n) {
  static int64_t keys[MOST];
  static uint32_t order[MOST];
  static ts_location locations[MOST + 1];
  static const void *addresses[MOST + 1];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = key_at(rows, (uint32_t)(ts_random64(7, n, i) % present));
    order[i] = n - 1 - i;
  }
  locations[n] = 42;
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  ts_epoch_enter(&table->store->epochs, slot);
  ts_flow_find(table, keys, order, n, locations);
  addresses[n] = keys;
  uint32_t wrong = 0, absent = ts_flow_rows(table, keys, n, addresses);
  for (uint32_t i = 0; i < n; i++) {
    const int64_t key = keys[order[i]];
    const ts_shard *shard = &table->shards[ts_shard_number(table, ts_index_hash(key))];
    const ts_location l = ts_index_find_one(&shard->index, key);
    const bool here = l >> TS_LOCATION_ROW_BITS == 0;
    wrong += locations[i] != l;
    wrong += addresses[order[i]] != (here ? ts_rows_at(&shard->rows[0], l) : NULL);
    absent -= !here;
  }
  ts_epoch_leave(slot);
  ts_epoch_release(slot);
  CHECK_MSG(wrong == 0 && absent == 0 && locations[n] == 42 && addresses[n] == keys,
            "%u rows, %u keys: %u locations are wrong, %u too many absent", rows, n, wrong, absent);
}

static void lookups_are_those_of_one_key(uint32_t rows, const char *shards, const char *dim) {
  ts_store *store = open_config(CONFIG("storage", "DRAM", "size", "268435456", "shards", shards));
  const uint32_t number = add_config(store, CONFIG("name", "t", "dim", dim, "optimizer", "sgd", "initializer", "uniform"));
  ts_table *table = NULL;
  CHECK(ts_store_table(store, number, &table, (ts_err){text, sizeof text}) == TS_OK);
  float *weights = malloc(rows * table->layout.dim * sizeof *weights);
  int64_t *keys = malloc(rows * sizeof *keys);
  for (uint32_t i = 0; i < rows; i++) keys[i] = key_at(rows, i);
  CHECK_MSG(ts_table_lookup(store, number, keys, rows, weights, text, sizeof text) == TS_OK, "%s", text);
  CHECK(ts_flow_serves(table));
  static const uint32_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 100, 255, 256, 1000, MOST};
  for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (uint32_t turn = 0; turn < 3; turn++) { /* all there; some are not; most are not */
      const uint32_t present = turn == 0 ? rows : turn == 1 ? rows + rows / 8 + 1 : rows * 4;
      compare(table, rows, present, counts[i], table->layout.dim + (i + turn) % 2 * 5);
      compare_locations(table, rows, present, counts[i]);
    }
  free(weights);
  free(keys);
  ts_store_close(store);
}

/* Keys go until the bucket of the filler, itself a key, has an empty slot before it. What looks like the filler there is not it. */
static void the_filler_is_found_behind_an_empty_slot(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM", "size", "67108864", "shards", "1"));
  const uint32_t number = add_config(store, CONFIG("name", "t", "dim", "16", "optimizer", "sgd", "initializer", "uniform"));
  ts_table *table = NULL;
  CHECK(ts_store_table(store, number, &table, (ts_err){text, sizeof text}) == TS_OK);
  enum { KEYS = 1000 };
  int64_t keys[KEYS];
  static float weights[KEYS * 16];
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = i == KEYS - 1 ? TS_BUCKET_FILLER : (int64_t)ts_random64(8, 1, i);
  CHECK_MSG(ts_table_lookup(store, number, keys, KEYS, weights, text, sizeof text) == TS_OK, "%s", text);
  const ts_index *index = &table->shards[0].index;
  const uint64_t hash = ts_index_hash(TS_BUCKET_FILLER);
  const ts_segment *segment = ts_segment_of(index, hash);
  const ts_bucket *home = ts_segment_bucket(segment, ts_segment_home(segment, hash));
  bool empty = false;
  for (uint32_t i = 0; !empty && i < KEYS / 2; i++) {
    uint64_t removed = 0;
    CHECK_MSG(ts_table_remove(store, number, &keys[i], 1, &removed, text, sizeof text) == TS_OK && removed == 1, "%s", text);
    for (uint32_t j = 0; j < TS_BUCKET_SLOTS; j++) {
      if (ts_bucket_key(home, j) != TS_BUCKET_FILLER) continue;
      empty = ts_bucket_location(home, j) == TS_BUCKET_EMPTY;
      break;
    }
  }
  CHECK(empty && segment == ts_segment_of(index, hash));
  const int64_t key = TS_BUCKET_FILLER;
  const uint32_t order = 0;
  uint64_t missed = 0;
  float found[16];
  ts_location location = TS_LOCATION_NONE;
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  ts_epoch_enter(&table->store->epochs, slot);
  CHECK(ts_flow_lookup(table, &key, 1, found, 16, 0, &missed) == 0 && missed == 0);
  CHECK(memcmp(found, &weights[(KEYS - 1) * 16], sizeof found) == 0);
  ts_flow_find(table, &key, &order, 1, &location);
  CHECK(location == ts_index_find_one(index, key));
  ts_epoch_leave(slot);
  ts_epoch_release(slot);
  ts_store_close(store);
}

int main(void) {
#ifdef TS_PROBE_VECTORS
  if (ts_cpu_level() < TS_LEVEL_AVX512) {
    SKIP_ALL("store_flow_test", "lookups in one loop: this CPU has no AVX-512");
    return test_result();
  }
  static const char *const dims[] = {"1", "7", "15", "16", "17", "31", "32"};
  for (uint32_t i = 0; i < sizeof dims / sizeof *dims; i++) lookups_are_those_of_one_key(3000, "1", dims[i]);
  lookups_are_those_of_one_key(2, "1", "16");
  lookups_are_those_of_one_key(19, "1", "16");
  lookups_are_those_of_one_key(700, "2", "16");
  lookups_are_those_of_one_key(200000, "16", "16");
  the_filler_is_found_behind_an_empty_slot();
#else
  SKIP_ALL("store_flow_test", "lookups in one loop: not compiled in");
#endif
  return test_result();
}
