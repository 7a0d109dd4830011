/* Behaviours that DeepRec's own tests of EmbeddingVariable hold it to, as far as they need neither TensorFlow, a GPU nor a
 * checkpoint (tensorflow/core/kernels/embedding_variable_ops_test.cc, tensorflow/python/ops/embedding_variable_ops_test.py).
 * Sizes are DeepRec's: padded rows only. What its Bloom counters and its optimizers compute is in the tests of those. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <math.h>
#include <pthread.h>

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s", message)

static ts_store *open_as(const char *storage, const char *size) {
  return open_config(CONFIG("storage", storage, "size", size, "size_counts", "rows", "path", folder, "pmem", "libpmem",
                            "policy", "lru"));
}

static uint64_t rows_in(ts_store *store, uint32_t table) {
  uint64_t counts[3] = {0};
  OK(ts_table_rows(store, table, counts, 3, ERR));
  return counts[0] + counts[1] + counts[2];
}

static void weights_below_the_threshold_expire(void) {
  ts_store *store = open_as("DRAM", "");
  add_config(store, CONFIG("name", "v", "dim", "3", "learning_rate", "1", "initializer", "constant", "expire.l2", "14"));
  int64_t keys[5] = {0, 1, 2, 3, 4};
  float g[15];
  for (int i = 0; i < 15; i++) g[i] = -(float)(1 + i / 3); /* to weights of 1 + key: half squares 1.5, 6, 13.5, 24, 37.5 */
  OK(ts_table_update(store, 0, keys, 5, g, ERR)); /* expires as it goes */
  OK(ts_table_expire(store, 0, 0, NULL, ERR));
  int32_t tiers[5];
  OK(ts_table_lookup_tier(store, 0, keys, 5, tiers, ERR));
  CHECK(rows_in(store, 0) == 2 && tiers[3] == 0 && tiers[4] == 0);
  ts_store_close(store);
}

static void rows_of_old_steps_expire(void) {
  static const char *const storages[] = {"DRAM", "DRAM_SSDHASH", "DRAM_LEVELDB", "DRAM_PMEM", "SSDHASH"};
  for (uint32_t s = 0; s < 5; s++) {
    ts_store *store = open_as(storages[s], s == 0 || s == 4 ? "1048576" : "256,1048576");
    add_config(store, CONFIG("name", "v", "dim", "3", "expire.steps", "5"));
    const float g[3] = {1, 1, 1};
    for (int64_t key = 0; key < 30; key++) {
      OK(ts_store_set_step(store, key, ERR));
      OK(ts_table_update(store, 0, &key, 1, g, ERR));
    }
    OK(ts_store_set_step(store, 30, ERR));
    OK(ts_table_expire(store, 0, 0, NULL, ERR));
    int64_t keys[8];
    uint64_t n = 0;
    OK(ts_table_keys(store, 0, keys, 8, &n, ERR));
    CHECK_MSG(n == 5, "%s keeps %llu rows", storages[s], (unsigned long long)n);
    for (uint64_t i = 0; i < n && i < 8; i++) CHECK(keys[i] >= 25 && keys[i] <= 29);
    ts_store_close(store);
  }
}

static void five_keys_are_exported(void) {
  ts_store *store = open_as("DRAM", "");
  add_config(store, CONFIG("name", "v", "dim", "8", "record_version", "1", "initializer", "constant", "initializer.value", "3"));
  const int64_t keys[5] = {4, -4, INT64_MIN, 0, -1};
  float rows[40], g[40] = {0};
  OK(ts_store_set_step(store, 9, ERR));
  OK(ts_table_update(store, 0, keys, 5, g, ERR));
  int64_t out[5], versions[5];
  uint64_t n, seen = 0;
  OK(ts_table_keys(store, 0, out, 5, &n, ERR));
  CHECK(n == 5);
  OK(ts_table_find(store, 0, out, 5, 0, rows, NULL, ERR));
  OK(ts_table_metadata(store, 0, out, 5, NULL, versions, ERR));
  for (int i = 0; i < 5; i++) {
    CHECK(rows[i * 8] == 3 && rows[i * 8 + 7] == 3 && versions[i] == 9);
    for (int k = 0; k < 5; k++) seen |= (uint64_t)(out[i] == keys[k]) << k; /* negative ones are saved, too */
  }
  CHECK(seen == 31);
  ts_store_close(store);
}

