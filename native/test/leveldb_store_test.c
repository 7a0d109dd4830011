/* A store over LevelDB: what the store knows of its records spares the tier reads before writes, and the number of rows
 * stays exact, at the limit and after errors of the medium, too. */
#include "test/store_types.h"
#include "tiers/leveldb/database.h"

#include <string.h>

#define DIM 16
#define BATCH 200

static char message[512];
static char *(*real_get)(void *, const void *, const char *, size_t, size_t *, char **);
static void (*real_write)(void *, const void *, void *, char **);
static uint64_t gets, refused_writes;
static bool refuse_writes;

static char *counting_get(void *db, const void *options, const char *key, size_t n, size_t *bytes, char **words) {
  gets++;
  return real_get(db, options, key, n, bytes, words);
}

/* Every third write fails, before or after it was done: nobody knows which. */
static void failing_write(void *db, const void *options, void *batch, char **words) {
  static uint32_t calls;
  const bool fails = refuse_writes && ++calls % 3 == 0;
  if (!fails || calls % 2 == 0) real_write(db, options, batch, words);
  if (!fails) return;
  refused_writes++;
  if (*words == NULL) *words = strdup("IO error: injected");
}

static ts_records *watch(ts_store *store, uint32_t number) {
  ts_records *r = store->tables[number]->records;
  real_get = r->api.get;
  real_write = r->api.write;
  r->api.get = counting_get;
  r->api.write = failing_write;
  gets = refused_writes = 0;
  refuse_writes = false;
  return r;
}

static ts_store *open_store(const char *storage, const char *sizes, const char *counts, uint32_t *table) {
  ts_store *store = open_config(CONFIG("storage", storage, "size", sizes, "size_counts", counts, "path", folder,
                                       "eviction_threads", "0", "leveldb.write_buffer_bytes", "65536"));
  if (store != NULL) *table = add_config(store, CONFIG("name", "a", "initializer", "constant", "learning_rate", "1"));
  return store;
}

static uint64_t records_by_walk(ts_records *r) {
  int64_t keys[256];
  uint64_t cursor = 0, all = 0;
  for (uint32_t got = 1; got > 0; all += got)
    CHECK_MSG(ts_leveldb_records.walk(r, &cursor, 256, keys, NULL, NULL, &got, (ts_err){message, sizeof message}) == TS_OK,
              "%s", message);
  return all;
}

static uint64_t records_by_count(ts_records *r) {
  ts_records_counts counts;
  ts_leveldb_records.count(r, &counts);
  return counts.rows;
}

/* Every key is new and looked for once; what leaves the first tier is written without another look. */
static void puts_read_nothing(const char *storage, const char *sizes) {
  uint32_t table = 0;
  ts_store *store = open_store(storage, sizes, "rows", &table);
  if (store == NULL) return;
  ts_records *r = watch(store, table);
  static float rows[BATCH * DIM];
  int64_t keys[BATCH];
  const uint64_t n = 20 * BATCH;
  for (uint64_t first = 0; first < n; first += BATCH) {
    for (uint64_t i = 0; i < BATCH; i++) keys[i] = (int64_t)(first + i);
    CHECK_MSG(ts_table_lookup(store, table, keys, BATCH, rows, message, sizeof message) == TS_OK, "%s", message);
  }
  const uint64_t written = atomic_load(&r->payload_written) / (DIM * sizeof(float));
  CHECK_MSG(gets == n, "%s: %llu reads for %llu new keys, %llu put", storage, (unsigned long long)gets,
            (unsigned long long)n, (unsigned long long)written);
  CHECK(written >= n / 2 && records_by_count(r) == records_by_walk(r));
  /* Rows that step: each is read once, to come up, and not again when it leaves. */
  gets = 0;
  for (uint64_t first = 0; first < n; first += BATCH) {
    for (uint64_t i = 0; i < BATCH; i++) keys[i] = (int64_t)(first + i);
    CHECK_MSG(ts_table_update(store, table, keys, BATCH, rows, message, sizeof message) == TS_OK, "%s", message);
  }
  const uint64_t again = counter_of(store, TS_STAT_records_read_again);
  CHECK_MSG(gets <= n + again, "%s: %llu reads for %llu keys", storage, (unsigned long long)gets, (unsigned long long)n);
  CHECK(records_by_count(r) == records_by_walk(r));
  /* Whether a row below is there must be read; its removal needs no second look. */
  gets = 0;
  uint64_t removed = 0;
  for (uint64_t i = 0; i < BATCH; i++) keys[i] = (int64_t)i;
  CHECK(ts_table_remove(store, table, keys, BATCH, &removed, message, sizeof message) == TS_OK && removed == BATCH);
  CHECK_MSG(gets <= BATCH, "%s: %llu reads for %u removals", storage, (unsigned long long)gets, BATCH);
  CHECK(records_by_count(r) == records_by_walk(r));
  CHECK(ts_store_close(store) == TS_OK);
}

