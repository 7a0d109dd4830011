/* Behaviours of an embedding store that users of DeepRec and OpenEmbedding rely on and their tests name at most in
 * passing, on every storage type that opens here: any key, any batch, which row leaves, what moves with it, what a
 * threshold means to the last occurrence, what options and the environment decide. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <dirent.h>
#include <math.h>

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s: %s", of, message)

/* Few places in each tier but the last, nothing done behind the test's back. */
static ts_store *open_small(const storage_type *type, const char *first) {
  char sizes[96] = "";
  for (uint32_t t = 1; t < all_tiers_of(type); t++) snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), "%s,", first);
  strcat(sizes, "67108864");
  ts_config *config = config_of_type(type, sizes, "rows");
  ts_config_set(config, "eviction_threads", "0", NULL, 0);
  ts_config_set(config, "policy", "lru", NULL, 0);
  return open_config(config);
}

#define ON_EVERY_TYPE(store, first)                                                                            \
  for (uint32_t type_ = 0; type_ < STORAGE_TYPES; type_++)                                                     \
    for (const char *of = storage_types[type_].name; of != NULL; of = NULL)                                    \
      for (ts_store *store = open_small(&storage_types[type_], first); store != NULL; ts_store_close(store), store = NULL)

static int32_t tier_of(ts_store *store, int64_t key) {
  int32_t tier = -2;
  CHECK(ts_table_lookup_tier(store, 0, &key, 1, &tier, ERR) == TS_OK);
  return tier;
}

/* No key is reserved: DeepRec's maps cannot hold -1 and -2, and its matrix of first values is read out of bounds by negative
 * ones. */
static void every_int64_is_a_key(void) {
  static const int64_t keys[12] = {0, -1, -2, 1, INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1, INT32_MIN, -4097,
                                   INT64_C(1) << 32, -(INT64_C(1) << 62)};
  ON_EVERY_TYPE(store, "128") {
    add_config(store, CONFIG("name", "v", "dim", "4", "learning_rate", "1", "initializer", "default-value-matrix",
                             "record_frequency", "1", "expire.steps", "100"));
    float rows[48], again[48], g[48];
    uint8_t found[12];
    int32_t tiers[12];
    uint64_t frequencies[12], removed, n;
    int64_t versions[12], listed[12];
    OK(ts_table_find(store, 0, keys, 12, 0, rows, found, ERR));
    for (int i = 0; i < 12; i++) CHECK_MSG(!found[i] && rows[4 * i] == 0, "%s: key %d", of, i);
    OK(ts_table_lookup(store, 0, keys, 12, rows, ERR));
    for (int i = 0; i < 48; i++) g[i] = (float)(i / 4 + 1);
    OK(ts_store_set_step(store, 7, ERR));
    OK(ts_table_update(store, 0, keys, 12, g, ERR));
    OK(ts_table_find(store, 0, keys, 12, 0, again, found, ERR));
    OK(ts_table_lookup_tier(store, 0, keys, 12, tiers, ERR));
    OK(ts_table_metadata(store, 0, keys, 12, frequencies, versions, ERR));
    for (int i = 0; i < 12; i++)
      CHECK_MSG(found[i] && tiers[i] >= 0 && frequencies[i] == 1 && versions[i] == 7 && again[4 * i] == rows[4 * i] - g[4 * i],
                "%s: key %lld: found %u, tier %d, frequency %llu, version %lld", of, (long long)keys[i], found[i], tiers[i],
                (unsigned long long)frequencies[i], (long long)versions[i]);
    OK(ts_table_keys(store, 0, listed, 12, &n, ERR));
    uint32_t seen = 0;
    for (uint64_t i = 0; i < n && i < 12; i++)
      for (int k = 0; k < 12; k++) seen |= (uint32_t)(listed[i] == keys[k]) << k;
    CHECK_MSG(n == 12 && seen == 0xFFF, "%s: %llu keys, %x", of, (unsigned long long)n, seen);
    OK(ts_table_remove(store, 0, keys, 6, &removed, ERR));
    CHECK_MSG(removed == 6 && counted_rows(store, 0) == 6, "%s", of);
    OK(ts_store_set_step(store, 108, ERR));
    OK(ts_table_expire(store, 0, 0, &removed, ERR));
    CHECK_MSG(removed == 6 && counted_rows(store, 0) == 0, "%s: %llu expired", of, (unsigned long long)removed);
  }
}