static void *insert_five(void *store) {
  const int64_t keys[5] = {1, 2, 3, 4, 5};
  float rows[5 * 128];
  char text[256];
  CHECK(ts_table_lookup(store, 0, keys, 5, rows, text, sizeof text) == TS_OK);
  return NULL;
}

static void sixteen_threads_insert_one_row_a_key(void) {
  ts_store *store = open_as("DRAM_SSDHASH", "1536,1048576");
  add_config(store, CONFIG("name", "v", "dim", "128"));
  pthread_t ids[16];
  for (int i = 0; i < 16; i++) pthread_create(&ids[i], NULL, insert_five, store);
  for (int i = 0; i < 16; i++) pthread_join(ids[i], NULL);
  CHECK(rows_in(store, 0) == 5 && counter_of(store, TS_STAT_created) == 5);
  ts_store_close(store);
}

static void removed_keys_are_counted_out(void) {
  static const char *const storages[] = {"DRAM", "LEVELDB", "SSDHASH", "DRAM_LEVELDB"};
  for (uint32_t s = 0; s < 4; s++) {
    ts_store *store = open_as(storages[s], s == 3 ? "640,1048576" : "1048576");
    add_config(store, CONFIG("name", "v", "dim", "16"));
    int64_t keys[100];
    static float rows[100 * 16];
    for (int64_t k = 0; k < 100; k++) keys[k] = k;
    OK(ts_table_lookup(store, 0, keys, 100, rows, ERR));
    uint64_t removed;
    OK(ts_table_remove(store, 0, keys, 2, &removed, ERR));
    CHECK_MSG(removed == 2 && rows_in(store, 0) == 98, "%s has %llu", storages[s], (unsigned long long)rows_in(store, 0));
    ts_store_close(store);
  }
}

static void *lookup_five_times(void *store) {
  const int64_t key = 20;
  float row[4];
  char text[256];
  CHECK(ts_table_lookup(store, 0, &key, 1, row, text, sizeof text) == TS_OK);
  return NULL;
}

static void a_counter_filter_counts_concurrent_lookups(void) {
  ts_store *store = open_as("DRAM", "");
  add_config(store, CONFIG("name", "v", "dim", "4", "admission", "counter", "admission.frequency", "7"));
  pthread_t ids[5];
  for (int i = 0; i < 5; i++) pthread_create(&ids[i], NULL, lookup_five_times, store);
  for (int i = 0; i < 5; i++) pthread_join(ids[i], NULL);
  const int64_t key = 20;
  uint64_t frequency;
  OK(ts_table_metadata(store, 0, &key, 1, &frequency, NULL, ERR));
  CHECK(frequency == 5 && rows_in(store, 0) == 0);
  ts_store_close(store);
}

static void ssd_rows_are_right_while_in_the_write_buffer(void) {
  ts_store *store = open_as("SSDHASH", "1048576");
  add_config(store, CONFIG("name", "v", "dim", "126", "learning_rate", "1", "initializer", "constant"));
  static float g[10 * 126], rows[10 * 126];
  int64_t keys[10];
  for (int64_t k = 0; k < 10; k++) keys[k] = k;
  for (int i = 0; i < 10 * 126; i++) g[i] = -(float)(i / 126);
  OK(ts_table_update(store, 0, keys, 10, g, ERR));
  OK(ts_table_find(store, 0, keys, 10, 0, rows, NULL, ERR));
  for (int i = 0; i < 10 * 126; i++) CHECK(rows[i] == (float)(i / 126));
  ts_store_close(store);
}

