/* Many tables over SSDHASH in a first tier that is small for them: index, buffers and working memory of several calls at
 * once share its headroom. All rows have a place below, so every call is served.
 *
 * That calls meet in the narrowest moment is chance in a whole run; what each of them needs then is tested alone. */
#include "test/store_types.h"

#include <pthread.h>

#define TABLES 26u
#define DIM 16u
#define CHUNK 2048u

/* Rows of the tables of a small sample: a 100th of Criteo's, four tables of 50,000 to 100,000 rows among them. */
static const uint32_t cardinality[TABLES] = {15, 6,  101312, 22026, 3,  3, 125,   6, 3, 931,  57, 83516, 32,
                                             3,  150, 54613,  3,     57, 22, 3, 70465, 3, 3, 2862, 3,  1426};

typedef struct filling {
  ts_store *store;
  uint32_t tables[TABLES], divisor;
  atomic_uint next;
  atomic_int status;
  char text[512];
} filling;

static void *fill_tables(void *argument) {
  filling *f = argument;
  float *rows = malloc(sizeof(float) * CHUNK * DIM);
  int64_t keys[CHUNK];
  for (uint32_t t; (t = atomic_fetch_add(&f->next, 1)) < TABLES;)
    for (uint32_t left = cardinality[t] / f->divisor; left > 0 && f->status == TS_OK;) {
      uint32_t n = 0;
      while (n < CHUNK && left > 0) keys[n++] = (int64_t)ts_mix64(--left * 64 + t);
      char text[512];
      int32_t status = ts_table_lookup(f->store, f->tables[t], keys, n, rows, text, sizeof text);
      if (status == TS_OK) continue;
      f->status = status;
      snprintf(f->text, sizeof f->text, "%s", text);
    }
  free(rows);
  return NULL;
}

static void fills(const char *type, const char *sizes, uint32_t divisor, uint32_t threads, const char *evictors) {
  ts_config *config = CONFIG("storage", type, "pmem", "memkind", "size", sizes, "path", folder, "eviction_threads", evictors);
  filling f = {.store = open_config(config), .divisor = divisor};
  if (f.store == NULL) return;
  for (uint32_t t = 0; t < TABLES; t++) {
    char name[16];
    snprintf(name, sizeof name, "C%u", t + 1);
    f.tables[t] = add_config(f.store, CONFIG("name", name, "optimizer", "adagrad", "initializer", "constant"));
  }
  pthread_t ids[16];
  for (uint32_t i = 0; i < threads; i++) pthread_create(&ids[i], NULL, fill_tables, &f);
  for (uint32_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  CHECK_MSG(f.status == TS_OK, "%s, %u threads, %s eviction threads: %s", type, threads, evictors, f.text);
  CHECK(limits_hold(f.store) && ts_store_settle(f.store, NULL, 0) == TS_OK && charges_agree(f.store));
  ts_store_close(f.store);
}

#define FEW 200u

/* Rows of keys that were looked up once are there and the same. */
static void keeps(ts_store *store, uint32_t table, const int64_t *keys, const float *rows) {
  float again[FEW * DIM];
  uint8_t found[FEW];
  char text[512] = "";
  CHECK_MSG(ts_table_find(store, table, keys, FEW, 0, again, found, text, sizeof text) == TS_OK, "%s", text);
  for (uint32_t i = 0; i < FEW; i++) CHECK(found[i] && memcmp(again + i * DIM, rows + i * DIM, DIM * sizeof *rows) == 0);
}

/* Another table has all of the PMEM tier: rows of the first tier go past it. */
static void past_a_full_tier(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM_PMEM_SSDHASH", "pmem", "memkind", "size",
                                       "8388608,1048576,134217728", "path", folder, "eviction_threads", "0", "shards", "1"));
  if (store == NULL) return;
  const uint32_t a = add_config(store, CONFIG("name", "a")), b = add_config(store, CONFIG("name", "b"));
  int64_t keys[CHUNK];
  float *rows = malloc(sizeof(float) * CHUNK * DIM);
  char text[512] = "";
  for (uint32_t call = 0; call < 60; call++) {
    for (uint32_t i = 0; i < CHUNK; i++) keys[i] = call * CHUNK + i;
    CHECK_MSG(ts_table_lookup(store, a, keys, CHUNK, rows, text, sizeof text) == TS_OK, "%s", text);
  }
  for (uint32_t i = 0; i < FEW; i++) keys[i] = i;
  for (uint32_t call = 0; call < 2; call++) /* the first brings the table a chunk of memory */
    CHECK_MSG(ts_table_lookup(store, b, keys, FEW, rows, text, sizeof text) == TS_OK, "%s", text);
  ts_shard *shard = &store->tables[b]->shards[0];
  ts_traffic traffic;
  uint32_t freed = 0;
  ts_traffic_begin(store, &traffic);
  pthread_mutex_lock(&shard->lock);
  const uint64_t before = shard->rows[0].live;
  CHECK(before > 0 && ts_rows_reserve(&shard->rows[1], 1) == 0);
  CHECK_MSG(ts_evict(shard, 0, (uint32_t)before, &freed, &traffic, (ts_err){text, sizeof text}) == TS_OK, "%s", text);
  CHECK_MSG(freed == before && shard->rows[0].live == 0, "%u of %llu rows left the first tier", freed,
            (unsigned long long)before);
  pthread_mutex_unlock(&shard->lock);
  keeps(store, b, keys, rows);
  CHECK(limits_hold(store) && charges_agree(store));
  free(rows);
  ts_store_close(store);
}