static void empty_batches_change_nothing(void) {
  ON_EVERY_TYPE(store, "128") {
    add_config(store, CONFIG("name", "v", "dim", "4", "optimizer", "adam", "initializer", "constant"));
    const uint64_t zeros[4] = {0};
    float out[12];
    const float g[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t before, after, removed = 9, n = 9;
    const int64_t key = 3;
    OK(ts_table_update(store, 0, &key, 1, g, ERR));
    OK(ts_store_digest(store, &before, ERR));
    OK(ts_table_lookup(store, 0, NULL, 0, NULL, ERR));
    OK(ts_table_update(store, 0, NULL, 0, NULL, ERR));
    OK(ts_table_find(store, 0, NULL, 0, 0, NULL, NULL, ERR));
    OK(ts_table_remove(store, 0, NULL, 0, &removed, ERR));
    OK(ts_table_lookup_tier(store, 0, NULL, 0, NULL, ERR));
    OK(ts_table_metadata(store, 0, NULL, 0, NULL, NULL, ERR));
    memset(out, 0x55, sizeof out);
    OK(ts_table_lookup_bags(store, 0, NULL, zeros, 3, NULL, TS_COMBINER_MEAN, 0, out, ERR)); /* three bags without keys */
    for (int i = 0; i < 12; i++) CHECK_MSG(out[i] == 0, "%s: %g", of, (double)out[i]);
    OK(ts_table_update_bags(store, 0, NULL, zeros, 3, NULL, TS_COMBINER_MEAN, g, ERR));
    OK(ts_store_digest(store, &after, ERR));
    OK(ts_table_keys(store, 0, NULL, 0, &n, ERR));
    CHECK_MSG(before == after && removed == 0 && n == 1, "%s", of);
    /* Nor does Adam count an empty call as a step: the second step is the second. */
    OK(ts_table_update(store, 0, &key, 1, g, ERR));
    OK(ts_table_find(store, 0, &key, 1, 0, out, NULL, ERR));
    CHECK_MSG(fabsf(out[0] + 0.02f) < 1e-6f, "%s: %.8f", of, (double)out[0]);
  }
}

/* Repeated keys: one row, gradients summed in the order of the batch, one step. */
static void a_key_that_fills_a_batch_steps_once(void) {
  enum { N = 5000 };
  static int64_t keys[N];
  static float g[N], rows[N];
  ON_EVERY_TYPE(store, "128") {
    add_config(store, CONFIG("name", "v", "dim", "1", "learning_rate", "0.5", "optimizer", "adagrad", "initializer", "constant",
                             "initializer.value", "1", "initial_accumulator", "0.25"));
    float sums[3] = {0};
    for (int i = 0; i < N; i++) {
      keys[i] = i % 50 == 49 ? -1 : i % 50 == 24 ? 7 : 5;
      g[i] = 1e-3f * (float)(i % 13 - 5); /* inexact sums: the order shows */
      sums[keys[i] == 5 ? 0 : keys[i] == 7 ? 1 : 2] += g[i];
    }
    OK(ts_table_lookup(store, 0, keys, N, rows, ERR));
    for (int i = 0; i < N; i++) CHECK(rows[i] == 1);
    OK(ts_table_update(store, 0, keys, N, g, ERR));
    const int64_t three[3] = {5, 7, -1};
    float a[3];
    OK(ts_table_find(store, 0, three, 3, 0, rows, NULL, ERR));
    OK(ts_table_find(store, 0, three, 3, 1, a, NULL, ERR));
    for (int k = 0; k < 3; k++) {
      const float accumulator = 0.25f + sums[k] * sums[k];
      CHECK_MSG(a[k] == accumulator && fabsf(rows[k] - (1 - 0.5f * sums[k] / sqrtf(accumulator))) < 1e-6f,
                "%s, key %d: %.9g, %.9g expected", of, k, (double)a[k], (double)accumulator);
    }
    CHECK_MSG(counted_rows(store, 0) == 3 && counter_of(store, TS_STAT_update_distinct) == 3, "%s", of);
  }
}

/* Batches of more keys than a lookup's piece, into one shard and into sixteen; read again in another order. */
static void tables_grow_across_shards_within_a_batch(void) {
  static const char *const shards[] = {"1", "16", "64"};
  enum { N = 70000 };
  int64_t *keys = malloc(N * sizeof *keys), *listed = malloc(N * sizeof *listed);
  float *rows = malloc(N * sizeof *rows * 2), *first = malloc(N * sizeof *first * 2);
  for (int s = 0; s < 3; s++)
    for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
      if (i != 0 && i != 5 && i != 7) continue;
      const char *of = storage_types[i].name;
      ts_config *config = config_of_type(&storage_types[i], i == 0 ? "268435456" : "1048576,268435456", "rows");
      ts_config_set(config, "shards", shards[s], NULL, 0);
      ts_store *store = open_config(config);
      if (store == NULL) continue;
      add_config(store, CONFIG("name", "v", "dim", "2", "learning_rate", "1"));
      for (int64_t k = 0; k < N; k++) keys[k] = k % 2 == 0 ? k : -k;
      OK(ts_table_lookup(store, 0, keys, N, first, ERR));
      for (int64_t k = 0; k < 2 * N; k++) rows[k] = 1;
      OK(ts_table_update(store, 0, keys, N, rows, ERR));
      for (int64_t k = 0; k < N; k++) {
        const int64_t from = (k * 7919 + 11) % N;
        listed[k] = from % 2 == 0 ? from : -from;
      }
      OK(ts_table_lookup(store, 0, listed, N, rows, ERR));
      uint64_t wrong = 0;
      for (int64_t k = 0; k < N; k++) {
        const int64_t from = (k * 7919 + 11) % N;
        wrong += rows[2 * k] != first[2 * from] - 1 || rows[2 * k + 1] != first[2 * from + 1] - 1;
      }
      CHECK_MSG(wrong == 0, "%s with %s shards: %llu rows", of, shards[s], (unsigned long long)wrong);
      uint64_t n;
      OK(ts_table_keys(store, 0, listed, N, &n, ERR));
      CHECK_MSG(n == N && counter_of(store, TS_STAT_created) == N && counted_rows(store, 0) == N, "%s: %llu", of,
                (unsigned long long)n);
      ts_store_close(store);
    }
  free(keys);
  free(listed);
  free(rows);
  free(first);
}