/* Four places, four batches; the key not seen lately is the one below. And the same bits as a store without tiers. */
static void lookup_tier_tells_where_rows_went(void) {
  static const char *const storages[] = {"DRAM_SSDHASH", "DRAM_LEVELDB", "DRAM_PMEM"};
  static const int64_t batches[4][3] = {{1, 2, 3}, {1, 2, 4}, {1, 2, 2}, {1, 2, 5}};
  static const int64_t keys[6] = {1, 2, 3, 4, 5, 6};
  static const int32_t expected[6] = {0, 0, 1, 0, 0, -1};
  for (uint32_t s = 0; s < 3; s++) {
    ts_store *stores[2] = {open_as(storages[s], "1024,1048576"), open_as("DRAM", "")};
    float rows[2][90], g[90];
    for (int i = 0; i < 90; i++) g[i] = 0.5f + 0.01f * (float)i;
    for (int k = 0; k < 2; k++) {
      add_config(stores[k], CONFIG("name", "v", "dim", "30", "optimizer", "adagrad"));
      for (int b = 0; b < 4; b++) {
        OK(ts_table_lookup(stores[k], 0, batches[b], 3, rows[k], ERR));
        OK(ts_table_update(stores[k], 0, batches[b], 3, g, ERR));
      }
    }
    int32_t tiers[6];
    OK(ts_table_lookup_tier(stores[0], 0, keys, 6, tiers, ERR));
    for (int i = 0; i < 6; i++) CHECK_MSG(tiers[i] == expected[i], "%s: key %d is in tier %d", storages[s], i + 1, tiers[i]);
    uint64_t digests[2];
    for (int k = 0; k < 2; k++) OK(ts_store_digest(stores[k], &digests[k], ERR));
    CHECK_MSG(digests[0] == digests[1], "%s", storages[s]);
    for (int k = 0; k < 2; k++) ts_store_close(stores[k]);
  }
}

/* Nine keys, sixty steps of Adagrad, room for sixteen rows: as a plain variable. */
static void training_equals_a_plain_variable(void) {
  static const char *const storages[] = {"DRAM", "DRAM_LEVELDB", "DRAM_SSDHASH", "DRAM_PMEM", "DRAM_PMEM_SSDHASH"};
  for (uint32_t s = 0; s < 5; s++) {
    ts_store *store = open_as(storages[s], s == 0 ? "" : "1024,1048576");
    add_config(store, CONFIG("name", "v", "dim", "30", "optimizer", "adagrad", "learning_rate", "0.1", "initializer", "constant",
                             "initializer.value", "1"));
    float w[9], a[9], rows[30], g[30];
    for (int k = 0; k < 9; k++) {
      w[k] = 1;
      a[k] = 0.1f;
    }
    for (int step = 0; step < 60; step++) {
      int64_t key = step * 5 % 9;
      const float gradient = 0.25f * (float)(1 + step % 4);
      for (int j = 0; j < 30; j++) g[j] = gradient;
      OK(ts_table_lookup(store, 0, &key, 1, rows, ERR));
      CHECK(fabsf(rows[0] - w[key]) < 1e-6f && memcmp(rows, rows + 1, 29 * sizeof(float)) == 0);
      OK(ts_table_update(store, 0, &key, 1, g, ERR));
      a[key] += gradient * gradient;
      w[key] -= 0.1f * gradient / sqrtf(a[key]);
    }
    ts_store_close(store);
  }
}

/* Ids 1, 1, 1, 2, 2, 3 in two steps: frequencies 6, 4, 2 wherever the rows are; with a filter of 3 only the first two
 * have rows, and the third waits with what was counted and the step that last looked it up. */
