/* Behaviours that OpenEmbedding's own tests hold it to, and those it fails (entry/c_api_test.cpp, pmem_c_api_test.cpp,
 * pmem_embedding_table_test.cpp; commit 1e540f5), as far as they need no checkpoint, no server and no serving.
 *
 * Adapted: its "test" optimizer (mean of gradients, an alternating state) exists nowhere else; B1 and B2 run with plain
 * gradient descent, which has a closed form, too. Its cache of 0 MB has a few rows here. Its limit
 * of a cache is soft; ours is hard. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <pthread.h>

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s", message)

/* B1, B2: three pushes with repeated ids, summed; then a push that doubles the row. */
static void repeated_ids_sum_and_step_once(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", "256,1048576", "size_counts", "rows", "path", folder));
  add_config(store, CONFIG("name", "v", "dim", "4", "learning_rate", "1", "initializer", "constant", "initializer.value", "100"));
  const int64_t keys[6] = {7, 3, 7, 5, 3, 7};
  float g[24], rows[24];
  for (int i = 0; i < 24; i++) g[i] = -(float)keys[i / 4];
  OK(ts_table_lookup(store, 0, keys, 6, rows, ERR));
  for (int push = 0; push < 3; push++) OK(ts_table_update(store, 0, keys, 6, g, ERR));
  OK(ts_table_lookup(store, 0, keys, 6, rows, ERR));
  const float expected[8] = {[3] = 100 + 3 * 2 * 3, [5] = 100 + 3 * 5, [7] = 100 + 3 * 3 * 7};
  for (int i = 0; i < 24; i++) CHECK(rows[i] == expected[keys[i / 4]]);
  for (int i = 0; i < 4; i++) g[i] = -rows[i];
  OK(ts_table_update(store, 0, keys, 1, g, ERR));
  OK(ts_table_lookup(store, 0, keys, 1, rows, ERR));
  CHECK(rows[0] == 2 * expected[7]);
  ts_store_close(store);
}

/* B4: what cannot be is an error, and no crash. */
static void wrong_arguments_are_refused(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM"));
  add_config(store, CONFIG("name", "v", "dim", "4"));
  const int64_t keys[2] = {1, 2};
  const uint64_t falling[3] = {0, 2, 1}, late[2] = {1, 2};
  float rows[8];
  CHECK(ts_table_lookup(store, 1, keys, 2, rows, ERR) == TS_EINVAL);
  CHECK(ts_table_lookup(store, UINT32_MAX, keys, 2, rows, ERR) == TS_EINVAL);
  CHECK(ts_table_find(store, 0, keys, 2, 1, rows, NULL, ERR) == TS_EINVAL);
  CHECK(ts_table_lookup_bags(store, 0, keys, falling, 2, NULL, TS_COMBINER_SUM, 0, rows, ERR) == TS_EINVAL);
  CHECK(ts_table_lookup_bags(store, 0, keys, late, 1, NULL, TS_COMBINER_SUM, 0, rows, ERR) == TS_EINVAL);
  CHECK(ts_table_lookup_bags(store, 0, keys, late, 1, NULL, 3, 0, rows, ERR) == TS_EINVAL);
  CHECK(ts_table_update(store, 0, keys, 2, NULL, ERR) == TS_EINVAL);
  uint64_t counts[1];
  OK(ts_table_rows(store, 0, counts, 1, ERR));
  CHECK(counts[0] == 0);
  ts_store_close(store);
}

/* B5, B6: three threads, each a part of the keys, blocks of 2048 with three times as many repetitions, several tables. */
#define RANGE 131072u
#define BLOCK 2048u
#define TABLES 4u
#define DIM 8u

typedef struct trainer {
  ts_store *store;
  uint32_t number, batches;
  uint64_t wrong;
  char text[256];
  float *model[TABLES]; /* of this thread's keys: one number a row, for all elements get the same gradients */
} trainer;

static void *train(void *argument) {
  trainer *t = argument;
  const uint32_t n = 4 * BLOCK;
  int64_t *keys = malloc(n * sizeof *keys);
  float *rows = malloc(sizeof(float) * n * DIM), *sums = calloc(RANGE, sizeof *sums);
  for (uint32_t b = 0; b < t->batches && t->wrong == 0; b++) {
    const uint32_t table = b % TABLES;
    for (uint32_t i = 0; i < n; i++) {
      uint64_t r = ts_random64(t->number, b, i < BLOCK ? i : BLOCK + i % BLOCK); /* some of the block, over and over */
      keys[i] = (int64_t)(r % (RANGE / 3) * 3 + t->number);
    }
    t->wrong += ts_table_lookup(t->store, table, keys, n, rows, t->text, sizeof t->text) != TS_OK;
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < DIM; j++) t->wrong += rows[i * DIM + j] != t->model[table][keys[i]];
    for (uint32_t i = 0; i < n; i++) {
      const float g = (float)(keys[i] % 5) - 2; /* small whole numbers: any order of sums gives the same bits */
      sums[keys[i]] += g;
      for (uint32_t j = 0; j < DIM; j++) rows[i * DIM + j] = g;
    }
    t->wrong += ts_table_update(t->store, table, keys, n, rows, t->text, sizeof t->text) != TS_OK;
    for (uint32_t i = 0; i < n; i++) {
      t->model[table][keys[i]] -= sums[keys[i]];
      sums[keys[i]] = 0;
    }
  }
  free(keys);
  free(rows);
  free(sums);
  return NULL;
}