/* A threshold of n: the lookup after n occurrences gets the row, whether they came in n batches or in one. Occurrences of
 * the same batch are answered alike. Updates and read-only lookups count nothing. */
static void the_threshold_is_exact(void) {
  static const char *const kinds[] = {"counter", "bloom"};
  ON_EVERY_TYPE(store, "128")
  for (uint32_t t = 0; t < 2; t++) {
    add_config(store, CONFIG("name", kinds[t], "dim", "3", "admission", kinds[t], "admission.frequency", "5",
                             "admission.default_value", "-0.5", "initializer", "constant", "initializer.value", "2"));
    int64_t keys[6] = {1, 1, 1, 1, 1, 1};
    float rows[18], g[18] = {0};
    uint8_t found;
    uint64_t frequency;
    for (int lookup = 0; lookup < 5; lookup++) { /* one by one */
      OK(ts_table_metadata(store, t, keys, 1, &frequency, NULL, ERR));
      CHECK_MSG(frequency == (uint64_t)lookup, "%s, %s: %llu", of, kinds[t], (unsigned long long)frequency);
      OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
      CHECK_MSG(rows[0] == -0.5f && rows[2] == -0.5f, "%s, %s, lookup %d: %g", of, kinds[t], lookup, (double)rows[0]);
      OK(ts_table_find(store, t, keys, 1, 0, rows, &found, ERR));
      CHECK_MSG(!found && rows[0] == 0, "%s", of);
      if (lookup < 4) OK(ts_table_update(store, t, keys, 1, g, ERR));
    }
    CHECK_MSG(counted_rows(store, t) == 0, "%s, %s", of, kinds[t]);
    OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
    CHECK_MSG(rows[0] == 2 && counted_rows(store, t) == 1, "%s, %s: the sixth lookup gives %g", of, kinds[t], (double)rows[0]);
    for (int i = 0; i < 6; i++) keys[i] = 2; /* all at once */
    OK(ts_table_lookup(store, t, keys, 4, rows, ERR));
    CHECK_MSG(rows[0] == -0.5f, "%s", of);
    OK(ts_table_lookup(store, t, keys, 6, rows, ERR)); /* four before it: none of its six */
    for (int i = 0; i < 18; i++) CHECK_MSG(rows[i] == -0.5f, "%s, %s: %g", of, kinds[t], (double)rows[i]);
    OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
    CHECK_MSG(rows[0] == 2, "%s, %s", of, kinds[t]);
    keys[0] = 3; /* bags of keys without a row hold the default; an update after the last counted occurrence makes the row */
    keys[1] = 2;
    const uint64_t offsets[3] = {0, 2, 2};
    OK(ts_table_lookup_bags(store, t, keys, offsets, 2, NULL, TS_COMBINER_SUM, 0, rows, ERR));
    CHECK_MSG(rows[0] == 1.5f && rows[3] == 0, "%s, %s: %g", of, kinds[t], (double)rows[0]);
    for (int i = 0; i < 4; i++) OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
    OK(ts_table_update(store, t, keys, 1, g, ERR));
    OK(ts_table_find(store, t, keys, 1, 0, rows, &found, ERR));
    CHECK_MSG(found && rows[0] == 2, "%s, %s", of, kinds[t]);
  }
}