static void frequencies_and_versions_are_kept(void) {
  static const char *const storages[] = {"DRAM", "DRAM_LEVELDB", "DRAM_SSDHASH", "DRAM_PMEM", "SSDHASH"};
  const int64_t ids[6] = {1, 1, 1, 2, 2, 3}, keys[4] = {1, 2, 3, 4};
  for (uint32_t s = 0; s < 5; s++)
    for (int filtered = 0; filtered < 2; filtered++) {
      ts_store *store = open_as(storages[s], s == 0 ? "" : s == 4 ? "1048576" : "64,1048576");
      ts_config *config = CONFIG("name", "v", "dim", "3", "record_frequency", "1", "record_version", "1");
      if (filtered) {
        ts_config_set(config, "admission", "counter", NULL, 0);
        ts_config_set(config, "admission.frequency", "3", NULL, 0);
      }
      add_config(store, config);
      float rows[18], g[18] = {0};
      for (int64_t step = 0; step < 2; step++) {
        OK(ts_store_set_step(store, step, ERR));
        OK(ts_table_lookup(store, 0, ids, 6, rows, ERR));
        OK(ts_table_update(store, 0, ids, 6, g, ERR));
      }
      uint64_t frequencies[4];
      int64_t versions[4];
      OK(ts_table_metadata(store, 0, keys, 4, frequencies, versions, ERR));
      CHECK_MSG(frequencies[0] == 6 && frequencies[1] == 4 && frequencies[2] == 2 && frequencies[3] == 0, "%s: %llu %llu %llu",
                storages[s], (unsigned long long)frequencies[0], (unsigned long long)frequencies[1],
                (unsigned long long)frequencies[2]);
      CHECK(versions[0] == 1 && versions[1] == 1 && versions[2] == 1 && versions[3] == -1);
      int32_t tiers[3];
      OK(ts_table_lookup_tier(store, 0, keys, 3, tiers, ERR));
      CHECK(tiers[0] >= 0 && (tiers[2] >= 0) == !filtered);
      ts_store_close(store);
    }
}

static void three_lookups_give_the_default_the_fourth_the_row(void) {
  static const char *const storages[] = {"DRAM", "DRAM_SSDHASH", "LEVELDB", "DRAM_PMEM_LEVELDB"};
  for (uint32_t s = 0; s < 4; s++)
    for (int bags = 0; bags < 2; bags++) {
      ts_store *store = open_as(storages[s], s == 0 || s == 2 ? "1048576" : "1024,1048576");
      add_config(store, CONFIG("name", "v", "dim", "3", "admission", "counter", "admission.frequency", "3",
                               "admission.default_value", "0.2", "initializer", "constant"));
      const int64_t key = -9;
      const uint64_t offsets[2] = {0, 1};
      const float g[3] = {1, 1, 1};
      for (int i = 0; i < 4; i++) {
        float row[3];
        OK(bags ? ts_table_lookup_bags(store, 0, &key, offsets, 1, NULL, TS_COMBINER_SUM, 0, row, ERR)
                : ts_table_lookup(store, 0, &key, 1, row, ERR));
        CHECK_MSG(row[0] == (i < 3 ? 0.2f : 0) && row[2] == row[0], "%s, lookup %d: %g", storages[s], i + 1, (double)row[0]);
        if (i < 2) OK(ts_table_update(store, 0, &key, 1, g, ERR)); /* without effect */
      }
      ts_store_close(store);
    }
}

static void reading_creates_nothing(void) {
  ts_store *store = open_as("DRAM_SSDHASH", "1024,1048576");
  add_config(store, CONFIG("name", "v", "dim", "3"));
  const int64_t keys[6] = {1, 2, 3, -1, -2, 0};
  float rows[18];
  for (int i = 0; i < 3; i++) OK(ts_table_find(store, 0, keys, 6, 0, rows, NULL, ERR));
  CHECK(rows_in(store, 0) == 0);
  OK(ts_table_lookup(store, 0, keys, 6, rows, ERR));
  CHECK(rows_in(store, 0) == 6);
  ts_store_close(store);
}

