/* What the trainer asks of a store: strided lookups and updates against plain ones, promotion that changes no row; on
 * every storage type, with first tiers that hold a part of the rows. */
#include "store/batches.h"
#include "test/store_types.h"

#include <math.h>

#define N 700u
#define DIM 12u
#define WIDE 29u

static char text[512];
static const ts_err err = {text, sizeof text};

static const char *sizes_of(const storage_type *type) {
  static const char *const sizes[] = {"67108864", "16384,67108864", "16384,32768,67108864", "16384,32768,32768,67108864"};
  return sizes[all_tiers_of(type) - 1];
}

static ts_store *open_type(const storage_type *type, uint32_t *table) {
  ts_config *config = config_of_type(type, sizes_of(type), "rows");
  if (ts_store_probe(config, text, sizeof text) == TS_EUNAVAILABLE) {
    ts_config_free(config);
    return NULL;
  }
  /* Nothing moves behind the tests' back: which tier a row is in then follows from the calls alone. */
  CHECK(ts_config_set(config, "eviction_threads", "0", text, sizeof text) == TS_OK);
  ts_store *store = open_config(config);
  *table = add_config(store, CONFIG("name", "t", "dim", "12", "optimizer", "adagrad", "learning_rate", "0.1"));
  return store;
}

static void keys_of(uint32_t round, int64_t *keys) {
  for (uint32_t i = 0; i < N; i++) keys[i] = (int64_t)(ts_random64(7, round, i) % 900) - 50;
}

/* Ten rounds of lookup and update, strided or not. Gradients stand in a wide matrix either way. */
static uint64_t train(ts_store *store, uint32_t table, bool strided) {
  static float wide[N * WIDE], plain[N * DIM], gradients[N * WIDE];
  int64_t keys[N];
  for (uint32_t round = 0; round < 10; round++) {
    keys_of(round, keys);
    for (uint32_t i = 0; i < N * WIDE; i++) {
      wide[i] = 12345.0f;
      gradients[i] = (float)ts_unit(ts_random64(8, round, i)) - 0.5f;
    }
    CHECK_MSG(ts_table_find(store, table, keys, N, 0, plain, NULL, text, sizeof text) == TS_OK, "%s", text);
    if (!strided) {
      CHECK(ts_table_lookup(store, table, keys, N, plain, text, sizeof text) == TS_OK);
      for (uint32_t i = 0; i < N; i++) memcpy(plain + i * DIM, gradients + i * WIDE, DIM * sizeof(float));
      CHECK(ts_table_update(store, table, keys, N, plain, text, sizeof text) == TS_OK);
      continue;
    }
    CHECK_MSG(ts_table_lookup_strided(store, table, keys, NULL, N, wide, WIDE, err) == TS_OK, "%s", text);
    CHECK(ts_table_find(store, table, keys, N, 0, plain, NULL, text, sizeof text) == TS_OK);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++)
      for (uint32_t j = 0; j < WIDE; j++) wrong += wide[i * WIDE + j] != (j < DIM ? plain[i * DIM + j] : 12345.0f);
    CHECK_MSG(wrong == 0, "round %u: %u values are wrong", round, wrong);
    CHECK_MSG(ts_table_update_strided(store, table, keys, N, gradients, WIDE, err) == TS_OK, "%s", text);
  }
  uint64_t digest = 0;
  CHECK(ts_store_digest(store, &digest, text, sizeof text) == TS_OK);
  return digest;
}

static void strides_change_nothing(const storage_type *type) {
  uint64_t digest[2];
  for (uint32_t strided = 0; strided < 2; strided++) {
    uint32_t table;
    ts_store *store = open_type(type, &table);
    if (store == NULL) {
      SKIP("store_batches_test", "%s: %s", type->name, text);
      return;
    }
    digest[strided] = train(store, table, strided == 1);
    ts_store_close(store);
  }
  CHECK_MSG(digest[0] == digest[1], "%s", type->name);
}

