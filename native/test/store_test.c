/* The store against plain arithmetic, on every storage type that this machine can open. PMEM types run their real code
 * paths on ordinary memory: libpmem on a file with PMEM_IS_PMEM_FORCE, memkind and mbind on node 0. */
#include "store/initializer.h"
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char message[512];
#define ERR message, sizeof message

static ts_config *options(const char *const pairs[]) {
  ts_config *config;
  ts_config_create(&config);
  for (uint32_t i = 0; pairs[i] != NULL; i += 2) ts_config_set(config, pairs[i], pairs[i + 1], NULL, 0);
  return config;
}
#define OPTIONS(...) options((const char *const[]){__VA_ARGS__, NULL})

static ts_store *open_store(ts_config *config) {
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, ERR) == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

static uint32_t add_table(ts_store *store, ts_config *config) {
  uint32_t table = UINT32_MAX;
  CHECK_MSG(ts_table_create(store, config, &table, ERR) == TS_OK, "%s", message);
  ts_config_free(config);
  return table;
}

typedef struct type {
  const char *name, *storage, *pmem;
  bool tiered;
  const char *small; /* sizes that force eviction in every batch of same_rows_on_every_type */
} type;

static const type types[] = {
    {"DRAM", "DRAM", NULL, false, "67108864"},
    {"PMEM_LIBPMEM", "PMEM_LIBPMEM", NULL, false, "67108864"},
    {"PMEM_MEMKIND", "PMEM_MEMKIND", NULL, false, "67108864"},
    {"DRAM_PMEM over libpmem", "DRAM_PMEM", "libpmem", true, "1048576,67108864"},
    {"DRAM_PMEM over memkind", "DRAM_PMEM", "memkind", true, "1048576,67108864"},
    {"SSDHASH", "SSDHASH", NULL, false, "67108864"},
    {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, true, "4194304,67108864"},
    {"LEVELDB", "LEVELDB", NULL, false, "67108864"},
    {"DRAM_LEVELDB", "DRAM_LEVELDB", NULL, true, "4194304,67108864"},
    {"DRAM_PMEM_SSDHASH", "DRAM_PMEM_SSDHASH", "memkind", true, "4194304,1048576,67108864"},
    {"DRAM_PMEM_LEVELDB", "DRAM_PMEM_LEVELDB", "libpmem", true, "4194304,1048576,67108864"},
    {"PMEM_MBIND", "PMEM_MBIND", NULL, false, "67108864"},
    {"DRAM_PMEM over mbind", "DRAM_PMEM", "mbind", true, "1048576,67108864"},
};
#define TYPES (sizeof types / sizeof *types)

static ts_config *type_options(const type *t, const char *size, const char *counts) {
  ts_config *c = OPTIONS("storage", t->storage, "size", size, "size_counts", counts, "seed", "7");
  if (t->pmem != NULL) ts_config_set(c, "pmem", t->pmem, NULL, 0);
  if (strstr(t->name, "MBIND") != NULL || strstr(t->name, "mbind") != NULL) ts_config_set(c, "pmem_nodes", "0", NULL, 0);
  ts_config_set(c, "path", folder, NULL, 0);
  return c;
}