/* Two partitions of two places each, as two stores. */
static void partitions_keep_their_own_places(void) {
  static const int32_t expected[6] = {0, 0, 1, 0, 0, -1};
  static const int64_t batches[4][3] = {{1, 2, 3}, {1, 2, 4}, {1, 2, 2}, {1, 2, 5}};
  ts_store *parts[2];
  for (int p = 0; p < 2; p++) {
    parts[p] = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", "256,1048576", "size_counts", "rows", "path", folder,
                                  "policy", "lru", "eviction_threads", "2"));
    add_config(parts[p], CONFIG("name", "v", "dim", "30"));
  }
  float rows[90];
  for (int b = 0; b < 4; b++)
    for (int p = 0; p < 2; p++) {
      int64_t keys[3];
      uint64_t n = 0;
      for (int i = 0; i < 3; i++)
        if (batches[b][i] % 2 == p) keys[n++] = batches[b][i];
      OK(ts_table_lookup(parts[p], 0, keys, n, rows, ERR));
    }
  for (int64_t k = 1; k <= 6; k++) {
    int32_t tier;
    OK(ts_table_lookup_tier(parts[k % 2], 0, &k, 1, &tier, ERR));
    CHECK_MSG(tier == expected[k - 1], "key %lld is in tier %d", (long long)k, tier);
  }
  for (int p = 0; p < 2; p++) ts_store_close(parts[p]);
}

/* A filter of 1: after three lookups the row was counted three times where frequencies are recorded; DeepRec's stops at the
 * filter's threshold when nothing else asks for it, ours then does not keep one. */
static void a_filter_alone_records_no_frequency(void) {
  ts_store *store = open_as("DRAM", "");
  add_config(store, CONFIG("name", "v", "dim", "3", "admission", "counter", "admission.frequency", "1"));
  const int64_t key = 5;
  float row[3];
  uint64_t frequency;
  OK(ts_table_lookup(store, 0, &key, 1, row, ERR));
  OK(ts_table_metadata(store, 0, &key, 1, &frequency, NULL, ERR));
  CHECK(frequency == 1);
  for (int i = 0; i < 2; i++) OK(ts_table_lookup(store, 0, &key, 1, row, ERR));
  OK(ts_table_metadata(store, 0, &key, 1, &frequency, NULL, ERR));
  CHECK(frequency == 0 && rows_in(store, 0) == 1);
  ts_store_close(store);
}

/* Three steps get the default, the update of the third makes the row (of ones): the fourth sees it a step from there. */
static void training_begins_when_a_key_is_admitted(void) {
  static const char *const optimizers[] = {"sgd", "adam", "adagrad-decay-v2"};
  for (uint32_t o = 0; o < 3; o++) {
    ts_store *store = open_as("DRAM_SSDHASH", "1024,1048576");
    add_config(store, CONFIG("name", "v", "dim", "3", "optimizer", optimizers[o], "learning_rate", "0.1", "admission", "counter",
                             "admission.frequency", "3", "initializer", "constant", "initializer.value", "1"));
    const int64_t key = 1;
    const float g[3] = {1, 1, 1};
    for (int step = 1; step <= 4; step++) {
      float row[3];
      OK(ts_table_lookup(store, 0, &key, 1, row, ERR));
      if (step < 4)
        CHECK_MSG(row[0] == 0 && row[2] == 0, "%s, step %d: %g", optimizers[o], step, (double)row[0]);
      else
        CHECK_MSG(row[0] < 1 && row[0] > 0.85f, "%s: %g", optimizers[o], (double)row[0]);
      OK(ts_table_update(store, 0, &key, 1, g, ERR));
    }
    ts_store_close(store);
  }
}

/* Six places of 128 weights and a slot; six ids, six others, the first six again: these are above, with two lookups and two
 * steps, the others below with one. DeepRec's case for HBM over DRAM. */