/* A row that went must be admitted anew where lookups are counted exactly. A filter's counters cannot be taken back: it
 * admits at once. The filter is asked for by the name that it had before. */
static void a_removed_key_is_admitted_anew(void) {
  ON_EVERY_TYPE(store, "128") {
    add_config(store, CONFIG("name", "c", "dim", "3", "admission", "counter", "admission.frequency", "2"));
    add_config(store, CONFIG("name", "b", "dim", "3", "admission", "cbf", "admission.frequency", "2"));
    const int64_t keys[3] = {8, 8, 8};
    float rows[9];
    uint64_t removed, frequency, needed;
    char text[1000];
    OK(ts_table_describe(store, 1, text, sizeof text, &needed, ERR));
    CHECK_MSG(strstr(text, "admission=bloom\n") != NULL, "%s", text);
    for (uint32_t t = 0; t < 2; t++) {
      OK(ts_table_lookup(store, t, keys, 2, rows, ERR));
      OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
      OK(ts_table_remove(store, t, keys, 1, &removed, ERR));
      OK(ts_table_metadata(store, t, keys, 1, &frequency, NULL, ERR));
      CHECK_MSG(removed == 1 && frequency == (t == 0 ? 0 : 2), "%s: %llu", of, (unsigned long long)frequency);
      OK(ts_table_lookup(store, t, keys, 1, rows, ERR));
      CHECK_MSG(counted_rows(store, t) == t, "%s, table %u", of, t);
    }
  }
}