/* All of the first tier that indexes of memory may have is taken, and nothing is there to make room: new rows are records. */
static void new_rows_without_index(const char *type, const char *sizes) {
  ts_store *store = open_config(CONFIG("storage", type, "pmem", "memkind", "size", sizes, "path", folder,
                                       "eviction_threads", "0", "shards", "1"));
  if (store == NULL) return;
  const uint32_t table = add_config(store, CONFIG("name", "a"));
  ts_budget *first = &store->tiers[0].budget;
  uint64_t taken = 0;
  for (uint64_t bytes = first->limit; bytes > 0; bytes /= 2)
    while (ts_budget_take(first, TS_PURPOSE_INDEX, bytes)) taken += bytes;
  int64_t keys[FEW];
  float rows[FEW * DIM];
  char text[512] = "";
  for (uint32_t i = 0; i < FEW; i++) keys[i] = i;
  CHECK_MSG(ts_table_lookup(store, table, keys, FEW, rows, text, sizeof text) == TS_OK, "%s: %s", type, text);
  keeps(store, table, keys, rows);
  ts_budget_give_back(first, TS_PURPOSE_INDEX, taken);
  CHECK_MSG(ts_table_lookup(store, table, keys, FEW, rows, text, sizeof text) == TS_OK, "%s: %s", type, text);
  keeps(store, table, keys, rows);
  CHECK(counter_of(store, TS_STAT_created) == FEW && limits_hold(store) && charges_agree(store));
  ts_store_close(store);
}

/* Working memory of calls goes back to a first tier that is short of it, but for one that later calls work with. */
static void working_memory_goes_back(void) {
  ts_store *store = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", "5402368,134217728", "path", folder));
  if (store == NULL) return;
  ts_table *table = store->tables[add_config(store, CONFIG("name", "a"))];
  ts_budget *first = &store->tiers[0].budget;
  ts_work *works[4];
  uint64_t most = 0, taken = 0;
  for (uint32_t i = 0; i < 4; i++) {
    works[i] = ts_work_acquire(table, CHUNK, TS_WORK_LOOKUP);
    most = TS_MAX(most, works[i]->bytes);
  }
  for (uint32_t i = 0; i < 4; i++) {
    while (ts_budget_take(first, TS_PURPOSE_BUFFERS, 4096)) taken += 4096;
    ts_work_release(store, works[i]);
  }
  const uint64_t kept = atomic_load(&first->reserved[TS_PURPOSE_WORK]);
  CHECK_MSG(kept >= most && kept < 2 * most, "%llu bytes are kept for calls, of works of up to %llu",
            (unsigned long long)kept, (unsigned long long)most);
  ts_work_release(store, ts_work_acquire(table, CHUNK, TS_WORK_LOOKUP));
  ts_budget_give_back(first, TS_PURPOSE_BUFFERS, taken);
  CHECK(limits_hold(store) && charges_agree(store));
  ts_store_close(store);
}

int main(void) {
  if (!make_folder("crowded")) return 1;
  fills("DRAM_SSDHASH", "10804736,1073741824", 1, 2, "1");
  fills("DRAM_SSDHASH", "5402368,1073741824", 2, 4, "0");
  fills("DRAM_SSDHASH", "10804736,1073741824", 2, 8, "2");
  fills("DRAM_PMEM_SSDHASH", "10804736,4194304,1073741824", 1, 3, "1");
  past_a_full_tier();
  new_rows_without_index("DRAM_SSDHASH", "4194304,134217728");
  new_rows_without_index("DRAM_LEVELDB", "8388608,134217728");
  new_rows_without_index("DRAM_PMEM_SSDHASH", "4194304,1048576,134217728");
  working_memory_goes_back();
  remove_folder();
  return test_result();
}