static void the_ids_of_the_last_batch_are_in_the_first_tier(void) {
  static const char *const storages[] = {"DRAM_PMEM", "DRAM_SSDHASH", "DRAM_LEVELDB"};
  for (uint32_t s = 0; s < 3; s++) {
    /* Four bytes more a row than DeepRec counts: the frequency. No background thread, which would keep a place free. */
    ts_store *store = open_config(CONFIG("storage", storages[s], "size", "6168,1048576", "size_counts", "rows", "path", folder,
                                         "pmem", "libpmem", "policy", "lru", "eviction_threads", "0"));
    add_config(store, CONFIG("name", "v", "dim", "128", "optimizer", "adagrad", "learning_rate", "0.1", "initializer", "constant",
                             "initializer.value", "1", "record_frequency", "1"));
    int64_t ids[12];
    static float w[12 * 128], a[12 * 128], g[6 * 128];
    uint64_t frequencies[12];
    int32_t tiers[12];
    for (int i = 0; i < 12; i++) ids[i] = i;
    for (int i = 0; i < 6 * 128; i++) g[i] = 2;
    for (int b = 0; b < 3; b++) {
      OK(ts_table_lookup(store, 0, ids + (b == 1 ? 6 : 0), 6, w, ERR));
      OK(ts_table_update(store, 0, ids + (b == 1 ? 6 : 0), 6, g, ERR));
    }
    OK(ts_store_settle(store, ERR));
    OK(ts_table_lookup_tier(store, 0, ids, 12, tiers, ERR));
    OK(ts_table_metadata(store, 0, ids, 12, frequencies, NULL, ERR));
    OK(ts_table_find(store, 0, ids, 12, 0, w, NULL, ERR));
    OK(ts_table_find(store, 0, ids, 12, 1, a, NULL, ERR));
    for (int i = 0; i < 12; i++) {
      CHECK_MSG(tiers[i] == (i < 6 ? 0 : 1) && frequencies[i] == (i < 6 ? 2 : 1), "%s: id %d in tier %d, %llu lookups",
                storages[s], i, tiers[i], (unsigned long long)frequencies[i]);
      for (int j = 0; j < 128; j += 127)
        CHECK_MSG(fabsf(a[i * 128 + j] - (i < 6 ? 8.1f : 4.1f)) < 1e-6f &&
                      fabsf(w[i * 128 + j] - (i < 6 ? 0.8309542f : 0.90122706f)) < 1e-6f,
                  "%s: id %d: %.7f, %.7f", storages[s], i, (double)w[i * 128 + j], (double)a[i * 128 + j]);
    }
    ts_store_close(store);
  }
}

/* A variable of two blocks of four is a plain one of eight: a table a block. */
static void blocks_of_dimensions_make_one_row(void) {
  ts_store *store = open_as("DRAM_SSDHASH", "1024,1048576");
  static const char *const names[] = {"whole", "block 0", "block 1"};
  for (int t = 0; t < 3; t++)
    add_config(store, CONFIG("name", names[t], "dim", t == 0 ? "8" : "4", "optimizer", "adagrad-decay", "decay_step", "2",
                             "learning_rate", "0.1", "initializer", "constant", "initializer.value", "1"));
  const int64_t ids[4] = {9, -3, 9, 700};
  float whole[32], parts[2][16], g[32], halves[2][16];
  for (int64_t step = 0; step < 6; step++) {
    for (int i = 0; i < 32; i++) halves[i % 8 / 4][i / 8 * 4 + i % 4] = g[i] = 0.3f * (float)((i * 3 + step) % 7 - 2);
    OK(ts_store_set_step(store, step, ERR));
    OK(ts_table_update(store, 0, ids, 4, g, ERR));
    OK(ts_table_lookup(store, 0, ids, 4, whole, ERR));
    for (uint32_t p = 0; p < 2; p++) {
      OK(ts_table_update(store, p + 1, ids, 4, halves[p], ERR));
      OK(ts_table_lookup(store, p + 1, ids, 4, parts[p], ERR));
    }
    for (int i = 0; i < 32; i++) CHECK_MSG(whole[i] == parts[i % 8 / 4][i / 8 * 4 + i % 4], "step %d, weight %d", (int)step, i);
  }
  CHECK(whole[0] != 1 && whole[8] != 1);
  ts_store_close(store);
}

