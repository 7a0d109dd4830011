/* Tables of ten million keys: DeepRec's export case (10 048 576 keys of 128 weights), growth through ten doublings, expiry of
 * most of them. A quick check takes a hundredth; TIERSTORE_KEYS in the environment gives the number of keys, and nightly runs
 * give DeepRec's. Ten million rows of 128 weights are 5.2 GB: they lie on the disk below a first tier that holds a few
 * hundredths of them. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <inttypes.h>

#define DIM 128u
#define BATCH 16384u

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s", message)

static uint64_t total = 100000;
static int64_t keys[BATCH];
static float rows[(size_t)BATCH * DIM];

/* The i-th key; every number has an i, so that a listed key can be told from a wrong one. */
static int64_t key_of(uint64_t i) { return (int64_t)(i * UINT64_C(0x9E3779B97F4A7C15) + 12345); }
static uint64_t number_of(int64_t key) { return ((uint64_t)key - 12345) * UINT64_C(0xF1DE83E19937733D); }

static uint32_t batch_at(uint64_t first, uint64_t end) {
  const uint32_t n = (uint32_t)TS_MIN(end - first, BATCH);
  for (uint32_t i = 0; i < n; i++) keys[i] = key_of(first + i);
  return n;
}

/* Every key once, with its weights and its version. */
static void all_keys_are_exported(void) {
  char size[64];
  snprintf(size, sizeof size, "%" PRIu64 ",%" PRIu64, TS_MAX(total * 40, UINT64_C(16) << 20), total * 1200 + (UINT64_C(64) << 20));
  ts_store *store = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", size, "path", folder));
  add_config(store, CONFIG("name", "v", "dim", "128", "learning_rate", "1", "initializer", "constant", "record_version", "1"));
  for (uint64_t first = 0; first < total && test_failures == 0; first += BATCH) {
    const uint32_t n = batch_at(first, total);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < DIM; j++) rows[(size_t)i * DIM + j] = -(float)((first + i) % 1000003 + j);
    OK(ts_store_set_step(store, (int64_t)(first / BATCH), ERR));
    OK(ts_table_update(store, 0, keys, n, rows, ERR));
  }
  int64_t *listed = malloc(total * sizeof *listed);
  uint8_t *seen = calloc(total, 1);
  uint64_t n = 0, wrong = 0;
  CHECK(listed != NULL && seen != NULL);
  if (listed == NULL || seen == NULL) exit(1);
  OK(ts_table_keys(store, 0, listed, total, &n, ERR));
  CHECK_MSG(n == total, "%" PRIu64 " of %" PRIu64 " keys are listed", n, total);
  for (uint64_t at = 0; at < TS_MIN(n, total) && test_failures == 0; at += BATCH) {
    const uint32_t m = (uint32_t)TS_MIN(TS_MIN(n, total) - at, BATCH);
    static uint8_t found[BATCH];
    static int64_t versions[BATCH];
    OK(ts_table_find(store, 0, listed + at, m, 0, rows, found, ERR));
    const bool dated = at / BATCH % 16 == 0; /* each is one more read of the disk */
    if (dated) OK(ts_table_metadata(store, 0, listed + at, m, NULL, versions, ERR));
    for (uint32_t i = 0; i < m; i++) {
      const uint64_t k = number_of(listed[at + i]);
      if (k >= total || seen[k]++ || !found[i] || (dated && versions[i] != (int64_t)(k / BATCH))) {
        wrong++;
        continue;
      }
      for (uint32_t j = 0; j < DIM; j++) wrong += rows[(size_t)i * DIM + j] != (float)(k % 1000003 + j);
    }
  }
  CHECK_MSG(wrong == 0, "%" PRIu64 " rows are wrong", wrong);
  uint64_t counts[2];
  OK(ts_table_rows(store, 0, counts, 2, ERR));
  CHECK_MSG(counts[0] + counts[1] == total && counts[1] > total / 2, "%" PRIu64 " + %" PRIu64 " rows", counts[0], counts[1]);
  CHECK(limits_hold(store));
  free(listed);
  free(seen);
  ts_store_close(store);
}

static uint64_t index_bytes(ts_store *store) {
  char text[4096];
  uint64_t needed, index = 0;
  OK(ts_store_memory(store, text, sizeof text, &needed));
  const char *line = strstr(text, "purpose=index");
  CHECK(line != NULL && sscanf(line, "purpose=index place=DRAM bytes=%" SCNu64, &index) == 1);
  return index;
}

/* In memory alone: grown from empty, the index at most 18 bytes a row (where there are a million or more); then all but the
 * last tenth grow old, the others are found, and the index becomes smaller with the rows. */
static void tables_grow_from_empty_and_expire(void) {
  char size[32];
  snprintf(size, sizeof size, "%" PRIu64, total * 80 + (UINT64_C(64) << 20));
  ts_store *store = open_config(CONFIG("storage", "DRAM", "size", size));
  add_config(store, CONFIG("name", "v", "dim", "4", "learning_rate", "1", "initializer", "constant", "expire.steps", "5"));
  const uint64_t old = total / 10 * 9 / BATCH * BATCH;
  for (uint64_t first = 0; first < total && test_failures == 0; first += BATCH) {
    if (first == old && old >= 1000000)
      CHECK_MSG(index_bytes(store) <= 18 * old, "%" PRIu64 " bytes for %" PRIu64 " rows", index_bytes(store), old);
    const uint32_t n = batch_at(first, total);
    for (uint32_t i = 0; i < n * 4; i++) rows[i] = -(float)((first + i / 4) % 1000003);
    OK(ts_store_set_step(store, first >= old ? 10 : 0, ERR));
    OK(ts_table_update(store, 0, keys, n, rows, ERR));
  }
  const uint64_t young = total - old;
  uint64_t there = 0, wrong = 0, removed = 0;
  static uint8_t found[BATCH];
  for (uint64_t first = 0; first < total; first += BATCH) {
    const uint32_t n = batch_at(first, total);
    OK(ts_table_find(store, 0, keys, n, 0, rows, found, ERR));
    for (uint32_t i = 0; i < n; i++) {
      there += found[i];
      wrong += found[i] ? rows[i * 4 + 3] != (float)((first + i) % 1000003) : first + i >= total - young;
    }
  }
  OK(ts_table_expire(store, 0, 0, &removed, ERR)); /* what the updates have not removed by themselves */
  uint64_t kept = 0;
  OK(ts_table_rows(store, 0, &kept, 1, ERR));
  CHECK_MSG(wrong == 0 && there == young && kept == young && removed <= old,
            "%" PRIu64 " wrong, %" PRIu64 " there, %" PRIu64 " removed, %" PRIu64 " kept, %" PRIu64 " young", wrong, there,
            removed, kept, young);
  CHECK_MSG(old < 1000000 || index_bytes(store) <= 4 * 18 * young, "%" PRIu64 " bytes of index for %" PRIu64 " rows",
            index_bytes(store), young);
  ts_store_close(store);
}

int main(void) {
  const char *more = getenv("TIERSTORE_KEYS");
  if (more != NULL && strtoull(more, NULL, 10) > 0) {
    total = strtoull(more, NULL, 10);
    if (getenv("TIERSTORE_TEST_FOLDER") == NULL) setenv("TIERSTORE_TEST_FOLDER", "/tmp", 1); /* too much for memory */
  }
  if (!make_folder("large")) return 1;
  all_keys_are_exported();
  tables_grow_from_empty_and_expire();
  remove_folder();
  return test_result();
}