/* Rows come up; none is made, none changes, nothing is counted as a lookup. */
static void promotion_only_moves(const storage_type *type) {
  uint32_t table;
  ts_store *store = open_type(type, &table);
  if (store == NULL) return;
  uint64_t before = train(store, table, false), after = 0, lower = 0, rows[2] = {0};
  CHECK(ts_store_settle(store, text, sizeof text) == TS_OK);
  int64_t keys[N];
  int32_t tiers[N];
  for (uint32_t i = 0; i < N; i++) keys[i] = i < 60 ? (int64_t)i : 1000000 + i; /* the second lot has no rows */
  const uint64_t lookups = counter_of(store, TS_STAT_lookup_keys), hits = counter_of(store, TS_STAT_tier0_hits);
  CHECK(ts_table_rows(store, table, rows, 1, text, sizeof text) == TS_OK);
  CHECK(ts_table_lookup_tier(store, table, keys, N, tiers, text, sizeof text) == TS_OK);
  uint32_t below = 0;
  for (uint32_t i = 0; i < 60; i++) below += tiers[i] > 0;
  CHECK_MSG(ts_table_promote(store, table, keys, N, &lower, err) == TS_OK, "%s: %s", type->name, text);
  if (all_tiers_of(type) > 1)
    CHECK_MSG(below > 10 && lower == below + N - 60, "%s: %u below, %llu", type->name, below,
              (unsigned long long)lower);
  CHECK(ts_table_lookup_tier(store, table, keys, N, tiers, text, sizeof text) == TS_OK);
  /* Rows that come up push others out, among them some that came up a moment ago. */
  uint32_t first = 0;
  for (uint32_t i = 0; i < N; i++) {
    CHECK_MSG(i >= 60 ? tiers[i] == -1 : tiers[i] >= 0, "%s: key %u is in tier %d", type->name, i, tiers[i]);
    first += tiers[i] == 0;
  }
  CHECK_MSG(first >= 50, "%s: %u of 60 rows came up", type->name, first);
  /* Alone, each comes up. */
  for (uint32_t i = 0; i < 60; i++) {
    CHECK(ts_table_promote(store, table, &keys[i], 1, &lower, err) == TS_OK);
    CHECK(ts_table_lookup_tier(store, table, &keys[i], 1, tiers, text, sizeof text) == TS_OK);
    CHECK_MSG(tiers[0] == 0, "%s: key %u alone is in tier %d", type->name, i, tiers[0]);
  }
  CHECK(counter_of(store, TS_STAT_lookup_keys) == lookups && counter_of(store, TS_STAT_tier0_hits) == hits);
  CHECK(ts_store_digest(store, &after, text, sizeof text) == TS_OK);
  CHECK_MSG(before == after, "%s", type->name);
  ts_store_close(store);
}

/* A key that waits for admission is not counted, and does not get in. */
static void promotion_admits_nobody(void) {
  ts_store *store =
      open_config(CONFIG("storage", "DRAM_SSDHASH", "path", folder, "size", "16384,67108864", "size_counts", "rows"));
  uint32_t table = add_config(store, CONFIG("name", "t", "admission", "counter", "admission.frequency", "2"));
  const int64_t key = 5;
  float row[16];
  uint64_t lower = 0, digest[2];
  CHECK(ts_store_digest(store, &digest[0], NULL, 0) == TS_OK);
  for (uint32_t i = 0; i < 5; i++) CHECK(ts_table_promote(store, table, &key, 1, &lower, err) == TS_OK && lower == 1);
  CHECK(ts_table_lookup(store, table, &key, 1, row, NULL, 0) == TS_OK && row[0] == 0);
  CHECK(ts_table_promote(store, table, &key, 1, &lower, err) == TS_OK);
  CHECK(ts_table_lookup(store, table, &key, 1, row, NULL, 0) == TS_OK && row[0] == 0);
  CHECK(ts_store_digest(store, &digest[1], NULL, 0) == TS_OK && digest[0] == digest[1]);
  CHECK(ts_table_lookup(store, table, &key, 1, row, NULL, 0) == TS_OK && row[0] != 0);
  ts_store_close(store);
}