/* Multi-hash: the row of an id is made of those of its quotient by 5 and its remainder by 3, added, multiplied or joined, and
 * its gradient goes back to both. Trained in tables over two tiers, with many ids on each row, against plain arrays. */
static void quotient_and_remainder_tables_make_a_multi_hash_variable(void) {
  enum { ADD, MULTIPLY, CONCAT, DIM = 4, N = 15 };
  for (int operation = ADD; operation <= CONCAT; operation++) {
    ts_store *store = open_as("DRAM_SSDHASH", "96,1048576"); /* three rows of adagrad with its slot */
    double w[2][3][DIM], a[2][3][DIM];
    for (uint32_t t = 0; t < 2; t++) {
      add_config(store, CONFIG("name", t == 0 ? "q" : "r", "dim", "4", "optimizer", "adagrad", "learning_rate", "0.1"));
      for (int64_t k = 0; k < 3; k++) {
        float row[DIM];
        OK(ts_table_lookup(store, t, &k, 1, row, ERR));
        for (int j = 0; j < DIM; j++) {
          w[t][k][j] = (double)row[j];
          a[t][k][j] = (double)0.1f;
        }
      }
    }
    for (int step = 0; step < 8; step++) {
      int64_t keys[2][N];
      float rows[2][N * DIM], out[N * 2 * DIM], g[N * 2 * DIM], back[2][N * DIM];
      const int width = operation == CONCAT ? 2 * DIM : DIM;
      double sums[2][3][DIM] = {{{0}}};
      for (int i = 0; i < N; i++) {
        const int64_t id = (i * 4 + step) % N;
        keys[0][i] = id / 5;
        keys[1][i] = id % 3;
      }
      for (uint32_t t = 0; t < 2; t++) OK(ts_table_lookup(store, t, keys[t], N, rows[t], ERR));
      for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++) {
          const float q = rows[0][i * DIM + j], r = rows[1][i * DIM + j];
          const double x = w[0][keys[0][i]][j], y = w[1][keys[1][i]][j];
          if (operation == CONCAT) {
            out[i * width + j] = q;
            out[i * width + DIM + j] = r;
          } else {
            out[i * width + j] = operation == ADD ? q + r : q * r;
          }
          const double expected = operation == ADD ? x + y : operation == MULTIPLY ? x * y : x;
          CHECK_MSG(fabs((double)out[i * width + j] - expected) < 1e-5, "operation %d, step %d: %.8f, not %.8f", operation, step,
                    (double)out[i * width + j], expected);
          if (operation == CONCAT) CHECK(fabs((double)out[i * width + DIM + j] - y) < 1e-5);
          for (int p = 0; p < width / DIM; p++) g[i * width + p * DIM + j] = out[i * width + p * DIM + j] - 0.5f;
          /* The derivative by each of the two. */
          const float first = g[i * width + j], second = operation == CONCAT ? g[i * width + DIM + j] : first;
          back[0][i * DIM + j] = operation == MULTIPLY ? first * r : first;
          back[1][i * DIM + j] = operation == MULTIPLY ? second * q : second;
          const double f = expected - 0.5, s = operation == CONCAT ? y - 0.5 : f;
          sums[0][keys[0][i]][j] += operation == MULTIPLY ? f * y : f;
          sums[1][keys[1][i]][j] += operation == MULTIPLY ? s * x : s;
        }
      for (uint32_t t = 0; t < 2; t++) OK(ts_table_update(store, t, keys[t], N, back[t], ERR));
      for (int t = 0; t < 2; t++)
        for (int k = 0; k < 3; k++)
          for (int j = 0; j < DIM; j++) {
            a[t][k][j] += sums[t][k][j] * sums[t][k][j];
            w[t][k][j] -= (double)0.1f * sums[t][k][j] / sqrt(a[t][k][j]);
          }
    }
    CHECK(rows_in(store, 0) == 3 && rows_in(store, 1) == 3);
    ts_store_close(store);
  }
}