/* Both definitions of the weight, on rows in every tier: w = (2, 2, 2, 2) has half the squares 8 and norm 4. */
static void weights_expire_by_both_definitions(void) {
  static const struct {
    const char *form, *threshold;
    uint64_t left;
  } cases[] = {{"half-squared", "8", 5}, {"half-squared", "8.001", 4}, {"norm", "4", 5}, {"norm", "4.001", 4},
               {"norm", "0.5", 6},       {"half-squared", "0.5", 6},   {"norm", "1e9", 0}};
  ON_EVERY_TYPE(store, "32") /* two rows a tier */
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char name[8];
    snprintf(name, sizeof name, "t%u", c);
    /* Four weights of 0, 1, 2, 3, 4, 5 and -3: half squares 0, 2, 8, 18, 32, 50, 18, norms 0, 2, 4, 6, 8, 10, 6. */
    add_config(store, CONFIG("name", name, "dim", "4", "learning_rate", "1", "initializer", "constant", "expire.l2",
                             cases[c].threshold, "expire.l2_form", cases[c].form));
    const int64_t keys[7] = {0, 1, 2, 3, 4, 5, 6};
    float rows[28], g[28];
    for (int i = 0; i < 28; i++) g[i] = i / 4 < 6 ? -(float)(i / 4) : 3;
    OK(ts_table_lookup(store, c, keys, 7, rows, ERR));
    OK(ts_table_update(store, c, keys, 7, g, ERR)); /* expires as it goes */
    OK(ts_table_expire(store, c, 0, NULL, ERR));
    CHECK_MSG(counted_rows(store, c) == cases[c].left, "%s: %s below %s leaves %llu rows, not %llu", of, cases[c].form,
              cases[c].threshold, (unsigned long long)counted_rows(store, c), (unsigned long long)cases[c].left);
    int32_t tiers[7];
    OK(ts_table_lookup_tier(store, c, keys, 7, tiers, ERR));
    CHECK_MSG(tiers[0] == -1, "%s", of);
  }
}

/* Four places; what leaves is read off where rows are. */
static void the_right_row_leaves(void) {
  static const struct {
    const char *policy;
    int64_t uses[12];   /* one a call */
    int64_t newcomers[3], leave[3];
  } cases[] = {
      {"lru", {1, 2, 3, 4, 1, 3, 1}, {5, 6, 7}, {2, 4, 3}},
      {"lru", {1, 2, 3, 4}, {5, 6, 7}, {1, 2, 3}},
      {"lfu", {1, 1, 1, 2, 2, 3, 4, 4}, {5, 6, 7}, {3, 5, 6}}, /* a newcomer is the rarest at once */
      {"lfu", {4, 3, 3, 2, 2, 2, 1, 1, 1, 1}, {4, 5, 6}, {-1, 3, 5}}, /* 4 is used again: 3 is as rare then, and older */
  };
  for (uint32_t i = 0; i < STORAGE_TYPES; i++)
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases && all_tiers_of(&storage_types[i]) > 1; c++) {
      const char *of = storage_types[i].name;
      static const char *const sizes[] = {"64,1048576", "64,64,1048576", "64,64,64,1048576"};
      ts_config *config = config_of_type(&storage_types[i], sizes[all_tiers_of(&storage_types[i]) - 2], "rows");
      ts_config_set(config, "eviction_threads", "0", NULL, 0);
      ts_config_set(config, "policy", cases[c].policy, NULL, 0);
      ts_store *store = open_config(config);
      if (store == NULL) continue;
      add_config(store, CONFIG("name", "v", "dim", "4"));
      float row[4];
      for (int k = 0; k < 12 && cases[c].uses[k] != 0; k++) OK(ts_table_lookup(store, 0, &cases[c].uses[k], 1, row, ERR));
      for (int k = 0; k < 3; k++) {
        OK(ts_table_lookup(store, 0, &cases[c].newcomers[k], 1, row, ERR));
        if (cases[c].leave[k] < 0) continue;
        CHECK_MSG(tier_of(store, cases[c].leave[k]) == 1 && tier_of(store, cases[c].newcomers[k]) == 0,
                  "%s, case %u: %lld came, %lld is in tier %d", of, c, (long long)cases[c].newcomers[k],
                  (long long)cases[c].leave[k], tier_of(store, cases[c].leave[k]));
        uint64_t first;
        OK(ts_table_rows(store, 0, &first, 1, ERR));
        CHECK_MSG(first == 4, "%s: %llu rows in four places", of, (unsigned long long)first);
      }
      ts_store_close(store);
    }
}

/* Three tiers of one row, one row and plenty: what is used comes to the first from anywhere, what was there goes down step by
 * step, and an update finds it anywhere. */