static void every_value_equals_a_model(const char *storage, const char *size, const char *counts, uint32_t batches) {
  ts_store *store = open_config(CONFIG("storage", storage, "size", size, "size_counts", counts, "path", folder, "pmem", "libpmem"));
  if (store == NULL) return;
  trainer trainers[3];
  pthread_t ids[3];
  for (uint32_t t = 0; t < TABLES; t++) {
    char name[32];
    snprintf(name, sizeof name, "t%u", t);
    add_config(store, CONFIG("name", name, "dim", "8", "learning_rate", "1", "initializer", "constant"));
  }
  for (uint32_t i = 0; i < 3; i++) {
    trainers[i] = (trainer){.store = store, .number = i, .batches = batches};
    for (uint32_t t = 0; t < TABLES; t++) trainers[i].model[t] = calloc(RANGE + 3, sizeof(float));
    pthread_create(&ids[i], NULL, train, &trainers[i]);
  }
  for (uint32_t i = 0; i < 3; i++) {
    pthread_join(ids[i], NULL);
    CHECK_MSG(trainers[i].wrong == 0, "%s with %s: thread %u met %llu wrong values %s", storage, size, i,
              (unsigned long long)trainers[i].wrong, trainers[i].text);
    for (uint32_t t = 0; t < TABLES; t++) free(trainers[i].model[t]);
  }
  CHECK(limits_hold(store));
  ts_store_close(store);
}

/* B7: room for one row, five keys of 64 numbers, one a batch. */
static void one_place_serves_five_keys(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM_PMEM", "pmem", "libpmem", "size", "256,1048576", "size_counts", "rows",
                                       "path", folder, "eviction_threads", "0"));
  add_config(store, CONFIG("name", "v", "dim", "64", "learning_rate", "1", "initializer", "constant"));
  float g[64], rows[64];
  for (int round = 0; round < 3; round++)
    for (int64_t key = 0; key < 5; key++) {
      for (int j = 0; j < 64; j++) g[j] = -(float)(key + j);
      OK(ts_table_lookup(store, 0, &key, 1, rows, ERR));
      for (int j = 0; j < 64; j++) CHECK(rows[j] == (float)(round * (key + j)));
      OK(ts_table_update(store, 0, &key, 1, g, ERR));
      uint64_t counts[2];
      OK(ts_table_rows(store, 0, counts, 2, ERR));
      CHECK(counts[0] == 1 && counts[1] <= 4);
    }
  ts_store_close(store);
}

/* B12: a cache of 64 rows over 4096 keys. OpenEmbedding writes a row for each miss (40 333 and 4 301 of them); rows that only
 * were read here leave without a write. B14: one batch larger than the cache does not exceed it. */
static void clean_rows_leave_without_a_write(void) {
  static const struct {
    bool skewed;
    double least_hits, most_hits;
    uint64_t oe_writes;
  } cases[] = {{false, 0.010, 0.022, 40333}, {true, 0.80, 0.91, 4301}};
  for (uint32_t c = 0; c < 2; c++) {
    ts_store *store = open_config(CONFIG("storage", "DRAM_PMEM", "pmem", "libpmem", "size", "16384,16777216", "size_counts",
                                         "rows", "path", folder, "eviction_threads", "0", "policy", "lru"));
    add_config(store, CONFIG("name", "v", "dim", "64"));
    static float rows[4096 * 64];
    static int64_t keys[4096];
    for (int64_t i = 0; i < 4096; i++) keys[i] = i;
    OK(ts_table_lookup(store, 0, keys, 4096, rows, ERR));
    OK(ts_store_reset_statistics(store, ERR));
    for (uint64_t i = 0; i < 40960; i++) {
      const uint64_t r = ts_random64(3, c, i);
      const int64_t key = cases[c].skewed && r % 10 != 0 ? (int64_t)((r >> 8) % 40) : (int64_t)((r >> 8) % 4096);
      OK(ts_table_lookup(store, 0, &key, 1, rows, ERR));
    }
    const double hits = (double)counter_of(store, TS_STAT_tier0_hits) / 40960;
    const uint64_t written = counter_of(store, TS_STAT_tier1_written) / 256;
    CHECK_MSG(hits > cases[c].least_hits && hits < cases[c].most_hits, "case %u: %.4f of lookups hit", c, hits);
    CHECK_MSG(written < cases[c].oe_writes / 10, "case %u: %llu rows written, OpenEmbedding writes %llu", c,
              (unsigned long long)written, (unsigned long long)cases[c].oe_writes);
    OK(ts_table_lookup(store, 0, keys, 300, rows, ERR));
    uint64_t counts[2];
    OK(ts_table_rows(store, 0, counts, 2, ERR));
    CHECK(counts[0] == 64 && counts[1] == 4096 - 64 && limits_hold(store));
    ts_store_close(store);
  }
}

int main(void) {
  if (!make_folder("openembedding")) return 1;
  const char *more = getenv("TIERSTORE_ROUNDS");
  const uint32_t batches = more != NULL ? (uint32_t)strtoul(more, NULL, 10) : 24; /* OpenEmbedding's: 200 */
  repeated_ids_sum_and_step_once();
  wrong_arguments_are_refused();
  /* OpenEmbedding's caches count rows alone; its index beside them has no limit. */
  every_value_equals_a_model("DRAM_PMEM", "256,67108864", "rows", batches);
  every_value_equals_a_model("DRAM_PMEM", "1048576,67108864", "rows", batches);
  every_value_equals_a_model("DRAM_SSDHASH", "1048576,268435456", "rows", batches);
  every_value_equals_a_model("DRAM_PMEM", "16777216,67108864", "all", batches);
  one_place_serves_five_keys();
  clean_rows_leave_without_a_write();
  remove_folder();
  return test_result();
}