static uint64_t statistic(ts_store *store, ts_statistic which) {
  uint64_t all[TS_STATISTIC_COUNT];
  CHECK(ts_store_statistics(store, all, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
  return all[which];
}

/* A stream of batches with repetitions, negative and extreme keys. */
static int64_t stream_key(uint64_t i) {
  uint64_t r = ts_random64(11, 0, i);
  switch (r % 101) {
    case 0: return INT64_MIN;
    case 1: return -1;
    case 2: return -2;
    case 3: return INT64_MAX;
    default: {
      double u = ts_unit(ts_mix64(r));
      int64_t rank = (int64_t)(5000.0 * u * u * u); /* skewed */
      return rank % 2 == 0 ? rank : -rank * 1000003;
    }
  }
}

/* Runs the same lookups and updates and returns the digest; every looked-up row is compared with a second store that
 * has all the memory it wants. */
static uint64_t train(ts_store *store, uint32_t tables, uint32_t dim, uint32_t batches, uint32_t n) {
  int64_t *keys = malloc(n * sizeof *keys);
  float *rows = malloc(sizeof(float) * n * dim), *again = malloc(sizeof(float) * n * dim);
  const int before = test_failures;
  for (uint32_t b = 0; b < batches; b++)
    for (uint32_t t = 0; t < tables && test_failures == before; t++) { /* the first failure says it all */
      for (uint32_t i = 0; i < n; i++) keys[i] = stream_key(((uint64_t)b * tables + t) * n + i);
      CHECK_MSG(ts_table_lookup(store, t, keys, n, rows, ERR) == TS_OK, "%s", message);
      for (uint32_t i = 0; i < n * dim; i++) again[i] = 0.3f * rows[i] + 0.01f * (float)((i + b) % 7) - 0.02f;
      CHECK_MSG(ts_table_update(store, t, keys, n, again, ERR) == TS_OK, "%s", message);
      uint8_t found[8];
      CHECK(ts_table_find(store, t, keys, 8, 0, again, found, ERR) == TS_OK && found[0] && found[7]);
    }
  free(keys);
  free(rows);
  free(again);
  uint64_t digest = 0;
  CHECK(ts_store_digest(store, &digest, ERR) == TS_OK);
  return digest;
}

static void within_limits(ts_store *store) {
  for (uint32_t t = 0; t < store->tier_count; t++)
    CHECK(atomic_load(&store->tiers[t].budget.used) <= store->tiers[t].budget.limit);
}

static void same_rows_on_every_type(void) {
  static const char *const optimizers[] = {"sgd", "adagrad", "ftrl-row-norm"};
  for (uint32_t o = 0; o < 3; o++) {
    uint64_t expected = 0;
    for (uint32_t i = 0; i < TYPES; i++) {
      /* Tiered: far less DRAM than the rows need, and a batch larger than it in the last round. */
      ts_store *store = open_store(type_options(&types[i], types[i].small, "all"));
      if (store == NULL) continue;
      add_table(store, OPTIONS("name", "a", "dim", "149", "optimizer", optimizers[o]));
      add_table(store, OPTIONS("name", "b", "dim", "149", "optimizer", optimizers[o], "initializer", "uniform"));
      const int before = test_failures;
      uint64_t digest = train(store, 2, 149, 3, 700);
      digest ^= train(store, 2, 149, 1, 6000);
      if (i == 0) expected = digest;
      CHECK_MSG(test_failures == before && digest == expected, "%s with %s", types[i].name, optimizers[o]);
      uint64_t counts[3], n;
      CHECK(ts_table_rows(store, 0, counts, 3, ERR) == TS_OK);
      CHECK(ts_table_keys(store, 0, NULL, 0, &n, ERR) == TS_OK && n == counts[0] + counts[1] + counts[2]);
      uint64_t other[3];
      CHECK(ts_table_rows(store, 1, other, 3, ERR) == TS_OK);
      for (uint32_t t = 0; t < 3; t++) counts[t] += other[t];
      if (types[i].tiered) {
        CHECK_MSG(counts[0] > 200 && (o == 0 || (counts[1] > 0 && statistic(store, TS_STAT_evicted) > 0 &&
                                                 statistic(store, TS_STAT_promoted) > 0)),
                  "%s with %s: %llu + %llu rows, %llu evicted, %llu promoted", types[i].name, optimizers[o],
                  (unsigned long long)counts[0], (unsigned long long)counts[1],
                  (unsigned long long)statistic(store, TS_STAT_evicted), (unsigned long long)statistic(store, TS_STAT_promoted));
        if (store->tier_count == 3 && o > 0) CHECK_MSG(counts[2] > 0, "%s", types[i].name);
      }
      uint64_t hits = 0;
      for (uint32_t t = 0; t < 3; t++) hits += statistic(store, TS_STAT_tier0_hits + t);
      CHECK_MSG(hits + statistic(store, TS_STAT_created) == statistic(store, TS_STAT_lookup_keys), "%s: %llu hits",
                types[i].name, (unsigned long long)hits);
      within_limits(store);
      CHECK(ts_store_close(store) == TS_OK);
    }
  }
}

/* DeepRec counts padded rows only: sizes of a handful of rows, and every batch larger than the first tier. */
static void first_tier_smaller_than_a_batch(void) {
  for (uint32_t i = 0; i < TYPES; i++) {
    if (!types[i].tiered) continue;
    ts_store *store = open_store(type_options(&types[i], "512,16777216", "rows"));
    if (store == NULL) continue;
    add_table(store, OPTIONS("name", "a", "dim", "16", "optimizer", "adagrad"));
    uint64_t digest = train(store, 1, 16, 4, 500);
    uint64_t counts[2];
    ts_table_rows(store, 0, counts, 2, ERR);
    CHECK_MSG(counts[0] == 4, "%llu rows of 128 bytes in 512 bytes", (unsigned long long)counts[0]);
    within_limits(store);
    ts_store_close(store);
    store = open_store(OPTIONS("storage", "DRAM", "seed", "7"));
    add_table(store, OPTIONS("name", "a", "dim", "16", "optimizer", "adagrad"));
    CHECK(train(store, 1, 16, 4, 500) == digest);
    ts_store_close(store);
  }
}

/* Eight or twelve rows of 128 bytes. */
static const char *rows_of_twelve(const type *t) {
  return strncmp(t->storage, "DRAM_PMEM_", 10) == 0 ? "512,512,512" : t->tiered ? "512,1024" : "1024";
}

static const char *small_of(const type *t) {
  const bool ssd = strstr(t->storage, "SSD") != NULL || strstr(t->storage, "LEVEL") != NULL;
  if (!t->tiered) return ssd ? "4194304" : "1500000";
  return strncmp(t->storage, "DRAM_PMEM_", 10) == 0 ? "4194304,1048576,1048576" : ssd ? "4194304,1048576" : "2097152,1048576";
}

static void a_full_tier_steps_no_row(void) {
  for (uint32_t i = 0; i < TYPES; i++) {
    ts_store *store = open_store(type_options(&types[i], rows_of_twelve(&types[i]), "rows"));
    if (store == NULL) continue;
    add_table(store, OPTIONS("name", "a", "dim", "16", "optimizer", "adagrad"));
    uint64_t capacity = types[i].tiered ? 12 : 8;
    int64_t keys[16];
    float rows[16 * 16];
    for (int64_t k = 0; k < 16; k++) keys[k] = k * 31 - 100;
    CHECK_MSG(ts_table_lookup(store, 0, keys, capacity - 2, rows, ERR) == TS_OK, "%s: %s", types[i].name, message);
    uint64_t before, after, n;
    CHECK(ts_table_lookup(store, 0, keys, capacity + 1, rows, ERR) == TS_EFULL);
    CHECK_MSG(strstr(message, "is full") != NULL && (strstr(message, "\"a\"") != NULL || strstr(message, "leveldb-a") != NULL),
              "%s", message);
    ts_store_digest(store, &before, ERR);
    CHECK(ts_table_update(store, 0, keys, capacity + 1, rows, ERR) == TS_EFULL);
    ts_store_digest(store, &after, ERR);
    CHECK(before == after);
    CHECK_MSG(ts_table_lookup(store, 0, keys, capacity, rows, ERR) == TS_OK, "%s: %s", types[i].name, message);
    CHECK(ts_table_keys(store, 0, NULL, 0, &n, ERR) == TS_OK && n == capacity);
    within_limits(store);
    ts_store_close(store);
  }
  /* The complete count: growing until refused never passes the limit, and what is there stays readable. */
  for (uint32_t i = 0; i < TYPES; i++) {
    ts_store *store = open_store(type_options(&types[i], small_of(&types[i]), "all"));
    if (store == NULL) continue;
    add_table(store, OPTIONS("name", "a", "dim", "16", "optimizer", "adagrad"));
    int32_t status = TS_OK;
    int64_t next = 0;
    static float rows[300 * 16];
    while (status == TS_OK && next < 1000000) {
      int64_t keys[300];
      for (int64_t k = 0; k < 300; k++) keys[k] = next + k;
      status = ts_table_lookup(store, 0, keys, 300, rows, ERR);
      if (status == TS_OK) next += 300;
      within_limits(store);
    }
    CHECK_MSG(status == TS_EFULL && next > 3000, "%s stopped at %lld rows", types[i].name, (long long)next);
    for (int64_t k = 0; k < next; k += 97) {
      int32_t tier;
      CHECK(ts_table_lookup_tier(store, 0, &k, 1, &tier, ERR) == TS_OK && tier >= 0);
    }
    uint64_t n;
    /* Of the refused batch, some rows were created before there was no room. */
    CHECK(ts_table_keys(store, 0, NULL, 0, &n, ERR) == TS_OK && n >= (uint64_t)next && n < (uint64_t)next + 300);
    ts_store_close(store);
  }
}

static void updates_follow_the_formulas(void) {
  ts_store *store = open_store(OPTIONS("storage", "DRAM"));
  uint32_t adagrad = add_table(store, OPTIONS("name", "adagrad", "dim", "3", "optimizer", "adagrad", "learning_rate", "0.1",
                                              "initializer", "constant", "initializer.value", "1"));
  int64_t keys[3] = {5, -5, 5};
  float rows[9], g[9] = {1, 1, 1, 2, 2, 2, 1, 1, 1}; /* key 5 twice: gradients sum to 2 */
  CHECK(ts_table_lookup(store, adagrad, keys, 3, rows, ERR) == TS_OK && rows[0] == 1 && rows[8] == 1);
  CHECK(ts_table_update(store, adagrad, keys, 3, g, ERR) == TS_OK);
  float w[9], a[9];
  ts_table_find(store, adagrad, keys, 3, 0, w, NULL, ERR);
  ts_table_find(store, adagrad, keys, 3, 1, a, NULL, ERR);
  for (int i = 0; i < 9; i++) CHECK(fabsf(w[i] - 0.9012270f) < 1e-6f && fabsf(a[i] - 4.1f) < 1e-6f);
  CHECK(ts_table_update(store, adagrad, keys, 3, g, ERR) == TS_OK);
  ts_table_find(store, adagrad, keys, 3, 0, w, NULL, ERR);
  ts_table_find(store, adagrad, keys, 3, 1, a, NULL, ERR);
  CHECK(fabsf(w[0] - 0.8309542f) < 1e-6f && fabsf(a[0] - 8.1f) < 1e-6f);

  /* Three rows of three ones, whose elements all have the gradient 6, 4 or 2. */
  const float gradient[9] = {6, 6, 6, 4, 4, 4, 2, 2, 2};
  const int64_t three[3] = {1, 2, 3};
  uint32_t norm = add_table(store, OPTIONS("name", "norm", "dim", "3", "optimizer", "ftrl-row-norm", "learning_rate", "0.1",
                                           "l1", "2", "l2", "1e-5", "initializer", "constant", "initializer.value", "1"));
  uint32_t plain = add_table(store, OPTIONS("name", "plain", "dim", "3", "optimizer", "ftrl", "learning_rate", "0.1", "l1",
                                            "2", "l2", "1e-5", "initializer", "constant", "initializer.value", "1"));
  CHECK(ts_table_update(store, norm, three, 3, gradient, ERR) == TS_OK);
  CHECK(ts_table_update(store, plain, three, 3, gradient, ERR) == TS_OK);
  ts_table_find(store, norm, three, 3, 0, w, NULL, ERR);
  CHECK_MSG(fabsf(w[0] - 0.8282884f) < 1e-6f && fabsf(w[3] - 0.7927219f) < 1e-6f && fabsf(w[6] - 0.688026f) < 1e-6f,
            "%.7f %.7f %.7f", (double)w[0], (double)w[3], (double)w[6]);
  ts_table_find(store, plain, three, 3, 0, w, NULL, ERR);
  CHECK_MSG(fabsf(w[0] - 0.81422f) < 1e-5f && fabsf(w[3] - 0.77166f) < 1e-5f && fabsf(w[6] - 0.64628f) < 1e-5f,
            "%.7f %.7f %.7f", (double)w[0], (double)w[3], (double)w[6]);
  ts_store_close(store);
}

static void first_values_depend_on_seed_table_and_key_only(void) {
  static const char *const kinds[] = {"constant", "uniform", "truncated-normal", "glorot", "default-value-matrix"};
  for (uint32_t i = 0; i < 5; i++) {
    float a[4][16], b[4][16];
    const int64_t forward[4] = {1, -9, INT64_MIN, 4097}, backward[4] = {4097, INT64_MIN, -9, 1};
    ts_store *one = open_store(OPTIONS("storage", "DRAM", "seed", "3"));
    ts_store *two = open_store(OPTIONS("storage", "DRAM", "seed", "3"));
    uint32_t t1 = add_table(one, OPTIONS("name", "t", "initializer", kinds[i]));
    add_table(two, OPTIONS("name", "other", "initializer", kinds[i]));
    uint32_t t2 = add_table(two, OPTIONS("name", "t", "initializer", kinds[i]));
    ts_table_lookup(one, t1, forward, 4, a[0], ERR);
    ts_table_lookup(two, t2, backward, 4, b[0], ERR);
    for (int k = 0; k < 4; k++) CHECK_MSG(memcmp(a[k], b[3 - k], sizeof a[k]) == 0, "%s", kinds[i]);
    ts_table_lookup(two, 0, forward, 4, b[0], ERR);
    CHECK(i == 0 || memcmp(a, b, sizeof a) != 0);
    if (i == 4) CHECK(memcmp(a[0], a[3], sizeof a[0]) == 0); /* 4097 mod 4096 = 1 */
    if (i == 3)
      for (int k = 0; k < 64; k++) CHECK(fabsf(a[k / 16][k % 16]) <= sqrtf(6.0f / 32));
    ts_store_close(one);
    ts_store_close(two);
  }
  /* Moments of the truncated normal: variance of a standard normal cut at 2 is 0.7737. */
  ts_store *store = open_store(OPTIONS("storage", "DRAM", "size", "134217728"));
  add_table(store, OPTIONS("name", "n", "dim", "1000", "initializer.stddev", "1", "initializer.mean", "0.5"));
  static float w[1000 * 200];
  int64_t keys[200];
  for (int64_t k = 0; k < 200; k++) keys[k] = k;
  CHECK(ts_table_lookup(store, 0, keys, 200, w, ERR) == TS_OK);
  double sum = 0, squares = 0, most = 0;
  for (int i = 0; i < 200000; i++) {
    sum += (double)w[i] - 0.5;
    squares += ((double)w[i] - 0.5) * ((double)w[i] - 0.5);
    most = fmax(most, fabs((double)w[i] - 0.5));
  }
  CHECK_MSG(fabs(sum / 200000) < 0.01 && fabs(squares / 200000 - 0.7737) < 0.01 && most <= 2.0 && most > 1.98, "%g %g %g",
            sum / 200000, squares / 200000, most);
  ts_store_close(store);
}

/* The points that truncated normal weights lie between, by halving: slow, and sure. */
static void points_of_the_normal_law_are_exact(void) {
  const float *points = ts_initializer_normal();
  const double all = erf(sqrt(2.0));
  for (uint32_t i = 0; i <= TS_NORMAL_PIECES; i++) {
    const double target = all * (2.0 * i / TS_NORMAL_PIECES - 1);
    double a = -2, b = 2;
    for (int round = 0; round < 60; round++) {
      const double middle = (a + b) / 2;
      *(erf(middle / sqrt(2.0)) < target ? &a : &b) = middle;
    }
    CHECK_MSG(fabs((double)points[i] - a) <= 6.1e-8 * fabs(a) + 1e-15, "point %u is %.9g, not %.9g", i, (double)points[i], a);
    CHECK(i == 0 || points[i] > points[i - 1]);
  }
}

/* DeepRec's lookup_tier case: four places, four batches; the key not seen lately is the one below. */
static void colder_rows_move_down(void) {
  ts_store *store = open_store(type_options(&types[3], "1024,1048576", "rows"));
  if (store == NULL) return;
  add_table(store, OPTIONS("name", "var", "dim", "30", "optimizer", "adagrad"));
  static const int64_t batches[4][3] = {{1, 2, 3}, {1, 2, 4}, {1, 2, 2}, {1, 2, 5}};
  float rows[90], g[90];
  for (int i = 0; i < 90; i++) g[i] = 0.5f;
  for (int b = 0; b < 4; b++) {
    CHECK(ts_table_lookup(store, 0, batches[b], 3, rows, ERR) == TS_OK);
    CHECK(ts_table_update(store, 0, batches[b], 3, g, ERR) == TS_OK);
  }
  const int64_t keys[6] = {1, 2, 3, 4, 5, 6};
  const int32_t expected[6] = {0, 0, 1, 0, 0, -1};
  int32_t tiers[6];
  CHECK(ts_table_lookup_tier(store, 0, keys, 6, tiers, ERR) == TS_OK);
  for (int i = 0; i < 6; i++) CHECK_MSG(tiers[i] == expected[i], "key %d is in tier %d", i + 1, tiers[i]);
  ts_store_close(store);
}

typedef struct worker {
  ts_store *store;
  uint32_t first_table, tables, shared;
} worker;

static void *work(void *argument) {
  worker *w = argument;
  char text[256];
  float *rows = malloc(sizeof(float) * 800 * 16);
  int64_t keys[800];
  for (uint32_t b = 0; b < 60; b++)
    for (uint32_t t = w->first_table; t < w->first_table + w->tables; t++) {
      for (uint32_t i = 0; i < 800; i++) keys[i] = stream_key((uint64_t)b * 800 + i + t * 1000003);
      CHECK_MSG(ts_table_lookup(w->store, t, keys, 800, rows, text, sizeof text) == TS_OK, "%s", text);
      CHECK_MSG(ts_table_update(w->store, t, keys, 800, rows, text, sizeof text) == TS_OK, "%s", text);
      CHECK_MSG(ts_table_lookup(w->store, w->shared, keys, 800, rows, text, sizeof text) == TS_OK, "%s", text);
    }
  free(rows);
  return NULL;
}

/* Two threads on tables of their own and one shared, first-tier memory so small that it moves between tables. */
static void threads_share_a_store(void) {
  uint64_t digests[2];
  for (int threads = 1; threads <= 2; threads++) {
    ts_store *store = open_store(type_options(&types[3], "2097152,67108864", "all"));
    if (store == NULL) return;
    for (int t = 0; t < 9; t++) {
      char name[32];
      snprintf(name, sizeof name, "t%d", t);
      add_table(store, OPTIONS("name", name, "optimizer", "adagrad"));
    }
    worker w[2] = {{store, 0, 4, 8}, {store, 4, 4, 8}};
    if (threads == 1) {
      work(&w[0]);
      work(&w[1]);
    } else {
      pthread_t id;
      pthread_create(&id, NULL, work, &w[0]);
      work(&w[1]);
      pthread_join(id, NULL);
    }
    within_limits(store);
    CHECK(ts_store_digest(store, &digests[threads - 1], ERR) == TS_OK);
    ts_store_close(store);
  }
  CHECK(digests[0] == digests[1]);
}

/* A table that came first and filled the first tier gives way to one that is used now: for most of its rows soon, in the end for
 * all. Which chunks go first is chance, so how many rows have come in between is, too: 9,950 to 12,000 after 400 batches. */
static void memory_flows_to_the_table_in_use(void) {
  ts_store *store = open_store(type_options(&types[3], "4194304,67108864", "all"));
  if (store == NULL) return;
  add_table(store, OPTIONS("name", "old", "optimizer", "adagrad"));
  add_table(store, OPTIONS("name", "new", "optimizer", "adagrad"));
  static float rows[1000 * 16];
  int64_t keys[1000];
  for (int64_t b = 0; b < 60; b++) {
    for (int64_t i = 0; i < 1000; i++) keys[i] = b * 1000 + i;
    CHECK_MSG(ts_table_lookup(store, 0, keys, 1000, rows, ERR) == TS_OK, "%s", message);
  }
  uint64_t counts[2];
  for (int64_t b = 0; b < 2000; b++) {
    for (int64_t i = 0; i < 1000; i++) keys[i] = (int64_t)(ts_random64(5, (uint64_t)b, (uint64_t)i) % 12000);
    CHECK_MSG(ts_table_lookup(store, 1, keys, 1000, rows, ERR) == TS_OK, "%s", message);
    if (b != 399) continue;
    ts_table_rows(store, 1, counts, 2, ERR);
    CHECK_MSG(counts[0] > 8000, "%llu of 12000 rows in use are in the first tier", (unsigned long long)counts[0]);
  }
  ts_table_rows(store, 1, counts, 2, ERR);
  CHECK_MSG(counts[0] == 12000, "in the end %llu of 12000 rows in use are in the first tier", (unsigned long long)counts[0]);
  ts_store_reset_statistics(store, ERR);
  for (int64_t i = 0; i < 1000; i++) keys[i] = i;
  ts_table_lookup(store, 1, keys, 1000, rows, ERR);
  CHECK(statistic(store, TS_STAT_lookup_keys) == 1000 && statistic(store, TS_STAT_tier0_hits) == 1000);
  within_limits(store);
  ts_store_close(store);
}

/* A recommender's 26 tables share 24 MiB of DRAM over an SSD tier, with the tiers' own defaults. */
static void many_tables_share_a_small_first_tier(void) {
  static const char *const storages[] = {"DRAM_SSDHASH", "DRAM_LEVELDB", "DRAM_PMEM_SSDHASH"};
  for (uint32_t s = 0; s < 3; s++) {
    const type t = {storages[s], storages[s], s == 2 ? "memkind" : NULL, true, ""};
    ts_store *store = open_store(type_options(&t, s == 2 ? "25165824,8388608,268435456" : "25165824,268435456", "all"));
    if (store == NULL) continue;
    const int before = test_failures;
    for (int i = 0; i < 26; i++) {
      char name[32];
      snprintf(name, sizeof name, "C%d", i + 1);
      add_table(store, OPTIONS("name", name, "dim", "64", "optimizer", "adagrad"));
    }
    static float rows[1500 * 64];
    int64_t keys[1500];
    for (int b = 0; b < 4; b++)
      for (uint32_t i = 0; i < 26 && test_failures == before; i++) {
        for (int64_t k = 0; k < 1500; k++) keys[k] = (k * 7919 + b * 1009) % 4000;
        CHECK_MSG(ts_table_lookup(store, i, keys, 1500, rows, ERR) == TS_OK, "%s, table %u: %s", storages[s], i, message);
        CHECK_MSG(ts_table_update(store, i, keys, 1500, rows, ERR) == TS_OK, "%s, table %u: %s", storages[s], i, message);
        within_limits(store);
      }
    uint64_t counts[3], above = 0;
    for (uint32_t i = 0; i < 26; i++) {
      ts_table_rows(store, i, counts, 3, ERR);
      above += counts[0];
    }
    /* Index and buffers leave the rows their part. */
    CHECK_MSG(above > 6000 && statistic(store, TS_STAT_evicted) > 0, "%s: %llu rows of 512 bytes in 24 MiB", storages[s],
              (unsigned long long)above);
    ts_store_close(store);
  }
}

static void memory_adds_up(void) {
  ts_store *store = open_store(type_options(&types[3], "1048576,8388608", "all"));
  if (store == NULL) return;
  add_table(store, OPTIONS("name", "a", "dim", "64", "optimizer", "adagrad"));
  train(store, 1, 64, 5, 2000);
  char text[2048];
  uint64_t needed;
  CHECK(ts_store_memory(store, text, sizeof text, &needed) == TS_OK);
  uint64_t used[2] = {0}, sum[2] = {0};
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    unsigned tier;
    unsigned long long a, b;
    char purpose[16], place[16];
    if (sscanf(line, "tier=%u limit=%llu used=%llu", &tier, &a, &b) == 3)
      used[tier] = b;
    else if (sscanf(line, "tier=%u purpose=%15s place=%15s bytes=%llu", &tier, purpose, place, &a) == 4)
      sum[tier] += a;
    else
      CHECK_MSG(false, "%s", line);
  }
  for (int t = 0; t < 2; t++)
    CHECK_MSG(used[t] == sum[t] && used[t] > 0, "tier %d: %llu used, %llu explained", t, (unsigned long long)used[t],
              (unsigned long long)sum[t]);
  CHECK(ts_store_describe(store, text, sizeof text, &needed) == TS_OK && strstr(text, "tier=1 type=PMEM_LIBPMEM") != NULL &&
        strstr(text, "forced=1") != NULL);
  ts_store_close(store);
}

/* Memory is bound when a page is touched: where rows lie is asked afterwards, of pages of all ranges. */
static void rows_of_a_node_are_looked_up_there(void) {
  static const char *const of[][2] = {{"PMEM_MEMKIND", NULL}, {"PMEM_MBIND", "pmem_nodes"}, {"DRAM", "numa_node"}};
  for (uint32_t i = 0; i < 3; i++) {
    ts_config *config = CONFIG("storage", of[i][0], "size", "67108864");
    if (of[i][1] != NULL) ts_config_set(config, of[i][1], "0", NULL, 0);
    ts_store *store = open_config(config);
    if (store == NULL) continue;
    add_config(store, CONFIG("name", "t", "dim", "16"));
    int64_t keys[1000];
    static float rows[1000 * 16];
    for (int64_t k = 0; k < 1000; k++) keys[k] = k;
    CHECK(ts_table_lookup(store, 0, keys, 1000, rows, NULL, 0) == TS_OK);
    char text[4096];
    uint64_t needed;
    CHECK(ts_store_describe(store, text, sizeof text, &needed) == TS_OK);
    unsigned pages = 0;
    const char *at = strstr(text, " pages=0:");
    CHECK_MSG(at != NULL && sscanf(at, " pages=0:%u", &pages) == 1 && pages > 0 && strstr(at, ",") == NULL, "%s", text);
    CHECK_MSG(of[i][1] == NULL || strstr(text, " nodes_asked=0 ") != NULL, "%s", text);
    ts_store_close(store);
  }
}

/* On a machine of one node, where it is: the policy is taken, and pages come from the only node there is. */
static void rows_are_interleaved_by_the_kernels_weights(void) {
  if (access("/sys/kernel/mm/mempolicy/weighted_interleave", F_OK) != 0) {
    SKIP("store_test: rows_are_interleaved_by_the_kernels_weights", "this kernel has no weighted interleave (Linux 6.9 has it)");
    return;
  }
  ts_store *store = open_config(CONFIG("storage", "DRAM", "size", "67108864", "interleave_nodes", "0"));
  if (store == NULL) return;
  add_config(store, CONFIG("name", "t", "dim", "16"));
  const int64_t keys[3] = {1, 2, 3};
  float rows[3 * 16];
  CHECK(ts_table_lookup(store, 0, keys, 3, rows, NULL, 0) == TS_OK);
  char text[4096];
  uint64_t needed;
  CHECK(ts_store_describe(store, text, sizeof text, &needed) == TS_OK);
  CHECK_MSG(strstr(text, "medium=DRAM") != NULL && strstr(text, " policy=weighted-interleave nodes_asked=0 pages=0:") != NULL, "%s",
            text);
  ts_store_close(store);
}

static void wrong_options_are_named(void) {
  static const struct {
    const char *pairs[9];
    const char *says;
    int32_t status;
  } cases[] = {
      {{NULL}, "\"storage\" is required", TS_EINVAL},
      {{"storage", "DRAM_PMEN", NULL}, "unknown storage \"DRAM_PMEN\"", TS_EINVAL},
      {{"storage", "DRAM_PMEM", NULL}, "\"pmem\" is required", TS_EINVAL},
      {{"storage", "DRAM", "size", "1,2", NULL}, "DRAM has 1 tier, \"size\" lists 2", TS_EINVAL},
      {{"storage", "DRAM", "size", "4096", NULL}, "below the minimum of 1048576 bytes", TS_EINVAL},
      {{"storage", "DRAM_SSDHASH", "path", "/tmp", "size", "1048576", NULL}, "minimum of 4194304 bytes", TS_EINVAL},
      {{"storage", "DRAM", "sizes", "4096", NULL}, "unknown option \"sizes\"", TS_EINVAL},
      {{"storage", "PMEM_LIBPMEM", NULL}, "\"path\" must name a directory", TS_EINVAL},
      {{"storage", "PMEM_MBIND", NULL}, "\"pmem_nodes\" must name the NUMA nodes", TS_EINVAL},
      {{"storage", "PMEM_MBIND", "pmem_nodes", "", NULL}, "\"pmem_nodes\" lists no node", TS_EINVAL},
      {{"storage", "PMEM_MBIND", "pmem_nodes", "1024", NULL}, "NUMA node 1024: it must be 0..1023", TS_EINVAL},
      {{"storage", "PMEM_MBIND", "pmem_nodes", "900", NULL}, "NUMA node 900: there is no such node", TS_EINVAL},
      {{"storage", "PMEM_MEMKIND", "pmem_nodes", "0", NULL}, "PMEM_MEMKIND has none", TS_EINVAL},
      {{"storage", "DRAM_PMEM", "pmem", "mbind", "pmem_nodes", "0", "emulate.share", "0.5", NULL}, "emulate.share", TS_EINVAL},
      {{"storage", "DRAM", "interleave_nodes", "900", NULL}, "interleave memory over NUMA node 900", TS_EINVAL},
      {{"storage", "DRAM", "interleave_nodes", "0", "numa_node", "0", NULL}, "leave one of them out", TS_EINVAL},
      {{"storage", "PMEM_LIBPMEM", "path", "/nonexistent", NULL}, "\"/nonexistent\"", TS_EIO},
      {{"storage", "PMEM_LIBPMEM", "path", "/proc", NULL}, "/proc", TS_EIO},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ts_store *store = NULL;
    ts_config *config = options(cases[i].pairs);
    int32_t status = ts_store_open(config, &store, ERR);
    CHECK_MSG(status == cases[i].status && strstr(message, cases[i].says) != NULL, "case %u: %d %s", i, status, message);
    ts_config_free(config);
  }
  ts_store *store = open_store(OPTIONS("storage", "DRAM"));
  static const struct {
    const char *pairs[7];
    const char *says;
  } tables[] = {
      {{"dim", "4", NULL}, "\"name\" is required"},
      {{"name", "t", "dim", "0", NULL}, "from 1 to 65536, found \"0\""},
      {{"name", "t", "optimizer", "adamax", NULL}, "unknown optimizer \"adamax\""},
      {{"name", "t", "l1", "1", NULL}, "unknown option \"l1\""},
      {{"name", "t", "initializer", "uniform", "initializer.low", "2", NULL}, "must be below"},
  };
  for (uint32_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    uint32_t t;
    ts_config *config = options(tables[i].pairs);
    CHECK_MSG(ts_table_create(store, config, &t, ERR) == TS_EINVAL && strstr(message, tables[i].says) != NULL, "%s", message);
    ts_config_free(config);
  }
  add_table(store, OPTIONS("name", "t"));
  ts_config *config = OPTIONS("name", "t");
  uint32_t t;
  CHECK(ts_table_create(store, config, &t, ERR) == TS_EINVAL && strstr(message, "has one of this name") != NULL);
  ts_config_free(config);
  float row[16];
  CHECK(ts_table_lookup(store, 0, NULL, 0, NULL, ERR) == TS_OK);
  CHECK(ts_table_lookup(store, 0, NULL, 1, row, ERR) == TS_EINVAL);
  CHECK(ts_table_lookup(store, 9, NULL, 0, NULL, ERR) == TS_EINVAL && strstr(message, "has 1") != NULL);
  const int64_t key = 3;
  uint8_t found = 9;
  CHECK(ts_table_find(store, 0, &key, 1, 0, row, &found, ERR) == TS_OK && found == 0 && row[0] == 0);
  CHECK(ts_table_find(store, 0, &key, 1, 1, row, &found, ERR) == TS_EINVAL && strstr(message, "slots 0 to 0") != NULL);
  ts_store_close(store);
}

/* The fast path remembers rows within a call: what it remembers must be this key's row, also of keys that share a place
 * there, of 0 and 1, which its empty places hold, and of keys that had no row when the call began. */
static void repeated_keys_get_their_own_rows(void) {
  enum { N = 40000, DIM = 16, HOT = 9000 };
  ts_store *store = open_store(OPTIONS("storage", "DRAM", "size", "67108864", "seed", "5"));
  if (store == NULL) return;
  add_table(store, OPTIONS("name", "t", "dim", "16", "optimizer", "sgd"));
  int64_t *keys = malloc(N * sizeof *keys);
  float *rows = malloc((size_t)N * DIM * sizeof *rows);
  for (uint32_t round = 0; round < 4; round++) {
    for (uint32_t i = 0; i < N; i++) {
      const uint64_t r = ts_random64(21, round, i);
      const uint64_t rank = (r >> 32) % HOT * ((r >> 20) % 1024) / 1024; /* low ranks are frequent */
      keys[i] = r % 16 == 0 && round < 3 ? (int64_t)(r & 1) : rank < 2 ? (int64_t)rank : (int64_t)ts_mix64(rank + round / 2);
    }
    if (round == 3) for (uint32_t i = 0; i < N; i++) keys[i] = (int64_t)ts_random64(22, round, i); /* none twice */
    memset(rows, 0xFF, (size_t)N * DIM * sizeof *rows);
    CHECK_MSG(ts_table_lookup(store, 0, keys, N, rows, ERR) == TS_OK, "%s", message);
    for (uint32_t i = 0; i < N; i++) {
      float row[DIM];
      uint8_t found = 0;
      CHECK(ts_table_find(store, 0, &keys[i], 1, 0, row, &found, ERR) == TS_OK && found == 1);
      CHECK_MSG(memcmp(row, rows + (size_t)i * DIM, sizeof row) == 0, "round %u, key %lld at %u", round,
                (long long)keys[i], i);
    }
  }
  free(keys);
  free(rows);
  CHECK(ts_store_close(store) == TS_OK);
}

/* Not even a killed program leaves a pool file: it has no name from the moment it is mapped. */
static void a_pool_has_no_name(void) {
  ts_store *store = open_store(type_options(&types[1], "1048576", "all"));
  if (store == NULL) return;
  char command[256];
  snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", folder);
  CHECK_MSG(system(command) == 0, "pool files in %s", folder);
  CHECK(ts_store_close(store) == TS_OK);
  CHECK(ts_store_close(NULL) == TS_OK);
}

static void nothing_is_left_behind(void) {
  char command[256];
  snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", folder);
  CHECK_MSG(system(command) == 0, "pool files in %s", folder);
  rmdir(folder);
}

int main(void) {
  if (!make_folder("test")) return 1;
  rows_of_a_node_are_looked_up_there();
  rows_are_interleaved_by_the_kernels_weights();
  wrong_options_are_named();
  updates_follow_the_formulas();
  first_values_depend_on_seed_table_and_key_only();
  points_of_the_normal_law_are_exact();
  same_rows_on_every_type();
  first_tier_smaller_than_a_batch();
  a_full_tier_steps_no_row();
  colder_rows_move_down();
  threads_share_a_store();
  memory_flows_to_the_table_in_use();
  many_tables_share_a_small_first_tier();
  memory_adds_up();
  repeated_keys_get_their_own_rows();
  a_pool_has_no_name();
  nothing_is_left_behind();
  return test_result();
}