/* Recorded frequencies are the lookups, whoever brought rows up before them. */
static void promotion_counts_no_lookup(const storage_type *type, const char *policy) {
  static uint64_t lookups[900], told[900];
  int64_t all[900], keys[N];
  static float rows[N * DIM];
  ts_config *config = config_of_type(type, sizes_of(type), "rows");
  if (ts_store_probe(config, text, sizeof text) == TS_EUNAVAILABLE) {
    ts_config_free(config);
    return;
  }
  ts_config_set(config, "policy", policy, NULL, 0), ts_config_set(config, "shards", "1", NULL, 0);
  ts_store *store = open_config(config);
  const uint32_t table = add_config(store, CONFIG("name", "t", "dim", "12", "record_frequency", "1"));
  memset(lookups, 0, sizeof lookups);
  for (uint32_t i = 0; i < 900; i++) all[i] = (int64_t)i - 50;
  for (uint32_t round = 0; round < 12; round++) {
    uint64_t lower = 0;
    keys_of(round, keys);
    const uint32_t n = 1 + (uint32_t)(ts_random64(9, round, 0) % N);
    CHECK(ts_table_promote(store, table, keys, n, &lower, err) == TS_OK);
    CHECK(ts_table_lookup(store, table, keys, n, rows, text, sizeof text) == TS_OK);
    for (uint32_t i = 0; i < n; i++) lookups[keys[i] + 50]++;
    if (round % 3 == 0) CHECK(ts_table_update(store, table, keys, n, rows, text, sizeof text) == TS_OK);
  }
  CHECK_MSG(ts_table_metadata(store, table, all, 900, told, NULL, text, sizeof text) == TS_OK, "%s", text);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 900; i++) wrong += told[i] != lookups[i];
  CHECK_MSG(wrong == 0, "%s, %s: %u of 900 frequencies are wrong", type->name, policy, wrong);
  ts_store_close(store);
}

#define MANY 40000u
#define SOME 25000u /* different keys among them */

/* A call of more new keys than a lookup's working memory holds: rows, and what is counted, are as if they came a few at a
 * time; and where keys must be admitted first, all are judged before the first of them is counted. */
static void many_new_keys(void) {
  static int64_t keys[MANY];
  static uint64_t lookups[SOME], told[SOME];
  static float rows[2][MANY * DIM];
  static int64_t all[SOME];
  uint64_t digest[2], created[2], hits[2];
  memset(lookups, 0, sizeof lookups);
  for (uint32_t i = 0; i < MANY; i++) lookups[keys[i] = (int64_t)(ts_random64(5, 0, i) % SOME)]++;
  for (uint32_t i = 0; i < SOME; i++) all[i] = (int64_t)i;
  for (uint32_t pieces = 0; pieces < 2; pieces++) {
    ts_config *config = config_of_type(&storage_types[0], "67108864", "rows");
    ts_store *store = open_config(config);
    const uint32_t table = add_config(store, CONFIG("name", "t", "dim", "12", "record_frequency", "1"));
    const uint32_t n = pieces == 0 ? MANY : 100;
    for (uint32_t first = 0; first < MANY; first += n)
      CHECK_MSG(ts_table_lookup(store, table, keys + first, n, rows[pieces] + first * DIM, text, sizeof text) == TS_OK, "%s", text);
    CHECK(ts_table_metadata(store, table, all, SOME, told, NULL, text, sizeof text) == TS_OK);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < SOME; i++) wrong += told[i] != lookups[i];
    CHECK_MSG(wrong == 0, "%u keys a call: %u of %u frequencies are wrong", n, wrong, SOME);
    CHECK(ts_store_digest(store, &digest[pieces], text, sizeof text) == TS_OK);
    created[pieces] = counter_of(store, TS_STAT_created);
    hits[pieces] = counter_of(store, TS_STAT_tier0_hits);
    const uint32_t judged = add_config(store, CONFIG("name", "j", "dim", "12", "admission", "counter", "admission.frequency", "2"));
    uint64_t count = 0;
    CHECK(ts_table_lookup(store, judged, keys, MANY, rows[1 - pieces], text, sizeof text) == TS_OK);
    CHECK(ts_table_rows(store, judged, &count, 1, text, sizeof text) == TS_OK);
    CHECK_MSG(count == 0, "%llu keys were admitted by the call that brought them", (unsigned long long)count);
    CHECK(ts_table_lookup(store, table, keys, MANY, rows[1 - pieces], text, sizeof text) == TS_OK);
    CHECK(memcmp(rows[0], rows[1], sizeof rows[0]) == 0);
    ts_store_close(store);
  }
  CHECK(digest[0] == digest[1]);
  CHECK_MSG(created[0] == created[1] && hits[0] == hits[1], "created %llu and %llu, hits %llu and %llu",
            (unsigned long long)created[0], (unsigned long long)created[1], (unsigned long long)hits[0], (unsigned long long)hits[1]);
}

int main(void) {
  if (!make_folder("batches")) return 2;
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    strides_change_nothing(&storage_types[i]);
    promotion_only_moves(&storage_types[i]);
    promotion_counts_no_lookup(&storage_types[i], ts_policy_names[i % TS_POLICIES]);
  }
  promotion_admits_nobody();
  many_new_keys();
  remove_folder();
  return test_result();
}