static void rows_sink_and_rise_through_three_tiers(void) {
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    if (all_tiers_of(&storage_types[i]) != 3) continue;
    const char *of = storage_types[i].name;
    ts_store *store = open_small(&storage_types[i], "32"); /* weights and one slot of four */
    if (store == NULL) continue;
    add_config(store, CONFIG("name", "v", "dim", "4", "optimizer", "adagrad", "learning_rate", "0.1", "initializer", "constant",
                             "initializer.value", "1"));
    float rows[12], a[12], g[12];
    for (int j = 0; j < 12; j++) g[j] = 2;
    for (int64_t key = 1; key <= 3; key++) {
      OK(ts_table_update(store, 0, &key, 1, g, ERR));
      OK(ts_table_lookup(store, 0, &key, 1, rows, ERR));
    }
    const int64_t keys[3] = {1, 2, 3};
    CHECK_MSG(tier_of(store, 3) == 0 && tier_of(store, 2) == 1 && tier_of(store, 1) == 2, "%s: %d %d %d", of,
              tier_of(store, 3), tier_of(store, 2), tier_of(store, 1));
    OK(ts_table_find(store, 0, keys, 3, 0, rows, NULL, ERR));
    OK(ts_table_find(store, 0, keys, 3, 1, a, NULL, ERR));
    for (int j = 0; j < 12; j++) CHECK_MSG(fabsf(a[j] - 4.1f) < 1e-6f && fabsf(rows[j] - 0.9012270f) < 1e-6f, "%s", of);
    CHECK_MSG(tier_of(store, 1) == 2, "%s: find moves nothing", of);
    OK(ts_table_update(store, 0, keys, 3, g, ERR)); /* wherever they are */
    OK(ts_table_lookup(store, 0, keys, 1, rows, ERR));
    CHECK_MSG(tier_of(store, 1) == 0 && counted_rows(store, 0) == 3, "%s: the row of the last tier is in %d", of, tier_of(store, 1));
    OK(ts_table_find(store, 0, keys, 3, 0, rows, NULL, ERR));
    OK(ts_table_find(store, 0, keys, 3, 1, a, NULL, ERR));
    for (int j = 0; j < 12; j++) CHECK_MSG(fabsf(a[j] - 8.1f) < 1e-6f && fabsf(rows[j] - 0.8309542f) < 1e-6f, "%s", of);
    ts_store_close(store);
  }
}

/* All that an optimizer keeps of a row, scalars too, goes where the row goes: training with three places in the first tier
 * gives the bits of training without tiers. */
static void everything_of_a_row_moves_with_it(void) {
  enum { KINDS = 2 * TS_OPTIMIZERS };
  static uint64_t expected[KINDS];
  int64_t all[40];
  for (int64_t i = 0; i < 40; i++) all[i] = i - 20;
  ON_EVERY_TYPE(store, "512") {
    for (uint32_t t = 0; t < KINDS; t++) {
      const uint32_t o = t / 2;
      char name[8];
      snprintf(name, sizeof name, "t%u", t);
      ts_config *config = CONFIG("name", name, "dim", "7", "optimizer", ts_optimizer_names[o], "dtype", t % 2 ? "bf16" : "fp32",
                                 "record_frequency", "1", "record_version", "1");
      if (o == TS_ADAGRAD_DECAY || o == TS_ADAGRAD_DECAY_V2) ts_config_set(config, "decay_step", "2", NULL, 0);
      add_config(store, config);
    }
    for (int64_t step = 0; step < 24; step++)
      for (uint32_t t = 0; t < KINDS; t++) {
        int64_t keys[8];
        float rows[56], g[56];
        for (int64_t i = 0; i < 8; i++) keys[i] = all[ts_random64(3, (uint64_t)step, (uint64_t)i) % 40];
        for (int i = 0; i < 56; i++) g[i] = 0.1f * (float)((i * 7 + step * 5) % 11 - 5);
        OK(ts_store_set_step(store, step, ERR));
        OK(ts_table_lookup(store, t, keys, 8, rows, ERR));
        OK(ts_table_update(store, t, keys, 8, g, ERR));
      }
    for (uint32_t t = 0; t < KINDS; t++) {
      uint64_t frequencies[40], digest = 0;
      int64_t versions[40];
      float rows[40 * 7];
      OK(ts_table_metadata(store, t, all, 40, frequencies, versions, ERR));
      digest = ts_hash_bytes(frequencies, sizeof frequencies, digest);
      digest = ts_hash_bytes(versions, sizeof versions, digest);
      for (uint32_t slot = 0; slot < ts_optimizer_slots((ts_optimizer_kind)(t / 2)); slot++) {
        OK(ts_table_find(store, t, all, 40, slot, rows, NULL, ERR));
        digest = ts_hash_bytes(rows, sizeof rows, digest);
      }
      if (type_ == 0) expected[t] = digest;
      CHECK_MSG(digest == expected[t], "%s on %s with %s rows", ts_optimizer_names[t / 2], of, t % 2 ? "bf16" : "fp32");
      uint64_t first;
      OK(ts_table_rows(store, t, &first, 1, ERR));
      CHECK_MSG(all_tiers_of(&storage_types[type_]) == 1 || counted_rows(store, t) - first > 20, "%s: few rows had to move", of);
    }
  }
}

