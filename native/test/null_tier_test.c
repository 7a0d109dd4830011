/* The tier that keeps nothing: rows are made anew at every lookup, nothing comes of updates, and nothing is there. */
#include "test/store_types.h"

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s", message)

enum { N = 3000, DIM = 8, MANY = 30000 };

static ts_store *open_storage(const char *storage, const char *size) {
  return open_config(CONFIG("storage", storage, "size", size, "seed", "7"));
}

static uint32_t add(ts_store *store, const char *admission) {
  const char *const frequency = strcmp(admission, "none") == 0 ? NULL : "admission.frequency";
  return add_config(store, CONFIG("name", "t", "dim", "8", "optimizer", "adagrad", "learning_rate", "1", "admission", admission,
                                  frequency, "2"));
}

static int64_t key_of(uint32_t i) { return (int64_t)(i % 2000) * 77 - 1000; }

static void rows_are_those_of_a_first_lookup(void) {
  static int64_t keys[N];
  static float first[N * DIM], rows[N * DIM], gradients[N * DIM];
  for (uint32_t i = 0; i < N; i++) keys[i] = key_of(i);
  for (uint32_t i = 0; i < N * DIM; i++) gradients[i] = 1;
  ts_store *dram = open_storage("DRAM", "67108864"), *none = open_storage("NULL", "1048576");
  if (dram == NULL || none == NULL) return;
  add(dram, "none");
  add(none, "none");
  OK(ts_table_lookup(dram, 0, keys, N, first, ERR));
  for (int i = 0; i < 3; i++) {
    memset(rows, 1, sizeof rows);
    OK(ts_table_lookup(none, 0, keys, N, rows, ERR));
    CHECK(memcmp(rows, first, sizeof rows) == 0);
    OK(ts_table_update(none, 0, keys, N, gradients, ERR));
  }
  /* In DRAM that update is seen. */
  OK(ts_table_update(dram, 0, keys, N, gradients, ERR));
  OK(ts_table_lookup(dram, 0, keys, N, rows, ERR));
  CHECK(memcmp(rows, first, sizeof rows) != 0);
  CHECK(ts_store_close(dram) == TS_OK);
  CHECK(ts_store_close(none) == TS_OK);
}

static void nothing_is_there(void) {
  static int64_t keys[N];
  static float rows[N * DIM];
  static uint8_t found[N];
  static int32_t tiers[N];
  uint64_t counts[1], listed = 1, needed, empty, digest, removed = 1;
  char text[4096];
  for (uint32_t i = 0; i < N; i++) keys[i] = key_of(i);
  ts_store *store = open_storage("NULL", "1048576");
  if (store == NULL) return;
  add(store, "none");
  OK(ts_store_digest(store, &empty, ERR));
  OK(ts_table_lookup(store, 0, keys, N, rows, ERR));
  OK(ts_table_update(store, 0, keys, N, rows, ERR));
  OK(ts_table_find(store, 0, keys, N, 0, rows, found, ERR));
  OK(ts_table_lookup_tier(store, 0, keys, N, tiers, ERR));
  for (uint32_t i = 0; i < N; i++) CHECK_MSG(!found[i] && tiers[i] == -1 && rows[i * DIM] == 0, "key %u", i);
  OK(ts_table_rows(store, 0, counts, 1, ERR));
  OK(ts_table_keys(store, 0, NULL, 0, &listed, ERR));
  OK(ts_table_remove(store, 0, keys, N, &removed, ERR));
  OK(ts_store_digest(store, &digest, ERR));
  CHECK(counts[0] == 0 && listed == 0 && removed == 0 && digest == empty);
  OK(ts_store_settle(store, ERR));
  CHECK(ts_store_memory(store, text, sizeof text, &needed) == TS_OK);
  CHECK_MSG(strstr(text, "tier=0 purpose=rows place=NULL bytes=0\n") != NULL, "%s", text);
  CHECK(ts_store_describe(store, text, sizeof text, &needed) == TS_OK);
  CHECK_MSG(strcmp(text, "tier=0 type=NULL medium=NULL\n") == 0, "%s", text);
  CHECK(limits_hold(store) && charges_agree(store));
  CHECK(ts_store_close(store) == TS_OK);
}

/* More keys than the working memory has room for, again and again: nothing piles up. */
static void memory_does_not_grow(void) {
  int64_t *keys = malloc(MANY * sizeof *keys);
  float *rows = malloc((size_t)MANY * DIM * sizeof *rows);
  ts_store *store = open_storage("NULL", "1048576");
  if (store == NULL || keys == NULL || rows == NULL) return;
  add(store, "none");
  uint64_t used = 0;
  for (uint32_t round = 0; round < 4; round++) {
    for (uint32_t i = 0; i < MANY; i++) keys[i] = (int64_t)round * MANY + i;
    OK(ts_table_lookup(store, 0, keys, MANY, rows, ERR));
    OK(ts_table_update(store, 0, keys, MANY, rows, ERR));
    if (round == 0) used = atomic_load(&store->tiers[0].budget.used);
    CHECK(atomic_load(&store->tiers[0].budget.used) == used);
  }
  CHECK(counter_of(store, TS_STAT_created) >= 4 * (uint64_t)MANY);
  CHECK(limits_hold(store));
  CHECK(ts_store_close(store) == TS_OK);
  free(keys);
  free(rows);
}

/* A key that was admitted has no row after it either: it is counted from the beginning. */
static void admission_begins_again(void) {
  const int64_t key = 5;
  float row[DIM];
  ts_store *store = open_storage("NULL", "1048576");
  if (store == NULL) return;
  add(store, "counter");
  for (uint32_t i = 0; i < 9; i++) {
    OK(ts_table_lookup(store, 0, &key, 1, row, ERR));
    CHECK_MSG((row[0] != 0) == (i % 3 == 2), "lookup %u gives %g", i, (double)row[0]);
  }
  CHECK(ts_store_close(store) == TS_OK);
}

static void it_has_one_size_and_no_media(void) {
  ts_config *config = CONFIG("storage", "NULL", "size", "1048576,1048576");
  CHECK(ts_store_probe(config, ERR) == TS_EINVAL && strstr(message, "NULL has 1 tier, \"size\" lists 2") != NULL);
  ts_config_free(config);
  config = CONFIG("storage", "NULL", "emulate.medium", "optane-100-6x256");
  CHECK(ts_store_probe(config, ERR) != TS_OK);
  ts_config_free(config);
}

int main(void) {
  rows_are_those_of_a_first_lookup();
  nothing_is_there();
  memory_does_not_grow();
  admission_begins_again();
  it_has_one_size_and_no_media();
  return test_result();
}