/* Lookups, steps and removals at random where the last tier is too small for all keys. */
static void counts_stay_exact(const char *storage, const char *sizes, const char *counts, bool errors) {
  uint32_t table = 0;
  ts_store *store = open_store(storage, sizes, counts, &table);
  if (store == NULL) return;
  ts_records *r = watch(store, table);
  refuse_writes = errors;
  static float rows[BATCH * DIM];
  int64_t keys[BATCH];
  uint64_t full = 0, failed = 0, drawn = 0;
  for (uint32_t round = 0; round < 300; round++) {
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = (int64_t)(ts_random64(7, 1, drawn++) % 6000);
    int32_t status;
    if (round % 5 == 4)
      status = ts_table_remove(store, table, keys, BATCH / 4, NULL, message, sizeof message);
    else if (round % 2 == 0)
      status = ts_table_lookup(store, table, keys, BATCH, rows, message, sizeof message);
    else
      status = ts_table_update(store, table, keys, BATCH, rows, message, sizeof message);
    CHECK_MSG(status == TS_OK || status == TS_EFULL || (errors && status == TS_EIO), "%s", message);
    full += status == TS_EFULL;
    failed += status == TS_EIO;
    if (!errors)
      CHECK_MSG(records_by_count(r) == records_by_walk(r), "%s, round %u: %llu counted, %llu there", storage, round,
                (unsigned long long)records_by_count(r), (unsigned long long)records_by_walk(r));
  }
  CHECK_MSG(errors || full > 0, "%s: the limit was never met", storage);
  if (errors) CHECK_MSG(failed > 0 && refused_writes > 0, "%s: no write failed", storage);
  CHECK(limits_hold(store));
  CHECK(ts_store_close(store) == TS_OK);
}

/* What a table keeps for its files beside rows is no share of the whole tier: others need that. */
static void many_tables_share_a_tier(void) {
  enum { TABLES = 60 };
  uint32_t table = 0;
  ts_store *store = open_store("LEVELDB", "268435456", "all", &table);
  if (store == NULL) return;
  float rows[BATCH * DIM];
  int64_t keys[BATCH];
  for (uint32_t i = 0; i < BATCH; i++) keys[i] = i;
  for (uint32_t t = 0; t < TABLES; t++) {
    char name[8];
    snprintf(name, sizeof name, "t%u", t);
    table = add_config(store, CONFIG("name", name, "initializer", "constant", "learning_rate", "1"));
    CHECK_MSG(ts_table_lookup(store, table, keys, BATCH, rows, message, sizeof message) == TS_OK, "table %u: %s", t, message);
  }
  CHECK(limits_hold(store));
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  if (!make_folder("leveldb-store")) return 1;
  ts_config *config = CONFIG("storage", "LEVELDB", "path", folder);
  const int32_t status = ts_store_probe(config, message, sizeof message);
  ts_config_free(config);
  if (status == TS_EUNAVAILABLE) {
    SKIP_ALL("leveldb_store_test", "%s", message);
    remove_folder();
    return test_result();
  }
  puts_read_nothing("DRAM_LEVELDB", "19200,100000000");
  puts_read_nothing("LEVELDB", "100000000");
  counts_stay_exact("DRAM_LEVELDB", "19200,200000", "rows", false);
  counts_stay_exact("LEVELDB", "200000", "rows", false);
  counts_stay_exact("DRAM_LEVELDB", "19200,100000000", "rows", true);
  many_tables_share_a_tier();
  remove_folder();
  return test_result();
}