/* DeepRec's default: 1 GiB for each tier that the list leaves out. */
static void missing_sizes_are_a_gibibyte(void) {
  static const struct {
    const char *storage, *size;
    unsigned long long limits[3];
  } cases[] = {{"DRAM", "", {1073741824}},
               {"DRAM_SSDHASH", "8388608", {8388608, 1073741824}},
               {"DRAM_PMEM_SSDHASH", "8388608,1048576", {8388608, 1048576, 1073741824}},
               {"DRAM_PMEM_SSDHASH", "8388608,1048576,2097152", {8388608, 1048576, 2097152}}};
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    ts_store *store = open_config(
        CONFIG("storage", cases[c].storage, "size", cases[c].size, "path", folder, c < 2 ? "seed" : "pmem", c < 2 ? "1" : "memkind"));
    if (store == NULL) continue;
    char text[4096], wanted[64];
    uint64_t needed;
    CHECK(ts_store_memory(store, text, sizeof text, &needed) == TS_OK);
    for (uint32_t t = 0; t < 3 && cases[c].limits[t] != 0; t++) {
      snprintf(wanted, sizeof wanted, "tier=%u limit=%llu ", t, cases[c].limits[t]);
      CHECK_MSG(strstr(text, wanted) != NULL, "case %u: no \"%s\"", c, wanted);
    }
    ts_store_close(store);
  }
}

/* Two stores on the same directory, tables of the same name in them, and names that are no file names. */
static void stores_share_a_directory(void) {
  static const char *const names[] = {"a", "a/b", "../a", "A", "", " ", "a b\n", "\xc3\xa4"};
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const char *of = storage_types[i].name;
    ts_store *stores[2] = {open_small(&storage_types[i], "64"), open_small(&storage_types[i], "64")};
    uint32_t made = 0;
    for (uint32_t n = 0; n < sizeof names / sizeof *names && stores[0] != NULL && stores[1] != NULL; n++) {
      for (int s = 0; s < 2; s++) {
        ts_config *config = CONFIG("name", names[n], "dim", "4", "learning_rate", "1", "initializer", "constant");
        uint32_t table = UINT32_MAX;
        const int32_t status = ts_table_create(stores[s], config, &table, ERR);
        CHECK_MSG(names[n][0] == 0 ? status == TS_EINVAL : status == TS_OK && table == made, "%s, \"%s\": %s", of, names[n],
                  message);
        ts_config_free(config);
      }
      made += names[n][0] != 0;
    }
    for (uint32_t t = 0; t < made; t++)
      for (int s = 0; s < 2; s++) {
        int64_t keys[30];
        float g[120];
        for (int k = 0; k < 30; k++) keys[k] = k;
        for (int j = 0; j < 120; j++) g[j] = -(float)((uint32_t)s * 1000 + t * 100 + (uint32_t)j / 4);
        OK(ts_table_update(stores[s], t, keys, 30, g, ERR));
      }
    for (uint32_t t = 0; t < made; t++)
      for (int s = 0; s < 2; s++)
        for (int64_t key = 0; key < 30; key++) {
          float row[4];
          OK(ts_table_lookup(stores[s], t, &key, 1, row, ERR));
          CHECK_MSG(row[0] == (float)((uint32_t)s * 1000 + t * 100 + (uint32_t)key), "%s: table %u of store %d", of, t, s);
        }
    for (int s = 0; s < 2; s++) ts_store_close(stores[s]);
  }
}