/* LFU, thirty ids cycled over a hundred uses in one batch: those used three times leave before those used four times, each in
 * their order. */
static void lfu_counts_repeats_in_a_batch(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", "480,1048576", "size_counts", "rows", "path", folder,
                                       "policy", "lfu", "eviction_threads", "0"));
  add_config(store, CONFIG("name", "v", "dim", "4"));
  int64_t keys[100];
  float rows[400];
  for (int i = 0; i < 100; i++) keys[i] = i % 30;
  OK(ts_table_lookup(store, 0, keys, 100, rows, ERR));
  CHECK(rows_in(store, 0) == 30);
  ts_rows *first = &store->tables[0]->shards[0].rows[0];
  uint64_t slots[50];
  const uint32_t n = ts_policy_victims(first->policy, 50, slots);
  CHECK(n == 30);
  for (uint32_t i = 0; i < n; i++)
    CHECK_MSG(*ts_rows_key(first, slots[i]) == (10 + i) % 30, "victim %u is %lld", i, (long long)*ts_rows_key(first, slots[i]));
  ts_store_close(store);
}

/* Of a batch that brings in more rows than there are places, the first tier keeps those that it uses most. */
static void the_hottest_of_a_batch_stay_up(void) {
  static const char *const storages[] = {"DRAM_SSDHASH", "DRAM_LEVELDB", "DRAM_PMEM"};
  for (uint32_t s = 0; s < 3; s++)
    for (int again = 0; again < 2; again++) {
      ts_store *store = open_config(CONFIG("storage", storages[s], "size", "160,1048576", "size_counts", "rows", "path", folder,
                                           "pmem", "libpmem", "policy", "lfu", "eviction_threads", "0"));
      add_config(store, CONFIG("name", "v", "dim", "4"));
      int64_t keys[50];
      float rows[200];
      uint32_t n = 0;
      if (again) /* they are below, not new */
        for (int i = 0; i < 2; i++) {
          for (int k = 0; k < 40; k++) keys[k] = i == 0 ? k : 100 + k;
          OK(ts_table_lookup(store, 0, keys, 40, rows, ERR));
        }
      for (int k = 0; k < 40; k++) {
        keys[n++] = k;
        if (k >= 25 && k < 35) keys[n++] = k;
      }
      OK(ts_table_lookup(store, 0, keys, n, rows, ERR));
      int32_t tiers[40];
      int64_t all[40];
      for (int k = 0; k < 40; k++) all[k] = k;
      OK(ts_table_lookup_tier(store, 0, all, 40, tiers, ERR));
      for (int k = 0; k < 40; k++)
        CHECK_MSG((tiers[k] == 0) == (k >= 25 && k < 35), "%s, %d: key %d is in tier %d", storages[s], again, k, tiers[k]);
      ts_store_close(store);
    }
}

int main(void) {
  if (!make_folder("deeprec")) return 1;
  weights_below_the_threshold_expire();
  rows_of_old_steps_expire();
  five_keys_are_exported();
  sixteen_threads_insert_one_row_a_key();
  removed_keys_are_counted_out();
  a_counter_filter_counts_concurrent_lookups();
  ssd_rows_are_right_while_in_the_write_buffer();
  lookup_tier_tells_where_rows_went();
  partitions_keep_their_own_places();
  lfu_counts_repeats_in_a_batch();
  the_hottest_of_a_batch_stay_up();
  training_equals_a_plain_variable();
  frequencies_and_versions_are_kept();
  three_lookups_give_the_default_the_fourth_the_row();
  a_filter_alone_records_no_frequency();
  reading_creates_nothing();
  training_begins_when_a_key_is_admitted();
  the_ids_of_the_last_batch_are_in_the_first_tier();
  blocks_of_dimensions_make_one_row();
  quotient_and_remainder_tables_make_a_multi_hash_variable();
  remove_folder();
  return test_result();
}