/* Tiers are volatile: a store begins empty where another one was, and leaves nothing. */
static void a_directory_can_be_used_again(void) {
  for (int round = 0; round < 2; round++)
    ON_EVERY_TYPE(store, "64") {
      add_config(store, CONFIG("name", "v", "dim", "4", "initializer", "constant", "learning_rate", "1"));
      int64_t keys[50];
      float rows[200], g[200];
      for (int k = 0; k < 50; k++) keys[k] = k;
      for (int j = 0; j < 200; j++) g[j] = 1;
      CHECK_MSG(counted_rows(store, 0) == 0, "%s", of);
      OK(ts_table_lookup(store, 0, keys, 50, rows, ERR));
      for (int j = 0; j < 200; j++) CHECK_MSG(rows[j] == 0, "%s, round %d", of, round);
      OK(ts_table_update(store, 0, keys, 50, g, ERR));
      OK(ts_store_settle(store, ERR));
    }
  DIR *dir = opendir(folder);
  CHECK(dir != NULL);
  uint32_t left = 0;
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) left += entry->d_name[0] != '.';
  CHECK_MSG(left == 0, "%u files are left in %s", left, folder);
  if (dir != NULL) closedir(dir);
}

static void the_environment_sets_defaults(void) {
  static const struct {
    const char *variable, *value, *option;
    bool opens;
  } cases[] = {
      {"TF_MULTI_TIER_EV_EVICTION_THREADS", "0", NULL, true},   {"TF_MULTI_TIER_EV_EVICTION_THREADS", "3", NULL, true},
      {"TF_MULTI_TIER_EV_EVICTION_THREADS", "many", NULL, false}, {"TF_MULTI_TIER_EV_EVICTION_THREADS", "65", NULL, false},
      {"TF_SSDHASH_ASYNC_COMPACTION", "1", NULL, true},         {"TF_SSDHASH_ASYNC_COMPACTION", "true", NULL, true},
      {"TF_SSDHASH_ASYNC_COMPACTION", "perhaps", NULL, false},
  };
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    setenv(cases[c].variable, cases[c].value, 1);
    ts_config *config = CONFIG("storage", "DRAM_SSDHASH", "size", "8388608,8388608", "path", folder);
    ts_store *store = NULL;
    const int32_t status = ts_store_open(config, &store, ERR);
    CHECK_MSG(cases[c].opens ? status == TS_OK : status == TS_EINVAL && strstr(message, cases[c].variable) != NULL,
              "%s=%s: %d %s", cases[c].variable, cases[c].value, status, message);
    if (store != NULL && c < 2) CHECK_MSG((store->evictors != NULL) == (c == 1), "%s", cases[c].value);
    ts_store_close(store);
    ts_config_free(config);
    unsetenv(cases[c].variable);
  }
}

int main(void) {
  if (!make_folder("behaviour")) return 1;
  every_int64_is_a_key();
  empty_batches_change_nothing();
  a_key_that_fills_a_batch_steps_once();
  tables_grow_across_shards_within_a_batch();
  the_threshold_is_exact();
  a_removed_key_is_admitted_anew();
  weights_expire_by_both_definitions();
  the_right_row_leaves();
  rows_sink_and_rise_through_three_tiers();
  everything_of_a_row_moves_with_it();
  missing_sizes_are_a_gibibyte();
  stores_share_a_directory();
  a_directory_can_be_used_again();
  the_environment_sets_defaults();
  remove_folder();
  return test_result();
}
